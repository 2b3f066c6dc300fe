//! What `renma generate`, `train`, `fit-mpc` and `gate` share: making a stage, saying what it did, and printing its report.

use super::arguments::run::registry_folder;
use super::arguments::stage::{
    FitMpcArguments, GateArguments, GenerateArguments, StageCommand, StageRun, TrainArguments,
};
use super::command_errors::UsageError;
use super::output::{print, print_json, say};
use super::session::{Session, Stopwatch, load_run_model, warn_without_statistics};
use super::{fit_mpc, gate, generate, train};
use crate::artifact::Registry;
use crate::learning_loop::code_of;
use crate::pipeline::StageError;
use crate::pipeline::fit_mpc::task::FitMpcTask;
use crate::pipeline::gate::task::GateTask;
use crate::pipeline::generate::task::GenerateTask;
use crate::pipeline::stage_task::{StageReport, StageTask};
use crate::pipeline::train::task::TrainTask;
use crate::run::claim::make_way;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// Makes a stage on this machine.
pub(super) fn run(session: &Session, command: &StageCommand) -> anyhow::Result<ExitCode> {
    with_task(session, command, |task, replace| {
        make_way(task, replace, session.context())?;
        let stopwatch = Stopwatch::start();
        let report = task.make(session.context())?;
        match (command, &report) {
            (StageCommand::Gate(GateArguments { pairs: Some(_), .. }), StageReport::Gate(report)) => {
                gate::tell_score(session, report);
            }
            _ => tell(session, task, &report, stopwatch.seconds()),
        }
        if let StageTask::Gate(GateTask { remake: true, .. }) = task {
            say("gate: every game was played again, with the same moves");
        }
        end(session, &report, &report)
    })
}

/// Does something with the task of a command, and with whether it replaces what is in its folder.
pub(super) fn with_task<T>(
    session: &Session,
    command: &StageCommand,
    act: impl FnOnce(&StageTask<'_>, bool) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let (StageRun { config, models }, work, replace) = match command {
        StageCommand::Generate(GenerateArguments { run, work, replace, .. })
        | StageCommand::FitMpc(FitMpcArguments { run, work, replace, .. })
        | StageCommand::Gate(GateArguments { run, work, replace, .. }) => (run, work, *replace),
        StageCommand::Train(TrainArguments { run, work, .. }) => (run, work, false),
    };
    session.limit(work.budget);
    let loaded = config.load()?;
    let folder = registry_folder(models.as_deref(), &loaded.name);
    let (config, seed, registry) = (&loaded.config, loaded.config.run.seed, Registry::new(&folder));
    let load = |name: &str| load_run_model(name, &folder, &loaded);
    let act = |task: StageTask<'_>| act(&task, replace);
    match command {
        StageCommand::Generate(GenerateArguments { model, generation, output, .. }) => {
            let (generation, config, book) = (*generation, &config.generate, loaded.book.as_deref());
            let model = &load(model.as_deref().unwrap_or("champion"))?;
            warn_without_statistics("generate.mpc_level", config.mpc_level, model);
            act(StageTask::Generate(GenerateTask { config, book, seed, generation, model, output }))
        }
        StageCommand::Train(TrainArguments { dataset, parent, memory, .. }) => {
            let parent = parent.as_deref().map(load).transpose()?;
            act(StageTask::Train(TrainTask {
                config: &config.train,
                seed,
                features: Arc::clone(&loaded.features),
                datasets: dataset.iter().map(PathBuf::as_path).collect(),
                parent: parent.as_ref(),
                registry: &registry,
                memory: memory.as_u64(),
            }))
        }
        StageCommand::FitMpc(FitMpcArguments { model, generation, output, .. }) => {
            if output.is_none() && work.budget.is_some() {
                return Err(UsageError("--budget: without --output no sample is kept, so name one".to_owned()).into());
            }
            let (config, generation, output) = (&config.fit_mpc, *generation, output.as_deref());
            let (model, registry) = (&load(model)?, &registry);
            act(StageTask::FitMpc(FitMpcTask { config, seed, generation, model, registry, output }))
        }
        StageCommand::Gate(arguments) => {
            let &GateArguments { ref avoid, ref output, generation, remake, .. } = arguments;
            let (candidate, baseline) = (&load(&arguments.candidate)?, &load(&arguments.baseline)?);
            let config = match arguments.pairs {
                Some(pairs) => &config.gate.clone().of_pairs(pairs).map_err(StageError::from)?,
                None => &config.gate,
            };
            for player in [candidate, baseline] {
                warn_without_statistics("gate.mpc_level", config.mpc_level, player);
            }
            act(StageTask::Gate(GateTask { config, seed, generation, candidate, baseline, avoid, output, remake }))
        }
    }
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
