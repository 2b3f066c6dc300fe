//! Models as users name them: a folder, an archive, a version id, `champion` or a built-in.

use super::archive::Archive;
use super::builtin::Builtin;
use super::champion::ChampionFile;
use super::document::{ModelDocument, ModelReference};
use super::name::{ModelName, VersionId};
use super::registry::Registry;
use super::version::{Model, read_document};
use crate::artifact::error::ArtifactError;
use crate::artifact::hash::ContentHash;
use crate::artifact::publish::{exists, is_folder};
use std::ffi::OsStr;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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

/// A model by what its document says: all that lineage needs, without its weights.
#[derive(Clone, Debug)]
pub struct KnownModel {
    /// The id in its document, or the name of the built-in. Never part of a path, for which there is `place`.
    pub id: ModelName,
    /// The hash of its content.
    pub content: ContentHash,
    /// The hash of its patterns, weights and vectors.
    pub weights: ContentHash,
    /// Its `model.json`; none for a built-in that was not trained.
    pub document: Option<Arc<ModelDocument>>,
    /// Where it is.
    pub place: ModelPlace,
}

/// A model that was read and checked.
#[derive(Clone, Debug)]
pub struct LoadedModel {
    /// What it is.
    pub known: KnownModel,
    /// The model itself.
    pub model: Model,
}

impl Deref for LoadedModel {
    type Target = KnownModel;

    fn deref(&self) -> &KnownModel {
        &self.known
    }
}

impl AsRef<KnownModel> for LoadedModel {
    fn as_ref(&self) -> &KnownModel {
        &self.known
    }
}

impl AsRef<Self> for KnownModel {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl KnownModel {
    fn of(document: Arc<ModelDocument>, id: ModelName, place: ModelPlace) -> Self {
        Self { id, content: document.content, weights: document.weights, document: Some(document), place }
    }

    /// The version in a folder, or a copy of one under a name that is not a version id.
    ///
    /// # Errors
    ///
    /// A missing or damaged `model.json`, or one under the id of another version.
    pub fn read(folder: &Path) -> Result<Self, ArtifactError> {
        let document = read_document(folder)?;
        Ok(Self::of_version(document.into(), folder.to_owned()))
    }

    /// The version with this document in this folder.
    pub fn of_version(document: Arc<ModelDocument>, folder: PathBuf) -> Self {
        let id = ModelName::Version(document.id);
        Self::of(document, id, ModelPlace::Folder(folder))
    }

    /// A built-in.
    pub fn builtin(builtin: Builtin) -> Self {
        let (id, place) = (ModelName::Builtin(builtin), ModelPlace::Builtin(builtin));
        match builtin.document() {
            Some(document) => Self::of(document.into(), id, place),
            None => {
                let model = builtin.model();
                Self { id, content: model.content_hash(), weights: model.weights_hash(), document: None, place }
            }
        }
    }

    /// Reads and checks the model itself.
    ///
    /// # Errors
    ///
    /// A model that is damaged, or is another one than its document said.
    pub fn load(self) -> Result<LoadedModel, ArtifactError> {
        let loaded = match &self.place {
            ModelPlace::Builtin(builtin) => LoadedModel::builtin(*builtin),
            ModelPlace::Folder(folder) => LoadedModel::read(folder)?,
            ModelPlace::Archive(path) => LoadedModel::read_archive(path)?,
        };
        if loaded.content != self.content {
            return Err(ArtifactError::damaged(&self.place_name(), "it changed while it was read"));
        }
        Ok(loaded)
    }

