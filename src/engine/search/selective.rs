//! Forward pruning and extensions, as the shogi literature has them. The plain search, by which stages play and label unless
//! a config says otherwise, compiles without them.

use super::candidates::Candidate;
use super::depth::Depth;
use super::node::{Node, PLIES};
use crate::engine::score::Score;

/// Plies that an extension adds.
pub(super) const EXTENSION_PLIES: u8 = 2;

/// Where a search looks two plies further: the last move lost static value, the reply turns over the disc that it placed, and
/// the value of the reply does not exceed beta. A line is extended at most once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extension {
    /// Where one ply is left.
    Horizon,
    /// At every remaining depth.
    EveryDepth,
}

/// Forward pruning and extensions; none by default. With any of them a score bounds nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selective {
    /// Skip every move but the first whose static value is this much below that of the position.
    pub threshold: Option<Score>,
    /// Search only this many moves of a position, in the order of the search; at least 1.
    pub rank: Option<u8>,
    /// Search some replies again, two plies deeper.
    pub extension: Option<Extension>,
}

impl Selective {
    /// The plain search.
    pub const NONE: Self = Self { threshold: None, rank: None, extension: None };
}

/// A move on the way to a node.
#[derive(Clone, Copy)]
struct LastMove {
    disc: u64,
    lost_value: bool,
}

impl LastMove {
    const PASS: Self = Self { disc: 0, lost_value: false };
}

/// Decides what to prune and what to extend on the current line.
pub(super) struct Pruner {
    selective: Selective,
    last_moves: [LastMove; PLIES], // [ply]
    extending: bool,
}

impl Pruner {
    pub(super) const fn new(selective: Selective) -> Self {
        Self { selective, last_moves: [LastMove::PASS; PLIES], extending: false }
    }

    /// A pass leads to `ply`.
    pub(super) const fn pass(&mut self, ply: usize) {
        self.last_moves[ply] = LastMove::PASS;
    }

    /// Whether the rank alone skips the move searched as number `turn`, from 0.
    #[inline(always)]
    pub(super) fn skips_rank(&self, turn: usize) -> bool {
        turn != 0 && self.selective.rank.is_some_and(|rank| usize::from(rank) <= turn)
    }

    /// Whether [`Pruner::skips`] needs the values of moves.
    #[inline(always)]
    pub(super) const fn needs_values(&self) -> bool {
        self.selective.threshold.is_some() || self.selective.extension.is_some()
    }

    /// Whether the move searched as number `turn` falls below the threshold, by the static values of the node and of the
    /// move; otherwise it is recorded as played.
    #[inline(always)]
    pub(super) fn skips(
        &mut self,
        node: &Node,
        candidate: &Candidate,
        turn: usize,
        node_value: Score,
        value: Score,
    ) -> bool {
        if turn != 0 && self.selective.threshold.is_some_and(|threshold| value < node_value - threshold) {
            return true;
        }
        self.last_moves[node.ply + 1] = LastMove { disc: candidate.square.bit(), lost_value: value < node_value };
        false
    }

    /// Whether a reply with this value in a node with `depth` plies left calls for an extension, which then lasts until
    /// [`Pruner::end_extension`].
    #[inline(always)]
    pub(super) fn begin_extension(&mut self, node: &Node, flips: u64, value: Score, beta: Score, depth: Depth) -> bool {
        let here = match self.selective.extension {
            None => false,
            Some(Extension::Horizon) => depth == Depth(1),
            Some(Extension::EveryDepth) => true,
        };
        let last = self.last_moves[node.ply];
        let begins = here
            && !self.extending
            && last.lost_value
            && flips & last.disc != 0
            && value <= beta
            && depth + EXTENSION_PLIES <= Depth(node.empties());
        self.extending |= begins;
        begins
    }

    pub(super) const fn end_extension(&mut self) {
        self.extending = false;
    }
}
