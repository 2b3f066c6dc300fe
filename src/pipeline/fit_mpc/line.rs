//! Least-squares lines with the quantiles of their residuals, for each pair of depths and range of
//! empty squares.

use super::metrics::{Deep, DepthFit, Pair};
use super::sample::Sample;
use super::sums::{Deviation, FittedLine, ScorePair, Tails, rounded};
use crate::engine::{LEVELS, MpcTable, Score};
use crate::pipeline::StageError;
use crate::statistics::point_sums::PointSums;

/// A range with fewer samples uses the line of all ranges together.
const SAMPLES_MIN: u64 = 100;

/// A quantile is taken from all ranges together unless at least this many samples of its range lie
/// outside it.
const OUTSIDE_MIN: u64 = 20;

/// Samples with a larger shallow value come from decided games and are left out.
const SHALLOW_MAX: Score = Score(40 * Score::DISC.0);

impl Pair {
    /// Its scores in a sample, if it has both.
    pub fn of(self, sample: &Sample) -> Option<ScorePair> {
        let deep = match self.deep {
            Deep::Depth(depth) => sample.depths.get(usize::from(depth)),
            Deep::End => sample.end.as_ref(),
        };
        let shallow = sample.depths.get(usize::from(self.shallow))?;
        Some(ScorePair {
            deep: deep?.score,
            shallow: shallow.score,
        })
    }
}

/// Adds up the scores of a pair in samples of some empty squares.
fn sum<S: Default>(
    samples: &[&Sample],
    pair: Pair,
    range: [u8; 2],
    add: impl Fn(&mut S, ScorePair),
) -> S {
    let [min, max] = range;
    let mut sum = S::default();
    for sample in samples
        .iter()
        .filter(|sample| (min..=max).contains(&sample.position.empties()))
    {
        if let Some(scores) = pair
            .of(sample)
            .filter(|scores| scores.shallow.abs() <= SHALLOW_MAX)
        {
            add(&mut sum, scores);
        }
    }
    sum
}

/// The fits of a pair in each of its ranges.
pub fn fit_pair(samples: &[&Sample], pair: Pair) -> Vec<DepthFit> {
    let ranges = pair.deep.ranges();
    let add = |sums: &mut PointSums, scores: ScorePair| sums.add(scores.shallow.0, scores.deep.0);
    let sums: Vec<PointSums> = ranges
        .iter()
        .map(|&range| sum(samples, pair, range, add))
        .collect();
    let mut all = PointSums::default();
    sums.iter().for_each(|sums| all.merge(sums));
    let shape = |(&range, own): (&[u8; 2], &PointSums)| {
        // Lines, deviations and tails are fitted to the same samples.
        let whole = [ranges[0][0], ranges[ranges.len() - 1][1]];
        let (sums, used) = if own.count < SAMPLES_MIN {
            (&all, whole)
        } else {
            (own, range)
        };
        fit_shape(samples, pair, range, sums, used)
    };
    let shapes: Vec<(DepthFit, Tails)> = ranges.iter().zip(&sums).map(shape).collect();
    let mut all_tails = Tails::default();
    let of_own_samples = shapes
        .iter()
        .zip(&sums)
        .filter(|(_, own)| SAMPLES_MIN <= own.count);
    of_own_samples.for_each(|((_, tails), _)| all_tails.merge(tails));
    let with_quantiles = shapes.into_iter().map(|(fit, tails)| {
        let mut least = 0.0_f64;
        let quantiles = LEVELS.map(|level| {
            let own = OUTSIDE_MIN <= tails.outside(level) || all_tails.count < tails.count;
            let quantile = if own { &tails } else { &all_tails }.quantile(level);
            least = least.max(rounded(quantile, 1e3));
            least
        });
        DepthFit { quantiles, ..fit }
    });
    with_quantiles.collect()
}

