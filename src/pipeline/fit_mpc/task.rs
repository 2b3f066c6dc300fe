//! What fitting MPC statistics is asked to do, and what it reports.

use super::metrics::FitMpcMetrics;
use crate::artifact::{DatasetKind, LoadedModel, Registry};
use crate::engine::MpcLevel;
use crate::generation::Generation;
use crate::pipeline::StageError;
use crate::pipeline::keys::{Checked, ConfigTable, Key, KeyFault, PART_ITEMS, Takes, check_parts};
use crate::pipeline::level::{self, LEVEL};
use crate::pipeline::request::{Models, Request, Role};
use crate::pipeline::stage::Facts;
use crate::pipeline::version::VersionReport;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Goes up when the same inputs would give another table.
pub const ALGORITHM: u32 = 7;

/// What is known of the stage.
pub const FACTS: Facts = Facts {
    name: "fit-mpc",
    config_table: FitMpcConfig::NAME,
    algorithm: ALGORITHM,
    unit: "games",
    dataset: Some((DatasetKind::Mpc, "mpc")),
    registry_lock: Some(".fit-mpc.lock"),
};

/// The shallow depths of the source for deep depths 3 to 16.
pub(super) const SHALLOW_DEPTHS: [u8; 14] = [1, 2, 1, 2, 3, 4, 3, 4, 5, 6, 5, 6, 5, 6];

/// The first depth of [`SHALLOW_DEPTHS`].
pub(super) const SHALLOW_FIRST: u8 = 3;

/// The last depth with statistics: that of [`SHALLOW_DEPTHS`].
pub(super) const DEEP_MAX: u8 = SHALLOW_FIRST + SHALLOW_DEPTHS.len() as u8 - 1;

/// The source's margin, in sigmas.
const SOURCE_T: f64 = 1.4;

/// Random plies at the start of the games that samples are from, the source's 8 and two more:
/// hardly two games share a position.
pub(in crate::pipeline) const RANDOM_PLIES: u8 = 10;

/// The search that plays those games. Their quality matters little, for what is measured is the
/// search of what they reach.
pub(in crate::pipeline) const PLAY_DEPTH: u8 = 1;

/// Games are held out in this many turns to count misses, the usual number of folds.
pub(in crate::pipeline) const FOLDS: u32 = 5;

/// The most positions that are searched with and without the table. The table does not depend on
/// them, except by the costs of searches, of which only ratios count.
const COMPARED_MAX: u64 = 100;

/// One sample in four at most is searched so: in a small fit the comparison is not to take longer
/// than the samples.
const COMPARED_PART: u64 = 4;

/// Which positions a method measures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// Samples per game, one in each of equal ranges of empty squares.
    pub game_samples: u8,
    /// A game's share of random moves after its random plies is drawn from 0 to this.
    pub exploration: f64,
    /// The fewest and the most empty squares of a sample.
    pub empties: [u8; 2],
    /// The share of samples that a search met below the position of the game, in a null window.
    pub tree_share: f64,
    /// The least and the greatest remaining depth at which it met them; every depth between is
    /// equally likely.
    pub tree_depths: [u8; 2],
    /// Samples with at most this many empty squares are also solved.
    pub end_empties: u8,
    /// Each search has a table of 2^n entries.
    pub table_bits: u8,
}

impl Sampling {
    /// The fewest and the most empty squares of the position of a game that is the sample of this
    /// place among those of the game: equal ranges, descending.
    pub(super) fn empties_of(&self, place: u8) -> [u8; 2] {
        let [min, max] = self.empties;
        let (width, count) = (u32::from(max - min) + 1, u32::from(self.game_samples));
        let index = count - 1 - u32::from(place);
        let [begin, end] = [index, index + 1].map(|index| index * width / count);
        [begin, end.max(begin + 1) - 1].map(|offset| min + offset as u8)
    }
}

/// The `[fit_mpc]` table.
///
/// The keys of the method stand in the same table; unknown keys are an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "configs/default.toml says what each key means")]
pub struct FitMpcConfig {
    #[serde(flatten)]
    pub method: Method,
    pub depth_max: u8,
    pub games: u64,
    pub part_games: u64,
}

