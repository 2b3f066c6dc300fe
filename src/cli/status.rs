//! `renma status`: what is done, running, stale or missing in a run, and why.

use super::arguments::run::StatusArguments;
use super::output::{aligned, detail, narrow_table, print, print_json, terminal_width, thousands};
use super::session::Session;
use crate::artifact::publish::exists;
use crate::artifact::{ArtifactError, GenerationLine, Registry, Verdict};
use crate::pipeline::work::{PartCount, TaskState};
use crate::report::REPORT_NAME;
use crate::run::gc::closed_text;
use crate::run::invocation::Invocation;
use crate::run::log::{Efficiency, PlaySpeed, RunEfficiency, read_calls};
use crate::run::metrics::{metrics, metrics_text};
use crate::run::order::GENERATION;
use crate::run::state::StageState;
use crate::run::status::{GenerationStatus, RunStatus};
use crate::statistics::elo::elo_text;
use serde::Serialize;
use std::io::stdout;
use std::path::Path;

const COLUMNS: [&str; 9] = [
    "generation",
    "games",
    "positions",
    "match",
    "held-out error",
    "exact MAE",
    "points",
    "Elo",
    "verdict",
];

/// The columns that a narrow terminal does without, in the order in which they go.
const DISPENSABLE: [usize; 6] = [2, 1, 6, 4, 8, 3];

pub fn run(session: &Session, arguments: &StatusArguments) -> anyhow::Result<()> {
    let (
        config,
        Invocation {
            models, datasets, ..
        },
    ) = arguments.run.load()?;
    let registry = Registry::new(&models);
    let mut status = RunStatus::read(&config, &registry, &datasets)?;
    if let Some(format) = arguments.format {
        let metrics = metrics(&status, &registry, &datasets)?;
        return Ok(print(&metrics_text(format, &status.run, &metrics))?);
    }
    let states = &mut status.stage_states;
    states.retain(|state| arguments.stage.is_none_or(|stage| state.stage == stage));
    match (session.json, arguments.stage) {
        (true, _) => {
            let calls = read_calls(registry.folder())?;
            let lines = status.generations.iter().map(|generation| &generation.line);
            let speeds =
                lines.filter_map(|line| PlaySpeed::of(&calls, line.generation, line.games?));
            let play_speed = speeds.collect();
            print_json(&StatusRecord {
                efficiency: RunEfficiency::of(&calls),
                play_speed,
                status,
            })
        }
        (false, Some(_)) => Ok(print(&describe_stage(states))?),
        (false, None) => tell(&status, &registry, arguments.wide),
    }
}

/// Prints what a run has done.
pub fn tell(status: &RunStatus, registry: &Registry, wide: bool) -> anyhow::Result<()> {
    print(&describe(status, wide))?;
    print(&where_to_look(status, registry.folder())?)?;
    let calls = read_calls(registry.folder())?;
    if let Some(run) = RunEfficiency::of(&calls) {
        detail(&efficiency_text(&run));
    }
    Ok(())
}

/// What `--json` prints.
#[derive(Serialize)]
struct StatusRecord {
    #[serde(flatten)]
    status: RunStatus,
    efficiency: Option<RunEfficiency>,
    play_speed: Vec<PlaySpeed>,
}

fn describe(status: &RunStatus, wide: bool) -> String {
    let champion = status.champion.as_deref().unwrap_or("none yet");
    let closed = closed_text(status.closed).map_or_else(String::new, |text| format!("; {text}"));
    let width = if wide { None } else { terminal_width(stdout()) };
    let table = narrow_table(
        COLUMNS,
        status.generations.iter().map(row),
        width,
        &DISPENSABLE,
    );
    let mut text = format!(
        "run {}, champion {champion}; errors in discs{closed}\n{table}",
        status.run
    );
    if status
        .stage_states
        .iter()
        .any(|state| state.state != TaskState::Done)
    {
        text += &format!("\n\n{}", describe_generations(&status.stage_states));
    }
    if !status.changes.is_empty() {
        text += &format!(
            "\n\nthe config has changed since:\n  {}\nrenma run needs --from-next or --restart G to use it",
            status.changes.join("\n  ")
        );
    }
    if !status.moved_defaults.is_empty() {
        text += &format!("\n\n{}", moved_text(&status.moved_defaults));
    }
    text
}

