//! The parts of a training that was stopped, as far as they were learned. Not an artifact: they are removed at the end.

use super::parts::Learned;
use crate::artifact::error::ArtifactError;
use crate::artifact::hash::{ContentHash, FieldHasher};
use crate::artifact::publish::{create_folder, exists, publish_bytes, read_bounded, remove_folder};
use std::path::{Path, PathBuf};

/// Their folder in that of the registry, which trains one model at a time.
const NAME: &str = ".train.checkpoints";

/// More than any phase of the size that models may have.
const SIZE_MAX: u64 = 4 << 30;

/// A hash comes before the number of epochs, their errors, and the weights and visits.
const HASH_SIZE: usize = 64;

/// Where the parts of one training are kept.
#[derive(Debug)]
pub(super) struct Checkpoint {
    folder: PathBuf,
    step: ContentHash,
    /// Added to the numbers of parts.
    first: u32,
}

impl Checkpoint {
    pub(super) fn new(registry: &Path, step: ContentHash) -> Self {
        Self { folder: registry.join(NAME), step, first: 0 }
    }

    /// The same checkpoints for parts that are numbered after others.
    pub(super) fn after(&self, others: u32) -> Self {
        Self { folder: self.folder.clone(), step: self.step, first: others }
    }

    /// What a part of `count` slots has learned; `None` without a sound checkpoint of this step.
    ///
    /// # Errors
    ///
    /// Whatever the system refuses.
    pub(super) fn read(&self, part: u32, count: usize) -> Result<Option<Learned>, ArtifactError> {
        match read_bounded(&self.path(part), SIZE_MAX) {
            Ok(bytes) => Ok(self.parse(part, &bytes).filter(|learned| learned.weights.len() == count)),
            // Without a checkpoint that can be trusted, the part starts over, with the same result.
            Err(ArtifactError::Missing { .. } | ArtifactError::Damaged { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The epochs that parts have done, added up; `None` if there are none.
    ///
    /// # Errors
    ///
    /// Whatever the system refuses.
    pub(super) fn epochs(&self, parts: &[u32]) -> Result<Option<u64>, ArtifactError> {
        let mut epochs = 0;
        for &part in parts {
            match read_bounded(&self.path(part), SIZE_MAX) {
                Ok(bytes) => epochs += self.parse(part, &bytes).map_or(0, |learned| learned.errors.len() as u64),
                Err(ArtifactError::Missing { .. } | ArtifactError::Damaged { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok((0 < epochs).then_some(epochs))
    }

    /// Replaces the checkpoint of a part.
    ///
    /// # Errors
    ///
    /// A full disk, or whatever else the system refuses.
    pub(super) fn write(&self, part: u32, learned: &Learned) -> Result<(), ArtifactError> {
        create_folder(&self.folder)?;
        let mut bytes = (learned.errors.len() as u32).to_le_bytes().to_vec();
        bytes.extend(learned.errors.iter().flat_map(|sum| sum.to_le_bytes()));
        bytes.extend(learned.weights.iter().flat_map(|weight| weight.to_le_bytes()));
        bytes.extend(learned.visits.iter().flat_map(|count| count.to_le_bytes()));
        publish_bytes(&self.path(part), &[self.hash(part, &bytes).as_bytes(), &bytes].concat())
    }

    /// Removes all of them: the model is published.
    ///
    /// # Errors
    ///
    /// Whatever the system refuses.
    pub(super) fn remove(&self) -> Result<(), ArtifactError> {
        if exists(&self.folder)? { remove_folder(&self.folder) } else { Ok(()) }
    }

    fn path(&self, part: u32) -> PathBuf {
        self.folder.join(format!("part-{:05}", self.first + part))
    }

    fn hash(&self, part: u32, bytes: &[u8]) -> String {
        let mut hasher = FieldHasher::new("train checkpoint");
        hasher.field("step", self.step.to_string().as_bytes()).field("part", &(self.first + part).to_le_bytes());
        hasher.field("bytes", bytes).finish().to_string()
    }

    fn parse(&self, part: u32, bytes: &[u8]) -> Option<Learned> {
        let (hash, bytes) = bytes.split_at_checked(HASH_SIZE)?;
        if hash != self.hash(part, bytes).as_bytes() {
            return None;
        }
        let (epochs, bytes) = bytes.split_first_chunk()?;
        let (errors, slots) = bytes.split_at_checked(8 * u32::from_le_bytes(*epochs) as usize)?;
        let (weights, visits) = slots.split_at(slots.len() / 2);
        Some(Learned {
            errors: errors.as_chunks().0.iter().map(|&bytes| u64::from_le_bytes(bytes)).collect(),
            weights: weights.as_chunks().0.iter().map(|&bytes| i32::from_le_bytes(bytes)).collect(),
            visits: visits.as_chunks().0.iter().map(|&bytes| u32::from_le_bytes(bytes)).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::publish::remove_file;

    #[test]
    fn only_a_sound_checkpoint_of_the_same_step_and_part_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoint = Checkpoint::new(folder.path(), ContentHash::of(b"step"));
        let learned = Learned { weights: vec![1, -2, 3], visits: vec![7, 0, u32::MAX], errors: vec![1 << 40, 9] };
        assert_eq!(checkpoint.read(2, 3).unwrap(), None);
        checkpoint.write(2, &learned).unwrap();
        assert_eq!(checkpoint.read(2, 3).unwrap().as_ref(), Some(&learned));
        assert_eq!(checkpoint.read(2, 4).unwrap(), None);
        assert_eq!(checkpoint.read(1, 3).unwrap(), None);
        assert_eq!(checkpoint.epochs(&[1, 2]).unwrap(), Some(2));
        assert_eq!(Checkpoint::new(folder.path(), ContentHash::of(b"other")).read(2, 3).unwrap(), None);
        let path = checkpoint.path(2);
        publish_bytes(&checkpoint.path(1), &std::fs::read(&path).unwrap()).unwrap();
        assert_eq!(checkpoint.read(1, 3).unwrap(), None, "it is that of part 2");
        let sound = std::fs::read(&path).unwrap();
        for byte in 0..sound.len() {
            let mut bytes = sound.clone();
            bytes[byte] ^= 1;
            publish_bytes(&path, &bytes).unwrap();
            assert_eq!(checkpoint.read(2, 3).unwrap(), None, "byte {byte}");
        }
        // What the system refuses to read is an error, and not a missing checkpoint.
        remove_file(&path).unwrap();
        std::os::unix::fs::symlink("part-00002", &path).unwrap();
        assert!(checkpoint.read(2, 3).is_err());
        checkpoint.remove().unwrap();
        checkpoint.remove().unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
