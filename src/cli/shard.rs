//! `renma shard`.

use super::arguments::run::WorkerArguments;
use super::arguments::shard::{DriveArguments, PlanArguments, ShardCommand};
use super::arguments::stage::{
    FitMpcArguments, GateArguments, GenerateArguments, StageCommand, TrainArguments, WorkArguments,
};
use super::command_errors::UsageError;
use super::output::{Output, counted, detail, finding_text, output_name, say, thousands};
use super::session::{Session, Stopwatch, cores, processor_time};
use super::stage;
use crate::cluster::dask::Scheduler;
use crate::cluster::divide::divide;
use crate::cluster::elsewhere::Elsewhere;
use crate::cluster::plan::{LoadedPlan, PLAN_FILE, Plan, with_plan};
use crate::cluster::runs::log_path;
use crate::exit_code;
use crate::pipeline::StageError;
use crate::pipeline::parts::MadeAgain;
use crate::pipeline::stage::Stage;
use crate::pipeline::stage_task::{StageReport, StageTask};
use crate::run::claim::make_way;
use bytesize::ByteSize;
use serde_json::json;
use std::path::Path;
use std::process::ExitCode;

/// As that of `renma train`.
const MEMORY: ByteSize = ByteSize::gib(4);

pub(super) fn run(session: &Session, command: ShardCommand) -> anyhow::Result<ExitCode> {
    match command {
        ShardCommand::Plan(arguments) => plan(session, *arguments)?,
        ShardCommand::Run { plan, shard } => run_shard(session, &plan, shard)?,
        ShardCommand::Status { plan, ahead } => show_progress(session, &plan, ahead)?,
        ShardCommand::Drive(arguments) => drive(session, &arguments)?,
        ShardCommand::Finish { plan: path, seed, work } => {
            session.limit(work.budget);
            return finish(session, &path, seed);
        }
    }
    Ok(exit_code::DONE.into())
}

fn plan(session: &Session, arguments: PlanArguments) -> anyhow::Result<()> {
    let (path, force, shards, stage) = (arguments.plan.clone(), arguments.force, arguments.shards, arguments.stage);
    let shards = shards.map(|shards| shards as usize);
    let divide = |task: &StageTask<'_>, replace: bool| -> anyhow::Result<Option<Plan>> {
        let make_way = || make_way(task, replace, session.context());
        let write = |plan: &Plan| -> anyhow::Result<bool> {
            // A plan that cannot be written removes nothing.
            let output = Output::open(session.json, &path, PLAN_FILE, force)?;
            make_way()?;
            Ok(output.write(|writer| writer.write_all(plan.text().as_bytes()))?)
        };
        let plan = divide(task, &path, shards, write, session.context())?;
        // A plan that is there already is not written.
        make_way()?;
        Ok(plan)
    };
    let Some(plan) = stage::with_task(session, &planned(arguments)?, divide)? else { return Ok(()) };
    let shards = plan.shards.len();
    let (pieces, within) = (counted(plan.weights().len() as u64, "part"), counted(shards as u64, "shard"));
    say(&format!("shard plan: {stage}, {pieces} in {within}: {}", output_name(&path).display()));
    session.print_json(&json!({"plan": path.to_string_lossy(), "stage": stage, "shards": shards}))
}

/// The command that a plan divides. Its options are those of the stage's command; an unknown or missing one is an error.
fn planned(arguments: PlanArguments) -> Result<StageCommand, UsageError> {
    let PlanArguments { stage, run, model, generation, output, dataset, parent, .. } = arguments;
    let PlanArguments { memory, candidate, baseline, avoid, replace, .. } = arguments;
    let options: [(&str, bool, &[Stage]); 9] = [
        ("--model", model.is_some(), &[Stage::Generate, Stage::FitMpc]),
        ("--candidate", candidate.is_some(), &[Stage::Gate]),
        ("--baseline", baseline.is_some(), &[Stage::Gate]),
        ("--avoid", !avoid.is_empty(), &[Stage::Gate]),
        ("--output", output.is_some(), &[Stage::Generate, Stage::FitMpc, Stage::Gate]),
        ("--dataset", !dataset.is_empty(), &[Stage::Train]),
        ("--parent", parent.is_some(), &[Stage::Train]),
        ("--memory", memory.is_some(), &[Stage::Train]),
        ("--replace", replace, &[Stage::Generate, Stage::FitMpc, Stage::Gate]),
    ];
    if let Some((option, ..)) = options.iter().find(|(_, is_given, stages)| *is_given && !stages.contains(&stage)) {
        return Err(UsageError(format!("{option} is not an option of --stage {stage}")));
    }
    let needed = |option: &str| UsageError(format!("--stage {stage} needs {option}"));
    let work = WorkArguments { budget: None };
    Ok(match stage {
        Stage::Generate => {
            let output = output.ok_or_else(|| needed("--output"))?;
            StageCommand::Generate(GenerateArguments { run, model, generation, output, replace, work })
        }
        Stage::Train => {
            let memory = memory.unwrap_or(MEMORY);
            StageCommand::Train(TrainArguments { run, dataset, parent, memory, work })
        }
        Stage::FitMpc => {
            let model = model.ok_or_else(|| needed("--model"))?;
            StageCommand::FitMpc(FitMpcArguments { run, model, generation, output, replace, work })
        }
        Stage::Gate => StageCommand::Gate(GateArguments {
            run,
            candidate: candidate.ok_or_else(|| needed("--candidate"))?,
            baseline: baseline.ok_or_else(|| needed("--baseline"))?,
            avoid,
            generation,
            pairs: None,
            output: output.ok_or_else(|| needed("--output"))?,
            remake: false,
            replace,
            work,
        }),
    })
}

