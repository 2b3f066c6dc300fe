//! A line of MPC statistics by the definitions: least squares in two passes, deviations, quantiles.

use crate::support::tables::real;
use renma::engine::{Depth, MpcEntry, Score};
use serde_json::Value;

pub(crate) const LEVELS: [u8; 5] = [73, 87, 95, 98, 99];

/// What stands for the end of the game as a deep depth: after all others.
pub(crate) const END: i64 = 100;

/// A relation deep ≈ slope · shallow + offset ± the deviation.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) deep: i64,
    pub(crate) shallow: i64,
    pub(crate) empties: [i64; 2],
    pub(crate) slope: f64,
    pub(crate) offset: f64,
    pub(crate) sigma: f64,
    pub(crate) growth: f64,
    pub(crate) quantiles: [f64; 5],
    pub(crate) rest: f64,
    pub(crate) r_squared: f64,
    pub(crate) beyond_3: f64,
    pub(crate) samples: usize,
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

pub(crate) fn covariance(left: &[f64], right: &[f64]) -> f64 {
    let means = [mean(left), mean(right)];
    let products = left
        .iter()
        .zip(right)
        .map(|(l, r)| (l - means[0]) * (r - means[1]));
    products.sum::<f64>() / left.len().max(1) as f64
}

pub(crate) fn rounded(value: f64, digits: f64) -> f64 {
    (value * digits).round() / digits
}

/// Deviations in bins of 1/128, up to 16.
#[derive(Clone, Default)]
pub(crate) struct Tails(pub(crate) Vec<usize>);

impl Tails {
    /// The deviation within which a share in percent lies, evenly spread within a bin.
    pub(crate) fn quantile(&self, percent: u8) -> f64 {
        let mut bins = self.0.clone();
        bins.sort_unstable();
        let wanted = bins.len() as f64 * f64::from(percent) / 100.0;
        let Some(&bin) = bins.get((wanted.ceil() as usize).max(1) - 1) else {
            return 16.0;
        };
        let below = bins.partition_point(|&other| other < bin);
        let within = bins.partition_point(|&other| other <= bin) - below;
        (bin as f64 + (wanted - below as f64) / within as f64) / 128.0
    }

    pub(crate) fn new(deviations: &[f64]) -> Self {
        Self(
            deviations
                .iter()
                .map(|deviation| ((deviation * 128.0).floor() as usize).min(2047))
                .collect(),
        )
    }
}

impl Line {
    pub(crate) fn deviation(&self, shallow: f64) -> f64 {
        self.sigma + self.growth * shallow.abs()
    }

    pub(crate) fn predicted(&self, shallow: f64) -> f64 {
        self.slope * shallow + self.offset
    }

    /// The line of least squares through pairs of a deep and a shallow score, or the one of this
    /// slope, without quantiles.
    pub(crate) fn through(pairs: &[[f64; 2]], slope: Option<f64>) -> Self {
        let [deep, shallow] =
            [0, 1].map(|at| pairs.iter().map(|pair| pair[at]).collect::<Vec<f64>>());
        let fitted = covariance(&deep, &shallow) / covariance(&shallow, &shallow);
        let fitted = if fitted.is_finite() && 0.0 < fitted {
            fitted
        } else {
            1.0
        };
        let slope = slope.unwrap_or_else(|| rounded(fitted, 1e4).clamp(0.1, 10.0));
        let rests: Vec<f64> = pairs
            .iter()
            .map(|[deep, shallow]| deep - slope * shallow)
            .collect();
        let (variance, all) = (covariance(&rests, &rests), covariance(&deep, &deep));
        Self {
            deep: 0,
            shallow: 0,
            empties: [0, 0],
            slope,
            offset: mean(&rests).round(),
            sigma: variance.sqrt().round(),
            growth: 0.0,
            quantiles: [0.0; 5],
            rest: variance.sqrt().round(),
            r_squared: if 0.0 < all {
                rounded(1.0 - variance / all, 1e4)
            } else {
                1.0
            },
            beyond_3: 0.0,
            samples: pairs.len(),
        }
    }

