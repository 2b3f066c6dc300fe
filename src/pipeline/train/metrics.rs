//! The error of an evaluation on labeled rows.

use super::rows::TrainingRow;
use super::task::{EmptiesError, Errors};
use crate::engine::eval::evaluation::Evaluation;
use crate::engine::score::Score;
use crate::pipeline::{Context, StageError};
use rayon::prelude::{ParallelIterator, ParallelSlice};

/// The width of a row of the error table, in empty squares.
const EMPTIES_STEP: usize = 5;

const RANGES: usize = 60 / EMPTIES_STEP + 1;

/// Integer sums, which add up to the same bits in any order.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    rows: u64,
    absolute: u64,
    squared: u128,
}

impl Sums {
    fn add(self, other: Self) -> Self {
        Self {
            rows: self.rows + other.rows,
            absolute: self.absolute + other.absolute,
            squared: self.squared + other.squared,
        }
    }

    fn mae(self) -> f64 {
        self.absolute as f64 / self.rows.max(1) as f64 / f64::from(Score::DISC.0)
    }

    fn rmse(self) -> f64 {
        (self.squared as f64 / self.rows.max(1) as f64).sqrt() / f64::from(Score::DISC.0)
    }
}

/// The error of static values against the rows' targets, on the threads of the current pool.
///
/// # Errors
///
/// [`StageError::Interrupted`].
pub fn errors(evaluation: &Evaluation, rows: &[TrainingRow], context: Context<'_>) -> Result<Errors, StageError> {
    let joined =
        |left: [Sums; RANGES], right: [Sums; RANGES]| Ok(std::array::from_fn(|range| left[range].add(right[range])));
    let sums = rows
        .par_chunks(1 << 14)
        .map(|rows| context.check().map(|()| chunk_sums(evaluation, rows)))
        .try_reduce(|| [Sums::default(); RANGES], joined)?;
    let total = sums.iter().fold(Sums::default(), |total, &sums| total.add(sums));
    let by_empties = sums.iter().enumerate().filter(|(_, sums)| 0 < sums.rows).map(|(range, sums)| EmptiesError {
        empties_min: (range * EMPTIES_STEP) as u8,
        empties_max: ((range + 1) * EMPTIES_STEP - 1).min(60) as u8,
        rows: sums.rows,
        mae: sums.mae(),
        rmse: sums.rmse(),
    });
    Ok(Errors { mae: total.mae(), rmse: total.rmse(), by_empties: by_empties.collect() })
}

fn chunk_sums(evaluation: &Evaluation, rows: &[TrainingRow]) -> [Sums; RANGES] {
    let mut sums = [Sums::default(); RANGES];
    for row in rows {
        let error = u64::from(evaluation.static_value(row.position).0.abs_diff(row.target));
        let range = &mut sums[usize::from(row.position.empties()) / EMPTIES_STEP];
        *range = range.add(Sums { rows: 1, absolute: error, squared: u128::from(error * error) });
    }
    sums
}
