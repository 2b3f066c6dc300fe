//! How far a search looks ahead.

use std::ops::{Add, Sub};

/// Plies that a search looks ahead; a pass takes none.
///
/// ```
/// use renma::engine::search::depth::Depth;
/// use renma::engine::search::limits::Limits;
/// let limits = Limits::full_width(Depth(6));
/// assert_eq!(limits.depth, Depth(6));
/// ```
///
/// ```compile_fail,E0308
/// use renma::engine::game::Ply;
/// use renma::engine::search::depth::Depth;
/// use renma::engine::search::limits::Limits;
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
