//! Training in a plan.

use super::inputs::{PlannedDataset, PlannedModel};
use super::text_of;
use crate::artifact::model::features_file::{features_text, parse_features};
use crate::artifact::{ArtifactError, Registry};
use crate::cluster::plan::Plan;
use crate::pipeline::StageError;
use crate::pipeline::keys::Checked;
use crate::pipeline::stage_task::StageTask;
use crate::pipeline::train::recipe::open_datasets;
use crate::pipeline::train::shards::{part_weights, train_rounds};
use crate::pipeline::train::task::{TrainConfig, TrainTask};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::cluster) struct TrainPlan {
    config: Checked<TrainConfig>,
    /// The patterns and phases, as in `features.toml`.
    features: String,
    /// The datasets, oldest first.
    datasets: Vec<PlannedDataset>,
    /// The model to improve upon, if any.
    parent: Option<PlannedModel>,
    /// The registry of the run, in which parts of the training are left as checkpoints.
    registry: PathBuf,
    /// Bytes that the rows of a shard may take in memory.
    memory: u64,
    /// The number of parts that are learned first.
    wide_parts: usize,
    /// The row visits of each part, about.
    pub(super) weights: Vec<u64>,
}

impl TrainPlan {
    /// The plan of a task, and the generation of the newest dataset.
    pub(super) fn new(task: &TrainTask<'_>) -> Result<(u32, Self), StageError> {
        let datasets = open_datasets(task)?;
        let generation = datasets.last().map_or(1, |dataset| dataset.manifest().generation).max(1);
        let plan = Self {
            config: task.config.clone(),
            features: features_text(&task.features),
            datasets: task.datasets.iter().map(|folder| PlannedDataset::new(folder)).collect::<Result<_, _>>()?,
            parent: task.parent.map(PlannedModel::new).transpose()?,
            registry: text_of(task.registry.folder())?.into(),
            memory: task.memory,
            wide_parts: train_rounds(task).wide.len(),
            weights: part_weights(task, &datasets),
        };
        Ok((generation, plan))
    }

    /// The parts that can be learned at the same time, one round after another.
    pub(super) fn rounds(&self) -> Vec<Range<usize>> {
        let rounds = [0..self.wide_parts, self.wide_parts..self.weights.len()];
        rounds.into_iter().filter(|round| !round.is_empty()).collect()
    }

    pub(super) fn with_task<T>(
        &self,
        plan: &Plan,
        path: &Path,
        act: impl FnOnce(StageTask<'_>) -> T,
    ) -> Result<T, ArtifactError> {
        let unfit = |reason: String| ArtifactError::unfit(path, reason);
        self.datasets.iter().try_for_each(|dataset| dataset.check(path))?;
        let parent = self.parent.as_ref().map(|parent| parent.load(path)).transpose()?;
        let registry = Registry::new(&self.registry);
        let task = TrainTask {
            config: &self.config,
            seed: plan.seed,
            features: Arc::new(parse_features(&self.features).map_err(unfit)?),
            datasets: self.datasets.iter().map(|dataset| dataset.folder.as_path()).collect(),
            parent: parent.as_ref(),
            registry: &registry,
            memory: self.memory,
        };
        let rounds = train_rounds(&task);
        if (rounds.wide.len(), rounds.phases.end) != (self.wide_parts, self.weights.len()) {
            let reason = format!("its training has {} parts, {} of them wide", rounds.phases.end, rounds.wide.len());
            return Err(unfit(format!("{reason}; the plan says {} and {}", self.weights.len(), self.wide_parts)));
        }
        Ok(act(StageTask::Train(task)))
    }
}
