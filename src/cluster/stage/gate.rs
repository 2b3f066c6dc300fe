//! A match in a plan.

use super::inputs::{PlannedDataset, PlannedModel};
use super::text_of;
use crate::artifact::ArtifactError;
use crate::cluster::plan::Plan;
use crate::pipeline::StageError;
use crate::pipeline::gate::task::{GateConfig, GateTask};
use crate::pipeline::keys::Checked;
use crate::pipeline::stage_task::StageTask;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A match.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::cluster) struct GatePlan {
    pub(super) config: Checked<GateConfig>,
    /// The model that would be champion.
    candidate: PlannedModel,
    /// The model that it plays.
    baseline: PlannedModel,
    /// Datasets whose positions must not be openings.
    avoid: Vec<PlannedDataset>,
    /// The dataset folder of the games.
    output: PathBuf,
}

impl GatePlan {
    pub(super) fn new(task: &GateTask<'_>) -> Result<Self, StageError> {
        Ok(Self {
            config: task.config.clone(),
            candidate: PlannedModel::new(task.candidate)?,
            baseline: PlannedModel::new(task.baseline)?,
            avoid: task.avoid.iter().map(|folder| PlannedDataset::new(folder)).collect::<Result<_, _>>()?,
            output: text_of(task.output)?.into(),
        })
    }

    pub(super) fn with_task<T>(
        &self,
        plan: &Plan,
        path: &Path,
        act: impl FnOnce(StageTask<'_>) -> T,
    ) -> Result<T, ArtifactError> {
        self.avoid.iter().try_for_each(|dataset| dataset.check(path))?;
        let avoid: Vec<PathBuf> = self.avoid.iter().map(|dataset| dataset.folder.clone()).collect();
        Ok(act(StageTask::Gate(GateTask {
            config: &self.config,
            seed: plan.seed,
            generation: plan.generation,
            candidate: &self.candidate.load(path)?,
            baseline: &self.baseline.load(path)?,
            avoid: &avoid,
            output: &self.output,
            remake: false,
        })))
    }
}
