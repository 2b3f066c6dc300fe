//! The source's form: one difference a depth, each depth fitted with the lower ones in use.

use super::choice::source_shallow;
use super::compare::Searches;
use super::line::table_of;
use super::metrics::{Deep, DepthFit, Pair};
use super::sample::{Sample, Sampler, Searched};
use super::sums::{Deviation, FittedLine, Tails, rounded};
use super::task::FitMpcTask;
use crate::artifact::GameId;
use crate::engine::{DEEP_MAX, Depth, LEVELS, Position, Score};
use crate::pipeline::{Context, StageError};
use crate::statistics::point_sums::PointSums;
use rayon::prelude::{IntoParallelIterator, ParallelIterator};

/// The statistics, and the samples with the scores they come from.
pub fn fit(
    task: &FitMpcTask,
    context: Context<'_>,
) -> Result<(Vec<DepthFit>, Vec<Sample>), StageError> {
    let sampler = || Sampler::new(task, context.stop);
    let positions = |sampler: &mut Sampler<'_>, game| {
        context.check()?;
        context.progress.advance(1);
        Ok(sampler.positions(GameId(game))?)
    };
    let games: Result<Vec<Vec<Sample>>, StageError> = (0..task.config.games)
        .into_par_iter()
        .map_init(sampler, positions)
        .collect();
    let mut samples: Vec<Sample> = games?.into_iter().flatten().collect();
    let positions: Vec<Position> = samples.iter().map(|sample| sample.position).collect();
    let level = task.config.level();
    let mut fits = Vec::new();
    for deep in 0..=task.config.depth_max {
        // A depth without statistics has the same score whether or not the table has its own: the
        // root is not cut.
        let table = table_of(&fits)?;
        let searches = Searches {
            task,
            table: &table,
            positions: &positions,
            context,
        };
        let scores = searches
            .each(|searcher, position| searcher.score_at_depth(position, Depth(deep), level))?;
        for (sample, (score, nodes)) in samples.iter_mut().zip(scores) {
            sample.depths.push(Searched { score, nodes });
        }
        if let Some(shallow) = source_shallow(deep) {
            fits.push(fit_depth(&samples, deep, shallow));
        }
    }
    Ok((fits, samples))
}

/// Mean and standard deviation of deep − shallow, from integer sums, rounded half away from zero.
fn fit_depth(samples: &[Sample], deep: u8, shallow: u8) -> DepthFit {
    let scores =
        |sample: &Sample| [deep, shallow].map(|depth| sample.depths[usize::from(depth)].score);
    let mut sums = PointSums::default();
    samples
        .iter()
        .map(scores)
        .for_each(|[deep, shallow]| sums.add(shallow.0, deep.0));
    let line = FittedLine::with_slope(&sums, 1.0);
    let mut tails = Tails::default();
    for [deep, shallow] in samples.iter().map(scores) {
        let rest = (deep - shallow - line.offset).abs();
        tails.add(f64::from(rest.0) / line.rest.max(1.0));
    }
    let quantiles = LEVELS.map(|level| rounded(tails.quantile(level), 1e3));
    let deviation = Deviation {
        sigma: Score(line.rest.round() as i32),
        growth: 0.0,
    };
    let pair = Pair {
        deep: Deep::Depth(deep),
        shallow,
    };
    DepthFit {
        quantiles,
        ..DepthFit::new(pair, [deep, DEEP_MAX], line, deviation, &tails)
    }
}
