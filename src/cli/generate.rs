//! `renma generate`.

use super::output::{counted, detail};
use super::session::Session;
use crate::pipeline::generate::task::GenerateReport;
use crate::pipeline::request::{Request, Role};

/// Says what was played.
pub fn tell(session: &Session, request: &Request, report: &GenerateReport, seconds: f64) {
    let made = format!(
        "{}, {}",
        counted(report.games, "game"),
        counted(report.positions, "position")
    );
    let how = match report.games_played {
        games if games == 0 || report.skipped => String::new(),
        games => format!(", {:.0} games/s", games as f64 / seconds),
    };
    session.summarize(
        request.stage.name(),
        &format!("{made}{how}"),
        report.skipped,
    );
    let bytes = report.bytes as f64 / report.positions.max(1) as f64;
    if let (Some(output), Some(model)) = (&request.output, request.models.get(&Role::Model)) {
        detail(&format!(
            "generate: {} by {}, {bytes:.1} bytes per position",
            output.display(),
            model.name
        ));
    }
}
