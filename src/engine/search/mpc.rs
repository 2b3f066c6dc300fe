//! Multi-ProbCut statistics (Buro 1997): what a shallow search says about a deep one.

use crate::engine::eval::evaluation::SCORE_MAX;

/// The lowest depth with statistics; below 3 only the static value costs less than the search that it foretells.
pub const DEEP_MIN: u8 = 1;

/// The greatest depth, and the greatest number of empty squares, with statistics.
pub const DEEP_MAX: u8 = 60;

/// A static value that is to foretell needs a margin so many times that of a searched one: its errors have heavier tails.
pub const STATIC_MARGIN: f64 = 2.0;

/// A search is tried for a side that the static value foretells, or misses by at most so many of its
/// deviations.
pub const PROBE_MARGIN: f64 = 2.0;

/// The named levels in percent, in the order of [`MpcEntry::quantiles`].
pub const LEVELS: [u8; 5] = [73, 87, 95, 98, 99];

/// How many sigmas each side hold these shares of a normal distribution.
pub const NORMAL_QUANTILES: [f64; 5] = [1.1031, 1.5141, 1.9600, 2.3263, 2.5758];

/// How sure a selective cut must be: the share of positions whose deep value lies within the margin, both sides.
///
/// A cut uses one side of the margin, so it is wrong with half the rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MpcLevel {
    /// 73 %.
    P73,
    /// 87 %.
    P87,
    /// 95 %.
    P95,
    /// 98 %.
    P98,
    /// 99 %.
    P99,
    /// Another percentage from [`PERCENT_MIN`]: a margin between those of the named levels around it.
    Percent(u8),
    /// A margin given in sigmas, finite and not negative, whatever share of positions that is.
    Sigmas(f64),
    /// No selective cut.
    FullWidth,
}

/// The lowest percentage that is a level: below it a bet is worse than a coin's.
pub const PERCENT_MIN: u8 = 50;

/// How many sigmas each side hold this share of a normal distribution, to four digits.
fn normal_margin(share: f64) -> f64 {
    let (mut low, mut high) = (0.0, 8.0);
    while 1e-9 < high - low {
        let middle = f64::midpoint(low, high);
        let holds_less = libm::erf(middle / std::f64::consts::SQRT_2) < share;
        (low, high) = if holds_less { (middle, high) } else { (low, middle) };
    }
    (low * 10_000.0).round() / 10_000.0
}

impl MpcLevel {
    /// The level of a percentage from [`PERCENT_MIN`]; 100 is full width.
    #[must_use]
    pub const fn from_percent(percent: u8) -> Option<Self> {
        match percent {
            73 => Some(Self::P73),
            87 => Some(Self::P87),
            95 => Some(Self::P95),
            98 => Some(Self::P98),
            99 => Some(Self::P99),
            100 => Some(Self::FullWidth),
            PERCENT_MIN..100 => Some(Self::Percent(percent)),
            _ => None,
        }
    }

    /// The percentage; `None` for a margin given in sigmas.
    #[must_use]
    pub const fn percent(self) -> Option<u8> {
        match self {
            Self::P73 => Some(73),
            Self::P87 => Some(87),
            Self::P95 => Some(95),
            Self::P98 => Some(98),
            Self::P99 => Some(99),
            Self::Percent(percent) => Some(percent),
            Self::Sigmas(_) => None,
            Self::FullWidth => Some(100),
        }
    }

    /// The margin in sigmas if deviations were normal; infinite for full width. It ranks levels, and says nothing about a
    /// fitted entry.
    #[must_use]
    pub fn t(self) -> f64 {
        match self {
            Self::Sigmas(t) => t,
            Self::FullWidth => f64::INFINITY,
            Self::Percent(percent) => normal_margin(f64::from(percent) / 100.0),
            Self::P73 => NORMAL_QUANTILES[0],
            Self::P87 => NORMAL_QUANTILES[1],
            Self::P95 => NORMAL_QUANTILES[2],
            Self::P98 => NORMAL_QUANTILES[3],
            Self::P99 => NORMAL_QUANTILES[4],
        }
    }
}

/// What a level asks of every entry: so much of two neighboring quantiles, or a fixed number of sigmas.
#[derive(Clone, Copy, Debug)]
pub(super) struct Margin {
    index: usize,
    shares: [f64; 2],
    fixed: f64,
}

