//! Multi-ProbCut statistics (Buro 1997): what a shallow search says about a deep one.

use crate::engine::eval::evaluation::SCORE_MAX;

/// The lowest depth with statistics; below 3 only the static value costs less than the search that it foretells.
pub const DEEP_MIN: u8 = 1;

/// The greatest depth, and the greatest number of empty squares, with statistics.
pub const DEEP_MAX: u8 = 60;

/// How sure a selective cut must be: the share of positions whose deep value lies within the margin, both sides.
///
/// A cut uses one side of the margin, so it is wrong with half the rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MpcLevel {
    /// 73 %, 1.10 sigmas.
    P73,
    /// 87 %, 1.51 sigmas.
    P87,
    /// 95 %, 1.96 sigmas.
    P95,
    /// 98 %, 2.33 sigmas.
    P98,
    /// 99 %, 2.58 sigmas.
    P99,
    /// A margin given in sigmas, finite and not negative.
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
    ///
    /// Percentages without a name have the margin of the normal distribution.
    #[must_use]
    pub fn from_percent(percent: u8) -> Option<Self> {
        match percent {
            73 => Some(Self::P73),
            87 => Some(Self::P87),
            95 => Some(Self::P95),
            98 => Some(Self::P98),
            99 => Some(Self::P99),
            100 => Some(Self::FullWidth),
            PERCENT_MIN..100 => Some(Self::Sigmas(normal_margin(f64::from(percent) / 100.0))),
            _ => None,
        }
    }

    /// The percentage of a named level; `None` for a margin given in sigmas.
    #[must_use]
    pub const fn percent(self) -> Option<u8> {
        match self {
            Self::P73 => Some(73),
            Self::P87 => Some(87),
            Self::P95 => Some(95),
            Self::P98 => Some(98),
            Self::P99 => Some(99),
            Self::Sigmas(_) => None,
            Self::FullWidth => Some(100),
        }
    }

    /// The margin in sigmas, quantiles of the normal distribution for the named levels; infinite for full width.
    #[must_use]
    pub const fn t(self) -> f64 {
        match self {
            Self::P73 => 1.1031,
            Self::P87 => 1.5141,
            Self::P95 => 1.9600,
            Self::P98 => 2.3263,
            Self::P99 => 2.5758,
            Self::Sigmas(t) => t,
            Self::FullWidth => f64::INFINITY,
        }
    }
}

/// One relation: deep ≈ slope · shallow + offset, with the deviation sigma.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MpcEntry {
    /// The fewest empty squares that it holds for.
    pub empties_min: u8,
    /// The most empty squares that it holds for.
    pub empties_max: u8,
    /// The depth that it predicts.
    pub deep: u8,
    /// The depth that it predicts from.
    pub shallow: u8,
    /// Deep millidiscs for each shallow one.
    pub slope: f64,
    /// In millidiscs.
    pub offset: i32,
    /// In millidiscs.
    pub sigma: i32,
}

impl MpcEntry {
    /// The greatest shallow value that foretells a deep one of at most `alpha`, and the least that foretells one of at
    /// least `beta`, with a margin of `t` sigmas.
    ///
    /// They may lie outside the range of scores: then nothing foretells that.
    #[inline(always)]
    pub(super) fn bounds(&self, alpha: i32, beta: i32, t: f64) -> (i32, i32) {
        let margin = t * f64::from(self.sigma);
        let low = (f64::from(alpha - self.offset) - margin) / self.slope;
        let high = (f64::from(beta - self.offset) + margin) / self.slope;
        // A conversion to an integer saturates.
        ((low.ceil() as i32).saturating_sub(1), (high.floor() as i32).saturating_add(1))
    }

    /// Whether the deep value that `value` foretells lies below `alpha`, above `beta`, or within `t` sigmas of that.
    #[inline(always)]
    pub(super) fn may_foretell(&self, value: i32, alpha: i32, beta: i32, t: f64) -> (bool, bool) {
        let foretold = self.slope * f64::from(value) + f64::from(self.offset);
        let margin = t * f64::from(self.sigma);
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
    let &MpcEntry { empties_min: min, empties_max: max, deep, shallow, slope, offset, sigma } = entry;
    if !(DEEP_MIN..=DEEP_MAX).contains(&deep) || deep <= shallow {
        return Err(MpcTableError::Depth { deep, shallow });
    }
    if max < min || DEEP_MAX < max {
        return Err(MpcTableError::Empties { min, max });
    }
    let sound = (SLOPE_MIN..=SLOPE_MAX).contains(&slope)
        && (-SCORE_MAX..=SCORE_MAX).contains(&offset)
        && (0..=SCORE_MAX).contains(&sigma);
    if sound { Ok(()) } else { Err(MpcTableError::Statistics { deep, slope, offset, sigma }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: MpcEntry =
        MpcEntry { empties_min: 10, empties_max: 60, deep: 3, shallow: 1, slope: 1.0, offset: 0, sigma: 3000 };

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
        ] {
            assert!(MpcTable::new(vec![entry]).is_err(), "{entry:?}");
        }
    }

    #[test]
    fn percentages_name_levels() {
        for percent in [73, 87, 95, 98, 99, 100] {
            let level = MpcLevel::from_percent(percent).unwrap();
            assert_eq!(level.percent(), Some(percent));
            assert!(percent == 100 || (level.t() - normal_margin(f64::from(percent) / 100.0)).abs() < 1e-4);
        }
        assert_eq!(MpcLevel::from_percent(58), Some(MpcLevel::Sigmas(0.8064)));
        assert_eq!(MpcLevel::from_percent(49), None);
        assert_eq!(MpcLevel::from_percent(101), None);
    }
}
