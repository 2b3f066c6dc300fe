//! What the parts of an unfinished training have learned. Not artifacts: they are removed when the
//! model is published.
//!
//! A part that is finished has another file than one that is not, so that a process that is behind
//! never replaces what another has finished. Any number of them may write: a finished part has the
//! same bytes whoever learned it.

use super::parts::{Learned, TrainPart};
use super::slots::SlotMap;
use super::task::{FACTS, Round, TrainConfig, TrainTask};
use crate::artifact::publish::{
    create_folder, entries_in, exists, publish_bytes, read_bounded, remove_file, remove_folder,
};
use crate::artifact::{ArtifactError, ContentHash, FieldHasher, FolderLock, Registry};
use crate::engine::eval::pairs::FRACTION_BITS;
use crate::engine::eval::pattern_set::COMPONENT_MAX;
use std::path::{Path, PathBuf};

/// Their folder in that of the registry, which trains one model at a time. Each step has a folder
/// in it.
const NAME: &str = ".train.checkpoints";

/// More than any phase of the size that models may have.
const SIZE_MAX: u64 = 4 << 30;

/// A hash comes before the number of epochs, their errors, and the visits and weights.
const HASH_SIZE: usize = 64;

/// Removes those of published models, which stay if they could not be removed then or somebody was
/// still at work on them. A training that holds the lock removes them itself.
///
/// # Errors
///
/// A damaged version, or a system error.
pub fn remove_published(registry: &Registry) -> Result<(), ArtifactError> {
    let mut left = entries_in(&registry.folder().join(NAME))?;
    if left.is_empty() {
        return Ok(());
    }
    let _lock = match FolderLock::take_named(registry.folder(), FACTS.lock()) {
        Err(ArtifactError::Busy { .. }) => return Ok(()),
        other => other?,
    };
    let documents = registry.documents()?;
    left.retain(|entry| {
        documents
            .iter()
            .any(|document| *entry.name == *document.origin.step.short())
    });
    // Another call may have removed one before it gave the lock back.
    left.iter().try_for_each(|entry| {
        if exists(&entry.path)? {
            remove_folder(&entry.path)
        } else {
            Ok(())
        }
    })
}

/// Where the parts of one training are kept.
#[derive(Clone, Debug)]
pub(super) struct Checkpoint {
    /// The folder of its step.
    pub(super) folder: PathBuf,
    step: ContentHash,
    config: TrainConfig,
}

impl Checkpoint {
    /// Those of a task with this step.
    pub(super) fn new<M>(task: &TrainTask<M>, step: ContentHash) -> Self {
        let folder = task.registry.folder().join(NAME).join(step.short());
        Self {
            folder,
            step,
            config: (*task.config).clone(),
        }
    }

    /// What a part has learned so far; `None` without a sound checkpoint of this step.
    pub(super) fn read(
        &self,
        part: &TrainPart,
        map: &SlotMap<'_>,
    ) -> Result<Option<Learned>, ArtifactError> {
        let finished = self.finished(part, map)?;
        if finished.is_some() {
            Ok(finished)
        } else {
            self.find(part, &self.begun_path(part), map)
        }
    }

    /// What a part has learned in all epochs; `None` without a sound checkpoint of this step.
    pub(super) fn finished(
        &self,
        part: &TrainPart,
        map: &SlotMap<'_>,
    ) -> Result<Option<Learned>, ArtifactError> {
        let learned = self.find(part, &self.path(part), map)?;
        Ok(learned.filter(|learned| learned.errors.len() == self.epochs_of(part)))
    }

    /// Replaces the checkpoint of a part, once it has learned.
    pub(super) fn write(&self, part: &TrainPart, learned: &Learned) -> Result<(), ArtifactError> {
        if learned.errors.is_empty() {
            return Ok(());
        }
        create_folder(&self.folder)?;
        let mut bytes = (learned.errors.len() as u32).to_le_bytes().to_vec();
        bytes.extend(learned.errors.iter().flat_map(|sum| sum.to_le_bytes()));
        bytes.extend(learned.visits.iter().flat_map(|count| count.to_le_bytes()));
        bytes.extend(
            learned
                .weights
                .iter()
                .flat_map(|weight| weight.to_le_bytes()),
        );
        let bytes = [self.hash(part, &bytes).as_bytes(), &bytes].concat();
        if learned.errors.len() < self.epochs_of(part) {
            return publish_bytes(&self.begun_path(part), &bytes);
        }
        publish_bytes(&self.path(part), &bytes)?;
        remove_file(&self.begun_path(part))
    }

