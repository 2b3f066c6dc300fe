//! `renma generate`.

use super::arguments::GenerateCommandArguments;
use super::output::{print_json, say, thousands};
use super::session::{Session, Stopwatch, model_or_champion, registry_folder, warn_without_statistics};
use super::work::{Worked, claim_folder, drop_surplus, run_stage};
use crate::artifact::dataset::games::GAMES;
use crate::artifact::dataset::manifest::DatasetKind;
use crate::artifact::dataset::positions::POSITIONS;
use crate::config::load_config;
use crate::pipeline::generate::recipe::recipe;
use crate::pipeline::generate::run::generate;
use crate::pipeline::generate::task::GenerateTask;
use std::process::ExitCode;

pub(super) fn run(session: &Session, arguments: &GenerateCommandArguments) -> anyhow::Result<ExitCode> {
    run_stage(session, "generate", Some(arguments.task.generation), &arguments.work, || work(session, arguments))
}

fn work(session: &Session, arguments: &GenerateCommandArguments) -> anyhow::Result<Worked> {
    let replace = arguments.replace;
    let arguments = &arguments.task;
    let config = load_config(&arguments.config)?;
    let registry = registry_folder(arguments.models.as_deref(), &config.name);
    let model = model_or_champion(arguments.model.as_deref(), &registry, &config)?;
    let stopwatch = Stopwatch::start();
    let task = GenerateTask {
        config: &config.config.generate,
        book: config.book.as_deref(),
        seed: config.config.run.seed,
        generation: arguments.generation,
        model: &model,
        output: &arguments.output,
    };
    let recipe = recipe(&task).hash;
    claim_folder("generate", DatasetKind::Selfplay, &arguments.output, replace, recipe)?;
    if replace {
        let asked = (task.config.games, task.config.part_count() as u64);
        drop_surplus("generate", &arguments.output, recipe, &[&GAMES, &POSITIONS], asked)?;
    }
    warn_without_statistics("generate.mpc_level", config.config.generate.mpc_level, &model);
    let report = generate(task, session.context())?;
    let (games, positions) = (thousands(report.games), thousands(report.positions));
    let output = arguments.output.display();
    if report.skipped {
        say(&format!("generate: {output} has its {games} games already ({positions} positions)"));
    } else {
        let seconds = stopwatch.seconds();
        say(&format!(
            "generate: {games} games by {}, {positions} positions in {output}: {:.1} games/s, {:.0} positions/s, {:.1} bytes a position",
            model.id,
            report.games_played as f64 / seconds,
            report.positions_written as f64 / seconds,
            report.bytes as f64 / report.positions.max(1) as f64
        ));
    }
    if session.json {
        print_json(&report)?;
    }
    Ok(Worked::done(None, report.skipped))
}
