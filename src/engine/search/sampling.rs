//! Samples of the nodes that a search visits.

use super::depth::Depth;
use super::node::Node;
use crate::engine::board::position::Position;
use crate::engine::score::Score;

/// Which node of a search tree to sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeRequest {
    /// Its remaining depth, at least 2.
    pub depth: Depth,
    /// Chooses among the nodes of this depth: the one whose hash with this number is least is
    /// sampled.
    pub choice: u64,
}

/// A null-window node of a search tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampledNode {
    /// Its side to move has a move.
    pub position: Position,
    /// The search asked whether the value is greater than this.
    pub alpha: Score,
}

/// Finds the node that a request asks for.
pub(super) struct NodeSampler {
    pub(super) request: NodeRequest,
    /// The node of the least hash so far.
    pub(super) least: Option<(u64, SampledNode)>,
}

impl NodeSampler {
    /// Considers a null-window node.
    pub(super) fn visit(&mut self, node: &Node, alpha: Score, depth: Depth) {
        if depth != self.request.depth {
            return;
        }
        let position = node.position;
        let hash = mix(mix(position.player() ^ self.request.choice) ^ position.opponent());
        if self.least.is_none_or(|(least, _)| hash < least) {
            self.least = Some((hash, SampledNode { position, alpha }));
        }
    }
}

/// A permutation of 64-bit numbers that spreads every bit (Steele, Lea and Flood, "Fast splittable
/// pseudorandom number generators", 2014).
const fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let number = (number ^ number >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ number >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ number >> 31
}
