//! The errors of models that trainings found, as tables.

use super::output::{table, thousands};
use crate::pipeline::train::task::{Error, Errors, TrainMetrics};

/// The width of a row of the error table, in empty squares.
const EMPTIES_STEP: u32 = 10;

/// Which rows the errors of a training are about.
pub(super) const fn judged_name(metrics: &TrainMetrics) -> &'static str {
    if metrics.held_out { "held-out" } else { "training" }
}

/// The error of a training, by empty squares and by the size of the target, as a table.
pub(super) fn error_table(metrics: &TrainMetrics) -> String {
    let judged = judged_name(metrics);
    let names = ["empties", "rows", "MAE before", "after", "RMSE", "bias, even", "odd", "slope"];
    let mut rows = Vec::new();
    let (before, after) = (&metrics.before, &metrics.after);
    for min in (0..=60).step_by(EMPTIES_STEP as usize) {
        let within = |errors: &Errors, parity: Option<u32>| {
            let ranges = errors.by_empties.iter().filter(|range| (min..min + EMPTIES_STEP).contains(&range.min));
            let ranges = ranges.filter(|range| parity.is_none_or(|parity| range.min % 2 == parity));
            Error::joined(ranges.map(|range| &range.error))
        };
        let Some(joined) = within(after, None) else { continue };
        let bias = |parity| within(after, Some(parity)).map(|error| error.bias);
        let empties = format!("{min}-{}", (min + EMPTIES_STEP - 1).min(60));
        let before = within(before, None).map(|error| error.mae);
        rows.push(error_row(empties, before, &joined, [bias(0), bias(1)]));
    }
    for range in &after.by_score {
        let before = before.by_score.iter().find(|other| other.max == range.max).map(|range| range.error.mae);
        let name = format!("|target| to {}", range.max);
        rows.push(error_row(name, before, &range.error, [Some(range.error.bias), None]));
    }
    rows.push(error_row("all".to_owned(), Some(before.all.mae), &after.all, [Some(after.all.bias), None]));
    format!("error on {judged} rows, in discs\n{}", table(names, rows))
}

fn error_row(name: String, before: Option<f64>, after: &Error, bias: [Option<f64>; 2]) -> [String; 8] {
    let [even, odd] = bias.map(signed);
    let [before, mae, rmse, slope] = [before, Some(after.mae), Some(after.rmse), after.slope].map(discs);
    [name, thousands(after.rows), before, mae, rmse, even, odd, slope]
}

fn discs(value: Option<f64>) -> String {
    value.map(|value| format!("{value:.2}")).unwrap_or_default()
}

fn signed(value: Option<f64>) -> String {
    value.map(|value| format!("{value:+.2}")).unwrap_or_default()
}

/// What else a training reports, line by line: errors against each label, the loss of the epochs, and coverage.
pub(super) fn training_lines(metrics: &TrainMetrics) -> Vec<String> {
    let (mut lines, labels, coverage) = (Vec::new(), &metrics.labels, metrics.coverage);
    let errors = [("scores", &labels.score), ("results", &labels.result), ("exact scores", &labels.exact)];
    let known = errors.into_iter().filter(|(_, errors)| 0 < errors.all.rows);
    let text =
        known.map(|(name, errors)| format!("{:.2} against {} {name}", errors.all.mae, thousands(errors.all.rows)));
    let text = text.collect::<Vec<_>>().join(", ");
    lines.extend((!text.is_empty()).then(|| format!("MAE {text}")));
    if let (Some(first), Some(last)) = (metrics.epochs.first(), metrics.epochs.last()) {
        let count = metrics.epochs.len();
        lines.push(format!("loss of epoch 1 {:.2}, of epoch {count} {:.2} discs", first.mae, last.mae));
    }
    let (unvisited, weights) = (thousands(coverage.unvisited), thousands(coverage.weights));
    lines.push(format!(
        "{:.2} % of the lookups in {} positions meet a trained weight; {unvisited} of {weights} weights were never trained",
        100.0 * coverage.seen,
        judged_name(metrics)
    ));
    lines
}
