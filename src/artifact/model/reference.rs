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
use crate::artifact::line::is_line;
use crate::artifact::publish::{exists, is_folder};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::str::FromStr;
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
    /// The id in its document, or the name of the built-in. Never part of a path, for which there
    /// is `place`.
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
    /// The model itself; copies share it.
    pub model: Arc<Model>,
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
        Self {
            id,
            content: document.content,
            weights: document.weights,
            document: Some(document),
            place,
        }
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
                Self {
                    id,
                    content: model.content_hash(),
                    weights: model.weights_hash(),
                    document: None,
                    place,
                }
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
            ModelPlace::Folder(folder) => {
                LoadedModel::of(Archive::of_folder(folder)?, self.place.clone(), folder)?
            }
            ModelPlace::Archive(path) => LoadedModel::read_archive(path)?,
        };
        if loaded.content != self.content {
            return Err(ArtifactError::damaged(
                &self.place_name(),
                "it changed while it was read",
            ));
        }
        Ok(loaded)
    }

    /// The reference under which this model is found again: as a version if it is one of this
    /// registry.
    pub fn reference_in(&self, registry: &Path) -> ModelRef {
        match (&self.place, self.id) {
            (ModelPlace::Builtin(builtin), _) => ModelRef::Builtin(*builtin),
            (ModelPlace::Folder(folder), ModelName::Version(id))
                if *folder == Registry::new(registry).folder_of(id) =>
            {
                ModelRef::Version(id)
            }
            (ModelPlace::Folder(path) | ModelPlace::Archive(path), _) => {
                ModelRef::Path(path.clone())
            }
        }
    }

    /// The reference by which other files name this model.
    pub fn as_reference(&self) -> ModelReference {
        ModelReference {
            id: self.id,
            content: self.content,
        }
    }

    /// All its files.
    ///
    /// # Errors
    ///
    /// A built-in that was not trained, or a file that has gone or changed since the model was
    /// read.
    pub fn archive(&self) -> Result<Archive, ArtifactError> {
        match &self.place {
            ModelPlace::Builtin(builtin) => builtin.archive(),
            ModelPlace::Folder(folder) => Archive::of_folder(folder),
            ModelPlace::Archive(path) => Archive::read(path),
        }
    }

    /// Its path, or else its name, for messages.
    pub fn place_name(&self) -> PathBuf {
        self.place
            .path()
            .map_or_else(|| self.id.to_string().into(), Path::to_owned)
    }
}

impl LoadedModel {
    /// A built-in.
    pub fn builtin(builtin: Builtin) -> Self {
        Self {
            known: KnownModel::builtin(builtin),
            model: builtin.model().into(),
        }
    }

    /// Reads the folder of a version, or a copy of one under a name that is not a version id.
    ///
    /// # Errors
    ///
    /// A missing or damaged one, or one under the id of another version.
    pub fn read(folder: &Path) -> Result<Self, ArtifactError> {
        read_document(folder)?;
        Self::of(
            Archive::of_folder(folder)?,
            ModelPlace::Folder(folder.to_owned()),
            folder,
        )
    }

    fn read_archive(path: &Path) -> Result<Self, ArtifactError> {
        Self::of(
            Archive::read(path)?,
            ModelPlace::Archive(path.to_owned()),
            path,
        )
    }

    fn of(archive: Archive, place: ModelPlace, path: &Path) -> Result<Self, ArtifactError> {
        let model = archive.model(path)?;
        let id = ModelName::Version(archive.document.id);
        Ok(Self {
            known: KnownModel::of(archive.document.into(), id, place),
            model: model.into(),
        })
    }
}

/// A model as commands, configs and plans name it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum ModelRef {
    /// It is part of the program.
    Builtin(Builtin),
    /// The champion of the registry.
    Champion,
    /// A version of the registry.
    Version(VersionId),
    /// The folder of a version, a `.renma` file, a registry, which stands for its champion, or that
    /// with `/champion` behind it. If nothing is there, `RUN:champion` and `RUN:v0007` are those of
    /// the registry RUN beside the one in use.
    Path(PathBuf),
}

