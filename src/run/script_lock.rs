//! The lock of a run: pipeline.sh opens a file, and this process locks that open file. The lock lasts as long as the
//! script or any stage that it started.

use crate::artifact::error::ArtifactError;
use rustix::fs::{FlockOperation, flock, ftruncate};
use rustix::io::{Errno, pread, pwrite};
use std::os::fd::AsFd;
use std::os::unix::process::parent_id;
use std::path::Path;

/// Locks the open file of the script that called this process.
///
/// # Errors
///
/// [`ArtifactError::Busy`] with the process id of the script that holds the lock, or whatever the system refuses.
pub fn lock_for_script(file: impl AsFd, registry: &Path) -> Result<(), ArtifactError> {
    let failed = |error: Errno| ArtifactError::io("lock", registry, error.into());
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {
            ftruncate(&file, 0).map_err(failed)?;
            pwrite(&file, parent_id().to_string().as_bytes(), 0).map_err(failed)?;
            Ok(())
        }
        Err(Errno::WOULDBLOCK) => {
            let mut owner = [0; 20];
            // The message can do without the owner.
            let length = pread(&file, &mut owner, 0).unwrap_or_default();
            let owner = String::from_utf8_lossy(&owner[..length]).into_owned();
            Err(ArtifactError::Busy { path: registry.to_owned(), owner })
        }
        Err(error) => Err(failed(error)),
    }
}
