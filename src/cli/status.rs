//! `renma status`: what a run has done, what is running, stale or missing, and why.

mod record;
mod steps;

use super::arguments::StatusArguments;
use super::failure::UsageError;
use super::output::{print, print_json, table, thousands};
use super::session::{Session, registry_folder};
use crate::artifact::dataset::manifest::{DatasetKind, Manifest};
use crate::artifact::dataset::positions::POSITIONS;
use crate::artifact::dataset::verdict::{Verdict, VerdictFile, read_verdict};
use crate::artifact::model::champion::ChampionFile;
use crate::artifact::model::document::ModelDocument;
use crate::artifact::model::name::ModelName;
use crate::artifact::model::registry::Registry;
use crate::artifact::publish::exists;
use crate::artifact::run::generation_folder;
use crate::cli::model::standings::{Standing, standings};
use crate::config::{config_value, load_config};
use crate::pipeline::train::TrainMetrics;
use serde::Serialize;
use std::path::Path;
use steps::{RunSteps, StageState, State, run_steps, stage_word};

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
    /// Generations up to this one are closed: what they no longer need may be gone.
    closed: u32,
    generations: Vec<GenerationStatus>,
    stage_states: Vec<StageState>,
    ladder: Vec<Standing>,
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
    if let Some(path) = &arguments.record {
        // What is damaged cannot be summed up; the record of the night is all the more wanted.
        let status = run_steps(&config, &registry, &datasets)
            .and_then(|steps| run_status(&config.name, &registry, &datasets, steps))
            .unwrap_or_else(|_| RunStatus::unknown(&config.name));
        return record::write(path, arguments, registry.folder(), &status);
    }
    let steps = run_steps(&config, &registry, &datasets)?;
    if arguments.resume {
        return Ok(print(&format!("{} {} {}", steps.first, steps.player, steps.next))?);
    }
    let mut status = run_status(&config.name, &registry, &datasets, steps)?;
    if let Some(stage) = arguments.step {
        status.stage_states.retain(|state| state.stage == stage);
    }
    match (session.json, arguments.step) {
        (true, _) => print_json(&status),
        (false, Some(_)) => Ok(print(&describe_steps(&status.stage_states))?),
        (false, None) => Ok(print(&describe(&status))?),
    }
}

impl RunStatus {
    fn unknown(run: &str) -> Self {
        Self {
            run: run.to_owned(),
            champion: None,
            closed: 0,
            generations: Vec::new(),
            stage_states: Vec::new(),
            ladder: Vec::new(),
        }
    }
}

fn run_status(run: &str, registry: &Registry, datasets: &Path, steps: RunSteps) -> anyhow::Result<RunStatus> {
    let documents = registry.documents()?;
    let champion = ChampionFile::read(registry.folder())?.champion().map(|promotion| promotion.id.to_string());
    let last = steps.stages.last().map_or(steps.first, |state| state.generation);
    let generations = (steps.first..=last)
        .map(|generation| generation_status(generation, datasets, &documents, champion.as_deref()))
        .collect::<anyhow::Result<Vec<_>>>()?;
    Ok(RunStatus {
        run: run.to_owned(),
        champion,
        closed: steps.first - 1,
        generations,
        stage_states: steps.stages,
        ladder: standings(datasets)?,
    })
}

fn generation_status(
    generation: u32,
    datasets: &Path,
    documents: &[ModelDocument],
    champion: Option<&str>,
) -> anyhow::Result<GenerationStatus> {
    let folder = |stage: &str| generation_folder(datasets, stage, generation);
    let selfplay = folder("selfplay");
    let manifest = exists(&selfplay.join("manifest.json"))?;
    let manifest = manifest.then(|| Manifest::read(&selfplay, DatasetKind::Selfplay)).transpose()?;
    let gate_folder = folder("gate");
    let gate = exists(&gate_folder.join("verdict.json"))?.then(|| read_verdict(&gate_folder)).transpose()?;
    let candidate = gate.as_ref().map(|gate| gate.candidate.id);
    let document = documents.iter().find(|document| candidate == Some(ModelName::Version(document.id)));
    let metrics = document.and_then(|document| train_metrics(documents, document));
    let candidate = candidate.map(|id| id.to_string());
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
pub(super) fn train_metrics(documents: &[ModelDocument], document: &ModelDocument) -> Option<TrainMetrics> {
    if document.origin.stage == "train" {
        return serde_json::from_value(document.origin.metrics.clone()).ok();
    }
    let parent = document.origin.parent.as_ref()?.content;
    // A version comes after what it was made from, so that no lineage goes in a circle.
    let older = documents.iter().filter(|other| other.id < document.id);
    train_metrics(documents, older.rev().find(|other| other.content == parent)?)
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
    let closed = match status.closed {
        0 => String::new(),
        closed => format!("; generations to {closed} are closed"),
    };
    let mut text =
        format!("run {}, champion {champion}; errors in discs on held-out games{closed}\n{}", status.run, table(&rows));
    if status.stage_states.iter().any(|state| state.state != State::Done) {
        text += &format!("\n\n{}", describe_generations(&status.stage_states));
    }
    text
}

/// A line a generation, a column a stage, and below the reason for each that is not done.
fn describe_generations(states: &[StageState]) -> String {
    let head = ["generation", "generate", "train", "fit-mpc", "gate"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for states in states.chunk_by(|left, right| left.generation == right.generation) {
        let words = states.iter().map(|state| state_word(state.state).to_owned());
        rows.push([vec![states[0].generation.to_string()], words.collect()].concat());
    }
    let reasons = states.iter().filter(|state| state.step.is_some()).filter_map(|state| {
        let (stage, word) = (stage_word(state.stage), state_word(state.state));
        Some(format!("generation {}: {stage} is {word}: {}", state.generation, state.because.as_ref()?))
    });
    [vec![table(&rows)], reasons.collect()].concat().join("\n")
}

/// A line a generation of one stage.
fn describe_steps(states: &[StageState]) -> String {
    let line = |state: &StageState| {
        let mut text = format!("generation {}: {}", state.generation, state_word(state.state));
        text += &state.version.as_ref().map_or(String::new(), |version| format!(" {version}"));
        text += &state.step.map_or(String::new(), |step| format!(" (step {})", step.short()));
        text + &state.because.as_ref().map_or(String::new(), |because| format!(": {because}"))
    };
    states.iter().map(line).collect::<Vec<_>>().join("\n")
}

const fn state_word(state: State) -> &'static str {
    match state {
        State::Done => "done",
        State::Running => "running",
        State::Stale => "stale",
        State::Missing => "missing",
    }
}

pub(super) const fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Accepted => "accepted",
        Verdict::Rejected => "rejected",
        Verdict::Inconclusive => "inconclusive",
    }
}
