//! A position, seen by the side to move.

use super::kernel::{Kernel, KernelChoice, kernel_entry, with_kernel};
use super::moves;
use super::square::{Square, Squares};
use super::stability::stable_discs;
use super::symmetry::Symmetry;
use crate::engine::score::Discs;

/// The discs of the side to move, as a set of squares: bit 0 is a1, bit 63 is h8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Player(pub u64);

/// The discs of the side that is not to move, as a set of squares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opponent(pub u64);

/// Discs of the side to move and of the opponent; the sets are disjoint.
///
/// Every question about a board is put to a position. For the other side, ask [`Position::pass`].
///
/// ```
/// use renma::engine::{Position, Squares};
///
/// //   a b c d e f g h
/// // 3 - - - * - - - -
/// // 4 - - * O X - - -      * where black (X) may play
/// // 5 - - - X O * - -
/// // 6 - - - - * - - -
/// let start = Position::START;
/// let moves: Vec<String> = Squares(start.legal_moves()).map(|square| square.to_string()).collect();
/// assert_eq!(moves, ["d3", "c4", "f5", "e6"]);
///
/// // 4 - - - O X - - -
/// // 5 - - - X X X - -      white (O) to move
/// let after = start.play("f5".parse()?).expect("f5 is legal");
/// assert_eq!((after.player().count_ones(), after.opponent().count_ones()), (1, 4));
/// assert_eq!(start.play("a1".parse()?), None);
/// # Ok::<(), renma::engine::SquareError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    player: u64,
    opponent: u64,
}

impl Position {
    /// Black to move: black on e4 and d5, white on d4 and e5.
    pub const START: Self = Self {
        player: 0x0000_0008_1000_0000,
        opponent: 0x0000_0010_0800_0000,
    };

    /// A position, unless a square holds discs of both sides.
    ///
    /// ```
    /// use renma::engine::board::position::{Opponent, Player, Position};
    /// let (player, opponent) = (Player(0x0000_0008_1000_0000), Opponent(0x0000_0010_0800_0000));
    /// assert_eq!(Position::new(player, opponent), Some(Position::START));
    /// ```
    ///
    /// ```compile_fail,E0308
    /// use renma::engine::board::position::{Opponent, Player, Position};
    /// let (player, opponent) = (Player(0x0000_0008_1000_0000), Opponent(0x0000_0010_0800_0000));
    /// assert_eq!(Position::new(opponent, player), Some(Position::START));
    /// ```
    #[inline]
    pub const fn new(Player(player): Player, Opponent(opponent): Opponent) -> Option<Self> {
        if player & opponent == 0 {
            Some(Self { player, opponent })
        } else {
            None
        }
    }

    /// The discs of the side to move.
    #[inline]
    pub const fn player(self) -> u64 {
        self.player
    }

    /// The discs of the other side.
    #[inline]
    pub const fn opponent(self) -> u64 {
        self.opponent
    }

    /// The empty squares as a set.
    #[inline]
    pub const fn empty(self) -> u64 {
        !(self.player | self.opponent)
    }

    /// The number of empty squares.
    #[inline]
    pub const fn empties(self) -> u8 {
        self.empty().count_ones() as u8
    }

    /// The squares on which the side to move may play.
    #[inline]
    pub fn legal_moves(self) -> u64 {
        with_kernel!(KernelChoice::detect(), legal_moves(self))
    }

    /// The discs that a move on `square` turns over; none if it is not legal on an empty square.
    #[inline]
    pub fn flips(self, square: Square) -> u64 {
        with_kernel!(KernelChoice::detect(), flips(self, square))
    }

    /// The position after a move, seen by the opponent; `None` if the move is illegal.
    #[inline]
    pub fn play(self, square: Square) -> Option<Self> {
        let flips = self.flips(square);
        if flips == 0 || self.empty() & square.bit() == 0 {
            return None;
        }
        Some(self.play_unchecked(square, flips))
    }

    /// The position after a move that turns over `flips`, as [`Position::flips`] gave them.
    #[inline]
    pub(in crate::engine) const fn play_unchecked(self, square: Square, flips: u64) -> Self {
        Self {
            player: self.opponent ^ flips,
            opponent: self.player ^ flips ^ square.bit(),
        }
    }

