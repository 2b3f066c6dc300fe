//! Elo from points, with an interval from the variance of the pairs.

use super::pairs::{PairCounts, PairMoments};

/// Standard errors to each side of every Elo interval: 95 % of a normal distribution.
pub const INTERVAL: f64 = 1.96;

/// The clamped shares of points give 2,400: beyond this, an Elo difference is not known.
const ELO_KNOWN: f64 = 2399.0;

/// Elo and the low and high end of its interval: `errors` standard errors of the pair mean to each
/// side.
pub fn interval_of(pairs: PairCounts, errors: f64) -> [f64; 3] {
    let moments = PairMoments::new(pairs);
    [0.0, -errors, errors].map(|errors| elo(moments.points + errors * moments.error()))
}

/// An Elo difference, unless it is one that stands for more than is known.
pub fn known_elo(elo: f64) -> Option<f64> {
    (elo.round().abs() < ELO_KNOWN).then_some(elo)
}

/// An Elo difference with its interval; where all games were won, or as many as if they all were,
/// only the bound that is known.
pub fn elo_text(elo_low_high: [f64; 3]) -> String {
    // Zero is printed without a sign.
    let [elo, low, high] = elo_low_high.map(|value| value.round() + 0.0);
    match (low, high) {
        (low, high) if ELO_KNOWN <= high && low <= -ELO_KNOWN => "unknown".to_owned(),
        (low, high) if ELO_KNOWN <= high => format!("> {low:+.0}"),
        (low, high) if low <= -ELO_KNOWN => format!("< {high:+.0}"),
        (low, high) => format!("{elo:+.0} [{low:+.0}, {high:+.0}]"),
    }
}

/// The Elo difference at which this share of points is expected; shares of 0 and 1 are clamped to
/// one in a million.
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
        // Shares of 0 and 1 count as one in a million.
        assert!((elo(1.0) - 2400.0).abs() < 1e-3 && (elo(0.0) + 2400.0).abs() < 1e-3);
    }

    #[test]
    fn the_interval_reaches_so_many_standard_errors_each_way() {
        // One half of the points, with as many standard errors as make two tenths of them.
        let pairs = [4, 0, 16, 0, 4];
        let error = PairMoments::new(pairs).error();
        let [middle, low, high] = interval_of(pairs, 0.2 / error);
        assert!(
            middle.abs() < 1e-9 && (high - elo(0.7)).abs() < 1e-9 && (low + high).abs() < 1e-9,
            "{low} {high}"
        );
    }

    #[test]
    fn an_elo_that_is_only_known_on_one_side_is_a_bound() {
        assert_eq!(elo_text([127.4, 50.2, 218.0]), "+127 [+50, +218]");
        assert_eq!(elo_text([-0.3, -37.0, 37.0]), "+0 [-37, +37]");
        assert_eq!(elo_text([669.0, 420.3, 2400.0]), "> +420");
        assert_eq!(elo_text([-669.0, -2400.0, -420.3]), "< -420");
        assert_eq!(elo_text([2400.0, 2400.0, 2400.0]), "> +2400");
        assert_eq!(elo_text([0.0, -2400.0, 2400.0]), "unknown");
    }
}
