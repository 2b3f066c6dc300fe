//! Training as shards: some of its parts at a time, in any number of processes that share the
//! registry's folder. What they learn stays there as checkpoints, and `train` begins where they
//! ended.

use super::checkpoint::Checkpoint;
use super::learner::Learner;
use super::parts::{Learned, LearnedParts, TrainPart, TrainPlan};
use super::recipe::{Initial, contents, open_datasets, step};
use super::rows::read_some_rows;
use super::slots::SlotMap;
use super::task::{FACTS, Round, TrainConfig, TrainTask};
use crate::artifact::publish::create_folder;
use crate::artifact::publish::temporary::sweep;
use crate::artifact::{ArtifactError, ContentHash, Dataset};
use crate::engine::{EMPTIES_MAX, PatternSet};
use crate::pipeline::parts::{MadeAgain, PartsProgress, PartsReport, Shards};
use crate::pipeline::{Context, StageError};
use crate::random::{Stream, number_below};
use std::ops::Range;
use std::sync::atomic::AtomicBool;

/// A training whose parts any number of processes learn. Those of a round are wanted once the round
/// before is there.
pub struct TrainShards<'a> {
    task: &'a TrainTask,
    datasets: Vec<Dataset>,
    step: ContentHash,
    plan: TrainPlan,
    map: SlotMap<'a>,
    checkpoint: Checkpoint,
}

impl Shards for TrainShards<'_> {
    /// Only the checkpoints are read. If the model is published, no part need be learned.
    fn progress(&self, _ahead: usize, _context: Context<'_>) -> Result<PartsProgress, StageError> {
        let parts = &self.plan.parts;
        let done = if self.is_published()? {
            vec![true; parts.len()]
        } else {
            self.done()?
        };
        let first = parts.iter().zip(&done).find(|(_, is_done)| !**is_done);
        let is_early = |part: &TrainPart| first.is_some_and(|(first, _)| first.round < part.round);
        Ok(PartsProgress {
            wanted: 0..parts.partition_point(|part| !is_early(part)),
            done,
        })
    }

    /// Learns the `wanted` parts, as far as they are not finished, and leaves them as checkpoints
    /// in the registry's folder. Only the rows that they need are kept in memory.
    ///
    /// Any number of such calls may share a registry, on many machines, also for the same parts and
    /// while [`train`](super::run::train) works on the same training: a finished part has the same
    /// bytes whoever learned it. A call that is still at work when the model is published leaves
    /// checkpoints behind, which the next training in the registry removes.
    ///
    /// # Errors
    ///
    /// [`StageError::TooEarly`] if a part is wanted before one that it needs is finished; otherwise
    /// as [`train`](super::run::train). Finished parts stay.
    fn make(&self, wanted: Range<usize>, context: Context<'_>) -> Result<PartsReport, StageError> {
        if self.is_published()? {
            return Ok(PartsReport::skipped());
        }
        create_folder(self.task.registry.folder())?;
        sweep(self.task.registry.folder())?;
        sweep(&self.checkpoint.folder)?;
        let mut missing = Vec::new();
        for part in self.parts(wanted)? {
            context.check()?;
            if self.finished(part)?.is_none() {
                missing.push(part);
            }
        }
        if missing.is_empty() {
            return Ok(PartsReport::skipped());
        }
        context.check_budget()?;
        let (updates, _) = self.learn(&missing, Some(self.checkpoint.clone()), context)?;
        let made = [("parts", missing.len() as u64), ("updates", updates)].into();
        Ok(PartsReport {
            skipped: false,
            made,
        })
    }

    fn check(&self, seed: u64, context: Context<'_>) -> Result<MadeAgain, StageError> {
        let count = self.check_phase(seed, context)?.map_or(0, |_| 1);
        Ok(MadeAgain {
            unit: "phases",
            count,
            of: self.plan.round(Round::Phases).count() as u64,
            seed,
        })
    }
}

impl<'a> TrainShards<'a> {
    /// Opens the datasets of a task.
    ///
    /// # Errors
    ///
    /// No dataset, or a missing or damaged one.
    pub fn new(task: &'a TrainTask) -> Result<Self, StageError> {
        let datasets = open_datasets(task)?;
        let step = step(task, &contents(&datasets)).id;
        let plan = TrainPlan::new(&task.features, &task.config);
        let (map, checkpoint) = (SlotMap::new(&task.features), Checkpoint::new(task, step));
        Ok(Self {
            task,
            datasets,
            step,
            plan,
            map,
            checkpoint,
        })
    }

