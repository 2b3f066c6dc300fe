//! A position, seen by the side to move.

use super::moves;
use super::square::{Square, Squares};
use super::symmetry::Symmetry;

/// Discs of the side to move and of the opponent; the sets are disjoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    player: u64,
    opponent: u64,
}

impl Position {
    /// Black to move: black on e4 and d5, white on d4 and e5.
    pub const START: Self = Self { player: 0x0000_0008_1000_0000, opponent: 0x0000_0010_0800_0000 };

    /// A position, unless a square is claimed by both sides.
    #[must_use]
    #[inline]
    pub const fn new(player: u64, opponent: u64) -> Option<Self> {
        if player & opponent == 0 { Some(Self { player, opponent }) } else { None }
    }

    /// A position whose sets the caller knows to be disjoint.
    #[must_use]
    #[inline(always)]
    pub(in crate::engine) const fn new_unchecked(player: u64, opponent: u64) -> Self {
        debug_assert!(player & opponent == 0);
        Self { player, opponent }
    }

    /// The discs of the side to move.
    #[must_use]
    #[inline]
    pub const fn player(self) -> u64 {
        self.player
    }

    /// The discs of the other side.
    #[must_use]
    #[inline]
    pub const fn opponent(self) -> u64 {
        self.opponent
    }

    /// The empty squares as a set.
    #[must_use]
    #[inline]
    pub const fn empty(self) -> u64 {
        !(self.player | self.opponent)
    }

    /// The number of empty squares.
    #[must_use]
    #[inline]
    pub const fn empties(self) -> u8 {
        self.empty().count_ones() as u8
    }

    /// The squares on which the side to move may play.
    #[must_use]
    #[inline]
    pub fn legal_moves(self) -> u64 {
        moves::legal_moves(self.player, self.opponent)
    }

    /// The discs that a move on `square` turns over; empty for a square that turns none.
    #[must_use]
    #[inline]
    pub fn flips(self, square: Square) -> u64 {
        moves::flips(self.player, self.opponent, square)
    }

    /// The position after a move, seen by the opponent; `None` if the move is illegal.
    #[must_use]
    #[inline]
    pub fn play(self, square: Square) -> Option<Self> {
        let flips = self.flips(square);
        if flips == 0 || self.empty() & square.bit() == 0 {
            return None;
        }
        Some(self.play_unchecked(square, flips))
    }

    /// The position after a move that turns over `flips`, as [`Position::flips`] gave them.
    #[must_use]
    #[inline]
    pub const fn play_unchecked(self, square: Square, flips: u64) -> Self {
        Self { player: self.opponent ^ flips, opponent: self.player ^ flips ^ square.bit() }
    }

    /// The same board with the other side to move.
    #[must_use]
    #[inline]
    pub const fn pass(self) -> Self {
        Self { player: self.opponent, opponent: self.player }
    }

    /// Whether neither side has a move.
    #[must_use]
    pub fn is_over(self) -> bool {
        self.legal_moves() == 0 && self.pass().legal_moves() == 0
    }

    /// The final disc difference for the side to move, empties counted for the winner: −64 to 64.
    #[must_use]
    #[inline]
    pub const fn final_discs(self) -> i32 {
        let player = self.player.count_ones() as i32;
        let opponent = self.opponent.count_ones() as i32;
        let empties = 64 - player - opponent;
        let difference = player - opponent;
        difference + difference.signum() * empties
    }

    /// The image of the board under a symmetry.
    #[must_use]
    pub fn transform(self, symmetry: Symmetry) -> Self {
        Self { player: symmetry.set(self.player), opponent: symmetry.set(self.opponent) }
    }

    /// The smallest of the eight images, the same for all positions equal up to symmetry.
    #[must_use]
    pub fn canonical(self) -> Self {
        Symmetry::all().map(|symmetry| self.transform(symmetry)).fold(self, Self::min)
    }

    /// The legal moves with the positions they lead to, squares ascending.
    pub fn children(self) -> impl Iterator<Item = (Square, Self)> {
        Squares(self.legal_moves()).map(move |square| (square, self.play_unchecked(square, self.flips(square))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_moves_are_those_of_the_rules() {
        let moves: Vec<String> = Position::START.children().map(|(square, _)| square.to_string()).collect();
        assert_eq!(moves, ["d3", "c4", "f5", "e6"]);
        assert!(Position::START.play("a1".parse().unwrap()).is_none());
        assert!(Position::START.play("d4".parse().unwrap()).is_none());
    }

    #[test]
    fn empties_count_for_the_winner() {
        let wiped_out = Position::new(0b111, 0).unwrap();
        assert_eq!(wiped_out.final_discs(), 64);
        assert_eq!(wiped_out.pass().final_discs(), -64);
        assert_eq!(Position::new(0b1, 0b10).unwrap().final_discs(), 0);
        assert_eq!(Position::new(0b101, 0b10).unwrap().final_discs(), 62);
        assert!(wiped_out.is_over());
    }

    #[test]
    fn playing_commutes_with_the_symmetries() {
        let mut position = Position::START;
        while let Some((square, next)) = position.children().last() {
            for symmetry in Symmetry::all() {
                let image = position.transform(symmetry).play(symmetry.square(square));
                assert_eq!(image, Some(next.transform(symmetry)));
                assert_eq!(position.canonical(), position.transform(symmetry).canonical());
            }
            position = next;
        }
    }
}
