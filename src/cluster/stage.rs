//! What a plan says of each stage, and the task that it stands for.

pub mod fit_mpc;
pub mod gate;
pub mod generate;
mod inputs;
pub mod train;

use crate::artifact::{ArtifactError, ContentHash, PartRange};
use crate::pipeline::StageError;
use crate::pipeline::gate::task::BATCH_PAIRS;
use crate::pipeline::stage::Stage;
use crate::pipeline::stage_task::StageTask;
use fit_mpc::{FitMpcInputs, FitMpcPlan};
use gate::{GateInputs, GatePlan};
use generate::{GenerateInputs, GeneratePlan};
use serde::{Deserialize, Serialize};
use std::iter;
use std::ops::Range;
use std::path::Path;
use train::{TrainInputs, TrainPlan};

/// A stage with everything that determines its bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "stage", rename_all = "kebab-case")]
pub enum StagePlan {
    /// Self-play; its pieces are parts of a dataset.
    Generate(GeneratePlan),
    /// A training; its pieces are its parts, wide ones first.
    Train(TrainPlan),
    /// MPC statistics; its pieces are parts of the samples.
    FitMpc(FitMpcPlan),
    /// A match; its pieces are batches of pairs.
    Gate(GatePlan),
}

/// The models and files that a plan names.
#[derive(Debug)]
pub(super) enum Inputs {
    Generate(GenerateInputs),
    Train(TrainInputs),
    FitMpc(FitMpcInputs),
    Gate(Box<GateInputs>),
}

/// What is asked of the plan of any stage.
#[derive(Debug)]
pub struct Outline {
    /// The stage.
    pub stage: Stage,
    /// The hash of everything that determines the pieces, except their number.
    pub recipe: ContentHash,
    /// The generation, counted from 1.
    pub generation: u32,
    /// How much work each of the pieces is that shards divide, in units of the stage; at least 1.
    pub weights: Vec<u64>,
    /// The pieces that can be made at the same time, one round after another.
    pub rounds: Vec<Range<usize>>,
}

impl StagePlan {
    /// What a plan says of a task.
    ///
    /// # Errors
    ///
    /// A bad setting, a missing dataset, a stage that cannot be cut, or a folder with a name that a plan cannot hold.
    pub fn new(task: &StageTask<'_>) -> Result<Self, StageError> {
        Ok(match task {
            StageTask::Generate(task) => Self::Generate(GeneratePlan::new(*task)?),
            StageTask::Train(task) => Self::Train(TrainPlan::new(task)?),
            StageTask::FitMpc(task) => Self::FitMpc(FitMpcPlan::new(task)?),
            StageTask::Gate(task) => Self::Gate(GatePlan::new(task)?),
        })
    }

    /// What is asked of it.
    #[must_use]
    pub fn outline(&self) -> Outline {
        let (stage, recipe, generation, weights) = match self {
            Self::Generate(GeneratePlan { recipe, generation, config, .. }) => {
                (Stage::Generate, recipe, generation, game_weights(config.games, config.part_games))
            }
            Self::Train(TrainPlan { recipe, generation, weights, .. }) => {
                (Stage::Train, recipe, generation, weights.iter().map(|weight| *weight.max(&1)).collect())
            }
            Self::FitMpc(FitMpcPlan { recipe, generation, config, .. }) => {
                (Stage::FitMpc, recipe, generation, game_weights(config.games, config.part_games))
            }
            Self::Gate(GatePlan { recipe, generation, config, .. }) => {
                (Stage::Gate, recipe, generation, game_weights(config.games, 2 * BATCH_PAIRS))
            }
        };
        let rounds = if let Self::Train(plan) = self { plan.rounds() } else { iter::once(0..weights.len()).collect() };
        Outline { stage, recipe: *recipe, generation: *generation, weights, rounds }
    }

    /// Checks everything that can be checked without the inputs, as if a person had typed it.
    pub(super) fn check(&self) -> Result<(), String> {
        if matches!(self, Self::Generate(plan) if plan.config.openings.book().is_some() == plan.book.is_empty()) {
            return Err("its book is not the one that its config asks for".into());
        }
        if self.outline().generation == 0 {
            Err("generation is 0: generations are counted from 1".into())
        } else {
            Ok(())
        }
    }

    /// Reads what the plan in the file `path` names; an error unless its settings are those that its hash was made of.
    pub(super) fn load(&self, path: &Path) -> Result<Inputs, StageError> {
        let inputs = match self {
            Self::Generate(plan) => Inputs::Generate(plan.load(path)?),
            Self::Train(plan) => Inputs::Train(plan.load(path)?),
            Self::FitMpc(plan) => Inputs::FitMpc(plan.load(path)?),
            Self::Gate(plan) => Inputs::Gate(Box::new(plan.load(path)?)),
        };
        let (listed, made) = (self.outline().recipe, self.task(&inputs).recipe()?);
        if listed != made {
            let reason = format!("its recipe is {}, and its settings make {}", listed.short(), made.short());
            return Err(ArtifactError::unfit(path, reason).into());
        }
        Ok(inputs)
    }

    /// The task, from inputs that [`StagePlan::load`] has read.
    pub(super) fn task<'a>(&'a self, inputs: &'a Inputs) -> StageTask<'a> {
        match (self, inputs) {
            (Self::Generate(plan), Inputs::Generate(inputs)) => StageTask::Generate(plan.task(inputs)),
            (Self::Train(plan), Inputs::Train(inputs)) => StageTask::Train(plan.task(inputs)),
            (Self::FitMpc(plan), Inputs::FitMpc(inputs)) => StageTask::FitMpc(plan.task(inputs)),
            (Self::Gate(plan), Inputs::Gate(inputs)) => StageTask::Gate(plan.task(inputs)),
            _ => unreachable!("a plan loads its own inputs"),
        }
    }
}

/// The games of each piece.
fn game_weights(all: u64, of_piece: u64) -> Vec<u64> {
    PartRange::all(all, of_piece).iter().map(|range| range.count).collect()
}

/// A folder as a plan names it: a plan is JSON, and so are its names.
pub(super) fn text_of(folder: &Path) -> Result<String, StageError> {
    let text = folder.to_str().ok_or_else(|| {
        let reason = format!("cannot plan with {}: its name is not UTF-8, and a plan is text", folder.display());
        StageError::Setting(format!("{reason}\nchoose another name for the folder"))
    });
    text.map(str::to_owned)
}
