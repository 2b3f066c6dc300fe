//! Models as users name them: a folder, an archive, a version id, `champion` or a built-in.

use super::archive::Archive;
use super::builtin::Builtin;
use super::champion::ChampionFile;
use super::document::{ModelDocument, ModelReference};
use super::name::ModelName;
use super::registry::Registry;
use super::version::{Model, read_document};
use crate::artifact::error::ArtifactError;
use crate::artifact::hash::ContentHash;
use crate::artifact::publish::{exists, is_folder};
use std::path::{Path, PathBuf};

/// Where a model was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelPlace {
    /// It is part of the program.
    Builtin(Builtin),
    /// The folder of a version, or of a copy.
    Folder(PathBuf),
    /// One file.
    Archive(PathBuf),
}

impl ModelPlace {
    /// The folder, if it is one.
    pub fn folder(&self) -> Option<&Path> {
        match self {
            Self::Folder(path) => Some(path),
            Self::Builtin(_) | Self::Archive(_) => None,
        }
    }

    /// The folder or the file, if there is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Folder(path) | Self::Archive(path) => Some(path),
            Self::Builtin(_) => None,
        }
    }
}

/// A model with its name and its place.
#[derive(Clone, Debug)]
pub struct LoadedModel {
    /// The id in its document, or the name of the built-in. Never part of a path, for which there is `place`.
    pub id: ModelName,
    /// The hash of its content.
    pub content: ContentHash,
    /// The model itself.
    pub model: Model,
    /// Its `model.json`; none for a built-in that was not trained.
    pub document: Option<ModelDocument>,
    /// Where it was read from.
    pub place: ModelPlace,
}

impl LoadedModel {
    /// A built-in.
    pub fn builtin(builtin: Builtin) -> Self {
        let (model, document) = builtin.load();
        // Reading a document has compared the hash.
        let content = document.as_ref().map_or_else(|| model.content_hash(), |document| document.content);
        Self { id: ModelName::Builtin(builtin), content, model, document, place: ModelPlace::Builtin(builtin) }
    }

    /// The reference by which other files name this model.
    pub fn as_reference(&self) -> ModelReference {
        ModelReference { id: self.id, content: self.content }
    }

    /// Reads the folder of a version, or a copy of one under a name that is not a version id.
    ///
    /// # Errors
    ///
    /// A missing or damaged one, or one under the id of another version.
    pub fn read(folder: &Path) -> Result<Self, ArtifactError> {
        read_document(folder)?;
        Self::of(Archive::of_folder(folder)?, ModelPlace::Folder(folder.to_owned()), folder)
    }

    fn of(archive: Archive, place: ModelPlace, path: &Path) -> Result<Self, ArtifactError> {
        let (id, content) = (ModelName::Version(archive.document.id), archive.document.content);
        Ok(Self { id, content, model: archive.model(path)?, document: Some(archive.document), place })
    }

    /// All its files.
    ///
    /// # Errors
    ///
    /// A built-in that was not trained, or a file that has gone or changed since the model was read.
    pub fn archive(&self) -> Result<Archive, ArtifactError> {
        match &self.place {
            ModelPlace::Builtin(builtin) => builtin.archive(),
            ModelPlace::Folder(folder) => Archive::of_folder(folder),
            ModelPlace::Archive(path) => Archive::read(path),
        }
    }

    /// Its path, or else its name, for messages.
    pub fn place_name(&self) -> PathBuf {
        self.place.path().map_or_else(|| self.id.to_string().into(), Path::to_owned)
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
        let reason = format!("unknown built-in model\nchoose one of {}", Builtin::names());
        return Err(ArtifactError::refused("use", Path::new(name), reason));
    }
    if name == "champion" {
        let champion = load_champion(registry)?;
        return champion.ok_or_else(|| ArtifactError::Missing { path: registry.join("champion.json") });
    }
    if let Ok(id) = name.parse() {
        return LoadedModel::read(&Registry::new(registry).folder_of(id));
    }
    let path = Path::new(name);
    if exists(path)? && !is_folder(path)? {
        return LoadedModel::of(Archive::read(path)?, ModelPlace::Archive(path.to_owned()), path);
    }
    LoadedModel::read(path)
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
