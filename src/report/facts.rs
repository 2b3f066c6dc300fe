//! What a report shows, read from the files of a run.

use super::samples::{Scatter, scatter};
use crate::artifact::{
    ArtifactError, Dataset, GATE_GAMES, GateGameRow, GenerationLine, Manifest, ModelDocument,
    ModelName, NEVER, Registry, Verdict, VersionId, Versions,
};
use crate::config::LoadedConfig;
use crate::generation::Generation;
use crate::pipeline::StageError;
use crate::pipeline::fit_mpc::metrics::FitMpcMetrics;
use crate::pipeline::gate::decider::{Decider, Look};
use crate::pipeline::stage::Stage;
use crate::pipeline::train::task::TrainMetrics;
use crate::run::folders::{RunGate, selfplay};
use crate::run::lineage::Lineage;
use crate::run::log::{PlaySpeed, RunEfficiency, read_calls};
use crate::run::record::LastCall;
use crate::run::standings::{Standing, standings};
use crate::run::status::generation_lines;
use crate::statistics::sprt::SequentialTest;
use rayon::prelude::{IntoParallelRefIterator, ParallelIterator};
use serde::Deserialize;
use std::path::Path;
use std::sync::Arc;

/// A version with figures of the stage that made it.
#[derive(Clone, Debug)]
pub struct Made<T> {
    pub generation: Generation,
    pub id: VersionId,
    pub figures: T,
}

/// A player of the ladder, with the generation whose candidate it was; 0 for the start.
#[derive(Clone, Debug)]
pub struct Rung {
    pub generation: Generation,
    pub standing: Standing,
    pub promoted: bool,
}

/// The paths of older gates than this are not read.
const GATES_MAX: usize = 100;

/// A generation's place in the lineage.
#[derive(Clone, Debug)]
pub struct Descent {
    pub player: Option<String>,
    pub draft: Option<VersionId>,
    pub line: GenerationLine,
}

/// A gate that was a sequential test.
#[derive(Clone, Debug)]
pub struct GatePath {
    pub generation: Generation,
    pub verdict: Verdict,
    pub test: SequentialTest,
    pub looks: Vec<Look>,
}

/// Everything that a report shows.
#[derive(Debug)]
pub struct ReportFacts {
    pub run: String,
    pub last_call: Option<LastCall>,
    /// The last generation that the config asks for.
    pub asked: Generation,
    pub finished: Generation,
    pub champion: Option<VersionId>,
    pub ladder: Vec<Rung>,
    pub descents: Vec<Descent>,
    pub trainings: Vec<Made<TrainMetrics>>,
    pub fits: Vec<Made<FitMpcMetrics>>,
    pub scatter: Option<Scatter>,
    pub gates: Vec<GatePath>,
    /// The manifests of self-play, oldest first.
    pub datasets: Vec<Manifest>,
    pub speeds: Vec<PlaySpeed>,
    pub efficiency: Option<RunEfficiency>,
}

impl ReportFacts {
    pub fn read(
        config: &LoadedConfig,
        registry: &Registry,
        datasets: &Path,
    ) -> Result<Self, StageError> {
        let lineage = Lineage::read(config, registry, datasets)?;
        let champion = lineage.champions.champion().map(|promotion| promotion.id);
        let calls = read_calls(registry.folder())?;
        let sets: Vec<Manifest> = selfplay(datasets)?
            .into_iter()
            .map(|(.., manifest)| manifest)
            .collect();
        let speeds = sets
            .iter()
            .filter_map(|set| PlaySpeed::of(&calls, set.generation, set.done));
        let trainings: Vec<Made<TrainMetrics>> = made(&lineage.versions, Stage::Train);
        let fits: Vec<Made<FitMpcMetrics>> = made(&lineage.versions, Stage::FitMpc);
        let shown = shown(&fits, champion);
        Ok(Self {
            run: lineage.config.name.clone(),
            last_call: LastCall::read(registry.folder())?,
            asked: Generation(lineage.config.config.run.generations),
            finished: lineage.finished(),
            champion,
            ladder: rungs(&lineage)?,
            descents: descents(&lineage, &trainings)?,
            scatter: shown
                .map(|fit| scatter(fit.generation, &fit.figures, datasets))
                .transpose()?
                .flatten(),
            gates: gate_paths(&lineage.gates)?,
            speeds: speeds.collect(),
            efficiency: RunEfficiency::of(&calls),
            trainings,
            fits,
            datasets: sets,
        })
    }

    /// Whether the pipeline is at work, as far as `run.json` knows.
    pub fn is_running(&self) -> bool {
        self.last_call
            .as_ref()
            .is_some_and(|call| call.outcome == "running")
    }

