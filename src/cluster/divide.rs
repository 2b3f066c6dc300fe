//! Writing plans: into how many shards a stage is cut, unless there is a plan of it already. Enough for several workers, and few
//! enough that each takes minutes.

use super::drive::lock_plan;
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
/// Inputs that cannot be used, another plan there that a process drives, and the errors of `write`.
pub fn divide<E: From<StageError>>(
    task: &StageTask<'_>,
    path: &Path,
    shards: Option<usize>,
    write: impl FnOnce(&Plan) -> Result<bool, E>,
    context: Context<'_>,
) -> Result<Option<Plan>, E> {
    let plan = Plan::new(task)?;
    let found = plan.found(task, path);
    let count = match shards {
        Some(shards) => shards,
        // A run that resumes keeps its shards.
        None if found.is_some() => return Ok(found),
        None => shard_count(task, &plan.weights(), context)?,
    };
    let plan = plan.cut(task, count);
    if found.as_ref() != Some(&plan) {
        let _lock = Plan::read(path).is_ok().then(|| lock_plan(path)).transpose().map_err(StageError::from)?;
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
    let games = match task {
        StageTask::Generate(task) => play_until(*task, is_enough, context)?,
        StageTask::FitMpc(task) => sample_until(*task, is_enough, context)?,
        StageTask::Train(_) => return Ok(shards(TRAIN_SHARDS_MIN, work / VISITS_PER_SECOND)),
        StageTask::Gate(_) => return Ok(GATE_SHARDS),
    };
    Ok(shards(SHARDS_MIN, elapsed() / games.max(1) as f64 * work))
}

/// The number of shards of work that takes one core this long.
fn shards(least: usize, seconds: f64) -> usize {
    ((seconds / SHARD_SECONDS).ceil() as usize).clamp(least, SHARDS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::Registry;
    use crate::artifact::model::reference::load_model;
    use crate::engine::{Number, Pattern, PatternKind, PatternSet};
    use crate::pipeline::fixtures::{Clock, default_table};
    use crate::pipeline::generate::task::GenerateTask;
    use crate::pipeline::train::task::TrainTask;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn a_shard_takes_three_minutes_unless_there_would_be_too_few() {
        assert_eq!(
            [0.0, 180.0 * 31.5, 180.0 * 33.0, 180.0 * 33.1].map(|seconds| shards(32, seconds)),
            [32, 32, 33, 34]
        );
        assert_eq!(shards(16, 1e12), SHARDS_MAX);
    }

    #[test]
    fn games_are_timed_until_that_is_enough() {
        let model = load_model("builtin:square-weights", Path::new("")).unwrap();
        let (config, stop, clock) = (default_table(), AtomicBool::new(false), Clock::default());
        let output = Path::new("");
        let task = GenerateTask { config: &config, book: None, seed: 1, generation: 1, model: &model, output };
        let context = Context { threads: 1, stop: &stop, budget_spent: &stop, progress: &(), host: &clock };
        // Two games until the clock shows two seconds, and it shows three when they are counted.
        assert_eq!(shard_count(&StageTask::Generate(task), &[6_000, 3_000], context).unwrap(), 75);
    }

    #[test]
    fn a_training_is_divided_by_its_visits() {
        let parity = Pattern { name: "PARITY".into(), kind: PatternKind::Number(Number::Parity) };
        let task = TrainTask {
            config: &default_table(),
            seed: 1,
            features: Arc::new(PatternSet::new("test", vec![parity], vec![60]).unwrap()),
            datasets: Vec::new(),
            parent: None,
            registry: &Registry::new(Path::new("")),
            memory: 0,
        };
        let stop = AtomicBool::new(false);
        let clock = Clock::default();
        let context = Context { threads: 1, stop: &stop, budget_spent: &stop, progress: &(), host: &clock };
        let visits = 180.0 * VISITS_PER_SECOND;
        for (share, expected) in [(0.5, 16), (19.5, 20)] {
            let weights = [(visits * share) as u64];
            assert_eq!(shard_count(&StageTask::Train(task.clone()), &weights, context).unwrap(), expected, "{share}");
        }
    }
}
