//! One model with what it was made from, what it made, and the gates it played in.

use crate::artifact::{
    ArtifactError, ChampionFile, ContentHash, DatasetEntry, LoadedModel, Manifest, ModelDocument,
    VersionId, Versions,
};
use crate::generation::Generation;
use crate::pipeline::stage::Stage;
use crate::pipeline::train::task::TrainMetrics;
use crate::pipeline::yardstick::exact_mae;
use crate::run::folders::{RunGate, gates, generation_folder, selfplay};
use crate::run::standings::{Standing, standings};
use crate::run::status::train_metrics;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A dataset that a model was trained on, or that it played.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct DatasetLink {
    pub generation: Generation,
    pub content: ContentHash,
    pub games: u64,
    pub positions: u64,
    /// Where it is, if it still exists.
    pub folder: Option<String>,
}

/// What a run knows about a model.
#[derive(Clone, Debug)]
pub struct ModelHistory {
    /// The figures of the training behind it, if it was trained.
    pub training: Option<TrainMetrics>,
    /// Its error on the yardstick, in discs.
    pub exact_mae: f64,
    /// Its place on the ladder of all gates.
    pub standing: Option<Standing>,
    /// Its latest promotion, counted from 1; none if it was never the champion.
    pub promotion: Option<usize>,
    /// The number of promotions in effect; the last one made the champion.
    pub promotion_count: usize,
    /// The datasets it was trained on.
    pub trained_on: Vec<DatasetLink>,
    /// The self-play datasets that it played.
    pub played: Vec<DatasetLink>,
    /// The versions made from it.
    pub children: Vec<VersionId>,
    /// The gates in which it was the candidate or the baseline.
    pub gates: Vec<RunGate>,
}

impl ModelHistory {
    /// Reads what the registry `models`, whose versions are given, and the datasets say about a
    /// model.
    ///
    /// # Errors
    ///
    /// A damaged document.
    pub fn read(
        model: &LoadedModel,
        versions: &Versions,
        models: &Path,
        datasets: &Path,
    ) -> Result<Self, ArtifactError> {
        let is_parent = |document: &&Arc<ModelDocument>| {
            document
                .origin
                .parent
                .as_ref()
                .is_some_and(|parent| parent.content == model.content)
        };
        let is_player = |gate: &RunGate| {
            [&gate.verdict.candidate, &gate.verdict.baseline]
                .iter()
                .any(|player| player.content == model.content)
        };
        let promotions = ChampionFile::read(models)?.history;
        let promotion = promotions
            .iter()
            .rposition(|promotion| promotion.content == model.content);
        let gates = gates(datasets)?;
        let standings = standings(&gates, datasets, versions)?;
        Ok(Self {
            training: model
                .document
                .as_ref()
                .and_then(|document| train_metrics(versions, document)),
            exact_mae: exact_mae(&model.model.evaluation),
            standing: standings
                .into_iter()
                .find(|standing| standing.content == model.content),
            promotion: promotion.map(|place| place + 1),
            promotion_count: promotions.len(),
            trained_on: trained_on(model, datasets)?,
            played: played(model, datasets)?,
            children: versions
                .documents
                .iter()
                .filter(is_parent)
                .map(|document| document.id)
                .collect(),
            gates: gates.into_iter().filter(is_player).collect(),
        })
    }

    /// Whether the model is the champion.
    pub fn is_champion(&self) -> bool {
        self.promotion == Some(self.promotion_count)
    }
}

/// The datasets behind a model, with their folders as far as they still exist.
fn trained_on(model: &LoadedModel, datasets: &Path) -> Result<Vec<DatasetLink>, ArtifactError> {
    let entries = model
        .document
        .iter()
        .flat_map(|document| &document.origin.datasets);
    let link = |entry: &DatasetEntry| {
        let folder =
            folder_of(entry, datasets)?.map(|folder| folder.to_string_lossy().into_owned());
        let DatasetEntry {
            generation,
            content,
            games,
            positions,
            ..
        } = *entry;
        Ok(DatasetLink {
            generation,
            content,
            games,
            positions,
            folder,
        })
    };
    entries.map(link).collect()
}

/// The self-play folder with the content of a dataset, if it still exists.
///
/// # Errors
///
/// A damaged manifest.
pub(super) fn folder_of(
    entry: &DatasetEntry,
    datasets: &Path,
) -> Result<Option<PathBuf>, ArtifactError> {
    let folder = generation_folder(datasets, Stage::Generate, entry.generation);
    let found = Manifest::find_any(&folder)?;
    Ok(found
        .is_some_and(|manifest| manifest.content == entry.content)
        .then_some(folder))
}

/// The self-play that a model played.
fn played(model: &LoadedModel, datasets: &Path) -> Result<Vec<DatasetLink>, ArtifactError> {
    let mut datasets = selfplay(datasets)?;
    datasets.retain(|(.., manifest)| {
        manifest
            .models
            .values()
            .any(|player| *player == model.content)
    });
    let link = |(generation, folder, manifest): (Generation, PathBuf, Manifest)| DatasetLink {
        generation,
        content: manifest.content,
        games: manifest.done,
        positions: manifest.rows("positions"),
        folder: Some(folder.to_string_lossy().into_owned()),
    };
    Ok(datasets.into_iter().map(link).collect())
}