    /// Learns the weights of one phase again, drawn by a seed, and the wide part from which they
    /// begin, and compares: the number of the phase's part, or `None` if the model is published
    /// already.
    ///
    /// Anyone can make the hash of a checkpoint, so checkpoints are as honest as the processes that
    /// wrote them. If a share q of the phases has other weights than one training would give them,
    /// this finds it with probability q; a false wide part makes the phases false that begin from
    /// it. The vectors are trusted: all rows of their group would have to be learned again.
    ///
    /// # Errors
    ///
    /// [`StageError::Unfinished`] with the first part that is not finished; a part that has learned
    /// something else, with its file; otherwise as [`train`](super::run::train).
    pub fn check_phase(
        &self,
        sample_seed: u64,
        context: Context<'_>,
    ) -> Result<Option<usize>, StageError> {
        if self.is_published()? {
            return Ok(None);
        }
        if let Some(part) = self.done()?.iter().position(|is_done| !is_done) {
            return Err(StageError::Unfinished {
                part,
                folder: self.checkpoint.folder.clone(),
            });
        }
        let count = self.plan.round(Round::Phases).count();
        let phase = number_below(sample_seed, Stream::Remake, b"phase", count as u64) as usize;
        let rounds = [Round::Wide, Round::Phases, Round::Refit];
        let parts: Vec<&TrainPart> = rounds
            .into_iter()
            .filter_map(|round| self.plan.of_phase(round, phase))
            .collect();
        let (_, learned) = self.learn(&parts, None, context)?;
        for part in parts {
            if self.finished(part)?.as_ref() != Some(&learned[&part.number]) {
                // Another process has published the model meanwhile, and removed the parts.
                if self.is_published()? {
                    return Ok(None);
                }
                return Err(self.false_part(part));
            }
        }
        Ok(self
            .plan
            .of_phase(Round::Phases, phase)
            .map(|part| part.number as usize))
    }

    fn is_published(&self) -> Result<bool, ArtifactError> {
        Ok(self.task.registry.made_by(self.step)?.is_some())
    }

    /// Which parts are finished, by number.
    fn done(&self) -> Result<Vec<bool>, ArtifactError> {
        self.plan
            .parts
            .iter()
            .map(|part| Ok(self.finished(part)?.is_some()))
            .collect()
    }

    /// The parts with these numbers.
    fn parts(&self, wanted: Range<usize>) -> Result<Vec<&TrainPart>, StageError> {
        let parts = &self.plan.parts;
        let found = parts
            .get(wanted.clone())
            .map(|parts| parts.iter().collect());
        found.ok_or_else(|| {
            let Range { start, end } = wanted;
            let count = parts.len();
            StageError::Setting(format!(
                "the training has {count} parts: it has no parts from {start} to before {end}"
            ))
        })
    }

    fn finished(&self, part: &TrainPart) -> Result<Option<Learned>, ArtifactError> {
        self.checkpoint.finished(part, &self.map)
    }

    /// What parts need, except what is among them.
    fn needed_by(&self, parts: &[&TrainPart]) -> Result<LearnedParts, StageError> {
        let mut learned = LearnedParts::new();
        for part in parts {
            for needed in self.plan.needs(part) {
                if parts.contains(&needed) || learned.contains_key(&needed.number) {
                    continue;
                }
                let found = self.finished(needed)?.ok_or_else(|| StageError::TooEarly {
                    part: part.number as usize,
                    needed: needed.number as usize,
                    folder: self.checkpoint.folder.clone(),
                })?;
                learned.insert(needed.number, found);
            }
        }
        Ok(learned)
    }

    /// Learns parts: their row visits, and what each has learned.
    fn learn(
        &self,
        parts: &[&TrainPart],
        checkpoint: Option<Checkpoint>,
        context: Context<'_>,
    ) -> Result<(u64, LearnedParts), StageError> {
        // They are kept in memory from here on: another process may publish the model and remove
        // them.
        let needed = self.needed_by(parts)?;
        let Self {
            task, plan, map, ..
        } = self;
        let initial = &Initial::new(task)?;
        context.pool()?.install(|| {
            let kept = parts.iter().map(|part| part.empties.clone()).collect();
            let set = read_some_rows(task, &self.datasets, kept, context)?;
            let learner = Learner {
                task,
                plan,
                map,
                initial,
                rows: &set.training,
                checkpoint,
                context,
                has_learned: AtomicBool::new(false),
            };
            let visits = learner.visits(parts.iter().copied());
            let learn = || learner.learn_parts(parts.to_vec(), needed);
            Ok((visits, context.observe(FACTS.name, visits, "rows", learn)?))
        })
    }

    fn false_part(&self, part: &TrainPart) -> StageError {
        let is_needed = self
            .plan
            .parts
            .iter()
            .any(|other| self.plan.needs(other).contains(&part));
        let remedy = if is_needed {
            format!(
                "other parts began from it: remove {} and run all shards again",
                self.checkpoint.folder.display()
            )
        } else {
            "remove it and run its shard again".to_owned()
        };
        let reason = format!(
            "learning part {} again gives other weights\n{remedy}",
            part.number
        );
        ArtifactError::damaged(&self.checkpoint.path(part), reason).into()
    }
}

/// About how often each part of a training on this number of rows visits one of them, as if every
/// number of empty squares from 1 to 60 had equally many rows.
pub fn visits_of_parts(features: &PatternSet, config: &TrainConfig, rows: u64) -> Vec<u64> {
    visits_of_rounds(features, config, rows).concat()
}

/// The same, round after round: once the parts of a round are learned, those of the next can be
/// learned in any order.
pub fn visits_of_rounds(features: &PatternSet, config: &TrainConfig, rows: u64) -> Vec<Vec<u64>> {
    let visits = |part: &TrainPart| {
        let (least, most) = (config.empties_min.max(1), config.empties_max);
        let learned = part
            .empties
            .clone()
            .filter(|empties| (least..=most).contains(empties))
            .count();
        let visits = u128::from(rows) * learned as u128 * u128::from(config.epochs_of(part.round))
            / u128::from(EMPTIES_MAX);
        u64::try_from(visits).unwrap_or(u64::MAX)
    };
    let parts = TrainPlan::new(features, config).parts;
    let rounds = parts.chunk_by(|left, right| left.round == right.round);
    rounds
        .map(|round| round.iter().map(visits).collect())
        .collect()
}
