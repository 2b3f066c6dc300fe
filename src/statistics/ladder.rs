//! Elo ratings of all players that met in gates: a Bradley-Terry fit to the points of pairs, with a
//! weak prior.
//!
//! Player i scores s = 1 / (1 + 10^((rⱼ − rᵢ) / 400)) per pair against j. A match of n pairs with
//! mean m counts as n·w decisive games: its log-likelihood is n·w·(m·ln s + (1 − m)·ln(1 − s)),
//! where w = m(1 − m) / variance of a pair, so pairs that vary less than coin flips carry more
//! weight. The prior keeps the rating of a player finite that won or lost everything. Newton's
//! method finds the maximum of the concave sum; intervals come from its curvature.

use super::elo::INTERVAL;
use super::pairs::{PairCounts, PairMoments};
use std::collections::{BTreeMap, BTreeSet};

/// The standard deviation of the prior around the anchor, in Elo: wide enough that it weighs less
/// than one pair.
const PRIOR_ELO: f64 = 1000.0;

/// Elo for a factor e of the odds: 400 / ln 10.
const ELO_PER_NATURAL: f64 = 400.0 / std::f64::consts::LN_10;

/// The inverse of the prior's variance, in natural units.
const PRIOR_PRECISION: f64 = (ELO_PER_NATURAL / PRIOR_ELO) * (ELO_PER_NATURAL / PRIOR_ELO);

/// Limit on Newton steps. About ten are needed, each halved until it does not overshoot.
const STEPS_MAX: u32 = 100;

/// The search ends with a step that moves no rating by more than this, in natural units.
const STEP_MIN: f64 = 1e-12;

/// A match between two players.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Match<P> {
    /// The player from whose side the pairs are counted.
    pub first: P,
    /// Its opponent.
    pub second: P,
    /// Pairs by points, from none to two in halves.
    pub pairs: PairCounts,
}

/// A rating relative to the anchor, in Elo.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Rating {
    /// The rating; 0 for the anchor.
    pub elo: f64,
    /// The low end of its 95 % interval.
    pub elo_low: f64,
    /// The high end of its 95 % interval.
    pub elo_high: f64,
}

/// A match as decisive games: their number and the share of the points.
struct Evidence {
    players: [Option<usize>; 2], // indices of the unknowns; `None` for the anchor
    weight: f64,
    points: f64,
}

/// The ratings of all players connected to the anchor by a chain of matches, the anchor included.
pub fn ladder<P: Copy + Ord>(matches: &[Match<P>], anchor: P) -> BTreeMap<P, Rating> {
    let joined = joined_to(matches, anchor);
    let unknowns: Vec<P> = joined
        .iter()
        .copied()
        .filter(|&player| player != anchor)
        .collect();
    let place = |player: P| unknowns.binary_search(&player).ok();
    let played = matches
        .iter()
        .filter(|played| joined.contains(&played.first) && played.first != played.second);
    let evidence = played.map(|played| {
        let PairMoments {
            count,
            points,
            padded_points,
            padded_variance,
        } = PairMoments::new(played.pairs);
        let weight = count * padded_points * (1.0 - padded_points) / padded_variance;
        Evidence {
            players: [place(played.first), place(played.second)],
            weight,
            points,
        }
    });
    let evidence: Vec<Evidence> = evidence.collect();
    let (ratings, errors) = fit(&evidence, unknowns.len());
    let rating = |(rating, error): (f64, f64)| Rating {
        elo: rating * ELO_PER_NATURAL,
        elo_low: (rating - INTERVAL * error) * ELO_PER_NATURAL,
        elo_high: (rating + INTERVAL * error) * ELO_PER_NATURAL,
    };
    let rated = unknowns
        .iter()
        .copied()
        .zip(ratings.into_iter().zip(errors).map(rating));
    rated.chain([(anchor, rating((0.0, 0.0)))]).collect()
}

/// The anchor and all players that matches connect to it, ascending.
fn joined_to<P: Copy + Ord>(matches: &[Match<P>], anchor: P) -> BTreeSet<P> {
    let mut joined = BTreeSet::from([anchor]);
    loop {
        let count = joined.len();
        for &Match { first, second, .. } in matches.iter().filter(|played| played.pairs != [0; 5]) {
            if joined.contains(&first) || joined.contains(&second) {
                joined.extend([first, second]);
            }
        }
        if joined.len() == count {
            return joined;
        }
    }
}

