//! MPC statistics in a plan.

use super::inputs::PlannedModel;
use super::text_of;
use crate::artifact::{ArtifactError, ContentHash, LoadedModel, Registry};
use crate::pipeline::StageError;
use crate::pipeline::fit_mpc::parts::fit_mpc_shards;
use crate::pipeline::fit_mpc::recipe::recipe;
use crate::pipeline::fit_mpc::task::{FitMpcConfig, FitMpcTask};
use crate::pipeline::keys::Checked;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The samples of MPC statistics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FitMpcPlan {
    /// The hash of everything that determines the samples, except their number.
    pub recipe: ContentHash,
    /// The `[fit_mpc]` table.
    pub config: Checked<FitMpcConfig>,
    /// The run's seed.
    pub seed: u64,
    /// The generation of the samples, counted from 1.
    pub generation: u32,
    /// The model to fit.
    pub model: PlannedModel,
    /// The registry of the run.
    pub registry: PathBuf,
    /// The dataset folder of the samples.
    pub output: PathBuf,
}

/// The model with the registry.
#[derive(Debug)]
pub(in crate::cluster) struct FitMpcInputs {
    model: LoadedModel,
    registry: Registry,
}

impl FitMpcPlan {
    /// The plan of a task.
    ///
    /// # Errors
    ///
    /// A bad setting, `method = "source"`, no output folder, or a folder with a name that a plan cannot hold.
    pub fn new(task: &FitMpcTask<'_>) -> Result<Self, StageError> {
        // A stage that cannot be cut says so now.
        fit_mpc_shards(*task)?;
        Ok(Self {
            recipe: recipe(task).hash,
            config: task.config.clone(),
            seed: task.seed,
            generation: task.generation,
            model: PlannedModel::new(task.model)?,
            registry: text_of(task.registry.folder())?.into(),
            output: text_of(task.output.unwrap_or(Path::new("")))?.into(),
        })
    }

    pub(super) fn load(&self, path: &Path) -> Result<FitMpcInputs, ArtifactError> {
        Ok(FitMpcInputs { model: self.model.load(path)?, registry: Registry::new(&self.registry) })
    }

    pub(super) fn task<'a>(&'a self, inputs: &'a FitMpcInputs) -> FitMpcTask<'a> {
        FitMpcTask {
            config: &self.config,
            seed: self.seed,
            generation: self.generation,
            model: &inputs.model,
            registry: &inputs.registry,
            output: Some(&self.output),
        }
    }
}
