//! The choice of a backend, known where it is compiled: one file per instruction set, each with the same functions.

#[cfg(target_arch = "x86_64")]
use super::avx2;
use super::block::{Block, Change, Tables};
use super::portable;
use crate::engine::board::kernel::{Instructions, Kernel};

/// Writes to `after` what `change` makes of its blocks.
#[inline(always)]
pub(super) fn play<'a, K: Kernel, const BLOCKS: usize>(
    change: Change<'a, BLOCKS, impl Iterator<Item = &'a [Block; BLOCKS]>>,
    after: &mut [Block; BLOCKS],
) {
    match K::INSTRUCTIONS {
        Instructions::Any => portable::play(change, after),
        // SAFETY: a kernel is used only where `KernelChoice` found that the machine runs it.
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx2 | Instructions::Avx512 => unsafe { avx2::play(change, after) },
    }
}

/// The sum of the weights that the indices name.
///
/// # Safety
///
/// `weights` has 65,537 elements from the beginning of every table on.
#[inline(always)]
pub(super) unsafe fn sum<'a, K: Kernel>(blocks: impl Iterator<Item = (&'a Block, &'a Tables)>, weights: &[i16]) -> i32 {
    match K::INSTRUCTIONS {
        Instructions::Any => portable::sum(blocks, weights),
        // SAFETY: a kernel is used only where `KernelChoice` found that the machine runs it; the caller answers for
        // `weights`.
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx2 | Instructions::Avx512 => unsafe { avx2::sum(blocks, weights) },
    }
}
