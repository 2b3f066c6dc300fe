//! Stages cut into shards that run elsewhere; their ends are made here.

use super::here::Here;
use super::journal::CallEnd;
use super::stages::Stages;
use super::{Event, LoopError};
use crate::cluster::check::check;
use crate::cluster::divide::write_plan;
use crate::cluster::elsewhere::Elsewhere;
use crate::cluster::plan::LoadedPlan;
use crate::cluster::stage::StagePlan;
use crate::cluster::stage::fit_mpc::FitMpcPlan;
use crate::cluster::stage::gate::GatePlan;
use crate::cluster::stage::generate::GeneratePlan;
use crate::cluster::stage::train::TrainPlan;
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
    fn make_parts(&self, plan: StagePlan) -> Result<(), LoopError> {
        let (stage, generation, context) = (plan.stage(), plan.generation(), self.here.context);
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
        self.make_parts(StagePlan::Generate(GeneratePlan::new(task)?))?;
        self.here.generate(task)
    }

    fn train(&self, task: &TrainTask<'_>, generation: u32) -> Result<TrainReport, LoopError> {
        self.make_parts(StagePlan::Train(TrainPlan::new(task)?))?;
        self.here.train(task, generation)
    }

    fn fit_mpc(&self, task: FitMpcTask<'_>) -> Result<FitMpcReport, LoopError> {
        if let Method::Source { .. } = task.config.method {
            let reason = "runs on this machine: each of its searches uses the fits before it";
            self.here.context.host.say(&format!("fit-mpc: fit_mpc.method = \"source\" {reason}"));
        } else {
            self.make_parts(StagePlan::FitMpc(FitMpcPlan::new(&task)?))?;
        }
        self.here.fit_mpc(task)
    }

    fn gate(&self, task: GateTask<'_>) -> Result<GateReport, LoopError> {
        self.make_parts(StagePlan::Gate(GatePlan::new(&task)?))?;
        self.here.gate(task)
    }
}
