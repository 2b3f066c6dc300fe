//! `renma fit-mpc`.

use super::output::{aligned, counted, detail, table, thousands};
use super::session::Session;
use crate::engine::LEVELS;
use crate::pipeline::fit_mpc::metrics::{FitMpcMetrics, LevelNodes};
use crate::pipeline::fit_mpc::task::{FitMpcReport, FitMpcTask};
use crate::pipeline::stage::Stage;

/// Says what was fitted.
pub(super) fn tell(session: &Session, task: &FitMpcTask<'_>, report: &FitMpcReport) {
    let made = format!("{} from {}", report.id, task.model.id);
    session.summarize(Stage::FitMpc.name(), &format!("{made}: {}", saving(&report.metrics)), report.skipped);
    if !report.skipped {
        detail(&fit_table(&report.metrics));
    }
}

/// What the statistics save at the level that they were chosen for.
fn saving(metrics: &FitMpcMetrics) -> String {
    let nodes = &metrics.nodes;
    let level = nodes.levels.iter().find(|found| found.level == metrics.level.percent());
    let Some(found) = level else { return counted(metrics.depths.len() as u64, "statistic") };
    let share = 100.0 * found.nodes as f64 / nodes.full_width.max(1) as f64;
    format!("depth {} at {} {}", nodes.depth, level_name(found, metrics), saving_text(share))
}

/// The cost of a search that visits this percentage of the nodes of a full-width one.
fn saving_text(share: f64) -> String {
    let saved = 100.0 - share.round();
    if saved < 0.0 { format!("costs {} % more nodes", -saved) } else { format!("saves {saved} % of the nodes") }
}

fn level_name(found: &LevelNodes, metrics: &FitMpcMetrics) -> String {
    found.level.map_or_else(|| format!("{} sigmas", metrics.margin()), |level| format!("{level} %"))
}

fn fit_table(metrics: &FitMpcMetrics) -> String {
    let nodes = &metrics.nodes;
    let mut text = format!("{} in the table", counted(metrics.depths.len() as u64, "statistic"));
    if !metrics.held_out.is_empty() {
        let mut rows = vec![vec!["held out".to_owned(), "pairs".to_owned()]];
        rows[0].extend(LEVELS.iter().map(|level| format!("{level} %")));
        for group in &metrics.held_out {
            let misses = group.miss_rates.iter().map(|rate| format!("{:.2}", 100.0 * rate));
            rows.push([group.group.clone(), thousands(group.pairs)].into_iter().chain(misses).collect());
        }
        text += &format!("\nmisses in percent\n{}", aligned(&rows));
    }
    let row = |found: &LevelNodes| {
        [
            level_name(found, metrics),
            thousands(found.nodes),
            format!("{:.1} %", 100.0 * found.nodes as f64 / nodes.full_width.max(1) as f64),
            format!("{:.2}", found.rms_difference),
            format!("{:.0} %", 100.0 * found.same_move),
        ]
    };
    format!(
        "{text}\ndepth {} of {} positions, {} nodes full width; the same nodes reach {} plies deeper at {}\n{}",
        nodes.depth,
        nodes.positions,
        thousands(nodes.full_width),
        nodes.depth_gained,
        metrics.level,
        table(["level", "nodes", "of full width", "rms, discs", "same move"], nodes.levels.iter().map(row))
    )
}

#[cfg(test)]
mod tests {
    use super::saving_text;

    #[test]
    fn a_loss_reads_as_a_loss() {
        let texts = [52.4, 99.9, 110.0].map(saving_text);
        assert_eq!(texts, ["saves 48 % of the nodes", "saves 0 % of the nodes", "costs 10 % more nodes"]);
    }
}
