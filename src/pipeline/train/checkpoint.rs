//! What the parts of an unfinished training have learned. Not artifacts: they are removed when the model is published.
//!
//! A part that is finished has another file than one that is not, so that a process that is behind never replaces what
//! another has finished. Any number of them may write: a finished part has the same bytes whoever learned it.

use super::parts::Learned;
use super::task::TrainTask;
use crate::artifact::publish::{
    create_folder, entries_in, exists, publish_bytes, read_bounded, remove_file, remove_folder,
};
use crate::artifact::{ArtifactError, ContentHash, FieldHasher, FolderLock, Registry};
use crate::pipeline::stage::Stage;
use std::path::{Path, PathBuf};

/// Their folder in that of the registry, which trains one model at a time. Each step has a folder in it.
const NAME: &str = ".train.checkpoints";

/// More than any phase of the size that models may have.
const SIZE_MAX: u64 = 4 << 30;

/// A hash comes before the number of epochs, their errors, and the weights and visits.
const HASH_SIZE: usize = 64;

/// Removes those of published models, which stay if they could not be removed then or somebody was still at work on them. A training
/// that holds the lock removes them itself.
///
/// # Errors
///
/// A damaged version, or a system error.
pub fn remove_published(registry: &Registry) -> Result<(), ArtifactError> {
    let mut left = entries_in(&registry.folder().join(NAME))?;
    if left.is_empty() {
        return Ok(());
    }
    let _lock = match FolderLock::take_named(registry.folder(), Stage::Train.lock()) {
        Err(ArtifactError::Busy { .. }) => return Ok(()),
        other => other?,
    };
    let documents = registry.documents()?;
    left.retain(|entry| documents.iter().any(|document| *entry.name == *document.origin.step.short()));
    // Another call may have removed one before it gave the lock back.
    left.iter().try_for_each(|entry| if exists(&entry.path)? { remove_folder(&entry.path) } else { Ok(()) })
}

/// Where the parts of one training are kept.
#[derive(Clone, Debug)]
pub(super) struct Checkpoint {
    /// The folder of its step.
    pub(super) folder: PathBuf,
    step: ContentHash,
    epochs: u32,
    /// The largest weight that a part may begin with or learn, in units.
    weight_max: u32,
    /// Added to the numbers of parts.
    first: u32,
}

impl Checkpoint {
    /// Those of a task with this step.
    pub(super) fn new(task: &TrainTask<'_>, step: ContentHash) -> Self {
        let weight_max = (i16::MAX as u32) << task.config.fraction_bits;
        let folder = task.registry.folder().join(NAME).join(step.short());
        Self { folder, step, epochs: task.config.epochs, weight_max, first: 0 }
    }

    /// The same checkpoints for parts that are numbered after others.
    pub(super) fn after(&self, others: u32) -> Self {
        Self { first: others, ..self.clone() }
    }

    /// What a part of `count` slots has learned so far; `None` without a sound checkpoint of this step.
    pub(super) fn read(&self, part: u32, count: usize) -> Result<Option<Learned>, ArtifactError> {
        let finished = self.finished(part, count)?;
        if finished.is_some() { Ok(finished) } else { self.find(part, &self.begun_path(part), count) }
    }

    /// What a part of `count` slots has learned in all epochs; `None` without a sound checkpoint of this step.
    pub(super) fn finished(&self, part: u32, count: usize) -> Result<Option<Learned>, ArtifactError> {
        let learned = self.find(part, &self.path(part), count)?;
        Ok(learned.filter(|learned| learned.errors.len() == self.epochs as usize))
    }

    /// Replaces the checkpoint of a part.
    pub(super) fn write(&self, part: u32, learned: &Learned) -> Result<(), ArtifactError> {
        create_folder(&self.folder)?;
        let mut bytes = (learned.errors.len() as u32).to_le_bytes().to_vec();
        bytes.extend(learned.errors.iter().flat_map(|sum| sum.to_le_bytes()));
        bytes.extend(learned.weights.iter().flat_map(|weight| weight.to_le_bytes()));
        bytes.extend(learned.visits.iter().flat_map(|count| count.to_le_bytes()));
        let bytes = [self.hash(part, &bytes).as_bytes(), &bytes].concat();
        if learned.errors.len() < self.epochs as usize {
            return publish_bytes(&self.begun_path(part), &bytes);
        }
        publish_bytes(&self.path(part), &bytes)?;
        remove_file(&self.begun_path(part))
    }

    /// Removes all of them, and those of other steps: the model is published.
    pub(super) fn remove(&self) -> Result<(), ArtifactError> {
        let all = self.folder.parent().unwrap_or(&self.folder);
        if exists(all)? { remove_folder(all) } else { Ok(()) }
    }

