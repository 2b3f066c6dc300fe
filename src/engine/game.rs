//! A game: the moves from the start, with passes where the rules force them.

use super::board::notation::ColoredPosition;
use super::board::position::Position;
use super::board::square::Square;
use super::score::Discs;

/// Half-moves played since the start, passes included.
///
/// ```
/// use renma::engine::game::{Game, Ply};
/// let ply: Ply = Game::new().ply();
/// assert_eq!(ply, Ply(0));
/// ```
///
/// ```compile_fail,E0308
/// use renma::engine::game::{Game, Ply};
/// use renma::engine::search::depth::Depth;
/// let ply: Depth = Game::new().ply();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ply(pub u8);

/// A game in progress or at its end; the side to move has a move unless the game is over.
#[derive(Clone, Debug)]
pub struct Game {
    current: ColoredPosition,
    ply: Ply,
    moves: Vec<Square>,
    over: bool,
}

/// A move that the rules forbid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("move {number} ({square}) is illegal")]
pub struct IllegalMove {
    /// The number of the move, counted from 1 without passes.
    pub number: usize,
    #[expect(missing_docs, reason = "the name says it")]
    pub square: Square,
}

impl Default for Game {
    fn default() -> Self {
        Self::new()
    }
}

impl Game {
    /// A game before its first move.
    #[must_use]
    pub const fn new() -> Self {
        Self { current: ColoredPosition::START, ply: Ply(0), moves: Vec::new(), over: false }
    }

    /// The game in which these moves were played.
    ///
    /// # Errors
    ///
    /// The first move that the rules forbid.
    pub fn from_moves(moves: &[Square]) -> Result<Self, IllegalMove> {
        let mut game = Self::new();
        for &square in moves {
            game.play(square)?;
        }
        Ok(game)
    }

    /// The position, in which the side to move has a move unless the game is over.
    #[must_use]
    pub const fn current(&self) -> ColoredPosition {
        self.current
    }

    #[expect(missing_docs, reason = "the type says it")]
    #[must_use]
    pub const fn ply(&self) -> Ply {
        self.ply
    }

    /// The moves played, without passes.
    #[must_use]
    pub fn moves(&self) -> &[Square] {
        &self.moves
    }

    /// Whether neither side has a move.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.over
    }

    /// Plays a move and the pass that may follow it.
    ///
    /// # Errors
    ///
    /// A move that the rules forbid; the game stays as it was.
    pub fn play(&mut self, square: Square) -> Result<(), IllegalMove> {
        let next = self.current.position.play(square).ok_or(IllegalMove { number: self.moves.len() + 1, square })?;
        self.moves.push(square);
        self.advance(next);
        if next.legal_moves() == 0 {
            let passed = next.pass();
            if passed.legal_moves() == 0 {
                self.over = true;
            } else {
                self.advance(passed);
            }
        }
        Ok(())
    }

    /// The final difference for black.
    #[must_use]
    pub fn black_discs(&self) -> Discs {
        let discs = self.current.position.final_discs();
        if self.current.black_to_move { discs } else { -discs }
    }

    /// The moves as `f5d6c3…`.
    #[must_use]
    pub fn transcript(&self) -> String {
        self.moves.iter().map(ToString::to_string).collect()
    }

    fn advance(&mut self, position: Position) {
        self.current = ColoredPosition { position, black_to_move: !self.current.black_to_move };
        self.ply.0 += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::board::notation::parse_moves;

    #[test]
    fn the_shortest_wipe_out_ends_after_nine_moves() {
        let moves = parse_moves("e6f4e3f6g5d6e7f5c5").unwrap();
        let game = Game::from_moves(&moves).unwrap();
        assert!(game.is_over());
        assert_eq!(game.black_discs(), Discs(64));
        assert_eq!(game.transcript(), "e6f4e3f6g5d6e7f5c5");
    }

    #[test]
    fn a_pass_is_a_ply_and_not_a_move() {
        let mut game = Game::new();
        while !game.is_over() {
            let (square, _) = game.current().position.children().next().unwrap();
            game.play(square).unwrap();
        }
        let empties = game.current().position.empties();
        assert_eq!(game.moves().len(), 60 - usize::from(empties));
        assert!(usize::from(game.ply().0) >= game.moves().len());
        assert!(game.play("a1".parse().unwrap()).is_err());
    }
}