fn drive(session: &Session, arguments: &DriveArguments) -> anyhow::Result<()> {
    let path = &arguments.plan;
    let place = elsewhere(&arguments.on, &arguments.workers)?;
    with_plan(path, |plan| {
        session.limit(arguments.work.budget);
        let stopwatch = Stopwatch::start();
        let report = place.drive(plan, session.context())?;
        let (ran, retried) = (thousands(report.ran as u64), thousands(report.retried as u64));
        detail(&format!(
            "shard drive: {} is ready to finish: {ran} shards in {:.1} s, {retried} retried; who ran them is in {}",
            path.display(),
            stopwatch.seconds(),
            log_path(path).display()
        ));
        session.print_json(&report)
    })
}

/// Where `--on` lets shards run.
pub(super) fn elsewhere(on: &str, arguments: &WorkerArguments) -> Result<Elsewhere, StageError> {
    let scheduler = arguments.scheduler.as_deref().map(|address| Scheduler::new(address, arguments.insecure));
    Elsewhere::new(on, arguments.workers.map_or(cores(), |workers| workers as usize), scheduler.transpose()?)
}

fn run_shard(session: &Session, path: &Path, shard: u32) -> anyhow::Result<()> {
    with_plan(path, |LoadedPlan { plan, task, .. }| {
        let parts = plan.shards.get(shard as usize).cloned().ok_or_else(|| {
            let last = plan.shards.len().saturating_sub(1);
            UsageError(format!("{} has no shard {shard}: choose one from 0 to {last}", path.display()))
        })?;
        let stopwatch = Stopwatch::start();
        let report = task.shards()?.make(parts, session.context())?;
        if report.skipped {
            say(&format!("shard run: shard {shard} of {} is already there", path.display()));
        } else {
            let word = |name: &str| name.split('_').next().unwrap_or_default().to_owned();
            let made = report.made.iter().map(|(name, count)| format!("{} {}", thousands(*count), word(name)));
            let made = made.collect::<Vec<_>>().join(", ");
            say(&format!("shard run: shard {shard}: {made}, {:.1} s", stopwatch.seconds()));
        }
        let mut report = json!(report);
        report["seconds"] = json!(stopwatch.seconds());
        // From the start of the process, so that loading the model counts, too.
        report["cpu_seconds"] = json!(processor_time().as_secs_f64());
        session.print_json(&report)
    })
}

fn show_progress(session: &Session, path: &Path, ahead: u32) -> anyhow::Result<()> {
    let progress = with_plan(path, |plan| plan.progress(ahead as usize, session.context()))?;
    let (done, shards) = (thousands(progress.done.len() as u64), thousands(progress.shards as u64));
    let next = if progress.complete {
        format!("run renma shard finish {}", path.display())
    } else {
        let numbers: Vec<String> = progress.needed.iter().map(ToString::to_string).collect();
        format!("to run now: {}", numbers.join(" "))
    };
    session.answer(&progress, &format!("{}: {done} of {shards} shards are done\n{next}", progress.stage))
}

fn finish(session: &Session, path: &Path, seed: Option<u64>) -> anyhow::Result<ExitCode> {
    with_plan(path, |plan| {
        let (context, stopwatch) = (session.context(), Stopwatch::start());
        let checked = plan.check(seed, context)?;
        tell_checked(session, checked);
        let report = plan.task.make(context)?;
        stage::tell(session, &plan.task, &report, stopwatch.seconds());
        if let StageReport::Generate(_) = &report {
            let mut json = json!(report);
            (json["games_remade"], json["sample_seed"]) = (json!(checked.count), json!(checked.seed));
            return stage::end(session, &report, &json);
        }
        stage::end(session, &report, &report)
    })
}

/// Says how much was made again, and what that is worth.
pub(super) fn tell_checked(session: &Session, MadeAgain { unit, count, of, seed }: MadeAgain) {
    if 0 < count {
        let share = 100.0 * count as f64 / of as f64;
        let (checked, all) = (thousands(count), thousands(of));
        let finding = if count == of { "none is false".to_owned() } else { finding_text(unit, count) };
        let text = format!("{checked} of {all} {unit} ({share:.1} %) made again with --seed {seed}; {finding}");
        session.summarize("check", &text, false);
    }
}
