//! What a gate is asked to do, and what it reports.

use crate::artifact::dataset::bounds::PARTS_MAX;
use crate::artifact::dataset::verdict::VerdictFile;
use crate::artifact::model::reference::LoadedModel;
use crate::pipeline::search_settings::{LevelSetting, SelectiveConfig};
use crate::pipeline::{StageError, check_range};
use crate::statistics::elo::INTERVAL;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Rises when the same inputs would give other games or another verdict.
pub const ALGORITHM: u32 = 2;

/// The pairs of a batch, which is one part: what a stopped gate loses at most, and how often a sequential test looks.
///
/// In 10,000 simulated gates between 0 and 50 normalized Elo that look after every 8 pairs, 3.8 % of the equal candidates are
/// accepted, after 149 pairs on average. A decided test plays 4 pairs too many, and a gate of 4,000 games has at most 250 files.
pub const BATCH_PAIRS: u64 = 8;

/// The risk that a sequential test accepts a candidate of `nelo0`, and the risk that it rejects one of `nelo1`.
///
/// The usual 5 %: one promotion in twenty of an equal candidate costs less than the games that a smaller risk takes.
pub(in crate::pipeline) const RISK: f64 = 0.05;

/// What a verdict rests on besides the config. Gates of earlier versions could choose these numbers, and recorded them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constants {
    /// The risk of accepting a candidate of `nelo0`.
    pub alpha: f64,
    /// The risk of rejecting one of `nelo1`.
    pub beta: f64,
    /// Standard errors each way of the Elo interval.
    pub interval: f64,
}

impl Constants {
    /// Those of this version.
    pub const TODAY: Self = Self { alpha: RISK, beta: RISK, interval: INTERVAL };
}

/// A sequential test takes an opening if the baseline's search to this depth ...
pub(in crate::pipeline) const BALANCE_DEPTH: u8 = 4;

/// ... scores it within this many discs, for on a lopsided opening the same color wins both games. `mode = "games"` takes every
/// opening, as the matches did that measured the shipped model.
pub(in crate::pipeline) const BALANCE_DISCS: f64 = 5.0;

/// The table of each search has 2^16 entries, 1 MiB for each player and thread. With 2^18 a gate of 400 games to depth 4,
/// exact from 14 empty squares, was the same game for game.
pub(in crate::pipeline) const TABLE_BITS: u8 = 16;

/// The most games: a part holds [`BATCH_PAIRS`] pairs.
const GAMES_MAX: u64 = 2 * BATCH_PAIRS * PARTS_MAX;

/// How a match becomes a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "lowercase", deny_unknown_fields)]
#[expect(missing_docs, reason = "configs/default.toml says what each key means")]
pub enum GateMode {
    /// By a sequential test, which stops when it knows enough.
    Sprt { nelo0: f64, nelo1: f64 },
    /// By the Elo interval after all games.
    Games {},
}

/// The `[gate]` table.
///
/// The keys of the mode stand in the same table; unknown keys are an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "configs/default.toml says what each key means")]
pub struct GateConfig {
    #[serde(flatten)]
    pub mode: GateMode,
    pub games: u64,
    pub opening_plies: u8,
    pub depth: u8,
    pub nodes: u64,
    pub exact_empties: u8,
    pub mpc_level: LevelSetting,
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
        check_range("gate.games", self.games, 2, GAMES_MAX)?;
        if let GateMode::Sprt { nelo0, nelo1 } = self.mode {
            check_range("gate.nelo0", nelo0, -500.0, 500.0)?;
            check_range("gate.nelo1", nelo1, -500.0, 500.0)?;
            if nelo1 < nelo0 + 0.1 {
                let reason = format!("at least 0.1 more than gate.nelo0 = {nelo0} expected");
                return Err(StageError::Setting(format!("gate.nelo1 = {nelo1}: {reason}")));
            }
        }
        check_range("gate.opening_plies", self.opening_plies, 4, 20)?;
        check_range("gate.depth", self.depth, 1, 30)?;
        check_range("gate.nodes", self.nodes, 0, 1 << 40)?;
        check_range("gate.exact_empties", self.exact_empties, 0, 30)?;
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
    pub remake: bool,
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
