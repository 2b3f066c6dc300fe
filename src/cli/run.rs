//! `renma run`: the loop.

use super::arguments::run::{LoopArguments, invocation};
use super::command_errors::UsageError;
use super::output::{bytes_text, counted, detail, duration_text, print, print_json, say};
use super::session::Session;
use super::shard::elsewhere;
use super::{gc, memory, promote, shard, stage, status};
use crate::artifact::publish::read_bounded;
use crate::artifact::{ArtifactError, Registry, Verdict};
use crate::cluster::elsewhere::LOCAL;
use crate::config::builtin::name_of;
use crate::exit_code;
use crate::generation::Generation;
use crate::learning_loop::plan::{RunPlan, plan};
use crate::learning_loop::{Event, RunTask, run as run_loop};
use crate::pipeline::StageError;
use crate::run::forecast::Forecast;
use crate::run::invocation::quoted;
use crate::run::lineage::Change;
use crate::run::loss::Loss;
use crate::run::next::{Generations, Next};
use crate::run::record::RUN_RECORD_NAME;
use crate::run::status::RunStatus;
use std::env::{current_dir, set_current_dir};
use std::path::{Path, PathBuf, absolute};
use std::process::ExitCode;
use std::sync::Once;
use std::time::Duration;

/// The generations by which a finished run may be continued.
const MORE: u32 = 5;

/// The config of a run that names none.
const DEFAULT: &str = "configs/default.toml";

pub fn run(session: &Session, arguments: LoopArguments) -> anyhow::Result<ExitCode> {
    let elsewhere = match (arguments.on.as_str(), &arguments.workers) {
        (LOCAL, workers) if workers.workers.is_some() || workers.scheduler.is_some() => {
            return Err(
                UsageError("--workers, --scheduler and --insecure need --on".to_owned()).into(),
            );
        }
        (LOCAL, _) => None,
        (on, workers) => Some(elsewhere(on, workers)?),
    };
    let (config_path, is_elsewhere) = enter(&arguments)?;
    let (config, invocation) = invocation(&config_path, &arguments.set, None, None)?;
    let registry = Registry::new(&invocation.models);
    let task = RunTask {
        config: &config,
        registry: &registry,
        datasets: &invocation.datasets,
        generations: arguments.generations.unwrap_or(Generations::Configured),
        change: match (arguments.restart, arguments.from_next) {
            (Some(generation), _) => Change::Restart(generation),
            (None, true) => Change::FromNext,
            (None, false) => Change::Refuse,
        },
        budget: arguments.budget,
        elsewhere: elsewhere.as_ref(),
        invocation: &invocation,
    };
    if arguments.dry_run {
        tell_plan(session, &plan(&task, session.context())?)?;
        return Ok(exit_code::DONE.into());
    }
    session.watcher.begin_run();
    let budget = Once::new();
    let tell = |event: Event<'_>| {
        // What comes before the first generation takes no part of the budget: a night whose start
        // is longer makes progress too.
        if matches!(event, Event::Generation { .. }) {
            budget.call_once(|| session.limit(arguments.budget));
        }
        tell(session, &event);
    };
    let result = run_loop(task, &tell, session.context());
    let verdict = match (arguments.restart, result) {
        (Some(generation), Err(error @ (StageError::Interrupted | StageError::BudgetSpent))) => {
            let remedy = format!("but without --restart {generation}, or it begins once more");
            return Err(anyhow::Error::new(error)
                .context(format!("generation {generation} has begun again\n{remedy}")));
        }
        (_, result) => result?,
    };
    if session.json {
        let record = read_bounded(&registry.folder().join(RUN_RECORD_NAME), 1 << 30)?;
        print_json(&serde_json::from_slice::<serde_json::Value>(&record)?)?;
    } else {
        let status = RunStatus::read(&config, &registry, &invocation.datasets)?;
        tell_end(session, &arguments, is_elsewhere, &registry, status)?;
    }
    let code = verdict
        .filter(|_| arguments.exit_verdict)
        .map_or(exit_code::DONE, Verdict::exit_code);
    Ok(code.into())
}

/// Enters the folder of the run; gives the config, which was named from outside, and whether the
/// folder is another one.
fn enter(arguments: &LoopArguments) -> Result<(PathBuf, bool), ArtifactError> {
    let config = match &arguments.config {
        Some(config) if name_of(config).is_some() => config.clone(),
        Some(config) => {
            absolute(config).map_err(|source| ArtifactError::io("read", config, source))?
        }
        None => DEFAULT.into(),
    };
    let folder = &arguments.folder;
    let here = current_dir();
    set_current_dir(folder).map_err(|source| ArtifactError::io("read", folder, source))?;
    Ok((config, here.ok() != current_dir().ok()))
}

