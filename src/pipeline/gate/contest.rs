//! The contest: games on all threads, batches in order, and a look at the score after each.

use super::avoided::Avoided;
use super::batches::{Batch, games_of};
use super::openings::{Candidate, Opening, Openings};
use super::play::Players;
use super::rule::Rule;
use super::score::pair_counts;
use super::task::{BATCH_PAIRS, GateTask};
use crate::artifact::dataset::gate_games::GateGameRow;
use crate::artifact::dataset::manifest::Part;
use crate::artifact::dataset::part_range::{PartItems, PartRange};
use crate::artifact::dataset::verdict::{OpeningCounts, Verdict};
use crate::pipeline::stage::Stage;
use crate::pipeline::{Context, StageError};
use crossbeam::channel::{Sender, bounded};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Games that may wait for the collector; more would only cost memory.
const WAITING_GAMES: usize = 256;

/// What became of a contest.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    pub(super) parts: Vec<Part>,
    pub(super) rows: Vec<GateGameRow>,
    pub(super) pairs: [u64; 5],
    pub(super) openings: OpeningCounts,
    /// What the sequential test decided, if it did.
    pub(super) decision: Option<Verdict>,
    /// Games played by this call, those of batches that were not needed included.
    pub(super) games_played: u64,
}

/// What to do with a batch that was played; gives the part it is in.
pub(super) trait Sink:
    FnMut(&PartRange, &[GateGameRow], &OpeningCounts) -> Result<Part, StageError> + Send
{
}

impl<F: FnMut(&PartRange, &[GateGameRow], &OpeningCounts) -> Result<Part, StageError> + Send> Sink for F {}

