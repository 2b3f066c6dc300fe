//! `renma shard`.

use super::arguments::shard::ShardCommand;
use super::arguments::stage::GenerateArguments;
use super::failure::UsageError;
use super::output::{Output, finding_text, output_name, print_json, say, thousands};
use super::session::{Session, Stopwatch, fresh_seed, model_or_champion, registry_folder};
use crate::cluster::plan::{LoadedPlan, PLAN_FILE, Plan};
use crate::config::load_config;
use crate::pipeline::generate::run::{finish_parts, generate_parts};
use crate::pipeline::generate::task::GenerateTask;
use crate::run::claim::check_folder;
use serde_json::json;
use std::path::Path;

pub(super) fn run(session: &Session, command: ShardCommand) -> anyhow::Result<()> {
    match command {
        ShardCommand::Plan { plan, force, shards, task } => write_plan(session, &plan, force, shards, &task),
        ShardCommand::Run { plan, shard } => run_shard(session, &plan, shard),
        ShardCommand::Finish { plan, seed } => finish(session, &plan, seed),
    }
}

fn write_plan(
    session: &Session,
    path: &Path,
    force: bool,
    shards: u32,
    arguments: &GenerateArguments,
) -> anyhow::Result<()> {
    let config = load_config(&arguments.run.config)?;
    let registry = registry_folder(arguments.run.models.as_deref(), &config.name);
    let task = GenerateTask {
        config: &config.config.generate,
        book: config.book.as_deref(),
        seed: config.config.run.seed,
        generation: arguments.generation,
        model: &model_or_champion(arguments.model.as_deref(), &registry, &config)?,
        output: &arguments.output,
    };
    check_folder(task.output)?;
    let plan = Plan::new(task, shards as usize)?;
    if !plan.is_in(path) {
        let written = Output::open(session.json, path, PLAN_FILE, force)?
            .write(|writer| writer.write_all(plan.text().as_bytes()))?;
        if !written {
            return Ok(());
        }
    }
    let (parts, games) = (thousands(plan.config.part_count() as u64), thousands(plan.config.games));
    let (shards, output) = (plan.shards.len(), output_name(path).display());
    say(&format!("shard plan: {games} games in {parts} parts and {shards} shards: {output}"));
    if !session.json {
        return Ok(());
    }
    print_json(&json!({"plan": path.to_string_lossy(), "shards": plan.shards.len()}))
}

fn run_shard(session: &Session, path: &Path, shard: u32) -> anyhow::Result<()> {
    let plan = LoadedPlan::read(path)?;
    let parts = plan.shard(shard as usize).ok_or_else(|| {
        let last = plan.shard_count().saturating_sub(1);
        UsageError(format!("{} has no shard {shard}: choose one from 0 to {last}", path.display()))
    })?;
    let stopwatch = Stopwatch::start();
    let report = generate_parts(plan.task(), parts, session.context())?;
    if report.skipped {
        say(&format!("shard run: shard {shard} of {} is already there", path.display()));
    } else {
        let (games, positions) = (thousands(report.games_played), thousands(report.positions_written));
        let seconds = stopwatch.seconds();
        say(&format!("shard run: shard {shard}: {games} games, {positions} positions, {seconds:.1} s"));
    }
    if session.json { print_json(&report) } else { Ok(()) }
}

fn finish(session: &Session, path: &Path, seed: Option<u64>) -> anyhow::Result<()> {
    let plan = LoadedPlan::read(path)?;
    let seed = seed.unwrap_or_else(fresh_seed);
    let report = finish_parts(plan.task(), seed, session.context())?;
    let (games, positions) = (thousands(report.dataset.games), thousands(report.dataset.positions));
    let mut text = format!("shard finish: {games} games, {positions} positions in {}", plan.task().output.display());
    if 0 < report.games_remade {
        let remade = thousands(report.games_remade);
        text += &format!(", {remade} made again with --seed {seed}\n{}", finding_text("games", report.games_remade));
    }
    say(&text);
    if session.json { print_json(&report) } else { Ok(()) }
}
