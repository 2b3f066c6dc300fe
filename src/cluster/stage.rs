//! What a plan says of each stage, and the task that it stands for.

pub mod fit_mpc;
pub mod gate;
pub mod generate;
mod inputs;
pub mod train;

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
use serde_json::{Map, Value};
use std::iter;
use std::ops::Range;
use std::path::Path;
use train::{TrainInputs, TrainPlan};

/// A stage with everything that determines its bytes.
#[derive(Clone, Debug, PartialEq)]
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
    /// Its parts, which any number of processes make.
    ///
    /// # Errors
    ///
    /// A bad setting, or a stage that cannot be cut.
    pub fn shards(&self) -> Result<Box<dyn Shards + '_>, StageError> {
        match self {
            Self::Generate(task) => generate_shards(*task),
            Self::Train(task) => Ok(Box::new(TrainShards(task))),
            Self::FitMpc(task) => fit_mpc_shards(*task),
            Self::Gate(task) => gate_shards(task),
        }
    }
}

impl StagePlan {
    /// The stage.
    #[must_use]
    pub const fn stage(&self) -> Stage {
        match self {
            Self::Generate(_) => Stage::Generate,
            Self::Train(_) => Stage::Train,
            Self::FitMpc(_) => Stage::FitMpc,
            Self::Gate(_) => Stage::Gate,
        }
    }

    /// The generation, counted from 1.
    #[must_use]
    pub const fn generation(&self) -> u32 {
        match self {
            Self::Generate(plan) => plan.generation,
            Self::Train(plan) => plan.generation,
            Self::FitMpc(plan) => plan.generation,
            Self::Gate(plan) => plan.generation,
        }
    }

    /// The folder in which shards leave their pieces.
    #[must_use]
    pub fn output(&self) -> &Path {
        match self {
            Self::Generate(plan) => &plan.output,
            Self::Train(plan) => &plan.registry,
            Self::FitMpc(plan) => &plan.output,
            Self::Gate(plan) => &plan.output,
        }
    }

    /// The number of pieces that shards divide.
    #[must_use]
    pub fn piece_count(&self) -> usize {
        match self {
            Self::Generate(plan) => plan.config.part_count(),
            Self::Train(plan) => plan.weights.len(),
            Self::FitMpc(plan) => plan.config.games.div_ceil(plan.config.part_games) as usize,
            Self::Gate(plan) => plan.piece_count(),
        }
    }

    /// The pieces that can be made at the same time, one round after another.
    pub(super) fn rounds(&self) -> Vec<Range<usize>> {
        if let Self::Train(plan) = self { plan.rounds() } else { iter::once(0..self.piece_count()).collect() }
    }

    /// How much work a piece is, in units of the stage; at least 1.
    pub(super) fn weight(&self, piece: usize) -> u64 {
        let games = |all: u64, of_piece: u64| of_piece.min(all.saturating_sub(piece as u64 * of_piece)).max(1);
        match self {
            Self::Generate(plan) => games(plan.config.games, plan.config.part_games),
            Self::Train(plan) => plan.weights[piece].max(1),
            Self::FitMpc(plan) => games(plan.config.games, plan.config.part_games),
            Self::Gate(plan) => games(plan.config.games, 2 * BATCH_PAIRS),
        }
    }

    /// Checks everything that can be checked without the inputs, as if a person had typed it.
    pub(super) fn check(&self) -> Result<(), String> {
        match self {
            Self::Generate(plan) => plan.check()?,
            Self::Train(plan) => plan.config.check().map_err(|error| error.to_string())?,
            Self::FitMpc(plan) => plan.config.check().map_err(|error| error.to_string())?,
            Self::Gate(plan) => plan.config.check().map_err(|error| error.to_string())?,
        }
        if self.generation() == 0 { Err("generation is 0: generations are counted from 1".into()) } else { Ok(()) }
    }

    /// Its fields as they stand in the plan's file.
    pub(super) fn fields(&self) -> Map<String, Value> {
        let value = match self {
            Self::Generate(plan) => serde_json::to_value(plan),
            Self::Train(plan) => serde_json::to_value(plan),
            Self::FitMpc(plan) => serde_json::to_value(plan),
            Self::Gate(plan) => serde_json::to_value(plan),
        };
        match value.expect("a plan is plain data") {
            Value::Object(fields) => fields,
            _ => unreachable!("a plan is a struct"),
        }
    }

    /// The plan of a stage from its fields.
    pub(super) fn of_fields(stage: Stage, fields: Map<String, Value>) -> Result<Self, serde_json::Error> {
        let fields = Value::Object(fields);
        match stage {
            Stage::Train => serde_json::from_value(fields).map(Self::Train),
            Stage::FitMpc => serde_json::from_value(fields).map(Self::FitMpc),
            Stage::Gate => serde_json::from_value(fields).map(Self::Gate),
            Stage::Generate => serde_json::from_value(fields).map(Self::Generate),
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

/// A folder as a plan names it: a plan is JSON, and so are its names.
pub(super) fn text_of(folder: &Path) -> Result<String, StageError> {
    let text = folder.to_str().ok_or_else(|| {
        let reason = format!("cannot plan with {}: its name is not UTF-8, and a plan is text", folder.display());
        StageError::Setting(format!("{reason}\nchoose another name for the folder"))
    });
    text.map(str::to_owned)
}
