//! A node of the search by depth.

use super::candidates::{Candidate, Linear};
use crate::engine::board::position::Position;

/// Plies of the longest line: 60 moves, each followed by at most one pass, and the root.
pub const PLIES: usize = 128;

/// A position with its legal moves and the ply of its accumulator.
#[derive(Clone, Copy)]
pub struct Node {
    pub position: Position,
    pub moves: u64,
    pub ply: usize,
    pub linear: Linear,
}

impl Node {
    /// The node that a move leads to.
    #[inline(always)]
    pub const fn after(&self, candidate: &Candidate) -> Self {
        Self {
            position: candidate.play(self.position),
            moves: candidate.replies,
            ply: self.ply + 1,
            linear: candidate.linear,
        }
    }
}
