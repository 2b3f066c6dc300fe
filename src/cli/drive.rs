//! `renma shard drive`.

use super::arguments::run::WorkerArguments;
use super::arguments::shard::DriveArguments;
use super::output::{detail, print_json, thousands};
use super::session::{Session, Stopwatch, cores};
use crate::cluster::dask::Scheduler;
use crate::cluster::elsewhere::Elsewhere;
use crate::cluster::plan::LoadedPlan;
use crate::cluster::runs::log_path;
use crate::pipeline::StageError;

pub(super) fn run(session: &Session, arguments: &DriveArguments) -> anyhow::Result<()> {
    let path = &arguments.plan;
    let place = elsewhere(&arguments.on, &arguments.workers)?;
    let plan = LoadedPlan::read(path)?;
    session.limit(arguments.work.budget);
    let stopwatch = Stopwatch::start();
    let report = place.drive(path, &plan, session.context())?;
    let (ran, retried) = (thousands(report.ran as u64), thousands(report.retried as u64));
    detail(&format!(
        "shard drive: {} is ready to finish: {ran} shards in {:.1} s, {retried} retried; who ran them is in {}",
        path.display(),
        stopwatch.seconds(),
        log_path(path).display()
    ));
    if session.json { print_json(&report) } else { Ok(()) }
}

/// Where `--on` lets shards run.
pub(super) fn elsewhere(on: &str, arguments: &WorkerArguments) -> Result<Elsewhere, StageError> {
    let scheduler = arguments.scheduler.as_deref().map(|address| Scheduler::new(address, arguments.insecure));
    Elsewhere::new(on, arguments.workers.map_or(cores(), |workers| workers as usize), scheduler.transpose()?)
}