impl Margin {
    pub(super) fn new(level: MpcLevel) -> Self {
        let of_quantiles = |index: usize, shares: [f64; 2]| Self { index, shares, fixed: 0.0 };
        let t = level.t();
        match level {
            MpcLevel::Sigmas(_) | MpcLevel::FullWidth => Self { index: 0, shares: [0.0; 2], fixed: t },
            _ if t <= NORMAL_QUANTILES[0] => of_quantiles(0, [t / NORMAL_QUANTILES[0], 0.0]),
            _ => {
                let above = NORMAL_QUANTILES.iter().position(|&quantile| t <= quantile);
                let above = above.unwrap_or(NORMAL_QUANTILES.len() - 1);
                let [low, high] = [NORMAL_QUANTILES[above - 1], NORMAL_QUANTILES[above]];
                let share = (t - low) / (high - low);
                of_quantiles(above - 1, [1.0 - share, share])
            }
        }
    }

    /// Whether there are selective cuts at all.
    #[inline(always)]
    pub(super) const fn is_finite(&self) -> bool {
        self.fixed.is_finite()
    }

    /// The margin in sigmas of an entry.
    #[inline(always)]
    pub(super) fn sigmas(&self, entry: &MpcEntry) -> f64 {
        self.fixed + self.shares[0] * entry.quantiles[self.index] + self.shares[1] * entry.quantiles[self.index + 1]
    }
}

/// One relation: deep ≈ slope · v + offset for a shallow value v, with the deviation sigma + growth · |v|.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MpcEntry {
    /// The fewest empty squares that it holds for.
    pub empties_min: u8,
    /// The most empty squares that it holds for.
    pub empties_max: u8,
    /// The depth that it predicts; equal to the number of empty squares, the end of the game.
    pub deep: u8,
    /// The depth that it predicts from.
    pub shallow: u8,
    /// Deep millidiscs for each shallow one.
    pub slope: f64,
    /// In millidiscs.
    pub offset: i32,
    /// The deviation where the shallow value is 0, in millidiscs.
    pub sigma: i32,
    /// Millidiscs that the deviation grows by for each millidisc of the shallow value, either side of 0.
    pub growth: f64,
    /// The deviations within which the shares [`LEVELS`] of positions lie.
    pub quantiles: [f64; LEVELS.len()],
}

/// A deviation that grows faster than the prediction leaves this share of the slope: nothing foretells anything then.
const SLOPE_SHARE_MIN: f64 = 0.1;

impl MpcEntry {
    /// An entry in the source's form: slope 1, one normal deviation, from `deep` empty squares on.
    #[must_use]
    pub const fn source(deep: u8, shallow: u8, offset: i32, sigma: i32) -> Self {
        Self {
            empties_min: deep,
            empties_max: DEEP_MAX,
            deep,
            shallow,
            slope: 1.0,
            offset,
            sigma,
            growth: 0.0,
            quantiles: NORMAL_QUANTILES,
        }
    }

    /// The deep value that a shallow one foretells, in millidiscs.
    #[inline]
    #[must_use]
    pub fn foretold(&self, value: i32) -> f64 {
        self.slope * f64::from(value) + f64::from(self.offset)
    }

    /// The deviation from that, in millidiscs.
    #[inline]
    #[must_use]
    pub fn deviation(&self, value: i32) -> f64 {
        f64::from(self.sigma) + self.growth * f64::from(value.abs())
    }

    /// The margin of a level in deviations; infinite for full width.
    #[must_use]
    pub fn margin(&self, level: MpcLevel) -> f64 {
        Margin::new(level).sigmas(self)
    }

    /// The greatest shallow value that foretells a deep one of at most `alpha`, and the least that foretells one of at
    /// least `beta`, with a margin of `t` deviations.
    ///
    /// They may lie outside the range of scores: then nothing foretells that.
    #[inline(always)]
    #[must_use]
    pub fn bounds(&self, alpha: i32, beta: i32, t: f64) -> (i32, i32) {
        let margin = t * f64::from(self.sigma);
        let spread = t * self.growth;
        // Away from 0 the deviation eats into the slope on one side and adds to it on the other.
        let (steep, flat) = (self.slope + spread, (self.slope - spread).max(self.slope * SLOPE_SHARE_MIN));
        let low = f64::from(alpha - self.offset) - margin;
        let high = f64::from(beta - self.offset) + margin;
        let low = low / if low < 0.0 { flat } else { steep };
        let high = high / if high < 0.0 { steep } else { flat };
        // A conversion to an integer saturates.
        ((low.ceil() as i32).saturating_sub(1), (high.floor() as i32).saturating_add(1))
    }

    /// Whether the deep value that `value` foretells lies below `alpha`, above `beta`, or within `t` deviations of that.
    #[inline(always)]
    #[must_use]
    pub fn may_foretell(&self, value: i32, alpha: i32, beta: i32, t: f64) -> (bool, bool) {
        let foretold = self.foretold(value);
        let margin = t * self.deviation(value);
        (foretold <= f64::from(alpha) + margin, f64::from(beta) - margin <= foretold)
    }
}

