//! Scratch files: room on disk for what does not fit into memory. They have no name, so nothing is
//! left of them when their process ends, however it ends.

use super::error::ArtifactError;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A file without a name that is written from beginning to end and read anywhere.
#[derive(Debug)]
pub struct ScratchFile {
    folder: PathBuf,
    file: File,
    size: u64,
}

impl ScratchFile {
    /// An empty file on the disk of `folder`.
    pub fn new(folder: &Path) -> Result<Self, ArtifactError> {
        let file = tempfile::tempfile_in(folder)
            .map_err(|source| ArtifactError::io("create", folder, source))?;
        Ok(Self {
            folder: folder.to_owned(),
            file,
            size: 0,
        })
    }

    /// Appends bytes; returns where they begin.
    pub fn append(&mut self, bytes: &[u8]) -> Result<u64, ArtifactError> {
        let begin = self.size;
        self.file
            .write_all(bytes)
            .map_err(|source| ArtifactError::io("write", &self.folder, source))?;
        self.size += bytes.len() as u64;
        Ok(begin)
    }

    /// Fills `bytes` with those that begin at `begin`.
    pub fn read(&self, begin: u64, bytes: &mut [u8]) -> Result<(), ArtifactError> {
        self.file
            .read_exact_at(bytes, begin)
            .map_err(|source| ArtifactError::io("read", &self.folder, source))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_appended_is_read_and_the_folder_stays_empty() {
        let folder = tempfile::tempdir().unwrap();
        let mut scratch = ScratchFile::new(folder.path()).unwrap();
        assert_eq!(
            [
                scratch.append(b"first").unwrap(),
                scratch.append(b"second").unwrap()
            ],
            [0, 5]
        );
        let mut bytes = [0; 4];
        scratch.read(3, &mut bytes).unwrap();
        assert_eq!(&bytes, b"stse");
        assert!(scratch.read(8, &mut bytes).is_err(), "it has 11 bytes");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
