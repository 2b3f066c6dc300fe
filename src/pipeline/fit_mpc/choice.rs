//! Which shallow depths to try at each deep one, and how many: by what they cost and how often they cut.

use super::line::{Deep, END_RANGES, Pair, RANGES, check};
use super::sample::Sample;
use super::{DepthFit, SHALLOW_DEPTHS, SHALLOW_FIRST};
use crate::engine::eval::evaluation::SCORE_MAX;
use crate::engine::search::mpc::{MpcEntry, MpcLevel, PROBE_MARGIN, STATIC_MARGIN};
use crate::engine::search::searcher::Stopped;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

/// The fits of every pair of depths, by range.
pub(super) type Fits = BTreeMap<Pair, Vec<DepthFit>>;

/// With fewer nodes met in a range, the source's shallow depth is taken.
const MET_MIN: usize = 100;

/// Another probe must save one part in so many of the nodes, or it is left out.
const GAIN_PARTS: u64 = 50;

/// What searches cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Costs {
    /// Nodes of a selective search, by depth.
    pub(super) by_depth: Vec<u64>,
    /// Nodes of an exact search, by range of [`END_RANGES`].
    pub(super) to_end: Vec<u64>,
}

/// The source's shallow depth for a deep one, if it has one.
pub(super) fn source_shallow(deep: u8) -> Option<u8> {
    deep.checked_sub(SHALLOW_FIRST).and_then(|index| SHALLOW_DEPTHS.get(usize::from(index))).copied()
}

/// The fits that a search is to use: for each deep depth and range the static value, then the shallow depths chosen, in
/// ascending order.
///
/// Greedy: the shallow depth that saves most is added until none saves enough. What one saves is counted on nodes that
/// searches met, in the windows in which they met them.
pub(super) fn choose(
    parts: &[Vec<Sample>],
    fits: &Fits,
    costs: &Costs,
    level: MpcLevel,
    probes_max: u8,
    stop: &AtomicBool,
) -> Result<Vec<DepthFit>, Stopped> {
    let mut chosen = Vec::new();
    let deeps: std::collections::BTreeSet<Deep> = fits.keys().map(|pair| pair.deep).collect();
    for deep in deeps {
        let ranges: &[[u8; 2]] = if deep == Deep::End { &END_RANGES } else { &RANGES };
        for (index, &[min, max]) in ranges.iter().enumerate() {
            let candidates: Vec<&DepthFit> =
                fits.iter().filter(|(pair, _)| pair.deep == deep).map(|(_, fits)| &fits[index]).collect();
            let fits_range = |sample: &&Sample| {
                (min..=max).contains(&sample.position.empties()) && (deep != Deep::End || sample.end.is_some())
            };
            let met: Vec<&Sample> =
                parts.iter().flatten().filter(fits_range).filter(|sample| sample.met.is_some()).collect();
            let deep_cost = match deep {
                Deep::Depth(depth) => costs.by_depth[usize::from(depth)],
                Deep::End => costs.to_end[index],
            };
            let shallow = match deep {
                _ if MET_MIN <= met.len() => {
                    let judge = Judge { met: &met, by_depth: &costs.by_depth, deep_cost, level, stop };
                    judge.greedy(&candidates, probes_max)?
                }
                Deep::Depth(depth) => source_shallow(depth).into_iter().filter(|_| 0 < probes_max).collect(),
                // Nothing is known of searches so near to the end.
                Deep::End => continue,
            };
            let wanted = |fit: &&&DepthFit| fit.shallow == 0 || shallow.contains(&fit.shallow);
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
    stop: &'a AtomicBool,
}

impl Judge<'_> {
    fn greedy(&self, candidates: &[&DepthFit], probes_max: u8) -> Result<Vec<u8>, Stopped> {
        let mut shallow: Vec<u8> = Vec::new();
        let mut cost = self.cost(candidates, &shallow)?;
        while shallow.len() < usize::from(probes_max) {
            let others =
                candidates.iter().map(|fit| fit.shallow).filter(|depth| 0 < *depth && !shallow.contains(depth));
            let with = |depth: u8| [shallow.as_slice(), &[depth]].concat();
            let costs = others.map(|depth| Ok((self.cost(candidates, &with(depth))?, depth)));
            let costs: Vec<(u64, u8)> = costs.collect::<Result<_, Stopped>>()?;
            let Some((next, depth)) = costs.into_iter().min() else { break };
            if cost - cost / GAIN_PARTS < next {
                break;
            }
            (cost, shallow) = (next, with(depth));
        }
        Ok(shallow)
    }

    /// Nodes that all samples take with the static value and these shallow depths as probes.
    fn cost(&self, candidates: &[&DepthFit], shallow: &[u8]) -> Result<u64, Stopped> {
        let wanted = candidates.iter().filter(|fit| fit.shallow == 0 || shallow.contains(&fit.shallow));
        let probes: Vec<(MpcEntry, f64)> = wanted
            .map(|fit| {
                let entry = fit.entries().next().expect("a range holds a number of empty squares");
                (entry, entry.margin(self.level))
            })
            .collect();
        self.met.iter().map(|sample| check(self.stop).map(|()| self.sample_cost(sample, &probes))).sum()
    }

    /// Nodes of the probes of a search until one cuts, and of the deep search if none does.
    fn sample_cost(&self, sample: &Sample, probes: &[(MpcEntry, f64)]) -> u64 {
        let Some(met) = sample.met else { return 0 };
        let (alpha, beta) = (met.alpha, met.alpha + 1);
        let (mut try_low, mut try_high) = (true, true);
        let mut cost = 0;
        for (entry, t) in probes {
            let value = sample.depths[usize::from(entry.shallow)].score;
            let probe_cost = self.by_depth[usize::from(entry.shallow)];
            if entry.shallow == 0 {
                let (low, high) = entry.bounds(alpha, beta, STATIC_MARGIN * t);
                if high <= value || value <= low {
                    return cost;
                }
                (try_low, try_high) = entry.may_foretell(value, alpha, beta, PROBE_MARGIN);
                continue;
            }
            let (low, high) = entry.bounds(alpha, beta, *t);
            let (try_high, try_low) = (try_high && high <= SCORE_MAX, try_low && -SCORE_MAX <= low);
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