/// Why entries are no table.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum MpcTableError {
    /// A deep depth outside the range, or a shallow one that is not below it.
    #[error("depth {deep} from depth {shallow}: expected {DEEP_MIN} to {DEEP_MAX} from a lower one")]
    Depth {
        /// The entry's deep depth.
        deep: u8,
        /// The entry's shallow depth.
        shallow: u8,
    },
    /// A range of empty squares that is reversed or too large.
    #[error("empties {min} to {max}: expected an ascending range up to {DEEP_MAX}")]
    Empties {
        /// The entry's least number.
        min: u8,
        /// The entry's greatest number.
        max: u8,
    },
    /// A slope, an offset or a sigma that no evaluation has.
    #[error("depth {deep}: slope {slope}, offset {offset}, sigma {sigma} are no statistics of scores")]
    Statistics {
        /// The entry's deep depth.
        deep: u8,
        /// The entry's slope.
        slope: f64,
        /// The entry's offset.
        offset: i32,
        /// The entry's sigma.
        sigma: i32,
    },
    /// A growth, or quantiles, that no deviation has.
    #[error("depth {deep}: growth {growth} and quantiles {quantiles:?} describe no deviation")]
    Deviation {
        /// The entry's deep depth.
        deep: u8,
        /// The entry's growth.
        growth: f64,
        /// The entry's quantiles.
        quantiles: [f64; LEVELS.len()],
    },
}

/// The statistics of one model, found by empty squares and depth.
#[derive(Clone, Debug)]
pub struct MpcTable {
    entries: Vec<MpcEntry>,
    order: Vec<u16>,        // positions in `entries`, grouped by cell
    cells: Vec<(u16, u16)>, // [empties][deep] -> range of `order`
}

/// Slopes outside this range come from a broken fit.
const SLOPE_MIN: f64 = 0.01;
const SLOPE_MAX: f64 = 100.0;

/// Deviations that grow faster, and margins wider than this many of them, come from a broken fit.
const GROWTH_MAX: f64 = 1.0;
const QUANTILE_MAX: f64 = 64.0;

const SIDE: usize = DEEP_MAX as usize + 1;

impl MpcTable {
    /// A table of these entries; several may serve one depth and are tried in their order.
    ///
    /// # Errors
    ///
    /// The first entry that is out of range.
    pub fn new(entries: Vec<MpcEntry>) -> Result<Self, MpcTableError> {
        for entry in &entries {
            check(entry)?;
        }
        let mut order = Vec::new();
        let mut cells = Vec::with_capacity(SIDE * SIDE);
        for empties in 0..=DEEP_MAX {
            for deep in 0..=DEEP_MAX {
                let begin = order.len();
                order.extend((0_u16..).zip(&entries).filter_map(|(index, entry)| {
                    let fits = entry.empties_min <= empties && empties <= entry.empties_max && entry.deep == deep;
                    fits.then_some(index)
                }));
                cells.push((begin as u16, order.len() as u16));
            }
        }
        Ok(Self { entries, order, cells })
    }

    /// A table without statistics: every search is full width.
    #[must_use]
    pub fn empty() -> Self {
        Self { entries: Vec::new(), order: Vec::new(), cells: vec![(0, 0); SIDE * SIDE] }
    }

    /// The entries as they were given.
    #[must_use]
    pub fn entries(&self) -> &[MpcEntry] {
        &self.entries
    }

    /// Whether there are no statistics.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entries that serve a search to the end: those of its depth, or of the greatest depth of the same parity that has any.
    #[inline]
    pub(super) fn end_probes(&self, empties: u8) -> impl Iterator<Item = &MpcEntry> {
        let mut deep = empties;
        while DEEP_MIN + 2 <= deep && self.probes(empties, deep).next().is_none() {
            deep -= 2;
        }
        self.probes(empties, deep)
    }

    /// The entries that serve a search of depth `deep` with this many empty squares.
    #[inline]
    pub(super) fn probes(&self, empties: u8, deep: u8) -> impl Iterator<Item = &MpcEntry> {
        let (begin, end) = self.cells.get(usize::from(empties) * SIDE + usize::from(deep)).copied().unwrap_or((0, 0));
        self.order[usize::from(begin)..usize::from(end)].iter().map(|&index| &self.entries[usize::from(index)])
    }
}

