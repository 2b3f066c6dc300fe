//! Writing plans: into how many shards a stage is cut, unless there is a plan of it already. Enough
//! for several workers, and few enough that each takes minutes.

use super::drive::lock_plan;
use super::plan::Plan;
use super::runs::log_path;
use crate::artifact::publish::remove_file;
use crate::pipeline::request::Request;
use crate::pipeline::work::{ShardSize, Work};
use crate::pipeline::{Context, StageError};
use std::path::Path;

/// How long a shard is to take on one core.
const SHARD_SECONDS: f64 = 180.0;

const SHARDS_MAX: usize = 1_000_000;

/// Cuts a request for the plan in the file `path`: into this number of shards, else as the file has
/// it, else into shards that take minutes. A plan that does not exist yet is passed to `write`; if
/// that returns `false`, the result is `None`.
///
/// # Errors
///
/// Inputs that cannot be used, another plan there that a process drives, and the errors of `write`.
pub fn divide<E: From<StageError>>(
    request: &Request,
    work: &dyn Work,
    path: &Path,
    shards: Option<usize>,
    write: impl FnOnce(&Plan) -> Result<bool, E>,
    context: Context<'_>,
) -> Result<Option<Plan>, E> {
    let plan = Plan::new(request, work)?;
    let rounds = work.rounds();
    let found = plan.found(&rounds, path);
    let count = match shards {
        Some(shards) => shards,
        // A run that resumes keeps its shards.
        None if found.is_some() => return Ok(found),
        None => shard_count(work.shard_size(context)?, &rounds),
    };
    let plan = plan.cut(&rounds, count);
    if found.as_ref() != Some(&plan) {
        let _lock = Plan::read(path)
            .is_ok()
            .then(|| lock_plan(path))
            .transpose()
            .map_err(StageError::from)?;
        if !write(&plan)? {
            return Ok(None);
        }
        // The log is about the shards of another plan.
        remove_file(&log_path(path)).map_err(StageError::from)?;
    }
    Ok(Some(plan))
}

/// The number of shards of work with these pieces.
fn shard_count(size: ShardSize, rounds: &[Vec<u64>]) -> usize {
    match size {
        ShardSize::Count(count) => count,
        ShardSize::Seconds { unit, least } => {
            let work = rounds
                .iter()
                .flatten()
                .map(|&work| work as f64)
                .sum::<f64>();
            ((work * unit / SHARD_SECONDS).ceil() as usize).clamp(least, SHARDS_MAX)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::Builtin;
    use crate::artifact::LoadedModel;
    use crate::generation::Generation;
    use crate::pipeline::fixtures::{Clock, default_table};
    use crate::pipeline::generate::task::GenerateTask;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn a_shard_takes_three_minutes_unless_there_would_be_too_few() {
        let count = |seconds: f64, least| {
            shard_count(
                ShardSize::Seconds {
                    unit: seconds / 10.0,
                    least,
                },
                &[vec![4], vec![5, 1]],
            )
        };
        let counts =
            [0.0, 180.0 * 31.5, 180.0 * 33.0, 180.0 * 33.1].map(|seconds| count(seconds, 32));
        assert_eq!(counts, [32, 32, 33, 34]);
        assert_eq!(count(1e12, 16), SHARDS_MAX);
        assert_eq!(shard_count(ShardSize::Count(100), &[vec![7]]), 100);
    }

    #[test]
    fn games_are_timed_until_that_is_enough() {
        let (stop, clock) = (AtomicBool::new(false), Clock::default());
        let task = GenerateTask {
            config: default_table(),
            book: None,
            seed: 1,
            generation: Generation::FIRST,
            model: LoadedModel::builtin(Builtin::SquareWeights),
            output: "".into(),
        };
        let context = Context {
            threads: 1,
            stop: &stop,
            budget_spent: &stop,
            progress: &(),
            host: &clock,
        };
        // Two games until the clock shows two seconds, and it shows three when they are counted.
        assert_eq!(
            task.shard_size(context).unwrap(),
            ShardSize::Seconds {
                unit: 1.5,
                least: 32
            }
        );
    }
}
