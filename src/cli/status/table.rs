//! The table of a run: one line per generation.

use crate::artifact::{GenerationLine, Verdict};
use crate::cli::output::{narrow_table, thousands};
use crate::run::status::{GenerationStatus, RunStatus};
use crate::statistics::elo::elo_text;

const COLUMNS: [&str; 9] =
    ["generation", "games", "positions", "match", "held-out error", "exact MAE", "points", "Elo", "verdict"];

/// The columns that a narrow terminal does without, in the order in which they go.
const DISPENSABLE: [usize; 6] = [2, 1, 6, 4, 8, 3];

/// The generations, in lines of at most this many characters.
pub(super) fn generation_table(status: &RunStatus, width: Option<usize>) -> String {
    let head = COLUMNS.map(str::to_owned).to_vec();
    let rows: Vec<Vec<String>> = [head].into_iter().chain(status.generations.iter().map(row)).collect();
    narrow_table(&rows, width.unwrap_or(usize::MAX), &DISPENSABLE)
}

fn row(generation: &GenerationStatus) -> Vec<String> {
    let line = &generation.line;
    let dash = || "-".to_owned();
    let count = |value: Option<u64>| value.map_or_else(dash, thousands);
    let discs = |value: f64| format!("{value:.2}");
    let verdict = line.verdict.map_or("-", Verdict::name);
    vec![
        line.generation.to_string(),
        count(line.games),
        count(line.positions),
        players(line).unwrap_or_else(dash),
        line.mae_before.zip(line.mae_after).map_or_else(dash, |(before, after)| format!("{before:.2} → {after:.2}")),
        line.exact_mae.map_or_else(dash, discs),
        line.points.map_or_else(dash, |points| format!("{:.1} %", 100.0 * points)),
        line.elo.map_or_else(dash, elo_text),
        if generation.champion { format!("{verdict}, champion") } else { verdict.to_owned() },
    ]
}

/// The champion and its challenger.
fn players(line: &GenerationLine) -> Option<String> {
    let candidate = line.candidate.as_ref()?;
    let Some(baseline) = &line.baseline else { return Some(candidate.clone()) };
    Some(format!("{} → {candidate}", baseline.trim_start_matches("builtin:")))
}
