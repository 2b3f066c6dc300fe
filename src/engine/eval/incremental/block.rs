//! What the backends work on.

use crate::engine::eval::pattern_set::LANES;

/// The indices of as many instances as one vector holds; arithmetic wraps.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(super) struct Block(pub(super) [u16; LANES]);

impl Block {
    pub(super) const ZERO: Self = Self([0; LANES]);

    #[inline(always)]
    pub(super) fn plus(self, other: Self) -> Self {
        Self(std::array::from_fn(|lane| self.0[lane].wrapping_add(other.0[lane])))
    }

    #[inline(always)]
    pub(super) fn minus(self, other: Self) -> Self {
        Self(std::array::from_fn(|lane| self.0[lane].wrapping_sub(other.0[lane])))
    }
}

/// Where in a phase the table of each lane's instance begins; lanes without one read the zero.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(super) struct Tables(pub(super) [u32; LANES]);

/// What a move does to `BLOCKS` blocks.
pub(super) struct Change<'a, const BLOCKS: usize, Flipped> {
    pub(super) before: &'a [Block; BLOCKS],
    pub(super) swap: &'a [Block; BLOCKS],
    pub(super) placed: &'a [Block; BLOCKS],
    pub(super) flipped: Flipped,
}
