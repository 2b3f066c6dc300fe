//! Inputs that a plan names by their content.

use crate::artifact::line::line;
use crate::artifact::model::reference::load_model;
use crate::artifact::{ArtifactError, ContentHash, LoadedModel, Manifest};
use crate::pipeline::StageError;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A model by its path or built-in name, relative to the folder that all shards run in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlannedModel {
    /// The folder or the built-in.
    #[serde(deserialize_with = "line")]
    pub name: String,
    /// The hash of its content.
    pub content: ContentHash,
}

/// A dataset by its folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlannedDataset {
    /// The folder.
    #[serde(deserialize_with = "line")]
    pub folder: PathBuf,
    /// The hash of its content.
    pub content: ContentHash,
}

impl PlannedModel {
    pub(super) fn new(model: &LoadedModel) -> Result<Self, StageError> {
        let name = match model.place.path() {
            Some(path) => text_of(path)?,
            None => model.id.to_string(),
        };
        Ok(Self { name, content: model.content })
    }

    /// Loads the model for the plan in the file `path`.
    pub(super) fn load(&self, path: &Path) -> Result<LoadedModel, ArtifactError> {
        let model = load_model(&self.name, Path::new(""));
        checked(model, path, ("model", &self.name, self.content), |model| model.content)
    }
}

impl PlannedDataset {
    /// The datasets in some folders.
    pub(super) fn all(folders: &[impl AsRef<Path>]) -> Result<Vec<Self>, StageError> {
        let new = |folder: &Path| {
            let content = Manifest::read_any(folder)?.content;
            Ok(Self { folder: text_of(folder)?.into(), content })
        };
        folders.iter().map(|folder| new(folder.as_ref())).collect()
    }

    /// Checks that the folder still has the dataset, for the plan in the file `path`.
    pub(super) fn check(&self, path: &Path) -> Result<(), ArtifactError> {
        let name = self.folder.to_string_lossy();
        let manifest = Manifest::read_any(&self.folder);
        checked(manifest, path, ("dataset", &name, self.content), |manifest| manifest.content).map(drop)
    }
}

/// An input that was read for the plan in the file `path`, if it is the one that the plan names: its kind, name and content.
fn checked<T>(
    read: Result<T, ArtifactError>,
    path: &Path,
    (kind, name, wanted): (&str, &str, ContentHash),
    content: impl FnOnce(&T) -> ContentHash,
) -> Result<T, ArtifactError> {
    let input = read.map_err(|error| match error {
        ArtifactError::Missing { .. } => {
            let reason = format!("its {kind} {name} ({}) does not exist", wanted.short());
            let remedy = "start it in the folder in which the plan was made, or make the plan again";
            ArtifactError::conflict(path, format!("{reason}\n{remedy}"))
        }
        error => error,
    })?;
    let found = content(&input);
    if found == wanted {
        return Ok(input);
    }
    let reason = format!("{name} has content {} now, the plan was made for {}", found.short(), wanted.short());
    Err(ArtifactError::unfit(path, format!("{reason}\nput that {kind} back, or make the plan again")))
}

/// A folder as a plan names it: a plan is JSON, and so are its names.
pub(super) fn text_of(folder: &Path) -> Result<String, StageError> {
    let text = folder.to_str().ok_or_else(|| {
        let reason = format!("cannot plan with {}: its name is not UTF-8, and a plan is text", folder.display());
        StageError::Setting(format!("{reason}\nchoose another name for the folder"))
    });
    text.map(str::to_owned)
}