    /// The reference by which other files name this model.
    pub fn as_reference(&self) -> ModelReference {
        ModelReference { id: self.id, content: self.content }
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

impl LoadedModel {
    /// A built-in.
    pub fn builtin(builtin: Builtin) -> Self {
        Self { known: KnownModel::builtin(builtin), model: builtin.model() }
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

    fn read_archive(path: &Path) -> Result<Self, ArtifactError> {
        Self::of(Archive::read(path)?, ModelPlace::Archive(path.to_owned()), path)
    }

    fn of(archive: Archive, place: ModelPlace, path: &Path) -> Result<Self, ArtifactError> {
        let model = archive.model(path)?;
        let id = ModelName::Version(archive.document.id);
        Ok(Self { known: KnownModel::of(archive.document.into(), id, place), model })
    }
}

/// Loads a model by name: see [`find_model`].
///
/// # Errors
///
/// An unknown name, or a missing or damaged model.
pub fn load_model(name: &str, registry: &Path) -> Result<LoadedModel, ArtifactError> {
    find_model(name, registry)?.load()
}

/// Finds a model by name: a built-in; a version id or `champion` of the registry; `RUN:champion` or `RUN:v0007` of the registry
/// RUN beside it; or a path of a version, of a `.renma` file, of a registry, which stands for its champion, or of that with
/// `/champion` behind it.
///
/// # Errors
///
/// An unknown name, or a missing or damaged model.
pub fn find_model(name: &str, registry: &Path) -> Result<KnownModel, ArtifactError> {
    if let Some(builtin) = Builtin::named(name) {
        return Ok(KnownModel::builtin(builtin));
    }
    if name.starts_with("builtin:") {
        let reason = format!("unknown built-in model\nchoose one of {}", Builtin::names());
        return Err(ArtifactError::refused("use", Path::new(name), reason));
    }
    if let Some(found) = find_in(registry, name) {
        return found;
    }
    let path = Path::new(name);
    if !exists(path)? {
        let other = name.split_once(':').filter(|(run, _)| Path::new(run).file_name() == Some(OsStr::new(run)));
        if let Some(found) = other.and_then(|(run, name)| find_in(&registry.with_file_name(run), name)) {
            return found;
        }
        if let (Some(parent), Some("champion")) = (path.parent(), path.file_name().and_then(OsStr::to_str)) {
            return champion_of(parent);
        }
    } else if !is_folder(path)? {
        let document = Archive::read(path)?.document;
        let id = ModelName::Version(document.id);
        return Ok(KnownModel::of(document.into(), id, ModelPlace::Archive(path.to_owned())));
    } else if !exists(&path.join("model.json"))? && exists(&path.join("champion.json"))? {
        return champion_of(path);
    }
    KnownModel::read(path)
}

/// A model of a registry, if this is the form of its name.
fn find_in(registry: &Path, name: &str) -> Option<Result<KnownModel, ArtifactError>> {
    if name == "champion" {
        return Some(champion_of(registry));
    }
    let id: VersionId = name.parse().ok()?;
    Some(KnownModel::read(&Registry::new(registry).folder_of(id)))
}

fn champion_of(registry: &Path) -> Result<KnownModel, ArtifactError> {
    let champion = find_champion(registry)?;
    champion.ok_or_else(|| ArtifactError::Missing { path: registry.join("champion.json") })
}

/// The champion of a registry, if it has one.
///
/// # Errors
///
/// A damaged `champion.json`, or a champion whose document is missing or damaged.
pub fn find_champion(registry: &Path) -> Result<Option<KnownModel>, ArtifactError> {
    let file = ChampionFile::read(registry)?;
    let Some(champion) = file.champion() else { return Ok(None) };
    let known = KnownModel::read(&Registry::new(registry).folder_of(champion.id))?;
    if known.content != champion.content {
        let reason = format!("{} is not the model that was promoted", champion.id);
        return Err(ArtifactError::damaged(&registry.join("champion.json"), reason));
    }
    Ok(Some(known))
}

/// The champion of a registry, if it has one.
///
/// # Errors
///
/// A damaged `champion.json` or champion.
pub fn load_champion(registry: &Path) -> Result<Option<LoadedModel>, ArtifactError> {
    find_champion(registry)?.map(KnownModel::load).transpose()
}
