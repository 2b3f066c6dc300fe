//! `renma gate`.

use super::output::{counted, say, thousands};
use super::session::Session;
use crate::pipeline::gate::task::GateReport;
use crate::pipeline::stage::Stage;
use crate::statistics::elo::elo_text;

/// Says the verdict of a match.
pub fn tell(session: &Session, report: &GateReport) {
    let text = format!(
        "{} after {}",
        report.verdict.verdict.name(),
        score_text(report)
    );
    session.summarize(Stage::Gate.name(), &text, report.skipped);
    if let Some(pairs) = report
        .verdict
        .test
        .as_ref()
        .and_then(|test| test.pairs_forecast)
    {
        say(&format!(
            "gate: about {} more pairs would decide at this strength; raise gate.games",
            thousands(pairs)
        ));
    }
}

/// Says the score of a match that decides nothing.
pub fn tell_score(session: &Session, report: &GateReport) {
    let players = format!(
        "{} against {}",
        report.verdict.candidate.id, report.verdict.baseline.id
    );
    session.summarize(
        "match",
        &format!("{players}, {}", score_text(report)),
        report.skipped,
    );
}

/// The games and their score.
fn score_text(report: &GateReport) -> String {
    let verdict = &report.verdict;
    let score = &verdict.score;
    let games = counted(2 * verdict.pairs_done, "game");
    let elo = match elo_text([score.elo, score.elo_low, score.elo_high]) {
        text if text.contains('[') => text.replacen(' ', " Elo ", 1),
        text => format!("{text} Elo"),
    };
    format!("{games}: {:.1} %, {elo}", 100.0 * score.points)
}
