//! The clipped delta rule: every weight of a position moves by the same truncated share of the error.
//!
//! Mirrors share the slot of their canonical configuration, so they can never differ. The published C code of the rule
//! behaves otherwise: its mirror table for short diagonals is wrong, and it refreshes only the index just visited.

use super::rows::TrainingRow;
use super::slots::SlotMap;
use super::task::TrainConfig;
use rayon::prelude::{
    IndexedParallelIterator, IntoParallelIterator, ParallelIterator, ParallelSlice, ParallelSliceMut,
};

/// Rows of a batch that a thread takes at a time.
const CHUNK_ROWS: usize = 256;

/// Bits of a sum of updates that hold their number.
const COUNT_BITS: u32 = 20;

/// The rule with its settings; a weight is an integer, in units of a binary fraction of a millidisc.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delta {
    clip: i32,
    fraction_bits: u8,
    batch: usize,
}

/// The weights of a part, and what changes them.
#[derive(Debug)]
pub(super) struct Weights<'a> {
    map: &'a SlotMap<'a>,
    /// In units, by slot.
    pub(super) weights: Vec<i32>,
    /// Updates that reached each slot.
    pub(super) visits: Vec<u32>,
    /// Slots of the rows at hand, one row after another.
    slots: Vec<u32>,
    /// Updates of the rows at hand.
    updates: Vec<i32>,
    /// Sum and number of the updates of a batch, by slot.
    sums: Vec<i64>,
}

impl<'a> Weights<'a> {
    /// Weights in units, and visits, by slot.
    pub(super) fn new(map: &'a SlotMap<'a>, weights: Vec<i32>, visits: Vec<u32>) -> Self {
        Self { map, weights, visits, slots: Vec::new(), updates: Vec::new(), sums: Vec::new() }
    }
}

impl Delta {
    /// The rule of a config.
    pub(super) fn new(config: &TrainConfig) -> Self {
        let (fraction_bits, batch) = (config.fraction_bits, config.batch as usize);
        Self { clip: config.clip << fraction_bits, fraction_bits, batch }
    }

    /// Learns rows; the sum of their errors before each update, in units. Each visit counts `visits` times.
    pub(super) fn learn(&self, weights: &mut Weights<'_>, rows: &[TrainingRow], ratio: f64, visits: u32) -> u64 {
        if self.batch == 1 {
            let chunks = rows.chunks(CHUNK_ROWS);
            return chunks.map(|rows| self.learn_in_turn(weights, rows, ratio, visits)).sum();
        }
        rows.chunks(self.batch).map(|rows| self.learn_batch(weights, rows, ratio, visits)).sum()
    }

    /// The change of each weight of a row, and the error, in units.
    #[inline]
    fn update(&self, row: &TrainingRow, value: i32, ratio: f64) -> (i32, u64) {
        let error = (row.target << self.fraction_bits) - value;
        let ratio = ratio * f64::from(row.weight) / f64::from(TrainingRow::WEIGHT_ONE);
        // The product of doubles cut toward zero, as a C cast does.
        ((f64::from(error) * ratio) as i32, u64::from(error.unsigned_abs()))
    }

    /// The source's form: each row sees the updates of the row before it.
    fn learn_in_turn(&self, weights: &mut Weights<'_>, rows: &[TrainingRow], ratio: f64, visits: u32) -> u64 {
        let Weights { map, weights, visits: counts, slots, .. } = weights;
        let count = map.slots_per_position();
        slots.resize(rows.len() * count, 0);
        map.write(rows, slots);
        let mut errors = 0;
        for (slots, row) in slots.chunks_exact(count).zip(rows) {
            let (update, error) = self.update(row, value(slots, weights), ratio);
            errors += error;
            change(slots, weights, |weight| (weight + update).clamp(-self.clip, self.clip));
        }
        if 0 < visits {
            change(slots, counts, |count| count.saturating_add(visits));
        }
        errors
    }

