//! `renma train`.

use super::model_errors::{error_table, judged_name, training_lines};
use super::output::{counted, detail, say};
use super::session::Session;
use crate::pipeline::request::{Request, Role};
use crate::pipeline::train::task::TrainReport;

/// Says what was learned.
pub fn tell(session: &Session, request: &Request, report: &TrainReport, seconds: f64) {
    let metrics = &report.metrics;
    let parent = request
        .models
        .get(&Role::Parent)
        .map_or("zero weights".to_owned(), |parent| parent.name.to_string());
    let judged = judged_name(metrics);
    let (before, after) = (metrics.before.all.mae, metrics.after.all.mae);
    let text = format!(
        "{} from {parent}: {judged} error {before:.2} → {after:.2} discs",
        report.id
    );
    session.summarize(request.stage.name(), &text, report.skipped);
    if 0 < metrics.unlabeled {
        say(&format!(
            "train: skipped {} without the label to learn",
            counted(metrics.unlabeled, "row")
        ));
    }
    if 0 < metrics.yardstick_rows {
        say(&format!(
            "train: skipped {} that are positions of the yardstick",
            counted(metrics.yardstick_rows, "row")
        ));
    }
    if report.skipped {
        return;
    }
    detail(&format!(
        "train: {} in {seconds:.1} s",
        counted(metrics.updates, "update")
    ));
    detail(&error_table(metrics));
    detail(&training_lines(metrics).join("\n"));
}
