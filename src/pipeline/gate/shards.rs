//! A match, played and checked batch by batch.

use super::avoided::Avoided;
use super::batches::{find_batch, finished, write_batch};
use super::contest::contest;
use super::recipe::GateIdentity;
use super::rule::Rule;
use super::score::pair_counts;
use super::task::{BATCH_PAIRS, GateBatchesReport, GateProgress, GateTask};
use crate::artifact::dataset::folder::{part_path, sweep_dataset};
use crate::artifact::dataset::gate_games::{GATE_GAMES, GateGameRow};
use crate::artifact::dataset::part_range::PartRange;
use crate::artifact::dataset::verdict::OpeningCounts;
use crate::artifact::error::ArtifactError;
use crate::pipeline::item_sample::ItemSample;
use crate::pipeline::{Context, StageError};
use std::collections::BTreeMap;
use std::ops::Range;

/// One of this many batches is played again, and at least one.
const BATCHES_PER_CHECK: u64 = 50;

/// Plays the `wanted` batches, as far as the folder lacks them, and gives no verdict.
///
/// Any number of such calls may share a folder, on many machines: what they publish does not depend on who does it.
///
/// # Errors
///
/// As [`gate`](super::run::gate).
pub fn gate_batches(
    task: &GateTask<'_>,
    wanted: Range<usize>,
    context: Context<'_>,
) -> Result<GateBatchesReport, StageError> {
    task.config.check()?;
    task.check_candidate()?;
    let avoided = Avoided::open(task.avoid)?;
    let identity = GateIdentity::new(task, avoided.contents());
    let mut missing = Vec::new();
    if finished(task, &identity)?.is_none() {
        sweep_dataset(task.output, &[&GATE_GAMES])?;
        for range in PartRange::some(task.config.games / 2, BATCH_PAIRS, wanted) {
            context.check()?;
            if find_batch(task, &identity.recipe, &range, context)?.is_none() {
                missing.push(range);
            }
        }
    }
    let publish = |range: &PartRange, rows: &[GateGameRow], openings: &OpeningCounts| {
        Ok(write_batch(task, &identity.recipe, range, (rows, openings))?)
    };
    let outcome = contest(task, &avoided, None, &missing, BTreeMap::new(), publish, context)?;
    Ok(GateBatchesReport { skipped: missing.is_empty(), games_played: outcome.games_played })
}

/// Which batches the folder has, and whether they decide the match.
///
/// # Errors
///
/// As [`gate`](super::run::gate).
pub fn gate_progress(task: &GateTask<'_>, context: Context<'_>) -> Result<GateProgress, StageError> {
    let identity = GateIdentity::new(task, Avoided::open(task.avoid)?.contents());
    let rule = Rule::new(task.config);
    let (mut played, mut deciding, mut pairs) = (Vec::new(), None, Some([0; 5]));
    for range in PartRange::all(task.config.games / 2, BATCH_PAIRS) {
        context.check()?;
        let batch = find_batch(task, &identity.recipe, &range, context)?;
        played.push(batch.is_some());
        let counts = batch.map(|batch| pair_counts(&batch.rows));
        // Looks come in order: the first batch that is missing ends them.
        pairs = pairs.zip(counts).map(|(sums, counts)| std::array::from_fn(|class| sums[class] + counts[class]));
        if deciding.is_none() && pairs.is_some_and(|pairs| rule.decide(pairs).is_some()) {
            deciding = Some(played.len());
        }
    }
    let all = played.len();
    Ok(GateProgress { deciding: deciding.or_else(|| pairs.map(|_| all)), played })
}

/// Plays some of the batches that decide the match again, with their openings, and compares; gives how many.
///
/// # Errors
///
/// A batch with other games, each with its file; otherwise as [`gate`](super::run::gate).
pub fn check_batches(task: &GateTask<'_>, seed: u64, context: Context<'_>) -> Result<u64, StageError> {
    let avoided = Avoided::open(task.avoid)?;
    let identity = GateIdentity::new(task, avoided.contents());
    if finished(task, &identity)?.is_some() {
        return Ok(0);
    }
    let progress = gate_progress(task, context)?;
    let batches = progress.deciding.unwrap_or(progress.played.len()) as u64;
    let checked = ItemSample::new(seed, batches, batches.div_ceil(BATCHES_PER_CHECK));
    let ids: Vec<u64> = checked.among(0..batches).collect();
    let all = PartRange::some(task.config.games / 2, BATCH_PAIRS, 0..batches as usize);
    let ranges: Vec<PartRange> = ids.iter().map(|&index| all[index as usize]).collect();
    let compare = |range: &PartRange, rows: &[GateGameRow], openings: &OpeningCounts| {
        let Some(batch) = find_batch(task, &identity.recipe, range, context)? else {
            return Err(StageError::Unfinished { part: range.index, folder: task.output.to_owned() });
        };
        if batch.rows == rows && batch.openings == *openings {
            return Ok(batch.part);
        }
        let path = part_path(task.output, &GATE_GAMES, range.index);
        let reason = "its games do not play out the same again\nremove it and run its shard again";
        Err(ArtifactError::damaged(&path, reason).into())
    };
    contest(task, &avoided, None, &ranges, BTreeMap::new(), compare, context)?;
    Ok(checked.count())
}
