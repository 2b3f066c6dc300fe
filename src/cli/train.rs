//! `renma train`.

use super::arguments::stage::TrainArguments;
use super::model_errors::{error_table, training_lines};
use super::output::{counted, detail, say};
use super::session::{Session, Stopwatch, load_run_model, registry_folder};
use crate::artifact::dataset::manifest::Manifest;
use crate::artifact::model::registry::Registry;
use crate::config::load_config_with;
use crate::exit_code;
use crate::pipeline::stage::Stage;
use crate::pipeline::train::run::train;
use crate::pipeline::train::task::{TrainReport, TrainTask};
use crate::run::yardstick::refuse;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

pub(super) fn run(session: &Session, arguments: &TrainArguments) -> anyhow::Result<ExitCode> {
    session.limit(arguments.work.budget);
    with_task(arguments, |task| {
        let stopwatch = Stopwatch::start();
        let report = train(&task, session.context())?;
        tell(session, &task, &report, stopwatch.seconds());
        session.print_report(&report, &report.id)
    })?;
    Ok(exit_code::DONE.into())
}

/// Does something with the task of a call.
pub(super) fn with_task<T>(
    arguments: &TrainArguments,
    act: impl FnOnce(TrainTask<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let config = load_config_with(&arguments.run.config, &arguments.run.set.settings)?;
    let folder = registry_folder(arguments.run.models.as_deref(), &config.name);
    let parent = arguments.parent.as_deref().map(|name| load_run_model(name, &folder, &config)).transpose()?;
    for folder in &arguments.dataset {
        // Of a dataset that cannot be read, the stage says why.
        Manifest::read_any(folder).map_or(Ok(()), |manifest| refuse(folder, &manifest))?;
    }
    act(TrainTask {
        config: &config.config.train,
        seed: config.config.run.seed,
        features: Arc::clone(&config.features),
        datasets: arguments.dataset.iter().map(PathBuf::as_path).collect(),
        parent: parent.as_ref(),
        registry: &Registry::new(&folder),
        memory: arguments.memory.as_u64(),
    })
}

/// Says what was learned.
pub(super) fn tell(session: &Session, task: &TrainTask<'_>, report: &TrainReport, seconds: f64) {
    let metrics = &report.metrics;
    let parent = task.parent.map_or("zero weights".to_owned(), |parent| parent.id.to_string());
    let judged = if metrics.held_out { "held-out" } else { "training" };
    let (before, after) = (metrics.before.all.mae, metrics.after.all.mae);
    let again = if report.skipped { ", made before" } else { "" };
    let text = format!("{} from {parent}: {judged} error {before:.2} → {after:.2} discs{again}", report.id);
    session.summarize(Stage::Train.name(), &text);
    if 0 < metrics.unlabeled {
        say(&format!("train: skipped {} without the label to learn", counted(metrics.unlabeled, "row")));
    }
    if report.skipped {
        return;
    }
    detail(&format!("train: {} in {seconds:.1} s", counted(metrics.updates, "update")));
    detail(&error_table(metrics));
    detail(&training_lines(metrics).join("\n"));
}
