//! What fitting MPC statistics is asked to do, and what it reports.

use super::metrics::{END_RANGES, FitMpcMetrics};
use crate::artifact::hash::ContentHash;
use crate::artifact::model::reference::LoadedModel;
use crate::artifact::model::registry::Registry;
use crate::pipeline::search_settings::LevelSetting;
use crate::pipeline::{StageError, check_parts, check_range};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Goes up when the same inputs would give another table.
pub const ALGORITHM: u32 = 3;

/// The shallow depths of the source for deep depths 3 to 16.
pub(super) const SHALLOW_DEPTHS: [u8; 14] = [1, 2, 1, 2, 3, 4, 3, 4, 5, 6, 5, 6, 5, 6];

/// The first depth of [`SHALLOW_DEPTHS`].
pub(super) const SHALLOW_FIRST: u8 = 3;

/// The last depth with statistics: that of [`SHALLOW_DEPTHS`].
pub(super) const DEEP_MAX: u8 = SHALLOW_FIRST + SHALLOW_DEPTHS.len() as u8 - 1;

/// The `[fit_mpc]` table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "configs/default.toml says what each key means")]
pub struct FitMpcConfig {
    pub method: Method,
    pub level: LevelSetting,
    pub t: f64,
    pub depth_max: u8,
    pub end_empties: u8,
    pub games: u64,
    pub part_games: u64,
    pub game_samples: u8,
    pub random_plies: u8,
    pub exploration: f64,
    pub play_depth: u8,
    pub empties_min: u8,
    pub empties_max: u8,
    pub tree_share: f64,
    pub tree_depth_min: u8,
    pub tree_depth_max: u8,
    pub folds: u32,
    pub probes_max: u8,
    pub compare: u64,
    pub table_bits: u8,
}

/// The form of the fitted relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// The source's: slope 1, offset the mean difference, one sigma for all phases; from depth 3.
    Seed,
    /// Least-squares lines with quantiles for each range of empty squares, from the static value and from shallow depths
    /// chosen by what they save; from depth 1.
    Line,
}

impl FitMpcConfig {
    /// Checks every key against its range.
    ///
    /// # Errors
    ///
    /// The first key that is out of range.
    pub fn check(&self) -> Result<(), StageError> {
        self.level.level("fit_mpc.level")?;
        check_range("fit_mpc.t", self.t, 0.0, 10.0)?;
        check_range("fit_mpc.depth_max", self.depth_max, SHALLOW_FIRST, DEEP_MAX)?;
        check_range("fit_mpc.end_empties", self.end_empties, 0, END_RANGES[END_RANGES.len() - 1][1])?;
        if self.games == 0 {
            return Err(StageError::NoRows("fit_mpc.games = 0: at least one game is needed for positions".into()));
        }
        check_range("fit_mpc.games", self.games, 1, 10_000_000)?;
        check_parts(("fit_mpc.games", self.games), ("fit_mpc.part_games", self.part_games))?;
        check_range("fit_mpc.random_plies", self.random_plies, 0, 40)?;
        check_range("fit_mpc.exploration", self.exploration, 0.0, 1.0)?;
        check_range("fit_mpc.play_depth", self.play_depth, 1, 10)?;
        check_range("fit_mpc.empties_max", self.empties_max, self.depth_max, 56)?;
        check_range("fit_mpc.empties_min", self.empties_min, self.depth_max, self.empties_max)?;
        check_range("fit_mpc.game_samples", self.game_samples, 1, self.empties_max - self.empties_min + 1)?;
        check_range("fit_mpc.tree_share", self.tree_share, 0.0, 1.0)?;
        check_range("fit_mpc.tree_depth_max", self.tree_depth_max, 2, 20)?;
        check_range("fit_mpc.tree_depth_min", self.tree_depth_min, 2, self.tree_depth_max)?;
        check_range("fit_mpc.folds", self.folds, 2, 100)?;
        check_range("fit_mpc.probes_max", self.probes_max, 0, DEEP_MAX)?;
        check_range("fit_mpc.compare", self.compare, 1, self.games * u64::from(self.game_samples))?;
        check_range("fit_mpc.table_bits", self.table_bits, 8, 28)
    }

    /// The rows that the samples of a game can have: one for each depth, and one for the end of the game.
    pub(super) fn game_rows_max(&self) -> u64 {
        u64::from(self.game_samples) * (u64::from(self.depth_max) + 2)
    }
}

/// One call of the stage.
#[derive(Clone, Copy, Debug)]
pub struct FitMpcTask<'a> {
    /// The `[fit_mpc]` table.
    pub config: &'a FitMpcConfig,
    /// The run's seed.
    pub seed: u64,
    /// The generation the samples belong to, counted from 1.
    pub generation: u32,
    /// The model whose searches are measured.
    pub model: &'a LoadedModel,
    /// Where the new version goes.
    pub registry: &'a Registry,
    /// The dataset folder for the samples, if they are to be kept.
    pub output: Option<&'a Path>,
    /// The folder for pictures of the fit, if they are wanted.
    pub report: Option<&'a Path>,
}

/// What the stage did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FitMpcReport {
    /// Whether the version was there already.
    pub skipped: bool,
    /// The version's id.
    pub id: String,
    /// The hash of its content.
    pub content: ContentHash,
    /// Its figures.
    pub metrics: FitMpcMetrics,
}
