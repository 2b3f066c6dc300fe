//! A summary of positions: counts, histograms, duplicates, variety and errors.

use crate::artifact::{Dataset, POSITIONS, PositionRow, TableRow};
use crate::engine::{Black, ColoredPosition, Discs, Position, Score, White};
use crate::pipeline::{Context, StageError};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// The width of a bin of the histograms, in discs.
pub const BIN_DISCS: i32 = 8;

/// The number of bins, from −64 to 64 discs.
pub const BINS: usize = 17;

/// The width of a line of the table by empties.
const EMPTIES_STEP: u8 = 5;

/// The plies at which openings are counted.
const OPENING_PLIES: [u8; 4] = [4, 8, 12, 16];

/// A mean of values in millidiscs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mean {
    count: u64,
    sum: i64,
}

impl Mean {
    fn add(&mut self, value: i64) {
        self.count += 1;
        self.sum += value;
    }

    /// The mean in discs, if there are values.
    pub fn discs(self) -> Option<f64> {
        (0 < self.count).then(|| Score::in_discs(self.sum as f64 / self.count as f64))
    }
}

/// Positions in one range of empty squares.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct EmptiesSummary {
    /// The fewest empty squares.
    pub empties_min: u8,
    /// Rows.
    pub rows: u64,
    /// Rows solved to the end.
    pub exact: u64,
    /// Rows whose played move was random.
    pub random: u64,
    /// Rows with a score.
    pub scored: u64,
    /// The scores.
    #[serde(skip)]
    pub score: Mean,
    /// |score − static score| of the rows that have both.
    #[serde(skip)]
    pub static_error: Mean,
    /// |score − result| of the rows that have both.
    #[serde(skip)]
    pub result_error: Mean,
    /// Rows by score, in bins of [`BIN_DISCS`] around multiples of it.
    pub scores: [u64; BINS],
    /// Rows by result, in the same bins.
    pub results: [u64; BINS],
}

impl EmptiesSummary {
    fn add(&mut self, row: &PositionRow) {
        self.rows += 1;
        self.exact += u64::from(row.exact == Some(true));
        self.random += u64::from(row.random_move == Some(true));
        let result = row.result.map(|result| Score::from(Discs(result.into())));
        if let Some(result) = result {
            self.results[bin(result)] += 1;
        }
        let Some(score) = row.score else { return };
        self.scored += 1;
        self.score.add(score.0.into());
        self.scores[bin(score)] += 1;
        if let Some(static_score) = row.static_score {
            self.static_error.add(score.abs_diff(static_score).into());
        }
        if let Some(result) = result {
            self.result_error.add(score.abs_diff(result).into());
        }
    }
}

fn bin(score: Score) -> usize {
    let width = Score::from(Discs(BIN_DISCS)).0;
    (score
        .0
        .saturating_add(Score::MAX.0 + width / 2)
        .clamp(0, 2 * Score::MAX.0 + width / 2)
        / width) as usize
}

/// The number of different openings after some plies.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OpeningVariety {
    /// Half-moves from the start.
    pub ply: u8,
    /// Games that have a row at this ply.
    pub games: u64,
    /// Different positions up to symmetry.
    pub distinct: u64,
}

/// The summary of a dataset of positions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PositionsSummary {
    /// Games.
    pub games: u64,
    /// Rows of the positions table.
    pub positions: u64,
    /// Rows whose board and side to move occurred in an earlier row.
    pub duplicates: u64,
    /// The same up to symmetry and color.
    pub duplicates_up_to_symmetry: u64,
    /// Rows whose label is missing, by column; columns without missing labels are left out.
    pub missing: BTreeMap<&'static str, u64>,
    /// Variety by ply.
    pub openings: Vec<OpeningVariety>,
    /// Rows by empty squares, fewest first.
    pub by_empties: Vec<EmptiesSummary>,
}

/// Summarizes all positions of a dataset.
pub(super) fn inspect(
    dataset: &Dataset,
    context: Context<'_>,
) -> Result<PositionsSummary, StageError> {
    let (mut boards, mut canonical_boards) = (HashSet::new(), HashSet::new());
    let mut openings: BTreeMap<u8, (u64, BTreeSet<Position>)> = BTreeMap::new();
    let mut by_empties: BTreeMap<u8, EmptiesSummary> = BTreeMap::new();
    let mut missing = BTreeMap::new();
    for index in 0..dataset.part_count() {
        let rows = dataset.rows(index, context.stop)?;
        for (column, values) in PositionRow::COLUMNS
            .iter()
            .zip(PositionRow::to_columns(&rows))
        {
            if 0 < values.null_count() {
                *missing.entry(column.name).or_default() += values.null_count() as u64;
            }
        }
        for row in rows {
            context.check()?;
            let range = row.empties / EMPTIES_STEP * EMPTIES_STEP;
            let summary = by_empties.entry(range).or_default();
            summary.empties_min = range;
            summary.add(&row);
            boards.insert(fingerprint(&[
                row.black,
                row.white,
                u64::from(row.black_to_move),
            ]));
            // A row with overlapping boards is not a position; `dataset verify` names it.
            let colored =
                ColoredPosition::from_boards(Black(row.black), White(row.white), row.black_to_move);
            let Some(colored) = colored else { continue };
            let canonical = colored.position.canonical();
            canonical_boards.insert(fingerprint(&[canonical.player(), canonical.opponent()]));
            if OPENING_PLIES.contains(&row.ply) {
                let (games, distinct) = openings.entry(row.ply).or_default();
                *games += 1;
                distinct.insert(canonical);
            }
        }
        context.progress.advance(1);
    }
    let positions = dataset.manifest().rows(POSITIONS.name);
    let variety = |(ply, (games, distinct)): (u8, (u64, BTreeSet<Position>))| OpeningVariety {
        ply,
        games,
        distinct: distinct.len() as u64,
    };
    Ok(PositionsSummary {
        games: dataset.manifest().done,
        positions,
        duplicates: positions - boards.len() as u64,
        duplicates_up_to_symmetry: positions - canonical_boards.len() as u64,
        missing,
        openings: openings.into_iter().map(variety).collect(),
        by_empties: by_empties.into_values().collect(),
    })
}

/// 64 bits that stand for a board: among a billion boards, the chance that two share them is a few
/// percent.
fn fingerprint(words: &[u64]) -> u64 {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let hash = blake3::hash(&bytes);
    u64::from_le_bytes(*hash.as_bytes().first_chunk().expect("a hash has 32 bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bin_holds_what_is_nearest_to_its_multiple_of_8_discs() {
        for (discs, expected) in [
            (-65, 0),
            (-64, 0),
            (-61, 0),
            (-60, 1),
            (-4, 8),
            (0, 8),
            (3, 8),
            (4, 9),
            (60, 16),
            (64, 16),
        ] {
            assert_eq!(bin(Discs(discs).into()), expected, "{discs} discs");
        }
        // Values that no valid row has are counted at the end, and verified elsewhere.
        assert_eq!((bin(Score(-1_000_000)), bin(Score(1_000_000))), (0, 16));
        assert_eq!((bin(Score(i32::MIN)), bin(Score(i32::MAX))), (0, 16));
    }
}
