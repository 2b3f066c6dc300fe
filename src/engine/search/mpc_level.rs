//! How certain a selective cut must be.

/// The named levels in percent, in the order of [`Quantiles`].
pub const LEVELS: [u8; 5] = [73, 87, 95, 98, 99];

/// How many standard deviations on each side hold the shares [`LEVELS`] of the residuals.
pub type Quantiles = [f64; LEVELS.len()];

/// How many sigmas on each side hold these shares of a normal distribution.
pub const NORMAL_QUANTILES: Quantiles = [1.1031, 1.5141, 1.9600, 2.3263, 2.5758];

/// How certain a selective cut must be: the share of positions whose deep value lies within the
/// margin on either side.
///
/// A cut uses one side of the margin, so it is wrong for half of the other positions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MpcLevel {
    /// A percentage from [`PERCENT_MIN`] to 99: between two of [`LEVELS`] the margin lies between
    /// theirs.
    Percent(u8),
    /// A margin given in sigmas, finite and not negative, whatever share of positions that is.
    Sigmas(f64),
    /// No selective cut.
    FullWidth,
}

/// The lowest percentage that is a level.
pub const PERCENT_MIN: u8 = 50;

/// How many sigmas on each side hold this share of a normal distribution, to four digits.
fn normal_margin(share: f64) -> f64 {
    let (mut low, mut high) = (0.0, 8.0);
    while 1e-9 < high - low {
        let middle = f64::midpoint(low, high);
        let holds_less = libm::erf(middle / std::f64::consts::SQRT_2) < share;
        (low, high) = if holds_less {
            (middle, high)
        } else {
            (low, middle)
        };
    }
    (low * 10_000.0).round() / 10_000.0
}

impl MpcLevel {
    /// 73 %.
    pub const P73: Self = Self::Percent(73);
    /// 87 %.
    pub const P87: Self = Self::Percent(87);
    /// 95 %.
    pub const P95: Self = Self::Percent(95);

    /// The level of a percentage from [`PERCENT_MIN`]; 100 is full width.
    pub const fn from_percent(percent: u8) -> Option<Self> {
        match percent {
            PERCENT_MIN..100 => Some(Self::Percent(percent)),
            100 => Some(Self::FullWidth),
            _ => None,
        }
    }

    /// The percentage; `None` for a margin given in sigmas.
    pub const fn percent(self) -> Option<u8> {
        match self {
            Self::Percent(percent) => Some(percent),
            Self::Sigmas(_) => None,
            Self::FullWidth => Some(100),
        }
    }

    /// The margin in sigmas if residuals were normal; infinite for full width. It ranks levels
    /// only: a fitted entry has separate margins.
    pub fn t(self) -> f64 {
        match self {
            Self::Sigmas(t) => t,
            Self::FullWidth => f64::INFINITY,
            Self::Percent(percent) => LEVELS
                .iter()
                .position(|&level| level == percent)
                .map_or_else(
                    || normal_margin(f64::from(percent) / 100.0),
                    |level| NORMAL_QUANTILES[level],
                ),
        }
    }
}

impl std::fmt::Display for MpcLevel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.percent() {
            Some(percent) => write!(f, "{percent} %"),
            None => write!(f, "{} sigmas", self.t()),
        }
    }
}

/// What a level asks of every entry: shares of two neighboring quantiles, or a fixed number of
/// sigmas.
#[derive(Clone, Copy, Debug)]
pub(super) struct Margin {
    index: usize,
    shares: [f64; 2],
    fixed: f64,
}

impl Margin {
    pub(super) fn new(level: MpcLevel) -> Self {
        let from_quantiles = |index: usize, shares: [f64; 2]| Self {
            index,
            shares,
            fixed: 0.0,
        };
        let t = level.t();
        match level {
            MpcLevel::Sigmas(_) | MpcLevel::FullWidth => Self {
                index: 0,
                shares: [0.0; 2],
                fixed: t,
            },
            _ if t <= NORMAL_QUANTILES[0] => from_quantiles(0, [t / NORMAL_QUANTILES[0], 0.0]),
            _ => {
                let above = NORMAL_QUANTILES.iter().position(|&quantile| t <= quantile);
                let above = above.unwrap_or(NORMAL_QUANTILES.len() - 1);
                let [low, high] = [NORMAL_QUANTILES[above - 1], NORMAL_QUANTILES[above]];
                let share = (t - low) / (high - low);
                from_quantiles(above - 1, [1.0 - share, share])
            }
        }
    }

    /// Whether there are selective cuts at all.
    #[inline(always)]
    pub(super) const fn is_finite(&self) -> bool {
        self.fixed.is_finite()
    }

    /// The margin in sigmas of an entry with these quantiles.
    #[inline(always)]
    pub(super) fn sigmas(&self, quantiles: &Quantiles) -> f64 {
        self.fixed
            + self.shares[0] * quantiles[self.index]
            + self.shares[1] * quantiles[self.index + 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_name_levels() {
        for percent in PERCENT_MIN..100 {
            let level = MpcLevel::from_percent(percent).unwrap();
            assert_eq!(level.percent(), Some(percent));
            assert!(
                (level.t() - normal_margin(f64::from(percent) / 100.0)).abs() < 1e-4,
                "{percent}"
            );
            // With normal quantiles a level is its number of sigmas.
            assert!(
                (Margin::new(level).sigmas(&NORMAL_QUANTILES) - level.t()).abs() < 1e-9,
                "{percent}"
            );
        }
        assert_eq!(MpcLevel::from_percent(49), None);
        assert_eq!(MpcLevel::from_percent(100), Some(MpcLevel::FullWidth));
        assert_eq!(MpcLevel::FullWidth.percent(), Some(100));
        assert_eq!(MpcLevel::from_percent(101), None);
    }

    #[test]
    fn a_level_is_the_quantile_of_the_entry() {
        let quantiles = [1.0, 2.0, 3.0, 4.0, 6.0];
        let margin = |level| Margin::new(level).sigmas(&quantiles);
        for (percent, quantile) in LEVELS.into_iter().zip(quantiles) {
            assert_eq!(
                margin(MpcLevel::from_percent(percent).unwrap()),
                quantile,
                "{percent}"
            );
        }
        let between = margin(MpcLevel::Percent(80));
        assert!(1.0 < between && between < 2.0, "{between}");
        assert!(margin(MpcLevel::Percent(50)) < 1.0);
        assert_eq!(margin(MpcLevel::Sigmas(1.4)), 1.4);
    }
}
