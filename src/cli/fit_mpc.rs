//! `renma fit-mpc`.

use super::arguments::FitMpcArguments;
use super::output::{print, print_json, say, table, thousands};
use super::session::{Session, load_run_model, registry_folder};
use super::work::{Worked, make_way, run_stage};
use crate::artifact::dataset::manifest::DatasetKind;
use crate::artifact::lock::{FIT_MPC_LOCK_NAME, FolderLock};
use crate::artifact::model::registry::Registry;
use crate::config::load_config;
use crate::pipeline::fit_mpc::{FitMpcMetrics, FitMpcTask, fit_mpc, step};
use std::process::ExitCode;

pub(super) fn run(session: &Session, arguments: &FitMpcArguments) -> anyhow::Result<ExitCode> {
    run_stage(session, "fit-mpc", Some(arguments.generation), &arguments.work, || work(session, arguments))
}

fn work(session: &Session, arguments: &FitMpcArguments) -> anyhow::Result<Worked> {
    let config = load_config(&arguments.config)?;
    let folder = registry_folder(arguments.models.as_deref(), &config.name);
    let model = load_run_model(&arguments.model, &folder, &config)?;
    let task = FitMpcTask {
        config: &config.config.fit_mpc,
        seed: config.config.run.seed,
        generation: arguments.generation,
        model: &model,
        registry: &Registry::new(&folder),
        output: arguments.output.as_deref(),
    };
    if let Some(output) = arguments.output.as_deref().filter(|_| arguments.replace) {
        make_way("fit-mpc", DatasetKind::Mpc, output, &step(&task))?;
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

fn fit_table(metrics: &FitMpcMetrics) -> String {
    let mut rows = vec![["empties", "deep", "shallow", "slope", "offset", "sigma"].map(str::to_owned).to_vec()];
    let discs = |millidiscs: i32| format!("{:.2}", f64::from(millidiscs) / 1000.0);
    for fit in &metrics.depths {
        rows.push(vec![
            format!("{}-{}", fit.empties_min, fit.empties_max),
            fit.deep.to_string(),
            fit.shallow.to_string(),
            format!("{:.2}", fit.slope),
            discs(fit.offset),
            discs(fit.sigma),
        ]);
    }
    let nodes = &metrics.nodes;
    let saved = 100.0 * (1.0 - nodes.selective as f64 / nodes.full_width.max(1) as f64);
    format!(
        "statistics in discs\n{}\ndepth {} of {} positions at {} sigmas: {} nodes instead of {} ({saved:.0} % saved), scores {:.2} discs apart (rms)",
        table(&rows),
        nodes.depth,
        nodes.positions,
        metrics.t,
        thousands(nodes.selective),
        thousands(nodes.full_width),
        nodes.rms_difference
    )
}
