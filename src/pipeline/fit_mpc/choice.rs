//! Which shallow depth to try at each deep one: by what it costs and how often it cuts.

use super::metrics::{Deep, DepthFit, Pair};
use super::sample::Sample;
use super::task::{SHALLOW_DEPTHS, SHALLOW_FIRST};
use crate::engine::{Cuts, MpcEntry, MpcLevel, NullWindow, PROBE_MARGIN, STATIC_MARGIN, Score};
use crate::pipeline::{Context, StageError};
use std::collections::{BTreeMap, BTreeSet};

/// The fits of every pair of depths, by range.
pub type Fits = BTreeMap<Pair, Vec<DepthFit>>;

/// With fewer nodes met in a range, the source's shallow depth is taken.
const MET_MIN: usize = 100;

/// A shallow search is worth it only if it saves 1 / this of the nodes.
const GAIN_PARTS: u64 = 50;

/// The source's shallow depth for a deep one, if it has one.
pub fn source_shallow(deep: u8) -> Option<u8> {
    deep.checked_sub(SHALLOW_FIRST)
        .and_then(|index| SHALLOW_DEPTHS.get(usize::from(index)))
        .copied()
}

/// The fits that a search is to use: for each deep depth and range the static value, then the
/// shallow depth that saves most, if any saves enough. What one saves is counted on nodes that
/// searches met, in the windows in which they met them; selective searches take the nodes of
/// `by_depth`, exact ones the mean of the samples in their range.
///
/// One at most, because every probe is another chance to err: on 300 midgame positions two at 87 %
/// took 13,458 nodes for an error of 3.80 discs, and one at 80 % took 11,890 for 3.79.
pub fn choose(
    samples: &[Sample],
    fits: &Fits,
    by_depth: &[u64],
    level: MpcLevel,
    context: Context<'_>,
) -> Result<Vec<DepthFit>, StageError> {
    let mut chosen = Vec::new();
    let deeps: BTreeSet<Deep> = fits.keys().map(|pair| pair.deep).collect();
    for deep in deeps {
        for (index, &[min, max]) in deep.ranges().iter().enumerate() {
            context.check()?;
            let candidates: Vec<&DepthFit> = fits
                .iter()
                .filter(|(pair, _)| pair.deep == deep)
                .map(|(_, fits)| &fits[index])
                .collect();
            let fits_range = |sample: &&Sample| {
                (min..=max).contains(&sample.position.empties())
                    && (deep != Deep::End || sample.end.is_some())
            };
            let met: Vec<&Sample> = samples
                .iter()
                .filter(fits_range)
                .filter(|sample| sample.met.is_some())
                .collect();
            let deep_cost = match deep {
                Deep::Depth(depth) => by_depth[usize::from(depth)],
                Deep::End => {
                    let solved = samples
                        .iter()
                        .filter(fits_range)
                        .filter_map(|sample| sample.end);
                    let nodes: Vec<u64> = solved.map(|end| end.nodes).collect();
                    nodes.iter().sum::<u64>() / nodes.len().max(1) as u64
                }
            };
            let shallow = match deep {
                _ if MET_MIN <= met.len() => Judge {
                    met: &met,
                    by_depth,
                    deep_cost,
                    level,
                }
                .best(&candidates),
                Deep::Depth(depth) => source_shallow(depth),
                // Nothing is known of searches so near to the end.
                Deep::End => continue,
            };
            let wanted = |fit: &&&DepthFit| fit.shallow == 0 || shallow == Some(fit.shallow);
            chosen.extend(candidates.iter().filter(wanted).map(|&fit| fit.clone()));
        }
    }
    Ok(chosen)
}

/// Counts nodes for one deep depth and range.
struct Judge<'a> {
    met: &'a [&'a Sample],
    by_depth: &'a [u64],
    deep_cost: u64,
    level: MpcLevel,
}

