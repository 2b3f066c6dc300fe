//! Lines and deviations from sums over samples, and how many samples lie how far from a line.

use crate::engine::Score;
use crate::statistics::point_sums::PointSums;

/// A deep and a shallow score of one position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScorePair {
    pub deep: Score,
    pub shallow: Score,
}

/// The line of least squares, deep ≈ slope · shallow + offset, and how well it does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FittedLine {
    pub slope: f64,
    pub offset: Score,
    /// The standard deviation of the rest, in millidiscs.
    pub rest: f64,
    /// The share of the variance of deep scores that the line explains.
    pub r_squared: f64,
}

/// Slopes have four digits, so that tables are readable; a slope beyond these is that of no two
/// searches.
const SLOPE_DIGITS: f64 = 10_000.0;
const SLOPES: [f64; 2] = [0.1, 10.0];

/// A number rounded to parts of one, which are counted.
pub fn rounded(number: f64, parts: f64) -> f64 {
    (number * parts).round() / parts
}

/// The slope of y over x of least squares if it is positive.
fn slope(sums: &PointSums) -> Option<f64> {
    let [spread, _, together] = mean_spreads(sums);
    let slope = together / spread;
    (slope.is_finite() && 0.0 < slope).then_some(slope)
}

/// The variances and the covariance: exact in integers until the last step.
fn mean_spreads(sums: &PointSums) -> [f64; 3] {
    let count = sums.count.max(1) as f64;
    sums.spreads().map(|spread| spread as f64 / (count * count))
}

impl FittedLine {
    /// The line through points of a shallow and a deep score; slope 1 if they have no spread.
    pub fn of(sums: &PointSums) -> Self {
        Self::with_slope(sums, rounded(slope(sums).unwrap_or(1.0), SLOPE_DIGITS))
    }

    /// The line of a given slope.
    pub fn with_slope(sums: &PointSums, slope: f64) -> Self {
        let slope = slope.clamp(SLOPES[0], SLOPES[1]);
        let [spread, deep_spread, together] = mean_spreads(sums);
        let variance = (deep_spread - 2.0 * slope * together + slope * slope * spread).max(0.0);
        let offset = (sums.y as f64 - slope * sums.x as f64) / sums.count.max(1) as f64;
        Self {
            slope,
            offset: Score(offset.round() as i32),
            rest: variance.sqrt(),
            r_squared: if 0.0 < deep_spread {
                1.0 - variance / deep_spread
            } else {
                1.0
            },
        }
    }
}

/// The deviations that hold a share of a normal distribution's mean absolute deviation: √(π/2).
const DEVIATION_OF_MEAN: f64 = 1.253_314_137_315_500_1;

/// A deviation that grows with |shallow|.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deviation {
    /// Where shallow is 0.
    pub sigma: Score,
    /// Millidiscs for each millidisc of |shallow|.
    pub growth: f64,
}

/// The deviation where shallow is 0 is at least this share of the mean one, so that no margin
/// vanishes.
const SIGMA_SHARE_MIN: f64 = 0.2;
/// A deviation that grows as fast as the prediction predicts nothing.
const GROWTH_MAX: f64 = 0.5;

impl Deviation {
    /// That of a line through points of |shallow| and |rest|.
    pub fn of(sums: &PointSums) -> Self {
        let (x, count) = (sums.x as f64, sums.count.max(1) as f64);
        let mean = sums.y as f64 / count;
        let mut growth = slope(sums).unwrap_or(0.0).min(GROWTH_MAX);
        let mut at_zero = mean - growth * x / count;
        if at_zero < SIGMA_SHARE_MIN * mean {
            (at_zero, growth) = (
                SIGMA_SHARE_MIN * mean,
                (1.0 - SIGMA_SHARE_MIN) * mean / (x / count).max(1.0),
            );
        }
        Self {
            sigma: Score((at_zero * DEVIATION_OF_MEAN).round() as i32),
            growth: rounded(growth.min(GROWTH_MAX) * DEVIATION_OF_MEAN, SLOPE_DIGITS),
        }
    }

    pub fn at(&self, shallow: Score) -> f64 {
        (f64::from(self.sigma.0) + self.growth * f64::from(shallow.abs().0)).max(1.0)
    }
}

/// Bins of a histogram for each deviation, and deviations that it reaches.
const BINS_IN_DEVIATION: f64 = 128.0;
const DEVIATIONS: usize = 16;
const BINS: usize = BINS_IN_DEVIATION as usize * DEVIATIONS;

