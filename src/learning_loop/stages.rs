//! Making a stage of a generation: on this machine, or its parts in shards elsewhere first. The
//! results are the same.

use super::journal::{Call, CallEnd};
use super::{Event, Run};
use crate::artifact::OutputFile;
use crate::cluster::divide::divide;
use crate::cluster::elsewhere::Elsewhere;
use crate::cluster::plan::{LoadedPlan, PLAN_FILE, Plan};
use crate::pipeline::StageError;
use crate::pipeline::request::Request;
use crate::pipeline::work::{Report, Work};
use crate::run::claim::make_way;
use crate::run::folders::plan_path;

impl Run<'_> {
    /// Makes what the next generation asks of a stage.
    pub fn make(&self, request: &Request, work: &dyn Work) -> Result<Box<dyn Report>, StageError> {
        make_way(request.stage, work, false, self.context)?;
        let began = self.context.host.seconds();
        if let Some(place) = self.task.elsewhere {
            self.make_parts(request, work, place)?;
        }
        let report = self.make_here(request, work)?;
        let seconds = self.context.host.seconds() - began;
        (self.tell)(Event::Made {
            request,
            report: &*report,
            seconds,
        });
        Ok(report)
    }

    /// Makes a stage on the threads of this process, as far as its parts are not there.
    pub fn make_here(
        &self,
        request: &Request,
        work: &dyn Work,
    ) -> Result<Box<dyn Report>, StageError> {
        let make = || work.make(self.context);
        let call = Call {
            stage: request.stage.name(),
            shards: false,
            generation: Some(request.generation),
        };
        self.journal.call(call, make, |report| CallEnd {
            id: report.version().map(str::to_owned),
            is_skipped: report.is_skipped(),
            code: report.exit_code(),
            work: None,
        })
    }

    /// Lets the parts of a stage be made elsewhere, and checks them.
    fn make_parts(
        &self,
        request: &Request,
        work: &dyn Work,
        place: &Elsewhere,
    ) -> Result<(), StageError> {
        let (stage, generation) = (request.stage, request.generation);
        if let Some(reason) = work.undivided() {
            self.context.host.say(&format!(
                "{stage}: runs on this machine: {}",
                reason.lines().next().unwrap_or("")
            ));
            return Ok(());
        }
        let path = plan_path(self.task.datasets, stage, generation);
        let write = |plan: &Plan| -> Result<bool, StageError> {
            Ok(OutputFile::open(&path, PLAN_FILE, true)?
                .write(|writer| writer.write_all(plan.text().as_bytes()))?)
        };
        divide(request, work, &path, None, write, self.context)?;
        let plan = LoadedPlan::read(&path)?;
        let drive = || place.drive(&plan, self.context);
        let call = Call {
            stage: stage.name(),
            shards: true,
            generation: Some(generation),
        };
        self.journal.call(call, drive, |report| CallEnd {
            is_skipped: report.ran == 0,
            work: report.cpu_seconds.map(|seconds| (seconds, report.workers)),
            ..CallEnd::default()
        })?;
        (self.tell)(Event::Checked(plan.check(None, self.context)?));
        Ok(())
    }
}
