//! A match in a plan.

use super::inputs::{PlannedDataset, PlannedModel};
use super::text_of;
use crate::artifact::{ArtifactError, ContentHash, LoadedModel};
use crate::pipeline::StageError;
use crate::pipeline::gate::recipe::recipe;
use crate::pipeline::gate::task::{GateConfig, GateTask};
use crate::pipeline::keys::Checked;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A match.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GatePlan {
    /// The hash of everything that determines the games, except their number.
    pub recipe: ContentHash,
    /// The `[gate]` table.
    pub config: Checked<GateConfig>,
    /// The run's seed.
    pub seed: u64,
    /// The generation, counted from 1.
    pub generation: u32,
    /// The model that would be champion.
    pub candidate: PlannedModel,
    /// The model that it plays.
    pub baseline: PlannedModel,
    /// Datasets whose positions must not be openings.
    pub avoid: Vec<PlannedDataset>,
    /// The dataset folder of the games.
    pub output: PathBuf,
}

/// The players, and the folders of the datasets to avoid.
#[derive(Debug)]
pub(in crate::cluster) struct GateInputs {
    candidate: LoadedModel,
    baseline: LoadedModel,
    avoid: Vec<PathBuf>,
}

impl GatePlan {
    /// The plan of a task.
    ///
    /// # Errors
    ///
    /// A bad setting, a missing dataset, or a folder with a name that a plan cannot hold.
    pub fn new(task: &GateTask<'_>) -> Result<Self, StageError> {
        Ok(Self {
            recipe: recipe(task)?.hash,
            config: task.config.clone(),
            seed: task.seed,
            generation: task.generation,
            candidate: PlannedModel::new(task.candidate)?,
            baseline: PlannedModel::new(task.baseline)?,
            avoid: task.avoid.iter().map(|folder| PlannedDataset::new(folder)).collect::<Result<_, _>>()?,
            output: text_of(task.output)?.into(),
        })
    }

    pub(super) fn load(&self, path: &Path) -> Result<GateInputs, ArtifactError> {
        self.avoid.iter().try_for_each(|dataset| dataset.check(path))?;
        Ok(GateInputs {
            candidate: self.candidate.load(path)?,
            baseline: self.baseline.load(path)?,
            avoid: self.avoid.iter().map(|dataset| dataset.folder.clone()).collect(),
        })
    }

    pub(super) fn task<'a>(&'a self, inputs: &'a GateInputs) -> GateTask<'a> {
        GateTask {
            config: &self.config,
            seed: self.seed,
            generation: self.generation,
            candidate: &inputs.candidate,
            baseline: &inputs.baseline,
            avoid: &inputs.avoid,
            output: &self.output,
            remake: false,
        }
    }
}
