//! What a search can do beyond its plain form: forward pruning and extensions, as the shogi books have them, and a look at the
//! nodes that it meets. The plain policy, by which stages play and label unless a config says otherwise, compiles to nothing.

use super::midgame::{Node, value_after};
use super::run::{PLIES, Run};
use crate::engine::board::kernel::Kernel;
use crate::engine::board::position::Position;

/// Plies that an extension looks further.
pub(super) const EXTENSION_PLIES: u8 = 2;

/// Where a search looks two plies further: where the last move lost static value, the reply turns over the disc that it
/// placed, and the value of the reply does not exceed beta. A line is extended once at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extension {
    /// Where one ply is left.
    Horizon,
    /// At every remaining depth.
    EveryDepth,
}

/// Forward pruning and extensions; none by default. Scores are then no bounds of anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selective {
    /// Leave out moves but the first whose static value is so many millidiscs below that of the position.
    pub threshold: Option<i32>,
    /// Search so many moves of a position only, in the order of the search; at least 1.
    pub rank: Option<u8>,
    /// Search some replies again, two plies deeper.
    pub extension: Option<Extension>,
}

impl Selective {
    /// The plain search.
    pub const NONE: Self = Self { threshold: None, rank: None, extension: None };
}

/// A node to look for in the tree of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Its remaining depth, at least 2.
    pub depth: u8,
    /// Which of the nodes of this depth: the one whose hash with this number is least.
    pub choice: u64,
}

/// A null-window node that a search met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Met {
    /// The position, whose side to move has a move.
    pub position: Position,
    /// The window asked whether the value is above this, in millidiscs.
    pub alpha: i32,
}

/// What is compiled into a search.
pub(super) trait Policy {
    const ON: bool;
}

/// Nothing.
pub(super) struct Plain;

impl Policy for Plain {
    const ON: bool = false;
}

/// What the [`Extras`] of the run say.
pub(super) struct WithExtras;

impl Policy for WithExtras {
    const ON: bool = true;
}

/// A move on the way to a node.
#[derive(Clone, Copy)]
struct LastMove {
    disc: u64,
    lost: bool,
}

/// What a search beyond the plain one needs to know and finds out.
pub(super) struct Extras {
    selective: Selective,
    wanted: Option<Wanted>,
    met: Option<(u64, Met)>,
    last_moves: [LastMove; PLIES], // [ply]
    extending: bool,
}

impl Extras {
    pub(super) const fn new(selective: Selective, wanted: Option<Wanted>) -> Self {
        let last_moves = [LastMove { disc: 0, lost: false }; PLIES];
        Self { selective, wanted, met: None, last_moves, extending: false }
    }

    pub(super) fn met(&self) -> Option<Met> {
        self.met.map(|(_, met)| met)
    }

    /// A pass places no disc.
    pub(super) const fn forget_last_move(&mut self, ply: usize) {
        self.last_moves[ply] = LastMove { disc: 0, lost: false };
    }

    /// Looks at a null-window node.
    pub(super) fn look_at(&mut self, node: &Node, alpha: i32, depth: u8) {
        let Some(wanted) = self.wanted.filter(|wanted| wanted.depth == depth) else { return };
        let hash = mixed(mixed(node.player ^ wanted.choice) ^ node.opponent);
        if self.met.is_none_or(|(least, _)| hash < least) {
            self.met = Some((hash, Met { position: node.position(), alpha }));
        }
    }
}

/// A permutation of 64-bit numbers that spreads every bit (Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", 2014).
const fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let number = (number ^ number >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ number >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ number >> 31
}

/// Looks at the moves of one node: which to leave out, and what the horizon needs to know of those played.
pub(super) struct Moves {
    selective: Selective,
    /// The static value of the node, from its side to move.
    value: i32,
}

impl Moves {
    #[inline(always)]
    pub(super) fn of(run: &Run<'_>, value: i32) -> Self {
        let selective = run.extras.as_ref().map_or(Selective::NONE, |extras| extras.selective);
        Self { selective, value }
    }

    /// Whether to leave out the move searched as number `turn`, from 0; otherwise it is remembered as played.
    #[inline(always)]
    pub(super) fn skip<K: Kernel>(
        &self,
        run: &mut Run<'_>,
        node: &Node,
        candidate: &super::candidates::Candidate,
        turn: usize,
    ) -> bool {
        if turn != 0 && self.selective.rank.is_some_and(|rank| usize::from(rank) <= turn) {
            return true;
        }
        if self.selective.threshold.is_none() && self.selective.extension.is_none() {
            return false;
        }
        let value = value_after::<K>(run, node, candidate, 0);
        if turn != 0 && self.selective.threshold.is_some_and(|threshold| value < self.value - threshold) {
            return true;
        }
        if let Some(extras) = run.extras.as_mut() {
            extras.last_moves[node.ply + 1] = LastMove { disc: 1 << candidate.index(), lost: value < self.value };
        }
        false
    }
}

/// Whether a reply in a node with `depth` plies left calls for an extension; then one is under way until [`end_extension`].
#[inline(always)]
pub(super) fn begin_extension(run: &mut Run<'_>, node: &Node, flips: u64, value: i32, beta: i32, depth: u8) -> bool {
    let Some(extras) = run.extras.as_mut() else { return false };
    let here = match extras.selective.extension {
        None => false,
        Some(Extension::Horizon) => depth == 1,
        Some(Extension::EveryDepth) => true,
    };
    let last = extras.last_moves[node.ply];
    let begins = here
        && !extras.extending
        && last.lost
        && flips & last.disc != 0
        && value <= beta
        && u32::from(depth + EXTENSION_PLIES) <= node.empties();
    extras.extending |= begins;
    begins
}

/// The extension is over.
#[inline(always)]
pub(super) fn end_extension(run: &mut Run<'_>) {
    if let Some(extras) = run.extras.as_mut() {
        extras.extending = false;
    }
}
