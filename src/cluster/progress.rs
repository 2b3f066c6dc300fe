//! How far the shards of a plan are, which are wanted now, and whether what they made is sound:
//! found by looking at files.

use super::plan::LoadedPlan;
use super::runs::name_makers;
use crate::pipeline::item_sample::fresh_seed;
use crate::pipeline::parts::{MadeAgain, PartsProgress};
use crate::pipeline::stage::Stage;
use crate::pipeline::{Context, StageError};
use serde::Serialize;
use std::ops::Range;

/// The state of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlanProgress {
    /// The stage.
    pub stage: Stage,
    /// The number of shards.
    pub shards: usize,
    /// The shards whose pieces are all there.
    pub done: Vec<usize>,
    /// The shards to run now, in this order.
    pub needed: Vec<usize>,
    /// Whether nothing more is needed.
    pub complete: bool,
}

impl LoadedPlan {
    /// Looks how far the plan is. Of a match, at most `ahead` batches that are not decided yet are
    /// wanted at once.
    ///
    /// # Errors
    ///
    /// Pieces of other inputs, or a system error.
    pub fn progress(&self, ahead: usize, context: Context<'_>) -> Result<PlanProgress, StageError> {
        let PartsProgress { done, wanted } = self.work.shards()?.progress(ahead, context)?;
        Ok(PlanProgress::new(
            self.plan.request.stage,
            &self.plan.shards,
            &done,
            &wanted,
        ))
    }

    /// Proves what can be proved of the parts, before the stage makes its result of them, and makes
    /// some of them again: an unpredictable choice, unless a seed is given.
    ///
    /// # Errors
    ///
    /// A missing or false part, with who made it.
    pub fn check(&self, seed: Option<u64>, context: Context<'_>) -> Result<MadeAgain, StageError> {
        let seed = seed.unwrap_or_else(fresh_seed);
        self.work
            .shards()?
            .check(seed, context)
            .map_err(|error| name_makers(error, &self.path, self.plan.output()))
    }
}

impl PlanProgress {
    /// The state of shards by that of their pieces, where those in a range are wanted now.
    fn new(stage: Stage, shards: &[Range<usize>], done: &[bool], wanted: &Range<usize>) -> Self {
        let is_done = |pieces: &Range<usize>| done[pieces.clone()].iter().all(|done| *done);
        let lacks = |pieces: &Range<usize>| {
            pieces
                .clone()
                .any(|piece| wanted.contains(&piece) && !done[piece])
        };
        let numbers = |holds: &dyn Fn(&Range<usize>) -> bool| {
            (0..)
                .zip(shards)
                .filter(|(_, pieces)| holds(pieces))
                .map(|(shard, _)| shard)
                .collect::<Vec<usize>>()
        };
        let needed = numbers(&lacks);
        Self {
            stage,
            shards: shards.len(),
            done: numbers(&is_done),
            complete: needed.is_empty(),
            needed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_needed_while_a_wanted_piece_of_it_is_missing() {
        let shards = [0..2, 2..4, 4..5];
        let state = |done: [u8; 5], wanted| {
            let progress =
                PlanProgress::new(Stage::Gate, &shards, &done.map(|done| done == 1), &wanted);
            (progress.done, progress.needed, progress.complete)
        };
        assert_eq!(state([0; 5], 0..5), (vec![], vec![0, 1, 2], false));
        assert_eq!(state([1, 0, 1, 1, 0], 0..5), (vec![1], vec![0, 2], false));
        assert_eq!(
            state([1, 1, 1, 0, 0], 0..3),
            (vec![0], vec![], true),
            "the third piece decides"
        );
        assert_eq!(state([1, 1, 0, 0, 0], 0..3), (vec![0], vec![1], false));
        assert_eq!(state([1; 5], 0..5), (vec![0, 1, 2], vec![], true));
    }
}
