//! Stages on the threads of this process.

use super::LoopError;
use super::journal::{CallEnd, Journal};
use super::stages::Stages;
use crate::pipeline::Context;
use crate::pipeline::fit_mpc::run::fit_mpc;
use crate::pipeline::fit_mpc::task::{FitMpcReport, FitMpcTask};
use crate::pipeline::gate::run::gate;
use crate::pipeline::gate::task::{GateReport, GateTask};
use crate::pipeline::generate::run::generate;
use crate::pipeline::generate::task::{GenerateReport, GenerateTask};
use crate::pipeline::stage::Stage;
use crate::pipeline::train::run::train;
use crate::pipeline::train::task::{TrainReport, TrainTask};

/// This machine.
#[derive(Clone, Copy)]
pub(super) struct Here<'a> {
    pub(super) journal: &'a Journal<'a>,
    pub(super) context: Context<'a>,
}

impl Stages for Here<'_> {
    fn context(&self) -> Context<'_> {
        self.context
    }

    fn generate(&self, task: GenerateTask<'_>) -> Result<GenerateReport, LoopError> {
        let end = |report: &GenerateReport| CallEnd::new(report.skipped, None);
        self.journal.call(Stage::Generate.name(), task.generation, || Ok(generate(task, self.context)?), end)
    }

    fn train(&self, task: &TrainTask<'_>, generation: u32) -> Result<TrainReport, LoopError> {
        let end = |report: &TrainReport| CallEnd::new(report.skipped, Some(&report.id));
        self.journal.call(Stage::Train.name(), generation, || Ok(train(task, self.context)?), end)
    }

    fn fit_mpc(&self, task: FitMpcTask<'_>) -> Result<FitMpcReport, LoopError> {
        let end = |report: &FitMpcReport| CallEnd::new(report.skipped, Some(&report.id));
        self.journal.call(Stage::FitMpc.name(), task.generation, || Ok(fit_mpc(task, self.context)?), end)
    }

    fn gate(&self, task: GateTask<'_>) -> Result<GateReport, LoopError> {
        self.journal.call(Stage::Gate.name(), task.generation, || Ok(gate(task, self.context)?), CallEnd::of_gate)
    }
}