    /// Gives the line a deviation that grows with the size of the shallow score, from the mean
    /// absolute rest.
    pub(crate) fn spread(&mut self, pairs: &[[f64; 2]]) {
        let rests: Vec<f64> = pairs
            .iter()
            .map(|pair| (pair[0] - self.predicted(pair[1])).abs().round())
            .collect();
        let sizes: Vec<f64> = pairs.iter().map(|pair| pair[1].abs()).collect();
        let slope = covariance(&rests, &sizes) / covariance(&sizes, &sizes);
        let mut growth = if slope.is_finite() && 0.0 < slope {
            slope.min(0.5)
        } else {
            0.0
        };
        let mut at_zero = mean(&rests) - growth * mean(&sizes);
        if at_zero < 0.2 * mean(&rests) {
            (at_zero, growth) = (
                0.2 * mean(&rests),
                0.8 * mean(&rests) / mean(&sizes).max(1.0),
            );
        }
        let of_mean = (std::f64::consts::PI / 2.0).sqrt();
        self.sigma = (at_zero * of_mean).round();
        self.growth = rounded(growth.min(0.5) * of_mean, 1e4);
    }

    pub(crate) fn tails(&mut self, pairs: &[[f64; 2]], unit: impl Fn(&Self, f64) -> f64) -> Tails {
        let deviations = pairs
            .iter()
            .map(|pair| (pair[0] - self.predicted(pair[1])).abs() / unit(self, pair[1]).max(1.0));
        let deviations: Vec<f64> = deviations.collect();
        let beyond = deviations
            .iter()
            .filter(|&&deviation| 3.0 <= deviation)
            .count();
        self.beyond_3 = rounded(beyond as f64 / pairs.len().max(1) as f64, 1e4);
        Tails::new(&deviations)
    }

    /// As the search has it.
    pub(crate) fn entries(&self) -> Vec<MpcEntry> {
        let empties = if self.deep == END {
            self.empties[0]..=self.empties[1]
        } else {
            0..=0
        };
        let entry = |empties: i64| MpcEntry {
            empties_min: if self.deep == END {
                empties
            } else {
                self.empties[0]
            } as u8,
            empties_max: if self.deep == END {
                empties
            } else {
                self.empties[1]
            } as u8,
            deep: Depth(if self.deep == END { empties } else { self.deep } as u8),
            shallow: Depth(self.shallow as u8),
            slope: self.slope,
            offset: Score(self.offset as i32),
            sigma: Score(self.sigma as i32),
            growth: self.growth,
            quantiles: self.quantiles,
        };
        empties.map(entry).collect()
    }

    pub(crate) fn check(&self, found: &Value) {
        let deep = if self.deep == END {
            Value::Null
        } else {
            self.deep.into()
        };
        assert_eq!(found["deep"], deep, "{self:?}");
        for (name, expected) in [
            ("empties_min", self.empties[0] as f64),
            ("empties_max", self.empties[1] as f64),
            ("shallow", self.shallow as f64),
            ("slope", self.slope),
            ("offset", self.offset),
            ("sigma", self.sigma),
            ("growth", self.growth),
            ("rest", self.rest),
            ("r_squared", self.r_squared),
            ("beyond_3", self.beyond_3),
            ("samples", self.samples as f64),
        ] {
            assert!(
                (real(found, name) - expected).abs() < 1e-9,
                "{name}: {found}\n{self:?}"
            );
        }
        for (found, expected) in found["quantiles"]
            .as_array()
            .unwrap()
            .iter()
            .zip(self.quantiles)
        {
            assert!(
                (found.as_f64().unwrap() - expected).abs() < 1e-9,
                "{found} {self:?}"
            );
        }
    }
}
