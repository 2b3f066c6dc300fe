//! `renma train`.

use super::arguments::stage::TrainArguments;
use super::command_errors::UsageError;
use super::model_errors::{error_table, judged_name, training_lines};
use super::output::{counted, detail, say};
use super::session::{Session, load_run_model};
use crate::artifact::{Manifest, Registry};
use crate::pipeline::stage::Stage;
use crate::pipeline::stage_task::StageTask;
use crate::pipeline::train::task::{TrainReport, TrainTask};
use crate::run::yardstick::refuse;
use std::path::PathBuf;
use std::sync::Arc;

/// Does something with the task of a call.
pub(super) fn with_task<T>(
    arguments: &TrainArguments,
    act: impl FnOnce(&StageTask<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let (config, folder) = arguments.run.load()?;
    let parent = arguments.parent.as_deref().map(|name| load_run_model(name, &folder, &config)).transpose()?;
    check_named_once(&arguments.dataset)?;
    for folder in &arguments.dataset {
        // If a dataset cannot be read, the stage reports why.
        Manifest::read_any(folder).map_or(Ok(()), |manifest| refuse(folder, &manifest))?;
    }
    act(&StageTask::Train(TrainTask {
        config: &config.config.train,
        seed: config.config.run.seed,
        features: Arc::clone(&config.features),
        datasets: arguments.dataset.iter().map(PathBuf::as_path).collect(),
        parent: parent.as_ref(),
        registry: &Registry::new(&folder),
        memory: arguments.memory.as_u64(),
    }))
}

/// An error if two of the folders are the same: its rows would count twice.
fn check_named_once(folders: &[PathBuf]) -> Result<(), UsageError> {
    // If a folder cannot be read, the stage reports why.
    let places: Vec<PathBuf> =
        folders.iter().map(|path| path.canonicalize().unwrap_or_else(|_| path.clone())).collect();
    let twice = (1..places.len()).find(|&number| places[..number].contains(&places[number]));
    twice.map_or(Ok(()), |number| {
        let name = folders[number].display();
        Err(UsageError(format!("--dataset {name}: this dataset is named twice\nname each dataset once")))
    })
}

/// Says what was learned.
pub(super) fn tell(session: &Session, task: &TrainTask<'_>, report: &TrainReport, seconds: f64) {
    let metrics = &report.metrics;
    let parent = task.parent.map_or("zero weights".to_owned(), |parent| parent.id.to_string());
    let judged = judged_name(metrics);
    let (before, after) = (metrics.before.all.mae, metrics.after.all.mae);
    let text = format!("{} from {parent}: {judged} error {before:.2} → {after:.2} discs", report.id);
    session.summarize(Stage::Train.name(), &text, report.skipped);
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
