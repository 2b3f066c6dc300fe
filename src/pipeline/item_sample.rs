//! Items of a dataset that are made again to check it.

use crate::random::{Stream, number_below};
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

/// An unpredictable seed, so that nobody knows beforehand what is checked; short enough to be typed
/// again.
pub fn fresh_seed() -> u64 {
    RandomState::new().hash_one(std::process::id()) >> 32
}

/// Items drawn by a seed, spread over all of them: one of each of as many ranges of consecutive
/// items, equally long.
#[derive(Clone, Copy, Debug)]
pub struct ItemSample {
    seed: u64,
    items: u64,
    count: u64,
}

impl ItemSample {
    /// `count` of the items from 0 on, or all of them.
    pub fn new(seed: u64, items: u64, count: u64) -> Self {
        Self {
            seed,
            items,
            count: count.min(items),
        }
    }

    /// This share of the items, rounded up.
    pub fn of_share(seed: u64, items: u64, share: f64) -> Self {
        Self::new(seed, items, (items as f64 * share).ceil() as u64)
    }

    /// Those among consecutive items, ascending.
    pub fn among(self, ids: Range<u64>) -> impl Iterator<Item = u64> {
        let scaled = |number: u64, from: u64, to: u64| {
            (u128::from(number) * u128::from(to) / u128::from(from.max(1))) as u64
        };
        let ranges = scaled(ids.start, self.items, self.count)..self.count;
        let drawn = ranges.map(move |range| {
            let (begin, end) = (
                scaled(range, self.count, self.items),
                scaled(range + 1, self.count, self.items),
            );
            begin + number_below(self.seed, Stream::Remake, &range.to_le_bytes(), end - begin)
        });
        drawn
            .skip_while(move |id| *id < ids.start)
            .take_while(move |id| *id < ids.end)
    }
}

/// The share of false items that `count` of them, drawn at random, find with this probability.
///
/// A share q is found with probability 1 − (1 − q)^count.
pub fn share_found(count: u64, probability: f64) -> f64 {
    if count == 0 {
        1.0
    } else {
        1.0 - libm::pow(1.0 - probability, 1.0 / count as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_spread_over_all_items_and_is_the_same_for_any_parts() {
        for (games, count) in [
            (1, 1),
            (45, 9),
            (45, 45),
            (1_000, 37),
            (7, 100),
            (10_000_000_000, 5),
        ] {
            let sample = ItemSample::new(3, games, count);
            let all: Vec<u64> = sample.among(0..games).collect();
            assert_eq!(all.len() as u64, count.min(games));
            for (range, &id) in (0..).zip(&all) {
                let edge = |range: u64| {
                    (u128::from(range) * u128::from(games) / u128::from(sample.count)) as u64
                };
                assert!(
                    (edge(range)..edge(range + 1)).contains(&id),
                    "{games} {count}: {id} in range {range}"
                );
            }
            for parts in [1, 2, 3, 7] {
                let edge = |part: u64| {
                    games / parts * part + if part == parts { games % parts } else { 0 }
                };
                let in_parts = (0..parts).flat_map(|part| sample.among(edge(part)..edge(part + 1)));
                assert_eq!(in_parts.collect::<Vec<_>>(), all, "{games} {count} {parts}");
            }
        }
        let of_seed = |seed| {
            ItemSample::new(seed, 1_000, 10)
                .among(0..1_000)
                .collect::<Vec<_>>()
        };
        assert_ne!(of_seed(1), of_seed(2));
        assert_eq!(ItemSample::of_share(1, 45, 0.01).count, 1);
        assert_eq!(ItemSample::of_share(1, 45, 1.0).count, 45);
    }

    #[test]
    fn a_share_is_found_with_the_probability_of_its_formula() {
        for (count, probability) in [(1, 0.5), (3, 0.95), (100, 0.95), (256, 0.99)] {
            let share = share_found(count, probability);
            let found = 1.0 - libm::pow(1.0 - share, count as f64);
            assert!(
                (found - probability).abs() < 1e-12,
                "{count} {probability}: {share}"
            );
        }
    }
}
