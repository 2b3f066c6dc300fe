//! How far the shards of a plan are, and which are wanted now: found by looking at files.

use super::plan::LoadedPlan;
use super::stage::StageTask;
use crate::pipeline::fit_mpc::shards::fit_mpc_parts_done;
use crate::pipeline::gate::shards::gate_progress;
use crate::pipeline::generate::run::generate_parts_done;
use crate::pipeline::stage::Stage;
use crate::pipeline::train::shards::{train_parts_done, train_rounds};
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

/// Looks how far a plan is. Of a match, at most `ahead` batches that are not decided yet are wanted at once.
///
/// # Errors
///
/// Pieces of other inputs, or whatever the system refuses.
pub fn progress(plan: &LoadedPlan, ahead: usize, context: Context<'_>) -> Result<PlanProgress, StageError> {
    let (done, wanted) = match plan.task() {
        StageTask::Generate(task) => all_wanted(generate_parts_done(&task)?),
        StageTask::Train(task) => {
            let done = train_parts_done(&task)?;
            let wide = train_rounds(&task).wide;
            let is_early = done[wide.clone()].iter().any(|done| !done);
            let wanted = if is_early { wide } else { 0..done.len() };
            (done, wanted)
        }
        StageTask::FitMpc(task) => all_wanted(fit_mpc_parts_done(&task)?),
        StageTask::Gate(task) => {
            let gate = gate_progress(&task, context)?;
            let looked_at = gate.played.iter().take_while(|played| **played).count();
            let wanted = 0..gate.deciding.unwrap_or((looked_at + ahead.max(1)).min(gate.played.len()));
            (gate.played, wanted)
        }
    };
    Ok(PlanProgress::new(plan.stage(), plan.shards(), &done, &wanted))
}

/// An error unless the pieces that the end of the stage needs are all there.
///
/// # Errors
///
/// [`StageError::Unfinished`] with the first that is missing; otherwise as [`progress`].
pub fn check_complete(plan: &LoadedPlan, context: Context<'_>) -> Result<(), StageError> {
    let progress = progress(plan, 1, context)?;
    let Some(&shard) = progress.needed.first() else { return Ok(()) };
    Err(StageError::Unfinished { part: plan.shards()[shard].start, folder: plan.output().to_owned() })
}

fn all_wanted(done: Vec<bool>) -> (Vec<bool>, Range<usize>) {
    let all = 0..done.len();
    (done, all)
}

impl PlanProgress {
    /// The state of shards by that of their pieces, where those in a range are wanted now.
    fn new(stage: Stage, shards: &[Range<usize>], done: &[bool], wanted: &Range<usize>) -> Self {
        let is_done = |pieces: &Range<usize>| done[pieces.clone()].iter().all(|done| *done);
        let lacks = |pieces: &Range<usize>| pieces.clone().any(|piece| wanted.contains(&piece) && !done[piece]);
        let numbers = |holds: &dyn Fn(&Range<usize>) -> bool| {
            (0..).zip(shards).filter(|(_, pieces)| holds(pieces)).map(|(shard, _)| shard).collect::<Vec<usize>>()
        };
        let needed = numbers(&lacks);
        Self { stage, shards: shards.len(), done: numbers(&is_done), complete: needed.is_empty(), needed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_needed_while_a_wanted_piece_of_it_is_missing() {
        let shards = [0..2, 2..4, 4..5];
        let state = |done: [u8; 5], wanted| {
            let progress = PlanProgress::new(Stage::Gate, &shards, &done.map(|done| done == 1), &wanted);
            (progress.done, progress.needed, progress.complete)
        };
        assert_eq!(state([0; 5], 0..5), (vec![], vec![0, 1, 2], false));
        assert_eq!(state([1, 0, 1, 1, 0], 0..5), (vec![1], vec![0, 2], false));
        assert_eq!(state([1, 1, 1, 0, 0], 0..3), (vec![0], vec![], true), "the third piece decides");
        assert_eq!(state([1, 1, 0, 0, 0], 0..3), (vec![0], vec![1], false));
        assert_eq!(state([1; 5], 0..5), (vec![0, 1, 2], vec![], true));
    }
}
