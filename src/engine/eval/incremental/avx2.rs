//! Moves and sums with AVX2: 16 indices per addition, 8 weights per gather.
//!
//! The compiler splits the same loops into single lanes; a search by depth then takes half as long again.

use super::block::{Block, Change, Tables};
use std::arch::x86_64::{
    __m256i, _mm_add_epi32, _mm_cvtsi128_si32, _mm_shuffle_epi32, _mm256_add_epi16, _mm256_add_epi32,
    _mm256_castsi256_si128, _mm256_cvtepu16_epi32, _mm256_extracti128_si256, _mm256_i32gather_epi32, _mm256_load_si256,
    _mm256_setzero_si256, _mm256_slli_epi32, _mm256_srai_epi32, _mm256_store_si256, _mm256_sub_epi16,
};

#[inline]
#[target_feature(enable = "avx2")]
fn load(block: &Block) -> __m256i {
    // SAFETY: `Block` is 32 bytes, aligned to 32.
    unsafe { _mm256_load_si256(block.0.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn play<'a, const BLOCKS: usize>(
    change: Change<'a, BLOCKS, impl Iterator<Item = &'a [Block; BLOCKS]>>,
    after: &mut [Block; BLOCKS],
) {
    let mut sums = [_mm256_setzero_si256(); BLOCKS];
    for steps in change.flipped {
        for (sum, steps) in sums.iter_mut().zip(steps) {
            *sum = _mm256_add_epi16(*sum, load(steps));
        }
    }
    for block in 0..BLOCKS {
        let twice = _mm256_add_epi16(sums[block], sums[block]);
        let change_of_index = _mm256_add_epi16(twice, load(&change.placed[block]));
        let swapped = _mm256_sub_epi16(load(&change.swap[block]), load(&change.before[block]));
        // SAFETY: `Block` is 32 bytes, aligned to 32.
        unsafe {
            _mm256_store_si256(after[block].0.as_mut_ptr().cast(), _mm256_add_epi16(swapped, change_of_index));
        }
    }
}

/// # Safety
///
/// `weights` has 65,537 elements from the beginning of every table on.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn sum<'a>(blocks: impl Iterator<Item = (&'a Block, &'a Tables)>, weights: &[i16]) -> i32 {
    let mut sum = _mm256_setzero_si256();
    for (block, tables) in blocks {
        let indices = load(block);
        let halves = [_mm256_castsi256_si128(indices), _mm256_extracti128_si256::<1>(indices)];
        let (begins, _) = tables.0.as_chunks::<8>();
        for (half, begins) in halves.into_iter().zip(begins) {
            // SAFETY: `Tables` is two halves of 32 bytes, aligned to 32.
            let begins = unsafe { _mm256_load_si256(begins.as_ptr().cast()) };
            let places = _mm256_add_epi32(_mm256_cvtepu16_epi32(half), begins);
            // SAFETY: each lane reads the weight that it names and the next one; the caller has room for both.
            let pairs = unsafe { _mm256_i32gather_epi32::<2>(weights.as_ptr().cast(), places) };
            sum = _mm256_add_epi32(sum, _mm256_srai_epi32::<16>(_mm256_slli_epi32::<16>(pairs)));
        }
    }
    let half = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256::<1>(sum));
    let quarter = _mm_add_epi32(half, _mm_shuffle_epi32::<0b01_00_11_10>(half));
    _mm_cvtsi128_si32(_mm_add_epi32(quarter, _mm_shuffle_epi32::<0b10_11_00_01>(quarter)))
}
