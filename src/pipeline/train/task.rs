//! What training is asked to do, and what it reports.

use crate::artifact::hash::ContentHash;
use crate::artifact::model::reference::LoadedModel;
use crate::artifact::model::registry::Registry;
use crate::engine::eval::pattern_set::PatternSet;
use crate::pipeline::{StageError, check_range};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// Goes up when the same inputs would give other weights.
pub const ALGORITHM: u32 = 1;

/// How weights are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// The clipped delta rule: every weight of a position moves by the same truncated share of the error.
    Delta,
}

/// What the weights learn to predict.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "target", rename_all = "kebab-case", deny_unknown_fields)]
#[expect(missing_docs, reason = "configs/default.toml says what each key means")]
pub enum Target {
    /// The final disc difference.
    Result {},
    /// The deep-search score.
    Score {},
    /// `blend` parts result and the rest score.
    Blend { blend: f64 },
}

/// With which weights training begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// All zero.
    Zero,
    /// Those of the parent, if it has the same patterns and phases; else zero.
    Parent,
}

/// The `[train]` table.
///
/// The keys of the target stand in the same table; unknown keys are an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "configs/default.toml says what each key means")]
pub struct TrainConfig {
    pub rule: Rule,
    pub ratio: f64,
    pub ratio_decay: f64,
    pub clip: i32,
    #[serde(flatten)]
    pub target: Target,
    pub start: Start,
    pub epochs: u32,
    pub shuffle: bool,
    pub validation: f64,
    pub empties_min: u8,
    pub empties_max: u8,
    pub multiplicity_max: u32,
}

impl TrainConfig {
    /// Checks every key against its range.
    ///
    /// # Errors
    ///
    /// The first key that is out of range.
    pub fn check(&self) -> Result<(), StageError> {
        check_range("train.ratio", self.ratio, 0.0, 1.0)?;
        check_range("train.ratio_decay", self.ratio_decay, 0.0, 1.0)?;
        check_range("train.clip", self.clip, 1, i32::from(i16::MAX))?;
        if let Target::Blend { blend } = self.target {
            check_range("train.blend", blend, 0.0, 1.0)?;
        }
        check_range("train.epochs", self.epochs, 1, 100_000)?;
        check_range("train.validation", self.validation, 0.0, 0.9)?;
        check_range("train.multiplicity_max", self.multiplicity_max, 0, 1_000_000)?;
        check_range("train.empties_max", self.empties_max, 0, 60)?;
        check_range("train.empties_min", self.empties_min, 0, self.empties_max)
    }
}

/// One call of the stage.
#[derive(Clone, Debug)]
pub struct TrainTask<'a> {
    /// The `[train]` table.
    pub config: &'a TrainConfig,
    /// The run's seed.
    pub seed: u64,
    /// The patterns and phases to train.
    pub features: Arc<PatternSet>,
    /// The dataset folders, oldest first.
    pub datasets: Vec<&'a Path>,
    /// The model to improve upon, if any.
    pub parent: Option<&'a LoadedModel>,
    /// Where the new version goes.
    pub registry: &'a Registry,
}

/// The error before and after, in discs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainMetrics {
    /// Rows trained on.
    pub rows: u64,
    /// Rows held out.
    pub validation_rows: u64,
    /// Whether the errors are those of held-out rows; else of the training rows.
    pub held_out: bool,
    /// Rows left out because the label that is to be learnt is missing.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unlabeled: u64,
    /// Rows left out because their position, up to symmetry, occurs earlier, as often as the config lets it count.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub duplicates: u64,
    /// Weight updates: one for each row and epoch.
    pub updates: u64,
    /// With the weights of the parent, or zero weights.
    pub before: Errors,
    /// With the new weights.
    pub after: Errors,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
pub(super) fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The error of one range of empty squares.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EmptiesError {
    /// The fewest empty squares.
    pub empties_min: u8,
    /// The most empty squares.
    pub empties_max: u8,
    /// Rows.
    pub rows: u64,
    /// The mean absolute error, in discs.
    pub mae: f64,
    /// The root of the mean squared error, in discs.
    pub rmse: f64,
}

/// The error over all rows, and by empty squares.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Errors {
    /// The mean absolute error, in discs.
    pub mae: f64,
    /// The root of the mean squared error, in discs.
    pub rmse: f64,
    /// Ranges that have rows, fewest empty squares first.
    pub by_empties: Vec<EmptiesError>,
}

/// What the stage did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrainReport {
    /// Whether the version was there already.
    pub skipped: bool,
    /// The version's id.
    pub id: String,
    /// The hash of its content.
    pub content: ContentHash,
    /// Its figures.
    pub metrics: TrainMetrics,
}
