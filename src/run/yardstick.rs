//! The yardstick: positions of self-play with exact scores. No model is trained on them and no choice is made by them, so that
//! errors on them compare models of any run. They are part of the program.

use crate::artifact::dataset::positions::IMPORTED_POSITIONS;
use crate::artifact::{ArtifactError, ContentHash, Manifest, PositionRow, TableRow};
use crate::engine::{Discs, Evaluation, Position, Score};
use serde_json::Value;
use std::path::Path;
use std::sync::LazyLock;

/// Why its rows can be read without errors: see the test.
const SOUND: &str = "the yardstick is sound";

static MANIFEST: &[u8] = include_bytes!("../../datasets/yardstick/manifest.json");

static FILE: &[u8] = include_bytes!("../../datasets/yardstick/positions/part-00000.parquet");

/// More rows than it has.
const ROWS_MAX: u64 = 1 << 12;

/// Positions with greater scores are decided: who wins them is no question, and how high is a matter of a few moves.
const NEAR_EVEN: Discs = Discs(20);

/// Its near-even positions with their exact scores.
static POSITIONS: LazyLock<Vec<(Position, Score)>> = LazyLock::new(|| {
    let batch = IMPORTED_POSITIONS.decode(Path::new("yardstick"), FILE.into(), ROWS_MAX).expect(SOUND);
    let rows = PositionRow::from_batch(&batch).expect(SOUND);
    let scored = rows.iter().map(|row| (row.position().expect(SOUND), row.score.expect(SOUND)));
    scored.filter(|(_, score)| score.abs() <= NEAR_EVEN.into()).collect()
});

/// Its content hash.
///
/// # Panics
///
/// If the yardstick is damaged, which a test rules out.
pub fn content() -> ContentHash {
    let manifest: Value = serde_json::from_slice(MANIFEST).expect(SOUND);
    serde_json::from_value(manifest["content"].clone()).expect(SOUND)
}

/// Refuses a dataset that is the yardstick, or was merged from it.
///
/// # Errors
///
/// Its name, and why no model is trained on it.
///
/// # Panics
///
/// If the yardstick is damaged, which a test rules out.
pub fn refuse(folder: &Path, manifest: &Manifest) -> Result<(), ArtifactError> {
    let content = content();
    if manifest.content != content && !manifest.parents.contains(&content) {
        return Ok(());
    }
    let reason = "it holds the yardstick, which measures models: none is trained on it\nname other datasets";
    Err(ArtifactError::unfit(folder, reason))
}

/// The *exact MAE* of a model: the mean absolute error in discs of its static value on the near-even positions (exact score
/// within ±20 discs) of the yardstick.
///
/// # Panics
///
/// If the yardstick is damaged, which a test rules out.
pub fn exact_mae(evaluation: &Evaluation) -> f64 {
    let errors = POSITIONS.iter().map(|&(position, exact)| {
        let Score(value) = evaluation.static_value(position);
        u64::from(value.abs_diff(exact.0))
    });
    // The sum is one of integers, so its order does not matter.
    Score::in_discs(errors.sum::<u64>() as f64 / POSITIONS.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::eval::builtin;

    #[test]
    fn the_error_of_the_disc_count_is_that_of_the_discs_on_the_board() {
        let errors = POSITIONS.iter().map(|(position, exact)| {
            let discs = |set: u64| f64::from(set.count_ones());
            (discs(position.player()) - discs(position.opponent()) - exact.discs()).abs()
        });
        let expected = errors.sum::<f64>() / POSITIONS.len() as f64;
        assert!((exact_mae(&builtin::disc_count()) - expected).abs() < 1e-9);
        assert!(POSITIONS.iter().all(|(_, exact)| exact.0.abs() <= 20_000));
    }
}
