//! How many shards a stage is worth: enough for several workers, and few enough that each takes minutes.

use super::plan::LoadedPlan;
use crate::pipeline::fit_mpc::parts::sample_until;
use crate::pipeline::generate::run::play_until;
use crate::pipeline::stage_task::StageTask;
use crate::pipeline::{Context, StageError};
use crate::run::forecast::VISITS_PER_SECOND;

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

/// The number of shards for a plan that has any. The first games of self-play and of MPC samples are played to see how long they take.
///
/// # Errors
///
/// As those of the stage.
pub fn shard_count(plan: &LoadedPlan, context: Context<'_>) -> Result<usize, StageError> {
    let began = context.host.seconds();
    let elapsed = || context.host.seconds() - began;
    let is_enough = || TRIAL_SECONDS <= elapsed();
    let seconds_of = |games: u64, timed: u64| elapsed() / timed.max(1) as f64 * games as f64;
    let (least, seconds) = match plan.task() {
        StageTask::Generate(task) => {
            let timed = play_until(task, is_enough, context)?;
            (SHARDS_MIN, seconds_of(task.config.games, timed))
        }
        StageTask::FitMpc(task) => {
            let timed = sample_until(task, is_enough, context)?;
            (SHARDS_MIN, seconds_of(task.config.games, timed))
        }
        StageTask::Train(_) => {
            let visits: u64 = plan.work().of_shards.iter().sum();
            (TRAIN_SHARDS_MIN, visits as f64 / VISITS_PER_SECOND)
        }
        StageTask::Gate(_) => return Ok(GATE_SHARDS),
    };
    Ok(((seconds / SHARD_SECONDS).ceil() as usize).clamp(least, SHARDS_MAX))
}
