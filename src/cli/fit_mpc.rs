//! `renma fit-mpc`.

use super::arguments::FitMpcArguments;
use super::output::{print, print_json, say, table, thousands};
use super::session::{Session, load_run_model, registry_folder};
use super::work::{Worked, claim_folder, drop_surplus, run_stage};
use crate::artifact::dataset::manifest::DatasetKind;
use crate::artifact::dataset::mpc_samples::MPC_SAMPLES;
use crate::artifact::error::ArtifactError;
use crate::artifact::lock::{FIT_MPC_LOCK_NAME, FolderLock};
use crate::artifact::model::registry::Registry;
use crate::artifact::output::OutputFile;
use crate::config::load_config;
use crate::engine::search::mpc_level::LEVELS;
use crate::pipeline::fit_mpc::metrics::FitMpcMetrics;
use crate::pipeline::fit_mpc::picture::{PICTURE_FILE, PICTURE_NAMES};
use crate::pipeline::fit_mpc::recipe::{recipe, step};
use crate::pipeline::fit_mpc::run::fit_mpc;
use crate::pipeline::fit_mpc::task::FitMpcTask;
use std::path::Path;
use std::process::ExitCode;

pub(super) fn run(session: &Session, arguments: &FitMpcArguments) -> anyhow::Result<ExitCode> {
    run_stage(session, "fit-mpc", Some(arguments.generation), &arguments.work, || work(session, arguments))
}

fn work(session: &Session, arguments: &FitMpcArguments) -> anyhow::Result<Worked> {
    let config = load_config(&arguments.config)?;
    let folder = registry_folder(arguments.models.as_deref(), &config.name);
    let model = load_run_model(&arguments.model, &folder, &config)?;
    let registry = Registry::new(&folder);
    let task = FitMpcTask {
        config: &config.config.fit_mpc,
        seed: config.config.run.seed,
        generation: arguments.generation,
        model: &model,
        registry: &registry,
        output: arguments.output.as_deref(),
        report: arguments.report.as_deref(),
    };
    if let Some(output) = task.output {
        claim_folder("fit-mpc", DatasetKind::Mpc, output, arguments.replace, recipe(&task).hash)?;
        if arguments.replace {
            let asked = (task.config.games, task.config.games.div_ceil(task.config.part_games));
            drop_surplus("fit-mpc", output, recipe(&task).hash, &[&MPC_SAMPLES], asked)?;
        }
    }
    if let Some(report) = task.report {
        claim_pictures(report, arguments.replace || registry.made_by(step(&task).id)?.is_some())?;
    }
    let _lock = FolderLock::take_named(&folder, FIT_MPC_LOCK_NAME)?;
    let report = fit_mpc(task, session.context())?;
    if report.skipped {
        say(&format!("fit-mpc: {} has the statistics of these weights already", report.id));
    } else {
        say(&format!("fit-mpc: {} in {}", report.id, folder.display()));
        say(&fit_table(&report.metrics));
    }
    if session.json {
        print_json(&report)?;
    } else {
        print(&report.id)?;
    }
    Ok(Worked::done(Some(&report.id), report.skipped))
}

/// Checks the places of the pictures before any work is done for them: pictures of a fit are overwritten if they may be,
/// and nothing else ever is.
fn claim_pictures(folder: &Path, overwrite: bool) -> Result<(), ArtifactError> {
    for path in PICTURE_NAMES.map(|name| folder.join(name)) {
        OutputFile::check(&path, PICTURE_FILE, overwrite, "--replace")?;
    }
    Ok(())
}

fn fit_table(metrics: &FitMpcMetrics) -> String {
    let nodes = &metrics.nodes;
    let mut text = format!("{} statistics in the table", metrics.depths.len());
    if !metrics.held_out.is_empty() {
        let mut rows = vec![vec!["held out".to_owned(), "pairs".to_owned()]];
        rows[0].extend(LEVELS.iter().map(|level| format!("{level} %")));
        for group in &metrics.held_out {
            let misses = group.miss_rates.iter().map(|rate| format!("{:.2}", 100.0 * rate));
            rows.push([group.group.clone(), thousands(group.pairs)].into_iter().chain(misses).collect());
        }
        text += &format!("\nmisses in percent\n{}", table(&rows));
    }
    let mut rows = vec![["level", "nodes", "of full width", "rms, discs", "same move"].map(str::to_owned).to_vec()];
    for found in &nodes.levels {
        rows.push(vec![
            found.level.map_or_else(|| format!("{} sigmas", metrics.margin()), |level| format!("{level} %")),
            thousands(found.nodes),
            format!("{:.1} %", 100.0 * found.nodes as f64 / nodes.full_width.max(1) as f64),
            format!("{:.2}", found.rms_difference),
            format!("{:.0} %", 100.0 * found.same_move),
        ]);
    }
    format!(
        "{text}\ndepth {} of {} positions, {} nodes full width; {} plies more in these nodes at {}\n{}",
        nodes.depth,
        nodes.positions,
        thousands(nodes.full_width),
        nodes.depth_gained,
        metrics.level,
        table(&rows)
    )
}