    /// Removes all of them, and those of other steps: the model is published.
    pub(super) fn remove(&self) -> Result<(), ArtifactError> {
        let all = self.folder.parent().unwrap_or(&self.folder);
        if exists(all)? {
            remove_folder(all)
        } else {
            Ok(())
        }
    }

    /// The file of a part that is finished.
    pub(super) fn path(&self, part: &TrainPart) -> PathBuf {
        self.folder.join(format!("part-{:05}", part.number))
    }

    /// The file of a part that is begun.
    fn begun_path(&self, part: &TrainPart) -> PathBuf {
        self.folder.join(format!("part-{:05}.begun", part.number))
    }

    fn epochs_of(&self, part: &TrainPart) -> usize {
        self.config.epochs_of(part.round) as usize
    }

    fn find(
        &self,
        part: &TrainPart,
        path: &Path,
        map: &SlotMap<'_>,
    ) -> Result<Option<Learned>, ArtifactError> {
        match read_bounded(path, SIZE_MAX) {
            Ok(bytes) => Ok(self
                .parse(part, &bytes, map)
                .filter(|learned| self.fits(part, learned))),
            // Without a checkpoint that can be trusted, the part starts over, with the same result.
            Err(ArtifactError::Missing { .. } | ArtifactError::Damaged { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether a part can have learned this.
    fn fits(
        &self,
        part: &TrainPart,
        Learned {
            weights, errors, ..
        }: &Learned,
    ) -> bool {
        let most = match part.round {
            Round::Vectors => (COMPONENT_MAX as u32) << FRACTION_BITS,
            _ => (i16::MAX as u32) << self.config.fraction_bits,
        };
        errors.len() <= self.epochs_of(part)
            && weights.iter().all(|weight| weight.unsigned_abs() <= most)
    }

    fn hash(&self, part: &TrainPart, bytes: &[u8]) -> String {
        let mut hasher = FieldHasher::new("train checkpoint");
        hasher
            .field("step", self.step.to_string().as_bytes())
            .field("part", &part.number.to_le_bytes());
        hasher.field("bytes", bytes).finish().to_string()
    }

    fn parse(&self, part: &TrainPart, bytes: &[u8], map: &SlotMap<'_>) -> Option<Learned> {
        let (hash, bytes) = bytes.split_at_checked(HASH_SIZE)?;
        if hash != self.hash(part, bytes).as_bytes() {
            return None;
        }
        let (epochs, bytes) = bytes.split_first_chunk()?;
        let (errors, bytes) = bytes.split_at_checked(8 * u32::from_le_bytes(*epochs) as usize)?;
        let (visits, weights) = bytes.split_at_checked(4 * map.len())?;
        let each = if part.round == Round::Vectors {
            map.set.vector_size()
        } else {
            1
        };
        (weights.len() == visits.len() * each).then(|| Learned {
            errors: errors
                .as_chunks()
                .0
                .iter()
                .map(|&bytes| u64::from_le_bytes(bytes))
                .collect(),
            weights: weights
                .as_chunks()
                .0
                .iter()
                .map(|&bytes| i32::from_le_bytes(bytes))
                .collect(),
            visits: visits
                .as_chunks()
                .0
                .iter()
                .map(|&bytes| u32::from_le_bytes(bytes))
                .collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::task::TrainConfig;
    use super::*;
    use crate::artifact::Registry;
    use crate::engine::{Number, Pattern, PatternKind, PatternSet, VectorShape};
    use crate::generation::Generation;
    use crate::pipeline::fixtures::default_table;
    use std::sync::Arc;

    /// A set with two slots and vectors of two components.
    fn parity() -> PatternSet {
        let parity = Pattern {
            name: "PARITY".into(),
            kind: PatternKind::Number(Number::Parity),
        };
        let set = PatternSet::new("test", vec![parity], vec![60]).unwrap();
        set.with_vectors(VectorShape {
            size: 2,
            ..VectorShape::none()
        })
        .unwrap()
    }

    /// A part of the weights of a phase, or of vectors.
    fn part(number: u32, round: Round) -> TrainPart {
        TrainPart {
            number,
            round,
            phases: 0..1,
            empties: 0..=60,
        }
    }

    /// Asks for something of the checkpoints of a training with two epochs.
    fn with_checkpoint<T>(folder: &Path, step: &[u8], ask: impl FnOnce(&Checkpoint) -> T) -> T {
        let task: TrainTask = TrainTask {
            config: default_table::<TrainConfig>()
                .with(|config| {
                    (config.epochs, config.fraction_bits, config.vectors.epochs) = (2, 0, 3);
                })
                .unwrap(),
            seed: 1,
            generation: Generation::FIRST,
            features: Arc::new(parity()),
            datasets: Vec::new(),
            parent: None,
            registry: Registry::new(folder),
            memory: 0,
        };
        ask(&Checkpoint::new(&task, ContentHash::of(step)))
    }

    fn learned(epochs: u64) -> Learned {
        Learned {
            weights: vec![1, -2],
            visits: vec![7, u32::MAX],
            errors: (0..epochs).collect(),
        }
    }

    #[test]
    fn only_a_sound_checkpoint_of_the_same_step_and_part_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let (set, [first, second]) = (parity(), [1, 2].map(|number| part(number, Round::Phases)));
        let map = SlotMap::new(&set);
        with_checkpoint(folder.path(), b"step", |checkpoint| {
            assert_eq!(checkpoint.read(&second, &map).unwrap(), None);
            checkpoint.write(&second, &learned(0)).unwrap();
            assert_eq!(
                checkpoint.read(&second, &map).unwrap(),
                None,
                "it has learned nothing"
            );
            checkpoint.write(&second, &learned(2)).unwrap();
            assert_eq!(checkpoint.read(&second, &map).unwrap(), Some(learned(2)));
            assert_eq!(
                checkpoint.read(&part(2, Round::Vectors), &map).unwrap(),
                None,
                "it has too few components"
            );
            assert_eq!(checkpoint.read(&first, &map).unwrap(), None);
            assert_eq!(
                with_checkpoint(folder.path(), b"other", |other| other.read(&second, &map))
                    .unwrap(),
                None
            );
            let path = checkpoint.path(&second);
            publish_bytes(&checkpoint.path(&first), &std::fs::read(&path).unwrap()).unwrap();
            assert_eq!(
                checkpoint.read(&first, &map).unwrap(),
                None,
                "it is that of part 2"
            );
            let sound = std::fs::read(&path).unwrap();
            for byte in 0..sound.len() {
                let mut bytes = sound.clone();
                bytes[byte] ^= 1;
                publish_bytes(&path, &bytes).unwrap();
                assert_eq!(checkpoint.read(&second, &map).unwrap(), None, "byte {byte}");
            }
            // What the system refuses to read is an error, and not a missing checkpoint.
            remove_file(&path).unwrap();
            std::os::unix::fs::symlink("part-00002", &path).unwrap();
            assert!(checkpoint.read(&second, &map).is_err());
            checkpoint.remove().unwrap();
            checkpoint.remove().unwrap();
        });
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_part_that_is_behind_never_replaces_a_finished_one() {
        let folder = tempfile::tempdir().unwrap();
        let (set, part) = (parity(), part(0, Round::Wide));
        let map = SlotMap::new(&set);
        with_checkpoint(folder.path(), b"step", |checkpoint| {
            let found = || {
                (
                    checkpoint.read(&part, &map).unwrap(),
                    checkpoint.finished(&part, &map).unwrap(),
                )
            };
            checkpoint.write(&part, &learned(1)).unwrap();
            assert_eq!(found(), (Some(learned(1)), None));
            checkpoint.write(&part, &learned(2)).unwrap();
            assert!(!checkpoint.begun_path(&part).exists());
            checkpoint.write(&part, &learned(1)).unwrap();
            assert_eq!(found(), (Some(learned(2)), Some(learned(2))));
            // Its bytes under the name of a finished part do not make it one.
            std::fs::rename(checkpoint.begun_path(&part), checkpoint.path(&part)).unwrap();
            assert_eq!(found(), (None, None));
        });
    }

    #[test]
    fn what_no_part_can_have_learned_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let set = parity();
        let map = SlotMap::new(&set);
        with_checkpoint(folder.path(), b"step", |checkpoint| {
            let read = |round: Round, learned: &Learned| {
                checkpoint.write(&part(0, round), learned).unwrap();
                checkpoint.read(&part(0, round), &map).unwrap().is_some()
            };
            let weights = |weights: &[i32]| Learned {
                weights: weights.to_vec(),
                ..learned(2)
            };
            assert!(read(Round::Refit, &weights(&[32_767, -32_767])));
            assert!(!read(Round::Refit, &weights(&[32_768, 0])));
            assert!(!read(Round::Refit, &weights(&[0, i32::MIN])));
            assert!(!read(Round::Refit, &weights(&[0, 0, 0])));
            assert!(!read(Round::Refit, &learned(3)));
            assert!(read(
                Round::Vectors,
                &Learned {
                    errors: vec![1, 2, 3],
                    ..weights(&[31 << 16, 0, -31 << 16, 1])
                }
            ));
            let beyond = Learned {
                errors: vec![1, 2, 3],
                ..weights(&[(31 << 16) + 1, 0, 0, 0])
            };
            assert!(!read(Round::Vectors, &beyond));
        });
    }
}
