//! The contest: pairs of games on all threads, and batches to the decider in order.

use super::avoided::Avoided;
use super::decider::Decider;
use super::openings::Openings;
use super::play::Players;
use super::task::GateTask;
use crate::artifact::GameId;
use crate::artifact::{GateGameRow, OpeningCounts, PartRange};
use crate::engine::Stopped;
use crate::pipeline::parts::Sink;
use crate::pipeline::workers::make_items;
use crate::pipeline::{Context, StageError};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The games of a batch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BatchRows {
    pub rows: Vec<GateGameRow>,
    /// What became of all openings drawn up to its last pair.
    pub openings: OpeningCounts,
}

/// What became of a contest.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Batches up to the last look.
    pub batches: usize,
    /// Their games.
    pub all: BatchRows,
    /// Games played by this call, those of batches that were not needed included.
    pub games_played: u64,
}

/// Plays the batches that are not `found`, in order and until the decider has decided.
///
/// Pairs finish out of order, and threads that would wait play pairs of the batches after; but
/// batches reach the sink and the decider in order, and nothing after the last look leaves a trace.
pub fn contest(
    task: &GateTask,
    avoided: &Avoided,
    ranges: &[PartRange],
    found: BTreeMap<usize, BatchRows>,
    sink: &mut Sink<'_, BatchRows>,
    context: Context<'_>,
) -> Result<Outcome, StageError> {
    let missing: Vec<PartRange> = ranges
        .iter()
        .filter(|range| !found.contains_key(&range.index))
        .copied()
        .collect();
    let (mut decider, mut outcome) = (Decider::new(&task.config), Outcome::default());
    let is_whole = !decider.is_sequential();
    let mut waiting = found;
    // Takes all batches that are complete and whose turn it is; says whether more are wanted.
    let mut take = |waiting: &mut BTreeMap<usize, BatchRows>| {
        while !decider.is_decided()
            && let Some(batch) = waiting.remove(&outcome.batches)
        {
            if missing
                .binary_search_by_key(&outcome.batches, |range| range.index)
                .is_ok()
            {
                sink(&ranges[outcome.batches], batch.clone())?;
            }
            decider.look(&batch.rows);
            context.progress.note(&decider.note());
            outcome.batches += 1;
            outcome.all.rows.extend(batch.rows);
            outcome.all.openings = batch.openings;
        }
        Ok::<bool, StageError>(!decider.is_decided())
    };
    let mut games_played = 0;
    if take(&mut waiting)? {
        let mut add = |range: &PartRange, batch: BatchRows| {
            waiting.insert(range.index, batch);
            take(&mut waiting)
        };
        games_played = play_batches(task, avoided, &missing, is_whole, &mut add, context)?;
    }
    Ok(Outcome {
        games_played,
        ..outcome
    })
}

/// Plays batches on all threads until the sink wants no more: the number of games. If all of them
/// will be needed, their openings are found before the first game.
pub fn play_batches(
    task: &GateTask,
    avoided: &Avoided,
    ranges: &[PartRange],
    is_whole: bool,
    sink: &mut Sink<'_, BatchRows>,
    context: Context<'_>,
) -> Result<u64, StageError> {
    let Some(last) = ranges.last() else {
        return Ok(0);
    };
    let positions = avoided.positions(task.config.opening_plies, context)?;
    // Judging an opening takes a moment beside the games that begin with it.
    let players = || {
        Players::new(
            &task.config,
            &task.candidate.model,
            &task.baseline.model,
            context.stop,
        )
    };
    let openings = Mutex::new((Openings::new(task, &positions), players()));
    let opening_of = |pair: u64| {
        let (openings, judge) = &mut *openings.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = if is_whole { last.ids().end } else { pair + 1 };
        let is_found = openings.find(
            wanted as usize,
            |position| judge.balanced(position),
            context,
        );
        if is_found {
            Ok(openings.found[pair as usize].clone())
        } else {
            Err(Stopped)
        }
    };
    let games_played = AtomicU64::new(0);
    let play = |players: &mut Players<'_>, pair: u64| {
        let opening = opening_of(pair)?;
        let first = players.play(GameId(2 * pair), &opening.moves)?;
        // The other game counts when the pair is complete.
        context.progress.advance(1);
        let rows = [first, players.play(GameId(2 * pair + 1), &opening.moves)?];
        games_played.fetch_add(2, Ordering::Relaxed);
        Ok((rows, opening.counts))
    };
    let mut collect = |range: &PartRange, pairs: Vec<([GateGameRow; 2], OpeningCounts)>| {
        let openings = pairs
            .last()
            .map_or_else(OpeningCounts::default, |(_, counts)| *counts);
        sink(
            range,
            BatchRows {
                rows: pairs.into_iter().flat_map(|(rows, _)| rows).collect(),
                openings,
            },
        )
    };
    let result = make_items(ranges, players, play, &mut collect, context);
    match result {
        // Nothing stopped the threads but a lack of openings.
        Err(StageError::Interrupted) if !context.stopped() => {
            let (openings, _) = openings
                .into_inner()
                .unwrap_or_else(PoisonError::into_inner);
            Err(StageError::Setting(openings.shortage()))
        }
        other => other.map(|()| games_played.into_inner()),
    }
}
