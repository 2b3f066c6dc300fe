//! `renma train`.

use super::arguments::stage::TrainArguments;
use super::output::{print, print_json, say, table, thousands};
use super::session::{Session, Stopwatch, load_run_model, registry_folder};
use super::stage::{StageEnd, run_stage};
use crate::artifact::dataset::manifest::Manifest;
use crate::artifact::model::registry::Registry;
use crate::config::load_config;
use crate::pipeline::train::run::train;
use crate::pipeline::train::task::{TrainMetrics, TrainTask};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

pub(super) fn run(session: &Session, arguments: &TrainArguments) -> anyhow::Result<ExitCode> {
    // A dataset that cannot be read has no generation, and the stage says why.
    let newest = arguments.dataset.last().and_then(|folder| Manifest::read_any(folder).ok());
    let generation = newest.map(|manifest| manifest.generation);
    run_stage(session, "train", generation, &arguments.work, || work(session, arguments))
}

fn work(session: &Session, arguments: &TrainArguments) -> anyhow::Result<StageEnd> {
    let config = load_config(&arguments.run.config)?;
    let folder = registry_folder(arguments.run.models.as_deref(), &config.name);
    let parent = arguments.parent.as_deref().map(|name| load_run_model(name, &folder, &config)).transpose()?;
    let stopwatch = Stopwatch::start();
    let task = TrainTask {
        config: &config.config.train,
        seed: config.config.run.seed,
        features: Arc::clone(&config.features),
        datasets: arguments.dataset.iter().map(PathBuf::as_path).collect(),
        parent: parent.as_ref(),
        registry: &Registry::new(&folder),
    };
    let report = train(&task, session.context())?;
    let metrics = &report.metrics;
    if report.skipped {
        say(&format!("train: {} is already trained on this", report.id));
    } else {
        let updates = thousands(metrics.updates);
        say(&format!(
            "train: {} in {}: {updates} updates in {:.1} s",
            report.id,
            folder.display(),
            stopwatch.seconds()
        ));
        if 0 < metrics.unlabeled {
            say(&format!("train: skipped {} rows that lack the label to learn", thousands(metrics.unlabeled)));
        }
        if 0 < metrics.duplicates {
            say(&format!("train: merged {} rows into others with the same position", thousands(metrics.duplicates)));
        }
        say(&error_table(metrics));
    }
    if session.json {
        print_json(&report)?;
    } else {
        print(&report.id)?;
    }
    Ok(StageEnd::done(Some(&report.id), report.skipped))
}

fn error_table(metrics: &TrainMetrics) -> String {
    let judged = if metrics.held_out { "held-out" } else { "training" };
    let mut rows = vec![["empties", "rows", "MAE before", "after", "RMSE before", "after"].map(str::to_owned).to_vec()];
    let discs = |value: f64| format!("{value:.2}");
    for (before, after) in metrics.before.by_empties.iter().zip(&metrics.after.by_empties) {
        rows.push(vec![
            format!("{}-{}", after.empties_min, after.empties_max),
            thousands(after.rows),
            discs(before.mae),
            discs(after.mae),
            discs(before.rmse),
            discs(after.rmse),
        ]);
    }
    let (before, after) = (&metrics.before, &metrics.after);
    let count = if metrics.held_out { metrics.validation_rows } else { metrics.rows };
    let total = [before.mae, after.mae, before.rmse, after.rmse].map(discs);
    rows.push([vec!["all".to_owned(), thousands(count)], total.to_vec()].concat());
    format!("error on {judged} rows, in discs\n{}", table(&rows))
}
