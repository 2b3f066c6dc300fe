//! The delta rule for vectors, beside weights that do not move: v ← v + ratio/√n · error · (Σv − v)
//! for every vector of a row, at the n-th visit of its slot, and the opposite step for negative
//! components. That is the derivative of the error by v (Rendle, "Factorization machines", 2010),
//! with steps that shrink as those of AdaGrad do (Duchi, Hazan, Singer, 2011).

use super::delta::value;
use super::rows::TrainingRow;
use super::slots::SlotMap;
use crate::engine::Score;
use crate::engine::eval::pairs::{FRACTION_BITS, Residual, SlotVectors};
use crate::random::{Stream, stream};
use rayon::prelude::{ParallelIterator, ParallelSliceMut};

/// Rows that are learned while the residuals of the next are found.
const CHUNK_ROWS: usize = 1 << 10;

/// What is left of a target beside any pairs, so that it fits 32 bits with all binary digits of
/// weights.
const REST_MAX: Score = Score(1_000 * Score::DISC.0);

/// The largest component of a vector that has learned nothing, in whole units. The standard
/// deviation is 1.2, or 0.027 roots of a disc; four times as much does harm.
const START_MAX: i32 = 3;

/// The vectors of a group of phases while they are learned.
pub struct Vectors<'a> {
    pub map: &'a SlotMap<'a>,
    /// The weights of each phase, in units.
    pub weights: Vec<Vec<i32>>,
    pub fraction_bits: u8,
    pub vectors: SlotVectors,
    pub visits: Vec<u32>,
}

/// Slots and residuals of some rows.
#[derive(Default)]
struct Prepared {
    slots: Vec<u32>,
    residuals: Vec<Residual>,
}

impl Vectors<'_> {
    /// Learns rows one after another; the sum of their errors before each update, in millidiscs.
    pub fn learn(&mut self, rows: &[TrainingRow], ratio: f64) -> u64 {
        let Self {
            map,
            weights,
            fraction_bits,
            vectors,
            visits,
        } = self;
        let (weights, fraction_bits, count) = (
            &weights[..],
            *fraction_bits,
            map.set.features_per_position(),
        );
        let prepare = |rows: &[TrainingRow], prepared: &mut Prepared| {
            let Prepared { slots, residuals } = prepared;
            slots.resize(rows.len() * count, 0);
            map.write(rows, slots);
            residuals.clear();
            residuals.extend(
                rows.iter()
                    .zip(slots.chunks_exact(count))
                    .map(|(row, slots)| {
                        let weights = &weights[map.set.phase(row.position.empties())];
                        let target = row.target - Score(value(slots, weights) >> fraction_bits);
                        let ratio =
                            ratio * f64::from(row.weight) / f64::from(TrainingRow::WEIGHT_ONE);
                        Residual { target, ratio }
                    }),
            );
        };
        let (mut this, mut next, mut errors) = (Prepared::default(), Prepared::default(), 0);
        let mut chunks = rows.chunks(CHUNK_ROWS);
        prepare(chunks.next().unwrap_or_default(), &mut this);
        while !this.residuals.is_empty() {
            let rows = chunks.next().unwrap_or_default();
            // Residuals depend on no vector: a thread that has nothing else to do finds the next
            // ones.
            let (learned, ()) = rayon::join(
                || vectors.learn(map.kernel, visits, &this.slots, &this.residuals),
                || prepare(rows, &mut next),
            );
            errors += learned;
            std::mem::swap(&mut this, &mut next);
        }
        errors
    }
}

/// Takes the products of pairs off the targets of rows, so that weights learn the rest.
pub fn subtract_pairs(map: &SlotMap<'_>, vectors: &SlotVectors, rows: &mut [TrainingRow]) {
    let count = map.set.features_per_position();
    rows.par_chunks_mut(CHUNK_ROWS).for_each(|rows| {
        let (mut slots, mut values) = (vec![0; rows.len() * count], vec![Score(0); rows.len()]);
        map.write(rows, &mut slots);
        vectors.values(map.kernel, &slots, &mut values);
        for (row, value) in rows.iter_mut().zip(values) {
            row.target = (row.target - value).clamp(-REST_MAX, REST_MAX);
        }
    });
}

/// Vectors that have learned nothing, `[slot][component]`: from zero none would move.
pub fn random_vectors(seed: u64, group: usize, map: &SlotMap<'_>) -> Vec<i32> {
    let most = START_MAX << FRACTION_BITS;
    let vectors = map.configurations().flat_map(|(pattern, index)| {
        let mut random = stream(
            seed,
            Stream::Vector(group as u32, pattern as u32, index as u32),
        );
        // The sum of two uniform numbers, so that small ones are the likeliest.
        let mut component =
            move || random.below(most as u32) as i32 + random.below(most as u32) as i32 - most;
        (0..map.set.vector_size()).map(move |_| component())
    });
    vectors.collect()
}
