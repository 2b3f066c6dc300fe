//! Self-play in a plan.

use super::inputs::PlannedModel;
use super::text_of;
use crate::artifact::ArtifactError;
use crate::cluster::plan::Plan;
use crate::pipeline::StageError;
use crate::pipeline::generate::book::Book;
use crate::pipeline::generate::task::{GenerateConfig, GenerateTask};
use crate::pipeline::keys::Checked;
use crate::pipeline::stage_task::StageTask;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A self-play dataset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::cluster) struct GeneratePlan {
    pub(super) config: Checked<GenerateConfig>,
    /// The lines of its book, if it has one.
    pub(super) book: Vec<String>,
    /// Who plays.
    model: PlannedModel,
    /// The dataset folder.
    output: PathBuf,
}

impl GeneratePlan {
    pub(super) fn new(task: GenerateTask<'_>) -> Result<Self, StageError> {
        Ok(Self {
            config: task.config.clone(),
            book: task.book.map_or_else(Vec::new, Book::lines),
            model: PlannedModel::new(task.model)?,
            output: text_of(task.output)?.into(),
        })
    }

    pub(super) fn with_task<T>(
        &self,
        &Plan { seed, generation, .. }: &Plan,
        path: &Path,
        act: impl FnOnce(StageTask<'_>) -> T,
    ) -> Result<T, ArtifactError> {
        let (config, output, model) = (&self.config, &self.output, &self.model.load(path)?);
        let unfit = |reason| ArtifactError::unfit(path, reason);
        let book = if self.book.is_empty() { None } else { Some(Book::new(&self.book).map_err(unfit)?) };
        let book = book.as_ref();
        Ok(act(StageTask::Generate(GenerateTask { config, book, seed, generation, model, output })))
    }
}
