//! Self-play in a plan.

use super::inputs::PlannedModel;
use super::text_of;
use crate::artifact::{ArtifactError, ContentHash, LoadedModel};
use crate::pipeline::StageError;
use crate::pipeline::generate::book::Book;
use crate::pipeline::generate::recipe::recipe;
use crate::pipeline::generate::task::{GenerateConfig, GenerateTask};
use crate::pipeline::keys::Checked;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A self-play dataset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GeneratePlan {
    /// The hash of everything that determines the games, except their number.
    pub recipe: ContentHash,
    /// The `[generate]` table.
    pub config: Checked<GenerateConfig>,
    /// The lines of its book, if it has one.
    pub book: Vec<String>,
    /// The run's seed.
    pub seed: u64,
    /// The generation, counted from 1.
    pub generation: u32,
    /// Who plays.
    pub model: PlannedModel,
    /// The dataset folder.
    pub output: PathBuf,
}

/// The player with its book.
#[derive(Debug)]
pub(in crate::cluster) struct GenerateInputs {
    model: LoadedModel,
    book: Option<Book>,
}

impl GeneratePlan {
    /// The plan of a task.
    ///
    /// # Errors
    ///
    /// A bad setting, or a folder with a name that a plan cannot hold.
    pub fn new(task: GenerateTask<'_>) -> Result<Self, StageError> {
        Ok(Self {
            recipe: recipe(&task).hash,
            config: task.config.clone(),
            book: task.book.map_or_else(Vec::new, Book::lines),
            seed: task.seed,
            generation: task.generation,
            model: PlannedModel::new(task.model)?,
            output: text_of(task.output)?.into(),
        })
    }

    pub(super) fn load(&self, path: &Path) -> Result<GenerateInputs, ArtifactError> {
        let unfit = |reason| ArtifactError::unfit(path, reason);
        let book = if self.book.is_empty() { None } else { Some(Book::new(&self.book).map_err(unfit)?) };
        Ok(GenerateInputs { model: self.model.load(path)?, book })
    }

    pub(super) fn task<'a>(&'a self, inputs: &'a GenerateInputs) -> GenerateTask<'a> {
        GenerateTask {
            config: &self.config,
            book: inputs.book.as_ref(),
            seed: self.seed,
            generation: self.generation,
            model: &inputs.model,
            output: &self.output,
        }
    }
}
