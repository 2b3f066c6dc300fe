//! Checking the shards of a plan, before their stage makes its result of them.

use super::plan::LoadedPlan;
use super::runs::name_makers;
use crate::pipeline::item_sample::fresh_seed;
use crate::pipeline::parts::MadeAgain;
use crate::pipeline::{Context, StageError};
use std::path::Path;

/// What was made again to check it.
#[derive(Clone, Copy, Debug)]
pub struct Checked {
    /// How much.
    pub made_again: MadeAgain,
    /// The seed that chose them.
    pub seed: u64,
}

/// Proves what can be proved of the parts of the plan in the file `path`, and makes some of them again: an unpredictable choice, unless a
/// seed is given.
///
/// # Errors
///
/// A missing or false part, with who made it.
pub fn check(path: &Path, plan: &LoadedPlan, seed: Option<u64>, context: Context<'_>) -> Result<Checked, StageError> {
    let seed = seed.unwrap_or_else(fresh_seed);
    let made_again = plan.task().shards()?.check(seed, context).map_err(|error| name_makers(error, path))?;
    Ok(Checked { made_again, seed })
}
