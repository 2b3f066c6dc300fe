//! The game on the board: every position since its start, and what was taken back.

use crate::engine::board::notation::ColoredPosition;
use crate::engine::board::square::Square;
use crate::engine::score::Discs;

/// The positions of a game from any start, one per ply; a pass is a ply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// The first one is the start, so there is at least one.
    positions: Vec<ColoredPosition>,
    /// The plies between the positions; `None` is a pass.
    plies: Vec<Option<Square>>,
    /// Plies that were taken back, the next one to play again last.
    undone: Vec<Option<Square>>,
}

/// A ply that the rules forbid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Forbidden {
    /// A move.
    #[error("{0} is illegal")]
    Move(Square),
    /// A pass.
    #[error("a pass is illegal: there is a legal move")]
    Pass,
    /// A ply of a color that is not to move.
    #[error("it is the other side's turn")]
    Turn,
}

impl Default for History {
    fn default() -> Self {
        Self::new(ColoredPosition::START)
    }
}

impl History {
    /// A game before its first move.
    #[must_use]
    pub fn new(start: ColoredPosition) -> Self {
        Self { positions: vec![start], plies: Vec::new(), undone: Vec::new() }
    }

    /// The game from the usual start in which these moves were played, with the passes between them.
    ///
    /// # Errors
    ///
    /// The number of the first move that the rules forbid, counted from 1, and why.
    pub fn from_moves(moves: &[Square]) -> Result<Self, (usize, Forbidden)> {
        let mut history = Self::default();
        for (number, &square) in (1..).zip(moves) {
            history.play(Some(square)).map_err(|forbidden| (number, forbidden))?;
        }
        Ok(history)
    }

    /// One more than there are plies.
    #[must_use]
    pub fn positions(&self) -> &[ColoredPosition] {
        &self.positions
    }

    /// Moves and passes (`None`) in order.
    #[must_use]
    pub fn plies(&self) -> &[Option<Square>] {
        &self.plies
    }

    /// The position in which the game began.
    #[must_use]
    pub fn start(&self) -> ColoredPosition {
        self.positions[0]
    }

    /// The position after the last ply.
    #[must_use]
    pub fn current(&self) -> ColoredPosition {
        self.positions[self.positions.len() - 1]
    }

    /// The position, or the one after the pass that the rules force.
    #[must_use]
    pub fn to_move(&self) -> ColoredPosition {
        let current = self.current();
        if self.must_pass() { passed(current) } else { current }
    }

    /// Whether the side to move has no move and the other side has.
    #[must_use]
    pub fn must_pass(&self) -> bool {
        let position = self.current().position;
        position.legal_moves() == 0 && position.pass().legal_moves() != 0
    }

    /// Whether neither side has a move.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.current().position.is_over()
    }

    /// The difference for black if the game ended now.
    #[must_use]
    pub fn black_discs(&self) -> Discs {
        let ColoredPosition { position, black_to_move } = self.current();
        if black_to_move { position.final_discs() } else { -position.final_discs() }
    }

    /// Whether this game begins with all of another.
    #[must_use]
    pub fn continues(&self, other: &Self) -> bool {
        self.positions.starts_with(&other.positions)
    }

    /// Plays a move, after the pass that the rules may force before it; `None` is a pass.
    ///
    /// # Errors
    ///
    /// What the rules forbid; the game stays as it was.
    pub fn play(&mut self, square: Option<Square>) -> Result<(), Forbidden> {
        let mover = self.to_move();
        match square {
            None if self.current().position.legal_moves() != 0 => return Err(Forbidden::Pass),
            None => self.push(None, passed(self.current())),
            Some(square) => {
                let next = mover.position.play(square).ok_or(Forbidden::Move(square))?;
                if self.must_pass() {
                    self.push(None, mover);
                }
                self.push(Some(square), ColoredPosition { position: next, black_to_move: !mover.black_to_move });
            }
        }
        self.undone.clear();
        Ok(())
    }

    /// As [`History::play`], by a color; a forced pass of the other color may be left out.
    ///
    /// # Errors
    ///
    /// What the rules forbid, the other side's turn too.
    pub fn play_as(&mut self, black: bool, square: Option<Square>) -> Result<(), Forbidden> {
        let mover = if square.is_some() { self.to_move() } else { self.current() };
        if black == mover.black_to_move { self.play(square) } else { Err(Forbidden::Turn) }
    }

    /// Takes back the last ply, which is returned; there is none at the start.
    pub fn undo(&mut self) -> Option<Option<Square>> {
        let ply = self.plies.pop()?;
        self.positions.pop();
        self.undone.push(ply);
        Some(ply)
    }

    /// Plays the ply that was taken back last, which is returned; there is none after another ply was played.
    pub fn redo(&mut self) -> Option<Option<Square>> {
        let mut undone = std::mem::take(&mut self.undone);
        let ply = undone.pop()?;
        self.play(ply).expect("it was played before");
        self.undone = undone;
        Some(ply)
    }

    fn push(&mut self, ply: Option<Square>, position: ColoredPosition) {
        self.plies.push(ply);
        self.positions.push(position);
    }
}

