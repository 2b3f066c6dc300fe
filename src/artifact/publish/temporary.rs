//! Temporary files and folders: locked while their process lives, removed once it is dead.
//!
//! A process locks its temporary file before it writes to it, and the system releases the lock when
//! the process ends, even if it was killed or ran on another machine. So a process that gets the
//! lock knows that the file was left behind. A temporary folder has a temporary file beside it, its
//! claim, and is in use as long as that file is locked.

use super::{FolderEntry, closed, entries_in, exists, is_folder, is_link};
use crate::artifact::error::ArtifactError;
use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use tempfile::{Builder, NamedTempFile};

/// The beginning of every temporary name.
pub const TEMPORARY_PREFIX: &str = ".tmp-";

/// The beginning of the temporary names of renma: only these are removed from a folder that other
/// programs use too.
const OWN_PREFIX: &str = ".tmp-renma-";

/// The name of a temporary folder is that of its claim and this suffix.
const FOLDER_SUFFIX: &str = ".d";

/// A new temporary file, locked; it is removed when dropped, unless it has been renamed.
pub fn temporary_file(folder: &Path) -> io::Result<NamedTempFile> {
    loop {
        let file = Builder::new().prefix(OWN_PREFIX).tempfile_in(folder)?;
        match file.as_file().try_lock() {
            Ok(()) if is_at(file.as_file(), file.path())? => return Ok(file),
            // A file system without locks is never swept.
            Err(TryLockError::Error(_)) => return Ok(file),
            // Another process found the file before it was locked, and removes it.
            Ok(()) | Err(TryLockError::WouldBlock) => {}
        }
    }
}

/// A new temporary folder with its claim; both are removed when dropped, unless the folder has been
/// renamed.
#[derive(Debug)]
pub(super) struct TemporaryFolder {
    pub(super) path: PathBuf,
    /// Whether it has been renamed or removed.
    pub(super) is_gone: bool,
    /// Dropped after the folder is removed, so that a folder without a claim is not in use.
    _claim: NamedTempFile,
    /// Kept open to recognize a folder that was removed and created again.
    handle: File,
}

impl TemporaryFolder {
    pub(super) fn new(parent: &Path) -> io::Result<Self> {
        let claim = temporary_file(parent)?;
        let name = claim.path().file_name().unwrap_or_default();
        let folder = Builder::new()
            .prefix(name)
            .suffix(FOLDER_SUFFIX)
            .rand_bytes(0)
            .tempdir_in(parent)?;
        let handle = File::open(folder.path())?;
        Ok(Self {
            path: folder.keep(),
            is_gone: false,
            _claim: claim,
            handle,
        })
    }

    /// Removes it with everything in it.
    pub(super) fn remove(&mut self) -> io::Result<()> {
        remove_tree(&self.path)?;
        self.is_gone = true;
        Ok(())
    }

    /// Whether the folder is still the one that was created, with everything written to it.
    pub(super) fn is_whole(&self) -> io::Result<bool> {
        is_at(&self.handle, &self.path)
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        if !self.is_gone {
            // What stays is swept later.
            self.remove().unwrap_or_default();
        }
    }
}

fn remove_tree(folder: &Path) -> io::Result<()> {
    closed(|| fs::remove_dir_all(folder))
}

/// Removes every temporary file and folder that a dead process left in a folder where only renma
/// writes.
///
/// # Errors
///
/// A system error, except that files of other users stay. A folder that does not exist has none.
pub fn sweep(folder: &Path) -> Result<(), ArtifactError> {
    sweep_named(folder, TEMPORARY_PREFIX)
}

/// [`sweep`], in a folder that other programs use too: only names of renma are considered.
pub fn sweep_own(folder: &Path) -> Result<(), ArtifactError> {
    sweep_named(folder, OWN_PREFIX)
}

/// [`sweep`], in a folder and all folders below it, but never through a symbolic link.
pub fn sweep_tree(folder: &Path) -> Result<(), ArtifactError> {
    if is_link(folder)? || !is_folder(folder)? {
        return Ok(());
    }
    sweep(folder)?;
    for entry in entries_in(folder)? {
        if entry.file_type.is_dir() && !has_prefix(&entry, TEMPORARY_PREFIX) {
            sweep_tree(&entry.path)?;
        }
    }
    Ok(())
}

fn sweep_named(folder: &Path, prefix: &str) -> Result<(), ArtifactError> {
    let entries = match entries_in(folder) {
        // A folder can be writable but not readable.
        Err(ArtifactError::Io { source, .. })
            if source.kind() == io::ErrorKind::PermissionDenied =>
        {
            return Ok(());
        }
        other => other?,
    };
    for entry in entries
        .into_iter()
        .filter(|entry| has_prefix(entry, prefix))
    {
        let FolderEntry {
            path, file_type, ..
        } = entry;
        let failed = |source| ArtifactError::io("remove", &path, source);
        if file_type.is_dir() {
            // A claim is created before its folder and removed after it.
            if !claim_of(&path).is_some_and(|claim| exists(&claim).unwrap_or(true)) {
                gone(remove_tree(&path)).map_err(failed)?;
            }
        } else if file_type.is_file() {
            sweep_file(&path).map_err(failed)?;
        }
    }
    Ok(())
}

