//! What `renma generate`, `train`, `fit-mpc` and `gate` share: making a stage, saying what it did, and printing its report.

use super::arguments::stage::{FitMpcArguments, GateArguments, GenerateArguments, TrainArguments};
use super::output::{print, print_json, say};
use super::session::{Session, Stopwatch};
use super::{fit_mpc, gate, generate, train};
use crate::learning_loop::code_of;
use crate::pipeline::stage_task::{StageReport, StageTask};
use serde::Serialize;
use std::process::ExitCode;

pub(super) fn run_generate(session: &Session, arguments: &GenerateArguments) -> anyhow::Result<ExitCode> {
    session.limit(arguments.work.budget);
    generate::with_task(session, arguments, |task| run(session, task))
}

pub(super) fn run_train(session: &Session, arguments: &TrainArguments) -> anyhow::Result<ExitCode> {
    session.limit(arguments.work.budget);
    train::with_task(arguments, |task| run(session, task))
}

pub(super) fn run_fit_mpc(session: &Session, arguments: &FitMpcArguments) -> anyhow::Result<ExitCode> {
    session.limit(arguments.work.budget);
    fit_mpc::with_task(session, arguments, |task| run(session, task))
}

pub(super) fn run_gate(session: &Session, arguments: &GateArguments) -> anyhow::Result<ExitCode> {
    session.limit(arguments.work.budget);
    gate::with_task(session, arguments, |task| {
        let report = task.make(session.context())?;
        match &report {
            StageReport::Gate(report) if arguments.pairs.is_some() => gate::tell_score(session, report),
            report => tell(session, task, report, 0.0),
        }
        if arguments.remake {
            say("gate: every game was played again, with the same moves");
        }
        end(session, &report, &report)
    })
}

/// Makes a stage on this machine.
fn run(session: &Session, task: &StageTask<'_>) -> anyhow::Result<ExitCode> {
    let stopwatch = Stopwatch::start();
    let report = task.make(session.context())?;
    tell(session, task, &report, stopwatch.seconds());
    end(session, &report, &report)
}

/// Says what a stage did.
pub(super) fn tell(session: &Session, task: &StageTask<'_>, report: &StageReport, seconds: f64) {
    match (task, report) {
        (StageTask::Generate(task), StageReport::Generate(report)) => generate::tell(session, task, report, seconds),
        (StageTask::Train(task), StageReport::Train(report)) => train::tell(session, task, report, seconds),
        (StageTask::FitMpc(task), StageReport::FitMpc(report)) => fit_mpc::tell(session, task, report),
        (StageTask::Gate(_), StageReport::Gate(report)) => gate::tell(session, report),
        _ => unreachable!("a task has a report of the same stage"),
    }
}

/// Prints a report as JSON if that was asked for, else the version that was made; a verdict is the exit code.
pub(super) fn end(session: &Session, report: &StageReport, json: &impl Serialize) -> anyhow::Result<ExitCode> {
    match report.version() {
        _ if session.json => print_json(json)?,
        Some(version) => print(version)?,
        None => (),
    }
    Ok(code_of(report.verdict().map(|file| file.verdict)).into())
}
