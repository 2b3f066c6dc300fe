//! `renma shard drive`.

use super::arguments::shard::DriveArguments;
use super::failure::UsageError;
use super::output::{detail, print_json, say, thousands};
use super::session::{Session, cores};
use super::stage::{Call, StageEnd, limit};
use crate::cluster::command::{CommandLine, CommandRunner};
use crate::cluster::dask::{DaskRunner, Scheduler};
use crate::cluster::drive::{DriveError, DriveReport, Runner, drive, lock_plan};
use crate::cluster::plan::LoadedPlan;
use crate::cluster::progress::progress;
use crate::cluster::runs::log_path;
use std::path::Path;

const DASK: &str = "dask";

pub(super) fn run(session: &Session, arguments: &DriveArguments) -> anyhow::Result<()> {
    let plan = &arguments.plan;
    let is_dask = arguments.on == DASK;
    if !is_dask && arguments.scheduler.is_some() {
        return Err(UsageError(format!("--scheduler needs --on {DASK}")).into());
    }
    let scheduler = arguments.scheduler.as_deref().map(|address| Scheduler::new(address, arguments.insecure));
    let scheduler = scheduler.transpose()?;
    let line = if is_dask { None } else { Some(CommandLine::new(&arguments.on, &std::path::absolute(plan)?)?) };
    let loaded = LoadedPlan::read(plan)?;
    let _lock = lock_plan(plan)?;
    limit(session, &arguments.work);
    let call = Call::begin(loaded.stage().name(), Some(loaded.generation()), arguments.work.log.as_deref());
    let clock = || call.stopwatch.seconds();
    let workers = arguments.workers.map_or(cores(), |workers| workers as usize);
    let start = || -> Result<Box<dyn Runner + '_>, DriveError> {
        Ok(match &line {
            Some(line) => Box::new(CommandRunner::new(line.clone(), workers, &clock)),
            None => Box::new(DaskRunner::start(plan, scheduler.as_ref(), &tell, workers, session.context())?),
        })
    };
    let result = drive_plan(session, plan, &loaded, start).map_err(anyhow::Error::from);
    let seconds = clock();
    let end = StageEnd::done(None, result.as_ref().is_ok_and(|report| report.ran == 0));
    let work = result.as_ref().ok().and_then(|report| Some((report.cpu_seconds?, report.workers)));
    call.end(result.as_ref().map(|_| &end), work);
    let report = result?;
    let (ran, retried) = (thousands(report.ran as u64), thousands(report.retried as u64));
    let (plan, log) = (plan.display(), log_path(plan));
    detail(&format!(
        "shard drive: {plan} is ready to finish: {ran} shards in {seconds:.1} s, {retried} retried; who ran them is in {}",
        log.display()
    ));
    if session.json { print_json(&report) } else { Ok(()) }
}

/// Runs the shards that are missing, on a runner that is started only if there are any.
fn drive_plan<'r>(
    session: &Session,
    plan: &Path,
    loaded: &LoadedPlan,
    start: impl FnOnce() -> Result<Box<dyn Runner + 'r>, DriveError>,
) -> Result<DriveReport, DriveError> {
    let context = session.context();
    let now = progress(loaded, 1, context)?;
    if now.complete {
        return Ok(DriveReport { shards: now.shards, ..DriveReport::default() });
    }
    let mut runner = start()?;
    drive(plan, &loaded.work(), &mut *runner, |ahead| progress(loaded, ahead, context), &tell, context)
}

fn tell(text: &str) {
    say(&format!("shard drive: {text}"));
}
