//! The yardstick: positions of self-play with exact scores, which are part of the program. No model
//! is trained on them and no choice is made by them, so that errors on them compare all models.

use super::positions::{IMPORTED_POSITIONS, PositionRow};
use crate::artifact::table::row::TableRow;
use crate::engine::{Position, Score};
use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::LazyLock;

/// Why its rows can be read without errors: see `tests/stages/yardstick.rs`.
const SOUND: &str = "the yardstick is sound";

static FILE: &[u8] = include_bytes!("../../../datasets/yardstick/positions/part-00000.parquet");

/// More rows than it has.
const ROWS_MAX: u64 = 1 << 12;

static SCORED: LazyLock<Vec<(Position, Score)>> = LazyLock::new(|| {
    let batch = IMPORTED_POSITIONS
        .decode(Path::new("yardstick"), FILE.into(), ROWS_MAX)
        .expect(SOUND);
    let rows = PositionRow::from_batch(&batch).expect(SOUND);
    rows.iter()
        .map(|row| (row.position().expect(SOUND), row.score.expect(SOUND)))
        .collect()
});

/// Its positions as [`Position::canonical`].
static CANONICAL: LazyLock<HashSet<Position>> = LazyLock::new(|| {
    SCORED
        .iter()
        .map(|(position, _)| position.canonical())
        .collect()
});

/// From its fewest to its most empty squares: other positions need no look.
static EMPTIES: LazyLock<RangeInclusive<u8>> = LazyLock::new(|| {
    let empties = || SCORED.iter().map(|(position, _)| position.empties());
    empties().min().expect(SOUND)..=empties().max().expect(SOUND)
});

/// Its positions with their exact scores.
pub fn scored_positions() -> &'static [(Position, Score)] {
    &SCORED
}

/// Whether a position is one of its positions, up to symmetry and color.
pub fn is_in_yardstick(position: Position) -> bool {
    EMPTIES.contains(&position.empties()) && CANONICAL.contains(&position.canonical())
}
