//! Multi-ProbCut statistics (Buro 1997): what a shallow search says about a deep one.

use super::depth::Depth;
use super::mpc_level::{Margin, MpcLevel, NORMAL_QUANTILES, Quantiles};
use super::window::Window;
use crate::engine::score::Score;

/// The lowest depth with statistics; below 3 only the static value costs less than the search that
/// it predicts.
pub const DEEP_MIN: u8 = 1;

/// The greatest depth, and the greatest number of empty squares, with statistics.
pub const DEEP_MAX: u8 = 60;

/// The margin of a prediction from a static value, as a multiple of that from a searched one: its
/// errors have heavier tails.
pub const STATIC_MARGIN: f64 = 2.0;

/// A search is tried on a side of the window that the static value predicts, or misses by at most
/// this many of its deviations.
pub const PROBE_MARGIN: f64 = 2.0;

/// One relation: deep ≈ slope · v + offset for a shallow value v, with the deviation sigma + growth
/// · |v|.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub struct MpcEntry {
    /// The fewest empty squares that it holds for.
    pub empties_min: u8,
    /// The most empty squares that it holds for.
    pub empties_max: u8,
    /// The depth whose value it predicts; if it is the number of empty squares, the result of the
    /// game.
    pub deep: Depth,
    /// The depth whose value it predicts from.
    pub shallow: Depth,
    /// Deep millidiscs per shallow millidisc.
    pub slope: f64,
    #[expect(missing_docs, reason = "the formula says it")]
    pub offset: Score,
    /// The standard deviation where the shallow value is 0.
    pub sigma: Score,
    /// Millidiscs that the deviation grows by per millidisc of the shallow value, on either side of
    /// 0.
    pub growth: f64,
    /// In units of the deviation.
    pub quantiles: Quantiles,
}

/// A deviation that grows faster than the prediction leaves this share of the slope, so that
/// nothing is predicted.
const SLOPE_SHARE_MIN: f64 = 0.1;

impl MpcEntry {
    /// An entry in the source's form: slope 1, one normal deviation, from `deep` empty squares on.
    pub const fn source(deep: Depth, shallow: Depth, offset: Score, sigma: Score) -> Self {
        Self {
            empties_min: deep.0,
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

    /// The deep value that a shallow one predicts, in millidiscs.
    #[inline]
    pub fn predicted(&self, value: Score) -> f64 {
        self.slope * f64::from(value.0) + f64::from(self.offset.0)
    }

    /// The standard deviation of the residual, in millidiscs.
    #[inline]
    pub fn deviation(&self, value: Score) -> f64 {
        f64::from(self.sigma.0) + self.growth * f64::from(value.abs().0)
    }

    /// The margin of a level in deviations; infinite for full width.
    pub fn margin(&self, level: MpcLevel) -> f64 {
        Margin::new(level).sigmas(&self.quantiles)
    }

    /// The shallow values that predict a deep one outside the window, with a margin of `t`
    /// deviations.
    #[inline(always)]
    pub fn cuts(&self, window: impl Window<Unit = Score>, t: f64) -> Cuts {
        let margin = t * f64::from(self.sigma.0);
        let spread = t * self.growth;
        // Away from 0 the deviation eats into the slope on one side and adds to it on the other.
        let (steep, flat) = (
            self.slope + spread,
            (self.slope - spread).max(self.slope * SLOPE_SHARE_MIN),
        );
        let low = f64::from((window.alpha() - self.offset).0) - margin;
        let high = f64::from((window.beta() - self.offset).0) + margin;
        let low = low / if low < 0.0 { flat } else { steep };
        let high = high / if high < 0.0 { steep } else { flat };
        // A conversion to an integer saturates.
        Cuts {
            low: Score((low.ceil() as i32).saturating_sub(1)),
            high: Score((high.floor() as i32).saturating_add(1)),
        }
    }

    /// Whether the deep value that `value` predicts lies below the window, and whether above it, if
    /// it may be off by `t` deviations.
    #[inline(always)]
    pub fn may_cut(&self, value: Score, window: impl Window<Unit = Score>, t: f64) -> (bool, bool) {
        let predicted = self.predicted(value);
        let margin = t * self.deviation(value);
        (
            predicted <= f64::from(window.alpha().0) + margin,
            f64::from(window.beta().0) - margin <= predicted,
        )
    }
}

/// Shallow values that predict a cut; beyond the range of scores nothing predicts one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cuts {
    /// The greatest that predicts a deep value of at most alpha.
    pub low: Score,
    /// The least that predicts a deep value of at least beta.
    pub high: Score,
}

/// Why entries are not a table.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are those of the entry")]
pub enum MpcTableError {
    /// A deep depth outside the range, or a shallow one that is not below it.
    #[error(
        "depth {deep} from depth {shallow}: expected {DEEP_MIN} to {DEEP_MAX} from a lower one"
    )]
    Depth { deep: u8, shallow: u8 },
    /// A range of empty squares that is reversed or too large.
    #[error("empties {min} to {max}: expected an ascending range up to {DEEP_MAX}")]
    Empties { min: u8, max: u8 },
    /// A slope, an offset or a sigma that no evaluation has.
    #[error(
        "depth {deep}: slope {slope}, offset {offset}, sigma {sigma} are not statistics of scores"
    )]
    Statistics {
        deep: u8,
        slope: f64,
        offset: i32,
        sigma: i32,
    },
    /// A growth, or quantiles, that no deviation has.
    #[error(
        "depth {deep}: growth {growth} and quantiles {quantiles:?} do not describe a deviation"
    )]
    Deviation {
        deep: u8,
        growth: f64,
        quantiles: Quantiles,
    },
    /// More places than the cells can count.
    #[error(
        "its entries and those of deeper searches have {places} places: at most {PLACES_MAX} expected"
    )]
    Size { places: usize },
}

