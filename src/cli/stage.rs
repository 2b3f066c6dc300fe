//! What `renma generate`, `train`, `fit-mpc` and `gate` share: making what is asked for or writing
//! the plan of its shards, saying what was done, and printing the report.

use super::arguments::run::{check_own_registry, registry_folder};
use super::arguments::stage::{
    FitMpcArguments, GateArguments, GenerateArguments, StageArguments, StageCommand, TrainArguments,
};
use super::command_errors::UsageError;
use super::output::{Output, counted, output_name, print, print_json, say};
use super::session::{Session, Stopwatch, warn_without_statistics};
use super::{fit_mpc, gate, generate, train};
use crate::artifact::{LoadedModel, Manifest, ModelRef};
use crate::cluster::divide::divide;
use crate::cluster::plan::{PLAN_FILE, Plan};
use crate::config::{Config, LoadedConfig};
use crate::generation::Generation;
use crate::pipeline::StageError;
use crate::pipeline::request::{Models, Request, Role};
use crate::pipeline::stage::Stage;
use crate::pipeline::work::{Report, Work};
use crate::run::claim::make_way;
use serde_json::{Value, json};
use std::any::Any;
use std::path::Path;
use std::process::ExitCode;

/// Makes what is asked of a stage on this machine, or writes the plan of its shards.
pub fn run(session: &Session, command: &StageCommand) -> anyhow::Result<ExitCode> {
    let arguments = command.arguments();
    session.limit(arguments.work.budget);
    let config = arguments.config.load()?;
    check_own_registry(arguments.models.as_deref())?;
    let mut request = request(
        command,
        &config,
        &registry_folder(arguments.models.as_deref(), &config.name),
    )?;
    request.find_datasets()?;
    let models = request.find_models(&config.config.run.start)?.load()?;
    warn_of(&request, &models, &config.config);
    let work = request.work(&models)?;
    if let Some(path) = &arguments.plan {
        return write_plan(session, path, command, &request, &*work);
    }
    make_way(request.stage, &*work, command.replaces(), session.context())?;
    let stopwatch = Stopwatch::start();
    let report = work.make(session.context())?;
    if let StageCommand::Gate(GateArguments { pairs: Some(_), .. }) = command {
        tell_score(session, &*report);
    } else {
        tell(session, &request, &*report, stopwatch.seconds());
    }
    end(session, &*report, &report.json())
}

impl StageCommand {
    const fn arguments(&self) -> &StageArguments {
        match self {
            Self::Generate(GenerateArguments { stage, .. })
            | Self::Train(TrainArguments { stage, .. })
            | Self::FitMpc(FitMpcArguments { stage, .. })
            | Self::Gate(GateArguments { stage, .. }) => stage,
        }
    }

    /// Whether it overwrites a result of other inputs.
    const fn replaces(&self) -> bool {
        match self {
            Self::Generate(GenerateArguments { replace, .. })
            | Self::FitMpc(FitMpcArguments { replace, .. })
            | Self::Gate(GateArguments { replace, .. }) => *replace,
            Self::Train(_) => false,
        }
    }
}

/// What a command asks of its stage.
fn request(
    command: &StageCommand,
    config: &LoadedConfig,
    registry: &Path,
) -> anyhow::Result<Request> {
    Ok(match command {
        StageCommand::Generate(GenerateArguments {
            model,
            generation,
            output,
            ..
        }) => Request {
            models: [(
                Role::Model,
                model.clone().unwrap_or(ModelRef::Champion).into(),
            )]
            .into(),
            generation: *generation,
            output: Some(output.clone()),
            ..config.request(Stage::Generate, registry)
        },
        StageCommand::Train(TrainArguments {
            dataset,
            parent,
            memory,
            ..
        }) => Request {
            models: parent
                .iter()
                .map(|parent| (Role::Parent, parent.clone().into()))
                .collect(),
            generation: newest_generation(dataset)?,
            datasets: dataset.iter().cloned().map(Into::into).collect(),
            memory: Some(memory.as_u64()),
            ..config.request(Stage::Train, registry)
        },
        StageCommand::FitMpc(FitMpcArguments {
            stage,
            model,
            generation,
            output,
            ..
        }) => {
            if output.is_none() && stage.work.budget.is_some() {
                return Err(UsageError(
                    "--budget: without --output no sample is kept, so name one".to_owned(),
                )
                .into());
            }
            Request {
                models: [(Role::Model, model.clone().into())].into(),
                generation: *generation,
                output: output.clone(),
                ..config.request(Stage::FitMpc, registry)
            }
        }
        StageCommand::Gate(GateArguments {
            candidate,
            baseline,
            avoid,
            generation,
            pairs,
            output,
            ..
        }) => {
            let request = config.request(Stage::Gate, registry);
            let table = match pairs {
                Some(pairs) => json!(
                    config
                        .config
                        .gate
                        .of_pairs(*pairs)
                        .map_err(StageError::from)?
                ),
                None => request.config,
            };
            Request {
                config: table,
                models: [
                    (Role::Candidate, candidate.clone().into()),
                    (Role::Baseline, baseline.clone().into()),
                ]
                .into(),
                generation: *generation,
                datasets: avoid.iter().cloned().map(Into::into).collect(),
                output: Some(output.clone()),
                ..request
            }
        }
    })
}