/// Line and deviation in one range, and how far the samples lie from it.
fn fit_shape(
    samples: &[&Sample],
    pair: Pair,
    range: [u8; 2],
    sums: &PointSums,
    used: [u8; 2],
) -> (DepthFit, Tails) {
    let line = FittedLine::of(sums);
    let rest = |scores: ScorePair| {
        (f64::from(scores.deep.0)
            - line.slope * f64::from(scores.shallow.0)
            - f64::from(line.offset.0))
        .abs()
    };
    let add = |sums: &mut PointSums, scores: ScorePair| {
        sums.add(scores.shallow.abs().0, rest(scores).round() as i32);
    };
    let deviation = Deviation::of(&sum(samples, pair, used, add));
    let add = |tails: &mut Tails, scores: ScorePair| {
        tails.add(rest(scores) / deviation.at(scores.shallow));
    };
    let tails = sum(samples, pair, used, add);
    (DepthFit::new(pair, range, line, deviation, &tails), tails)
}

impl DepthFit {
    /// The statistics of a pair in a range, without quantiles.
    pub(super) fn new(
        pair: Pair,
        range: [u8; 2],
        line: FittedLine,
        deviation: Deviation,
        tails: &Tails,
    ) -> Self {
        Self {
            empties_min: range[0],
            empties_max: range[1],
            deep: if let Deep::Depth(depth) = pair.deep {
                Some(depth)
            } else {
                None
            },
            shallow: pair.shallow,
            slope: line.slope,
            offset: line.offset.0,
            sigma: deviation.sigma.0,
            growth: deviation.growth,
            quantiles: [0.0; LEVELS.len()],
            rest: line.rest.round() as i32,
            r_squared: rounded(line.r_squared, 1e4),
            beyond_3: rounded(tails.beyond(3), 1e4),
            samples: tails.count,
        }
    }
}

/// The table that searches use; scores that no search gave may lead to one that none can use.
pub fn table_of(depths: &[DepthFit]) -> Result<MpcTable, StageError> {
    let table = MpcTable::new(depths.iter().flat_map(DepthFit::entries).collect());
    table.map_err(|error| StageError::NoRows(format!("the samples make no MPC table: {error}")))
}

#[cfg(test)]
mod tests {
    use super::super::metrics::RANGES;
    use super::super::sample::Searched;
    use super::*;
    use crate::artifact::GameId;
    use crate::pipeline::fixtures::position;
    use crate::random::{Stream, stream};

    /// The fits of samples with a shallow and a deep score each, which have this number of empty
    /// squares.
    fn fits(groups: &[(u8, &[[i32; 2]])]) -> Vec<DepthFit> {
        let sample = |empties: u8, scores: &[i32; 2]| Sample {
            id: 0,
            game: GameId(0),
            position: position(1, empties),
            met: None,
            depths: scores
                .map(|score| Searched {
                    score: Score(score),
                    nodes: 1,
                })
                .into(),
            end: None,
        };
        let samples = groups
            .iter()
            .flat_map(|(empties, scores)| scores.iter().map(|scores| sample(*empties, scores)));
        let samples: Vec<Sample> = samples.collect();
        fit_pair(
            &samples.iter().collect::<Vec<&Sample>>(),
            Pair {
                deep: Deep::Depth(1),
                shallow: 0,
            },
        )
    }

    #[test]
    fn a_range_with_few_samples_has_the_fit_of_all_of_them() {
        let mut random = stream(1, Stream::Game(1, 0));
        let mut scores = |spread: u32| {
            let shallow = random.below(40_000) as i32 - 20_000;
            [
                shallow,
                shallow + random.below(2 * spread) as i32 - spread as i32,
            ]
        };
        // The few lie farther from the line than the many.
        let many: Vec<[i32; 2]> = (0..200).map(|_| scores(1_000)).collect();
        let few: Vec<[i32; 2]> = (1..SAMPLES_MIN).map(|_| scores(9_000)).collect();
        let apart = fits(&[(20, &many), (26, &few)]);
        let together = fits(&[(20, &many), (20, &few)]);
        let [empties_min, empties_max] = RANGES[2];
        assert_eq!(
            apart[2],
            DepthFit {
                empties_min,
                empties_max,
                ..together[1].clone()
            }
        );
        assert_eq!(
            apart[1],
            fits(&[(20, &many)])[1],
            "a range with enough samples has a fit to them alone"
        );
    }
}
