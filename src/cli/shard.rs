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
use crate::cluster::progress::progress;
use crate::cluster::stage::StageTask;
use crate::exit_code;
use crate::pipeline::generate::run::generate;
use crate::pipeline::generate::task::GenerateTask;
use crate::pipeline::parts::MadeAgain;
use crate::pipeline::stage::Stage;
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

fn finish(session: &Session, plan: &LoadedPlan, seed: Option<u64>, work: &WorkArguments) -> anyhow::Result<StageEnd> {
    let (seed, task) = (seed.unwrap_or_else(fresh_seed), plan.task());
    let checked = task.shards()?.check(seed, session.context())?;
    if 0 < checked.count {
        let (unit, count) = (checked.unit, thousands(checked.count));
        let finding = finding_text(unit, checked.count);
        detail(&format!("shard finish: {count} {unit} made again with --seed {seed}\n{finding}"));
    }
    match task {
        StageTask::Generate(task) => finish_games(session, task, (checked, seed), work),
        StageTask::Train(task) => train::learn(session, &task, work),
        StageTask::FitMpc(task) => fit_mpc::fit(session, task, work),
        StageTask::Gate(task) => gate::decide(session, task, work, false),
    }
}

fn finish_games(
    session: &Session,
    task: GenerateTask<'_>,
    (checked, seed): (MadeAgain, u64),
    work: &WorkArguments,
) -> anyhow::Result<StageEnd> {
    let dataset = generate(task, session.context())?;
    let again = if dataset.skipped { ", made before" } else { "" };
    let made = format!("{}, {}", counted(dataset.games, "game"), counted(dataset.positions, "position"));
    summarize(Stage::Generate.name(), work, &format!("{made}{again}"));
    if session.json {
        let mut report = json!(dataset);
        (report["games_remade"], report["sample_seed"]) = (json!(checked.count), json!(seed));
        print_json(&report)?;
    }
    Ok(StageEnd::done(None, dataset.skipped))
}
