//! What self-play is asked to do, and what it reports.

use super::book::Book;
use crate::artifact::model::reference::LoadedModel;
use crate::pipeline::search_settings::{LevelSetting, SelectiveConfig};
use crate::pipeline::{StageError, check_parts, check_range};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Rises when the same config would give other games.
pub const ALGORITHM: u32 = 2;

/// With more plies there are too many openings to take in turn.
pub(super) const ALL_PLIES_MAX: u8 = 7;

/// The table of each thread's search has 2^16 entries of 16 bytes: all shipped configs but the smallest had it, and it stays in
/// a core's second cache.
pub(super) const TABLE_BITS: u8 = 16;

/// Moves are explored while more squares than this are empty. It is the source's number: fewer are left to exact search.
pub(super) const EXPLORATION_EMPTIES: u8 = 14;

/// How games begin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "openings", rename_all = "kebab-case", deny_unknown_fields)]
#[expect(missing_docs, reason = "configs/default.toml says what each key means")]
pub enum OpeningChoice {
    /// Random plies, as many as a number drawn for the game.
    Random { random_plies_min: u8, random_plies_max: u8 },
    /// The positions that can be after some plies, one up to symmetry, in turn.
    All { random_plies_min: u8 },
    /// The lines of a book in turn, then random plies.
    Book { book: String, random_plies_min: u8, random_plies_max: u8 },
}

/// The `[generate]` table.
///
/// The keys of the openings stand in the same table; unknown keys are an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "configs/default.toml says what each key means")]
pub struct GenerateConfig {
    pub games: u64,
    pub part_games: u64,
    #[serde(flatten)]
    pub openings: OpeningChoice,
    pub exploration: f64,
    pub exploration_discs: f64,
    pub play_depth: u8,
    pub label_depth: u8,
    pub exact_empties: u8,
    pub mpc_level: LevelSetting,
    pub label_from_ply: u8,
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
        self.openings.check()?;
        check_range("generate.exploration_discs", self.exploration_discs, 0.0, 64.0)?;
        check_range("generate.exploration", self.exploration, 0.0, 1.0)?;
        check_range("generate.play_depth", self.play_depth, 0, 30)?;
        check_range("generate.label_depth", self.label_depth, 0, 30)?;
        check_range("generate.exact_empties", self.exact_empties, 0, 30)?;
        check_range("generate.label_from_ply", self.label_from_ply, 0, 60)?;
        self.selective.as_ref().map_or(Ok(()), SelectiveConfig::check)?;
        self.mpc_level.level("generate.mpc_level").map(|_| ())
    }

    /// The number of parts that the games fill.
    #[must_use]
    pub const fn part_count(&self) -> usize {
        self.games.div_ceil(self.part_games) as usize
    }
}

impl OpeningChoice {
    fn check(&self) -> Result<(), StageError> {
        match self {
            Self::All { random_plies_min } => {
                check_range("generate.random_plies_min", *random_plies_min, 0, ALL_PLIES_MAX)
            }
            Self::Book { book, .. } if book.is_empty() => {
                let reason = "generate.book = \"\": generate.openings = \"book\" needs a file of openings";
                Err(StageError::Setting(reason.into()))
            }
            Self::Random { random_plies_min, random_plies_max }
            | Self::Book { random_plies_min, random_plies_max, .. } => {
                check_range("generate.random_plies_max", *random_plies_max, 0, 60)?;
                check_range("generate.random_plies_min", *random_plies_min, 0, *random_plies_max)
            }
        }
    }

    /// The path of the book, if the games take their openings from one.
    #[must_use]
    pub fn book(&self) -> Option<&str> {
        if let Self::Book { book, .. } = self { Some(book) } else { None }
    }

    /// The same openings with their book, if there is one, named so.
    #[must_use]
    pub fn with_book(mut self, name: String) -> Self {
        if let Self::Book { book, .. } = &mut self {
            *book = name;
        }
        self
    }
}

/// One call of the stage.
#[derive(Clone, Copy, Debug)]
pub struct GenerateTask<'a> {
    /// The `[generate]` table.
    pub config: &'a GenerateConfig,
    /// The book that the openings name.
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
