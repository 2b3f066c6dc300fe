//! Elo from points, with an interval from the variance of the pairs.

use super::pairs::{PairCounts, PairMoments};

/// Elo and the low and high end of its interval: `errors` standard errors of the pair mean to each side.
#[must_use]
pub fn interval_of(pairs: PairCounts, errors: f64) -> [f64; 3] {
    let moments = PairMoments::new(pairs);
    [0.0, -errors, errors].map(|errors| elo(moments.points + errors * moments.error()))
}

/// The Elo difference at which this share of points is expected; shares of 0 and 1 are clamped to one in a million.
fn elo(points: f64) -> f64 {
    let points = points.clamp(1e-6, 1.0 - 1e-6);
    -400.0 * libm::log10(1.0 / points - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elo_is_the_logistic_one() {
        assert!((elo(0.75) - 190.848_501_887_864_97).abs() < 1e-9);
        assert!(elo(0.5).abs() < 1e-12);
    }
}
