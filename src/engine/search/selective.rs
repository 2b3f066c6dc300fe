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

/// Decides what to prune and what to extend on the current line.
pub(super) struct Pruner {
    selective: Selective,
    /// The disc of the move that led to each ply, if it lost static value.
    pub(super) lost_value: [u64; PLIES], // [ply]
    pub(super) extending: bool,
}

impl Pruner {
    pub(super) const fn new(selective: Selective) -> Self {
        Self { selective, lost_value: [0; PLIES], extending: false }
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
        self.lost_value[node.ply + 1] = if value < node_value { candidate.square.bit() } else { 0 };
        false
    }

    /// Whether a reply with this value in a node with `depth` plies left calls for an extension, which then lasts as long
    /// as `extending`.
    #[inline(always)]
    pub(super) fn begin_extension(&mut self, node: &Node, flips: u64, value: Score, beta: Score, depth: Depth) -> bool {
        let here = match self.selective.extension {
            None => false,
            Some(Extension::Horizon) => depth == Depth(1),
            Some(Extension::EveryDepth) => true,
        };
        let begins = here
            && !self.extending
            && flips & self.lost_value[node.ply] != 0
            && value <= beta
            && depth + EXTENSION_PLIES <= Depth(node.empties());
        self.extending |= begins;
        begins
    }
}
