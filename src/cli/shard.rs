//! `renma shard`.

use super::arguments::shard::ShardCommand;
use super::arguments::stage::WorkArguments;
use super::drive;
use super::failure::{UsageError, naming_makers};
use super::output::{counted, detail, finding_text, print, print_json, say, thousands};
use super::session::{Session, Stopwatch, fresh_seed, processor_time};
use super::stage::{StageEnd, run_stage, summarize};
use super::{fit_mpc, gate, plan, train};
use crate::cluster::plan::LoadedPlan;
use crate::cluster::progress::{check_complete, progress};
use crate::cluster::stage::StageTask;
use crate::exit_code;
use crate::pipeline::fit_mpc::shards::{check_samples, fit_mpc_parts};
use crate::pipeline::gate::shards::{check_batches, gate_batches};
use crate::pipeline::generate::run::{finish_parts, generate_parts};
use crate::pipeline::generate::task::GenerateTask;
use crate::pipeline::stage::Stage;
use crate::pipeline::train::shards::{check_part, train_parts};
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
            let plan = LoadedPlan::read(&path)?;
            let finish = || finish(session, &plan, seed, &work).map_err(|error| naming_makers(error, &path));
            return run_stage(session, plan.stage().name(), Some(plan.generation()), &work, finish);
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
    let (skipped, made, mut report) = match plan.task() {
        StageTask::Generate(task) => {
            let report = generate_parts(task, parts, session.context())?;
            let (games, positions) = (thousands(report.games_played), thousands(report.positions_written));
            (report.skipped, format!("{games} games, {positions} positions"), json!(report))
        }
        StageTask::Train(task) => {
            let report = train_parts(&task, parts, session.context())?;
            let (parts, updates) = (thousands(report.parts), thousands(report.updates));
            (report.skipped, format!("{parts} parts, {updates} updates"), json!(report))
        }
        StageTask::FitMpc(task) => {
            let report = fit_mpc_parts(task, parts, session.context())?;
            let (games, samples) = (thousands(report.games), thousands(report.samples));
            (report.skipped, format!("{games} games, {samples} samples"), json!(report))
        }
        StageTask::Gate(task) => {
            let report = gate_batches(&task, parts, session.context())?;
            (report.skipped, format!("{} games", thousands(report.games_played)), json!(report))
        }
    };
    if skipped {
        say(&format!("shard run: shard {shard} of {} is already there", path.display()));
    } else {
        say(&format!("shard run: shard {shard}: {made}, {:.1} s", stopwatch.seconds()));
    }
    if !session.json {
        return Ok(());
    }
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

fn finish(session: &Session, plan: &LoadedPlan, seed: Option<u64>, work: &WorkArguments) -> anyhow::Result<StageEnd> {
    check_complete(plan, session.context())?;
    let seed = seed.unwrap_or_else(fresh_seed);
    match plan.task() {
        StageTask::Generate(task) => finish_games(session, task, seed, work),
        StageTask::Train(task) => {
            let checked = check_part(&task, seed, session.context())?;
            say_checked("parts", checked.map_or(0, |_| 1), seed);
            train::learn(session, &task, work)
        }
        StageTask::FitMpc(task) => {
            say_checked("games", check_samples(task, seed, session.context())?, seed);
            fit_mpc::fit(session, task, work)
        }
        StageTask::Gate(task) => {
            say_checked("batches", check_batches(&task, seed, session.context())?, seed);
            gate::decide(session, task, work, false)
        }
    }
}

fn say_checked(items: &str, count: u64, seed: u64) {
    if 0 < count {
        let checked = thousands(count);
        detail(&format!(
            "shard finish: {checked} {items} made again with --seed {seed}\n{}",
            finding_text(items, count)
        ));
    }
}

fn finish_games(
    session: &Session,
    task: GenerateTask<'_>,
    seed: u64,
    work: &WorkArguments,
) -> anyhow::Result<StageEnd> {
    let report = finish_parts(task, seed, session.context())?;
    let dataset = &report.dataset;
    let again = if dataset.skipped { ", made before" } else { "" };
    let made = format!("{}, {}", counted(dataset.games, "game"), counted(dataset.positions, "position"));
    summarize(Stage::Generate.name(), work, &format!("{made}{again}"));
    say_checked("games", report.games_remade, report.sample_seed);
    if session.json {
        print_json(&report)?;
    }
    Ok(StageEnd::done(None, report.dataset.skipped))
}
