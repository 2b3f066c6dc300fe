//! Openings: random, different up to symmetry, new to the candidate, and balanced.

use super::task::{BALANCE_DISCS, GateTask};
use crate::artifact::OpeningCounts;
use crate::engine::{Game, Position, Square, Squares};
use crate::pipeline::Context;
use crate::random::{Stream, stream};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The search for openings gives up after this many tries in a row without a new position.
const TRIES_MAX: u32 = 100_000;

/// The search for openings gives up after this many unbalanced positions in a row.
const UNBALANCED_MAX: u32 = 10_000;

/// An opening of a pair.
#[derive(Clone, Debug)]
pub(super) struct Opening {
    /// Its moves.
    pub(super) moves: Arc<[Square]>,
    /// What became of all openings drawn up to this one.
    pub(super) counts: OpeningCounts,
}

/// A new position that may become an opening.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    /// Its place among the candidates.
    pub(super) number: usize,
    /// The position to judge.
    pub(super) position: Position,
}

/// The openings of a match in order, as far as they are found; each depends on those before it alone, so that a longer
/// match begins with the same ones.
///
/// Drawing is cheap and happens in turn. Judging takes a search, so candidates are judged by any thread in any order, and
/// become openings in the order in which they were drawn.
pub(super) struct Openings<'a> {
    task: GateTask<'a>,
    /// Canonical and ascending.
    avoided: &'a [Position],
    seen: BTreeSet<Position>,
    counts: OpeningCounts,
    /// All candidates, with what was found about them.
    candidates: Vec<(Opening, Option<bool>)>,
    /// How many of these, from the first on, have become openings or were turned down.
    settled: usize,
    unbalanced_in_a_row: u32,
    drawn_out: bool,
    /// By pair.
    pub(super) found: Vec<Opening>,
}

impl<'a> Openings<'a> {
    pub(super) fn new(task: &GateTask<'a>, avoided: &'a [Position]) -> Self {
        Self {
            task: *task,
            avoided,
            seen: BTreeSet::new(),
            counts: OpeningCounts::default(),
            candidates: Vec::new(),
            settled: 0,
            unbalanced_in_a_row: 0,
            drawn_out: false,
            found: Vec::new(),
        }
    }

    /// Draws until there is a candidate to judge, none is left, or the run is to stop.
    pub(super) fn draw(&mut self, context: Context<'_>) -> Option<Candidate> {
        let mut tries = 0;
        while !self.drawn_out && !self.too_few_balanced() && !context.stopped() {
            if TRIES_MAX <= tries {
                self.drawn_out = true;
                break;
            }
            tries += 1;
            let game = self.random_game(self.counts.drawn);
            self.counts.drawn += 1;
            let position = game.to_move().position;
            let canonical = position.canonical();
            if !self.seen.insert(canonical) {
                self.counts.repeated += 1;
                continue;
            }
            if self.avoided.binary_search(&canonical).is_ok() {
                self.counts.in_training += 1;
                continue;
            }
            let number = self.candidates.len();
            self.candidates.push((Opening { moves: game.moves().collect(), counts: self.counts }, None));
            if !game.is_over() {
                return Some(Candidate { number, position });
            }
            self.judge(number, false);
        }
        None
    }

    /// Records whether a candidate is balanced.
    pub(super) fn judge(&mut self, number: usize, balanced: bool) {
        self.candidates[number].1 = Some(balanced);
        // What was drawn beyond the last look at balance does not count, or it would depend on the threads.
        while !self.too_few_balanced()
            && let Some((opening, Some(balanced))) = self.candidates.get(self.settled)
        {
            self.settled += 1;
            if *balanced {
                // Those before it that were turned down were drawn before it, too.
                let counts = OpeningCounts { unbalanced: self.counts.unbalanced, ..opening.counts };
                self.found.push(Opening { counts, ..opening.clone() });
                self.unbalanced_in_a_row = 0;
            } else {
                self.counts.unbalanced += 1;
                self.unbalanced_in_a_row += 1;
            }
        }
    }

    fn too_few_balanced(&self) -> bool {
        UNBALANCED_MAX <= self.unbalanced_in_a_row
    }

    /// Why there are too few, with the remedy.
    pub(super) fn shortage(&self) -> String {
        let OpeningCounts { in_training, unbalanced, .. } = self.counts;
        let different = self.seen.len();
        format!(
            "gate.opening_plies = {}: only {} openings for {} pairs: of {different} different ones {in_training} are in the \
             datasets to avoid and {unbalanced} favor a side by more than {BALANCE_DISCS} discs\nraise gate.opening_plies, or \
             lower gate.games",
            self.task.config.opening_plies,
            self.found.len(),
            self.task.config.games / 2,
        )
    }

    /// A game of uniformly random legal moves, as long as an opening unless it ends before.
    fn random_game(&self, number: u64) -> Game {
        let mut rng = stream(self.task.seed, Stream::GateOpening(self.task.generation, number));
        let mut game = Game::default();
        while !game.is_over() && game.moves().count() < usize::from(self.task.config.opening_plies) {
            let square = rng.pick(Squares(game.to_move().position.legal_moves()));
            game.play(square.expect("the side to move has a move")).expect("the move is legal");
        }
        game
    }
}

#[cfg(test)]
mod tests {
    use super::super::avoided::Avoided;
    use super::super::task::GateConfig;
    use super::*;
    use crate::artifact::{Builtin, LoadedModel};
    use crate::pipeline::fixtures::{Nobody, default_table};
    use std::path::Path;
    use std::sync::atomic::AtomicBool;

    /// One thread, without progress; the flag stops it.
    fn context(flag: &AtomicBool) -> Context<'_> {
        Context { threads: 1, stop: flag, budget_spent: flag, progress: &Nobody, host: &Nobody }
    }

    #[test]
    fn nothing_more_is_drawn_when_too_few_positions_are_balanced() {
        let config = default_table::<GateConfig>();
        let model = &LoadedModel::builtin(Builtin::DiscCount);
        let task = GateTask {
            config: &config,
            seed: 1,
            generation: 1,
            candidate: model,
            baseline: model,
            avoid: &[],
            output: Path::new(""),
            remake: false,
        };
        let never = AtomicBool::new(false);
        let context = context(&never);
        let nothing = Avoided::open(&[]).unwrap().positions(config.opening_plies, context).unwrap();
        let mut openings = Openings::new(&task, &nothing);
        let balanced = openings.draw(context).unwrap();
        openings.judge(balanced.number, true);
        for _ in 0..UNBALANCED_MAX {
            let candidate = openings.draw(context).unwrap();
            openings.judge(candidate.number, false);
        }
        let drawn = openings.counts.drawn;
        assert!(openings.draw(context).is_none());
        assert_eq!((openings.counts.drawn, openings.found.len()), (drawn, 1));
    }
}
