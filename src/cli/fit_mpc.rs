//! `renma fit-mpc`.

use super::output::counted;
use super::session::Session;
use crate::pipeline::fit_mpc::metrics::FitMpcMetrics;
use crate::pipeline::fit_mpc::task::FitMpcReport;
use crate::pipeline::request::{Request, Role};

/// Says what was fitted.
pub fn tell(session: &Session, request: &Request, report: &FitMpcReport) {
    let model = request
        .models
        .get(&Role::Model)
        .map(|model| model.name.to_string())
        .unwrap_or_default();
    let made = format!("{} from {model}", report.id);
    session.summarize(
        request.stage.name(),
        &format!("{made}: {}", saving(&report.metrics)),
        report.skipped,
    );
}

/// What the statistics save at the level that they were chosen for.
fn saving(metrics: &FitMpcMetrics) -> String {
    let nodes = &metrics.nodes;
    let level = nodes
        .levels
        .iter()
        .find(|found| found.level == metrics.level.percent());
    let Some(found) = level else {
        return counted(metrics.depths.len() as u64, "statistic");
    };
    let level = found.level.map_or_else(
        || format!("{} sigmas", metrics.margin()),
        |level| format!("{level} %"),
    );
    let share = 100.0 * found.nodes as f64 / nodes.full_width.max(1) as f64;
    format!("depth {} at {level} {}", nodes.depth, saving_text(share))
}

/// The cost of a search that visits this percentage of the nodes of a full-width one.
fn saving_text(share: f64) -> String {
    let saved = 100.0 - share.round();
    if saved < 0.0 {
        format!("costs {} % more nodes", -saved)
    } else {
        format!("saves {saved} % of the nodes")
    }
}

#[cfg(test)]
mod tests {
    use super::saving_text;

    #[test]
    fn a_loss_reads_as_a_loss() {
        let texts = [52.4, 99.9, 110.0].map(saving_text);
        assert_eq!(
            texts,
            [
                "saves 48 % of the nodes",
                "saves 0 % of the nodes",
                "costs 10 % more nodes"
            ]
        );
    }
}