impl Judge<'_> {
    /// The shallow depth that saves most, if it saves enough.
    fn best(&self, candidates: &[&DepthFit]) -> Option<u8> {
        let without = self.cost(candidates, None);
        let shallow = candidates
            .iter()
            .map(|fit| fit.shallow)
            .filter(|depth| 0 < *depth);
        let (cost, depth) = shallow
            .map(|depth| (self.cost(candidates, Some(depth)), depth))
            .min()?;
        (cost <= without - without / GAIN_PARTS).then_some(depth)
    }

    /// Nodes that all samples take with the static value and this shallow depth as probes.
    fn cost(&self, candidates: &[&DepthFit], shallow: Option<u8>) -> u64 {
        let wanted = candidates
            .iter()
            .filter(|fit| fit.shallow == 0 || shallow == Some(fit.shallow));
        let probes: Vec<(MpcEntry, f64)> = wanted
            .map(|fit| {
                let entry = fit
                    .entries()
                    .next()
                    .expect("a range holds a number of empty squares");
                (entry, entry.margin(self.level))
            })
            .collect();
        self.met
            .iter()
            .map(|sample| self.sample_cost(sample, &probes))
            .sum()
    }

    /// Nodes of the probes of a search until one cuts, and of the deep search if none does.
    fn sample_cost(&self, sample: &Sample, probes: &[(MpcEntry, f64)]) -> u64 {
        let Some(met) = sample.met else { return 0 };
        let window = NullWindow::above(met.alpha);
        let (mut try_low, mut try_high) = (true, true);
        let mut cost = 0;
        for (entry, t) in probes {
            let shallow = usize::from(entry.shallow.0);
            let value = sample.depths[shallow].score;
            let probe_cost = self.by_depth[shallow];
            if shallow == 0 {
                let Cuts { low, high } = entry.cuts(window, STATIC_MARGIN * t);
                if high <= value || value <= low {
                    return cost;
                }
                (try_low, try_high) = entry.may_cut(value, window, PROBE_MARGIN);
                continue;
            }
            let Cuts { low, high } = entry.cuts(window, *t);
            let (try_high, try_low) =
                (try_high && high <= Score::MAX, try_low && Score::MIN <= low);
            cost += probe_cost * u64::from(try_high);
            if try_high && high <= value {
                return cost;
            }
            cost += probe_cost * u64::from(try_low);
            if try_low && value <= low {
                return cost;
            }
        }
        cost + self.deep_cost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::GameId;
    use crate::engine::Position;
    use crate::pipeline::fit_mpc::sample::{MetIn, Searched};

    /// Deep ≈ shallow ± 1 disc.
    fn fit(shallow: u8) -> DepthFit {
        DepthFit {
            empties_min: 0,
            empties_max: 60,
            deep: Some(5),
            shallow,
            slope: 1.0,
            offset: 0,
            sigma: 1000,
            growth: 0.0,
            quantiles: [1.0; 5],
            rest: 1000,
            r_squared: 1.0,
            beyond_3: 0.0,
            samples: 100,
        }
    }

    /// A node met in the window above `alpha`, with these scores by depth.
    fn sample(alpha: i32, scores: &[i32]) -> Sample {
        let depths = scores
            .iter()
            .map(|&score| Searched {
                score: Score(score),
                nodes: 0,
            })
            .collect();
        Sample {
            id: 0,
            game: GameId(0),
            position: Position::START,
            met: Some(MetIn {
                depth: 5,
                alpha: Score(alpha),
            }),
            depths,
            end: None,
        }
    }

    const NODES: [u64; 4] = [0, 10, 20, 40];
    const DEEP: u64 = 1000;

    fn judged<R>(met: &[&Sample], judge: impl Fn(&Judge<'_>) -> R) -> R {
        judge(&Judge {
            met,
            by_depth: &NODES,
            deep_cost: DEEP,
            level: MpcLevel::Sigmas(1.0),
        })
    }

    #[test]
    fn every_probe_is_paid_for_until_one_cuts() {
        // At one deviation a probe of 1,002 or more is a value above the window (0, 1), and one of
        // -1,001 or less below.
        let probes = |shallow: &[u8]| -> Vec<(MpcEntry, f64)> {
            shallow
                .iter()
                .map(|&depth| (fit(depth).entries().next().unwrap(), 1.0))
                .collect()
        };
        for (alpha, scores, shallow, expected) in [
            (0, &[0, 1002][..], &[1][..], 10),
            (0, &[0, 1001], &[1], 10 + 10 + DEEP),
            (0, &[0, -1000], &[1], 10 + 10 + DEEP),
            (0, &[0, -1001], &[1], 10 + 10),
            (0, &[0, 0, 1002], &[1, 2], 10 + 10 + 20),
            (0, &[0, 0, -1001], &[1, 2], 10 + 10 + 20 + 20),
            (0, &[0, 0, 0], &[1, 2], 10 + 10 + 20 + 20 + DEEP),
            // The static value alone, at twice the margin.
            (0, &[2002], &[0], 0),
            (0, &[2001], &[0], DEEP),
            (0, &[-2001], &[0], 0),
            (0, &[-2000], &[0], DEEP),
            // A static value far to one side leaves the probe of that side alone.
            (0, &[2001, 0], &[0, 1], 10 + DEEP),
            (0, &[2001, 1002], &[0, 1], 10),
            (0, &[2001, -1001], &[0, 1], 10 + DEEP),
            (0, &[-2000, 0], &[0, 1], 10 + DEEP),
            (0, &[-2000, -1001], &[0, 1], 10),
            (0, &[-2000, 1002], &[0, 1], 10 + DEEP),
            // No score is above so high a window by a deviation, nor below so low a one.
            (63_500, &[0, 63_500], &[1], 10 + DEEP),
            (-63_500, &[0, -63_500], &[1], 10 + DEEP),
        ] {
            let cost = judged(&[], |judge| {
                judge.sample_cost(&sample(alpha, scores), &probes(shallow))
            });
            assert_eq!(
                cost, expected,
                "window above {alpha}, scores {scores:?}, probes {shallow:?}"
            );
        }
        let unmet = Sample {
            met: None,
            ..sample(0, &[0, 0])
        };
        assert_eq!(
            judged(&[], |judge| judge.sample_cost(&unmet, &probes(&[1]))),
            0
        );
    }

    #[test]
    fn the_probe_that_saves_most_is_taken_if_it_saves_enough() {
        let fits = [fit(0), fit(1), fit(2), fit(3)];
        let candidates: Vec<&DepthFit> = fits.iter().collect();
        let best = |met: &[&Sample]| judged(met, |judge| judge.best(&candidates));
        // Depth 2 cuts one half of the nodes, depth 3 that half and another quarter.
        let cut = [
            sample(0, &[0, 0, 1002, 1002]),
            sample(0, &[0, 0, 0, 1002]),
            sample(0, &[0, 0, 0, 0]),
        ];
        assert_eq!(best(&[&cut[0], &cut[0], &cut[1], &cut[2]]), Some(3));
        // Where both cut all, the cheaper one.
        assert_eq!(best(&[&cut[0]]), Some(2));
        // 2 % are 2,000 nodes: depth 1 saves 2,040 if it cuts 4 of 100 searches, and 1,030 if 3.
        let often = sample(0, &[0, 1002, 0, 0]);
        let among = |count: usize| [vec![&often; count], vec![&cut[2]; 100 - count]].concat();
        assert_eq!(best(&among(4)), Some(1));
        assert_eq!(best(&among(3)), None);
    }
}
