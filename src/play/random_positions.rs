//! Positions reached by random play: the same ones everywhere, for benchmarks.

use crate::engine::{Game, Position, Squares};
use crate::random::{Stream, stream};

/// `count` positions with this number of empty squares, or with 20 to 50 if none is given.
///
/// # Panics
///
/// If a game that is not over had no legal move.
pub fn random_positions(count: usize, empties: Option<u8>) -> Vec<Position> {
    (0..).filter_map(|id| random_position(id, empties)).take(count).collect()
}

/// The position of one game; none if the game ends first.
fn random_position(id: u64, empties: Option<u8>) -> Option<Position> {
    let mut rng = stream(0, Stream::Game(0, id));
    let empties = empties.unwrap_or_else(|| 20 + rng.below(31) as u8);
    let mut game = Game::default();
    while !game.is_over() && empties < game.to_move().position.empties() {
        let square = rng.pick(Squares(game.to_move().position.legal_moves()));
        game.play(square.expect("the side to move has a move")).expect("the move is legal");
    }
    (!game.is_over()).then(|| game.to_move().position)
}
