//! Move generation with AVX-512 where it is shorter than with AVX2.

use super::avx2::{RAYS, end_above, join, load};
use std::arch::x86_64::{
    _mm256_add_epi64, _mm256_and_si256, _mm256_andnot_si256, _mm256_lzcnt_epi64, _mm256_min_epu64,
    _mm256_or_si256, _mm256_set1_epi64x, _mm256_setzero_si256, _mm256_srlv_epi64, _mm256_sub_epi64,
};

/// As the AVX2 twin; counting zeros finds the end of a run downwards too.
#[inline]
#[target_feature(enable = "avx2,avx512f,avx512vl,avx512cd")]
pub fn flips(player: u64, opponent: u64, square: usize) -> u64 {
    let rays = &RAYS[square & 63];
    let (ray_up, ray_down) = (load(&rays.up), load(&rays.down));
    let own = _mm256_set1_epi64x(player as i64);
    let flanked = _mm256_set1_epi64x(opponent as i64);
    let zero = _mm256_setzero_si256();

    let end = end_above(ray_up, own, flanked);
    // One less, but 0 stays 0.
    let below = _mm256_sub_epi64(end, _mm256_min_epu64(end, _mm256_set1_epi64x(1)));
    let run_up = _mm256_and_si256(below, ray_up);

    let ends = _mm256_andnot_si256(flanked, ray_down);
    let end = _mm256_srlv_epi64(_mm256_set1_epi64x(i64::MIN), _mm256_lzcnt_epi64(ends));
    let end = _mm256_and_si256(end, own);
    let above = _mm256_sub_epi64(zero, _mm256_add_epi64(end, end));
    let run_down = _mm256_and_si256(above, ray_down);

    join(_mm256_or_si256(run_up, run_down))
}
