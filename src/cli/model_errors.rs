//! The errors of models that trainings found, as tables.

use super::output::{table, thousands};
use crate::pipeline::train::task::{BandRows, ErrorBand, TrainMetrics};

/// Which rows the errors of a training are about.
pub const fn judged_name(metrics: &TrainMetrics) -> &'static str {
    if metrics.held_out {
        "held-out"
    } else {
        "training"
    }
}

/// The error of a training, by empty squares and by the size of the target, as a table.
pub fn error_table(metrics: &TrainMetrics) -> String {
    let names = [
        "empties",
        "rows",
        "MAE before",
        "after",
        "RMSE",
        "bias, even",
        "odd",
        "slope",
    ];
    let rows: Vec<[String; 8]> = metrics.bands().iter().map(error_row).collect();
    format!(
        "error on {} rows, in discs\n{}",
        judged_name(metrics),
        table(names, rows)
    )
}

fn error_row(band: &ErrorBand) -> [String; 8] {
    let name = match band.rows {
        BandRows::Empties(min, max) => format!("{min}-{max}"),
        BandRows::Target(max) => format!("|target| to {max}"),
        BandRows::All => "all".to_owned(),
    };
    let after = &band.after;
    let [even, odd] = band.biases.map(signed);
    let [before, mae, rmse, slope] = [
        band.mae_before,
        Some(after.mae),
        Some(after.rmse),
        after.slope,
    ]
    .map(discs);
    [
        name,
        thousands(after.rows),
        before,
        mae,
        rmse,
        even,
        odd,
        slope,
    ]
}

fn discs(value: Option<f64>) -> String {
    value.map(|value| format!("{value:.2}")).unwrap_or_default()
}

fn signed(value: Option<f64>) -> String {
    value
        .map(|value| format!("{value:+.2}"))
        .unwrap_or_default()
}

/// What else a training reports, line by line: errors against each label, the loss of the epochs,
/// and coverage.
pub fn training_lines(metrics: &TrainMetrics) -> Vec<String> {
    let (mut lines, labels, coverage) = (Vec::new(), &metrics.labels, metrics.coverage);
    let errors = [
        ("scores", &labels.score),
        ("results", &labels.result),
        ("exact scores", &labels.exact),
    ];
    let known = errors.into_iter().filter(|(_, errors)| 0 < errors.all.rows);
    let text = known.map(|(name, errors)| {
        format!(
            "{:.2} against {} {name}",
            errors.all.mae,
            thousands(errors.all.rows)
        )
    });
    let text = text.collect::<Vec<_>>().join(", ");
    lines.extend((!text.is_empty()).then(|| format!("MAE {text}")));
    if let (Some(first), Some(last)) = (metrics.epochs.first(), metrics.epochs.last()) {
        let count = metrics.epochs.len();
        lines.push(format!(
            "loss of epoch 1 {:.2}, of epoch {count} {:.2} discs",
            first.mae, last.mae
        ));
    }
    let (unvisited, weights) = (thousands(coverage.unvisited), thousands(coverage.weights));
    lines.push(format!(
        "{:.2} % of the lookups in {} positions meet a trained weight; {unvisited} of {weights} weights were never trained",
        100.0 * coverage.seen,
        judged_name(metrics)
    ));
    lines
}
