//! Vectors while they are learned: by slot, in binary fractions of their unit.
//!
//! A row sees its vectors rounded to whole components, as the model will have them, so that what is
//! learned is what plays.

use super::pattern_set::{COMPONENT_MAX, PRODUCT_SHIFT, PatternSet, VECTOR_SIZE_MAX};
use crate::engine::board::kernel::{Kernel, KernelChoice, kernel_entry, with_kernel};
use crate::engine::pages::{Pages, prefetch};
use crate::engine::score::Score;

/// Binary digits of a component behind its unit.
pub const FRACTION_BITS: u32 = 16;

/// Binary digits of a multiplier behind those of components.
const MULTIPLIER_BITS: u32 = 6;

/// What a ratio is multiplied with, for errors in millidiscs.
const UNIT: f64 = (1_u32 << (FRACTION_BITS + MULTIPLIER_BITS)) as f64 / Score::DISC.0 as f64;

/// The largest multiplier: its product with the difference of two sums fits 32 bits.
const MULTIPLIER_MAX: f64 = (1_u32 << 17) as f64;

/// The roots of counts up to this one are in a table.
const ROOTS: usize = 1 << 10;

/// The numbers of components that kernels know; vectors are filled up with zeros.
pub const SIZES: [usize; 3] = [8, 16, 32];

/// A row whose error the products are to explain.
#[derive(Clone, Copy, Debug)]
pub struct Residual {
    /// The target less the weights.
    pub target: Score,
    /// The share of the error by which a vector moves at its first visit, with errors in discs.
    pub ratio: f64,
}

/// The vectors of every slot while they are learned.
#[derive(Clone, Debug)]
pub struct SlotVectors {
    size: usize,
    positive: usize,
    components: Pages<i32>, // [slot][component], filled up to `size`
    inverse_roots: Vec<f64>,
}

impl SlotVectors {
    /// From components `[slot][component]`, as many for each slot as vectors of the set have.
    pub fn new(set: &PatternSet, components: &[i32]) -> Self {
        let count = set.vector_size();
        let size = SIZES
            .into_iter()
            .find(|&size| count <= size)
            .expect("a set has at most 32 components");
        let slots = components.len() / count;
        let mut filled = Pages::zeros((slots * size).max(1));
        for (vector, components) in filled
            .chunks_exact_mut(size)
            .zip(components.chunks_exact(count))
        {
            vector[..count].copy_from_slice(components);
        }
        let inverse_roots = (0..ROOTS)
            .map(|count| 1.0 / (count.max(1) as f64).sqrt())
            .collect();
        Self {
            size,
            positive: set.positive_size(),
            components: filled,
            inverse_roots,
        }
    }

    /// The components `[slot][component]`, `count` for each slot.
    pub fn components(&self, count: usize) -> Vec<i32> {
        self.components
            .chunks_exact(self.size)
            .flat_map(|vector| &vector[..count])
            .copied()
            .collect()
    }

    /// Writes the products of the pairs of each row, whose `slots` come one row after another.
    pub fn values(&self, kernel: KernelChoice, slots: &[u32], values: &mut [Score]) {
        with_kernel!(kernel, values_entry(self, slots, values));
    }

    /// Learns rows one after another, each with its `slots`: v ← v + ratio/√n · error · (Σv − v) at
    /// the n-th visit of a slot, and the opposite step for negative components. Returns the sum of the errors before each update.
    pub fn learn(
        &mut self,
        kernel: KernelChoice,
        visits: &mut [u32],
        slots: &[u32],
        rows: &[Residual],
    ) -> u64 {
        with_kernel!(kernel, learn_entry(self, visits, slots, rows))
    }
}

/// ½ Σ s v² in millidiscs, rounded down, where s is 1 for the first components, as many as are
/// `positive`, and −1 for the others.
#[inline(always)]
pub fn half_square<C: Copy + Into<i32>>(vector: &[C], positive: usize) -> i32 {
    vector
        .iter()
        .enumerate()
        .map(|(place, &component)| {
            let component: i32 = component.into();
            sign(place, positive) * component * component
        })
        .sum::<i32>()
        >> PRODUCT_SHIFT
}

/// The signs of components, for the search.
pub type Signs = [i16; VECTOR_SIZE_MAX as usize]; // [component]

/// How the products of a component count, where as many of the first ones are positive.
#[inline(always)]
pub const fn sign(place: usize, positive: usize) -> i32 {
    if place < positive { 1 } else { -1 }
}

/// The value of a position with these features in two parts: the weights `[feature]`, each less
/// half the square of its vector `[feature][component]`, and half the square of the sum of these
/// vectors; squares have the signs of the set.
pub fn parts_of(
    set: &PatternSet,
    weights: &[i16],
    vectors: &[i8],
    features: impl Iterator<Item = usize>,
) -> (Score, Score) {
    let (size, positive) = (set.vector_size(), set.positive_size());
    let (mut linear, mut sums) = (0, [0; VECTOR_SIZE_MAX as usize]);
    for feature in features {
        let vector = &vectors[feature * size..][..size];
        linear += i32::from(weights[feature]) - half_square(vector, positive);
        sums.iter_mut()
            .zip(vector)
            .for_each(|(sum, &component)| *sum += i32::from(component));
    }
    (Score(linear), Score(half_square(&sums, positive)))
}

