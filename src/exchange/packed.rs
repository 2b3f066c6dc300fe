//! Files that other programs have packed, which no reader takes: each is named, with the remedy.

use crate::artifact::ArtifactError;
use std::path::Path;

/// With what a file begins, and what has packed it.
const PACKERS: [(&[u8], &str); 6] = [
    (b"\x1f\x8b", "gzip"),
    (b"PK\x03\x04", "zip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"BZh", "bzip2"),
    (b"7z\xbc\xaf\x27\x1c", "7-Zip"),
];

/// # Errors
///
/// A file that has to be unpacked before it is read.
pub fn check_unpacked(path: &Path, bytes: &[u8]) -> Result<(), ArtifactError> {
    let packer = PACKERS.iter().find(|(magic, _)| bytes.starts_with(magic));
    packer.map_or(Ok(()), |(_, name)| {
        let reason = format!("it is packed by {name}\nunpack it first");
        Err(ArtifactError::unfit(path, reason))
    })
}
