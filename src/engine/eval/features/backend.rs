//! The choice of a backend, known where it is compiled: one file per instruction set, each with the same function.

#[cfg(target_arch = "x86_64")]
use super::avx2;
use super::portable;
use crate::engine::board::kernel::{Instructions, Kernel};

/// Writes `map[offset + index]` of each lane, for as many lanes as `mapped` has elements.
///
/// # Safety
///
/// `offset + index` is below the number of elements of `map` in every lane.
#[inline(always)]
pub(super) unsafe fn map<K: Kernel>(indices: &[u16], offsets: &[u32], map: &[u32], mapped: &mut [u32]) {
    match K::INSTRUCTIONS {
        Instructions::Any => portable::map(indices, offsets, map, mapped),
        // SAFETY: a kernel is used only where `KernelChoice` found that the machine runs it; the caller answers for the
        // lanes.
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx2 | Instructions::Avx512 => unsafe { avx2::map(indices, offsets, map, mapped) },
    }
}
