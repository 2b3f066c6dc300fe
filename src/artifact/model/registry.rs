//! A registry: a folder of numbered, immutable versions.

use super::closed::ClosedFile;
use super::document::{ModelDocument, Origin};
use super::name::VersionId;
use super::reference::LoadedModel;
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

    /// The folder of a version.
    #[must_use]
    pub fn folder_of(&self, id: VersionId) -> PathBuf {
        self.folder.join(id.to_string())
    }

    /// The ids of all versions, oldest first: what is called otherwise is not a version.
    ///
    /// # Errors
    ///
    /// Whatever the system refuses; a registry that is not there yet is empty.
    pub fn ids(&self) -> Result<Vec<VersionId>, ArtifactError> {
        let failed = |source| ArtifactError::io("read", &self.folder, source);
        if !exists(&self.folder)? {
            return Ok(Vec::new());
        }
        let mut ids = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            ids.extend(name.to_str().and_then(|name| name.parse::<VersionId>().ok()));
        }
        ids.sort_unstable();
        Ok(ids)
    }

    /// The `model.json` of every version, oldest first; each is of the version that its folder is called after.
    ///
    /// # Errors
    ///
    /// A damaged one.
    pub fn documents(&self) -> Result<Vec<ModelDocument>, ArtifactError> {
        self.ids()?.into_iter().map(|id| read_document(&self.folder_of(id))).collect()
    }

    /// The version that this step made, if it has been done.
    ///
    /// # Errors
    ///
    /// A damaged version.
    pub fn made_by(&self, step: ContentHash) -> Result<Option<LoadedModel>, ArtifactError> {
        let document = self.documents()?.into_iter().find(|document| document.origin.step == step);
        document.map(|document| LoadedModel::read(&self.folder_of(document.id))).transpose()
    }

    /// The highest version that there is or was, none before the first: numbers are not given twice.
    ///
    /// # Errors
    ///
    /// A damaged `closed.json`, or whatever the system refuses.
    pub fn version_last(&self) -> Result<Option<VersionId>, ArtifactError> {
        Ok(self.ids()?.last().copied().max(ClosedFile::read(&self.folder)?.version_last))
    }

    /// Publishes a model as the next version and gives its id.
    ///
    /// # Errors
    ///
    /// A registry whose numbers are used up, or whatever the system refuses; then there is no new version.
    pub fn publish(&self, model: &Model, origin: &Origin) -> Result<VersionId, ArtifactError> {
        loop {
            let id = self.next_id()?;
            sweep(&self.folder)?;
            let mut draft = Draft::new(&self.folder)?;
            model.write(draft.path(), id, origin)?;
            if draft.publish(id.to_string())? {
                return Ok(id);
            }
        }
    }

    fn next_id(&self) -> Result<VersionId, ArtifactError> {
        let Some(last) = self.version_last()? else { return Ok(VersionId::FIRST) };
        last.next().ok_or_else(|| {
            let reason =
                format!("it has {last}, and no version can come after that\nname another registry with --models");
            ArtifactError::unfit(&self.folder, reason)
        })
    }
}
