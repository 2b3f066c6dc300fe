//! The score of a paired match.

use crate::artifact::GateGameRow;
use crate::artifact::dataset::verdict::MatchScore;
use crate::statistics::elo::INTERVAL;
use crate::statistics::pairs::PairCounts;

/// The score of complete pairs of games.
pub fn score(rows: &[GateGameRow]) -> MatchScore {
    let count = |sign: i8| {
        rows.iter()
            .filter(|row| row.result.signum() == sign)
            .count() as u64
    };
    let pairs = pair_counts(rows);
    let discs: i64 = rows.iter().map(|row| i64::from(row.result)).sum();
    MatchScore::new(
        [count(1), count(0), count(-1)],
        pairs,
        discs as f64 / rows.len().max(1) as f64,
        INTERVAL,
    )
}

/// Complete pairs of games by half points, from none to four.
///
/// Pairs, not games, are counted: the two games of a pair share their opening and are not
/// independent.
pub(super) fn pair_counts(rows: &[GateGameRow]) -> PairCounts {
    let mut pairs = [0; 5];
    for pair in rows.chunks_exact(2) {
        let half_points: i8 = pair.iter().map(|row| row.result.signum() + 1).sum();
        pairs[half_points as usize] += 1;
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::GameId;

    fn rows(results: &[i8]) -> Vec<GateGameRow> {
        let row = |(id, &result): (u64, &i8)| GateGameRow {
            game_id: GameId(id),
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
        let counted = score(&rows(&[2, -2, 4, 0, -6, -8, 10, 12]));
        assert_eq!((counted.wins, counted.draws, counted.losses), (4, 1, 3));
        assert_eq!(counted.pairs, [1, 0, 1, 1, 1]);
        assert!((counted.points - 4.5 / 8.0).abs() < 1e-12);
        assert!((counted.discs_mean - 12.0 / 8.0).abs() < 1e-12);
        assert!(counted.elo_low < counted.elo && counted.elo < counted.elo_high);
    }

    #[test]
    fn sweeps_have_finite_intervals_on_the_right_side_of_zero() {
        let won = score(&rows(&[2; 40]));
        assert!(0.0 < won.elo_low && won.elo_high.is_finite(), "{won:?}");
        let lost = score(&rows(&[-2; 40]));
        assert!(lost.elo_high < 0.0 && lost.elo_low.is_finite(), "{lost:?}");
        let drawn = score(&rows(&[0; 40]));
        assert!(drawn.elo_low < 0.0 && 0.0 < drawn.elo_high, "{drawn:?}");
    }
}
