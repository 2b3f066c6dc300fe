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
}
