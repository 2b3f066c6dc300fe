//! What a plan says of each stage, and the task that it stands for.

pub mod fit_mpc;
pub mod gate;
pub mod generate;
mod inputs;
pub mod train;

use crate::artifact::dataset::part_range::PartRange;
use crate::artifact::error::ArtifactError;
use crate::pipeline::StageError;
use crate::pipeline::fit_mpc::parts::fit_mpc_shards;
use crate::pipeline::fit_mpc::task::FitMpcTask;
use crate::pipeline::gate::batches::gate_shards;
use crate::pipeline::gate::task::{BATCH_PAIRS, GateTask};
use crate::pipeline::generate::run::generate_shards;
use crate::pipeline::generate::task::GenerateTask;
use crate::pipeline::parts::Shards;
use crate::pipeline::stage::Stage;
use crate::pipeline::train::shards::TrainShards;
use crate::pipeline::train::task::TrainTask;
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

/// The task that a plan stands for.
#[derive(Clone, Debug)]
pub enum StageTask<'a> {
    /// Self-play.
    Generate(GenerateTask<'a>),
    /// A training.
    Train(TrainTask<'a>),
    /// MPC statistics.
    FitMpc(FitMpcTask<'a>),
    /// A match.
    Gate(GateTask<'a>),
}

impl StageTask<'_> {
    /// What a plan says of it.
    ///
    /// # Errors
    ///
    /// A bad setting, a missing dataset, a stage that cannot be cut, or a folder with a name that a plan cannot hold.
    pub fn plan(&self) -> Result<StagePlan, StageError> {
        Ok(match self {
            Self::Generate(task) => StagePlan::Generate(GeneratePlan::new(*task)?),
            Self::Train(task) => StagePlan::Train(TrainPlan::new(task)?),
            Self::FitMpc(task) => StagePlan::FitMpc(FitMpcPlan::new(task)?),
            Self::Gate(task) => StagePlan::Gate(GatePlan::new(task)?),
        })
    }

    /// Its parts, which any number of processes make.
    ///
    /// # Errors
    ///
    /// A bad setting, or a stage that cannot be cut.
    pub fn shards(&self) -> Result<Box<dyn Shards + '_>, StageError> {
        match self {
            Self::Generate(task) => Ok(generate_shards(*task)),
            Self::Train(task) => Ok(Box::new(TrainShards(task))),
            Self::FitMpc(task) => fit_mpc_shards(*task),
            Self::Gate(task) => gate_shards(task),
        }
    }
}

/// What is asked of the plan of any stage.
#[derive(Debug)]
pub struct Outline<'a> {
    /// The stage.
    pub stage: Stage,
    /// The generation, counted from 1.
    pub generation: u32,
    /// The folder in which shards leave their pieces.
    pub output: &'a Path,
    /// How much work each of the pieces is that shards divide, in units of the stage; at least 1.
    pub weights: Vec<u64>,
    /// The pieces that can be made at the same time, one round after another.
    pub rounds: Vec<Range<usize>>,
}

impl StagePlan {
    /// What is asked of it.
    #[must_use]
    pub fn outline(&self) -> Outline<'_> {
        let (stage, generation, output, weights) = match self {
            Self::Generate(plan) => {
                let weights = game_weights(plan.config.games, plan.config.part_games);
                (Stage::Generate, plan.generation, &plan.output, weights)
            }
            Self::Train(plan) => {
                let weights = plan.weights.iter().map(|weight| *weight.max(&1)).collect();
                (Stage::Train, plan.generation, &plan.registry, weights)
            }
            Self::FitMpc(plan) => {
                let weights = game_weights(plan.config.games, plan.config.part_games);
                (Stage::FitMpc, plan.generation, &plan.output, weights)
            }
            Self::Gate(plan) => {
                (Stage::Gate, plan.generation, &plan.output, game_weights(plan.config.games, 2 * BATCH_PAIRS))
            }
        };
        let rounds = if let Self::Train(plan) = self { plan.rounds() } else { iter::once(0..weights.len()).collect() };
        Outline { stage, generation, output, weights, rounds }
    }

    /// Checks everything that can be checked without the inputs, as if a person had typed it.
    pub(super) fn check(&self) -> Result<(), String> {
        if let Self::Generate(plan) = self {
            plan.check()?;
        }
        if self.outline().generation == 0 {
            Err("generation is 0: generations are counted from 1".into())
        } else {
            Ok(())
        }
    }

    /// Reads what the plan in the file `path` names.
    pub(super) fn load(&self, path: &Path) -> Result<Inputs, ArtifactError> {
        match self {
            Self::Generate(plan) => plan.load(path).map(Inputs::Generate),
            Self::Train(plan) => plan.load(path).map(Inputs::Train),
            Self::FitMpc(plan) => plan.load(path).map(Inputs::FitMpc),
            Self::Gate(plan) => plan.load(path).map(|inputs| Inputs::Gate(Box::new(inputs))),
        }
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
