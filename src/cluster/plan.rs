//! A plan: one self-play dataset cut into shards, with everything that decides its bytes.

use crate::artifact::error::ArtifactError;
use crate::artifact::format::{FormatVersion, format_of};
use crate::artifact::hash::ContentHash;
use crate::artifact::model::reference::{LoadedModel, load_model};
use crate::artifact::output::FileKind;
use crate::artifact::seal::{read_sealed, seal};
use crate::pipeline::StageError;
use crate::pipeline::generate::book::Book;
use crate::pipeline::generate::recipe::recipe;
use crate::pipeline::generate::task::{ALGORITHM, GenerateConfig, GenerateTask};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The format version of a plan.
pub type PlanFormat = FormatVersion<2, 2>;

/// The stage that is cut into shards.
const STAGE: &str = "generate";

/// A sealed plan, of this format or another.
pub const PLAN_FILE: FileKind = FileKind {
    name: "a plan",
    matches: |path| match read_sealed::<Value>(path) {
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
    pub format: PlanFormat,
    /// The stage that is cut: `generate`.
    pub stage: String,
    /// The version of the stage's algorithm.
    pub algorithm: u32,
    /// The hash of everything that determines the games, except their number.
    pub recipe: ContentHash,
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
            format: PlanFormat::CURRENT,
            stage: STAGE.to_owned(),
            algorithm: ALGORITHM,
            recipe: recipe(&task).hash,
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

    /// Checks everything that can be checked without the model, as if a person had typed it.
    fn check(&self) -> Result<(), String> {
        self.config.check().map_err(|error| error.to_string())?;
        if self.generation == 0 {
            return Err("generation is 0: generations are counted from 1".into());
        }
        if self.config.openings.book().is_some() == self.book.is_empty() {
            return Err("its book is not the one that its config asks for".into());
        }
        let mut next = 0;
        for (number, parts) in self.shards.iter().enumerate() {
            if parts.start != next || parts.end <= parts.start {
                let (start, end) = (parts.start, parts.end);
                return Err(format!("shard {number} has the parts from {start} to before {end}, not from {next} on"));
            }
            next = parts.end;
        }
        if next != self.config.part_count() {
            return Err(format!("its shards make {next} parts, and its games need {}", self.config.part_count()));
        }
        Ok(())
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
    /// A missing or damaged plan, one of another version, one that cannot be, or a model that is not the one it was made for.
    pub fn read(path: &Path) -> Result<Self, ArtifactError> {
        let value: Value = read_sealed(path)?;
        check_versions(path, &value)?;
        let plan: Plan =
            serde_json::from_value(value).map_err(|error| ArtifactError::damaged(path, error.to_string()))?;
        let unfit = |reason: String| ArtifactError::unfit(path, reason);
        plan.check().map_err(unfit)?;
        let book = if plan.book.is_empty() { None } else { Some(Book::new(&plan.book).map_err(unfit)?) };
        let model = load_model(&plan.model, Path::new("")).map_err(|error| match error {
            ArtifactError::Missing { .. } => model_is_gone(path, &plan),
            error => error,
        })?;
        if model.content != plan.model_content {
            let (found, wanted) = (model.content.short(), plan.model_content.short());
            let reason = format!("{} is model {found} now, the plan was made for {wanted}", plan.model);
            return Err(unfit(format!("{reason}\nput that model back, or make the plan again")));
        }
        let loaded = Self { plan, model, book };
        let (recipe, listed) = (recipe(&loaded.task()).hash, loaded.plan.recipe);
        if recipe != listed {
            let reason = format!("its recipe is {}, and its settings make {}", listed.short(), recipe.short());
            return Err(unfit(reason));
        }
        Ok(loaded)
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

/// Versions are checked before anything else, whose form they decide.
fn check_versions(path: &Path, plan: &Value) -> Result<(), ArtifactError> {
    let remedy = "make it again with renma shard plan";
    let text = |key: &str| plan.get(key).map_or("nothing".to_owned(), Value::to_string);
    format_of::<PlanFormat>(plan).map_err(|reason| ArtifactError::unfit(path, format!("{reason}\n{remedy}")))?;
    if plan.get("stage").and_then(Value::as_str) != Some(STAGE) {
        return Err(ArtifactError::unfit(path, format!("it is a plan of {}, not one of `{STAGE}`", text("stage"))));
    }
    if plan.get("algorithm").and_then(Value::as_u64) != Some(ALGORITHM.into()) {
        let reason = format!("it is for algorithm {} of {STAGE}, this renma has {ALGORITHM}", text("algorithm"));
        return Err(ArtifactError::unfit(path, format!("{reason}\n{remedy}, or use the renma that made it")));
    }
    Ok(())
}

fn model_is_gone(path: &Path, plan: &Plan) -> ArtifactError {
    let reason = format!("its model {} ({}) does not exist", plan.model, plan.model_content.short());
    let remedy = "start it in the folder in which the plan was made, or make the plan again";
    ArtifactError::Conflict { path: path.to_owned(), reason: format!("{reason}\n{remedy}") }
}
