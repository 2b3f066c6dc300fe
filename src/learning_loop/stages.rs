//! What makes the four stages of a generation: this machine, or shards elsewhere. The results are the same.

use super::LoopError;
use crate::pipeline::Context;
use crate::pipeline::fit_mpc::task::{FitMpcReport, FitMpcTask};
use crate::pipeline::gate::task::{GateReport, GateTask};
use crate::pipeline::generate::task::{GenerateReport, GenerateTask};
use crate::pipeline::train::task::{TrainReport, TrainTask};

/// A place to run stages.
pub(super) trait Stages {
    fn context(&self) -> Context<'_>;

    fn generate(&self, task: GenerateTask<'_>) -> Result<GenerateReport, LoopError>;

    fn train(&self, task: &TrainTask<'_>, generation: u32) -> Result<TrainReport, LoopError>;

    fn fit_mpc(&self, task: FitMpcTask<'_>) -> Result<FitMpcReport, LoopError>;

    fn gate(&self, task: GateTask<'_>) -> Result<GateReport, LoopError>;
}
