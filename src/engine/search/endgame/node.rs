//! A node of the exact search, and the parity of its regions.

use crate::engine::board::kernel::Kernel;
use crate::engine::board::position::Position;
use crate::engine::board::square::Square;
use crate::engine::search::candidates::{Candidate, Linear};
use crate::engine::search::depth::Depth;
use crate::engine::search::node::Node;

/// From this many empty squares on, moves are ordered by the evaluation.
pub const GUIDED_EMPTIES_MIN: u32 = 12;

/// A node of the exact search; `moves` may be empty.
#[derive(Clone, Copy)]
pub struct EndNode {
    pub position: Position,
    pub moves: u64,
    pub empties: u32,
    pub parity: Parity,
    pub ply: usize,
    /// Whether all moves are expected to fail, because this node follows the first move of one that
    /// is expected to be cut.
    pub fails_low: bool,
}

/// Which of the four quarters of the board have an odd number of empty squares.
#[derive(Clone, Copy)]
pub struct Parity(u32);

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
    pub fn new(empty: u64) -> Self {
        let odd = |quarter: usize| (empty & QUARTERS[quarter]).count_ones() & 1;
        Self(odd(0) | odd(1) << 1 | odd(2) << 2 | odd(3) << 3)
    }

    /// After a disc was placed on `square`.
    #[inline(always)]
    pub const fn toggled(self, square: Square) -> Self {
        Self(self.0 ^ 1 << (square.number() >> 2 & 1 | square.number() >> 4 & 2))
    }

    #[inline(always)]
    pub fn odd_squares(self) -> u64 {
        ODD_SQUARES[self.0 as usize & 15]
    }
}

impl EndNode {
    pub fn root<K: Kernel>(position: Position) -> Self {
        let (moves, empties) = (
            position.legal_moves_by::<K>(),
            u32::from(position.empties()),
        );
        Self {
            position,
            moves,
            empties,
            parity: Parity::new(position.empty()),
            ply: 0,
            fails_low: false,
        }
    }

    /// The depth of a search to the end.
    #[inline(always)]
    pub const fn depth(&self) -> Depth {
        Depth(self.empties as u8)
    }

    #[inline(always)]
    pub const fn after(&self, candidate: &Candidate, fails_low: bool) -> Self {
        Self {
            position: candidate.play(self.position),
            moves: candidate.replies,
            empties: self.empties - 1,
            parity: self.parity.toggled(candidate.square),
            ply: self.ply + 1,
            fails_low,
        }
    }

    /// The same node for the search by depth.
    #[inline(always)]
    pub const fn midgame(&self) -> Node {
        Node {
            position: self.position,
            moves: self.moves,
            ply: self.ply,
            linear: Linear::UNKNOWN,
        }
    }
}
