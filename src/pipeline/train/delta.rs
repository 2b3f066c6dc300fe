//! The clipped delta rule: every weight of a position moves by the same truncated share of the
//! error.
//!
//! Mirrors share the slot of their canonical configuration, so they can never differ. The published
//! C code of the rule behaves otherwise: its mirror table for short diagonals is wrong, and it
//! refreshes only the index just visited.

use super::rows::TrainingRow;
use super::slots::SlotMap;
use super::task::TrainConfig;

/// Rows whose slots are found before they are learned; their slots fit the first cache.
const CHUNK_ROWS: usize = 128;

/// The rule with its settings; a weight is an integer, in units of a binary fraction of a
/// millidisc.
#[derive(Clone, Copy, Debug)]
struct Delta {
    clip: i32,
    fraction_bits: u8,
}

/// The weights of a part, and what changes them.
#[derive(Debug)]
pub struct Weights<'a> {
    rule: Delta,
    map: &'a SlotMap<'a>,
    pub weights: Vec<i32>,
    pub visits: Vec<u32>,
    /// The slots of the rows at hand, one row after another; kept only for its memory.
    slots: Vec<u32>,
}

impl<'a> Weights<'a> {
    /// Weights that learn by the rule of a config.
    pub fn new(
        config: &TrainConfig,
        map: &'a SlotMap<'a>,
        weights: Vec<i32>,
        visits: Vec<u32>,
    ) -> Self {
        let fraction_bits = config.fraction_bits;
        let rule = Delta {
            clip: config.clip << fraction_bits,
            fraction_bits,
        };
        Self {
            rule,
            map,
            weights,
            visits,
            slots: Vec::new(),
        }
    }

    /// Learns rows; the sum of their errors before each update, in units. Each visit counts
    /// `visits` times.
    pub fn learn(&mut self, rows: &[TrainingRow], ratio: f64, visits: u32) -> u64 {
        rows.chunks(CHUNK_ROWS)
            .map(|rows| self.learn_chunk(rows, ratio, visits))
            .sum()
    }

    /// Each row sees the updates of the row before it.
    fn learn_chunk(&mut self, rows: &[TrainingRow], ratio: f64, visits: u32) -> u64 {
        let Self {
            rule,
            map,
            weights,
            visits: counts,
            slots,
        } = self;
        let count = map.set.features_per_position();
        slots.resize(rows.len() * count, 0);
        map.write(rows, slots);
        let mut errors = 0;
        for (slots, row) in slots.chunks_exact(count).zip(rows) {
            let (update, error) = rule.update(row, value(slots, weights), ratio);
            errors += error;
            change(slots, weights, |weight| {
                (weight + update).clamp(-rule.clip, rule.clip)
            });
        }
        if 0 < visits {
            change(slots, counts, |count| count.saturating_add(visits));
        }
        errors
    }
}

impl Delta {
    /// The change of each weight of a row, and the error, in units.
    #[inline]
    fn update(&self, row: &TrainingRow, value: i32, ratio: f64) -> (i32, u64) {
        let error = (row.target.0 << self.fraction_bits) - value;
        let ratio = ratio * f64::from(row.weight) / f64::from(TrainingRow::WEIGHT_ONE);
        // The product of doubles cut toward zero, as a C cast does.
        (
            (f64::from(error) * ratio) as i32,
            u64::from(error.unsigned_abs()),
        )
    }
}

/// Slots that a loop handles together.
const TOGETHER: usize = 4;

/// The sum of the weights of slots.
///
/// Not inlined, like [`change`]: among the loops of a whole training, this one would keep its
/// bounds in memory.
#[inline(never)]
pub fn value(slots: &[u32], weights: &[i32]) -> i32 {
    let (together, rest) = slots.as_chunks::<TOGETHER>();
    let mut sums = [0; TOGETHER];
    for slots in together {
        sums.iter_mut()
            .enumerate()
            .for_each(|(lane, sum)| *sum += weights[slots[lane] as usize]);
    }
    sums.iter().sum::<i32>() + rest.iter().map(|&slot| weights[slot as usize]).sum::<i32>()
}

/// Changes what belongs to slots, one after another: a slot may come twice.
#[inline(never)]
fn change<T: Copy>(slots: &[u32], by_slot: &mut [T], changed: impl Fn(T) -> T) {
    let (together, rest) = slots.as_chunks::<TOGETHER>();
    let mut change = |slot: u32| by_slot[slot as usize] = changed(by_slot[slot as usize]);
    together
        .iter()
        .for_each(|slots| slots.iter().for_each(|&slot| change(slot)));
    rest.iter().for_each(|&slot| change(slot));
}
