//! `renma train`.

use super::arguments::stage::{TrainArguments, WorkArguments};
use super::errors::{error_table, training_lines, training_warnings};
use super::output::{counted, detail, print, print_json, say};
use super::session::{Session, Stopwatch, load_run_model, registry_folder};
use super::stage::{StageEnd, run_stage, summarize};
use crate::artifact::dataset::manifest::Manifest;
use crate::artifact::model::registry::Registry;
use crate::config::load_config_with;
use crate::pipeline::stage::Stage;
use crate::pipeline::train::run::train;
use crate::pipeline::train::task::TrainTask;
use crate::run::yardstick::refuse;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

pub(super) fn run(session: &Session, arguments: &TrainArguments) -> anyhow::Result<ExitCode> {
    // A dataset that cannot be read has no generation, and the stage says why.
    let newest = arguments.dataset.last().and_then(|folder| Manifest::read_any(folder).ok());
    let generation = newest.map(|manifest| manifest.generation);
    run_stage(session, Stage::Train.name(), generation, &arguments.work, || {
        with_task(arguments, |task| learn(session, &task, &arguments.work))
    })
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

/// Trains and says what was learned.
pub(super) fn learn(session: &Session, task: &TrainTask<'_>, work: &WorkArguments) -> anyhow::Result<StageEnd> {
    let stopwatch = Stopwatch::start();
    let report = train(task, session.context())?;
    let metrics = &report.metrics;
    let parent = task.parent.map_or("zero weights".to_owned(), |parent| parent.id.to_string());
    let judged = if metrics.held_out { "held-out" } else { "training" };
    let (before, after) = (metrics.before.all.mae, metrics.after.all.mae);
    let again = if report.skipped { ", made before" } else { "" };
    let text = format!("{} from {parent}: {judged} error {before:.2} → {after:.2} discs{again}", report.id);
    summarize(Stage::Train.name(), work, &text);
    if 0 < metrics.unlabeled {
        say(&format!("train: skipped {} without the label to learn", counted(metrics.unlabeled, "row")));
    }
    if !report.skipped {
        detail(&format!("train: {} in {:.1} s", counted(metrics.updates, "update"), stopwatch.seconds()));
        detail(&error_table(metrics));
        detail(&training_lines(metrics).join("\n"));
        for warning in training_warnings(metrics) {
            say(&warning);
        }
    }
    if session.json {
        print_json(&report)?;
    } else {
        print(&report.id)?;
    }
    Ok(StageEnd::done(Some(&report.id), report.skipped))
}
