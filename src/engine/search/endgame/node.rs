//! A node of the exact search, and the parity of its regions.

use super::super::candidates::{Candidate, UNKNOWN};
use super::super::midgame::Node;
use crate::engine::board::kernel::Kernel;
use crate::engine::board::position::Position;

/// A node of the exact search; `moves` may be empty.
#[derive(Clone, Copy)]
pub(in crate::engine::search) struct EndNode {
    pub(in crate::engine::search) player: u64,
    pub(in crate::engine::search) opponent: u64,
    pub(in crate::engine::search) moves: u64,
    pub(in crate::engine::search) empties: u32,
    pub(in crate::engine::search) parity: Parity,
    pub(in crate::engine::search) ply: usize,
}

/// Which of the four quarters of the board have an odd number of empty squares.
#[derive(Clone, Copy)]
pub(in crate::engine::search) struct Parity(u32);

const QUARTER: u64 = 0x0000_0000_0F0F_0F0F;
const QUARTERS: [u64; 4] = [QUARTER, QUARTER << 4, QUARTER << 32, QUARTER << 36];

/// The squares of the odd quarters.
static ODD_SQUARES: [u64; 16] = {
    let mut table = [0; 16];
    let mut parity = 0;
    while parity < 16 {
        let mut quarter = 0;
        while quarter < 4 {
            if parity >> quarter & 1 != 0 {
                table[parity] |= QUARTERS[quarter];
            }
            quarter += 1;
        }
        parity += 1;
    }
    table
};

impl Parity {
    pub(in crate::engine::search) fn new(empty: u64) -> Self {
        let odd = |quarter: usize| (empty & QUARTERS[quarter]).count_ones() & 1;
        Self(odd(0) | odd(1) << 1 | odd(2) << 2 | odd(3) << 3)
    }

    /// After a disc was placed on `square`.
    #[inline(always)]
    pub(in crate::engine::search) const fn toggled(self, square: usize) -> Self {
        Self(self.0 ^ 1 << (square >> 2 & 1 | square >> 4 & 2))
    }

    #[inline(always)]
    pub(in crate::engine::search) fn odd_squares(self) -> u64 {
        ODD_SQUARES[self.0 as usize & 15]
    }
}

impl EndNode {
    pub(in crate::engine::search) fn root<K: Kernel>(position: Position) -> Self {
        let (player, opponent) = (position.player(), position.opponent());
        let moves = K::legal_moves(player, opponent);
        let empties = u32::from(position.empties());
        Self { player, opponent, moves, empties, parity: Parity::new(position.empty()), ply: 0 }
    }

    #[inline(always)]
    pub(in crate::engine::search) const fn position(&self) -> Position {
        Position::new_unchecked(self.player, self.opponent)
    }

    #[inline(always)]
    pub(in crate::engine::search) const fn after(&self, candidate: &Candidate) -> Self {
        let (player, opponent) = candidate.play(self.player, self.opponent);
        Self {
            player,
            opponent,
            moves: candidate.replies,
            empties: self.empties - 1,
            parity: self.parity.toggled(candidate.index()),
            ply: self.ply + 1,
        }
    }

    #[inline(always)]
    pub(in crate::engine::search) const fn midgame(&self) -> Node {
        Node { player: self.player, opponent: self.opponent, moves: self.moves, ply: self.ply, value: UNKNOWN }
    }
}
