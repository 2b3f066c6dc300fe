//! How far a search goes.

use super::mpc::MpcLevel;
use super::selective::Selective;
use std::ops::{Add, Sub};

/// Plies that a search looks ahead; a pass takes none.
///
/// ```
/// use renma::engine::search::limits::{Depth, Limits};
/// let limits = Limits::full_width(Depth(6));
/// assert_eq!(limits.depth, Depth(6));
/// ```
///
/// ```compile_fail,E0308
/// use renma::engine::game::Ply;
/// use renma::engine::search::limits::{Depth, Limits};
/// let limits = Limits::full_width(Ply(6));
/// assert_eq!(limits.depth, Depth(6));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Depth(pub u8);

impl Depth {
    /// The deepest search: it fills every empty square of the first position.
    pub const MAX: Self = Self(60);
}

impl Add<u8> for Depth {
    type Output = Self;

    #[inline]
    fn add(self, plies: u8) -> Self {
        Self(self.0 + plies)
    }
}

impl Sub<u8> for Depth {
    type Output = Self;

    #[inline]
    fn sub(self, plies: u8) -> Self {
        Self(self.0 - plies)
    }
}

/// What a search may spend, in units that give the same result on every machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Depth 0 is the static value.
    pub depth: Depth,
    /// Solve exactly with at most this many empty squares; 0 never does.
    pub exact_empties: u8,
    /// Prove who wins with at most this many empty squares; 0 never does.
    pub wld_empties: u8,
    /// Stop after this many nodes, at the last finished iteration.
    pub nodes: Option<u64>,
    /// How certain a selective cut must be.
    pub mpc: MpcLevel,
    /// Forward pruning and extensions of the search by depth; exact searches have none.
    pub selective: Selective,
}

impl Limits {
    /// A full-width search of this depth, without an endgame solver.
    #[must_use]
    pub const fn full_width(depth: Depth) -> Self {
        let (mpc, selective) = (MpcLevel::FullWidth, Selective::NONE);
        Self { depth, exact_empties: 0, wld_empties: 0, nodes: None, mpc, selective }
    }
}
