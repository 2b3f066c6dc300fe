//! The source's form: one difference a depth, each depth fitted with the lower ones in use.

use super::{DEEP_MIN, DepthFit, FitMpcTask, SHALLOW_DEPTHS, Statistics, row, table_of};
use crate::engine::board::position::Position;
use crate::engine::search::mpc::{MpcLevel, MpcTable};
use crate::engine::search::searcher::Searcher;
use crate::pipeline::{Context, StageError};
use rayon::prelude::{IntoParallelRefIterator, ParallelIterator};

/// The statistics, and a row for each position and depth.
pub(super) fn fit(
    task: FitMpcTask<'_>,
    positions: &[Position],
    context: Context<'_>,
) -> Result<Statistics, StageError> {
    let (mut depths, mut rows) = (Vec::new(), Vec::new());
    for (deep, shallow) in (DEEP_MIN..=task.config.depth_max).zip(SHALLOW_DEPTHS) {
        let pairs = search_pairs(task, &table_of(&depths), positions, [deep, shallow], context)?;
        depths.push(fit_depth([deep, shallow], &pairs));
        let samples = (0..).zip(positions.iter().zip(&pairs));
        rows.extend(samples.map(|(id, (&position, &pair))| row(id, position, [deep, shallow], pair)));
    }
    Ok((depths, rows))
}

/// The deep and the shallow value of each position; deep searches use the levels fitted so far.
fn search_pairs(
    task: FitMpcTask<'_>,
    table: &MpcTable,
    positions: &[Position],
    depths: [u8; 2],
    context: Context<'_>,
) -> Result<Vec<[i32; 2]>, StageError> {
    let level = MpcLevel::Sigmas(task.config.t);
    let new_searcher = || Searcher::new(&task.model.model.evaluation, table, task.config.table_bits);
    positions
        .par_iter()
        .map_init(new_searcher, |searcher, &position| {
            context.check()?;
            context.progress.advance(1, 0);
            Ok(depths.map(|depth| {
                searcher.clear();
                searcher.score_at_depth(position, depth, level).0
            }))
        })
        .collect()
}

/// Mean and standard deviation of deep − shallow, from integer sums, rounded half away from zero.
fn fit_depth([deep, shallow]: [u8; 2], pairs: &[[i32; 2]]) -> DepthFit {
    let differences = || pairs.iter().map(|&[deep, shallow]| i64::from(deep) - i64::from(shallow));
    let count = pairs.len() as f64;
    let mean = differences().sum::<i64>() as f64 / count;
    let squares: i128 = differences().map(|difference| i128::from(difference) * i128::from(difference)).sum();
    let variance = (squares as f64 / count - mean * mean).max(0.0);
    DepthFit {
        empties_min: deep,
        empties_max: 60,
        deep,
        shallow,
        slope: 1.0,
        offset: mean.round() as i32,
        sigma: variance.sqrt().round() as i32,
        samples: pairs.len() as u64,
    }
}