impl ModelRef {
    /// The model, if it is there: its document is read, its weights are not.
    ///
    /// # Errors
    ///
    /// A missing or damaged model.
    pub fn find(&self, registry: &Path) -> Result<KnownModel, ArtifactError> {
        match self {
            Self::Builtin(builtin) => Ok(KnownModel::builtin(*builtin)),
            Self::Champion => champion_of(registry),
            Self::Version(id) => KnownModel::read(&Registry::new(registry).folder_of(*id)),
            Self::Path(path) => find_at(path, registry),
        }
    }

    /// The model of a run, whose champion is `start` before its first promotion.
    ///
    /// # Errors
    ///
    /// A missing or damaged model.
    pub fn find_of_run(&self, registry: &Path, start: &Self) -> Result<KnownModel, ArtifactError> {
        match self {
            Self::Champion => find_champion(registry)?.map_or_else(|| start.find(registry), Ok),
            Self::Builtin(_) | Self::Version(_) | Self::Path(_) => self.find(registry),
        }
    }

    /// The model itself.
    ///
    /// # Errors
    ///
    /// A missing or damaged model.
    pub fn load(&self, registry: &Path) -> Result<LoadedModel, ArtifactError> {
        self.find(registry)?.load()
    }
}

impl FromStr for ModelRef {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(builtin) = Builtin::named(text) {
            return Ok(Self::Builtin(builtin));
        }
        if text.starts_with("builtin:") {
            return Err(format!(
                "{text} is not a built-in model: choose one of {}",
                Builtin::names()
            ));
        }
        if text == "champion" {
            return Ok(Self::Champion);
        }
        if !is_line(text) {
            return Err("a model is named by one line".to_owned());
        }
        Ok(text
            .parse()
            .map_or_else(|_| Self::Path(text.into()), Self::Version))
    }
}

impl TryFrom<String> for ModelRef {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<ModelRef> for String {
    fn from(reference: ModelRef) -> Self {
        reference.to_string()
    }
}

impl fmt::Display for ModelRef {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Builtin(builtin) => formatter.write_str(builtin.name()),
            Self::Champion => formatter.write_str("champion"),
            Self::Version(id) => id.fmt(formatter),
            Self::Path(path) => path.display().fmt(formatter),
        }
    }
}

/// The model at a path.
fn find_at(path: &Path, registry: &Path) -> Result<KnownModel, ArtifactError> {
    if !exists(path)? {
        if let Some(found) = find_beside(path, registry) {
            return found;
        }
        if let (Some(parent), Some("champion")) =
            (path.parent(), path.file_name().and_then(OsStr::to_str))
        {
            return champion_of(parent);
        }
    } else if !is_folder(path)? {
        let document = Archive::read(path)?.document;
        let id = ModelName::Version(document.id);
        return Ok(KnownModel::of(
            document.into(),
            id,
            ModelPlace::Archive(path.to_owned()),
        ));
    } else if !exists(&path.join("model.json"))? && exists(&path.join("champion.json"))? {
        return champion_of(path);
    }
    KnownModel::read(path)
}

/// The model `RUN:champion` or `RUN:v0007` of the registry RUN beside this one, if a path has that
/// form.
fn find_beside(path: &Path, registry: &Path) -> Option<Result<KnownModel, ArtifactError>> {
    let (run, name) = path.to_str()?.split_once(':')?;
    if Path::new(run).file_name() != Some(OsStr::new(run)) {
        return None;
    }
    match name.parse().ok()? {
        ModelRef::Path(_) | ModelRef::Builtin(_) => None,
        reference => Some(reference.find(&registry.with_file_name(run))),
    }
}

fn champion_of(registry: &Path) -> Result<KnownModel, ArtifactError> {
    let champion = find_champion(registry)?;
    champion.ok_or_else(|| ArtifactError::Missing {
        path: registry.join("champion.json"),
    })
}

/// The champion of a registry, if it has one.
///
/// # Errors
///
/// A damaged `champion.json`, or a champion whose document is missing or damaged.
pub fn find_champion(registry: &Path) -> Result<Option<KnownModel>, ArtifactError> {
    let file = ChampionFile::read(registry)?;
    let Some(champion) = file.champion() else {
        return Ok(None);
    };
    let known = KnownModel::read(&Registry::new(registry).folder_of(champion.id))?;
    if known.content != champion.content {
        let reason = format!("{} is not the model that was promoted", champion.id);
        return Err(ArtifactError::damaged(
            &registry.join("champion.json"),
            reason,
        ));
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
