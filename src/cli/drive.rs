//! `renma shard drive`.

use super::arguments::shard::DriveArguments;
use super::failure::UsageError;
use super::output::{print_json, say, thousands};
use super::session::{Session, Stopwatch};
use super::stage::limit;
use crate::cluster::command::{CommandLine, CommandRunner};
use crate::cluster::dask::{DaskRunner, Scheduler};
use crate::cluster::drive::{DriveReport, Runner, drive, lock_plan, log_path};
use crate::cluster::plan::LoadedPlan;
use crate::cluster::progress::progress;

const DASK: &str = "dask";

pub(super) fn run(session: &Session, arguments: &DriveArguments) -> anyhow::Result<()> {
    let (plan, context) = (&arguments.plan, session.context());
    let is_dask = arguments.on == DASK;
    if !is_dask && arguments.scheduler.is_some() {
        return Err(UsageError(format!("--scheduler needs --on {DASK}")).into());
    }
    let scheduler = arguments.scheduler.as_deref().map(|address| Scheduler::new(address, arguments.insecure));
    let scheduler = scheduler.transpose()?;
    limit(session, arguments.budget, arguments.since);
    let stopwatch = Stopwatch::start();
    let clock = || stopwatch.seconds();
    let line = if is_dask { None } else { Some(CommandLine::new(&arguments.on, &std::path::absolute(plan)?)?) };
    // A plan that is missing is an error before there is a lock beside it.
    let loaded = LoadedPlan::read(plan)?;
    let _lock = lock_plan(plan)?;
    let tell = |text: &str| say(&format!("shard drive: {text}"));
    let now = progress(&loaded, 1, context)?;
    let report = if now.complete {
        DriveReport { shards: now.shards, ..DriveReport::default() }
    } else {
        let mut runner: Box<dyn Runner> = match line {
            Some(line) => Box::new(CommandRunner::new(line, session.threads, &clock)),
            None => Box::new(DaskRunner::start(plan, scheduler.as_ref(), &tell, context)?),
        };
        drive(plan, &mut *runner, |ahead| progress(&loaded, ahead, context), &tell, context)?
    };
    let (ran, retried) = (thousands(report.ran as u64), thousands(report.retried as u64));
    tell(&format!(
        "{} is ready to finish: {ran} shards in {:.1} s, {retried} retried; who ran them is in {}",
        plan.display(),
        stopwatch.seconds(),
        log_path(plan).display()
    ));
    if session.json { print_json(&report) } else { Ok(()) }
}
