//! Locks between two runs on one machine: the second one is told about the first.
//!
//! Correctness never depends on them: published bytes are the same, whichever run writes them.

use super::error::ArtifactError;
use super::line::visible;
use super::publish::{create_folder, exists};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::time::Duration;

/// The lock of a folder as a whole.
pub const LOCK_NAME: &str = ".lock";

/// How often, and at which interval, a lock held by another process is tried.
const TRIES: u32 = 20;
const BETWEEN_TRIES: Duration = Duration::from_millis(25);

/// Held while a folder is written; the system releases it when its owner ends, even if killed.
#[derive(Debug)]
pub struct FolderLock {
    _file: File,
}

impl FolderLock {
    /// Locks a folder, creating it first.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::Busy`] if a living process holds it, or a system error.
    pub fn take(folder: &Path) -> Result<Self, ArtifactError> {
        Self::take_named(folder, LOCK_NAME)
    }

    /// Locks a folder for one purpose among several, under the name of that purpose.
    pub fn take_named(folder: &Path, name: &str) -> Result<Self, ArtifactError> {
        create_folder(folder)?;
        let path = folder.join(name);
        let failed = |source| ArtifactError::io("lock", &path, source);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(failed)?;
        match try_lock_for_a_moment(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut owner = String::new();
                // The owner is only for the message; it may be empty.
                file.take(64).read_to_string(&mut owner).unwrap_or_default();
                return Err(ArtifactError::Busy {
                    path: folder.to_owned(),
                    owner: visible(owner.trim()),
                });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        file.set_len(0)
            .and_then(|()| file.rewind())
            .map_err(failed)?;
        writeln!(file, "{}", std::process::id()).map_err(failed)?;
        Ok(Self { _file: file })
    }

    /// Whether a living process holds the lock; nothing is created.
    pub fn is_held(folder: &Path, name: &str) -> Result<bool, ArtifactError> {
        let path = folder.join(name);
        if !exists(&path)? {
            return Ok(false);
        }
        let file = File::open(&path).map_err(|source| ArtifactError::io("lock", &path, source))?;
        match file.try_lock_shared() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(source)) => Err(ArtifactError::io("lock", &path, source)),
        }
    }
}

/// Retries for half a second: a process that only asks whether a lock is held holds it for a
/// moment, and so does a child between fork and exec.
fn try_lock_for_a_moment(file: &File) -> Result<(), TryLockError> {
    for _ in 0..TRIES {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => std::thread::sleep(BETWEEN_TRIES),
            other => return other,
        }
    }
    file.try_lock()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn a_lock_that_another_process_only_asks_about_can_be_taken() {
        let folder = tempfile::tempdir().unwrap();
        drop(FolderLock::take(folder.path()).unwrap());
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    FolderLock::is_held(folder.path(), LOCK_NAME).unwrap();
                }
            });
            let taken = (0..1000).all(|_| FolderLock::take(folder.path()).is_ok());
            over.store(true, Ordering::Relaxed);
            assert!(taken);
        });
    }

    #[test]
    fn the_second_lock_names_the_owner_of_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let first = FolderLock::take(folder.path()).unwrap();
        let error = FolderLock::take(folder.path()).unwrap_err();
        assert!(
            error.to_string().contains(&std::process::id().to_string()),
            "{error}"
        );
        let held = |name| FolderLock::is_held(folder.path(), name).unwrap();
        assert_eq!([LOCK_NAME, ".other.lock"].map(held), [true, false]);
        drop(first);
        assert!(!held(LOCK_NAME));
        assert!(FolderLock::take(folder.path()).is_ok());
    }
}