/// The statistics of one model, found by empty squares and depth.
#[derive(Clone, Debug)]
#[must_use]
pub struct MpcTable {
    entries: Vec<MpcEntry>, // the fitted ones, then those of deeper searches
    fitted: usize,
    order: Vec<u16>,        // indices into `entries`, grouped by cell
    cells: Vec<(u16, u16)>, // [empties][deep] -> range of `order`
}

/// Slopes outside this range come from a broken fit.
const SLOPE_MIN: f64 = 0.01;
const SLOPE_MAX: f64 = 100.0;

/// Deviations that grow faster, and margins wider than this many of them, come from a broken fit.
const GROWTH_MAX: f64 = 1.0;
const QUANTILE_MAX: f64 = 64.0;

const SIDE: usize = DEEP_MAX as usize + 1;

/// A bound on `order`, in which each entry has a place for each number of empty squares that it
/// applies to.
const PLACES_MAX: usize = u16::MAX as usize;

impl MpcTable {
    /// A table of these entries; the entries of one depth are tried in their order.
    ///
    /// A search deeper than any entry uses those of the deepest search of its parity, and looks
    /// ahead as many plies more.
    ///
    /// # Errors
    ///
    /// The first entry that is out of range, or too many of them.
    pub fn new(mut entries: Vec<MpcEntry>) -> Result<Self, MpcTableError> {
        for entry in &entries {
            check(entry)?;
        }
        let fitted = entries.len();
        entries.extend(deeper(&entries));
        let places: usize = entries
            .iter()
            .map(|entry| usize::from(entry.empties_max - entry.empties_min) + 1)
            .sum();
        if PLACES_MAX < places {
            return Err(MpcTableError::Size { places });
        }
        let mut order = Vec::new();
        let mut cells = Vec::with_capacity(SIDE * SIDE);
        for empties in 0..=DEEP_MAX {
            for deep in 0..=DEEP_MAX {
                let begin = order.len();
                order.extend((0..=u16::MAX).zip(&entries).filter_map(|(index, entry)| {
                    let fits = entry.empties_min <= empties
                        && empties <= entry.empties_max
                        && entry.deep.0 == deep;
                    fits.then_some(index)
                }));
                cells.push((begin as u16, order.len() as u16));
            }
        }
        Ok(Self {
            entries,
            fitted,
            order,
            cells,
        })
    }

    /// A table without statistics: every search is full width.
    pub fn empty() -> Self {
        Self {
            entries: Vec::new(),
            fitted: 0,
            order: Vec::new(),
            cells: vec![(0, 0); SIDE * SIDE],
        }
    }

    /// The entries as they were given.
    pub fn entries(&self) -> &[MpcEntry] {
        &self.entries[..self.fitted]
    }

    /// Whether there are no statistics.
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entries for a search to the end: those of its depth, or of the greatest lower depth of
    /// the same parity that has any.
    #[inline]
    pub(super) fn end_probes(&self, empties: u8) -> impl Iterator<Item = &MpcEntry> {
        let mut deep = Depth(empties);
        while DEEP_MIN + 2 <= deep.0
            && self
                .indices(empties, deep)
                .all(|index| self.fitted <= index)
        {
            deep = deep - 2;
        }
        self.indices(empties, deep)
            .filter(|&index| index < self.fitted)
            .map(|index| &self.entries[index])
    }

    /// The entries for a search of depth `deep` with this many empty squares.
    #[inline]
    pub(super) fn probes(&self, empties: u8, deep: Depth) -> impl Iterator<Item = &MpcEntry> {
        self.indices(empties, deep)
            .map(|index| &self.entries[index])
    }

