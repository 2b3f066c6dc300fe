//! What a run has done, one line per generation.

use super::folders::generation_folder;
use super::lineage::Lineage;
use super::standings::{Standing, standings};
use super::state::{StageState, run_steps};
use crate::artifact::publish::bytes_in;
use crate::artifact::{
    ArtifactError, DatasetKind, GenerationLine, Manifest, ModelDocument, ModelName, POSITIONS,
    Registry, Verdict, VerdictFile, Versions,
};
use crate::config::LoadedConfig;
use crate::generation::Generation;
use crate::pipeline::StageError;
use crate::pipeline::stage::Stage;
use crate::pipeline::train::task::TrainMetrics;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What a generation has done.
#[derive(Debug, Serialize)]
pub struct GenerationStatus {
    /// Its line of the table.
    #[serde(flatten)]
    pub line: GenerationLine,
    /// The whole verdict, if it is still there.
    pub gate: Option<VerdictFile>,
    /// Whether its candidate is the champion.
    pub champion: bool,
}

/// What a run has done.
#[derive(Debug, Default, Serialize)]
pub struct RunStatus {
    /// The run's name.
    pub run: String,
    /// The champion's id.
    pub champion: Option<String>,
    /// Generations up to this one are closed: gc may have removed what nothing needs.
    pub closed: Generation,
    /// All of them, closed ones first.
    pub generations: Vec<GenerationStatus>,
    /// The stages of those that are not closed.
    pub stage_states: Vec<StageState>,
    /// Number of gates since the last that accepted its candidate.
    pub rejected_in_a_row: u32,
    /// Bytes of the run's datasets and models.
    pub bytes_on_disk: u64,
    /// What the config changes for generations that are finished; `renma run` refuses it.
    pub changes: Vec<String>,
    /// The keys that the config does not name, and whose default is not the run's value, which it
    /// keeps.
    pub moved_defaults: Vec<String>,
    /// The ratings of all players of its gates, best first.
    pub ladder: Vec<Standing>,
}

impl RunStatus {
    /// What a run has done so far.
    ///
    /// # Errors
    ///
    /// A damaged document.
    pub fn read(
        config: &LoadedConfig,
        registry: &Registry,
        datasets: &Path,
    ) -> Result<Self, StageError> {
        let lineage = Lineage::read(config, registry, datasets)?;
        let steps = run_steps(&lineage)?;
        let champion = lineage
            .champions
            .champion()
            .map(|promotion| promotion.id.to_string());
        let last = steps
            .stages
            .last()
            .map_or(steps.first, |state| state.generation);
        let lines = generation_lines(&lineage, last)?;
        let verdicts = lines.iter().rev().filter_map(|line| line.verdict);
        let rejected_in_a_row = verdicts
            .take_while(|verdict| *verdict != Verdict::Accepted)
            .count() as u32;
        let status = |line: GenerationLine| GenerationStatus {
            gate: lineage
                .verdict(line.generation)
                .filter(|_| steps.first <= line.generation)
                .cloned(),
            champion: champion.is_some() && line.candidate == champion,
            line,
        };
        Ok(Self {
            run: lineage.config.name.clone(),
            closed: lineage.closed.generation,
            generations: lines.into_iter().map(status).collect(),
            champion: champion.clone(),
            rejected_in_a_row,
            bytes_on_disk: bytes_in(registry.folder())? + bytes_in(datasets)?,
            stage_states: steps.stages,
            changes: lineage.changes(),
            moved_defaults: lineage.moved_defaults.clone(),
            ladder: standings(&lineage.gates, datasets, &lineage.versions)?,
        })
    }
}

/// The lines of all generations up to the last one, closed ones first.
///
/// # Errors
///
/// A damaged document.
pub fn generation_lines(
    lineage: &Lineage<'_>,
    last: Generation,
) -> Result<Vec<GenerationLine>, ArtifactError> {
    let versions = &lineage.versions;
    let mut lines = lineage.closed.generations.clone();
    for generation in (lineage.closed.generation + 1).to(last) {
        let selfplay = generation_folder(lineage.datasets, Stage::Generate, generation);
        let manifest = Manifest::find(&selfplay, DatasetKind::Selfplay)?;
        let gate = lineage.verdict(generation);
        let candidate = gate.map(|gate| gate.candidate.id);
        let document = candidate
            .and_then(ModelName::version)
            .and_then(|id| versions.with_id(id));
        let document = document.and_then(|known| known.document);
        let training = document.and_then(|document| train_metrics(versions, &document));
        let exact_mae = training.as_ref().and_then(|metrics| metrics.exact_mae);
        // An error on the rows that were trained on is not the held-out error that a line has room
        // for.
        let metrics = training.filter(|metrics| metrics.held_out);
        lines.push(GenerationLine {
            generation,
            games: manifest.as_ref().map(|manifest| manifest.done),
            positions: manifest
                .as_ref()
                .map(|manifest| manifest.rows(POSITIONS.name)),
            mae_before: metrics.as_ref().map(|metrics| metrics.before.all.mae),
            mae_after: metrics.as_ref().map(|metrics| metrics.after.all.mae),
            exact_mae,
            baseline: gate.map(|gate| gate.baseline.id.to_string()),
            candidate: candidate.map(|id| id.to_string()),
            verdict: gate.map(|gate| gate.verdict),
            points: gate.map(|gate| gate.score.points),
            elo: gate.map(|gate| [gate.score.elo, gate.score.elo_low, gate.score.elo_high]),
        });
    }
    Ok(lines)
}

/// The training metrics of a version: its own, or those of the draft that it was fitted to.
pub fn train_metrics(versions: &Versions, document: &ModelDocument) -> Option<TrainMetrics> {
    if document.origin.stage == Stage::Train.name() {
        return TrainMetrics::deserialize(&document.origin.metrics).ok();
    }
    let parent = versions.with_content(document.origin.parent.as_ref()?.content)?;
    // A version is newer than its parent, so this ends even if a lineage is circular.
    if parent.id < document.id {
        train_metrics(versions, parent)
    } else {
        None
    }
}