/// Plays the batches that are not `found`, in order and until the rule is satisfied; all of them without a rule.
///
/// Pairs finish out of order, and threads that would wait play pairs of the batches after; but batches reach the sink
/// and the rule in order, and nothing after the last look leaves a trace.
pub(super) fn contest(
    task: &GateTask<'_>,
    avoided: &Avoided,
    rule: Option<Rule>,
    ranges: &[PartRange],
    found: BTreeMap<usize, Batch>,
    sink: impl Sink,
    context: Context<'_>,
) -> Result<Outcome, StageError> {
    let missing = ranges.iter().filter(|range| !found.contains_key(&range.index));
    let missing: Vec<PartRange> = missing.map(games_of).collect();
    let games = PartItems::new(&missing);
    let mut looks = Looks { ranges, rule, found, played: BTreeMap::new(), sink, outcome: Outcome::default(), context };
    looks.advance()?;
    if looks.over() {
        return Ok(looks.outcome);
    }
    let positions = avoided.positions(task.config.opening_plies, context)?;
    let openings = Openings::new(task, &positions);
    let schedule = Mutex::new(Schedule {
        openings,
        games: &games,
        batch_games: 2 * BATCH_PAIRS,
        next: 0,
        whole: !looks.rule.as_ref().is_some_and(Rule::is_sequential),
    });
    let pool = context.pool()?;
    let over = AtomicBool::new(false);
    let (sender, receiver) = bounded(WAITING_GAMES);
    let all: u64 = ranges.iter().map(|range| 2 * range.count).sum();
    context.progress.begin(Stage::Gate.name(), all, "games");
    context.progress.resume(all - games.count());
    let outcome = std::thread::scope(|scope| {
        let collector = scope.spawn(|| {
            let mut result = Ok(());
            // A receiver that is gone stops those who still play.
            // A batch takes a moment to write: games that wait are left to the next call when this one is to stop.
            for game in receiver.into_iter().take_while(|_| !context.stopped()) {
                result = looks.add(game);
                if result.is_err() || looks.over() {
                    break;
                }
            }
            over.store(true, Ordering::Relaxed);
            result.map(|()| looks)
        });
        pool.broadcast(|_| work(task, &schedule, &sender, &over, context));
        drop(sender);
        collector.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    context.progress.end();
    let looks = outcome?;
    if looks.over() {
        return Ok(looks.outcome);
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

/// The batches so far and what they say.
struct Looks<'a, S> {
    ranges: &'a [PartRange],
    rule: Option<Rule>,
    found: BTreeMap<usize, Batch>,
    played: BTreeMap<usize, BTreeMap<u64, PlayedGame>>, // by batch and game
    sink: S,
    outcome: Outcome,
    context: Context<'a>,
}

impl<S: Sink> Looks<'_, S> {
    fn over(&self) -> bool {
        self.outcome.decision.is_some() || self.outcome.parts.len() == self.ranges.len()
    }

    fn add(&mut self, game: PlayedGame) -> Result<(), StageError> {
        self.outcome.games_played += 1;
        self.context.progress.advance(1);
        let batch = (game.row.pair / BATCH_PAIRS) as usize;
        self.played.entry(batch).or_default().insert(game.row.game_id, game);
        self.advance()
    }

    /// Looks at all batches that are complete and whose turn it is.
    fn advance(&mut self) -> Result<(), StageError> {
        while !self.over() {
            let range = &self.ranges[self.outcome.parts.len()];
            let batch = match self.found.remove(&range.index) {
                Some(batch) => batch,
                None => {
                    let count = self.played.get(&range.index).map_or(0, BTreeMap::len);
                    if (count as u64) < 2 * range.count {
                        return Ok(());
                    }
                    let games = self.played.remove(&range.index).unwrap_or_default();
                    let openings =
                        games.last_key_value().map_or_else(OpeningCounts::default, |(_, game)| game.openings);
                    let rows: Vec<GateGameRow> = games.into_values().map(|game| game.row).collect();
                    Batch { part: (self.sink)(range, &rows, &openings)?, rows, openings }
                }
            };
            self.look(batch);
        }
        Ok(())
    }

    fn look(&mut self, batch: Batch) {
        let outcome = &mut self.outcome;
        for (total, count) in outcome.pairs.iter_mut().zip(pair_counts(&batch.rows)) {
            *total += count;
        }
        outcome.parts.push(batch.part);
        outcome.rows.extend(batch.rows);
        outcome.openings = batch.openings;
        if let Some(rule) = &self.rule {
            outcome.decision = rule.decide(outcome.pairs);
            self.context.progress.note(&rule.note(outcome.pairs));
        }
    }
}

/// The next thing to do.
enum Job {
    Judge(Candidate),
    Play(u64, Opening),
}

/// What is left to do, in order.
struct Schedule<'a> {
    openings: Openings<'a>,
    games: &'a PartItems<'a>,
    batch_games: u64,
    next: u64,
    /// Whether all openings will be needed, and are found before the first game.
    whole: bool,
}

impl Schedule<'_> {
    /// `None` if there is nothing left to do that can be done; a spent budget ends it where a batch begins.
    fn next(&mut self, context: Context<'_>) -> Option<Job> {
        let (game, last) = (self.games.get(self.next)?, self.games.get(self.games.count() - 1)?);
        if game.is_multiple_of(self.batch_games) && context.is_ending() {
            return None;
        }
        let wanted = if self.whole { last / 2 + 1 } else { game / 2 + 1 };
        if self.openings.count() < wanted {
            if let Some(candidate) = self.openings.draw(context) {
                return Some(Job::Judge(candidate));
            }
            if self.whole {
                return None;
            }
        }
        let opening = self.openings.get(game / 2)?.clone();
        self.next += 1;
        Some(Job::Play(game, opening))
    }
}

fn work(
    task: &GateTask<'_>,
    schedule: &Mutex<Schedule<'_>>,
    sender: &Sender<PlayedGame>,
    over: &AtomicBool,
    context: Context<'_>,
) {
    let mut players = Players::new(task, context.stop);
    let lock = || schedule.lock().unwrap_or_else(PoisonError::into_inner);
    while !context.stopped() && !over.load(Ordering::Relaxed) {
        let Some(job) = lock().next(context) else { return };
        match job {
            Job::Judge(candidate) => {
                let Ok(balanced) = players.balanced(&candidate) else { return };
                lock().openings.judge(candidate.number, balanced);
            }
            Job::Play(id, opening) => {
                let Ok(row) = players.play(id, &opening.moves) else { return };
                if sender.send(PlayedGame { row, openings: opening.counts }).is_err() {
                    return;
                }
            }
        }
    }
}