/// The generation of the newest of some datasets.
fn newest_generation(datasets: &[impl AsRef<Path>]) -> anyhow::Result<Generation> {
    let newest = datasets
        .last()
        .map(|folder| Manifest::read_any(folder.as_ref()))
        .transpose()?;
    Ok(newest.map_or(Generation::FIRST, |manifest| {
        manifest.generation.max(Generation::FIRST)
    }))
}

/// Says if a level was set for a model without MPC statistics.
fn warn_of(request: &Request, models: &Models<LoadedModel>, config: &Config) {
    let (setting, level, roles): (_, _, &[Role]) = match request.stage {
        Stage::Generate => (
            "generate.mpc_level",
            config.generate.mpc_level,
            &[Role::Model],
        ),
        Stage::Gate => (
            "gate.mpc_level",
            config.gate.mpc_level,
            &[Role::Candidate, Role::Baseline],
        ),
        Stage::Train | Stage::FitMpc => return,
    };
    for model in roles.iter().filter_map(|role| models.find(*role)) {
        warn_without_statistics(setting, level, &model);
    }
}

/// Writes the plan of the shards of a request.
fn write_plan(
    session: &Session,
    path: &Path,
    command: &StageCommand,
    request: &Request,
    work: &dyn Work,
) -> anyhow::Result<ExitCode> {
    let arguments = command.arguments();
    let make_way = || make_way(request.stage, work, command.replaces(), session.context());
    let write = |plan: &Plan| -> anyhow::Result<bool> {
        // A plan that cannot be written removes nothing.
        let output = Output::open(session.json, path, PLAN_FILE, arguments.force)?;
        make_way()?;
        Ok(output.write(|writer| writer.write_all(plan.text().as_bytes()))?)
    };
    let shards = arguments.shards.map(|shards| shards as usize);
    if let Some(plan) = divide(request, work, path, shards, write, session.context())? {
        // A plan that is there already is not written.
        make_way()?;
        let (stage, shards) = (request.stage, plan.shards.len());
        let parts = plan.shards.last().map_or(0, |last| last.end);
        let within = format!(
            "{} in {}",
            counted(parts as u64, "part"),
            counted(shards as u64, "shard")
        );
        say(&format!(
            "{stage}: {within}: {}",
            output_name(path).display()
        ));
        session.print_json(
            &json!({"plan": path.to_string_lossy(), "stage": stage, "shards": shards}),
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Says what a stage did.
pub fn tell(session: &Session, request: &Request, report: &dyn Report, seconds: f64) {
    let report: &dyn Any = report;
    match request.stage {
        Stage::Generate => {
            report
                .downcast_ref()
                .into_iter()
                .for_each(|report| generate::tell(session, request, report, seconds));
        }
        Stage::Train => {
            report
                .downcast_ref()
                .into_iter()
                .for_each(|report| train::tell(session, request, report, seconds));
        }
        Stage::FitMpc => {
            report
                .downcast_ref()
                .into_iter()
                .for_each(|report| fit_mpc::tell(session, request, report));
        }
        Stage::Gate => report
            .downcast_ref()
            .into_iter()
            .for_each(|report| gate::tell(session, report)),
    }
}

/// Says the score of a match that decides nothing.
pub fn tell_score(session: &Session, report: &dyn Report) {
    let report: &dyn Any = report;
    report
        .downcast_ref()
        .into_iter()
        .for_each(|report| gate::tell_score(session, report));
}

/// Prints a report as JSON if that was asked for, else the version that was made; a verdict is the
/// exit code.
pub fn end(session: &Session, report: &dyn Report, json: &Value) -> anyhow::Result<ExitCode> {
    match report.version() {
        _ if session.json => print_json(json)?,
        Some(version) => print(version)?,
        None => (),
    }
    Ok(report.exit_code().into())
}
