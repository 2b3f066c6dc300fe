//! A registry: a folder of numbered, immutable versions.

use super::collected::CollectedFile;
use super::document::{ModelDocument, Origin};
use super::reference::{LoadedModel, is_version_id};
use super::version::{Model, read_document};
use crate::artifact::error::ArtifactError;
use crate::artifact::hash::ContentHash;
use crate::artifact::publish::temporary::sweep;
use crate::artifact::publish::{Draft, exists};
use std::fs;
use std::path::{Path, PathBuf};

/// A folder of versions.
#[derive(Clone, Debug)]
pub struct Registry {
    folder: PathBuf,
}

impl Registry {
    /// The registry in this folder, which need not exist yet.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// Where it is.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The ids of all versions, oldest first.
    ///
    /// # Errors
    ///
    /// Whatever the system refuses; a registry that is not there yet is empty.
    pub fn ids(&self) -> Result<Vec<String>, ArtifactError> {
        let failed = |source| ArtifactError::io("read", &self.folder, source);
        if !exists(&self.folder)? {
            return Ok(Vec::new());
        }
        let mut ids = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            ids.extend(name.to_str().filter(|name| is_version_id(name)).map(str::to_owned));
        }
        ids.sort_by_key(|id| version_number(id));
        Ok(ids)
    }

    /// The `model.json` of every version, oldest first.
    ///
    /// # Errors
    ///
    /// A damaged one.
    pub fn documents(&self) -> Result<Vec<ModelDocument>, ArtifactError> {
        self.ids()?.iter().map(|id| read_document(&self.folder.join(id))).collect()
    }

    /// The version that this step made, if it has been done.
    ///
    /// # Errors
    ///
    /// A damaged version.
    pub fn made_by(&self, step: ContentHash) -> Result<Option<LoadedModel>, ArtifactError> {
        let document = self.documents()?.into_iter().find(|document| document.origin.step == step);
        document.map(|document| LoadedModel::read(&self.folder.join(document.id))).transpose()
    }

    /// The highest number that a version has or had, 0 before the first: numbers are not given twice.
    ///
    /// # Errors
    ///
    /// A damaged `collected.json`, or whatever the system refuses.
    pub fn version_last(&self) -> Result<u64, ArtifactError> {
        let here = self.ids()?.last().map_or(0, |id| version_number(id));
        Ok(here.max(CollectedFile::read(&self.folder)?.version_last))
    }

    /// Publishes a model as the next version and gives its id.
    ///
    /// # Errors
    ///
    /// Whatever the system refuses; then there is no new version.
    pub fn publish(&self, model: &Model, origin: &Origin) -> Result<String, ArtifactError> {
        loop {
            let number = self.version_last()? + 1;
            let id = format!("v{number:04}");
            sweep(&self.folder)?;
            let mut draft = Draft::new(&self.folder)?;
            model.write(draft.path(), &id, origin)?;
            if draft.publish(&id)? {
                return Ok(id);
            }
        }
    }
}

/// The number of a version id.
#[must_use]
pub fn version_number(id: &str) -> u64 {
    id[1..].parse().unwrap_or(u64::MAX)
}
