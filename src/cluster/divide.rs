//! Writing plans: into how many shards a stage is cut, unless there is a plan of it already.

use super::estimate::shard_count;
use super::plan::{LoadedPlan, Plan};
use super::runs::log_path;
use super::stage::StagePlan;
use crate::artifact::publish::remove_file;
use crate::pipeline::{Context, StageError};
use std::path::Path;

/// Cuts a stage for the plan in the file `path`: into this number of shards, else as the file has it, else into shards that take
/// minutes. A function writes the plan, unless it is there; it may say that nobody reads it, and there is none.
///
/// # Errors
///
/// Inputs that cannot be used, and those of the function.
pub fn divide<E: From<StageError>>(
    stage: StagePlan,
    path: &Path,
    shards: Option<usize>,
    write: impl FnOnce(&Plan) -> Result<bool, E>,
    context: Context<'_>,
) -> Result<Option<Plan>, E> {
    let found = Plan::found(&stage, path);
    let plan = match (&found, shards) {
        // A run that resumes keeps its shards.
        (Some(_), None) => return Ok(found),
        (_, Some(shards)) => Plan::new(stage, shards),
        (None, None) => {
            let whole = LoadedPlan::load(path, Plan::new(stage.clone(), 1))?;
            Plan::new(stage, shard_count(&whole, context)?)
        }
    };
    if found.as_ref() != Some(&plan) {
        if !write(&plan)? {
            return Ok(None);
        }
        // It tells of the shards of another plan.
        remove_file(&log_path(path)).map_err(StageError::from)?;
    }
    Ok(Some(plan))
}
