//! What the backends work on.

use crate::engine::eval::pattern_set::LANES;

/// The indices of as many instances as one vector holds; arithmetic wraps.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub struct Block(pub [u16; LANES]);

impl Block {
    pub const ZERO: Self = Self([0; LANES]);

    #[inline(always)]
    pub fn plus(self, other: Self) -> Self {
        Self(std::array::from_fn(|lane| {
            self.0[lane].wrapping_add(other.0[lane])
        }))
    }

    #[inline(always)]
    pub fn minus(self, other: Self) -> Self {
        Self(std::array::from_fn(|lane| {
            self.0[lane].wrapping_sub(other.0[lane])
        }))
    }
}

/// Where in a phase the table of each lane's instance begins; lanes without one read the zero.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub struct Begins(pub [u32; LANES]);

/// What a move does to `BLOCKS` blocks.
pub struct Change<'a, const BLOCKS: usize, Flipped> {
    pub before: &'a [Block; BLOCKS],
    pub swap: &'a [Block; BLOCKS],
    pub placed: &'a [Block; BLOCKS],
    pub flipped: Flipped,
}