    #[inline]
    fn indices(&self, empties: u8, deep: Depth) -> impl Iterator<Item = usize> {
        let (begin, end) = self
            .cells
            .get(usize::from(empties) * SIDE + usize::from(deep.0))
            .copied()
            .unwrap_or((0, 0));
        self.order[usize::from(begin)..usize::from(end)]
            .iter()
            .map(|&index| usize::from(index))
    }
}

/// The entries of searches deeper than any of `fitted`, from those of the two greatest depths. The
/// end of the game is not among the depths: its statistics are of one number of empty squares each.
fn deeper(fitted: &[MpcEntry]) -> Vec<MpcEntry> {
    let by_depth = || {
        fitted
            .iter()
            .filter(|entry| entry.deep.0 < entry.empties_max)
    };
    let Some(deepest) = by_depth().map(|entry| entry.deep.0).max() else {
        return Vec::new();
    };
    let mut deeper = Vec::new();
    for plies in (2..=DEEP_MAX).step_by(2) {
        for &entry in by_depth().filter(|entry| deepest <= entry.deep.0 + 1) {
            let deep = entry.deep + plies;
            let shallow = if entry.shallow == Depth(0) {
                entry.shallow
            } else {
                entry.shallow + plies
            };
            let empties_min = entry.empties_min.max(deep.0.saturating_add(1));
            if empties_min <= entry.empties_max {
                deeper.push(MpcEntry {
                    deep,
                    shallow,
                    empties_min,
                    ..entry
                });
            }
        }
    }
    deeper
}

