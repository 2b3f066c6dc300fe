//! A node of the search by depth.

use super::candidates::{Candidate, Linear};
use crate::engine::board::position::Position;

/// Plies of the longest line: 60 moves, each followed by at most one pass, and the root.
pub(super) const PLIES: usize = 128;

/// A position with its legal moves and the ply of its accumulator.
#[derive(Clone, Copy)]
pub(super) struct Node {
    pub(super) position: Position,
    pub(super) moves: u64,
    pub(super) ply: usize,
    pub(super) linear: Linear,
}

impl Node {
    #[inline(always)]
    pub(super) const fn empties(&self) -> u8 {
        self.position.empties()
    }

    /// The node that a move leads to.
    #[inline(always)]
    pub(super) const fn after(&self, candidate: &Candidate) -> Self {
        Self {
            position: candidate.play(self.position),
            moves: candidate.replies,
            ply: self.ply + 1,
            linear: candidate.linear,
        }
    }

    /// The node that a pass leads to, with the opponent's legal moves.
    #[inline(always)]
    pub(super) const fn passed(&self, moves: u64) -> Self {
        Self { position: self.position.pass(), moves, ply: self.ply + 1, linear: Linear::UNKNOWN }
    }
}
