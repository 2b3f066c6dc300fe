//! How often predictions miss on games that they were not fitted to.

use super::line::{Folds, Pool, check, fit_pair};
use super::metrics::{Deep, DepthFit, HeldOut, Pair};
use super::sample::Sample;
use crate::engine::score::Score;
use crate::engine::search::mpc::MpcEntry;
use crate::engine::search::mpc_level::LEVELS;
use crate::engine::search::result::Stopped;
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

/// The groups by empty squares and by the size of the shallow value in millidiscs.
const EMPTIES: [[u8; 2]; 3] = [[0, 23], [24, 35], [36, 60]];

const VALUES: [[i32; 2]; 3] = [[0, 7_999], [8_000, 19_999], [20_000, 64_000]];

/// Misses by level, counted in integers.
#[derive(Clone, Debug, Default)]
struct Counts {
    pairs: u64,
    misses: [u64; LEVELS.len()],
    squares: u128,
}

impl Counts {
    fn add(&mut self, entry: &MpcEntry, deep: Score, shallow: Score) {
        let rest = (f64::from(deep.0) - entry.predicted(shallow)).abs();
        let deviations = rest / entry.deviation(shallow).max(1.0);
        self.pairs += 1;
        for (misses, quantile) in self.misses.iter_mut().zip(entry.quantiles) {
            *misses += u64::from(quantile < deviations);
        }
        self.squares += (rest.round() as u128).pow(2);
    }

    fn named(&self, group: String) -> HeldOut {
        let count = self.pairs.max(1) as f64;
        let rounded = |value: f64| (value * 1e5).round() / 1e5;
        HeldOut {
            group,
            pairs: self.pairs,
            miss_rates: self.misses.map(|misses| rounded(misses as f64 / count)),
            rms: rounded((self.squares as f64 / count).sqrt() / 1000.0),
        }
    }
}

/// Cross-validation by game of the pairs that a table has: overall, by empty squares, by shallow value, and of the end.
pub(super) fn held_out(pool: Pool<'_>, fold_count: u32, table: &[DepthFit]) -> Result<Vec<HeldOut>, Stopped> {
    let mut all = Counts::default();
    let mut by_empties = [(); 3].map(|()| Counts::default());
    let mut by_value = [(); 3].map(|()| Counts::default());
    let mut of_end = Counts::default();
    for pair in table.iter().map(DepthFit::pair).collect::<BTreeSet<Pair>>() {
        for fold in 0..fold_count {
            let fits = fit_pair(Pool { without: Some(fold), ..pool }, pair)?;
            let is_used =
                |fit: &&DepthFit| table.iter().any(|used| used.pair() == pair && used.empties_min == fit.empties_min);
            let entries: Vec<MpcEntry> = fits.iter().filter(is_used).flat_map(DepthFit::entries).collect();
            let samples = pool.parts.iter().flatten().zip(pool.folds.iter().flatten());
            for (sample, _) in samples.filter(|(_, other)| **other == fold) {
                check(pool.stop)?;
                let empties = sample.position.empties();
                let entry = entries.iter().find(|entry| (entry.empties_min..=entry.empties_max).contains(&empties));
                let (Some(scores), Some(entry)) = (pair.of(sample), entry) else { continue };
                let size = scores.shallow.abs();
                let range = EMPTIES.iter().position(|[min, max]| (min..=max).contains(&&empties));
                let value = VALUES.iter().position(|[min, max]| (min..=max).contains(&&size));
                let groups = [range.map(|index| &mut by_empties[index]), value.map(|index| &mut by_value[index])];
                let groups = groups.into_iter().flatten().chain([&mut all]);
                let end = (pair.deep == Deep::End).then_some(&mut of_end);
                groups.chain(end).for_each(|counts| counts.add(entry, Score(scores.deep), Score(scores.shallow)));
            }
        }
    }
    let mut groups = vec![all.named("all".to_owned())];
    groups.extend(
        EMPTIES.iter().zip(&by_empties).map(|([min, max], counts)| counts.named(format!("empties {min}-{max}"))),
    );
    let names = ["|v| < 8", "8 <= |v| < 20", "20 <= |v|"];
    groups.extend(names.iter().zip(&by_value).map(|(name, counts)| counts.named((*name).to_owned())));
    if 0 < of_end.pairs {
        groups.push(of_end.named("end".to_owned()));
    }
    Ok(groups)
}

/// The fold of each sample.
pub(super) fn folds_of(parts: &[Vec<Sample>], folds: Folds, stop: &AtomicBool) -> Result<Vec<Vec<u32>>, Stopped> {
    let fold = |sample: &Sample| check(stop).map(|()| folds.of(sample.game));
    parts.iter().map(|part| part.iter().map(fold).collect()).collect()
}