/// The form of the fitted relation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "kebab-case", deny_unknown_fields)]
#[expect(missing_docs, reason = "configs/default.toml says what each key means")]
pub enum Method {
    /// The source's: slope 1, offset the mean difference, one sigma for all phases; from depth 3.
    Source { t: f64 },
    /// Least-squares lines with quantiles for each range of empty squares, from the static value
    /// and from shallow depths chosen by what they save; from depth 1.
    Line {
        #[serde(with = "level")]
        level: MpcLevel,
    },
}

impl ConfigTable for FitMpcConfig {
    const NAME: &'static str = "fit_mpc";

    const KEYS: &'static [Key] = &[
        Key::new("method", Takes::Words(&["source", "line"])),
        Key::new("t", Takes::Number(0.0, 10.0))
            .unit("standard deviations")
            .only("method", &["source"]),
        Key::new("level", LEVEL).only("method", &["line"]),
        Key::new(
            "depth_max",
            Takes::Whole(SHALLOW_FIRST as i64, DEEP_MAX as i64),
        )
        .unit("plies"),
        Key::new("games", Takes::Whole(1, 10_000_000)).unit("games"),
        Key::new("part_games", PART_ITEMS).unit("games"),
    ];

    fn check(&self) -> Result<(), KeyFault> {
        check_parts(Self::NAME, self.games, self.part_games)
    }
}

impl FitMpcConfig {
    /// How sure the searches are for which the statistics are fitted.
    pub(super) const fn level(&self) -> MpcLevel {
        match self.method {
            Method::Source { t } => MpcLevel::Sigmas(t),
            Method::Line { level } => level,
        }
    }

    /// The margin in sigmas that the statistics are compared at, besides percentages.
    pub(super) const fn margin(&self) -> f64 {
        if let Method::Source { t } = self.method {
            t
        } else {
            SOURCE_T
        }
    }

    /// Which positions are measured.
    ///
    /// A sample has at least as many empty squares as the deepest search has plies. Those of `line`
    /// cover what searches meet: games of any quality, and nodes of trees at a remaining depth
    /// below the deepest statistics. The deeper the statistics, the earlier the end of the game is
    /// solved: from 12 empty squares on, where cuts to the end begin, to 18, where solving still
    /// takes a moment. All shipped configs had these numbers. Samples of `source` are positions of
    /// games alone.
    pub fn sampling(&self) -> Sampling {
        let depth_max = self.depth_max;
        match self.method {
            Method::Line { .. } => Sampling {
                game_samples: 4,
                exploration: 0.5,
                empties: [depth_max.max(12), 54],
                tree_share: 0.75,
                tree_depths: [3, 6].map(|depth: u8| depth.min(depth_max.saturating_sub(1))),
                end_empties: depth_max.saturating_mul(2).saturating_sub(2).clamp(12, 18),
                table_bits: 18,
            },
            Method::Source { .. } => Sampling {
                game_samples: 1,
                exploration: 0.0,
                empties: [depth_max.max(14), 50],
                tree_share: 0.0,
                tree_depths: [3, 6],
                end_empties: 0,
                table_bits: 16,
            },
        }
    }

    /// How many positions are searched with and without the table.
    pub(in crate::pipeline) fn compared(&self) -> u64 {
        let samples = self
            .games
            .saturating_mul(u64::from(self.sampling().game_samples));
        (samples / COMPARED_PART).clamp(1, COMPARED_MAX)
    }
}

/// One call of the stage.
#[derive(Clone, Debug)]
pub struct FitMpcTask<M = LoadedModel> {
    /// The `[fit_mpc]` table.
    pub config: Checked<FitMpcConfig>,
    /// The run's seed.
    pub seed: u64,
    /// The generation the samples belong to, counted from 1.
    pub generation: Generation,
    /// The model whose searches are measured.
    pub model: M,
    /// Where the new version goes.
    pub registry: Registry,
    /// The dataset folder for the samples, if they are to be kept.
    pub output: Option<PathBuf>,
}

impl<M: Clone> FitMpcTask<M> {
    /// The task of a request.
    ///
    /// # Errors
    ///
    /// A bad setting, or no model.
    pub fn new(request: &Request, models: &Models<M>) -> Result<Self, StageError> {
        Ok(Self {
            config: request.table()?,
            seed: request.seed,
            generation: request.generation,
            model: models.get(Role::Model)?,
            registry: Registry::new(&request.registry),
            output: request.output.clone(),
        })
    }
}

/// What the stage did.
pub type FitMpcReport = VersionReport<FitMpcMetrics>;