/// The most likely ratings and their standard errors, in natural units.
fn fit(evidence: &[Evidence], count: usize) -> (Vec<f64>, Vec<f64>) {
    let mut ratings = vec![0.0; count];
    let mut value = log_posterior(evidence, &ratings);
    for _ in 0..STEPS_MAX {
        let (gradient, curvature) = derivatives(evidence, &ratings);
        let step = Elimination::of(curvature).solve(gradient);
        let mut scale = 1.0;
        let next = loop {
            let next: Vec<f64> = ratings
                .iter()
                .zip(&step)
                .map(|(rating, step)| rating + scale * step)
                .collect();
            let next_value = log_posterior(evidence, &next);
            if value <= next_value {
                value = next_value;
                break next;
            }
            scale /= 2.0;
        };
        ratings = next;
        if step.iter().all(|step| (scale * step).abs() < STEP_MIN) {
            break;
        }
    }
    let variances = Elimination::of(derivatives(evidence, &ratings).1).inverse_diagonal();
    (ratings, variances.into_iter().map(f64::sqrt).collect())
}

fn difference(match_evidence: &Evidence, ratings: &[f64]) -> f64 {
    let [first, second] = match_evidence
        .players
        .map(|place| place.map_or(0.0, |place| ratings[place]));
    first - second
}

fn log_posterior(evidence: &[Evidence], ratings: &[f64]) -> f64 {
    let matches = evidence.iter().map(|of| {
        let difference = difference(of, ratings);
        // ln s and ln (1 − s) without overflow at either end.
        let ln_share =
            |difference: f64| -libm::log1p(libm::exp(-difference.abs())) + difference.min(0.0);
        of.weight * (of.points * ln_share(difference) + (1.0 - of.points) * ln_share(-difference))
    });
    let prior = ratings
        .iter()
        .map(|rating| -rating * rating * PRIOR_PRECISION / 2.0);
    matches.sum::<f64>() + prior.sum::<f64>()
}

/// A symmetric matrix by rows: the entries that are not zero. Players that never met have none, and
/// most never did.
type SparseMatrix = Vec<BTreeMap<usize, f64>>;

/// The gradient of the log-posterior, and its curvature (the negated second derivatives).
fn derivatives(evidence: &[Evidence], ratings: &[f64]) -> (Vec<f64>, SparseMatrix) {
    let mut gradient: Vec<f64> = ratings
        .iter()
        .map(|rating| -rating * PRIOR_PRECISION)
        .collect();
    let mut curvature: SparseMatrix = (0..ratings.len())
        .map(|place| BTreeMap::from([(place, PRIOR_PRECISION)]))
        .collect();
    for of in evidence {
        let share = 1.0 / (1.0 + libm::exp(-difference(of, ratings)));
        let slope = of.weight * (of.points - share);
        let bend = of.weight * share * (1.0 - share);
        for (place, sign) in of
            .players
            .iter()
            .zip([1.0, -1.0])
            .filter_map(|(place, sign)| Some(((*place)?, sign)))
        {
            gradient[place] += sign * slope;
            *curvature[place].entry(place).or_default() += bend;
        }
        if let [Some(first), Some(second)] = of.players {
            *curvature[first].entry(second).or_default() -= bend;
            *curvature[second].entry(first).or_default() -= bend;
        }
    }
    (gradient, curvature)
}

/// A pivot of an elimination: its place, its diagonal entry, and the multiples of its row that
/// others lost.
struct Pivot {
    place: usize,
    diagonal: f64,
    factors: Vec<(usize, f64)>,
}

/// A positive definite matrix as L·D·Lᵀ, eliminated in the order of fewest neighbors: a ladder is
/// nearly a tree, whose leaves leave no new entries behind, so that the work grows with the number
/// of matches.
struct Elimination(Vec<Pivot>);

impl Elimination {
    fn of(mut matrix: SparseMatrix) -> Self {
        let mut waiting: BTreeSet<(usize, usize)> = matrix
            .iter()
            .enumerate()
            .map(|(place, row)| (row.len(), place))
            .collect();
        let mut pivots = Vec::with_capacity(matrix.len());
        while let Some((_, place)) = waiting.pop_first() {
            let mut row = std::mem::take(&mut matrix[place]);
            let diagonal = row.remove(&place).expect("the prior is on the diagonal");
            for (&neighbor, &entry) in &row {
                let changed = &mut matrix[neighbor];
                waiting.remove(&(changed.len(), neighbor));
                changed.remove(&place);
                for (&other, &change) in &row {
                    *changed.entry(other).or_default() -= entry * change / diagonal;
                }
                waiting.insert((changed.len(), neighbor));
            }
            let factors = row
                .into_iter()
                .map(|(neighbor, entry)| (neighbor, entry / diagonal))
                .collect();
            pivots.push(Pivot {
                place,
                diagonal,
                factors,
            });
        }
        Self(pivots)
    }

