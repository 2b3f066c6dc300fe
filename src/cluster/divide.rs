//! Writing plans: into how many shards a stage is cut, unless there is a plan of it already. Enough for several workers, and few
//! enough that each takes minutes.

use super::plan::Plan;
use super::runs::log_path;
use crate::artifact::publish::remove_file;
use crate::pipeline::fit_mpc::parts::sample_until;
use crate::pipeline::generate::run::play_until;
use crate::pipeline::stage_task::StageTask;
use crate::pipeline::{Context, StageError};
use crate::run::forecast::VISITS_PER_SECOND;
use std::path::Path;

/// How long a shard is to take on one core.
const SHARD_SECONDS: f64 = 180.0;

/// Fewer shards do not divide the work evenly among a few workers.
const SHARDS_MIN: usize = 32;

/// Every shard of a training reads the whole dataset, so that fewer are cheaper.
const TRAIN_SHARDS_MIN: usize = 16;

/// The batches of a match that are played beyond the deciding one are lost, so that its shards are small.
const GATE_SHARDS: usize = 100;

const SHARDS_MAX: usize = 1_000_000;

/// For how long games are timed.
const TRIAL_SECONDS: f64 = 2.0;

/// Cuts a stage for the plan in the file `path`: into this number of shards, else as the file has it, else into shards that take
/// minutes. A plan that does not exist yet is passed to `write`; if that returns `false`, the result is `None`.
///
/// # Errors
///
/// Inputs that cannot be used, and the errors of `write`.
pub fn divide<E: From<StageError>>(
    task: &StageTask<'_>,
    path: &Path,
    shards: Option<usize>,
    write: impl FnOnce(&Plan) -> Result<bool, E>,
    context: Context<'_>,
) -> Result<Option<Plan>, E> {
    let plan = Plan::new(task)?;
    let found = plan.found(path);
    let count = match shards {
        Some(shards) => shards,
        // A run that resumes keeps its shards.
        None if found.is_some() => return Ok(found),
        None => shard_count(task, &plan.weights(), context)?,
    };
    let plan = plan.cut(count);
    if found.as_ref() != Some(&plan) {
        if !write(&plan)? {
            return Ok(None);
        }
        // The log is about the shards of another plan.
        remove_file(&log_path(path)).map_err(StageError::from)?;
    }
    Ok(Some(plan))
}

/// The number of shards of a stage with pieces of these weights. The first games of self-play and of MPC samples are played to
/// see how long they take.
fn shard_count(task: &StageTask<'_>, weights: &[u64], context: Context<'_>) -> Result<usize, StageError> {
    let began = context.host.seconds();
    let elapsed = || context.host.seconds() - began;
    let is_enough = || TRIAL_SECONDS <= elapsed();
    let work = weights.iter().sum::<u64>() as f64;
    let shards = |least, seconds: f64| ((seconds / SHARD_SECONDS).ceil() as usize).clamp(least, SHARDS_MAX);
    let games = match task {
        StageTask::Generate(task) => play_until(*task, is_enough, context)?,
        StageTask::FitMpc(task) => sample_until(*task, is_enough, context)?,
        StageTask::Train(_) => return Ok(shards(TRAIN_SHARDS_MIN, work / VISITS_PER_SECOND)),
        StageTask::Gate(_) => return Ok(GATE_SHARDS),
    };
    Ok(shards(SHARDS_MIN, elapsed() / games.max(1) as f64 * work))
}
