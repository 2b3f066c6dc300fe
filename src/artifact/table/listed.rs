//! Files of parts as a manifest lists them.

use super::{FileEntry, PART_SIZE_MAX};
use crate::artifact::error::ArtifactError;
use crate::artifact::hash::ContentHash;
use crate::artifact::publish::read_bounded;
use std::path::Path;

/// The bytes of a part, if they are those that a manifest lists.
///
/// # Errors
///
/// A missing file, or one of another size or hash.
pub fn read_listed(path: &Path, entry: &FileEntry) -> Result<Vec<u8>, ArtifactError> {
    let damaged = |reason: String| ArtifactError::damaged(path, reason);
    // A larger file cannot be the listed one, and is not read.
    let bytes = match read_bounded(path, entry.bytes.min(PART_SIZE_MAX)) {
        Err(ArtifactError::Missing { .. }) => {
            return Err(damaged("it is gone, and the manifest lists it".into()));
        }
        other => other?,
    };
    check_listed_size(path, bytes.len() as u64, entry)?;
    if ContentHash::of(&bytes) != entry.hash {
        return Err(damaged("its hash is not the one in the manifest".into()));
    }
    Ok(bytes)
}

pub fn check_listed_size(path: &Path, size: u64, entry: &FileEntry) -> Result<(), ArtifactError> {
    if size == entry.bytes {
        return Ok(());
    }
    Err(ArtifactError::damaged(
        path,
        format!("it has {size} bytes, the manifest says {}", entry.bytes),
    ))
}
