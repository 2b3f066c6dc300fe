//! What a plan says of each stage, and the task that it stands for.

mod fit_mpc;
mod gate;
mod generate;
mod inputs;
mod train;

use super::plan::Plan;
use crate::artifact::PartRange;
use crate::pipeline::StageError;
use crate::pipeline::gate::task::BATCH_PAIRS;
use crate::pipeline::stage_task::StageTask;
use fit_mpc::FitMpcPlan;
use gate::GatePlan;
use generate::GeneratePlan;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::path::Path;
use train::TrainPlan;

/// What a plan says of its stage beside what it says of every stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "stage", rename_all = "kebab-case")]
pub(super) enum StagePlan {
    /// Self-play; its pieces are parts of a dataset.
    Generate(GeneratePlan),
    /// A training; its pieces are its parts, wide ones first.
    Train(TrainPlan),
    /// MPC statistics; its pieces are parts of the samples.
    FitMpc(FitMpcPlan),
    /// A match; its pieces are batches of pairs.
    Gate(GatePlan),
}

impl StagePlan {
    /// What a plan says of a task, and its seed and generation.
    pub(super) fn new(task: &StageTask<'_>) -> Result<(u64, u32, Self), StageError> {
        Ok(match task {
            StageTask::Generate(task) => (task.seed, task.generation, Self::Generate(GeneratePlan::new(*task)?)),
            StageTask::Train(task) => {
                let (generation, plan) = TrainPlan::new(task)?;
                (task.seed, generation, Self::Train(plan))
            }
            StageTask::FitMpc(task) => (task.seed, task.generation, Self::FitMpc(FitMpcPlan::new(*task)?)),
            StageTask::Gate(task) => (task.seed, task.generation, Self::Gate(GatePlan::new(task)?)),
        })
    }

    /// How much work each of the pieces is that shards divide, in units of the stage; at least 1.
    pub(super) fn weights(&self) -> Vec<u64> {
        let (games, piece_games) = match self {
            Self::Generate(plan) => (plan.config.games, plan.config.part_games),
            Self::Train(plan) => return plan.weights.iter().map(|weight| *weight.max(&1)).collect(),
            Self::FitMpc(plan) => (plan.config.games, plan.config.part_games),
            Self::Gate(plan) => (plan.config.games, 2 * BATCH_PAIRS),
        };
        PartRange::all(games, piece_games).iter().map(|range| range.count).collect()
    }

    /// The pieces that can be made at the same time, one round after another.
    pub(super) fn rounds(&self) -> Vec<Range<usize>> {
        if let Self::Train(plan) = self { plan.rounds() } else { vec![0..self.weights().len()] }
    }

    /// Checks everything that can be checked without the inputs, as if a person had typed it.
    pub(super) fn check(&self) -> Result<(), String> {
        if matches!(self, Self::Generate(plan) if plan.config.openings.book().is_some() == plan.book.is_empty()) {
            return Err("its book is not the one that its config asks for".into());
        }
        Ok(())
    }

    /// Does something with the task, after reading what the plan in the file `path` names.
    pub(super) fn with_task<T>(
        &self,
        plan: &Plan,
        path: &Path,
        act: impl FnOnce(StageTask<'_>) -> T,
    ) -> Result<T, StageError> {
        Ok(match self {
            Self::Generate(stage) => stage.with_task(plan, path, act),
            Self::Train(stage) => stage.with_task(plan, path, act),
            Self::FitMpc(stage) => stage.with_task(plan, path, act),
            Self::Gate(stage) => stage.with_task(plan, path, act),
        }?)
    }
}

/// A folder as a plan names it: a plan is JSON, and so are its names.
pub(super) fn text_of(folder: &Path) -> Result<String, StageError> {
    let text = folder.to_str().ok_or_else(|| {
        let reason = format!("cannot plan with {}: its name is not UTF-8, and a plan is text", folder.display());
        StageError::Setting(format!("{reason}\nchoose another name for the folder"))
    });
    text.map(str::to_owned)
}
