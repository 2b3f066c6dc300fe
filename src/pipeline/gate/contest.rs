//! The contest: games on all threads, and batches to the decider in order.

use super::avoided::Avoided;
use super::decider::Decider;
use super::openings::{Opening, Openings};
use super::play::Players;
use super::task::{BATCH_PAIRS, GateTask};
use crate::artifact::dataset::part_range::PartItems;
use crate::artifact::{GateGameRow, OpeningCounts, PartRange};
use crate::pipeline::parts::Sink;
use crate::pipeline::workers::{Outbox, on_all_threads};
use crate::pipeline::{Context, StageError};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The games of a batch.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::pipeline) struct BatchRows {
    pub(super) rows: Vec<GateGameRow>,
    /// What became of all openings drawn up to its last pair.
    pub(super) openings: OpeningCounts,
}

/// The games of a batch: two for each pair.
pub(super) const fn games_of(pairs: &PartRange) -> PartRange {
    PartRange { index: pairs.index, first: 2 * pairs.first, count: 2 * pairs.count }
}

/// What became of a contest.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    /// Batches up to the last look.
    pub(super) batches: usize,
    pub(super) rows: Vec<GateGameRow>,
    pub(super) openings: OpeningCounts,
    /// Games played by this call, those of batches that were not needed included.
    pub(super) games_played: u64,
}

/// Plays the batches that are not `found`, in order and until the decider has decided; all of them without a decider.
///
/// Pairs finish out of order, and threads that would wait play pairs of the batches after; but batches reach the sink
/// and the decider in order, and nothing after the last look leaves a trace.
pub(super) fn contest(
    task: &GateTask<'_>,
    avoided: &Avoided,
    decider: Option<Decider>,
    ranges: &[PartRange],
    found: BTreeMap<usize, BatchRows>,
    sink: &mut Sink<'_, BatchRows>,
    context: Context<'_>,
) -> Result<Outcome, StageError> {
    let missing = ranges.iter().filter(|range| !found.contains_key(&range.index));
    let missing: Vec<PartRange> = missing.map(games_of).collect();
    let games = PartItems::new(&missing);
    let mut batches =
        PlayedBatches { ranges, decider, found, played: BTreeMap::new(), sink, outcome: Outcome::default(), context };
    batches.advance()?;
    if batches.over() {
        return Ok(batches.outcome);
    }
    let positions = avoided.positions(task.config.opening_plies, context)?;
    let openings = Openings::new(task, &positions);
    let whole = !batches.decider.as_ref().is_some_and(Decider::is_sequential);
    let judge = Players::new(task, context.stop);
    let schedule = Mutex::new(Schedule { openings, judge, games: &games, next: 0, whole });
    let collect = |game| {
        batches.add(game)?;
        Ok(!batches.over())
    };
    on_all_threads(|outbox| work(task, &schedule, outbox, context), collect, context)?;
    if batches.over() {
        return Ok(batches.outcome);
    }
    context.check_budget()?;
    let schedule = schedule.into_inner().unwrap_or_else(PoisonError::into_inner);
    Err(StageError::Setting(schedule.openings.shortage()))
}

/// A finished game, with what became of the openings drawn up to its own.
struct PlayedGame {
    row: GateGameRow,
    openings: OpeningCounts,
}

/// The batches as they become complete.
struct PlayedBatches<'a, 's> {
    ranges: &'a [PartRange],
    decider: Option<Decider>,
    found: BTreeMap<usize, BatchRows>,
    played: BTreeMap<u64, PlayedGame>,
    sink: &'a mut Sink<'s, BatchRows>,
    outcome: Outcome,
    context: Context<'a>,
}

impl PlayedBatches<'_, '_> {
    fn over(&self) -> bool {
        self.decider.as_ref().is_some_and(Decider::is_decided) || self.outcome.batches == self.ranges.len()
    }

    fn add(&mut self, game: PlayedGame) -> Result<(), StageError> {
        self.outcome.games_played += 1;
        self.context.progress.advance(1);
        self.played.insert(game.row.game_id, game);
        self.advance()
    }

    /// Takes all batches that are complete and whose turn it is.
    fn advance(&mut self) -> Result<(), StageError> {
        while !self.over() {
            let range = &self.ranges[self.outcome.batches];
            let batch = match self.found.remove(&range.index) {
                Some(batch) => batch,
                None => {
                    let ids = games_of(range).ids();
                    if (self.played.range(ids.clone()).count() as u64) < 2 * range.count {
                        return Ok(());
                    }
                    let games: Vec<PlayedGame> =
                        self.played.extract_if(ids, |_, _| true).map(|(_, game)| game).collect();
                    let openings = games.last().map_or_else(OpeningCounts::default, |game| game.openings);
                    let batch = BatchRows { rows: games.into_iter().map(|game| game.row).collect(), openings };
                    (self.sink)(range, batch.clone())?;
                    batch
                }
            };
            if let Some(decider) = &mut self.decider {
                decider.look(&batch.rows);
                self.context.progress.note(&decider.note());
            }
            self.outcome.batches += 1;
            self.outcome.rows.extend(batch.rows);
            self.outcome.openings = batch.openings;
        }
        Ok(())
    }
}

/// What is left to play, in order.
struct Schedule<'a> {
    openings: Openings<'a>,
    /// Who judges openings. That takes a moment beside the games that begin with them.
    judge: Players<'a>,
    games: &'a PartItems<'a>,
    next: u64,
    /// Whether all openings will be needed, and are found before the first game.
    whole: bool,
}

impl Schedule<'_> {
    /// `None` if there is nothing left that can be played; a spent budget ends it where a batch begins.
    fn next(&mut self, context: Context<'_>) -> Option<(u64, Opening)> {
        let ((_, game), (_, last)) = (self.games.get(self.next)?, self.games.get(self.games.count - 1)?);
        if game.is_multiple_of(2 * BATCH_PAIRS) && context.is_ending() {
            return None;
        }
        let wanted = if self.whole { last / 2 + 1 } else { game / 2 + 1 };
        if !self.openings.find(wanted as usize, |position| self.judge.balanced(position), context) {
            return None;
        }
        self.next += 1;
        Some((game, self.openings.found[(game / 2) as usize].clone()))
    }
}

fn work(task: &GateTask<'_>, schedule: &Mutex<Schedule<'_>>, outbox: &Outbox<'_, PlayedGame>, context: Context<'_>) {
    let mut players = Players::new(task, context.stop);
    while outbox.is_open() {
        let next = schedule.lock().unwrap_or_else(PoisonError::into_inner).next(context);
        let Some((id, opening)) = next else { return };
        let Ok(row) = players.play(id, &opening.moves) else { return };
        outbox.send(PlayedGame { row, openings: opening.counts });
    }
}
