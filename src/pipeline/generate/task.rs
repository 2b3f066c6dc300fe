//! What self-play is asked to do, and what it reports.

use crate::artifact::{DatasetKind, LoadedModel};
use crate::engine::MpcLevel;
use crate::generation::Generation;
use crate::pipeline::StageError;
use crate::pipeline::book::Book;
use crate::pipeline::keys::{Checked, ConfigTable, Key, KeyFault, PART_ITEMS, Takes, check_parts};
use crate::pipeline::level::{self, LEVEL};
use crate::pipeline::request::{Models, Request, Role};
use crate::pipeline::selective::SelectiveConfig;
use crate::pipeline::stage::Facts;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Rises when the same config would give other games. Recipes have it, and training chooses the
/// held-out games by them.
pub const ALGORITHM: u32 = 3;

/// What is known of the stage.
pub const FACTS: Facts = Facts {
    name: "generate",
    config_table: GenerateConfig::NAME,
    algorithm: ALGORITHM,
    unit: "games",
    dataset: Some((DatasetKind::Selfplay, "selfplay")),
    registry_lock: None,
};

/// The table of each thread's search has 2^16 entries of 16 bytes: all shipped configs but the
/// smallest had it, and it stays in a core's second cache.
pub(super) const TABLE_BITS: u8 = 16;

/// Moves are explored while more squares than this are empty. It is the source's number: fewer are
/// left to exact search.
pub(super) const EXPLORATION_EMPTIES: u8 = 14;

/// More plies than any game has: of 60 moves, each is followed by one pass at most.
const PLIES_MAX: i64 = 128;

/// How games begin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "openings", rename_all = "kebab-case", deny_unknown_fields)]
#[expect(missing_docs, reason = "configs/default.toml says what each key means")]
pub enum OpeningChoice {
    /// By random plies.
    Random {},
    /// By the openings of a book in turn, then random plies.
    Book { book: String },
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
    pub random_plies_min: u8,
    pub random_plies_max: u8,
    pub exploration: f64,
    pub play_depth: u8,
    pub label_depth: u8,
    pub exact_empties: u8,
    #[serde(with = "level")]
    pub mpc_level: MpcLevel,
    pub label_from_ply: u8,
    /// The table `[selective]` of the config; without it recipes are what they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selective: Option<Checked<SelectiveConfig>>,
}

impl ConfigTable for GenerateConfig {
    const NAME: &'static str = "generate";

    const KEYS: &'static [Key] = &[
        Key::new("games", Takes::Whole(1, 1 << 40)).unit("games"),
        Key::new("part_games", PART_ITEMS).unit("games"),
        Key::new("openings", Takes::Words(&["random", "book"])),
        Key::new("book", Takes::Text).only("openings", &["book"]),
        Key::new("random_plies_min", Takes::Whole(0, PLIES_MAX)).unit("plies"),
        Key::new("random_plies_max", Takes::Whole(0, PLIES_MAX)).unit("plies"),
        Key::new("exploration", Takes::Number(0.0, 1.0)),
        Key::new("play_depth", Takes::Whole(0, 30)).unit("plies"),
        Key::new("label_depth", Takes::Whole(0, 30)).unit("plies"),
        Key::new("exact_empties", Takes::Whole(0, 30)).unit("empty squares"),
        Key::new("mpc_level", LEVEL),
        Key::new("label_from_ply", Takes::Whole(0, PLIES_MAX)),
    ];

    fn check(&self) -> Result<(), KeyFault> {
        check_parts(Self::NAME, self.games, self.part_games)?;
        if self.openings.book().is_some_and(str::is_empty) {
            return Err(KeyFault::new(
                "generate.book",
                "\"\"",
                "expected a file of openings",
            ));
        }
        let (min, max) = (self.random_plies_min, self.random_plies_max);
        if max < min {
            return Err(KeyFault::new(
                "generate.random_plies_min",
                min,
                format!("expected 0 to {max}"),
            ));
        }
        Ok(())
    }
}

impl OpeningChoice {
    /// The path of the book, if the games take their openings from one.
    pub fn book(&self) -> Option<&str> {
        if let Self::Book { book } = self {
            Some(book)
        } else {
            None
        }
    }
}

/// One call of the stage.
///
/// Its recipe needs only a model that is known, its games one that is loaded.
#[derive(Clone, Debug)]
pub struct GenerateTask<M = LoadedModel> {
    /// The `[generate]` table.
    pub config: Checked<GenerateConfig>,
    /// The book that the openings name.
    pub book: Option<Book>,
    /// The run's seed.
    pub seed: u64,
    /// The generation, counted from 1.
    pub generation: Generation,
    /// Who plays.
    pub model: M,
    /// The dataset folder.
    pub output: PathBuf,
}

impl<M: Clone> GenerateTask<M> {
    /// The task of a request.
    ///
    /// # Errors
    ///
    /// A bad setting, a book that is not the one of the config, or no model or output.
    pub fn new(request: &Request, models: &Models<M>) -> Result<Self, StageError> {
        let config: Checked<GenerateConfig> = request.table()?;
        if config.openings.book().is_some() != request.book.is_some() {
            return Err(StageError::Setting(
                "its book is not the one that its config asks for".to_owned(),
            ));
        }
        Ok(Self {
            config,
            book: request.book.clone(),
            seed: request.seed,
            generation: request.generation,
            model: models.get(Role::Model)?,
            output: request.needed_output()?,
        })
    }
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
