//! `renma generate`.

use super::output::{counted, detail};
use super::session::Session;
use crate::pipeline::generate::task::{GenerateReport, GenerateTask};
use crate::pipeline::stage::Stage;

/// Says what was played.
pub(super) fn tell(session: &Session, task: &GenerateTask<'_>, report: &GenerateReport, seconds: f64) {
    let made = format!("{}, {}", counted(report.games, "game"), counted(report.positions, "position"));
    let how = match report.games_played {
        games if games == 0 || report.skipped => String::new(),
        games => format!(", {:.0} games/s", games as f64 / seconds),
    };
    session.summarize(Stage::Generate.name(), &format!("{made}{how}"), report.skipped);
    let (output, bytes) = (task.output.display(), report.bytes as f64 / report.positions.max(1) as f64);
    detail(&format!("generate: {output} by {}, {bytes:.1} bytes per position", task.model.id));
}
