//! Training in a plan.

use super::inputs::{PlannedDataset, PlannedModel};
use super::text_of;
use crate::artifact::model::features_file::{features_text, parse_features};
use crate::artifact::{ArtifactError, ContentHash, Dataset, LoadedModel, Registry};
use crate::engine::PatternSet;
use crate::pipeline::StageError;
use crate::pipeline::keys::Checked;
use crate::pipeline::train::recipe::step;
use crate::pipeline::train::shards::{part_counts, part_weights};
use crate::pipeline::train::task::{TrainConfig, TrainTask};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainPlan {
    /// The hash of everything that determines the model.
    pub recipe: ContentHash,
    /// The `[train]` table.
    pub config: Checked<TrainConfig>,
    /// The patterns and phases, as in `features.toml`.
    pub features: String,
    /// The run's seed.
    pub seed: u64,
    /// The generation of the newest dataset.
    pub generation: u32,
    /// The datasets, oldest first.
    pub datasets: Vec<PlannedDataset>,
    /// The model to improve upon, if any.
    pub parent: Option<PlannedModel>,
    /// The registry of the run, in which parts of the training are left as checkpoints.
    pub registry: PathBuf,
    /// Bytes that the rows of a shard may take in memory.
    pub memory: u64,
    /// The number of parts that are learned first.
    pub wide_parts: usize,
    /// The row visits of each part, about.
    pub weights: Vec<u64>,
}

/// The models and patterns, and the registry.
#[derive(Debug)]
pub(in crate::cluster) struct TrainInputs {
    features: Arc<PatternSet>,
    parent: Option<LoadedModel>,
    registry: Registry,
}

impl TrainPlan {
    /// The plan of a task.
    ///
    /// # Errors
    ///
    /// A bad setting, a missing dataset, or a folder with a name that a plan cannot hold.
    pub fn new(task: &TrainTask<'_>) -> Result<Self, StageError> {
        let datasets = task.datasets.iter().map(|folder| Dataset::open(folder)).collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            recipe: step(task, &datasets).id,
            config: task.config.clone(),
            features: features_text(&task.features),
            seed: task.seed,
            generation: datasets.last().map_or(1, |dataset| dataset.manifest().generation).max(1),
            datasets: task.datasets.iter().map(|folder| PlannedDataset::new(folder)).collect::<Result<_, _>>()?,
            parent: task.parent.map(PlannedModel::new).transpose()?,
            registry: text_of(task.registry.folder())?.into(),
            memory: task.memory,
            wide_parts: part_counts(task)[0],
            weights: part_weights(task, &datasets),
        })
    }

    /// The parts that can be learned at the same time, one round after another.
    pub(super) fn rounds(&self) -> Vec<Range<usize>> {
        let rounds = [0..self.wide_parts, self.wide_parts..self.weights.len()];
        rounds.into_iter().filter(|round| !round.is_empty()).collect()
    }

    pub(super) fn load(&self, path: &Path) -> Result<TrainInputs, ArtifactError> {
        let unfit = |reason: String| ArtifactError::unfit(path, reason);
        self.datasets.iter().try_for_each(|dataset| dataset.check(path))?;
        let inputs = TrainInputs {
            features: Arc::new(parse_features(&self.features).map_err(unfit)?),
            parent: self.parent.as_ref().map(|parent| parent.load(path)).transpose()?,
            registry: Registry::new(&self.registry),
        };
        let [wide, all] = part_counts(&self.task(&inputs));
        if [wide, all] != [self.wide_parts, self.weights.len()] {
            let reason = format!("its training has {all} parts, {wide} of them wide");
            return Err(unfit(format!("{reason}; the plan says {} and {}", self.weights.len(), self.wide_parts)));
        }
        Ok(inputs)
    }

    pub(super) fn task<'a>(&'a self, inputs: &'a TrainInputs) -> TrainTask<'a> {
        TrainTask {
            config: &self.config,
            seed: self.seed,
            features: Arc::clone(&inputs.features),
            datasets: self.datasets.iter().map(|dataset| dataset.folder.as_path()).collect(),
            parent: inputs.parent.as_ref(),
            registry: &inputs.registry,
            memory: self.memory,
        }
    }
}
