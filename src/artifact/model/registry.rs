//! A registry: a folder of numbered, immutable versions.

use super::archive::Archive;
use super::closed::ClosedFile;
use super::document::{ModelDocument, VersionOrigin};
use super::name::VersionId;
use super::version::{Model, read_document};
use crate::artifact::error::ArtifactError;
use crate::artifact::publish::temporary::sweep;
use crate::artifact::publish::{PendingFolder, check_folder, entries_in, exists, publish_bytes};
use std::path::{Path, PathBuf};

/// A folder of versions.
///
/// ```
/// use renma::artifact::{Builtin, KnownModel, LoadedModel, Registry};
///
/// let folder = tempfile::tempdir()?;
/// let registry = Registry::new(&folder.path().join("models"));
/// assert!(registry.ids()?.is_empty());
///
/// let champion = KnownModel::builtin(Builtin::Champion);
/// registry.import(&champion.archive()?, &champion.place_name())?;
/// let id = registry.ids()?[0];
/// let version = LoadedModel::read(&registry.folder_of(id))?;
/// assert_eq!(version.content, champion.content);
/// println!("{id} has {} phases", version.model.evaluation.set().phase_count());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Registry {
    folder: PathBuf,
}

impl Registry {
    /// The registry in this folder, which need not exist yet.
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }

    /// Its path.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder of a version.
    pub fn folder_of(&self, id: VersionId) -> PathBuf {
        self.folder.join(id.to_string())
    }

    /// The ids of all versions, oldest first; a folder with any other name is not a version.
    ///
    /// # Errors
    ///
    /// A system error; a registry that does not exist is empty.
    pub fn ids(&self) -> Result<Vec<VersionId>, ArtifactError> {
        if !exists(&self.folder)? {
            return Ok(Vec::new());
        }
        check_folder(&self.folder)?;
        let entries = entries_in(&self.folder)?.into_iter();
        let mut ids: Vec<VersionId> = entries
            .filter_map(|entry| entry.name.to_str()?.parse().ok())
            .collect();
        ids.sort_unstable();
        Ok(ids)
    }

    /// The `model.json` of every version, oldest first.
    ///
    /// # Errors
    ///
    /// A damaged one.
    pub fn documents(&self) -> Result<Vec<ModelDocument>, ArtifactError> {
        self.ids()?
            .into_iter()
            .map(|id| read_document(&self.folder_of(id)))
            .collect()
    }

    /// The highest version there ever was: numbers are not used twice.
    ///
    /// # Errors
    ///
    /// A damaged `closed.json`, or a system error.
    pub fn version_last(&self) -> Result<Option<VersionId>, ArtifactError> {
        Ok(self.ids()?.last().copied().max(self.version_last_closed()?))
    }

    /// Publishes a model as the next version and returns its id.
    ///
    /// # Errors
    ///
    /// A registry without a free number, or a system error; no new version is left behind.
    pub fn publish(
        &self,
        model: &Model,
        origin: &VersionOrigin,
    ) -> Result<VersionId, ArtifactError> {
        loop {
            let id = self.next_id()?;
            sweep(&self.folder)?;
            let mut pending = PendingFolder::new(&self.folder)?;
            model.write(pending.path(), id, origin)?;
            if pending.publish(id.to_string())? {
                return Ok(id);
            }
        }
    }

    /// Publishes the version in an archive under its own id. `false`: the registry has it already.
    ///
    /// # Errors
    ///
    /// An archive whose model is damaged, an id that the registry has or had for another version,
    /// or a system error; no new version is left behind.
    pub fn import(&self, archive: &Archive, path: &Path) -> Result<bool, ArtifactError> {
        archive.model(path)?;
        let id = archive.document.id;
        if VersionId::LAST_IMPORTED < id {
            let reason = format!(
                "its id is {id}: after {last} too few versions could follow",
                last = VersionId::LAST_IMPORTED
            );
            return Err(ArtifactError::unfit(
                path,
                format!("{reason}\nuse the file itself: --model takes it"),
            ));
        }
        loop {
            if self.ids()?.contains(&id) {
                let found = read_document(&self.folder_of(id))?;
                return if found == archive.document {
                    Ok(false)
                } else {
                    Err(self.taken(id, "has another"))
                };
            }
            if Some(id) <= self.version_last_closed()? {
                return Err(self.taken(id, "once had a"));
            }
            sweep(&self.folder)?;
            let mut pending = PendingFolder::new(&self.folder)?;
            for (name, bytes) in archive.files() {
                publish_bytes(&pending.path().join(name), bytes)?;
            }
            if pending.publish(id.to_string())? {
                return Ok(true);
            }
        }
    }

    fn taken(&self, id: VersionId, why: &str) -> ArtifactError {
        let reason = format!(
            "it {why} {id}\nname another registry with --models, or use the file itself: --model takes it"
        );
        ArtifactError::refused("import into", &self.folder, reason)
    }

    fn version_last_closed(&self) -> Result<Option<VersionId>, ArtifactError> {
        Ok(ClosedFile::read(&self.folder)?.version_last)
    }

    fn next_id(&self) -> Result<VersionId, ArtifactError> {
        let Some(last) = self.version_last()? else {
            return Ok(VersionId::FIRST);
        };
        last.next().ok_or_else(|| {
            let reason =
                format!("it has {last}, and no version can come after that\nname another registry with --models");
            ArtifactError::unfit(&self.folder, reason)
        })
    }
}
