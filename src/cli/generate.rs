//! `renma generate`.

use super::arguments::stage::GenerateArguments;
use super::output::{counted, detail};
use super::session::{Session, load_run_model, warn_without_statistics};
use crate::pipeline::generate::task::{GenerateReport, GenerateTask};
use crate::pipeline::stage::Stage;
use crate::pipeline::stage_task::StageTask;
use crate::run::claim::make_way;

/// Does something with the task of a call, whose folder is claimed.
pub(super) fn with_task<T>(
    session: &Session,
    arguments: &GenerateArguments,
    act: impl FnOnce(&StageTask<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let (config, registry) = arguments.run.load()?;
    let model = load_run_model(arguments.model.as_deref().unwrap_or("champion"), &registry, &config)?;
    let task = GenerateTask {
        config: &config.config.generate,
        book: config.book.as_deref(),
        seed: config.config.run.seed,
        generation: arguments.generation,
        model: &model,
        output: &arguments.output,
    };
    let task = StageTask::Generate(task);
    make_way(&task, arguments.replace, session.context())?;
    warn_without_statistics("generate.mpc_level", config.config.generate.mpc_level, &model);
    act(&task)
}

/// Says what was played.
pub(super) fn tell(session: &Session, task: &GenerateTask<'_>, report: &GenerateReport, seconds: f64) {
    let made = format!("{}, {}", counted(report.games, "game"), counted(report.positions, "position"));
    let how = match report.games_played {
        games if games == 0 || report.skipped => String::new(),
        games => format!(", {:.0} games/s", games as f64 / seconds),
    };
    session.summarize(Stage::Generate.name(), &format!("{made}{how}"), report.skipped);
    detail(&format!(
        "generate: {} by {}, {:.1} bytes per position",
        task.output.display(),
        task.model.id,
        report.bytes as f64 / report.positions.max(1) as f64
    ));
}
