//! Moves and sums with AVX2: 16 indices or components per addition, 8 weights per gather.
//!
//! The compiler splits the same loops into single lanes; a search by depth then takes half as long
//! again.

use super::block::{Begins, Block, Change};
use crate::engine::eval::pairs::Signs;
use crate::engine::eval::pattern_set::COMPONENT_MAX;
use std::arch::x86_64::{
    __m128i, __m256i, _mm_add_epi8, _mm_add_epi16, _mm_add_epi32, _mm_cvtepi8_epi16,
    _mm_cvtsi128_si32, _mm_loadl_epi64, _mm_loadu_si128, _mm_madd_epi16, _mm_setzero_si128,
    _mm_shuffle_epi32, _mm_sign_epi16, _mm256_add_epi16, _mm256_add_epi32, _mm256_castsi256_si128,
    _mm256_cvtepi8_epi16, _mm256_cvtepu16_epi32, _mm256_extracti128_si256, _mm256_i32gather_epi32,
    _mm256_load_si256, _mm256_loadu_si256, _mm256_madd_epi16, _mm256_setzero_si256,
    _mm256_sign_epi16, _mm256_slli_epi32, _mm256_srai_epi32, _mm256_store_si256, _mm256_sub_epi16,
};

/// Vectors that are added up before their components are widened.
const VECTORS_TOGETHER: usize = 4;

const _: () = assert!(VECTORS_TOGETHER as i32 * COMPONENT_MAX as i32 <= i8::MAX as i32);

#[inline]
#[target_feature(enable = "avx2")]
fn load(block: &Block) -> __m256i {
    // SAFETY: `Block` is 32 bytes, aligned to 32.
    unsafe { _mm256_load_si256(block.0.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
pub fn play<'a, const BLOCKS: usize>(
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
            _mm256_store_si256(
                after[block].0.as_mut_ptr().cast(),
                _mm256_add_epi16(swapped, change_of_index),
            );
        }
    }
}

/// # Safety
///
/// `weights` has 65,537 elements from the beginning of every table on.
#[inline]
#[target_feature(enable = "avx2")]
pub unsafe fn sum<'a>(
    blocks: impl Iterator<Item = (&'a Block, &'a Begins)>,
    weights: &[i16],
) -> i32 {
    let mut sum = _mm256_setzero_si256();
    for (block, begins) in blocks {
        let indices = load(block);
        let halves = [
            _mm256_castsi256_si128(indices),
            _mm256_extracti128_si256::<1>(indices),
        ];
        let (begin_halves, _) = begins.0.as_chunks::<8>();
        for (half, begins) in halves.into_iter().zip(begin_halves) {
            // SAFETY: `Begins` is two halves of 32 bytes, aligned to 32.
            let begins = unsafe { _mm256_load_si256(begins.as_ptr().cast()) };
            let places = _mm256_add_epi32(_mm256_cvtepu16_epi32(half), begins);
            // SAFETY: each lane reads the weight that it names and the next one; the caller has
            // room for both.
            let pairs = unsafe { _mm256_i32gather_epi32::<2>(weights.as_ptr().cast(), places) };
            sum = _mm256_add_epi32(sum, _mm256_srai_epi32::<16>(_mm256_slli_epi32::<16>(pairs)));
        }
    }
    sum_of_4(halves_added(sum))
}

/// The squares of the sum of vectors of 16 · `PARTS` components, added up with their signs.
///
/// # Safety
///
/// Every place has its vector.
#[inline]
#[target_feature(enable = "avx2")]
pub unsafe fn squared_sum<const PARTS: usize>(
    components: &[i8],
    places: &[u32],
    signs: &Signs,
) -> i32 {
    let vectors = components.as_ptr().cast::<__m128i>();
    let mut sums = [_mm256_setzero_si256(); PARTS];
    // SAFETY: the caller answers for the places.
    let load =
        |place: u32, part| unsafe { _mm_loadu_si128(vectors.add(place as usize * PARTS + part)) };
    let (together, rest) = places.as_chunks::<VECTORS_TOGETHER>();
    for places in together {
        for (part, sum) in sums.iter_mut().enumerate() {
            let [first, second, third, fourth] = places.map(|place| load(place, part));
            let four = _mm_add_epi8(_mm_add_epi8(first, second), _mm_add_epi8(third, fourth));
            *sum = _mm256_add_epi16(*sum, _mm256_cvtepi8_epi16(four));
        }
    }
    for &place in rest {
        for (part, sum) in sums.iter_mut().enumerate() {
            *sum = _mm256_add_epi16(*sum, _mm256_cvtepi8_epi16(load(place, part)));
        }
    }
    let (signs, _) = signs.as_chunks::<16>();
    let squared = |(sum, signs): (_, &[i16; 16])| {
        // SAFETY: 32 bytes.
        let signs = unsafe { _mm256_loadu_si256(signs.as_ptr().cast()) };
        halves_added(_mm256_madd_epi16(sum, _mm256_sign_epi16(sum, signs)))
    };
    sum_of_4(
        sums.into_iter()
            .zip(signs)
            .map(squared)
            .fold(_mm_setzero_si128(), |all, part| _mm_add_epi32(all, part)),
    )
}

/// [`squared_sum`], with 8 components.
///
/// # Safety
///
/// Every place has its vector.
#[inline]
#[target_feature(enable = "avx2")]
pub unsafe fn squared_sum_of_8(components: &[i8], places: &[u32], signs: &Signs) -> i32 {
    let (vectors, mut sum) = (components.as_ptr(), _mm_setzero_si128());
    // SAFETY: the caller answers for the places.
    let load = |place: u32| unsafe { _mm_loadl_epi64(vectors.add(place as usize * 8).cast()) };
    let (together, rest) = places.as_chunks::<VECTORS_TOGETHER>();
    for places in together {
        let [first, second, third, fourth] = places.map(load);
        let four = _mm_add_epi8(_mm_add_epi8(first, second), _mm_add_epi8(third, fourth));
        sum = _mm_add_epi16(sum, _mm_cvtepi8_epi16(four));
    }
    for &place in rest {
        sum = _mm_add_epi16(sum, _mm_cvtepi8_epi16(load(place)));
    }
    // SAFETY: 16 bytes of 64.
    let signs = unsafe { _mm_loadu_si128(signs.as_ptr().cast()) };
    sum_of_4(_mm_madd_epi16(sum, _mm_sign_epi16(sum, signs)))
}

#[inline]
#[target_feature(enable = "avx2")]
fn halves_added(sum: __m256i) -> __m128i {
    _mm_add_epi32(
        _mm256_castsi256_si128(sum),
        _mm256_extracti128_si256::<1>(sum),
    )
}

#[inline]
#[target_feature(enable = "avx2")]
fn sum_of_4(half: __m128i) -> i32 {
    let quarter = _mm_add_epi32(half, _mm_shuffle_epi32::<0b01_00_11_10>(half));
    _mm_cvtsi128_si32(_mm_add_epi32(
        quarter,
        _mm_shuffle_epi32::<0b10_11_00_01>(quarter),
    ))
}