    /// All rows see the same weights, and their updates are added up. Integers add up to the same sum in any order.
    ///
    /// A weight that many rows visit moves by what `trust` of them would move it on average: all weights of a position together
    /// then correct its error at most once.
    fn learn_batch(&self, weights: &mut Weights<'_>, rows: &[TrainingRow], ratio: f64, visits: u32) -> u64 {
        let map = weights.map;
        let count = map.slots_per_position();
        weights.slots.resize(rows.len() * count, 0);
        weights.updates.resize(rows.len(), 0);
        weights.sums.resize(weights.weights.len(), 0);
        let (slots, updates) = (&mut weights.slots, &mut weights.updates);
        let current = &weights.weights;
        let chunks = slots.par_chunks_mut(count * CHUNK_ROWS).zip(updates.par_chunks_mut(CHUNK_ROWS));
        let errors = chunks.zip(rows.par_chunks(CHUNK_ROWS)).map(|((slots, updates), rows)| {
            let mut errors = 0;
            map.write(rows, slots);
            for ((slots, update), row) in slots.chunks_exact(count).zip(updates).zip(rows) {
                let (step, error) = self.update(row, value(slots, current), ratio);
                *update = step;
                errors += error;
            }
            errors
        });
        let errors = errors.sum();
        let (slots, updates) = (&weights.slots, &weights.updates);
        let trust = ((1.0 / (ratio * count as f64)) as i64).max(1);
        let mut tables = Vec::new();
        let (mut rest, mut sums, mut counts) =
            (&mut weights.weights[..], &mut weights.sums[..], &mut weights.visits[..]);
        for table in map.tables() {
            let size = table.slots.len();
            let (own, others) = rest.split_at_mut(size);
            let (own_sums, other_sums) = sums.split_at_mut(size);
            let (own_counts, other_counts) = counts.split_at_mut(size);
            (rest, sums, counts) = (others, other_sums, other_counts);
            tables.push((table, own, own_sums, own_counts));
        }
        tables.into_par_iter().for_each(|(table, weights, sums, counts)| {
            let begin = table.slots.start;
            let visited = || slots.chunks_exact(count).map(|slots| &slots[table.places.clone()]);
            for (slots, &update) in visited().zip(updates) {
                let term = (i64::from(update) << COUNT_BITS) + 1;
                for &slot in slots {
                    sums[slot as usize - begin] += term;
                }
            }
            for &slot in visited().flatten() {
                let slot = slot as usize - begin;
                let sum = std::mem::take(&mut sums[slot]);
                if sum == 0 {
                    continue;
                }
                let (sum, count) = (sum >> COUNT_BITS, sum & ((1 << COUNT_BITS) - 1));
                let step = if count <= trust { sum } else { sum * trust / count };
                let weight = &mut weights[slot];
                *weight = (i64::from(*weight) + step).clamp((-self.clip).into(), self.clip.into()) as i32;
                counts[slot] = counts[slot].saturating_add(visits.saturating_mul(count as u32));
            }
        });
        errors
    }
}

/// Slots that a loop handles together.
const TOGETHER: usize = 4;

/// The sum of the weights of slots.
///
/// Not inlined, like [`change`]: among the loops of a whole training, this one would keep its bounds in memory.
#[inline(never)]
fn value(slots: &[u32], weights: &[i32]) -> i32 {
    let (together, rest) = slots.as_chunks::<TOGETHER>();
    let mut sums = [0; TOGETHER];
    for slots in together {
        sums.iter_mut().zip(slots).for_each(|(sum, &slot)| *sum += weights[slot as usize]);
    }
    sums.iter().sum::<i32>() + rest.iter().map(|&slot| weights[slot as usize]).sum::<i32>()
}

/// Changes what belongs to slots, one after another: a slot may come twice.
#[inline(never)]
fn change<T: Copy>(slots: &[u32], by_slot: &mut [T], changed: impl Fn(T) -> T) {
    let (together, rest) = slots.as_chunks::<TOGETHER>();
    let mut change = |slot: u32| by_slot[slot as usize] = changed(by_slot[slot as usize]);
    together.iter().for_each(|slots| slots.iter().for_each(|&slot| change(slot)));
    rest.iter().for_each(|&slot| change(slot));
}
