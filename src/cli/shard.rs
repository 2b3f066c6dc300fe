//! `renma shard`.

use super::arguments::run::WorkerArguments;
use super::arguments::shard::{DriveArguments, ShardCommand};
use super::command_errors::UsageError;
use super::output::{detail, finding_text, say, thousands};
use super::session::{Session, Stopwatch, cores, processor_time};
use super::stage;
use crate::cluster::dask::Scheduler;
use crate::cluster::elsewhere::Elsewhere;
use crate::cluster::plan::LoadedPlan;
use crate::cluster::runs::log_path;
use crate::exit_code;
use crate::pipeline::StageError;
use crate::pipeline::parts::MadeAgain;
use crate::pipeline::stage::Stage;
use serde_json::json;
use std::path::Path;
use std::process::ExitCode;

pub fn run(session: &Session, command: ShardCommand) -> anyhow::Result<ExitCode> {
    match command {
        ShardCommand::Run { plan, shard } => run_shard(session, &plan, shard)?,
        ShardCommand::Status { plan, ahead } => show_progress(session, &plan, ahead)?,
        ShardCommand::Drive(arguments) => drive(session, &arguments)?,
        ShardCommand::Finish {
            plan: path,
            seed,
            work,
        } => {
            session.limit(work.budget);
            return finish(session, &path, seed);
        }
    }
    Ok(exit_code::DONE.into())
}

fn drive(session: &Session, arguments: &DriveArguments) -> anyhow::Result<()> {
    let path = &arguments.plan;
    let place = elsewhere(&arguments.on, &arguments.workers)?;
    let plan = LoadedPlan::read(path)?;
    session.limit(arguments.work.budget);
    let stopwatch = Stopwatch::start();
    let report = place.drive(&plan, session.context())?;
    let (ran, retried) = (
        thousands(report.ran as u64),
        thousands(report.retried as u64),
    );
    detail(&format!(
        "shard drive: {} is ready to finish: {ran} shards in {:.1} s, {retried} retried; who ran them is in {}",
        path.display(),
        stopwatch.seconds(),
        log_path(path).display()
    ));
    session.print_json(&report)
}

/// Where `--on` lets shards run.
pub fn elsewhere(on: &str, arguments: &WorkerArguments) -> Result<Elsewhere, StageError> {
    let scheduler = arguments
        .scheduler
        .as_deref()
        .map(|address| Scheduler::new(address, arguments.insecure));
    Elsewhere::new(
        on,
        arguments
            .workers
            .map_or(cores(), |workers| workers as usize),
        scheduler.transpose()?,
    )
}

fn run_shard(session: &Session, path: &Path, shard: u32) -> anyhow::Result<()> {
    let LoadedPlan { plan, work, .. } = LoadedPlan::read(path)?;
    let parts = plan.shards.get(shard as usize).cloned().ok_or_else(|| {
        let last = plan.shards.len().saturating_sub(1);
        UsageError(format!(
            "{} has no shard {shard}: choose one from 0 to {last}",
            path.display()
        ))
    })?;
    let stopwatch = Stopwatch::start();
    let report = work.shards()?.make(parts, session.context())?;
    if report.skipped {
        say(&format!(
            "shard run: shard {shard} of {} is already there",
            path.display()
        ));
    } else {
        let word = |name: &str| name.split('_').next().unwrap_or_default().to_owned();
        let made = report
            .made
            .iter()
            .map(|(name, count)| format!("{} {}", thousands(*count), word(name)));
        let made = made.collect::<Vec<_>>().join(", ");
        say(&format!(
            "shard run: shard {shard}: {made}, {:.1} s",
            stopwatch.seconds()
        ));
    }
    let mut report = json!(report);
    report["seconds"] = json!(stopwatch.seconds());
    // From the start of the process, so that loading the model counts, too.
    report["cpu_seconds"] = json!(processor_time().as_secs_f64());
    session.print_json(&report)
}

fn show_progress(session: &Session, path: &Path, ahead: u32) -> anyhow::Result<()> {
    let progress = LoadedPlan::read(path)?.progress(ahead as usize, session.context())?;
    let (done, shards) = (
        thousands(progress.done.len() as u64),
        thousands(progress.shards as u64),
    );
    let next = if progress.complete {
        format!("run renma shard finish {}", path.display())
    } else {
        let numbers: Vec<String> = progress.needed.iter().map(ToString::to_string).collect();
        format!("to run now: {}", numbers.join(" "))
    };
    session.answer(
        &progress,
        &format!(
            "{}: {done} of {shards} shards are done\n{next}",
            progress.stage
        ),
    )
}

fn finish(session: &Session, path: &Path, seed: Option<u64>) -> anyhow::Result<ExitCode> {
    let plan = LoadedPlan::read(path)?;
    let (context, stopwatch) = (session.context(), Stopwatch::start());
    let checked = plan.check(seed, context)?;
    tell_checked(session, checked);
    let report = plan.work.make(context)?;
    stage::tell(session, &plan.plan.request, &*report, stopwatch.seconds());
    let mut json = report.json();
    if plan.plan.request.stage == Stage::Generate {
        json["games_remade"] = json!(checked.count);
        json["sample_seed"] = json!(checked.seed);
    }
    stage::end(session, &*report, &json)
}

/// Says how much was made again, and what that is worth.
pub fn tell_checked(
    session: &Session,
    MadeAgain {
        unit,
        count,
        of,
        seed,
    }: MadeAgain,
) {
    if 0 < count {
        let share = 100.0 * count as f64 / of as f64;
        let (checked, all) = (thousands(count), thousands(of));
        let finding = if count == of {
            "none is false".to_owned()
        } else {
            finding_text(unit, count)
        };
        let text = format!(
            "{checked} of {all} {unit} ({share:.1} %) made again with --seed {seed}; {finding}"
        );
        session.summarize("check", &text, false);
    }
}