/// How many samples lie how many deviations from the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tails {
    bins: Vec<u64>, // the last one holds the rest
    pub count: u64,
}

impl Default for Tails {
    fn default() -> Self {
        Self {
            bins: vec![0; BINS],
            count: 0,
        }
    }
}

impl Tails {
    /// Adds a sample at this distance from the line, in deviations.
    pub fn add(&mut self, deviations: f64) {
        let bin = (deviations * BINS_IN_DEVIATION) as usize;
        self.bins[bin.min(BINS - 1)] += 1;
        self.count += 1;
    }

    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.bins
            .iter_mut()
            .zip(&other.bins)
            .for_each(|(bin, other)| *bin += other);
    }

    /// The deviations within which `percent` of the samples lie, evenly spread within a bin.
    pub fn quantile(&self, percent: u8) -> f64 {
        let wanted = self.count as f64 * f64::from(percent) / 100.0;
        let mut below = 0.0;
        for (index, &count) in self.bins.iter().enumerate() {
            let count = count as f64;
            if 0.0 < count && wanted <= below + count {
                return (index as f64 + (wanted - below) / count) / BINS_IN_DEVIATION;
            }
            below += count;
        }
        DEVIATIONS as f64
    }

    /// The share of samples farther than this from the line, in deviations.
    pub fn beyond(&self, deviations: usize) -> f64 {
        let beyond: u64 = self.bins[deviations * BINS_IN_DEVIATION as usize..]
            .iter()
            .sum();
        beyond as f64 / self.count.max(1) as f64
    }

    /// The samples that a level leaves outside.
    pub fn outside(&self, percent: u8) -> u64 {
        self.count * u64::from(100 - percent) / 100
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(pairs: impl Iterator<Item = [i32; 2]>) -> PointSums {
        let mut sums = PointSums::default();
        pairs.for_each(|[deep, shallow]| sums.add(shallow, deep));
        sums
    }

    #[test]
    fn a_line_with_noise_is_found() {
        let noise = [300, -300, 100, -100];
        let sums =
            sums((-500..500).map(|x| [1200 * x / 10 + 2000 + noise[(x & 3) as usize], 100 * x]));
        let line = FittedLine::of(&sums);
        assert!(
            (line.slope - 1.2).abs() < 1e-3 && (line.offset.0 - 2000).abs() < 20,
            "{line:?}"
        );
        assert!(
            (line.rest - 224.0).abs() < 3.0 && 0.999 < line.r_squared,
            "{line:?}"
        );
    }

    #[test]
    fn samples_without_spread_make_a_line_of_slope_one() {
        let line = FittedLine::of(&sums([[500, 100], [700, 100]].into_iter()));
        assert_eq!(
            (line.slope, line.offset, line.rest),
            (1.0, Score(500), 100.0)
        );
        assert_eq!(FittedLine::of(&PointSums::default()).rest, 0.0);
    }

    #[test]
    fn a_growing_deviation_is_found_and_never_vanishes() {
        let growing = Deviation::of(&sums((0..400).map(|x| [1000 + 5 * x, 100 * x])));
        assert!(
            (growing.sigma.0 - 1253).abs() < 5 && (growing.growth - 0.0627).abs() < 1e-3,
            "{growing:?}"
        );
        let shrinking = Deviation::of(&sums((0..400).map(|x| [4000 - 5 * x, 100 * x])));
        assert!(
            shrinking.growth == 0.0 && (shrinking.sigma.0 - 3763).abs() < 10,
            "{shrinking:?}"
        );
        let steep = Deviation::of(&sums((0..400).map(|x| [20 * x, 100 * x])));
        // The mean is 3990 at a mean size of 19950: one fifth of it at 0, the rest in the slope,
        // times √(π/2).
        assert!(
            steep.sigma == Score::DISC && (steep.growth - 0.2005).abs() < 1e-9,
            "{steep:?}"
        );
    }

    #[test]
    fn quantiles_of_a_histogram_are_those_of_its_samples() {
        let mut tails = Tails::default();
        (0..10_000).for_each(|x| tails.add(f64::from(x) / 2000.0));
        for (percent, expected) in [(73, 3.65), (87, 4.35), (99, 4.95)] {
            assert!(
                (tails.quantile(percent) - expected).abs() < 0.001,
                "{percent}"
            );
        }
        assert!((tails.beyond(3) - 0.4).abs() < 1e-3);
        assert_eq!(tails.outside(98), 200);
        assert_eq!(Tails::default().quantile(73), 16.0);
    }
}
