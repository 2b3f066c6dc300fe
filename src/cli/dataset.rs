//! `renma dataset`.

mod inspect;
mod verify;

use super::arguments::OutputArguments;
use super::arguments::dataset::{DatasetCommand, ExportArguments, ImportArguments};
use super::arguments::run::named_registry;
use super::output::{Output, counted, output_name, say, thousands};
use super::session::{Session, Stopwatch, choose_model};
use crate::artifact::{Dataset, GAMES, POSITIONS};
use crate::curate::export::export;
use crate::curate::import::{ImportReport, ImportTask, Labeler, import};
use crate::curate::inspect::inspect;
use crate::engine::Depth;
use serde_json::json;
use std::path::Path;

pub fn run(session: &Session, command: DatasetCommand) -> anyhow::Result<()> {
    match command {
        DatasetCommand::Verify(arguments) => verify::run(session, &arguments),
        DatasetCommand::Inspect { dataset } => {
            let inspection = inspect(&dataset, session.context())?;
            session.answer(&inspection, &inspect::describe(&dataset, &inspection))
        }
        DatasetCommand::Import(arguments) => run_import(session, &arguments),
        DatasetCommand::Export(arguments) => run_export(session, &arguments),
    }
}

fn run_import(session: &Session, arguments: &ImportArguments) -> anyhow::Result<()> {
    let ImportArguments { input, output, .. } = arguments;
    let label_depth = arguments.label_depth.map(Depth);
    let choose = |_| {
        let registry = named_registry(arguments.models.as_deref())?;
        choose_model("dataset import", arguments.model.as_ref(), &registry)
    };
    let chosen = label_depth.map(choose).transpose()?;
    let stopwatch = Stopwatch::start();
    let task = ImportTask {
        input,
        format: arguments.format,
        output,
        keep_going: arguments.keep_going,
        labeler: chosen
            .as_ref()
            .zip(label_depth)
            .map(|(chosen, depth)| Labeler {
                model: &chosen.model,
                depth,
            }),
    };
    let tell = |what: &str| say(&format!("dataset import: {}: {what}", input.display()));
    let report = import(task, session.context(), tell)?;
    describe_import(output, &report, stopwatch.seconds());
    let ImportReport { manifest, counts } = report;
    session.print_json(&json!({
        "skipped": counts.is_none(),
        "output": output.to_string_lossy(),
        "games": manifest.done,
        "positions": manifest.rows(POSITIONS.name),
        "records": manifest.asked,
        "bad_records": counts.map(|counts| counts.bad),
        "records_without_move": counts.map(|counts| counts.without_move),
        "positions_labeled": counts.map(|counts| counts.labeled),
        "bytes": manifest.total_bytes(),
        "content": manifest.content,
    }))
}

fn describe_import(output: &Path, report: &ImportReport, seconds: f64) {
    let ImportReport { manifest, counts } = report;
    let Some(counts) = counts else {
        return say(&format!(
            "dataset import: {} already holds this import",
            output.display()
        ));
    };
    let noun = if manifest.bytes(GAMES.name) == 0 {
        "position group"
    } else {
        "game"
    };
    let (games, positions) = (
        counted(manifest.done, noun),
        counted(manifest.rows(POSITIONS.name), "position"),
    );
    let labeled = thousands(counts.labeled);
    say(&format!(
        "dataset import: {games}, {positions} in {}, {labeled} labeled, {seconds:.1} s",
        output.display()
    ));
    if 0 < counts.bad {
        say(&format!(
            "dataset import: {} left out",
            counted(counts.bad, "bad record")
        ));
    }
    if 0 < counts.without_move {
        let records = counted(counts.without_move, "record");
        say(&format!(
            "dataset import: {records} without a legal move left out"
        ));
    }
}

fn run_export(session: &Session, arguments: &ExportArguments) -> anyhow::Result<()> {
    let ExportArguments {
        dataset,
        format,
        output: OutputArguments {
            output: path,
            force,
        },
    } = arguments;
    let dataset = Dataset::open(dataset)?;
    let output = Output::open(session.json, path, format.file_kind(), *force)?;
    let Some(positions) = export(&dataset, *format, session.context(), |write| {
        output.write(write)
    })?
    else {
        return Ok(());
    };
    let name = output_name(path);
    say(&format!(
        "dataset export: {} in {}",
        counted(positions, "position"),
        name.display()
    ));
    session.print_json(&json!({"output": name.to_string_lossy(), "positions": positions}))
}
