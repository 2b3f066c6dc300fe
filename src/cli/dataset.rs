//! `renma dataset`.

mod inspect;
mod verify;

use super::arguments::OutputArguments;
use super::arguments::dataset::{DatasetCommand, ExportArguments, ExportChoice, ImportArguments};
use super::arguments::run::named_registry;
use super::command_errors::UsageError;
use super::output::{Output, counted, output_name, say, thousands};
use super::session::{Session, Stopwatch, choose_model};
use crate::artifact::{GAMES, POSITIONS};
use crate::curate::export::{ExportFormat, Exported, export};
use crate::curate::import::{ImportReport, ImportTask, Labeler, import};
use crate::curate::inspect::inspect;
use crate::engine::Depth;
use crate::exchange::tokens::{GAME_TOKENS_MAX, TokensConfig};
use serde_json::json;
use std::path::Path;

/// The share of games that `--format tokens` sets aside for validation.
const VALIDATION: f64 = 0.05;

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
    let format = export_format(arguments)?;
    let OutputArguments {
        output: path,
        force,
    } = &arguments.output;
    let dataset = format.open(&arguments.dataset)?;
    let output = Output::open(session.json, path, format.file_kind(), *force)?;
    let Some(exported) = export(&dataset, format, session.context(), |write| {
        output.write(write)
    })?
    else {
        return Ok(());
    };
    let name = output_name(path);
    let say_what = |what: &str| say(&format!("dataset export: {what} in {}", name.display()));
    let name = name.to_string_lossy();
    match exported {
        Exported::Positions(positions) => {
            say_what(&counted(positions, "position"));
            session.print_json(&json!({"output": name, "positions": positions}))
        }
        Exported::Games { games, validation } => {
            let games_text = counted(games, "game");
            let validation_text = thousands(validation);
            say_what(&format!("{games_text}, {validation_text} for validation,"));
            session.print_json(&json!({
                "output": name,
                "games": games,
                "train": games - validation,
                "validation": validation,
            }))
        }
    }
}

/// The format with its options, which the other formats do not have.
fn export_format(arguments: &ExportArguments) -> Result<ExportFormat, UsageError> {
    let options = [
        ("--length", arguments.length.is_some()),
        ("--validation", arguments.validation.is_some()),
        ("--labels", arguments.labels),
    ];
    let given = options.iter().find(|(_, is_given)| *is_given);
    match (arguments.format, given) {
        (ExportChoice::Obf, None) => Ok(ExportFormat::Obf),
        (ExportChoice::Obf, Some((option, _))) => {
            Err(UsageError(format!("{option} is only for --format tokens")))
        }
        (ExportChoice::Tokens, _) => Ok(ExportFormat::Tokens(TokensConfig {
            length: arguments.length.unwrap_or(GAME_TOKENS_MAX),
            validation: arguments.validation.unwrap_or(VALIDATION),
            labels: arguments.labels,
        })),
    }
}
