//! `renma train`.

use super::arguments::stage::TrainArguments;
use super::output::{print, print_json, say, table, thousands};
use super::session::{Session, Stopwatch, load_run_model, registry_folder};
use super::stage::{StageEnd, run_stage};
use crate::artifact::dataset::manifest::Manifest;
use crate::artifact::model::registry::Registry;
use crate::config::load_config;
use crate::pipeline::train::run::train;
use crate::pipeline::train::task::{Error, Errors, TrainMetrics, TrainTask};
use crate::run::yardstick::refuse;
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
    for folder in &arguments.dataset {
        // Of a dataset that cannot be read, the stage says why.
        Manifest::read_any(folder).map_or(Ok(()), |manifest| refuse(folder, &manifest))?;
    }
    let stopwatch = Stopwatch::start();
    let task = TrainTask {
        config: &config.config.train,
        seed: config.config.run.seed,
        features: Arc::clone(&config.features),
        datasets: arguments.dataset.iter().map(PathBuf::as_path).collect(),
        parent: parent.as_ref(),
        registry: &Registry::new(&folder),
        memory: arguments.memory.as_u64(),
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
        say(&error_table(metrics));
    }
    if session.json {
        print_json(&report)?;
    } else {
        print(&report.id)?;
    }
    Ok(StageEnd::done(Some(&report.id), report.skipped))
}

/// The width of a row of the error table, in empty squares.
const EMPTIES_STEP: u32 = 10;

fn error_table(metrics: &TrainMetrics) -> String {
    let judged = if metrics.held_out { "held-out" } else { "training" };
    let names = ["empties", "rows", "MAE before", "after", "RMSE", "bias, even", "odd", "slope"];
    let mut rows = vec![names.map(str::to_owned).to_vec()];
    let (before, after) = (&metrics.before, &metrics.after);
    for min in (0..=60).step_by(EMPTIES_STEP as usize) {
        let within = |errors: &Errors, parity: Option<u32>| {
            let ranges = errors.by_empties.iter().filter(|range| (min..min + EMPTIES_STEP).contains(&range.min));
            Error::joined(
                ranges.filter(|range| parity.is_none_or(|parity| range.min % 2 == parity)).map(|range| &range.error),
            )
        };
        let Some(joined) = within(after, None) else { continue };
        let bias = |parity| within(after, Some(parity)).and_then(|error| error.bias);
        let empties = format!("{min}-{}", (min + EMPTIES_STEP - 1).min(60));
        let before = within(before, None).map(|error| error.mae);
        rows.push(error_row(empties, before, &joined, [bias(0), bias(1)]));
    }
    for range in &after.by_score {
        let before = before.by_score.iter().find(|other| other.max == range.max).map(|range| range.error.mae);
        rows.push(error_row(format!("|target| to {}", range.max), before, &range.error, [range.error.bias, None]));
    }
    rows.push(error_row("all".to_owned(), Some(before.all.mae), &after.all, [after.all.bias, None]));
    format!("error on {judged} rows, in discs\n{}", table(&rows))
}

fn error_row(name: String, before: Option<f64>, after: &Error, bias: [Option<f64>; 2]) -> Vec<String> {
    let discs = |value: Option<f64>| value.map(|value| format!("{value:.2}")).unwrap_or_default();
    let signed = |value: Option<f64>| value.map(|value| format!("{value:+.2}")).unwrap_or_default();
    let [even, odd] = bias.map(signed);
    let errors = [discs(before), discs(Some(after.mae)), discs(Some(after.rmse)), even, odd, discs(after.slope)];
    [vec![name, thousands(after.rows)], errors.to_vec()].concat()
}
