//! Making a stage of a generation: on this machine, or its parts in shards elsewhere first. The results are the same.

use super::journal::CallEnd;
use super::{Event, Run};
use crate::artifact::OutputFile;
use crate::cluster::divide::divide;
use crate::cluster::elsewhere::Elsewhere;
use crate::cluster::plan::{PLAN_FILE, Plan, with_plan};
use crate::pipeline::StageError;
use crate::pipeline::fit_mpc::task::Method;
use crate::pipeline::stage_task::{StageReport, StageTask};
use crate::run::claim::make_way;
use crate::run::folders::plan_path;
use crate::run::next::Next;

impl Run<'_> {
    /// Makes a stage of the next generation.
    pub(super) fn make(&self, task: &StageTask<'_>, next: &Next) -> Result<StageReport, StageError> {
        make_way(task, false, self.context)?;
        let began = self.context.host.seconds();
        if let Some(place) = self.task.elsewhere {
            self.make_parts(task, place, next.generation)?;
        }
        let report = self.make_here(task, next.generation)?;
        (self.tell)(Event::Made { task, report: &report, seconds: self.context.host.seconds() - began });
        Ok(report)
    }

    /// Makes a stage on the threads of this process, as far as its parts are not there.
    pub(super) fn make_here(&self, task: &StageTask<'_>, generation: u32) -> Result<StageReport, StageError> {
        let work = || task.make(self.context);
        self.journal.call((task.stage().name(), false), Some(generation), work, |report| CallEnd {
            id: report.version().map(str::to_owned),
            is_skipped: report.is_skipped(),
            code: super::code_of(report.verdict().map(|file| file.verdict)),
            work: None,
        })
    }

    /// Lets the parts of a stage be made elsewhere, and checks them.
    fn make_parts(&self, task: &StageTask<'_>, place: &Elsewhere, generation: u32) -> Result<(), StageError> {
        if matches!(task, StageTask::FitMpc(task) if matches!(task.config.method, Method::Source { .. })) {
            let reason = "runs on this machine: each of its searches uses the fits before it";
            self.context.host.say(&format!("fit-mpc: fit_mpc.method = \"source\" {reason}"));
            return Ok(());
        }
        let path = plan_path(self.task.datasets, task.stage(), generation);
        let write = |plan: &Plan| -> Result<bool, StageError> {
            Ok(OutputFile::open(&path, PLAN_FILE, true)?.write(|writer| writer.write_all(plan.text().as_bytes()))?)
        };
        divide(task, &path, None, write, self.context)?;
        with_plan(&path, |plan| {
            let drive = || place.drive(plan, self.context);
            self.journal.call((task.stage().name(), true), Some(generation), drive, |report| CallEnd {
                is_skipped: report.ran == 0,
                work: report.cpu_seconds.map(|seconds| (seconds, report.workers)),
                ..CallEnd::default()
            })?;
            (self.tell)(Event::Checked(plan.check(None, self.context)?));
            Ok(())
        })
    }
}