fn tell(session: &Session, event: &Event<'_>) {
    memory::return_freed();
    match event {
        Event::Forecast(forecast) => say(&forecast_text(forecast)),
        Event::MovedDefaults(moved) => say(&status::moved_text(moved)),
        Event::Restart(loss) => say(&format!("restart: removing {}", loss_text(loss))),
        Event::Generation { next, seconds_left } => begin(session, next, *seconds_left),
        Event::Checked(checked) => shard::tell_checked(session, *checked),
        Event::Made {
            request,
            report,
            seconds,
        } => stage::tell(session, request, *report, *seconds),
        Event::Drifted(report) => stage::tell_score(session, *report),
        Event::Promoted(report) => promote::tell(session, report),
        Event::Collected(plan) => gc::tell(plan, false),
    }
}

/// Says which generation begins, and when the run is expected to end.
fn begin(session: &Session, next: &Next, seconds_left: f64) {
    let left = Duration::try_from_secs_f64(seconds_left.max(0.0)).unwrap_or(Duration::MAX);
    let text = format!(
        "generation {} of {} · champion {}",
        next.generation, next.last, next.champion
    );
    say(&format!("{text} · {} left", duration_text(left)));
    session.watcher.expect_end(left);
}

fn forecast_text(forecast: &Forecast) -> String {
    let warning = if forecast.is_tight() {
        "\nthe disk may be too small: a run that fills it stops, and resumes"
    } else {
        ""
    };
    let time =
        duration_text(Duration::try_from_secs_f64(forecast.seconds).unwrap_or(Duration::MAX));
    let about = if forecast.is_minimum {
        "more than"
    } else {
        "about"
    };
    let generations = counted(forecast.generations.into(), "generation");
    let [bytes, free, memory] =
        [forecast.bytes, forecast.bytes_free, forecast.memory].map(bytes_text);
    format!("{generations}, {about} {time}, {bytes} of {free}, {memory} memory{warning}")
}

fn loss_text(loss: &Loss) -> String {
    let generations = generations_text(loss.from, loss.to);
    let [games, gate_games] = [loss.games, loss.gate_games].map(|count| counted(count, "game"));
    let (versions, hours) = (counted(loss.versions, "version"), loss.cpu_hours);
    format!(
        "{generations}: {games} of self-play, {gate_games} of gates, {versions}, {hours:.2} CPU-hours"
    )
}

fn generations_text(first: Generation, last: Generation) -> String {
    if last <= first {
        format!("generation {first}")
    } else {
        format!("generations {first} to {last}")
    }
}

fn tell_plan(session: &Session, plan: &RunPlan) -> anyhow::Result<()> {
    if session.json {
        return print_json(plan);
    }
    say(&format!("run {}: what it would do", plan.run));
    if Generation::NONE < plan.kept {
        say(&format!(
            "  keep    {}",
            generations_text(Generation::FIRST, plan.kept)
        ));
    }
    if let Some(loss) = &plan.loss {
        say(&format!("  remove  {}", loss_text(loss)));
    }
    if plan.forecast.generations == 0 {
        say("  make    nothing: all of them are finished");
    } else {
        let done: Vec<&str> = plan.done.iter().map(|stage| stage.name()).collect();
        let first = plan.kept + 1;
        let rest = format!(
            "; of generation {first} there is already: {}",
            done.join(", ")
        );
        let rest = if done.is_empty() { "" } else { &rest };
        say(&format!(
            "  make    {}{rest}",
            generations_text(first, plan.last)
        ));
        say(&format!("  takes   {}", forecast_text(&plan.forecast)));
    }
    for request in &plan.requests {
        detail(&serde_json::to_string(request)?);
    }
    Ok(())
}

/// Prints the table of the run, and what to do next, as commands for the folder of the caller.
fn tell_end(
    session: &Session,
    arguments: &LoopArguments,
    is_elsewhere: bool,
    registry: &Registry,
    status: RunStatus,
) -> anyhow::Result<()> {
    if session.quiet {
        return Ok(());
    }
    status::tell(&status, registry, false)?;
    let program = std::env::args_os().next().unwrap_or_else(|| "renma".into());
    let program = quoted(Path::new(&program));
    let LoopArguments {
        folder,
        config,
        set,
        ..
    } = arguments;
    let folder = is_elsewhere.then_some(folder.as_path());
    let models = folder.unwrap_or(Path::new("")).join(registry.folder());
    let paths = [("-C", folder), ("--config", config.as_deref())].into_iter();
    let paths = paths.filter_map(|(name, path)| Some((name, path?)));
    let settings = set
        .settings
        .iter()
        .map(|setting| ("--set", Path::new(setting.line())));
    let options: String = paths
        .chain(settings)
        .map(|(name, text)| format!(" {name} {}", quoted(text)))
        .collect();
    if status.champion.is_some() {
        print(&format!(
            "play      {program} play --models {}",
            quoted(&models)
        ))?;
    }
    // A night of some generations is continued by as many.
    let more = match arguments.generations {
        Some(Generations::More(more)) => more,
        _ => MORE,
    };
    Ok(print(&format!(
        "continue  {program} run{options} --generations +{more}"
    ))?)
}
