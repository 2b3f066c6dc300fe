//! What everyone else asks of any stage. Each folder answers for its own task, in `work.rs`.

use super::parts::Shards;
use super::{Context, StageError};
use crate::artifact::dataset::folder::{part_indices, recipe_of_parts};
use crate::artifact::{
    ArtifactError, ContentHash, KnownModel, Manifest, PartRange, Step, Table, VerdictFile, Versions,
};
use crate::exit_code;
use crate::generation::Generation;
use serde::Serialize;
use serde_json::Value;
use std::any::Any;
use std::fmt::Debug;
use std::path::Path;

/// A task whose models are known: what it is, and how much of it is done.
pub trait Asked {
    /// The hash of everything that determines its parts, except their number.
    ///
    /// # Errors
    ///
    /// A missing or damaged dataset.
    fn recipe(&self) -> Result<ContentHash, StageError>;

    /// The step that it is.
    ///
    /// # Errors
    ///
    /// A missing or damaged dataset.
    fn step(&self) -> Result<Step, StageError>;

    /// What there is of it.
    ///
    /// # Errors
    ///
    /// A damaged result.
    fn product(&self, step: &Step, records: Records<'_>) -> Result<Product, StageError>;

    /// The dataset that it writes, if it writes one.
    fn dataset(&self) -> Option<AskedDataset<'_>>;

    /// How much work each of the pieces is that shards divide: round after round, the pieces of a
    /// round in any order.
    fn rounds(&self) -> Vec<Vec<u64>> {
        let dataset = self.dataset();
        vec![dataset.map_or_else(Vec::new, |dataset| {
            PartRange::all(dataset.items, dataset.part_items)
                .iter()
                .map(|range| range.count)
                .collect()
        })]
    }

    /// Why it cannot be cut into shards, if it cannot.
    fn undivided(&self) -> Option<String> {
        None
    }
}

/// A task with its models.
pub trait Work: Asked + Send + Sync {
    /// Its parts, which any number of processes make.
    ///
    /// # Errors
    ///
    /// A bad setting, or a task that cannot be cut.
    fn shards(&self) -> Result<Box<dyn Shards + '_>, StageError>;

    /// How large its shards are to be.
    ///
    /// # Errors
    ///
    /// Those of the work on which it is timed.
    fn shard_size(&self, context: Context<'_>) -> Result<ShardSize, StageError>;

    /// Makes all of it on this machine, as far as it is not made yet.
    ///
    /// # Errors
    ///
    /// Those of the stage; what was finished is kept.
    fn make(&self, context: Context<'_>) -> Result<Box<dyn Report>, StageError>;
}

/// What a run has read of its results.
#[derive(Clone, Copy, Debug)]
pub struct Records<'a> {
    /// The versions of its registry.
    pub versions: &'a Versions,
    /// The verdict of the generation, if its match is finished.
    pub verdict: Option<&'a VerdictFile>,
}

/// A dataset as a task asks for it.
#[derive(Clone, Copy, Debug)]
pub struct AskedDataset<'a> {
    /// Where it is.
    pub folder: &'a Path,
    /// Its games, samples or pairs of games.
    pub items: u64,
    /// Those of a part.
    pub part_items: u64,
}

impl AskedDataset<'_> {
    /// The number of its parts.
    pub const fn parts(&self) -> u64 {
        self.items.div_ceil(self.part_items)
    }
}

/// How large the shards of a stage are to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ShardSize {
    /// There are to be about this many, however large.
    Count(usize),
    /// A unit of work takes one core this many seconds; there are to be at least `least` shards.
    Seconds {
        /// Seconds of a unit.
        unit: f64,
        /// The number of shards below which they do not divide the work evenly among a few workers.
        least: usize,
    },
}

/// Fewer shards do not divide the games of a dataset evenly among a few workers.
const DATASET_SHARDS_MIN: usize = 32;

/// For how long games are timed.
const TRIAL_SECONDS: f64 = 2.0;

impl ShardSize {
    /// Of games that take as long as the first ones. `make` makes games until it is told that it is
    /// enough, and returns their number.
    pub(super) fn timed(
        make: impl FnOnce(&dyn Fn() -> bool) -> Result<u64, StageError>,
        context: Context<'_>,
    ) -> Result<Self, StageError> {
        let began = context.host.seconds();
        let games = make(&|| TRIAL_SECONDS <= context.host.seconds() - began)?;
        let unit = (context.host.seconds() - began) / games.max(1) as f64;
        Ok(Self::Seconds {
            unit,
            least: DATASET_SHARDS_MIN,
        })
    }
}

/// What a stage reports of its work.
pub trait Report: Any + Debug {
    /// Whether all of it was made before.
    fn is_skipped(&self) -> bool;

