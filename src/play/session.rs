//! The engine with a game on its board: what people, protocols and pages play with. It neither prints nor reads the clock.

pub mod hints;
pub mod review;

use super::history::{Forbidden, History};
use crate::artifact::model::version::Model;
use crate::engine::board::position::Position;
use crate::engine::board::square::Square;
use crate::engine::search::depth::Depth;
use crate::engine::search::limits::Limits;
use crate::engine::search::move_values::MoveValue;
use crate::engine::search::result::{SearchResult, Stopped};
use crate::engine::search::searcher::Searcher;
use std::sync::atomic::AtomicBool;

/// A transposition table of 2^17 entries, 2 MiB, stays in the second cache: searches of 60,000 nodes take 5 to 8 % less time than
/// with the 2^20 of deep ones.
const TABLE_BITS: u8 = 17;
const DEEP_TABLE_BITS: u8 = 20;

/// Searches and solves beyond these limits are deep ones.
const DEPTH_MAX: Depth = Depth(15);
const SOLVED_EMPTIES_MAX: u8 = 21;

const fn table_bits(limits: &Limits) -> u8 {
    let is_deep = DEPTH_MAX.0 < limits.depth.0
        || SOLVED_EMPTIES_MAX < limits.exact_empties
        || SOLVED_EMPTIES_MAX < limits.wld_empties;
    if is_deep { DEEP_TABLE_BITS } else { TABLE_BITS }
}

/// The engine with a game on its board.
///
/// What a search finds depends on the model, the limits and what was asked since the game began: earlier searches of a game
/// help later ones. A game that does not continue the one before begins with an empty table, and a search that was stopped
/// leaves an empty one, because how far it came depends on the time.
pub struct Session<'m> {
    searcher: Searcher<'m>,
    limits: Limits,
    history: History,
}

impl<'m> Session<'m> {
    /// A game before its first move. Searches keep to `limits`, and end soon after `stop` is raised.
    #[must_use]
    pub fn new(model: &'m Model, limits: Limits, stop: &'m AtomicBool) -> Self {
        let searcher = Searcher::new(&model.evaluation, &model.mpc, table_bits(&limits)).stopped_by(stop);
        Self { searcher, limits, history: History::default() }
    }

    #[expect(missing_docs, reason = "the name says it")]
    #[must_use]
    pub const fn limits(&self) -> Limits {
        self.limits
    }

    /// Changes the limits of every search from now on.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
        self.searcher.set_table_bits(table_bits(&limits));
    }

    /// The game so far.
    #[must_use]
    pub const fn history(&self) -> &History {
        &self.history
    }

    /// Takes another game, or the same one further on.
    pub fn set_history(&mut self, history: History) {
        if !history.continues(&self.history) {
            self.searcher.clear();
        }
        self.history = history;
    }

    /// As [`History::play`].
    ///
    /// # Errors
    ///
    /// What the rules forbid; the game stays as it was.
    pub fn play(&mut self, square: Option<Square>) -> Result<(), Forbidden> {
        self.history.play(square)
    }

    /// As [`History::play_as`].
    ///
    /// # Errors
    ///
    /// What the rules forbid; the game stays as it was.
    pub fn play_as(&mut self, black: bool, square: Option<Square>) -> Result<(), Forbidden> {
        self.history.play_as(black, square)
    }

    /// As [`History::undo`].
    pub fn undo(&mut self) -> Option<Option<Square>> {
        let undone = self.history.undo()?;
        self.searcher.clear();
        Some(undone)
    }

    /// As [`History::redo`].
    pub fn redo(&mut self) -> Option<Option<Square>> {
        self.history.redo()
    }

    /// The best move with its value and the principal variation. There is no move where the side to move must pass.
    pub fn search(&mut self) -> SearchResult {
        self.search_within(self.limits)
    }

    /// As [`Session::search`], within other limits.
    pub fn search_within(&mut self, limits: Limits) -> SearchResult {
        self.search_position(self.history.current().position, limits)
    }

    /// The values of all legal moves, best first, with the nodes that they took; see [`Searcher::move_values`].
    ///
    /// # Errors
    ///
    /// [`Stopped`].
    pub fn move_values(&mut self) -> Result<(Vec<MoveValue>, u64), Stopped> {
        self.move_values_within(self.limits)
    }

    /// As [`Session::move_values`], within other limits.
    ///
    /// # Errors
    ///
    /// [`Stopped`].
    pub fn move_values_within(&mut self, limits: Limits) -> Result<(Vec<MoveValue>, u64), Stopped> {
        let values = self.searcher.move_values(self.history.current().position, limits);
        if values.is_err() {
            self.searcher.clear();
        }
        values
    }

    /// Searches any position; one of the game is found by its ply in [`History::positions`].
    pub fn search_position(&mut self, position: Position, limits: Limits) -> SearchResult {
        let result = self.searcher.search(position, limits);
        if result.stopped {
            self.searcher.clear();
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::model::builtin::Builtin;
    use crate::artifact::model::reference::LoadedModel;
    use crate::engine::board::notation::parse_moves;
    use std::sync::atomic::Ordering;

    static NEVER: AtomicBool = AtomicBool::new(false);

    fn model() -> Model {
        LoadedModel::builtin(Builtin::SquareWeights).model
    }

    const LIMITS: Limits = Limits { exact_empties: 8, ..Limits::full_width(Depth(3)) };

    fn play(session: &mut Session<'_>, moves: &str) {
        for square in parse_moves(moves).unwrap() {
            session.play(Some(square)).unwrap();
        }
    }

    #[test]
    fn a_search_depends_on_its_own_game_alone() {
        let model = model();
        let mut fresh = Session::new(&model, LIMITS, &NEVER);
        play(&mut fresh, "f5d6c3");
        let expected = fresh.search();
        // Another game, or a move that was taken back, leaves nothing in the table.
        let mut used = Session::new(&model, LIMITS, &NEVER);
        play(&mut used, "d3c5");
        used.search();
        used.set_history(fresh.history().clone());
        assert_eq!(used.search(), expected);
        play(&mut used, "d3");
        used.search();
        used.undo();
        assert_eq!(used.search(), expected);
        // The same game further on keeps it: the search is over at once.
        used.set_history(fresh.history().clone());
        assert!(used.search().nodes < expected.nodes);
    }

    #[test]
    fn a_stopped_search_leaves_no_trace() {
        let (model, stop) = (model(), AtomicBool::new(true));
        let mut stopped = Session::new(&model, LIMITS, &stop);
        play(&mut stopped, "f5d6");
        assert_eq!(stopped.move_values(), Err(Stopped));
        assert_eq!(stopped.review(), Err(Stopped));
        let result = stopped.search();
        assert!(result.stopped && result.best_move.is_some());
        stop.store(false, Ordering::Relaxed);
        let mut fresh = Session::new(&model, LIMITS, &NEVER);
        play(&mut fresh, "f5d6");
        assert_eq!(stopped.search(), fresh.search());
    }

    #[test]
    fn limits_can_be_changed() {
        let model = model();
        let mut session = Session::new(&model, LIMITS, &NEVER);
        session.set_limits(Limits { depth: Depth(2), ..LIMITS });
        assert_eq!((session.search().depth, session.limits().depth), (Depth(2), Depth(2)));
        let (values, _) = session.move_values().unwrap();
        assert_eq!(values.len(), 4);
        assert_eq!(values[0].score, session.search().score);
    }
}
