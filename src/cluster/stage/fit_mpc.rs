//! MPC statistics in a plan.

use super::inputs::PlannedModel;
use super::text_of;
use crate::artifact::{ArtifactError, Registry};
use crate::cluster::plan::Plan;
use crate::pipeline::StageError;
use crate::pipeline::fit_mpc::parts::fit_mpc_shards;
use crate::pipeline::fit_mpc::task::{FitMpcConfig, FitMpcTask};
use crate::pipeline::keys::Checked;
use crate::pipeline::stage_task::StageTask;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The samples of MPC statistics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::cluster) struct FitMpcPlan {
    pub(super) config: Checked<FitMpcConfig>,
    /// The model to fit.
    model: PlannedModel,
    /// The registry of the run.
    registry: PathBuf,
    /// The dataset folder of the samples.
    output: PathBuf,
}

impl FitMpcPlan {
    pub(super) fn new(task: FitMpcTask<'_>) -> Result<Self, StageError> {
        // A stage that cannot be cut says so now.
        fit_mpc_shards(task)?;
        Ok(Self {
            config: task.config.clone(),
            model: PlannedModel::new(task.model)?,
            registry: text_of(task.registry.folder())?.into(),
            output: text_of(task.output.unwrap_or(Path::new("")))?.into(),
        })
    }

    pub(super) fn with_task<T>(
        &self,
        &Plan { seed, generation, .. }: &Plan,
        path: &Path,
        act: impl FnOnce(StageTask<'_>) -> T,
    ) -> Result<T, ArtifactError> {
        let (config, output, model) = (&self.config, Some(self.output.as_path()), &self.model.load(path)?);
        let registry = &Registry::new(&self.registry);
        Ok(act(StageTask::FitMpc(FitMpcTask { config, seed, generation, model, registry, output })))
    }
}
