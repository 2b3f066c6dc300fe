//! What a run would do, before it does it: how long it takes, what it removes, and the commands of its next generation.

use super::{RUN_LOCK_NAME, RunTask};
use crate::artifact::publish::exists;
use crate::artifact::{ArtifactError, FolderLock, VersionId};
use crate::pipeline::stage::Stage;
use crate::pipeline::watcher::watched;
use crate::pipeline::{Context, StageError};
use crate::report::invocation::quoted;
use crate::run::folders::generation_folder;
use crate::run::forecast::Forecast;
use crate::run::lineage::Lineage;
use crate::run::log::read_calls;
use crate::run::loss::Loss;
use crate::run::next::Next;
use crate::run::snapshot;
use crate::run::state::{StageState, State, run_steps};
use crossbeam::channel::{Receiver, RecvTimeoutError};
use serde::Serialize;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// For how long games are timed at most, however long one takes.
const TRIAL_MAX: Duration = Duration::from_secs(3);

/// What a run would do.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// The run's name.
    pub run: String,
    /// Generations to this one stay as they are.
    pub kept: u32,
    /// Generations to this one would be made.
    pub last: u32,
    /// The stages of the first of them that are done already.
    pub done: Vec<Stage>,
    /// What a restart would remove first.
    pub loss: Option<Loss>,
    /// How long it takes and what it needs.
    pub forecast: Forecast,
    /// The commands of the next generation, as a shell reads them; none if there is nothing to do.
    pub commands: Vec<StageCommand>,
}

/// A command that makes a stage by hand.
#[derive(Clone, Debug, Serialize)]
pub struct StageCommand {
    /// The command line.
    pub line: String,
    /// Whether it is run only if the gate accepts.
    pub if_accepted: bool,
}

/// What the call would do; nothing is written.
///
/// # Errors
///
/// Any error that would stop the run before it begins.
pub fn plan(task: &RunTask<'_>, context: Context<'_>) -> Result<Plan, StageError> {
    let mut lineage = Lineage::read(task.config, task.registry, task.datasets)?;
    if FolderLock::is_held(task.registry.folder(), RUN_LOCK_NAME)? {
        FolderLock::take_named(task.registry.folder(), RUN_LOCK_NAME)?;
    }
    let (next, loss) = lineage.preview_next(task.change, task.generations)?;
    let forecast = forecast(task, context)?;
    forecast.check_disk(task.datasets)?;
    let is_done = |state: &StageState| state.generation == next.generation && state.state == State::Done;
    // After a restart nothing of the generation is left, and what it made is made again under new numbers.
    let states = if loss.is_some() { Vec::new() } else { run_steps(&lineage)?.stages };
    let states: Vec<StageState> = states.into_iter().filter(is_done).collect();
    let commands = if next.generation <= next.last { commands(task, &lineage, &next, &states)? } else { Vec::new() };
    let (kept, last) = (next.generation - 1, next.last);
    let done = states.iter().map(|state| state.stage).collect();
    Ok(Plan { run: task.config.name.clone(), kept, last, done, loss, forecast, commands })
}

/// What the generations of a call are expected to take.
pub(super) fn forecast(task: &RunTask<'_>, context: Context<'_>) -> Result<Forecast, StageError> {
    let mut lineage = Lineage::read(task.config, task.registry, task.datasets)?;
    let begun = lineage.begun_before(task.change)?;
    if let Some(from) = lineage.restart_from(task.change) {
        lineage.forget(from, None);
    }
    let next = run_steps(&lineage)?.next;
    let last = lineage.last(task.generations, begun, next);
    let calls = read_calls(task.registry.folder())?;
    let is_over = AtomicBool::new(false);
    let limit = |ended: Receiver<()>| {
        if ended.recv_timeout(TRIAL_MAX) == Err(RecvTimeoutError::Timeout) {
            is_over.store(true, Ordering::Relaxed);
        }
    };
    let context_of_trial = Context { stop: &is_over, ..context };
    let forecast = watched(limit, || Forecast::new(&lineage, (next, last), &calls, context_of_trial));
    context.check()?;
    forecast
}

/// The stages of a generation as commands, of which those in `done` are done.
fn commands(
    task: &RunTask<'_>,
    lineage: &Lineage<'_>,
    next: &Next,
    done: &[StageState],
) -> Result<Vec<StageCommand>, StageError> {
    let generation = next.generation;
    let folder = |stage: Stage| quoted(&generation_folder(task.datasets, stage, generation));
    let models = quoted(task.registry.folder());
    let common = format!("{} --models {models}", config_options(task, lineage, generation)?);
    let mut last = lineage.registry.version_last()?.map_or(0, VersionId::number);
    // The versions that training and fitting have made, or will make.
    let [draft, candidate] = [Stage::Train, Stage::FitMpc].map(|stage| {
        let made = done.iter().find(|state| state.stage == stage);
        made.and_then(|state| state.version.clone()).unwrap_or_else(|| {
            last += 1;
            VersionId::from_number(last).map_or_else(String::new, |id| id.to_string())
        })
    });
    let champion = quoted(Path::new(&next.champion));
    let datasets: Vec<String> = next.tasks.datasets.iter().map(|folder| quoted(folder)).collect();
    let (datasets, gate) = (datasets.join(" "), folder(Stage::Gate));
    let lines = [
        format!("generate {common} --generation {generation} --model {champion} --output {}", folder(Stage::Generate)),
        format!("train {common} --parent {champion} --dataset {datasets}"),
        format!("fit-mpc {common} --generation {generation} --model {draft} --output {}", folder(Stage::FitMpc)),
        format!(
            "gate {common} --generation {generation} --candidate {candidate} --baseline {champion} --avoid {datasets} \
             --output {gate}"
        ),
        format!("promote {candidate} --models {models} --verdict {gate}"),
    ];
    let command =
        |line: String| StageCommand { if_accepted: line.starts_with("promote"), line: format!("renma {line}") };
    Ok(lines.into_iter().map(command).collect())
}

/// The config of a generation: the run's own copy, unless the run would only take it now.
fn config_options(task: &RunTask<'_>, lineage: &Lineage<'_>, generation: u32) -> Result<String, ArtifactError> {
    let (registry, run) = (task.registry.folder(), &task.config.name);
    if let Some(entry) = lineage.file.config_of(generation) {
        let path = snapshot::path(registry, run, entry.from);
        if exists(&path)? && snapshot::load(registry, run, entry).is_ok() {
            return Ok(format!("--config {}", quoted(Path::new(&path))));
        }
    }
    Ok(task.invocation.config_options())
}
