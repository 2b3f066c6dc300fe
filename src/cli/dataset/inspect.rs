//! The summary of a dataset as tables.

use crate::cli::output::{bars, table, thousands};
use crate::curate::inspect::positions::{BIN_DISCS, Summary};
use std::path::Path;

pub(super) fn describe(folder: &Path, summary: &Summary) -> String {
    let rows = summary.positions.max(1) as f64;
    let share = |count: u64| format!("{:.2} %", 100.0 * count as f64 / rows);
    let mut text = format!(
        "{}: {} games, {} positions, {:.2} bytes per position\nduplicates: {} ({} up to symmetry)\n",
        folder.display(),
        thousands(summary.games),
        thousands(summary.positions),
        summary.bytes as f64 / rows,
        share(summary.duplicates),
        share(summary.duplicates_up_to_symmetry)
    );
    for (column, count) in &summary.missing {
        text += &format!("{column} is missing in {} rows ({})\n", thousands(*count), share(*count));
    }
    for opening in &summary.openings {
        let (distinct, games) = (thousands(opening.distinct), thousands(opening.games));
        text += &format!("openings at ply {}: {distinct} different in {games} games\n", opening.ply);
    }
    let head = ["empties", "rows", "exact", "random", "score", "|score-static|", "|score-result|"];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    lines[0].extend(["scores".to_owned(), "results".to_owned()]);
    for line in &summary.by_empties {
        let discs = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.2}"));
        let part = |count: u64| format!("{:.1} %", 100.0 * count as f64 / line.rows as f64);
        lines.push(vec![
            format!("{}-{}", line.empties_min, (line.empties_min + 4).min(60)),
            thousands(line.rows),
            part(line.exact),
            part(line.random),
            line.score_mean().map_or("-".to_owned(), |value| format!("{value:+.2}")),
            discs(line.static_error_mean()),
            discs(line.result_error_mean()),
            format!("|{}|", bars(&line.scores)),
            format!("|{}|", bars(&line.results)),
        ]);
    }
    text += &format!("\nerrors in discs; histograms from -64 to 64 in bins of {BIN_DISCS}\n{}\n", table(&lines));
    let mut columns: Vec<_> = summary.column_bytes.iter().collect();
    columns.sort_by_key(|(name, bytes)| (std::cmp::Reverse(**bytes), (*name).clone()));
    let mut lines = vec![["column", "bytes", "per position"].map(str::to_owned).to_vec()];
    lines.extend(
        columns
            .iter()
            .map(|(name, bytes)| vec![(*name).clone(), thousands(**bytes), format!("{:.3}", **bytes as f64 / rows)]),
    );
    text + "\n" + &table(&lines)
}