    /// The same board with the other side to move.
    #[inline]
    pub const fn pass(self) -> Self {
        Self {
            player: self.opponent,
            opponent: self.player,
        }
    }

    /// Whether neither side has a move.
    pub fn is_over(self) -> bool {
        self.legal_moves() == 0 && self.pass().legal_moves() == 0
    }

    /// [`Position::legal_moves`], with the kernel `K`.
    #[inline(always)]
    pub(in crate::engine) fn legal_moves_by<K: Kernel>(self) -> u64 {
        moves::legal_moves::<K>(self.player, self.opponent)
    }

    /// [`Position::flips`], with the kernel `K`.
    #[inline(always)]
    pub(in crate::engine) fn flips_by<K: Kernel>(self, square: Square) -> u64 {
        moves::flips::<K>(self.player, self.opponent, square.index())
    }

    /// The number of discs that the side to move turns over on the only empty square.
    #[inline(always)]
    pub(in crate::engine) fn last_flip_count<K: Kernel>(self, square: Square) -> i32 {
        moves::last_flip_count::<K>(self.player, square.index()) as i32
    }

    /// Discs of the side to move that no sequence of moves can turn over, though not all of them.
    #[inline(always)]
    pub(in crate::engine) fn stable_discs(self) -> u64 {
        stable_discs(self.player, self.player | self.opponent)
    }

    /// The final difference for the side to move.
    #[inline]
    pub const fn final_discs(self) -> Discs {
        let player = self.player.count_ones() as i32;
        let opponent = self.opponent.count_ones() as i32;
        let empties = 64 - player - opponent;
        let difference = player - opponent;
        Discs(difference + difference.signum() * empties)
    }

    /// The image of the board under a symmetry.
    pub fn transform(self, symmetry: Symmetry) -> Self {
        Self {
            player: symmetry.set(self.player),
            opponent: symmetry.set(self.opponent),
        }
    }

    /// The smallest of the eight images, the same for all positions equal up to symmetry.
    pub fn canonical(self) -> Self {
        Symmetry::all()
            .map(|symmetry| self.transform(symmetry))
            .fold(self, Self::min)
    }

    /// The legal moves with the positions they lead to, squares ascending.
    pub fn children(self) -> impl Iterator<Item = (Square, Self)> {
        Squares(self.legal_moves())
            .map(move |square| (square, self.play_unchecked(square, self.flips(square))))
    }
}

kernel_entry! {
    fn legal_moves(position: Position) -> u64 = Position::legal_moves_by;

    fn flips(position: Position, square: Square) -> u64 = Position::flips_by;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_moves_are_those_of_the_rules() {
        let moves: Vec<String> = Position::START
            .children()
            .map(|(square, _)| square.to_string())
            .collect();
        assert_eq!(moves, ["d3", "c4", "f5", "e6"]);
        assert!(Position::START.play("a1".parse().unwrap()).is_none());
        assert!(Position::START.play("d4".parse().unwrap()).is_none());
    }

    #[test]
    fn empties_count_for_the_winner() {
        let position =
            |player, opponent| Position::new(Player(player), Opponent(opponent)).unwrap();
        let wiped_out = position(0b111, 0);
        assert_eq!(wiped_out.final_discs(), Discs(64));
        assert_eq!(wiped_out.pass().final_discs(), Discs(-64));
        assert_eq!(position(0b1, 0b10).final_discs(), Discs(0));
        assert_eq!(position(0b101, 0b10).final_discs(), Discs(62));
        assert!(wiped_out.is_over());
    }

    #[test]
    fn playing_commutes_with_the_symmetries() {
        let mut position = Position::START;
        while let Some((square, next)) = position.children().last() {
            for symmetry in Symmetry::all() {
                let image = position.transform(symmetry).play(symmetry.square(square));
                assert_eq!(image, Some(next.transform(symmetry)));
                assert_eq!(
                    position.canonical(),
                    position.transform(symmetry).canonical()
                );
            }
            position = next;
        }
    }
}
