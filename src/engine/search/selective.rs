//! Forward pruning and extensions, as the shogi literature has them. The plain search, by which
//! stages play and label unless a config says otherwise, compiles without them.

use crate::engine::score::Score;

/// Plies that an extension adds.
pub(super) const EXTENSION_PLIES: u8 = 2;

/// Where a search looks two plies further: the last move lost static value, the reply turns over
/// the disc that it placed, and the value of the reply does not exceed beta. A line is extended at
/// most once.
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
    pub const NONE: Self = Self {
        threshold: None,
        rank: None,
        extension: None,
    };
}
