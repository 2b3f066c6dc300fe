//! How often predictions miss on games that they were not fitted to.

use super::line::fit_pair;
use super::metrics::{Deep, DepthFit, HeldOut, Pair};
use super::sample::Sample;
use super::sums::rounded;
use super::task::FOLDS;
use crate::artifact::GameId;
use crate::engine::{Discs, LEVELS, MpcEntry, Score};
use crate::pipeline::{Context, StageError};
use crate::random::{Stream, belongs};
use std::collections::{BTreeMap, BTreeSet};

/// A group of predictions: its name, and whether it holds one of the end of the game, from this
/// number of empty squares and from a shallow value of this size in whole discs.
type Group = (
    &'static str,
    fn(is_end: bool, empties: u8, size: Discs) -> bool,
);

const GROUPS: [Group; 8] = [
    ("all", |_, _, _| true),
    ("empties 0-23", |_, empties, _| empties <= 23),
    ("empties 24-35", |_, empties, _| {
        (24..=35).contains(&empties)
    }),
    ("empties 36-60", |_, empties, _| 36 <= empties),
    ("|v| < 8", |_, _, size| size < Discs(8)),
    ("8 <= |v| < 20", |_, _, size| {
        (Discs(8)..Discs(20)).contains(&size)
    }),
    ("20 <= |v|", |_, _, size| Discs(20) <= size),
    (END, |is_end, _, _| is_end),
];

/// The group that is left out if it is empty.
const END: &str = "end";

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

    fn named(&self, group: &str) -> HeldOut {
        let count = self.pairs.max(1) as f64;
        HeldOut {
            group: group.to_owned(),
            pairs: self.pairs,
            miss_rates: self
                .misses
                .map(|misses| rounded(misses as f64 / count, 1e5)),
            rms: rounded(Score::in_discs((self.squares as f64 / count).sqrt()), 1e5),
        }
    }
}

/// Cross-validation by game of the pairs that a table has: overall, by empty squares, by shallow
/// value, and of the end.
pub(super) fn held_out(
    samples: &[Sample],
    seed: u64,
    table: &[DepthFit],
    context: Context<'_>,
) -> Result<Vec<HeldOut>, StageError> {
    let folds: BTreeMap<GameId, u32> = samples
        .iter()
        .map(|sample| (sample.game, fold_of(seed, sample.game)))
        .collect();
    let mut counts: [Counts; GROUPS.len()] = Default::default();
    for fold in 0..FOLDS {
        let is_held_out = |sample: &&Sample| folds[&sample.game] == fold;
        let (tried, others): (Vec<&Sample>, Vec<&Sample>) = samples.iter().partition(is_held_out);
        for pair in table.iter().map(DepthFit::pair).collect::<BTreeSet<Pair>>() {
            context.check()?;
            let fits = fit_pair(&others, pair);
            let is_used = |fit: &&DepthFit| {
                table
                    .iter()
                    .any(|used| used.pair() == pair && used.empties_min == fit.empties_min)
            };
            let entries: Vec<MpcEntry> = fits
                .iter()
                .filter(is_used)
                .flat_map(DepthFit::entries)
                .collect();
            for sample in &tried {
                let empties = sample.position.empties();
                let entry = entries
                    .iter()
                    .find(|entry| (entry.empties_min..=entry.empties_max).contains(&empties));
                let (Some(scores), Some(entry)) = (pair.of(sample), entry) else {
                    continue;
                };
                let size = Discs::truncated(scores.shallow.abs());
                let is_in = |(_, holds): &Group| holds(pair.deep == Deep::End, empties, size);
                let groups = GROUPS
                    .iter()
                    .zip(&mut counts)
                    .filter(|(group, _)| is_in(group));
                groups.for_each(|(_, counts)| counts.add(entry, scores.deep, scores.shallow));
            }
        }
    }
    let named = GROUPS
        .iter()
        .zip(&counts)
        .map(|((name, _), counts)| counts.named(name));
    Ok(named
        .filter(|group| group.group != END || 0 < group.pairs)
        .collect())
}

/// The fold of a game, from 0: the first of ever larger shares of all games that it belongs to.
fn fold_of(seed: u64, game: GameId) -> u32 {
    let shares = (1..FOLDS).map(|fold| f64::from(fold) / f64::from(FOLDS));
    shares
        .take_while(|&share| !belongs(seed, Stream::Validation, &game.0.to_le_bytes(), share))
        .count() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_hold_equal_shares_of_the_games() {
        let mut counts = [0; FOLDS as usize];
        (0..10_000).for_each(|game| counts[fold_of(1, GameId(game)) as usize] += 1);
        assert!(
            counts.iter().all(|count| (1_850..2_150).contains(count)),
            "{counts:?}"
        );
    }
}
