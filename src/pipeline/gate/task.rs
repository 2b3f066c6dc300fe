//! What a gate is asked to do, and what it reports.

use crate::artifact::dataset::verdict::VerdictFile;
use crate::artifact::model::reference::LoadedModel;
use crate::pipeline::search_settings::{LevelSetting, SelectiveConfig};
use crate::pipeline::{StageError, check_parts, check_range};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Rises when the same inputs would give other games or another verdict.
pub const ALGORITHM: u32 = 2;

/// How a match becomes a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GateMode {
    /// By a sequential test, which stops when it knows enough.
    Sprt,
    /// By the Elo interval after all games.
    Games,
}

/// The `[gate]` table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "configs/default.toml says what each key means")]
pub struct GateConfig {
    pub mode: GateMode,
    pub games: u64,
    pub batch_pairs: u64,
    pub nelo0: f64,
    pub nelo1: f64,
    pub alpha: f64,
    pub beta: f64,
    pub interval: f64,
    pub opening_plies: u8,
    pub balance_depth: u8,
    pub balance_discs: f64,
    pub depth: u8,
    pub nodes: u64,
    pub exact_empties: u8,
    pub mpc_level: LevelSetting,
    pub table_bits: u8,
    /// The table `[selective]` of the config; without it recipes are what they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selective: Option<SelectiveConfig>,
}

impl GateConfig {
    /// Checks every key against its range.
    ///
    /// # Errors
    ///
    /// The first key that is out of range.
    pub fn check(&self) -> Result<(), StageError> {
        if self.games == 0 {
            return Err(StageError::Setting("gate.games = 0: at least one pair of games is needed".into()));
        }
        if !self.games.is_multiple_of(2) {
            return Err(StageError::Setting(format!("gate.games = {}: games come in pairs", self.games)));
        }
        check_range("gate.games", self.games, 2, 10_000_000)?;
        check_parts(("gate.games / 2", self.games / 2), ("gate.batch_pairs", self.batch_pairs))?;
        check_range("gate.nelo0", self.nelo0, -500.0, 500.0)?;
        check_range("gate.nelo1", self.nelo1, -500.0, 500.0)?;
        if self.nelo1 < self.nelo0 + 0.1 {
            let reason = format!("at least 0.1 more than gate.nelo0 = {} expected", self.nelo0);
            return Err(StageError::Setting(format!("gate.nelo1 = {}: {reason}", self.nelo1)));
        }
        check_range("gate.alpha", self.alpha, 1e-6, 0.4)?;
        check_range("gate.beta", self.beta, 1e-6, 0.4)?;
        check_range("gate.interval", self.interval, 0.1, 10.0)?;
        check_range("gate.opening_plies", self.opening_plies, 4, 20)?;
        check_range("gate.balance_depth", self.balance_depth, 0, 30)?;
        check_range("gate.balance_discs", self.balance_discs, 0.0, 64.0)?;
        check_range("gate.depth", self.depth, 1, 30)?;
        check_range("gate.nodes", self.nodes, 0, 1 << 40)?;
        check_range("gate.exact_empties", self.exact_empties, 0, 30)?;
        check_range("gate.table_bits", self.table_bits, 8, 28)?;
        self.selective.as_ref().map_or(Ok(()), SelectiveConfig::check)?;
        self.mpc_level.level("gate.mpc_level").map(|_| ())
    }
}

/// One call of the stage.
#[derive(Clone, Copy, Debug)]
pub struct GateTask<'a> {
    /// The `[gate]` table.
    pub config: &'a GateConfig,
    /// The run's seed.
    pub seed: u64,
    /// The generation, counted from 1.
    pub generation: u32,
    /// The model that would be champion.
    pub candidate: &'a LoadedModel,
    /// The model that it plays.
    pub baseline: &'a LoadedModel,
    /// Datasets whose positions are no openings, in any order.
    pub avoid: &'a [PathBuf],
    /// The dataset folder of the games.
    pub output: &'a Path,
    /// Whether to play the games of a finished gate again and compare.
    pub recheck: bool,
}

/// What the stage did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GateReport {
    /// Whether the verdict was there already.
    pub skipped: bool,
    /// Games played by this call.
    pub games_played: u64,
    /// The verdict with the match.
    #[serde(flatten)]
    pub verdict: VerdictFile,
}
