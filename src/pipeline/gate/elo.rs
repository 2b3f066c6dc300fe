//! The score of a paired match, and Elo with an interval from the spread of the pairs.

use super::sprt::nelo;
use crate::artifact::dataset::gate_games::GateGameRow;
use crate::artifact::dataset::verdict::Score;

/// The score of complete pairs of games; the interval reaches `interval` standard errors of the pair mean each way.
pub(super) fn score(rows: &[GateGameRow], interval: f64) -> Score {
    let count = |sign: i8| rows.iter().filter(|row| row.result.signum() == sign).count() as u64;
    let pairs = pair_counts(rows);
    let discs: i64 = rows.iter().map(|row| i64::from(row.result)).sum();
    let [elo, elo_low, elo_high] = interval_of(pairs, interval);
    Score {
        wins: count(1),
        draws: count(0),
        losses: count(-1),
        pairs,
        points: mean_and_error(pairs).0,
        discs_mean: discs as f64 / rows.len().max(1) as f64,
        elo,
        elo_low,
        elo_high,
        interval,
        nelo: nelo(pairs),
    }
}

/// Complete pairs of games by half points, from none to four.
///
/// Pairs, not games, are counted: the two games of a pair share their opening and are not independent.
pub(super) fn pair_counts(rows: &[GateGameRow]) -> [u64; 5] {
    let mut pairs = [0; 5];
    for pair in rows.chunks_exact(2) {
        let half_points: i8 = pair.iter().map(|row| row.result.signum() + 1).sum();
        pairs[half_points as usize] += 1;
    }
    pairs
}

/// Elo, and the low and high end of its interval, which reaches `errors` standard errors of the pair mean each way.
pub(super) fn interval_of(pairs: [u64; 5], errors: f64) -> [f64; 3] {
    let (points, error) = mean_and_error(pairs);
    [0.0, -errors, errors].map(|errors| elo(points + errors * error))
}

/// Points a game, and the standard error of that mean.
///
/// Half a pair is added at each end of the scale for the error, so that a clean sweep has a finite spread.
fn mean_and_error(pairs: [u64; 5]) -> (f64, f64) {
    let counts = pairs.map(|count| count as f64);
    let count: f64 = counts.iter().sum::<f64>().max(1.0);
    let points = [0.0, 0.25, 0.5, 0.75, 1.0];
    let mean_of = |counts: [f64; 5], total: f64| {
        counts.iter().zip(points).map(|(count, points)| count * points).sum::<f64>() / total
    };
    let padded = [counts[0] + 0.5, counts[1], counts[2], counts[3], counts[4] + 0.5];
    let middle = mean_of(padded, count + 1.0);
    let squares = padded.iter().zip(points).map(|(count, points)| count * (points - middle) * (points - middle));
    let variance = squares.sum::<f64>() / (count + 1.0);
    (mean_of(counts, count), (variance / count).sqrt())
}

/// The Elo difference at which this share of points is expected; shares of 0 and 1 are cut to one in a million.
fn elo(points: f64) -> f64 {
    let points = points.clamp(1e-6, 1.0 - 1e-6);
    -400.0 * libm::log10(1.0 / points - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(results: &[i8]) -> Vec<GateGameRow> {
        let row = |(id, &result): (u64, &i8)| GateGameRow {
            game_id: id,
            pair: id / 2,
            candidate_black: id % 2 == 0,
            opening_plies: 8,
            moves: String::new(),
            result,
        };
        (0..).zip(results).map(row).collect()
    }

    #[test]
    fn a_match_is_counted_by_games_and_by_pairs() {
        let counted = score(&rows(&[2, -2, 4, 0, -6, -8, 10, 12]), 1.96);
        assert_eq!((counted.wins, counted.draws, counted.losses), (4, 1, 3));
        assert_eq!(counted.pairs, [1, 0, 1, 1, 1]);
        assert!((counted.points - 4.5 / 8.0).abs() < 1e-12);
        assert!((counted.discs_mean - 12.0 / 8.0).abs() < 1e-12);
        assert!(counted.elo_low < counted.elo && counted.elo < counted.elo_high);
    }

    #[test]
    fn sweeps_have_finite_intervals_on_the_right_side_of_zero() {
        let won = score(&rows(&[2; 40]), 1.96);
        assert!(0.0 < won.elo_low && won.elo_high.is_finite(), "{won:?}");
        let lost = score(&rows(&[-2; 40]), 1.96);
        assert!(lost.elo_high < 0.0 && lost.elo_low.is_finite(), "{lost:?}");
        let drawn = score(&rows(&[0; 40]), 1.96);
        assert!(drawn.elo_low < 0.0 && 0.0 < drawn.elo_high, "{drawn:?}");
    }

    #[test]
    fn elo_is_the_logistic_one() {
        assert!((elo(0.75) - 190.848_501_887_864_97).abs() < 1e-9);
        assert!(elo(0.5).abs() < 1e-12);
    }
}
