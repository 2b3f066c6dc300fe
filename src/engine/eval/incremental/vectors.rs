//! Vectors laid out for the search, and the square of their sum.

use super::block::{Begins, Block};
use super::{INDICES, number_place};
use crate::engine::board::kernel::{Instructions, Kernel, kernel_entry};
use crate::engine::board::position::Position;
use crate::engine::eval::number::Number;
use crate::engine::eval::pairs::{SIZES, Signs, sign};
use crate::engine::eval::pattern_set::{
    INSTANCES_MAX, LANES, NUMBERS_MAX, PRODUCT_SHIFT, PatternSet,
};
use crate::engine::pages::{Pages, Zeroed};
use crate::engine::score::Score;
use std::mem::MaybeUninit;

#[cfg(target_arch = "x86_64")]
use super::avx2;
use super::portable;

/// Components aligned such that no vector lies on two lines of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Aligned([i8; 32]);

// SAFETY: numbers without invalid values.
unsafe impl Zeroed for Aligned {}

/// The vectors of a group: a zero, then those of the patterns; then room for every index.
#[derive(Debug)]
pub struct Vectors {
    size: usize, // components of each vector, one of `SIZES`
    signs: Signs,
    components: Pages<Aligned>,
    numbers: Vec<(Number, usize)>, // each with where its table begins after the zero
    instance_count: usize,
}

/// The places of the vectors of a position, aligned such that stores and loads of them overlap
/// well.
#[repr(align(64))]
struct Places([MaybeUninit<u32>; INSTANCES_MAX + NUMBERS_MAX]);

impl Vectors {
    /// Lays out vectors `[feature][component]` whose features have `places` after a zero.
    pub fn new(set: &PatternSet, vectors: &[i8], places: &[u32]) -> Self {
        let count = set.vector_size();
        let size = SIZES
            .into_iter()
            .find(|&size| count <= size)
            .expect("a set has no larger vectors");
        let bytes = (1 + set.feature_count() + INDICES) * size;
        let mut components = Pages::<Aligned>::zeros(bytes.div_ceil(size_of::<Aligned>()));
        for (&place, vector) in places.iter().zip(vectors.chunks_exact(count)) {
            // A vector lies within one of them.
            let at = place as usize * size;
            let aligned = &mut components[at / size_of::<Aligned>()];
            aligned.0[at % size_of::<Aligned>()..][..count].copy_from_slice(vector);
        }
        let numbers = set.numbers().iter();
        Self {
            size,
            signs: std::array::from_fn(|place| sign(place, set.positive_size()) as i16),
            components,
            numbers: numbers
                .map(|&(number, offset)| (number, 1 + offset))
                .collect(),
            instance_count: set.instances().len(),
        }
    }

    /// All components.
    fn flat(&self) -> &[i8] {
        // SAFETY: `Aligned` is 32 bytes without padding.
        unsafe {
            std::slice::from_raw_parts(
                self.components.as_ptr().cast(),
                size_of_val(&self.components[..]),
            )
        }
    }
}

kernel_entry! {
    /// Half the square of the sum of the vectors of a position, with signs, from the indices of its instances;
    /// `moves` are those of its side to move. A separate function, so that an evaluation without
    /// vectors costs no more than a test.
    pub fn square(vectors: &Vectors, blocks: &[Block], begins: &[Begins], position: Position, moves: u64) -> Score = square_body;
}

#[inline(always)]
fn square_body<K: Kernel>(
    vectors: &Vectors,
    blocks: &[Block],
    begins: &[Begins],
    position: Position,
    moves: u64,
) -> Score {
    // Room for more than most sets have is not worth filling with zeros.
    let mut places = Places([const { MaybeUninit::uninit() }; INSTANCES_MAX + NUMBERS_MAX]);
    for ((places, block), begins) in places.0.chunks_exact_mut(LANES).zip(blocks).zip(begins) {
        for ((place, index), begin) in places.iter_mut().zip(block.0).zip(begins.0) {
            place.write(begin + u32::from(index));
        }
    }
    let numbers = &mut places.0[vectors.instance_count..][..vectors.numbers.len()];
    for (place, number) in numbers.iter_mut().zip(&vectors.numbers) {
        place.write(number_place::<K>(number, position, moves) as u32);
    }
    // SAFETY: blocks have a lane for each instance, and the numbers follow.
    let places =
        unsafe { places.0[..vectors.instance_count + vectors.numbers.len()].assume_init_ref() };
    let components = vectors.flat();
    let sum = match K::INSTRUCTIONS {
        Instructions::Any => match vectors.size {
            8 => portable::squared_sum::<8>(components, places, &vectors.signs),
            16 => portable::squared_sum::<16>(components, places, &vectors.signs),
            _ => portable::squared_sum::<32>(components, places, &vectors.signs),
        },
        // SAFETY: a kernel is used only where `KernelChoice` found that the machine runs it. Tables
        // begin within a group, which is followed by as many vectors as an index may name.
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx2 | Instructions::Avx512 => unsafe {
            match vectors.size {
                8 => avx2::squared_sum_of_8(components, places, &vectors.signs),
                16 => avx2::squared_sum::<1>(components, places, &vectors.signs),
                _ => avx2::squared_sum::<2>(components, places, &vectors.signs),
            }
        },
    };
    Score(sum >> PRODUCT_SHIFT)
}