/// The same board with the other side to move.
const fn passed(colored: ColoredPosition) -> ColoredPosition {
    ColoredPosition { position: colored.position.pass(), black_to_move: !colored.black_to_move }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::board::notation::parse_moves;
    use proptest::prelude::{Strategy, any, prop_assert_eq, proptest};

    fn history(moves: &str) -> History {
        History::from_moves(&parse_moves(moves).unwrap()).unwrap()
    }

    /// After these moves black must pass.
    const BEFORE_PASS: &str = "d3c3e6d2d1e1b2c1";

    #[test]
    fn a_pass_may_be_played_or_left_out() {
        let before = history(BEFORE_PASS);
        assert!(before.current().black_to_move && before.must_pass() && !before.is_over());
        let reply = before.to_move().position.children().next().unwrap().0;
        let (mut written, mut left_out) = (before.clone(), before.clone());
        written.play(None).unwrap();
        written.play(Some(reply)).unwrap();
        left_out.play(Some(reply)).unwrap();
        assert_eq!(written, left_out);
        assert_eq!((written.positions().len(), written.plies()[8]), (11, None));
        assert!(written.continues(&before) && !before.continues(&written));
        // The color that moves decides as well as the order.
        let mut by_color = before.clone();
        by_color.play_as(false, Some(reply)).unwrap();
        assert_eq!(by_color, written);
        assert_eq!(before.clone().play_as(true, Some(reply)), Err(Forbidden::Turn));
        assert_eq!(before.clone().play_as(false, None), Err(Forbidden::Turn));
    }

    #[test]
    fn what_the_rules_forbid_changes_nothing() {
        let mut history = history("f5");
        history.undo();
        let before = history.clone();
        let a1 = "a1".parse().unwrap();
        assert_eq!(history.play(Some(a1)), Err(Forbidden::Move(a1)));
        assert_eq!(history.play(None), Err(Forbidden::Pass));
        assert_eq!(history.play_as(false, Some(a1)), Err(Forbidden::Turn));
        assert_eq!(history, before);
    }

    #[test]
    fn a_game_that_is_over_has_its_result() {
        let history = history("e6f4e3f6g5d6e7f5c5");
        assert!(history.is_over() && !history.must_pass());
        assert_eq!(history.black_discs(), Discs(64));
    }

    fn random_game() -> impl Strategy<Value = History> {
        proptest::collection::vec(any::<u8>(), 0..70).prop_map(|choices| {
            let mut history = History::default();
            for choice in choices {
                let moves: Vec<_> = history.current().position.children().collect();
                let ply = moves.get(usize::from(choice) % moves.len().max(1)).map(|(square, _)| *square);
                if history.is_over() {
                    break;
                }
                history.play(ply).unwrap();
            }
            history
        })
    }

    proptest! {
        #[test]
        fn what_is_undone_can_be_redone(game in random_game(), count in 0_usize..80) {
            let mut history = game.clone();
            let undone = (0..count).map_while(|_| history.undo()).count();
            prop_assert_eq!(undone, count.min(game.plies().len()));
            prop_assert_eq!(history.positions(), &game.positions()[..game.positions().len() - undone]);
            while history.redo().is_some() {}
            prop_assert_eq!(&history, &game);
            // Another ply ends it.
            history.undo();
            let again = game.plies().last().copied();
            if let Some(ply) = again {
                history.play(ply).unwrap();
                prop_assert_eq!(history.redo(), None);
                prop_assert_eq!(history, game);
            }
        }
    }
}
