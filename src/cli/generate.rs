//! `renma generate`.

use super::arguments::stage::{GenerateArguments, GenerateCommandArguments};
use super::output::{counted, detail, print_json};
use super::session::{Session, Stopwatch, model_or_champion, registry_folder, warn_without_statistics};
use crate::config::load_config_with;
use crate::exit_code;
use crate::pipeline::generate::run::generate;
use crate::pipeline::generate::task::{GenerateReport, GenerateTask};
use crate::pipeline::stage::Stage;
use crate::run::claim::Claim;
use std::process::ExitCode;

pub(super) fn run(session: &Session, arguments: &GenerateCommandArguments) -> anyhow::Result<ExitCode> {
    session.limit(arguments.work.budget);
    with_task(session, &arguments.task, arguments.replace, |task| {
        let stopwatch = Stopwatch::start();
        let report = generate(task, session.context())?;
        tell(session, &task, &report, stopwatch.seconds());
        if session.json { print_json(&report) } else { Ok(()) }
    })?;
    Ok(exit_code::DONE.into())
}

/// Does something with the task of a call, whose folder is claimed.
pub(super) fn with_task<T>(
    session: &Session,
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
    Claim::of_generate(&task).make_way(replace, session.context())?;
    warn_without_statistics("generate.mpc_level", config.config.generate.mpc_level, &model);
    act(task)
}

/// Says what was played.
pub(super) fn tell(session: &Session, task: &GenerateTask<'_>, report: &GenerateReport, seconds: f64) {
    let made = format!("{}, {}", counted(report.games, "game"), counted(report.positions, "position"));
    let how = match report.games_played {
        _ if report.skipped => ", made before".to_owned(),
        0 => String::new(),
        games => format!(", {:.0} games/s", games as f64 / seconds),
    };
    session.summarize(Stage::Generate.name(), &format!("{made}{how}"));
    detail(&format!(
        "generate: {} by {}, {:.1} bytes per position",
        task.output.display(),
        task.model.id,
        report.bytes as f64 / report.positions.max(1) as f64
    ));
}
