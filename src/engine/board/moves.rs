//! Legal moves and flips.

mod portable;

use super::square::Square;

/// The empty squares on which `player` may play.
#[must_use]
#[inline]
pub fn legal_moves(player: u64, opponent: u64) -> u64 {
    portable::legal_moves(player, opponent)
}

/// The discs of `opponent` that `player` turns over by a move on `square`.
#[must_use]
#[inline]
pub fn flips(player: u64, opponent: u64, square: Square) -> u64 {
    portable::flips(player, opponent, square)
}