fn check(entry: &MpcEntry) -> Result<(), MpcTableError> {
    let &MpcEntry { empties_min: min, empties_max: max, deep, shallow, slope, offset, sigma, growth, quantiles } =
        entry;
    if !(DEEP_MIN..=DEEP_MAX).contains(&deep) || deep <= shallow {
        return Err(MpcTableError::Depth { deep, shallow });
    }
    if max < min || DEEP_MAX < max {
        return Err(MpcTableError::Empties { min, max });
    }
    let sound = (SLOPE_MIN..=SLOPE_MAX).contains(&slope)
        && (-SCORE_MAX..=SCORE_MAX).contains(&offset)
        && (0..=SCORE_MAX).contains(&sigma);
    if !sound {
        return Err(MpcTableError::Statistics { deep, slope, offset, sigma });
    }
    let sound = (0.0..=GROWTH_MAX).contains(&growth)
        && quantiles.is_sorted()
        && quantiles.iter().all(|quantile| (0.0..=QUANTILE_MAX).contains(quantile));
    if sound { Ok(()) } else { Err(MpcTableError::Deviation { deep, growth, quantiles }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: MpcEntry = MpcEntry { empties_min: 10, ..MpcEntry::source(3, 1, 0, 3000) };

    #[test]
    fn entries_are_found_by_empties_and_depth() {
        let second = MpcEntry { shallow: 2, ..ENTRY };
        let table = MpcTable::new(vec![ENTRY, second, MpcEntry { deep: 4, ..ENTRY }]).unwrap();
        let shallow: Vec<u8> = table.probes(10, 3).map(|entry| entry.shallow).collect();
        assert_eq!(shallow, [1, 2]);
        assert_eq!(table.probes(60, 4).count(), 1);
        assert_eq!(table.probes(9, 3).count(), 0);
        assert_eq!(table.probes(10, 5).count(), 0);
        assert_eq!(MpcTable::empty().probes(10, 3).count(), 0);
    }

    #[test]
    fn an_entry_out_of_range_is_refused() {
        for entry in [
            MpcEntry { deep: 0, ..ENTRY },
            MpcEntry { deep: 61, ..ENTRY },
            MpcEntry { shallow: 3, ..ENTRY },
            MpcEntry { empties_min: 61, empties_max: 61, ..ENTRY },
            MpcEntry { empties_min: 11, empties_max: 10, ..ENTRY },
            MpcEntry { slope: f64::NAN, ..ENTRY },
            MpcEntry { slope: 0.0, ..ENTRY },
            MpcEntry { sigma: -1, ..ENTRY },
            MpcEntry { offset: i32::MIN, ..ENTRY },
            MpcEntry { growth: -0.1, ..ENTRY },
            MpcEntry { growth: f64::NAN, ..ENTRY },
            MpcEntry { quantiles: [1.0, 2.0, 1.5, 3.0, 4.0], ..ENTRY },
            MpcEntry { quantiles: [1.0, 2.0, 3.0, 4.0, f64::NAN], ..ENTRY },
        ] {
            assert!(MpcTable::new(vec![entry]).is_err(), "{entry:?}");
        }
    }

    #[test]
    fn percentages_name_levels() {
        for percent in PERCENT_MIN..=100 {
            let level = MpcLevel::from_percent(percent).unwrap();
            assert_eq!(level.percent(), Some(percent));
            assert!(percent == 100 || (level.t() - normal_margin(f64::from(percent) / 100.0)).abs() < 1e-4);
            // With normal quantiles a level is its number of sigmas.
            assert!(percent == 100 || (ENTRY.margin(level) - level.t()).abs() < 1e-9, "{percent}");
        }
        assert_eq!(MpcLevel::from_percent(49), None);
        assert_eq!(MpcLevel::from_percent(101), None);
    }

    #[test]
    fn a_level_is_the_quantile_of_the_entry() {
        let entry = MpcEntry { quantiles: [1.0, 2.0, 3.0, 4.0, 6.0], ..ENTRY };
        for (percent, quantile) in LEVELS.into_iter().zip(entry.quantiles) {
            assert_eq!(entry.margin(MpcLevel::from_percent(percent).unwrap()), quantile, "{percent}");
        }
        let between = entry.margin(MpcLevel::Percent(80));
        assert!(1.0 < between && between < 2.0, "{between}");
        assert!(entry.margin(MpcLevel::Percent(50)) < 1.0);
        assert_eq!(entry.margin(MpcLevel::Sigmas(1.4)), 1.4);
    }

    #[test]
    fn bounds_are_where_the_margin_meets_the_window() {
        for (slope, offset, growth) in [(1.0, 0, 0.0), (1.1, -700, 0.05), (0.9, 400, 0.2)] {
            let entry = MpcEntry { slope, offset, growth, ..ENTRY };
            for alpha in [-30_000, -5000, -1, 0, 800, 9000, 40_000] {
                let (low, high) = entry.bounds(alpha, alpha + 1, 1.5);
                let reach = |value: i32| 1.5 * entry.deviation(value);
                for value in [low - 1, low, low + 2, high - 2, high, high + 1] {
                    let foretold = entry.foretold(value);
                    let (below, above) =
                        (foretold + reach(value) < f64::from(alpha), f64::from(alpha + 1) < foretold - reach(value));
                    assert_eq!((value <= low, high <= value), (below, above), "{entry:?} {alpha} {value}");
                }
            }
        }
    }
}