    /// The file of a part that is finished.
    pub(super) fn path(&self, part: u32) -> PathBuf {
        self.folder.join(format!("part-{:05}", self.first + part))
    }

    /// The file of a part that is begun.
    fn begun_path(&self, part: u32) -> PathBuf {
        self.folder.join(format!("part-{:05}.begun", self.first + part))
    }

    fn find(&self, part: u32, path: &Path, count: usize) -> Result<Option<Learned>, ArtifactError> {
        match read_bounded(path, SIZE_MAX) {
            Ok(bytes) => Ok(self.parse(part, &bytes).filter(|learned| self.fits(learned, count))),
            // Without a checkpoint that can be trusted, the part starts over, with the same result.
            Err(ArtifactError::Missing { .. } | ArtifactError::Damaged { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether a part with `count` slots can have learned this.
    fn fits(&self, Learned { weights, visits, errors }: &Learned, count: usize) -> bool {
        let is_small = |weight: &i32| weight.unsigned_abs() <= self.weight_max;
        let counts = [weights.len(), visits.len()];
        counts == [count; 2] && errors.len() <= self.epochs as usize && weights.iter().all(is_small)
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
    use super::super::task::TrainConfig;
    use super::*;
    use crate::artifact::Registry;
    use crate::engine::{Number, Pattern, PatternKind, PatternSet};
    use crate::pipeline::fixtures::default_table;
    use std::sync::Arc;

    /// Asks for something of the checkpoints of a training with two epochs.
    fn with_checkpoint<T>(folder: &Path, step: &[u8], ask: impl FnOnce(&Checkpoint) -> T) -> T {
        let parity = Pattern { name: "PARITY".into(), kind: PatternKind::Number(Number::Parity) };
        let task = TrainTask {
            config: &default_table::<TrainConfig>()
                .with(|config| (config.epochs, config.fraction_bits) = (2, 0))
                .unwrap(),
            seed: 1,
            features: Arc::new(PatternSet::new("test", vec![parity], vec![60]).unwrap()),
            datasets: Vec::new(),
            parent: None,
            registry: &Registry::new(folder),
            memory: 0,
        };
        ask(&Checkpoint::new(&task, ContentHash::of(step)))
    }

    fn learned(epochs: u64) -> Learned {
        Learned { weights: vec![1, -2, 3], visits: vec![7, 0, u32::MAX], errors: (0..epochs).collect() }
    }

    #[test]
    fn only_a_sound_checkpoint_of_the_same_step_and_part_is_read() {
        let folder = tempfile::tempdir().unwrap();
        with_checkpoint(folder.path(), b"step", |checkpoint| {
            assert_eq!(checkpoint.read(2, 3).unwrap(), None);
            checkpoint.write(2, &learned(2)).unwrap();
            assert_eq!(checkpoint.read(2, 3).unwrap(), Some(learned(2)));
            assert_eq!(checkpoint.read(2, 4).unwrap(), None);
            assert_eq!(checkpoint.read(1, 3).unwrap(), None);
            assert_eq!(with_checkpoint(folder.path(), b"other", |other| other.read(2, 3)).unwrap(), None);
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
        });
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_part_that_is_behind_never_replaces_a_finished_one() {
        let folder = tempfile::tempdir().unwrap();
        with_checkpoint(folder.path(), b"step", |checkpoint| {
            let found = || (checkpoint.read(0, 3).unwrap(), checkpoint.finished(0, 3).unwrap());
            checkpoint.write(0, &learned(1)).unwrap();
            assert_eq!(found(), (Some(learned(1)), None));
            checkpoint.write(0, &learned(2)).unwrap();
            assert!(!checkpoint.begun_path(0).exists());
            checkpoint.write(0, &learned(1)).unwrap();
            assert_eq!(found(), (Some(learned(2)), Some(learned(2))));
            // Its bytes under the name of a finished part do not make it one.
            std::fs::rename(checkpoint.begun_path(0), checkpoint.path(0)).unwrap();
            assert_eq!(found(), (None, None));
        });
    }

    #[test]
    fn what_no_part_can_have_learned_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        with_checkpoint(folder.path(), b"step", |checkpoint| {
            let read = |learned: &Learned| {
                checkpoint.write(0, learned).unwrap();
                checkpoint.read(0, 3).unwrap().is_some()
            };
            assert!(read(&Learned { weights: vec![32_767, -32_767, 0], ..learned(2) }));
            assert!(!read(&Learned { weights: vec![32_768, 0, 0], ..learned(2) }));
            assert!(!read(&Learned { weights: vec![0, i32::MIN, 0], ..learned(2) }));
            assert!(!read(&learned(3)));
        });
    }
}