/// Removes a temporary file, and the folder that it claims, unless a living process holds it.
fn sweep_file(path: &Path) -> io::Result<()> {
    // A file that cannot be opened or locked may be in use. Some file systems lock only files open
    // for writing.
    let Ok(file) = File::options().read(true).write(true).open(path) else {
        return Ok(());
    };
    if file.try_lock().is_err() || !is_at(&file, path)? {
        return Ok(());
    }
    let mut folder = path.as_os_str().to_owned();
    folder.push(FOLDER_SUFFIX);
    gone(remove_tree(folder.as_ref()))?;
    gone(fs::remove_file(path))
}

/// The claim of a temporary folder.
fn claim_of(folder: &Path) -> Option<PathBuf> {
    let name = folder.file_name()?.to_str()?.strip_suffix(FOLDER_SUFFIX)?;
    Some(folder.with_file_name(name))
}

/// Ignores what another process has removed already, and what belongs to another user.
fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied
            ) =>
        {
            Ok(())
        }
        other => other,
    }
}

fn has_prefix(entry: &FolderEntry, prefix: &str) -> bool {
    entry.name.as_encoded_bytes().starts_with(prefix.as_bytes())
}

/// Whether a path still names an open file or folder.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let ours = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (ours.dev(), ours.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::super::publish_bytes;
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn sweeping_removes_what_the_dead_left_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        publish_bytes(&folder.path().join("part-00000.parquet"), b"1").unwrap();
        publish_bytes(&folder.path().join(".DS_Store"), b"1").unwrap();
        for name in [
            ".tmp-abc",
            ".tmp-renma-dead00",
            ".tmp-renma-dead01",
            ".tmp-renma-dead01.d/positions/part",
        ] {
            publish_bytes(&folder.path().join(name), b"half").unwrap();
        }
        publish_bytes(&folder.path().join(".tmp-renma-dead02.d/file"), b"half").unwrap();
        publish_bytes(&folder.path().join(".tmp-xyz/removed/file"), b"half").unwrap();
        let foreign = [".DS_Store", ".tmp-abc", ".tmp-xyz", "part-00000.parquet"];
        sweep_own(folder.path()).unwrap();
        assert_eq!(names(folder.path()), foreign);
        sweep(folder.path()).unwrap();
        assert_eq!(names(folder.path()), [".DS_Store", "part-00000.parquet"]);
        sweep(&folder.path().join("nowhere")).unwrap();
    }

    #[test]
    fn what_a_living_process_writes_is_never_swept() {
        let folder = tempfile::tempdir().unwrap();
        let file = temporary_file(folder.path()).unwrap();
        let draft = TemporaryFolder::new(folder.path()).unwrap();
        publish_bytes(&draft.path.join("file"), b"1").unwrap();
        for _ in 0..2 {
            sweep(folder.path()).unwrap();
            sweep_own(folder.path()).unwrap();
            sweep_tree(folder.path()).unwrap();
        }
        assert!(
            file.path().exists() && draft.path.join("file").exists() && draft.is_whole().unwrap()
        );
        drop((file, draft));
        assert!(names(folder.path()).is_empty());
    }

    #[test]
    fn many_writers_and_sweepers_never_disturb_each_other() {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..4)
                .map(|writer| {
                    let folder = folder.path();
                    scope.spawn(move || {
                        for number in 0..50 {
                            publish_bytes(&folder.join(format!("{writer}-{number}")), b"1")
                                .unwrap();
                        }
                    })
                })
                .collect();
            while writers.iter().any(|writer| !writer.is_finished()) {
                sweep(folder.path()).unwrap();
            }
        });
        assert_eq!(names(folder.path()).len(), 200);
    }

    #[test]
    fn sweeping_a_tree_stays_out_of_links() {
        let root = tempfile::tempdir().unwrap();
        let [inside, outside] =
            ["run/selfplay/games/.tmp-a", "elsewhere/.tmp-a"].map(|name| root.path().join(name));
        publish_bytes(&inside, b"half").unwrap();
        publish_bytes(&outside, b"half").unwrap();
        std::os::unix::fs::symlink(root.path().join("elsewhere"), root.path().join("run/mpc"))
            .unwrap();
        std::os::unix::fs::symlink(root.path().join("elsewhere"), root.path().join("link"))
            .unwrap();
        sweep_tree(&root.path().join("run")).unwrap();
        sweep_tree(&root.path().join("link")).unwrap();
        assert!(!inside.exists() && outside.exists());
    }
}