fn row(generation: &GenerationStatus) -> [String; 9] {
    let line = &generation.line;
    let dash = || "-".to_owned();
    let count = |value: Option<u64>| value.map_or_else(dash, thousands);
    let discs = |value: f64| format!("{value:.2}");
    let verdict = line.verdict.map_or("-", Verdict::name);
    [
        line.generation.to_string(),
        count(line.games),
        count(line.positions),
        players(line).unwrap_or_else(dash),
        line.mae_before
            .zip(line.mae_after)
            .map_or_else(dash, |(before, after)| format!("{before:.2} → {after:.2}")),
        line.exact_mae.map_or_else(dash, discs),
        line.points
            .map_or_else(dash, |points| format!("{:.1} %", 100.0 * points)),
        line.elo.map_or_else(dash, elo_text),
        if generation.champion {
            format!("{verdict}, champion")
        } else {
            verdict.to_owned()
        },
    ]
}

/// The champion and its challenger.
fn players(line: &GenerationLine) -> Option<String> {
    let candidate = line.candidate.as_ref()?;
    let Some(baseline) = &line.baseline else {
        return Some(candidate.clone());
    };
    Some(format!(
        "{} → {candidate}",
        baseline.trim_start_matches("builtin:")
    ))
}

/// The champion with its error, and the report if there is one.
fn where_to_look(status: &RunStatus, models: &Path) -> Result<String, ArtifactError> {
    let mut text = String::new();
    if let Some(champion) = &status.champion {
        text += &format!("\nchampion  {}", models.join(champion).display());
        let line = status
            .generations
            .iter()
            .find(|generation| generation.champion);
        if let Some(mae) = line.and_then(|generation| generation.line.exact_mae) {
            text += &format!(", exact MAE {mae:.2} discs");
        }
    }
    let report = models.join(REPORT_NAME);
    if exists(&report)? {
        text += &format!("\nreport    {}", report.display());
    }
    Ok(text)
}

/// How busy the threads of the run have been.
fn efficiency_text(run: &RunEfficiency) -> String {
    let percent = |found: &Efficiency| format!("{:.0} %", 100.0 * found.efficiency);
    let stages: Vec<String> = run
        .stages
        .iter()
        .map(|(stage, found)| format!("{stage} {}", percent(found)))
        .collect();
    let (cpu, all) = (run.all.cpu_seconds.round() as u64, percent(&run.all));
    format!(
        "{} CPU seconds, {all} of the time of all threads: {}",
        thousands(cpu),
        stages.join(", ")
    )
}

pub fn moved_text(moved: &[String]) -> String {
    format!(
        "the run keeps its own values of keys that the config does not name: {}",
        moved.join("; ")
    )
}

/// One line per generation, one column per stage, and below the reason for each that is not done.
fn describe_generations(states: &[StageState]) -> String {
    let mut rows = vec![vec!["generation".to_owned()]];
    rows[0].extend(GENERATION.iter().map(|link| link.stage.name().to_owned()));
    for states in states.chunk_by(|left, right| left.generation == right.generation) {
        let mut words: Vec<_> = states.iter().map(|state| state.state.name()).collect();
        if states.iter().all(|state| state.state == TaskState::Missing) {
            words.fill("");
            words[0] = "not begun";
        }
        let words = words.into_iter().map(str::to_owned).collect();
        rows.push([vec![states[0].generation.to_string()], words].concat());
    }
    let reasons = states
        .iter()
        .filter(|state| state.step.is_some())
        .filter_map(|state| {
            let (stage, word) = (state.stage.name(), state.state.name());
            let because = state
                .because
                .clone()
                .or_else(|| state.parts.map(parts_text))?;
            Some(format!(
                "generation {}: {stage} is {word}: {because}",
                state.generation
            ))
        });
    [vec![aligned(&rows)], reasons.collect()]
        .concat()
        .join("\n")
}

fn parts_text(parts: PartCount) -> String {
    format!(
        "{} of {} parts are done",
        thousands(parts.done),
        thousands(parts.asked)
    )
}

/// One line per generation of a stage.
fn describe_stage(states: &[StageState]) -> String {
    let line = |state: &StageState| {
        let mut text = format!("generation {}: {}", state.generation, state.state.name());
        text += &state
            .version
            .as_ref()
            .map_or(String::new(), |version| format!(" {version}"));
        text += &state
            .step
            .map_or(String::new(), |step| format!(" (step {})", step.short()));
        text += &state
            .because
            .as_ref()
            .map_or(String::new(), |because| format!(": {because}"));
        text + &state
            .parts
            .map_or(String::new(), |parts| format!(": {}", parts_text(parts)))
    };
    states.iter().map(line).collect::<Vec<_>>().join("\n")
}