    /// What the matrix maps to these values.
    fn solve(&self, mut values: Vec<f64>) -> Vec<f64> {
        for pivot in &self.0 {
            for (neighbor, factor) in &pivot.factors {
                values[*neighbor] -= factor * values[pivot.place];
            }
        }
        for pivot in self.0.iter().rev() {
            let known: f64 = pivot
                .factors
                .iter()
                .map(|(neighbor, factor)| factor * values[*neighbor])
                .sum();
            values[pivot.place] = values[pivot.place] / pivot.diagonal - known;
        }
        values
    }

    /// The diagonal of the inverse, from those of its entries that L has (Takahashi, Fagan and
    /// Chen, 1973).
    fn inverse_diagonal(&self) -> Vec<f64> {
        let mut inverse: SparseMatrix = vec![BTreeMap::new(); self.0.len()];
        for pivot in self.0.iter().rev() {
            let place = pivot.place;
            for (column, _) in &pivot.factors {
                // The neighbors of a pivot became neighbors of each other.
                let entry: f64 = pivot
                    .factors
                    .iter()
                    .map(|(row, factor)| -factor * inverse[*row][column])
                    .sum();
                inverse[place].insert(*column, entry);
                inverse[*column].insert(place, entry);
            }
            let known: f64 = pivot
                .factors
                .iter()
                .map(|(row, factor)| factor * inverse[place][row])
                .sum();
            inverse[place].insert(place, 1.0 / pivot.diagonal - known);
        }
        inverse
            .iter()
            .enumerate()
            .map(|(place, row)| row[&place])
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn played(first: u8, second: u8, pairs: PairCounts) -> Match<u8> {
        Match {
            first,
            second,
            pairs,
        }
    }

    #[test]
    fn one_long_match_gives_the_logistic_difference() {
        let ratings = ladder(&[played(1, 0, [100, 0, 0, 0, 300])], 0);
        let rating = ratings[&1];
        // 75 % of the points are 190.85 Elo; the prior pulls it down slightly.
        assert!((rating.elo - 190.85).abs() < 0.5, "{rating:?}");
        // Pairs that are coin flips: the error of 400 flips is 400 / ln 10 / √(400 · 0.75 · 0.25).
        let error = (rating.elo_high - rating.elo_low) / 2.0 / INTERVAL;
        assert!((error - 20.06).abs() < 0.2, "{error}");
        assert_eq!(
            ratings[&0],
            Rating {
                elo: 0.0,
                elo_low: 0.0,
                elo_high: 0.0
            }
        );
    }

    #[test]
    fn ratings_add_up_along_a_chain_and_errors_grow() {
        let even = [10, 80, 200, 80, 10];
        let better = [10, 60, 180, 110, 20];
        let ratings = ladder(
            &[
                played(1, 0, better),
                played(2, 1, better),
                played(3, 2, even),
            ],
            0,
        );
        let [first, second, third] = [1, 2, 3].map(|name| ratings[&name]);
        assert!(
            (second.elo - 2.0 * first.elo).abs() < 0.5,
            "{first:?} {second:?}"
        );
        assert!((third.elo - second.elo).abs() < 0.5, "{second:?} {third:?}");
        let width = |rating: Rating| rating.elo_high - rating.elo_low;
        assert!(width(first) < width(second) && width(second) < width(third));
    }

    #[test]
    fn sweeps_are_finite_and_strangers_have_no_rating() {
        let matches = [
            played(1, 0, [0, 0, 0, 0, 200]),
            played(2, 0, [200, 0, 0, 0, 0]),
            played(8, 9, [1, 2, 3, 2, 1]),
        ];
        let ratings = ladder(&matches, 0);
        let [won, lost] = [1, 2].map(|name| ratings[&name]);
        assert!(500.0 < won.elo && won.elo_high.is_finite(), "{won:?}");
        assert!((won.elo + lost.elo).abs() < 1e-6, "{won:?} {lost:?}");
        assert_eq!(ratings.len(), 3);
        assert_eq!(ladder(&[], 0).len(), 1);
    }

    #[test]
    fn the_derivatives_are_those_of_the_log_posterior() {
        let match_of = |players, points| Evidence {
            players,
            weight: 3.0,
            points,
        };
        let evidence = [
            match_of([Some(0), None], 0.9),
            match_of([Some(1), Some(0)], 0.2),
            match_of([None, Some(1)], 0.5),
        ];
        let ratings = [1.5, -2.0];
        let moved = |place: usize, step: f64| {
            let mut moved = ratings;
            moved[place] += step;
            moved
        };
        let (gradient, curvature) = derivatives(&evidence, &ratings);
        let step = 1e-5;
        for place in 0..2 {
            let [up, down] = [step, -step].map(|step| moved(place, step));
            let slope =
                (log_posterior(&evidence, &up) - log_posterior(&evidence, &down)) / (2.0 * step);
            assert!(
                (slope - gradient[place]).abs() < 1e-8,
                "{slope} {gradient:?}"
            );
            let [up, down] = [up, down].map(|ratings| derivatives(&evidence, &ratings).0);
            for other in 0..2 {
                let bend = (down[other] - up[other]) / (2.0 * step);
                let entry = curvature[place].get(&other).copied().unwrap_or_default();
                assert!((bend - entry).abs() < 1e-8, "{bend} {curvature:?}");
            }
        }
    }

    /// The inverse by Gauss-Jordan elimination.
    fn dense_inverse(sparse: &SparseMatrix) -> Vec<Vec<f64>> {
        let count = sparse.len();
        let mut matrix = vec![vec![0.0; count]; count];
        for (row, entries) in sparse.iter().enumerate() {
            entries
                .iter()
                .for_each(|(column, entry)| matrix[row][*column] = *entry);
        }
        for pivot in 0..count {
            let scale = 1.0 / std::mem::replace(&mut matrix[pivot][pivot], 1.0);
            matrix[pivot].iter_mut().for_each(|value| *value *= scale);
            let row = matrix[pivot].clone();
            for other in (0..count).filter(|other| *other != pivot) {
                let factor = std::mem::take(&mut matrix[other][pivot]);
                matrix[other]
                    .iter_mut()
                    .zip(&row)
                    .for_each(|(value, change)| *value -= factor * change);
            }
        }
        matrix
    }

    #[test]
    fn the_elimination_is_that_of_the_whole_matrix() {
        // A chain of champions, their other challengers, and matches across.
        let met = [
            (0, 1),
            (1, 2),
            (2, 3),
            (3, 4),
            (1, 5),
            (1, 6),
            (3, 7),
            (0, 4),
            (2, 7),
            (4, 8),
            (8, 5),
        ];
        let mut matrix: SparseMatrix = (0..9).map(|place| BTreeMap::from([(place, 0.1)])).collect();
        for (number, (first, second)) in met.into_iter().enumerate() {
            let bend = 0.5 + number as f64;
            for (place, other) in [(first, second), (second, first)] {
                *matrix[place].entry(place).or_default() += bend;
                *matrix[place].entry(other).or_default() -= bend;
            }
        }
        let values: Vec<f64> = (0..9).map(|place| f64::from(place) - 3.5).collect();
        let (inverse, elimination) = (dense_inverse(&matrix), Elimination::of(matrix));
        let variances = elimination.inverse_diagonal();
        for (place, found) in elimination.solve(values.clone()).into_iter().enumerate() {
            let expected: f64 = inverse[place]
                .iter()
                .zip(&values)
                .map(|(entry, value)| entry * value)
                .sum();
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
            assert!(
                (variances[place] - inverse[place][place]).abs() < 1e-9,
                "{variances:?}"
            );
        }
    }

    #[test]
    fn the_order_of_the_matches_and_their_sides_do_not_matter() {
        let matches = [
            played(1, 0, [5, 10, 20, 30, 9]),
            played(2, 1, [3, 9, 9, 9, 4]),
            played(2, 0, [1, 5, 9, 20, 9]),
        ];
        let turned = matches.iter().rev().map(|of| {
            let mut pairs = of.pairs;
            pairs.reverse();
            Match {
                first: of.second,
                second: of.first,
                pairs,
            }
        });
        let turned = ladder(&turned.collect::<Vec<_>>(), 0);
        for (player, rating) in ladder(&matches, 0) {
            assert!((rating.elo - turned[&player].elo).abs() < 1e-9);
            assert!((rating.elo_low - turned[&player].elo_low).abs() < 1e-9);
        }
    }
}
