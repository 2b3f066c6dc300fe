//! `renma status`: what a run has done, a line a generation.

use super::arguments::StatusArguments;
use super::failure::UsageError;
use super::output::{print, print_json, table, thousands};
use super::session::{Session, registry_folder};
use crate::artifact::dataset::manifest::{DatasetKind, Manifest};
use crate::artifact::dataset::positions::POSITIONS;
use crate::artifact::dataset::verdict::{Verdict, VerdictFile, read_verdict};
use crate::artifact::model::champion::ChampionFile;
use crate::artifact::model::document::ModelDocument;
use crate::artifact::model::registry::Registry;
use crate::config::{config_value, load_config};
use crate::pipeline::train::TrainMetrics;
use serde::Serialize;
use std::path::Path;

/// What a generation has done.
#[derive(Debug, Serialize)]
struct GenerationStatus {
    generation: u32,
    games: Option<u64>,
    positions: Option<u64>,
    mae_before: Option<f64>,
    mae_after: Option<f64>,
    candidate: Option<String>,
    gate: Option<VerdictFile>,
    champion: bool,
}

#[derive(Debug, Serialize)]
struct RunStatus {
    run: String,
    champion: Option<String>,
    generations: Vec<GenerationStatus>,
}

pub(super) fn run(session: &Session, arguments: &StatusArguments) -> anyhow::Result<()> {
    let config = load_config(&arguments.config)?;
    if let Some(key) = &arguments.key {
        let value = config_value(&config.config, key)
            .ok_or_else(|| UsageError(format!("--key {key}: the config has no such key")))?;
        return Ok(print(&value)?);
    }
    let registry = Registry::new(&registry_folder(arguments.models.as_deref(), &config.name));
    let datasets = arguments.datasets.clone().unwrap_or_else(|| Path::new("datasets").join(&config.name));
    let documents = registry.documents()?;
    let champion = ChampionFile::read(registry.folder())?.champion().map(|promotion| promotion.id.clone());
    let mut generations = Vec::new();
    for generation in 1.. {
        let status = generation_status(generation, &datasets, &documents, champion.as_deref())?;
        if status.games.is_none() && config.config.run.generations < generation {
            break;
        }
        generations.push(status);
    }
    let status = RunStatus { run: config.name, champion, generations };
    if session.json { print_json(&status) } else { Ok(print(&describe(&status))?) }
}

fn generation_status(
    generation: u32,
    datasets: &Path,
    documents: &[ModelDocument],
    champion: Option<&str>,
) -> anyhow::Result<GenerationStatus> {
    let folder = |stage: &str| datasets.join(stage).join(format!("generation={generation:04}"));
    let selfplay = folder("selfplay");
    let manifest = selfplay.join("manifest.json").exists();
    let manifest = manifest.then(|| Manifest::read(&selfplay, DatasetKind::Selfplay)).transpose()?;
    let gate_folder = folder("gate");
    let gate = gate_folder.join("verdict.json").exists().then(|| read_verdict(&gate_folder)).transpose()?;
    let candidate = gate.as_ref().map(|gate| gate.candidate.id.clone());
    let metrics = candidate.as_deref().and_then(|id| train_metrics(documents, id));
    Ok(GenerationStatus {
        generation,
        games: manifest.as_ref().map(|manifest| manifest.done),
        positions: manifest.as_ref().map(|manifest| manifest.rows(POSITIONS.name)),
        mae_before: metrics.as_ref().map(|metrics| metrics.before.mae),
        mae_after: metrics.as_ref().map(|metrics| metrics.after.mae),
        champion: candidate.is_some() && candidate.as_deref() == champion,
        candidate,
        gate,
    })
}

/// The figures of the training behind a version: its own, or those of the draft it was fitted to.
fn train_metrics(documents: &[ModelDocument], id: &str) -> Option<TrainMetrics> {
    let document = documents.iter().find(|document| document.id == id)?;
    if document.origin.stage == "train" {
        return serde_json::from_value(document.origin.metrics.clone()).ok();
    }
    train_metrics(documents, &document.origin.parent.as_ref()?.id)
}

fn describe(status: &RunStatus) -> String {
    let head = ["generation", "games", "positions", "MAE before", "after", "candidate", "points", "Elo", "verdict", ""];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let count = |value: Option<u64>| value.map_or("-".to_owned(), thousands);
    let discs = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.2}"));
    for line in &status.generations {
        let score = line.gate.as_ref().map(|gate| &gate.score);
        rows.push(vec![
            line.generation.to_string(),
            count(line.games),
            count(line.positions),
            discs(line.mae_before),
            discs(line.mae_after),
            line.candidate.clone().unwrap_or("-".into()),
            score.map_or("-".into(), |score| format!("{:.1} %", 100.0 * score.points)),
            score.map_or("-".into(), |score| {
                format!("{:+.0} [{:+.0}, {:+.0}]", score.elo, score.elo_low, score.elo_high)
            }),
            line.gate.as_ref().map_or("-", |gate| verdict_word(gate.verdict)).to_owned(),
            if line.champion { "champion".into() } else { String::new() },
        ]);
    }
    let champion = status.champion.as_deref().unwrap_or("none yet");
    format!("run {}, champion {champion}; errors in discs on held-out games\n{}", status.run, table(&rows))
}

const fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Accepted => "accepted",
        Verdict::Rejected => "rejected",
        Verdict::Inconclusive => "inconclusive",
    }
}