    /// The fit whose figures are shown: the champion's, else the latest.
    pub fn fit(&self) -> Option<&Made<FitMpcMetrics>> {
        shown(&self.fits, self.champion)
    }

    /// The training whose figures are shown: the one behind that fit, else the latest.
    pub fn training(&self) -> Option<&Made<TrainMetrics>> {
        let generation = self.fit().map(|fit| fit.generation);
        let behind = self
            .trainings
            .iter()
            .rev()
            .find(|training| Some(training.generation) == generation);
        behind.or(self.trainings.last())
    }

    /// The rating of the champion.
    pub fn champion_rung(&self) -> Option<&Rung> {
        let champion = self.champion.map(ModelName::Version);
        self.ladder
            .iter()
            .find(|rung| Some(rung.standing.id) == champion)
    }

    /// The line of the generation that made the champion.
    pub fn champion_line(&self) -> Option<&GenerationLine> {
        let champion = self.champion?.to_string();
        self.lines()
            .find(|line| line.candidate.as_ref() == Some(&champion))
    }

    pub fn lines(&self) -> impl Iterator<Item = &GenerationLine> {
        self.descents.iter().map(|descent| &descent.line)
    }

    /// The last generation that has begun.
    pub fn last(&self) -> Generation {
        self.lines()
            .last()
            .map_or(Generation::FIRST, |line| line.generation)
    }
}

fn shown<T>(made: &[Made<T>], champion: Option<VersionId>) -> Option<&Made<T>> {
    made.iter()
        .find(|made| Some(made.id) == champion)
        .or(made.last())
}

/// The versions of a stage whose figures can be read, oldest first.
fn made<T: for<'de> Deserialize<'de>>(versions: &Versions, stage: Stage) -> Vec<Made<T>> {
    let of_stage = versions
        .documents
        .iter()
        .filter(|document| document.origin.stage == stage.name());
    let read = |document: &Arc<ModelDocument>| {
        let figures = T::deserialize(&document.origin.metrics).ok()?;
        Some(Made {
            generation: document.origin.generation()?,
            id: document.id,
            figures,
        })
    };
    of_stage.filter_map(read).collect()
}

fn rungs(lineage: &Lineage<'_>) -> Result<Vec<Rung>, ArtifactError> {
    let gates = || lineage.gates.iter();
    let rung = |standing: Standing| {
        let as_candidate = gates().find(|gate| gate.verdict.candidate.content == standing.content);
        let as_baseline = gates().find(|gate| gate.verdict.baseline.content == standing.content);
        let before = as_baseline.map_or(Generation::NONE, |gate| gate.generation.back(1));
        let mut promotions = lineage.champions.history.iter();
        Rung {
            generation: as_candidate.map_or(before, |gate| gate.generation),
            promoted: promotions.any(|promotion| promotion.content == standing.content),
            standing,
        }
    };
    let mut rungs: Vec<Rung> = standings(&lineage.gates, lineage.datasets, &lineage.versions)?
        .into_iter()
        .map(rung)
        .collect();
    rungs.sort_by_key(|rung| rung.generation);
    Ok(rungs)
}

/// All generations that have begun, closed ones first.
fn descents(
    lineage: &Lineage<'_>,
    trainings: &[Made<TrainMetrics>],
) -> Result<Vec<Descent>, ArtifactError> {
    let lines = generation_lines(lineage, lineage.begun()?)?;
    let descents = lines.into_iter().map(|line| Descent {
        player: lineage
            .file
            .player_of(line.generation)
            .map(|player| player.name.to_string()),
        draft: trainings
            .iter()
            .rfind(|made| made.generation == line.generation)
            .map(|made| made.id),
        line,
    });
    Ok(descents.collect())
}

/// The paths of the newest gates that were sequential tests, oldest first.
fn gate_paths(gates: &[RunGate]) -> Result<Vec<GatePath>, ArtifactError> {
    let newest = &gates[gates.len().saturating_sub(GATES_MAX)..];
    newest
        .par_iter()
        .filter_map(|gate| gate_path(gate).transpose())
        .collect()
}

/// The gate's path, if it was a sequential test.
fn gate_path(gate: &RunGate) -> Result<Option<GatePath>, ArtifactError> {
    let Some(test) = gate.verdict.test.clone() else {
        return Ok(None);
    };
    let dataset = Dataset::open_any(&gate.folder)?;
    let mut decider = Decider::of_test(&test);
    for index in 0..dataset.part_count() {
        decider.look(&dataset.read::<GateGameRow>(&GATE_GAMES, index, &NEVER)?);
    }
    Ok(Some(GatePath {
        generation: gate.generation,
        verdict: gate.verdict.verdict,
        test,
        looks: decider.looks,
    }))
}
