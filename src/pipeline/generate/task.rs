//! What self-play is asked to do, and what it reports.

use super::book::Book;
use crate::artifact::dataset::games::GAMES;
use crate::artifact::dataset::positions::POSITIONS;
use crate::artifact::model::reference::LoadedModel;
use crate::artifact::table::Table;
use crate::pipeline::search_settings::{LevelSetting, SelectiveConfig};
use crate::pipeline::{StageError, check_parts, check_range};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Rises when the same config would give other games.
pub const ALGORITHM: u32 = 1;

/// With more plies there are too many openings to take in turn.
pub(super) const ALL_PLIES_MAX: u8 = 7;

/// What a dataset of self-play consists of.
pub(super) const TABLES: [&Table; 2] = [&GAMES, &POSITIONS];

/// How games begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OpeningChoice {
    /// Random plies, as many as a number drawn for the game.
    Random,
    /// The positions that can be after so many plies, one up to symmetry, in turn.
    All,
    /// The lines of a book in turn, then random plies.
    Book,
}

/// The `[generate]` table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "configs/default.toml says what each key means")]
pub struct GenerateConfig {
    pub games: u64,
    pub part_games: u64,
    pub openings: OpeningChoice,
    pub book: String,
    pub random_plies_min: u8,
    pub random_plies_max: u8,
    pub exploration: f64,
    pub exploration_empties: u8,
    pub exploration_discs: f64,
    pub play_depth: u8,
    pub label_depth: u8,
    pub exact_empties: u8,
    pub mpc_level: LevelSetting,
    pub label_from_ply: u8,
    pub table_bits: u8,
    /// The table `[selective]` of the config; without it recipes are what they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selective: Option<SelectiveConfig>,
}

impl GenerateConfig {
    /// Checks every key against its range.
    ///
    /// # Errors
    ///
    /// The first key that is out of range.
    pub fn check(&self) -> Result<(), StageError> {
        if self.games == 0 {
            return Err(StageError::Setting("generate.games = 0: at least one game is needed".into()));
        }
        check_range("generate.games", self.games, 1, 1 << 40)?;
        check_parts(("generate.games", self.games), ("generate.part_games", self.part_games))?;
        match (self.openings == OpeningChoice::Book, self.book.is_empty()) {
            (true, true) => {
                let reason = "generate.book = \"\": generate.openings = \"book\" needs a file of openings";
                return Err(StageError::Setting(reason.into()));
            }
            (false, false) => {
                let reason = format!("generate.book = \"{}\": only generate.openings = \"book\" reads one", self.book);
                return Err(StageError::Setting(reason));
            }
            _ => {}
        }
        check_range("generate.random_plies_max", self.random_plies_max, 0, 60)?;
        let plies_max = if self.openings == OpeningChoice::All { ALL_PLIES_MAX } else { self.random_plies_max };
        check_range("generate.random_plies_min", self.random_plies_min, 0, plies_max)?;
        check_range("generate.exploration_discs", self.exploration_discs, 0.0, 64.0)?;
        check_range("generate.exploration", self.exploration, 0.0, 1.0)?;
        check_range("generate.exploration_empties", self.exploration_empties, 0, 60)?;
        check_range("generate.play_depth", self.play_depth, 0, 30)?;
        check_range("generate.label_depth", self.label_depth, 0, 30)?;
        check_range("generate.exact_empties", self.exact_empties, 0, 30)?;
        check_range("generate.label_from_ply", self.label_from_ply, 0, 60)?;
        check_range("generate.table_bits", self.table_bits, 8, 28)?;
        self.selective.as_ref().map_or(Ok(()), SelectiveConfig::check)?;
        self.mpc_level.level("generate.mpc_level").map(|_| ())
    }

    /// The number of parts that the games fill.
    #[must_use]
    pub const fn part_count(&self) -> usize {
        self.games.div_ceil(self.part_games) as usize
    }
}

/// One call of the stage.
#[derive(Clone, Copy, Debug)]
pub struct GenerateTask<'a> {
    /// The `[generate]` table.
    pub config: &'a GenerateConfig,
    /// What `generate.book` names.
    pub book: Option<&'a Book>,
    /// The run's seed.
    pub seed: u64,
    /// The generation, counted from 1.
    pub generation: u32,
    /// Who plays.
    pub model: &'a LoadedModel,
    /// The dataset folder.
    pub output: &'a Path,
}

/// What the stage did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GenerateReport {
    /// Whether there was nothing left to do.
    pub skipped: bool,
    /// Games in the dataset.
    pub games: u64,
    /// Games played by this call.
    pub games_played: u64,
    /// Rows of the positions table.
    pub positions: u64,
    /// Rows written by this call.
    pub positions_written: u64,
    /// Positions that the searches of this call visited.
    pub nodes: u64,
    /// Bytes of both tables.
    pub bytes: u64,
    /// The hash of all values.
    pub content: crate::artifact::hash::ContentHash,
}

/// What one shard did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GeneratePartsReport {
    /// Whether there was nothing left to do.
    pub skipped: bool,
    /// Games played by this call.
    pub games_played: u64,
    /// Rows written by this call.
    pub positions_written: u64,
    /// Positions that the searches of this call visited.
    pub nodes: u64,
}

/// What the last step did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FinishReport {
    /// The dataset.
    #[serde(flatten)]
    pub dataset: GenerateReport,
    /// Games played again; none if the dataset was finished before.
    pub games_remade: u64,
    /// The seed that chose them.
    pub sample_seed: u64,
}
