//! The summary of a dataset as tables.

use crate::artifact::VerdictFile;
use crate::artifact::dataset::verdict::MatchScore;
use crate::cli::output::{bars, counted, narrow_table, table, terminal_width, thousands};
use crate::curate::inspect::gate::GateSummary;
use crate::curate::inspect::mpc::MpcSummary;
use crate::curate::inspect::positions::{BIN_DISCS, PositionsSummary};
use crate::curate::inspect::{Inspection, Summary};
use crate::statistics::elo::elo_text;
use std::cmp::Reverse;
use std::io::stdout;
use std::path::Path;

/// The columns of a dataset of positions.
const COLUMNS: [&str; 9] = [
    "empties",
    "rows",
    "exact",
    "random",
    "score",
    "|score-static|",
    "|score-result|",
    "scores",
    "results",
];

/// Those that a narrow terminal does without, in the order in which they go.
const DISPENSABLE: [usize; 5] = [3, 2, 6, 8, 5];

pub fn describe(folder: &Path, inspection: &Inspection) -> String {
    let (text, rows, item) = match &inspection.summary {
        Summary::Positions(summary) => (describe_positions(summary), summary.positions, "position"),
        Summary::Gate(summary) => (describe_gate(summary), summary.games, "game"),
        Summary::Mpc(summary) => (describe_mpc(summary), summary.rows, "search"),
    };
    let rows = rows.max(1) as f64;
    let mut columns: Vec<_> = inspection.column_bytes.iter().collect();
    columns.sort_by_key(|(name, bytes)| (Reverse(**bytes), (*name).clone()));
    let lines = columns.into_iter().map(|(name, &bytes)| {
        [
            name.clone(),
            thousands(bytes),
            format!("{:.3}", bytes as f64 / rows),
        ]
    });
    let columns = table(["column", "bytes", &format!("per {item}")], lines);
    let bytes = inspection.bytes as f64 / rows;
    format!(
        "{}: {bytes:.2} bytes per {item}\n{text}\n{columns}",
        folder.display()
    )
}

fn percent(count: u64, total: u64) -> f64 {
    100.0 * count as f64 / total.max(1) as f64
}

fn describe_positions(summary: &PositionsSummary) -> String {
    let share = |count: u64| format!("{:.2} %", percent(count, summary.positions));
    let (games, positions) = (
        counted(summary.games, "game"),
        counted(summary.positions, "position"),
    );
    let [duplicates, mirrored] = [summary.duplicates, summary.duplicates_up_to_symmetry].map(share);
    let mut text =
        format!("{games}, {positions}\nduplicates: {duplicates} ({mirrored} up to symmetry)\n");
    for (column, count) in &summary.missing {
        text += &format!(
            "{column} is missing in {} ({})\n",
            counted(*count, "row"),
            share(*count)
        );
    }
    for opening in &summary.openings {
        let (distinct, games) = (thousands(opening.distinct), counted(opening.games, "game"));
        text += &format!(
            "openings at ply {}: {distinct} different in {games}\n",
            opening.ply
        );
    }
    let lines = summary.by_empties.iter().map(|line| {
        [
            empties_range(line.empties_min),
            thousands(line.rows),
            format!("{:.1} %", percent(line.exact, line.rows)),
            format!("{:.1} %", percent(line.random, line.rows)),
            line.score
                .discs()
                .map_or("-".to_owned(), |value| format!("{value:+.2}")),
            discs(line.static_error.discs()),
            discs(line.result_error.discs()),
            format!("|{}|", bars(&line.scores)),
            format!("|{}|", bars(&line.results)),
        ]
    });
    let table = narrow_table(COLUMNS, lines, terminal_width(stdout()), &DISPENSABLE);
    text + &format!(
        "\nerrors in discs; histograms from -64 to 64 in bins of {BIN_DISCS}\n{table}\n"
    )
}

/// A mean in discs, where there is one.
fn discs(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.2}"))
}

fn empties_range(min: u8) -> String {
    format!("{min}-{}", (min + 4).min(60))
}

fn describe_gate(summary: &GateSummary) -> String {
    let VerdictFile {
        verdict,
        candidate,
        baseline,
        score,
        test,
        openings,
        ..
    } = &summary.verdict;
    let (verdict, candidate, baseline) = (verdict.name(), &candidate.id, &baseline.id);
    let &MatchScore {
        wins,
        draws,
        losses,
        discs_mean,
        elo,
        elo_low,
        elo_high,
        interval,
        ..
    } = score;
    let (games, points) = (thousands(summary.games), 100.0 * score.points);
    let mut text = format!(
        "{verdict}: {candidate} over {baseline} in {games} games: +{wins} ={draws} -{losses}\n"
    );
    text += &format!("{points:.1} % of points, {discs_mean:+.2} discs per game, ");
    text += &format!(
        "Elo {} ({interval} standard errors)\n",
        elo_text([elo, elo_low, elo_high])
    );
    let [none, half, one, one_and_half, two] = score.pairs;
    text +=
        &format!("pairs by points: 0: {none}, ½: {half}, 1: {one}, 1½: {one_and_half}, 2: {two}\n");
    if let Some(test) = test {
        let looks: Vec<String> = summary
            .looks
            .iter()
            .map(|look| format!("{}: {:+.2}", look.pairs, look.llr))
            .collect();
        let (low, high) = (test.llr_low, test.llr_high);
        text += &format!(
            "log-likelihood ratio by pairs, from {low:+.2} to {high:+.2}: {}\n",
            looks.join(", ")
        );
    }
    let drawn = counted(openings.drawn, "opening");
    let [repeated, in_training, unbalanced] =
        [openings.repeated, openings.in_training, openings.unbalanced].map(thousands);
    text + &format!(
        "{drawn} drawn: {repeated} repeated, {in_training} in training data, {unbalanced} unbalanced\n"
    )
}

fn describe_mpc(summary: &MpcSummary) -> String {
    let [from_trees, solved] =
        [summary.from_trees, summary.solved].map(|count| percent(count, summary.samples));
    let (games, samples) = (
        counted(summary.games, "game"),
        counted(summary.samples, "sample"),
    );
    let [searches, nodes] = [summary.rows, summary.nodes].map(thousands);
    let origins = format!("{from_trees:.1} % from search trees, {solved:.1} % solved");
    format!("{games}, {samples} ({origins}), {searches} searches, {nodes} nodes\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curate::inspect::positions::BINS;

    #[test]
    fn the_summary_of_positions_fits_80_columns() {
        let bins = format!("|{}|", "█".repeat(BINS));
        let row = [
            "20-24",
            "12,345,678",
            "100.0 %",
            "12.3 %",
            "+12.34",
            "12.34",
            "12.34",
            &bins,
            &bins,
        ];
        let text = narrow_table(COLUMNS, [row.map(str::to_owned)], Some(80), &DISPENSABLE);
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        assert!(text.contains(&bins), "{text}");
    }
}