    /// The version that it made, if it makes versions.
    fn version(&self) -> Option<&str> {
        None
    }

    /// Its verdict, if it gives one.
    fn verdict(&self) -> Option<&VerdictFile> {
        None
    }

    /// All of it, for machines.
    fn json(&self) -> Value;
}

impl dyn Report {
    /// What it decided, as an exit code.
    pub fn exit_code(&self) -> u8 {
        self.verdict()
            .map_or(exit_code::DONE, |file| file.verdict.exit_code())
    }
}

/// The state of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskState {
    /// Its result exists, made from the current inputs.
    Done,
    /// It is running.
    Running,
    /// Its result exists, made from other inputs.
    Stale,
    /// Its result does not exist.
    Missing,
}

impl TaskState {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Running => "running",
            Self::Stale => "stale",
            Self::Missing => "missing",
        }
    }
}

/// How much of a task is done: parts of games or samples, epochs of phases, or batches of pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PartCount {
    /// Those that are done.
    pub done: u64,
    /// Those that the task needs; of a match, at most.
    pub asked: u64,
}

/// What is in the folder of a task's dataset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DatasetState {
    /// Nothing, or the stage makes none.
    #[default]
    Nothing,
    /// What was asked for, or a part of it.
    Asked,
    /// Something that was made from other inputs, or more than was asked for.
    Other,
    /// Something of which nobody can tell before the stages before it are done.
    Unknown,
}

/// What there is of a task.
#[derive(Clone, Debug)]
pub struct Product {
    /// Whether its result exists.
    pub state: TaskState,
    /// Why it is not the one that was asked for.
    pub because: Option<String>,
    /// How much of it is done, if it has begun and is not finished.
    pub parts: Option<PartCount>,
    /// What is in the folder of its dataset.
    pub dataset: DatasetState,
    /// The content of that dataset, if it is finished.
    pub content: Option<ContentHash>,
    /// The version that it made.
    pub version: Option<KnownModel>,
}

impl DatasetState {
    /// That of a folder with a recipe, if it has one, of which this one is asked for.
    pub(super) fn of(found: Option<ContentHash>, asked: ContentHash, is_more: bool) -> Self {
        match found {
            None => Self::Nothing,
            Some(found) if found == asked && !is_more => Self::Asked,
            Some(_) => Self::Other,
        }
    }
}

impl Product {
    /// A result that exists or not, and if it does, perhaps is not the one that was asked for.
    pub(super) fn new(is_made: bool, because: Option<String>) -> Self {
        let state = match (&because, is_made) {
            (Some(_), _) => TaskState::Stale,
            (None, true) => TaskState::Done,
            (None, false) => TaskState::Missing,
        };
        Self {
            state,
            because,
            parts: None,
            dataset: DatasetState::Nothing,
            content: None,
            version: None,
        }
    }

    /// That of a stage that makes a version: the one that the step made, else the newest of the
    /// same stage and generation differs.
    pub(super) fn of_version(
        stage: &str,
        generation: Generation,
        step: &Step,
        versions: &Versions,
    ) -> Self {
        let version = versions.made_by(step.id);
        let latest = versions
            .latest(stage, generation)
            .filter(|_| version.is_none());
        let because = latest.map(|latest| {
            let mut settings = latest.origin.settings();
            // For MPC statistics with the weights they were fitted to.
            settings.extend(
                latest
                    .mpc_weights
                    .map(|weights| ("weights".to_owned(), weights.to_string())),
            );
            step.difference(&settings)
        });
        Self {
            version: version.clone(),
            ..Self::new(version.is_some(), because)
        }
    }

    /// The same, with the number of parts of a dataset that is begun and not finished.
    pub(super) fn with_parts(
        self,
        dataset: Option<AskedDataset<'_>>,
        table: &Table,
    ) -> Result<Self, ArtifactError> {
        let Some(dataset) = dataset else {
            return Ok(self);
        };
        let parts = part_indices(dataset.folder, table)?.into_iter();
        let done = parts
            .filter(|&part| (part as u64) < dataset.parts())
            .count() as u64;
        let parts = (0 < done).then(|| PartCount {
            done,
            asked: dataset.parts(),
        });
        Ok(Self { parts, ..self })
    }
}

/// The recipe of a dataset folder with this manifest, or without one, of its first part.
pub(super) fn found_recipe(
    folder: &Path,
    manifest: Option<&Manifest>,
) -> Result<Option<ContentHash>, ArtifactError> {
    manifest.map_or_else(
        || recipe_of_parts(folder),
        |manifest| Ok(Some(manifest.recipe)),
    )
}
