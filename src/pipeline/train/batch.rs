//! The delta rule on batches: all rows of a batch see the same weights, and their updates are added up. Integers add up to
//! the same sum in any order, so threads share a batch.

use super::delta::{Delta, Room, Weights, value};
use super::rows::TrainingRow;
use super::slots::{SlotMap, SlotTable};
use rayon::prelude::{
    IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator, ParallelSlice, ParallelSliceMut,
};

/// Rows that a thread takes at a time.
const CHUNK_ROWS: usize = 256;

/// Bits of a sum of updates that hold their number.
const COUNT_BITS: u32 = 20;

/// What a batch does to the weights.
#[derive(Clone, Copy)]
struct Batch<'a> {
    slots_per_position: usize,
    slots: &'a [u32],
    updates: &'a [i32],
    /// Visits that each update counts.
    visits: u32,
    /// The updates that a weight takes in full.
    trust: i64,
    clip: i64,
}

impl Weights<'_> {
    /// Learns batches; the sum of the errors of their rows before each update, in units.
    ///
    /// A weight that many rows visit moves by what `trust` of them would move it on average: all weights of a position together
    /// then correct its error at most once, unless the ratio alone is too large for that.
    pub(super) fn learn_batches(&mut self, rows: &[TrainingRow], ratio: f64, visits: u32) -> u64 {
        let Self { rule, map, weights, visits: counts, room: Room { slots, next_slots, updates, sums } } = self;
        let slots_per_position = map.set.features_per_position();
        let trust = ((1.0 / (ratio * slots_per_position as f64)) as i64).max(1);
        sums.resize(weights.len(), 0);
        let mut errors = 0;
        let mut batches = rows.chunks(rule.batch).peekable();
        find_slots(map, batches.peek().copied().unwrap_or_default(), slots);
        while let Some(rows) = batches.next() {
            errors += rule.find_updates(slots, rows, weights, ratio, updates);
            let batch = Batch { slots_per_position, slots, updates, visits, trust, clip: rule.clip.into() };
            let next = batches.peek().copied().unwrap_or_default();
            // Slots depend on no weight: whoever waits for the others can find those of the next batch.
            rayon::join(
                || {
                    let (weights, counts) = (by_table(map, weights), by_table(map, counts));
                    let tables = map.tables.par_iter().zip(weights).zip(counts).zip(by_table(map, sums));
                    tables.with_max_len(1).for_each(|(((table, weights), counts), sums)| {
                        batch.apply(table, weights, counts, sums);
                    });
                },
                || find_slots(map, next, next_slots),
            );
            std::mem::swap(slots, next_slots);
        }
        errors
    }
}

impl Delta {
    /// Writes the update of each row; the sum of the errors.
    fn find_updates(
        &self,
        slots: &[u32],
        rows: &[TrainingRow],
        weights: &[i32],
        ratio: f64,
        updates: &mut Vec<i32>,
    ) -> u64 {
        updates.resize(rows.len(), 0);
        let count = slots.len() / rows.len();
        let chunks = slots.par_chunks(count * CHUNK_ROWS).zip(updates.par_chunks_mut(CHUNK_ROWS));
        let errors = chunks.zip(rows.par_chunks(CHUNK_ROWS)).map(|((slots, updates), rows)| {
            let mut errors = 0;
            for ((slots, update), row) in slots.chunks_exact(count).zip(updates).zip(rows) {
                let error;
                (*update, error) = self.update(row, value(slots, weights), ratio);
                errors += error;
            }
            errors
        });
        errors.sum()
    }
}

fn find_slots(map: &SlotMap<'_>, rows: &[TrainingRow], slots: &mut Vec<u32>) {
    let count = map.set.features_per_position();
    slots.resize(rows.len() * count, 0);
    let chunks = slots.par_chunks_mut(count * CHUNK_ROWS).zip(rows.par_chunks(CHUNK_ROWS));
    chunks.for_each(|(slots, rows)| map.write(rows, slots));
}

/// What belongs to slots, by table.
fn by_table<'a, T>(map: &SlotMap<'_>, mut by_slot: &'a mut [T]) -> Vec<&'a mut [T]> {
    let mut split = |table: &SlotTable| by_slot.split_off_mut(..table.slots.len()).expect("each slot has one");
    map.tables.iter().map(&mut split).collect()
}

impl Batch<'_> {
    /// Adds up the updates of each weight of a table, and moves it.
    fn apply(&self, table: &SlotTable, weights: &mut [i32], visits: &mut [u32], sums: &mut [i64]) {
        let (size, places) = (table.slots.len(), table.places.len());
        match places {
            1 => self.add_up::<1>(table, sums),
            2 => self.add_up::<2>(table, sums),
            4 => self.add_up::<4>(table, sums),
            8 => self.add_up::<8>(table, sums),
            _ => unreachable!("the images of a pattern are 1, 2, 4 or 8"),
        }
        let begin = table.slots.start;
        let mut settle = |slot: usize| {
            let sum = std::mem::take(&mut sums[slot]);
            if sum != 0 {
                let (sum, count) = (sum >> COUNT_BITS, sum & ((1 << COUNT_BITS) - 1));
                let step = if count <= self.trust { sum } else { sum * self.trust / count };
                weights[slot] = (i64::from(weights[slot]) + step).clamp(-self.clip, self.clip) as i32;
                visits[slot] = visits[slot].saturating_add(self.visits.saturating_mul(count as u32));
            }
        };
        if size < self.updates.len() * places {
            (0..size).for_each(settle);
        } else {
            let rows = self.slots.chunks_exact(self.slots_per_position);
            rows.flat_map(|slots| &slots[table.places.clone()]).for_each(|&slot| settle(slot as usize - begin));
        }
    }

    #[inline(never)]
    fn add_up<const PLACES: usize>(&self, table: &SlotTable, sums: &mut [i64]) {
        let rows = self.slots.chunks_exact(self.slots_per_position);
        for (slots, &update) in rows.zip(self.updates) {
            let term = (i64::from(update) << COUNT_BITS) + 1;
            let slots: &[u32; PLACES] = slots[table.places.start..].first_chunk().expect("a row has every place");
            for &slot in slots {
                sums[slot as usize - table.slots.start] += term;
            }
        }
    }
}
