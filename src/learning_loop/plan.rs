//! What a run would do, before it does it: how long it takes, what it removes, and what its next
//! generation asks of the stages.

use super::{RUN_LOCK_NAME, RunTask};
use crate::artifact::{FolderLock, ModelRef, VersionId};
use crate::generation::Generation;
use crate::pipeline::request::{Request, RequestModel};
use crate::pipeline::stage::Stage;
use crate::pipeline::work::TaskState;
use crate::pipeline::{Context, StageError};
use crate::run::forecast::Forecast;
use crate::run::lineage::Lineage;
use crate::run::log::read_calls;
use crate::run::loss::Loss;
use crate::run::next::Next;
use crate::run::order::{GENERATION, Source};
use crate::run::state::{StageState, run_steps};
use crate::watcher::watched;
use crossbeam::channel::{Receiver, RecvTimeoutError};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// For how long games are timed at most, however long one takes.
const TRIAL_MAX: Duration = Duration::from_secs(3);

/// What a run would do.
#[derive(Clone, Debug, Serialize)]
pub struct RunPlan {
    /// The run's name.
    pub run: String,
    /// Generations to this one stay as they are.
    pub kept: Generation,
    /// Generations to this one would be made.
    pub last: Generation,
    /// The stages of the first of them that are done already.
    pub done: Vec<Stage>,
    /// What a restart would remove first.
    pub loss: Option<Loss>,
    /// How long it takes and what it needs.
    pub forecast: Forecast,
    /// What the next generation asks of its stages; empty if there is nothing to do.
    pub requests: Vec<Request>,
}

/// What the call would do; nothing is written.
///
/// # Errors
///
/// Any error that would stop the run before it begins.
pub fn plan(task: &RunTask<'_>, context: Context<'_>) -> Result<RunPlan, StageError> {
    let mut lineage = Lineage::read(task.config, task.registry, task.datasets)?;
    if FolderLock::is_held(task.registry.folder(), RUN_LOCK_NAME)? {
        FolderLock::take_named(task.registry.folder(), RUN_LOCK_NAME)?;
    }
    // The preview forgets what a restart removes.
    let unchanged = lineage.clone();
    let (next, loss) = lineage.preview_next(task.change, task.generations)?;
    let forecast = forecast_of(task, unchanged, context)?;
    forecast.check_disk(task.datasets)?;
    let is_done =
        |state: &StageState| state.generation == next.generation && state.state == TaskState::Done;
    // After a restart nothing of the generation is left, and what it made is made again under new
    // numbers.
    let states = if loss.is_some() {
        Vec::new()
    } else {
        run_steps(&lineage)?.stages
    };
    let states: Vec<StageState> = states.into_iter().filter(is_done).collect();
    let requests = if next.generation <= next.last {
        requests(&lineage, &next, &states)?
    } else {
        Vec::new()
    };
    let (kept, last) = (next.generation - 1, next.last);
    let done = states.iter().map(|state| state.stage).collect();
    Ok(RunPlan {
        run: task.config.name.clone(),
        kept,
        last,
        done,
        loss,
        forecast,
        requests,
    })
}

/// What the generations of a call are expected to take.
pub(super) fn forecast(task: &RunTask<'_>, context: Context<'_>) -> Result<Forecast, StageError> {
    let lineage = Lineage::read(task.config, task.registry, task.datasets)?;
    forecast_of(task, lineage, context)
}

fn forecast_of(
    task: &RunTask<'_>,
    mut lineage: Lineage<'_>,
    context: Context<'_>,
) -> Result<Forecast, StageError> {
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
    let context_of_trial = Context {
        stop: &is_over,
        ..context
    };
    let forecast = watched(limit, || {
        Forecast::new(&lineage, next..=last, &calls, context_of_trial)
    });
    context.check()?;
    forecast
}

/// What the next generation asks of its stages. A version that is not made yet has the number that
/// it will have, and no content.
fn requests(
    lineage: &Lineage<'_>,
    next: &Next,
    done: &[StageState],
) -> Result<Vec<Request>, StageError> {
    let registry = lineage.registry.folder();
    let mut last = lineage
        .registry
        .version_last()?
        .map_or(0, VersionId::number);
    let champion = RequestModel::of(&next.champion.find(registry)?, registry);
    let mut models = BTreeMap::from([(Source::Champion, champion)]);
    let mut requests = Vec::new();
    for link in &GENERATION {
        requests.push(next.requests.of(link, |source| models[&source].clone()));
        if !link.stage.facts().makes_versions() {
            continue;
        }
        let state = done.iter().find(|state| state.stage == link.stage);
        let made = state.and_then(|state| state.version.as_ref()?.parse().ok());
        let id = made.or_else(|| {
            last += 1;
            VersionId::from_number(last)
        });
        // After the last version no other can be made.
        let Some(id) = id else { break };
        let name = ModelRef::Version(id);
        let model = if made.is_some() {
            RequestModel::of(&name.find(registry)?, registry)
        } else {
            name.into()
        };
        models.insert(Source::Made(link.stage), model);
    }
    Ok(requests)
}
