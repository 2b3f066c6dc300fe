//! A plan: one self-play dataset cut into shards, with everything that decides its bytes.

use crate::artifact::error::ArtifactError;
use crate::artifact::hash::ContentHash;
use crate::artifact::model::reference::{LoadedModel, load_model};
use crate::artifact::output::FileKind;
use crate::artifact::seal::{read_sealed, seal};
use crate::pipeline::StageError;
use crate::pipeline::generate::openings::Book;
use crate::pipeline::generate::{GenerateConfig, GenerateTask};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The version of a plan's fields.
const FORMAT: u32 = 1;

/// A sealed plan, of this format or another.
pub const PLAN_FILE: FileKind = FileKind {
    name: "a plan",
    matches: |path| match read_sealed::<serde_json::Value>(path) {
        Ok(plan) => Ok(plan.get("stage").is_some() && plan.get("shards").is_some()),
        Err(ArtifactError::Damaged { .. }) => Ok(false),
        Err(error) => Err(error),
    },
};

/// The content of a plan's file. Its paths are relative to the folder that all shards run in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The version of these fields.
    pub format: u32,
    /// The stage that is cut: `generate`.
    pub stage: String,
    /// The `[generate]` table.
    pub config: GenerateConfig,
    /// The lines of its book, if it has one.
    pub book: Vec<String>,
    /// The run's seed.
    pub seed: u64,
    /// The generation, counted from 1.
    pub generation: u32,
    /// Who plays: a folder or a built-in.
    pub model: String,
    /// The hash of that model's content.
    pub model_content: ContentHash,
    /// The dataset folder.
    pub output: PathBuf,
    /// The parts of each shard: the first, and the one after the last.
    pub shards: Vec<Range<usize>>,
}

/// A plan with what it names.
#[derive(Debug)]
pub struct LoadedPlan {
    plan: Plan,
    model: LoadedModel,
    book: Option<Book>,
}

impl Plan {
    /// Cuts a stage into `shard_count` shards of whole parts, as equal as can be, none empty.
    ///
    /// # Errors
    ///
    /// A bad setting, or a folder with a name that a plan cannot hold.
    pub fn new(task: GenerateTask<'_>, shard_count: usize) -> Result<Self, StageError> {
        task.config.check()?;
        let output = PathBuf::from(text_of(task.output)?);
        let parts = task.config.part_count();
        let count = shard_count.clamp(1, parts);
        let edge = |shard: usize| (parts as u128 * shard as u128 / count as u128) as usize;
        Ok(Self {
            format: FORMAT,
            stage: "generate".to_owned(),
            config: task.config.clone(),
            book: task.book.map_or_else(Vec::new, Book::lines),
            seed: task.seed,
            generation: task.generation,
            model: match &task.model.folder {
                Some(folder) => text_of(folder)?.to_owned(),
                None => task.model.id.to_string(),
            },
            model_content: task.model.content,
            output,
            shards: (0..count).map(|shard| edge(shard)..edge(shard + 1)).collect(),
        })
    }

    /// The text of the plan's file.
    #[must_use]
    pub fn text(&self) -> String {
        seal(self)
    }

    /// Whether a file holds this very plan.
    #[must_use]
    pub fn is_in(&self, path: &Path) -> bool {
        // What cannot be read is not this plan; writing it says what is wrong with the path.
        read_sealed::<Self>(path).is_ok_and(|plan| plan == *self)
    }
}

/// A folder as a plan names it: a plan is JSON, and so are its names.
fn text_of(folder: &Path) -> Result<&str, StageError> {
    folder.to_str().ok_or_else(|| {
        let reason = format!("cannot plan with {}: its name is not UTF-8, and a plan is text", folder.display());
        StageError::Setting(format!("{reason}\nchoose another name for the folder"))
    })
}

impl LoadedPlan {
    /// Reads a plan, the model it names and its book.
    ///
    /// # Errors
    ///
    /// A missing or damaged plan, or a model that is not the one it was made for.
    pub fn read(path: &Path) -> Result<Self, ArtifactError> {
        let plan: Plan = read_sealed(path)?;
        if plan.format != FORMAT || plan.stage != "generate" {
            let reason = format!("it is a plan of `{}` in format {}, not one of `generate`", plan.stage, plan.format);
            return Err(ArtifactError::unfit(path, reason));
        }
        let unfit = |reason: String| ArtifactError::unfit(path, reason);
        plan.config.check().map_err(|error| unfit(error.to_string()))?;
        if plan.shards.iter().any(|parts| plan.config.part_count() < parts.end) {
            return Err(unfit("its shards reach beyond its games".into()));
        }
        let book = if plan.book.is_empty() { None } else { Some(Book::new(&plan.book).map_err(unfit)?) };
        let model = load_model(&plan.model, Path::new(""))?;
        if model.content != plan.model_content {
            let (found, wanted) = (model.content.short(), plan.model_content.short());
            return Err(unfit(format!("{} is model {found} now, the plan was made for {wanted}", plan.model)));
        }
        Ok(Self { plan, model, book })
    }

    /// The stage that the plan cuts.
    #[must_use]
    pub fn task(&self) -> GenerateTask<'_> {
        GenerateTask {
            config: &self.plan.config,
            book: self.book.as_ref(),
            seed: self.plan.seed,
            generation: self.plan.generation,
            model: &self.model,
            output: &self.plan.output,
        }
    }

    /// The parts of a shard, if the plan has it.
    #[must_use]
    pub fn shard(&self, number: usize) -> Option<Range<usize>> {
        self.plan.shards.get(number).cloned()
    }

    /// The number of shards.
    #[must_use]
    pub fn shard_count(&self) -> usize {
        self.plan.shards.len()
    }
}
