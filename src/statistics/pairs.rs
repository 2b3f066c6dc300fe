//! Pairs of games by their points. The two games of a pair share their opening and are not
//! independent, so pairs are counted, not games.

/// Pairs by half points, from none to four: LL, LD, DD or WL, WD, WW.
pub type PairCounts = [u64; 5];

/// The points per game of each outcome of a pair.
pub const POINTS: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

/// The mean points per game of pairs, and their variance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairMoments {
    /// Number of pairs.
    pub count: f64,
    /// Points per game; 0 without pairs.
    pub points: f64,
    /// Points per game with half a pair more at each end of the scale.
    pub padded_points: f64,
    /// The variance of a pair around `padded_points`; above 0 even for a clean sweep.
    pub padded_variance: f64,
}

impl PairMoments {
    /// Those of some pairs.
    pub fn new(pairs: PairCounts) -> Self {
        let counts = pairs.map(|count| count as f64);
        let count: f64 = counts.iter().sum();
        let sum = |counts: [f64; 5]| {
            counts
                .iter()
                .zip(POINTS)
                .map(|(count, points)| count * points)
                .sum::<f64>()
        };
        let padded = [
            counts[0] + 0.5,
            counts[1],
            counts[2],
            counts[3],
            counts[4] + 0.5,
        ];
        let mean = sum(padded) / (count + 1.0);
        let squares = padded
            .iter()
            .zip(POINTS)
            .map(|(count, points)| count * (points - mean) * (points - mean));
        Self {
            count,
            points: sum(counts) / count.max(1.0),
            padded_points: mean,
            padded_variance: squares.sum::<f64>() / (count + 1.0),
        }
    }

    /// The standard error of the mean points.
    pub fn error(&self) -> f64 {
        (self.padded_variance / self.count.max(1.0)).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_moments_are_those_worked_out_by_hand() {
        // Padded to 0.5 and 4.5: mean 4.5 / 5, variance (0.5 · 0.9² + 4.5 · 0.1²) / 5.
        let won = PairMoments::new([0, 0, 0, 0, 4]);
        assert_eq!((won.count, won.points), (4.0, 1.0));
        assert!(
            (won.padded_points - 0.9).abs() < 1e-12 && (won.padded_variance - 0.09).abs() < 1e-12,
            "{won:?}"
        );
        assert!((won.error() - 0.15).abs() < 1e-12, "{won:?}");
        // Padded to 1.5, 1, 4, 3, 1.5: the squares about ½ add up to 1, and the mean is 1 / 22
        // above it.
        let mixed = PairMoments::new([1, 1, 4, 3, 1]);
        assert!((mixed.points - 0.55).abs() < 1e-12, "{mixed:?}");
        assert!(
            (mixed.padded_points - 6.0 / 11.0).abs() < 1e-12,
            "{mixed:?}"
        );
        assert!(
            (mixed.padded_variance - (1.0 / 11.0 - 1.0 / 484.0)).abs() < 1e-12,
            "{mixed:?}"
        );
        let none = PairMoments::new([0; 5]);
        assert_eq!(
            (none.points, none.padded_points, none.padded_variance),
            (0.0, 0.5, 0.25)
        );
    }
}