fn check(entry: &MpcEntry) -> Result<(), MpcTableError> {
    let &MpcEntry {
        empties_min: min,
        empties_max: max,
        deep,
        shallow,
        slope,
        offset,
        sigma,
        growth,
        quantiles,
    } = entry;
    let (deep, shallow) = (deep.0, shallow.0);
    if !(DEEP_MIN..=DEEP_MAX).contains(&deep) || deep <= shallow {
        return Err(MpcTableError::Depth { deep, shallow });
    }
    if max < min || DEEP_MAX < max {
        return Err(MpcTableError::Empties { min, max });
    }
    let sound = (SLOPE_MIN..=SLOPE_MAX).contains(&slope)
        && (Score::MIN..=Score::MAX).contains(&offset)
        && (Score(0)..=Score::MAX).contains(&sigma);
    if !sound {
        return Err(MpcTableError::Statistics {
            deep,
            slope,
            offset: offset.0,
            sigma: sigma.0,
        });
    }
    let sound = (0.0..=GROWTH_MAX).contains(&growth)
        && quantiles.is_sorted()
        && quantiles
            .iter()
            .all(|quantile| (0.0..=QUANTILE_MAX).contains(quantile));
    if sound {
        Ok(())
    } else {
        Err(MpcTableError::Deviation {
            deep,
            growth,
            quantiles,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::window::NullWindow;
    use super::*;

    const ENTRY: MpcEntry = MpcEntry {
        empties_min: 10,
        ..MpcEntry::source(Depth(3), Depth(1), Score(0), Score(3_000))
    };

    #[test]
    fn entries_are_found_by_empties_and_depth() {
        let second = MpcEntry {
            shallow: Depth(2),
            ..ENTRY
        };
        let table = MpcTable::new(vec![
            ENTRY,
            second,
            MpcEntry {
                deep: Depth(4),
                ..ENTRY
            },
        ])
        .unwrap();
        let shallow: Vec<u8> = table
            .probes(10, Depth(3))
            .map(|entry| entry.shallow.0)
            .collect();
        assert_eq!(shallow, [1, 2]);
        assert_eq!(table.probes(60, Depth(4)).count(), 1);
        assert_eq!(table.probes(9, Depth(3)).count(), 0);
        assert_eq!(table.probes(10, Depth(2)).count(), 0);
        assert_eq!(MpcTable::empty().probes(10, Depth(3)).count(), 0);
    }

    #[test]
    fn deeper_searches_use_the_deepest_entries() {
        let end = MpcEntry {
            empties_min: 12,
            empties_max: 12,
            deep: Depth(12),
            ..ENTRY
        };
        let fixed = MpcEntry {
            shallow: Depth(0),
            ..ENTRY
        };
        let given = vec![
            fixed,
            ENTRY,
            MpcEntry {
                deep: Depth(4),
                shallow: Depth(2),
                ..ENTRY
            },
            end,
        ];
        let table = MpcTable::new(given.clone()).unwrap();
        assert_eq!(table.entries(), given);
        let shallow = |empties, deep| {
            table
                .probes(empties, Depth(deep))
                .map(|entry| entry.shallow.0)
                .collect::<Vec<_>>()
        };
        assert_eq!((shallow(20, 5), shallow(20, 6)), (vec![0, 3], vec![4]));
        assert_eq!((shallow(20, 17), shallow(20, 18)), (vec![0, 15], vec![16]));
        // To the end there are only statistics of the end itself, or of a fitted depth.
        assert_eq!(
            (shallow(12, 12), shallow(20, 20), shallow(9, 5)),
            (vec![1], vec![], vec![])
        );
        let depths = |empties| {
            table
                .end_probes(empties)
                .map(|entry| (entry.deep.0, entry.shallow.0))
                .collect::<Vec<_>>()
        };
        assert_eq!((depths(12), depths(20)), (vec![(12, 1)], vec![(4, 2)]));
    }

    #[test]
    fn an_entry_out_of_range_is_refused() {
        for entry in [
            MpcEntry {
                deep: Depth(0),
                ..ENTRY
            },
            MpcEntry {
                deep: Depth(61),
                ..ENTRY
            },
            MpcEntry {
                shallow: Depth(3),
                ..ENTRY
            },
            MpcEntry {
                empties_min: 61,
                empties_max: 61,
                ..ENTRY
            },
            MpcEntry {
                empties_min: 11,
                empties_max: 10,
                ..ENTRY
            },
            MpcEntry {
                slope: f64::NAN,
                ..ENTRY
            },
            MpcEntry {
                slope: 0.0,
                ..ENTRY
            },
            MpcEntry {
                sigma: Score(-1),
                ..ENTRY
            },
            MpcEntry {
                offset: Score(i32::MIN),
                ..ENTRY
            },
            MpcEntry {
                growth: -0.1,
                ..ENTRY
            },
            MpcEntry {
                growth: f64::NAN,
                ..ENTRY
            },
            MpcEntry {
                quantiles: [1.0, 2.0, 1.5, 3.0, 4.0],
                ..ENTRY
            },
            MpcEntry {
                quantiles: [1.0, 2.0, 3.0, 4.0, f64::NAN],
                ..ENTRY
            },
        ] {
            assert!(MpcTable::new(vec![entry]).is_err(), "{entry:?}");
        }
    }

    #[test]
    fn a_table_that_the_entries_of_deeper_searches_make_too_large_is_refused() {
        // With those, each applies to 902 numbers of empty squares.
        let widest = MpcEntry {
            empties_min: 0,
            deep: Depth(1),
            shallow: Depth(0),
            ..ENTRY
        };
        let table = MpcTable::new(vec![widest; 72]).unwrap();
        assert_eq!(
            (
                table.probes(60, Depth(59)).count(),
                table.probes(0, Depth(1)).count()
            ),
            (72, 72)
        );
        assert_eq!(
            MpcTable::new(vec![widest; 73]).unwrap_err(),
            MpcTableError::Size { places: 73 * 902 }
        );
    }

    #[test]
    fn cuts_begin_where_the_margin_meets_the_window() {
        for (slope, offset, growth) in [(1.0, 0, 0.0), (1.1, -700, 0.05), (0.9, 400, 0.2)] {
            let entry = MpcEntry {
                slope,
                offset: Score(offset),
                growth,
                ..ENTRY
            };
            for alpha in [-30_000, -5000, -1, 0, 800, 9000, 40_000] {
                let Cuts { low, high } = entry.cuts(NullWindow::above(Score(alpha)), 1.5);
                for value in [
                    low - Score(1),
                    low,
                    low + Score(2),
                    high - Score(2),
                    high,
                    high + Score(1),
                ] {
                    let (predicted, reach) = (entry.predicted(value), 1.5 * entry.deviation(value));
                    let (below, above) = (
                        predicted + reach < f64::from(alpha),
                        f64::from(alpha + 1) < predicted - reach,
                    );
                    assert_eq!(
                        (value <= low, high <= value),
                        (below, above),
                        "{entry:?} {alpha} {value:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_side_may_be_cut_if_the_prediction_lies_within_the_margin_of_it() {
        let entry = MpcEntry {
            slope: 1.1,
            offset: Score(-700),
            growth: 0.05,
            ..ENTRY
        };
        let margins =
            [MpcLevel::P73, MpcLevel::P95, MpcLevel::FullWidth].map(|level| entry.margin(level));
        assert_eq!(
            margins,
            [NORMAL_QUANTILES[0], NORMAL_QUANTILES[2], f64::INFINITY]
        );
        let (alpha, beta) = (Score(2_000), Score(2_001));
        for t in [0.5, 2.0] {
            for value in (-20_000..20_000).step_by(500).map(Score) {
                let (predicted, reach) = (
                    1.1 * f64::from(value.0) - 700.0,
                    t * (3_000.0 + 0.05 * f64::from(value.abs().0)),
                );
                let expected = (
                    predicted - reach <= f64::from(alpha.0),
                    f64::from(beta.0) <= predicted + reach,
                );
                assert_eq!(
                    entry.may_cut(value, NullWindow::above(alpha), t),
                    expected,
                    "{value:?} {t}"
                );
            }
        }
    }
}
