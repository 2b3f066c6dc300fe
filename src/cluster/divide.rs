//! Writing plans: into how many shards a stage is cut, unless there is a plan of it already.

use super::estimate::shard_count;
use super::plan::{LoadedPlan, PLAN_FILE, Plan};
use super::runs::log_path;
use super::stage::StagePlan;
use crate::artifact::output::OutputFile;
use crate::artifact::publish::remove_file;
use crate::pipeline::{Context, StageError};
use std::path::Path;

/// The plan of a stage for the file `path`: in this number of shards, else as the file has it, else in shards that take minutes.
///
/// # Errors
///
/// Inputs that cannot be used.
pub fn plan_of(stage: StagePlan, path: &Path, shards: Option<usize>, context: Context<'_>) -> Result<Plan, StageError> {
    match (Plan::found(&stage, path), shards) {
        // A run that resumes keeps its shards.
        (Some(found), None) => Ok(found),
        (_, Some(shards)) => Ok(Plan::new(stage, shards)),
        (None, None) => {
            let whole = LoadedPlan::load(path, Plan::new(stage.clone(), 1))?;
            Ok(Plan::new(stage, shard_count(&whole, context)?))
        }
    }
}

/// Writes the plan of a stage over that of another one, unless it is there.
///
/// # Errors
///
/// As [`plan_of`], and another file in its place.
pub fn write_plan(stage: StagePlan, path: &Path, context: Context<'_>) -> Result<(), StageError> {
    let plan = plan_of(stage, path, None, context)?;
    if Plan::found(&plan.stage, path).as_ref() != Some(&plan) {
        OutputFile::open(path, PLAN_FILE, true)?.write(|writer| writer.write_all(plan.text().as_bytes()))?;
        // It tells of the shards of another plan.
        remove_file(&log_path(path))?;
    }
    Ok(())
}
