//! `renma shard`.

use super::arguments::shard::ShardCommand;
use super::command_errors::UsageError;
use super::drive;
use super::output::{detail, finding_text, print, print_json, say, thousands};
use super::session::{Session, Stopwatch, processor_time};
use super::{fit_mpc, gate, generate, plan, train};
use crate::cluster::check::{Checked, check};
use crate::cluster::plan::LoadedPlan;
use crate::cluster::progress::progress;
use crate::cluster::stage::StageTask;
use crate::exit_code;
use crate::pipeline::fit_mpc::run::fit_mpc;
use crate::pipeline::gate::run::gate;
use crate::pipeline::generate::run::generate;
use crate::pipeline::train::run::train;
use serde_json::json;
use std::path::Path;
use std::process::ExitCode;

pub(super) fn run(session: &Session, command: ShardCommand) -> anyhow::Result<ExitCode> {
    match command {
        ShardCommand::Plan(arguments) => plan::run(session, *arguments)?,
        ShardCommand::Run { plan, shard } => run_shard(session, &plan, shard)?,
        ShardCommand::Status { plan, ahead } => show_progress(session, &plan, ahead)?,
        ShardCommand::Drive(arguments) => drive::run(session, &arguments)?,
        ShardCommand::Finish { plan: path, seed, work } => {
            session.limit(work.budget);
            return finish(session, &path, seed);
        }
    }
    Ok(exit_code::DONE.into())
}

fn run_shard(session: &Session, path: &Path, shard: u32) -> anyhow::Result<()> {
    let plan = LoadedPlan::read(path)?;
    let parts = plan.shards().get(shard as usize).cloned().ok_or_else(|| {
        let last = plan.shards().len().saturating_sub(1);
        UsageError(format!("{} has no shard {shard}: choose one from 0 to {last}", path.display()))
    })?;
    let stopwatch = Stopwatch::start();
    let report = plan.task().shards()?.make(parts, session.context())?;
    if report.skipped {
        say(&format!("shard run: shard {shard} of {} is already there", path.display()));
    } else {
        let word = |name: &str| name.split('_').next().unwrap_or_default().to_owned();
        let made = report.made.iter().map(|(name, count)| format!("{} {}", thousands(*count), word(name)));
        let made = made.collect::<Vec<_>>().join(", ");
        say(&format!("shard run: shard {shard}: {made}, {:.1} s", stopwatch.seconds()));
    }
    if !session.json {
        return Ok(());
    }
    let mut report = json!(report);
    report["seconds"] = json!(stopwatch.seconds());
    // From the start of the process, so that loading the model counts, too.
    report["cpu_seconds"] = json!(processor_time().as_secs_f64());
    print_json(&report)
}

fn show_progress(session: &Session, path: &Path, ahead: u32) -> anyhow::Result<()> {
    let plan = LoadedPlan::read(path)?;
    let progress = progress(&plan, ahead as usize, session.context())?;
    if session.json {
        return print_json(&progress);
    }
    let (done, shards) = (thousands(progress.done.len() as u64), thousands(progress.shards as u64));
    let next = if progress.complete {
        format!("run renma shard finish {}", path.display())
    } else {
        let numbers: Vec<String> = progress.needed.iter().map(ToString::to_string).collect();
        format!("to run now: {}", numbers.join(" "))
    };
    Ok(print(&format!("{}: {done} of {shards} shards are done\n{next}", progress.stage))?)
}

fn finish(session: &Session, path: &Path, seed: Option<u64>) -> anyhow::Result<ExitCode> {
    let (plan, context, stopwatch) = (LoadedPlan::read(path)?, session.context(), Stopwatch::start());
    let checked = check(path, &plan, seed, context)?;
    tell_checked(checked);
    match plan.task() {
        StageTask::Generate(task) => {
            let report = generate(task, context)?;
            generate::tell(session, &task, &report, stopwatch.seconds());
            if session.json {
                let mut report = json!(report);
                (report["games_remade"], report["sample_seed"]) = (json!(checked.count), json!(checked.seed));
                print_json(&report)?;
            }
        }
        StageTask::Train(task) => {
            let report = train(&task, context)?;
            train::tell(session, &task, &report, stopwatch.seconds());
            session.print_report(&report, &report.id)?;
        }
        StageTask::FitMpc(task) => {
            let report = fit_mpc(task, context)?;
            fit_mpc::tell(session, &task, &report);
            session.print_report(&report, &report.id)?;
        }
        StageTask::Gate(task) => {
            let report = gate(task, context)?;
            gate::tell(session, &report);
            return gate::finish(session, &report);
        }
    }
    Ok(exit_code::DONE.into())
}

/// Says what was made again.
pub(super) fn tell_checked(Checked { unit, count, seed }: Checked) {
    if 0 < count {
        let checked = thousands(count);
        let finding = finding_text(unit, count);
        detail(&format!("shard finish: {checked} {unit} made again with --seed {seed}\n{finding}"));
    }
}
