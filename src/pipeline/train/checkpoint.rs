//! The weights after each epoch, from which a stopped training resumes. Not an artifact: it is removed at the end.

use crate::artifact::error::ArtifactError;
use crate::artifact::hash::{ContentHash, FieldHasher};
use crate::artifact::publish::{publish_bytes, read_bounded, remove_file};
use std::path::{Path, PathBuf};

/// Its name in the registry's folder: a registry trains one model at a time.
const NAME: &str = ".train.checkpoint";

/// More than any pattern set of the size that models may have.
const SIZE_MAX: u64 = 4 << 30;

/// A hash, the step it belongs to and the number of epochs, before the weights.
const HEAD_SIZE: usize = 64 + 64 + 4;

/// Where the weights of one training are kept between epochs.
#[derive(Debug)]
pub(super) struct Checkpoint {
    path: PathBuf,
    step: ContentHash,
}

impl Checkpoint {
    pub(super) fn new(registry: &Path, step: ContentHash) -> Self {
        Self { path: registry.join(NAME), step }
    }

    /// The epochs that are done and `count` weights after them; none if there is no sound checkpoint of this step.
    pub(super) fn read(&self, count: usize) -> Result<Option<(u32, Vec<i16>)>, ArtifactError> {
        Ok(self.read_bytes()?.and_then(|(epochs, bytes)| {
            let weights = bytes.get(HEAD_SIZE..).filter(|weights| weights.len() == 2 * count)?;
            Some((epochs, weights.chunks_exact(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]])).collect()))
        }))
    }

    /// The epochs that are done.
    pub(super) fn epochs(&self) -> Result<Option<u32>, ArtifactError> {
        Ok(self.read_bytes()?.map(|(epochs, _)| epochs))
    }

    /// The epochs with the bytes of a sound checkpoint of this step.
    fn read_bytes(&self) -> Result<Option<(u32, Vec<u8>)>, ArtifactError> {
        match read_bounded(&self.path, SIZE_MAX) {
            Ok(bytes) => Ok(self.parse(bytes)),
            // Without a checkpoint that can be trusted, training starts over, with the same result.
            Err(ArtifactError::Missing { .. } | ArtifactError::Damaged { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn parse(&self, bytes: Vec<u8>) -> Option<(u32, Vec<u8>)> {
        let (head, weights) = bytes.split_at_checked(HEAD_SIZE)?;
        let epochs = u32::from_le_bytes(head[128..].try_into().ok()?);
        (*head == self.head(epochs, weights)).then_some((epochs, bytes))
    }

    /// Replaces the checkpoint.
    pub(super) fn write(&self, epochs: u32, weights: impl Iterator<Item = i16>) -> Result<(), ArtifactError> {
        let weights: Vec<u8> = weights.flat_map(i16::to_le_bytes).collect();
        publish_bytes(&self.path, &[&self.head(epochs, &weights)[..], &weights].concat())
    }

    /// Removes the checkpoint: the model is published.
    pub(super) fn remove(&self) -> Result<(), ArtifactError> {
        remove_file(&self.path)
    }

    fn head(&self, epochs: u32, weights: &[u8]) -> Vec<u8> {
        let mut hasher = FieldHasher::new("train checkpoint");
        hasher.field("step", self.step.to_string().as_bytes());
        hasher.field("epochs", &epochs.to_le_bytes()).field("weights", weights);
        [hasher.finish().to_string().as_bytes(), self.step.to_string().as_bytes(), &epochs.to_le_bytes()].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_sound_checkpoint_of_the_same_step_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoint = Checkpoint::new(folder.path(), ContentHash::of(b"step"));
        assert_eq!(checkpoint.read(3).unwrap(), None);
        checkpoint.write(2, [1, -2, 3].into_iter()).unwrap();
        assert_eq!(checkpoint.read(3).unwrap(), Some((2, vec![1, -2, 3])));
        assert_eq!(checkpoint.read(4).unwrap(), None);
        assert_eq!(Checkpoint::new(folder.path(), ContentHash::of(b"other")).read(3).unwrap(), None);
        let sound = std::fs::read(&checkpoint.path).unwrap();
        for byte in 0..sound.len() {
            let mut bytes = sound.clone();
            bytes[byte] ^= 1;
            publish_bytes(&checkpoint.path, &bytes).unwrap();
            assert_eq!(checkpoint.read(3).unwrap(), None, "byte {byte}");
        }
        checkpoint.remove().unwrap();
        checkpoint.remove().unwrap();
        // What the system refuses to read is an error, and not a checkpoint that is not there.
        std::os::unix::fs::symlink(NAME, &checkpoint.path).unwrap();
        assert!(checkpoint.read(3).is_err());
        checkpoint.remove().unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
