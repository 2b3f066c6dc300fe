//! Stages cut into shards that run elsewhere; their ends are made here.

use super::here::Here;
use super::journal::CallEnd;
use super::stages::Stages;
use super::{Event, LoopError};
use crate::cluster::check::check;
use crate::cluster::divide::write_plan;
use crate::cluster::elsewhere::Elsewhere;
use crate::cluster::plan::LoadedPlan;
use crate::cluster::stage::{Outline, StageTask};
use crate::pipeline::Context;
use crate::pipeline::fit_mpc::task::{FitMpcReport, FitMpcTask, Method};
use crate::pipeline::gate::task::{GateReport, GateTask};
use crate::pipeline::generate::task::{GenerateReport, GenerateTask};
use crate::pipeline::train::task::{TrainReport, TrainTask};
use crate::run::folders::plan_path;
use std::path::Path;

/// Machines that share the folder of the run.
pub(super) struct Sharded<'a> {
    pub(super) place: &'a Elsewhere,
    pub(super) datasets: &'a Path,
    pub(super) here: Here<'a>,
    pub(super) tell: &'a dyn Fn(Event<'_>),
}

impl Sharded<'_> {
    /// Lets the parts of a stage be made elsewhere, and checks them.
    fn make_parts(&self, task: &StageTask<'_>) -> Result<(), LoopError> {
        let (plan, context) = (task.plan()?, self.here.context);
        let Outline { stage, generation, .. } = plan.outline();
        let path = plan_path(self.datasets, stage, generation);
        write_plan(plan, &path, context)?;
        let plan = LoadedPlan::read(&path)?;
        let drive = || Ok(self.place.drive(&path, &plan, context)?);
        self.here.journal.call(stage.name(), generation, drive, CallEnd::of_drive)?;
        (self.tell)(Event::Checked(check(&path, &plan, None, context)?));
        Ok(())
    }
}

impl Stages for Sharded<'_> {
    fn context(&self) -> Context<'_> {
        self.here.context
    }

    fn generate(&self, task: GenerateTask<'_>) -> Result<GenerateReport, LoopError> {
        self.make_parts(&StageTask::Generate(task))?;
        self.here.generate(task)
    }

    fn train(&self, task: &TrainTask<'_>, generation: u32) -> Result<TrainReport, LoopError> {
        self.make_parts(&StageTask::Train(task.clone()))?;
        self.here.train(task, generation)
    }

    fn fit_mpc(&self, task: FitMpcTask<'_>) -> Result<FitMpcReport, LoopError> {
        if let Method::Source { .. } = task.config.method {
            let reason = "runs on this machine: each of its searches uses the fits before it";
            self.here.context.host.say(&format!("fit-mpc: fit_mpc.method = \"source\" {reason}"));
        } else {
            self.make_parts(&StageTask::FitMpc(task))?;
        }
        self.here.fit_mpc(task)
    }

    fn gate(&self, task: GateTask<'_>) -> Result<GateReport, LoopError> {
        self.make_parts(&StageTask::Gate(task))?;
        self.here.gate(task)
    }
}
