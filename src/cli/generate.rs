//! `renma generate`.

use super::arguments::stage::{GenerateArguments, GenerateCommandArguments, WorkArguments};
use super::output::{counted, detail, print_json};
use super::session::{Session, Stopwatch, model_or_champion, registry_folder, warn_without_statistics};
use super::stage::{StageEnd, claim_folder, run_stage, summarize};
use crate::config::load_config_with;
use crate::pipeline::generate::recipe::recipe;
use crate::pipeline::generate::run::generate;
use crate::pipeline::generate::task::GenerateTask;
use crate::pipeline::stage::Stage;
use crate::run::claim::Claim;
use std::process::ExitCode;

pub(super) fn run(session: &Session, arguments: &GenerateCommandArguments) -> anyhow::Result<ExitCode> {
    run_stage(session, Stage::Generate.name(), Some(arguments.task.generation), &arguments.work, || {
        work(session, arguments)
    })
}

fn work(session: &Session, arguments: &GenerateCommandArguments) -> anyhow::Result<StageEnd> {
    with_task(&arguments.task, arguments.replace, |task| play(session, task, &arguments.work))
}

/// Does something with the task of a call, whose folder is claimed.
pub(super) fn with_task<T>(
    arguments: &GenerateArguments,
    replace: bool,
    act: impl FnOnce(GenerateTask<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let config = load_config_with(&arguments.run.config, &arguments.run.set.settings)?;
    let registry = registry_folder(arguments.run.models.as_deref(), &config.name);
    let model = model_or_champion(arguments.model.as_deref(), &registry, &config)?;
    let task = GenerateTask {
        config: &config.config.generate,
        book: config.book.as_deref(),
        seed: config.config.run.seed,
        generation: arguments.generation,
        model: &model,
        output: &arguments.output,
    };
    let claim = Claim {
        folder: task.output,
        stage: Stage::Generate,
        recipe: recipe(&task).hash,
        items: task.config.games,
        parts: task.config.part_count() as u64,
    };
    claim_folder(&claim, replace)?;
    warn_without_statistics("generate.mpc_level", config.config.generate.mpc_level, &model);
    act(task)
}

fn play(session: &Session, task: GenerateTask<'_>, work: &WorkArguments) -> anyhow::Result<StageEnd> {
    let stopwatch = Stopwatch::start();
    let report = generate(task, session.context())?;
    let made = format!("{}, {}", counted(report.games, "game"), counted(report.positions, "position"));
    if report.skipped {
        summarize(Stage::Generate.name(), work, &format!("{made}, made before"));
    } else {
        let rate = report.games_played as f64 / stopwatch.seconds();
        summarize(Stage::Generate.name(), work, &format!("{made}, {rate:.0} games/s"));
    }
    detail(&format!(
        "generate: {} by {}, {:.1} bytes per position",
        task.output.display(),
        task.model.id,
        report.bytes as f64 / report.positions.max(1) as f64
    ));
    if session.json {
        print_json(&report)?;
    }
    Ok(StageEnd::done(None, report.skipped))
}