/// A component in whole units, halves up.
#[inline(always)]
pub const fn rounded(component: i32) -> i32 {
    (component + (1 << (FRACTION_BITS - 1))) >> FRACTION_BITS
}

kernel_entry! {
    fn values_entry(vectors: &SlotVectors, slots: &[u32], values: &mut [Score]) -> () = values_body;

    fn learn_entry(vectors: &mut SlotVectors, visits: &mut [u32], slots: &[u32], rows: &[Residual]) -> u64 = learn_body;
}

#[inline(always)]
fn values_body<K: Kernel>(vectors: &SlotVectors, slots: &[u32], values: &mut [Score]) {
    match vectors.size {
        8 => values_of::<8>(vectors, slots, values),
        16 => values_of::<16>(vectors, slots, values),
        _ => values_of::<32>(vectors, slots, values),
    }
}

#[inline(always)]
fn values_of<const SIZE: usize>(vectors: &SlotVectors, slots: &[u32], values: &mut [Score]) {
    let count = slots.len() / values.len().max(1);
    let (components, _) = vectors.components.as_chunks::<SIZE>();
    let mut following = slots.chunks_exact(count.max(1)).skip(1);
    for (slots, value) in slots.chunks_exact(count.max(1)).zip(values) {
        // That row need not wait for its vectors.
        for &slot in following.next().unwrap_or_default() {
            prefetch(components, slot as usize);
        }
        *value = Score(sums(components, vectors.positive, slots).1);
    }
}

/// The sum of the vectors of slots, and the products of their pairs.
#[inline(always)]
fn sums<const SIZE: usize>(
    components: &[[i32; SIZE]],
    positive: usize,
    slots: &[u32],
) -> ([i32; SIZE], i32) {
    let (mut sums, mut half_squares) = ([0; SIZE], 0);
    for &slot in slots {
        let vector = components[slot as usize].map(rounded);
        sums.iter_mut()
            .zip(vector)
            .for_each(|(sum, component)| *sum += component);
        half_squares += half_square(&vector, positive);
    }
    (sums, half_square(&sums, positive) - half_squares)
}

#[inline(always)]
fn learn_body<K: Kernel>(
    vectors: &mut SlotVectors,
    visits: &mut [u32],
    slots: &[u32],
    rows: &[Residual],
) -> u64 {
    match vectors.size {
        8 => learn_rows::<8>(vectors, visits, slots, rows),
        16 => learn_rows::<16>(vectors, visits, slots, rows),
        _ => learn_rows::<32>(vectors, visits, slots, rows),
    }
}

#[inline(always)]
fn learn_rows<const SIZE: usize>(
    vectors: &mut SlotVectors,
    visits: &mut [u32],
    slots: &[u32],
    rows: &[Residual],
) -> u64 {
    const MOST: i32 = (COMPONENT_MAX as i32) << FRACTION_BITS;
    let count = slots.len() / rows.len().max(1);
    let positive = vectors.positive;
    let signs: [i32; SIZE] = std::array::from_fn(|place| sign(place, positive));
    let (components, _) = vectors.components.as_chunks_mut::<SIZE>();
    let mut errors = 0;
    let mut following = slots.chunks_exact(count.max(1)).skip(1);
    for (slots, row) in slots.chunks_exact(count.max(1)).zip(rows) {
        // That row need not wait for its vectors.
        for &slot in following.next().unwrap_or_default() {
            prefetch(components, slot as usize);
        }
        let (sums, value) = sums(components, positive, slots);
        let error = row.target.0 - value;
        errors += u64::from(error.unsigned_abs());
        let step = f64::from(error) * (row.ratio * UNIT);
        for &slot in slots {
            let visits = &mut visits[slot as usize];
            *visits = visits.saturating_add(1);
            let multiplier = step * inverse_root(&vectors.inverse_roots, *visits);
            let multiplier = multiplier.clamp(-MULTIPLIER_MAX, MULTIPLIER_MAX) as i32;
            for ((component, sum), sign) in
                components[slot as usize].iter_mut().zip(sums).zip(signs)
            {
                // Cut toward zero: millions of visits would add up what another rounding adds to
                // each.
                let change =
                    (sum - rounded(*component)) * (sign * multiplier) / (1 << MULTIPLIER_BITS);
                *component = (*component + change).clamp(-MOST, MOST);
            }
        }
    }
    errors
}

/// 1/√n, beyond the table that of n without its last binary digits.
#[inline(always)]
fn inverse_root(table: &[f64], mut count: u32) -> f64 {
    let mut scale = 1.0;
    while ROOTS as u32 <= count {
        count >>= 4;
        scale *= 0.25;
    }
    table[count as usize] * scale
}
