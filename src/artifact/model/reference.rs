//! Models as users name them: a folder, a version id, `champion` or a built-in.

use super::builtin::Builtin;
use super::champion::ChampionFile;
use super::document::{ModelDocument, ModelReference};
use super::name::{ModelName, VersionId};
use super::registry::Registry;
use super::version::Model;
use crate::artifact::error::ArtifactError;
use crate::artifact::hash::ContentHash;
use std::path::{Path, PathBuf};

/// A model with its name and its folder, if it has one.
#[derive(Clone, Debug)]
pub struct LoadedModel {
    /// The id in its document, or the name of the built-in. Never part of a path, for which there is `folder`.
    pub id: ModelName,
    /// The hash of its content.
    pub content: ContentHash,
    /// The model itself.
    pub model: Model,
    /// Its `model.json`; none for a built-in that was not trained.
    pub document: Option<ModelDocument>,
    /// Its folder; none for a built-in.
    pub folder: Option<PathBuf>,
}

impl LoadedModel {
    /// A built-in.
    #[must_use]
    pub fn builtin(builtin: Builtin) -> Self {
        let (model, document) = builtin.load();
        Self { id: ModelName::Builtin(builtin), content: model.content_hash(), model, document, folder: None }
    }

    /// The reference by which other files name this model.
    #[must_use]
    pub fn as_reference(&self) -> ModelReference {
        ModelReference { id: self.id, content: self.content }
    }

    /// Reads the folder of a version, or a copy of one under a name that is not a version id.
    ///
    /// # Errors
    ///
    /// A missing or damaged one, or one under the id of another version.
    pub fn read(folder: &Path) -> Result<Self, ArtifactError> {
        let (model, document) = Model::read(folder)?;
        Ok(Self {
            id: ModelName::Version(document.id),
            content: document.content,
            model,
            folder: Some(folder.to_owned()),
            document: Some(document),
        })
    }
}

impl Registry {
    /// The version that this step made, if there is one.
    ///
    /// # Errors
    ///
    /// A damaged version.
    pub fn made_by(&self, step: ContentHash) -> Result<Option<LoadedModel>, ArtifactError> {
        let document = self.documents()?.into_iter().find(|document| document.origin.step == step);
        document.map(|document| LoadedModel::read(&self.folder_of(document.id))).transpose()
    }
}

/// Loads a model by name, with `registry` for version ids and `champion`.
///
/// # Errors
///
/// An unknown name, or a missing or damaged model.
pub fn load_model(name: &str, registry: &Path) -> Result<LoadedModel, ArtifactError> {
    if let Some(builtin) = Builtin::named(name) {
        return Ok(LoadedModel::builtin(builtin));
    }
    if name.starts_with("builtin:") {
        return Err(ArtifactError::Conflict {
            path: name.into(),
            reason: format!("there is no such built-in model\nchoose one of {}", Builtin::names()),
        });
    }
    if name == "champion" {
        let champion = load_champion(registry)?;
        return champion.ok_or_else(|| ArtifactError::Missing { path: registry.join("champion.json") });
    }
    match name.parse::<VersionId>() {
        Ok(id) => LoadedModel::read(&Registry::new(registry).folder_of(id)),
        Err(_) => LoadedModel::read(Path::new(name)),
    }
}

/// The champion of a registry, if it has one.
///
/// # Errors
///
/// A damaged `champion.json` or champion.
pub fn load_champion(registry: &Path) -> Result<Option<LoadedModel>, ArtifactError> {
    let file = ChampionFile::read(registry)?;
    let Some(champion) = file.champion() else { return Ok(None) };
    let loaded = LoadedModel::read(&Registry::new(registry).folder_of(champion.id))?;
    if loaded.content != champion.content {
        let reason = format!("{} is not the model that was promoted", champion.id);
        return Err(ArtifactError::damaged(&registry.join("champion.json"), reason));
    }
    Ok(Some(loaded))
}
