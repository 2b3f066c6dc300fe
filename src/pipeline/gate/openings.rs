//! Openings: random, different up to symmetry, new to the candidate, and balanced.

use super::task::{BALANCE_DISCS, GateTask};
use crate::artifact::OpeningCounts;
use crate::engine::{Game, Position, Square, Squares, Stopped};
use crate::pipeline::Context;
use crate::random::{Stream, stream};
use std::collections::BTreeSet;

/// The search for openings gives up after this many tries in a row without a new position.
const TRIES_MAX: u32 = 100_000;

/// The search for openings gives up after this many unbalanced positions in a row.
const UNBALANCED_MAX: u32 = 10_000;

/// An opening of a pair.
#[derive(Clone, Debug)]
pub struct Opening {
    /// Its moves.
    pub moves: Vec<Square>,
    /// What became of all openings drawn up to this one.
    pub counts: OpeningCounts,
}

/// The openings of a match in order, as far as they are found; each depends on those before it
/// alone, so that a longer match begins with the same ones.
pub struct Openings<'a> {
    task: &'a GateTask,
    /// Canonical and ascending.
    avoided: &'a [Position],
    seen: BTreeSet<Position>,
    counts: OpeningCounts,
    /// Draws in a row without a new position, and unbalanced positions in a row.
    tries: u32,
    unbalanced_in_a_row: u32,
    /// By pair.
    pub found: Vec<Opening>,
}

impl<'a> Openings<'a> {
    pub fn new(task: &'a GateTask, avoided: &'a [Position]) -> Self {
        Self {
            task,
            avoided,
            seen: BTreeSet::new(),
            counts: OpeningCounts::default(),
            tries: 0,
            unbalanced_in_a_row: 0,
            found: Vec::new(),
        }
    }

    /// Draws until this many are found: `false` if there are fewer, or the run is to stop.
    pub fn find(
        &mut self,
        count: usize,
        mut is_balanced: impl FnMut(Position) -> Result<bool, Stopped>,
        context: Context<'_>,
    ) -> bool {
        while self.found.len() < count {
            if TRIES_MAX <= self.tries
                || UNBALANCED_MAX <= self.unbalanced_in_a_row
                || context.stopped()
            {
                return false;
            }
            let game = self.random_game(self.counts.drawn);
            let position = game.to_move().position;
            let canonical = position.canonical();
            self.counts.drawn += 1;
            self.tries += 1;
            if !self.seen.insert(canonical) {
                self.counts.repeated += 1;
            } else if self.avoided.binary_search(&canonical).is_ok() {
                self.counts.in_training += 1;
            } else {
                self.tries = 0;
                let Ok(balanced) = (if game.is_over() {
                    Ok(false)
                } else {
                    is_balanced(position)
                }) else {
                    return false;
                };
                if balanced {
                    self.found.push(Opening {
                        moves: game.moves().collect(),
                        counts: self.counts,
                    });
                    self.unbalanced_in_a_row = 0;
                } else {
                    self.counts.unbalanced += 1;
                    self.unbalanced_in_a_row += 1;
                }
            }
        }
        true
    }

    /// Why there are too few, with the remedy.
    pub fn shortage(&self) -> String {
        let OpeningCounts {
            in_training,
            unbalanced,
            ..
        } = self.counts;
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
        let mut rng = stream(
            self.task.seed,
            Stream::GateOpening(self.task.generation.0, number),
        );
        let mut game = Game::default();
        while !game.is_over() && game.moves().count() < usize::from(self.task.config.opening_plies)
        {
            let square = rng.pick(Squares(game.to_move().position.legal_moves()));
            game.play(square.expect("the side to move has a move"))
                .expect("the move is legal");
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
    use crate::generation::Generation;
    use crate::pipeline::fixtures::{context, default_table};
    use std::sync::atomic::AtomicBool;

    #[test]
    fn nothing_more_is_drawn_when_too_few_positions_are_balanced() {
        let config = default_table::<GateConfig>();
        let model = LoadedModel::builtin(Builtin::DiscCount);
        let task = GateTask {
            config: config.clone(),
            seed: 1,
            generation: Generation::FIRST,
            candidate: model.clone(),
            baseline: model,
            avoid: Vec::new(),
            output: "".into(),
        };
        let never = AtomicBool::new(false);
        let context = context(&never);
        let nothing = Avoided::open(&[])
            .unwrap()
            .positions(config.opening_plies, context)
            .unwrap();
        let mut openings = Openings::new(&task, &nothing);
        assert!(openings.find(1, |_| Ok(true), context));
        assert!(!openings.find(2, |_| Ok(false), context));
        let drawn = openings.counts.drawn;
        assert_eq!(openings.counts.unbalanced, u64::from(UNBALANCED_MAX));
        assert!(!openings.find(2, |_| Ok(true), context));
        assert_eq!((openings.counts.drawn, openings.found.len()), (drawn, 1));
    }
}
