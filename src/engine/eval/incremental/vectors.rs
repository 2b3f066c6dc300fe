//! Weights and vectors laid out for the search, and the value of a position by them.
//!
//! The squared length of each vector is taken off the weight beside it at load, so that a value is Σ wᵢ + |Σ vᵢ|² in the unit of
//! products, shifted once.

use super::block::{Block, Tables, Terms};
use super::{INDICES, number_place};
use crate::engine::board::kernel::{Instructions, Kernel, kernel_entry};
use crate::engine::board::position::Position;
use crate::engine::eval::number::Number;
use crate::engine::eval::pairs::SIZES;
use crate::engine::eval::pattern_set::{INSTANCES_MAX, LANES, NUMBERS_MAX, PRODUCT_SHIFT, PatternSet};
use crate::engine::score::Score;
use std::mem::MaybeUninit;

#[cfg(target_arch = "x86_64")]
use super::avx2;
use super::portable;

/// Components aligned such that no vector lies on two lines of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Aligned([i8; 32]);

/// The weights of each phase and the vectors of each group: a zero, then those of the patterns; then room for every index after
/// the last.
#[derive(Debug)]
pub(super) struct Vectors {
    size: usize,       // components of each vector, one of `SIZES`
    weights: Vec<i32>, // in the unit of products, less the squared length of the vector
    components: Vec<Aligned>,
    begins: [(usize, usize); 65], // [empties] -> the places of the zeros of its phase and of its group
    numbers: Vec<(Number, usize)>, // each with where its table begins after the zero
    instance_count: usize,
}

impl Vectors {
    /// Lays out weights `[phase][feature]` and vectors `[group][feature][component]`, whose features have `places` after a zero;
    /// `None` if the vectors have no components.
    pub(super) fn new(set: &PatternSet, weights: &[i16], vectors: &[i8], places: &[usize]) -> Option<Self> {
        let count = set.vector_size();
        let size = SIZES.into_iter().find(|&size| 0 < count && count <= size)?;
        let table_size = set.feature_count() + 1;
        let bytes = (set.group_count() * table_size + INDICES) * size;
        let begins = |empties| (set.phase(empties) * table_size, set.group(empties) * table_size);
        let mut this = Self {
            size,
            weights: vec![0; set.phase_count() * table_size + INDICES],
            components: vec![Aligned([0; 32]); bytes.div_ceil(size_of::<Aligned>())],
            begins: std::array::from_fn(|empties| begins(empties as u8)),
            numbers: set.numbers().iter().map(|&(number, offset)| (number, 1 + offset)).collect(),
            instance_count: set.instances().len(),
        };
        let groups: Vec<&[i8]> = vectors.chunks_exact(set.feature_count() * count).collect();
        for (group, vectors) in groups.iter().enumerate() {
            for (&place, vector) in places.iter().zip(vectors.chunks_exact(count)) {
                let begin = (group * table_size + place) * size;
                for (at, &component) in (begin..).zip(vector) {
                    this.components[at / size_of::<Aligned>()].0[at % size_of::<Aligned>()] = component;
                }
            }
        }
        let square = |&component: &i8| i32::from(component) * i32::from(component);
        for (phase, weights) in weights.chunks_exact(set.feature_count()).enumerate() {
            let vectors = groups[set.group(set.phase_empties_max()[phase])].chunks_exact(count);
            for ((&place, &weight), vector) in places.iter().zip(weights).zip(vectors) {
                let squares: i32 = vector.iter().map(square).sum();
                this.weights[phase * table_size + place] = (i32::from(weight) << PRODUCT_SHIFT) - squares;
            }
        }
        Some(this)
    }

    /// All components.
    fn flat(&self) -> &[i8] {
        // SAFETY: `Aligned` is 32 bytes without padding.
        unsafe { std::slice::from_raw_parts(self.components.as_ptr().cast(), size_of_val(&self.components[..])) }
    }
}

kernel_entry! {
    /// The value of a position from the indices of its instances; `moves` are those of its side to move. A separate function, so
    /// that an evaluation without vectors costs no more than a test.
    pub(super) fn value(vectors: &Vectors, blocks: (&[Block], &[Tables]), position: Position, moves: u64) -> Score = value_body;
}

#[inline(always)]
fn value_body<K: Kernel>(
    vectors: &Vectors,
    (blocks, tables): (&[Block], &[Tables]),
    position: Position,
    moves: u64,
) -> Score {
    // Room for more than most sets have is not worth filling with zeros.
    let mut places = [const { MaybeUninit::uninit() }; INSTANCES_MAX + NUMBERS_MAX];
    for ((places, block), tables) in places.chunks_exact_mut(LANES).zip(blocks).zip(tables) {
        for ((place, index), begin) in places.iter_mut().zip(block.0).zip(tables.0) {
            place.write(begin + u32::from(index));
        }
    }
    let numbers = &mut places[vectors.instance_count..][..vectors.numbers.len()];
    for (place, number) in numbers.iter_mut().zip(&vectors.numbers) {
        place.write(number_place::<K>(number, position, moves) as u32);
    }
    let (phase, group) = vectors.begins[usize::from(position.empties())];
    let terms = Terms {
        weights: &vectors.weights[phase..],
        components: &vectors.flat()[group * vectors.size..],
        // SAFETY: blocks have a lane for each instance, and the numbers follow.
        places: unsafe { places[..vectors.instance_count + vectors.numbers.len()].assume_init_ref() },
    };
    let sum = match K::INSTRUCTIONS {
        Instructions::Any => match vectors.size {
            8 => portable::value::<8>(&terms),
            16 => portable::value::<16>(&terms),
            _ => portable::value::<32>(&terms),
        },
        // SAFETY: a kernel is used only where `KernelChoice` found that the machine runs it. Tables begin within a phase and a
        // group, which are followed by as many weights and vectors as an index may name.
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx2 | Instructions::Avx512 => unsafe {
            match vectors.size {
                8 => avx2::value_of_8(&terms),
                16 => avx2::value::<1>(&terms),
                _ => avx2::value::<2>(&terms),
            }
        },
    };
    Score(sum >> PRODUCT_SHIFT)
}
