//! `renma train`.

use super::model_errors::{error_table, judged_name, training_lines};
use super::output::{counted, detail, say};
use super::session::Session;
use crate::artifact::Manifest;
use crate::pipeline::stage::Stage;
use crate::pipeline::train::task::{TrainReport, TrainTask};
use crate::run::yardstick::refuse;
use std::path::PathBuf;

/// An error if one of the folders is never trained on.
pub(super) fn check_datasets(folders: &[PathBuf]) -> anyhow::Result<()> {
    for folder in folders {
        Manifest::read_any(folder).map_or(Ok(()), |manifest| refuse(folder, &manifest))?;
    }
    Ok(())
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
