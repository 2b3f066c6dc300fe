//! The clipped delta rule: every weight of a position moves by the same truncated share of the error.
//!
//! Mirrors share the slot of their canonical configuration, so they can never differ. The published C code of the rule
//! behaves otherwise: its mirror table for short diagonals is wrong, and it refreshes only the index just visited.

use super::checkpoint::Checkpoint;
use super::rows::{TrainingRow, TrainingSet};
use super::task::TrainConfig;
use crate::artifact::error::ArtifactError;
use crate::artifact::model::version::Model;
use crate::artifact::model::weights_file::spread;
use crate::engine::eval::evaluation::Evaluation;
use crate::engine::eval::features::{FeatureIndex, FeatureVisitor, visit_features};
use crate::engine::eval::pattern_set::{INSTANCES_MAX, PatternSet};
use crate::pipeline::{Context, StageError};
use crate::random::{Stream, stream};
use rayon::prelude::{IndexedParallelIterator, IntoParallelRefMutIterator, ParallelIterator};
use std::sync::Arc;

/// Rows between two checks of the stop flag.
const ROWS_BETWEEN_CHECKS: usize = 1 << 16;

/// The weights of one phase and the rows that train them.
struct PhaseLearner {
    weights: Vec<i16>, // [feature], current at canonical features only
    visits: Vec<u32>,  // [feature], counted at canonical features only
    rows: Vec<u32>,    // indices into the training rows, in order
}

/// Phases share no weight, so each is trained by one thread, row after row.
pub(super) struct Learner<'a> {
    set: Arc<PatternSet>,
    config: &'a TrainConfig,
    seed: u64,
    rows: &'a [TrainingRow],
    phases: Vec<PhaseLearner>,
}

impl<'a> Learner<'a> {
    pub(super) fn new(
        model: Model,
        config: &'a TrainConfig,
        seed: u64,
        set: &'a TrainingSet,
        context: Context<'_>,
    ) -> Result<Self, StageError> {
        let pattern_set = Arc::clone(model.evaluation.set());
        let count = pattern_set.feature_count();
        let weights = model.evaluation.weights().chunks_exact(count);
        let mut phases: Vec<PhaseLearner> = weights
            .zip(model.visits.chunks_exact(count))
            .map(|(weights, visits)| PhaseLearner { weights: weights.into(), visits: visits.into(), rows: Vec::new() })
            .collect();
        let mut places = 0..;
        for rows in set.training.chunks(ROWS_BETWEEN_CHECKS) {
            context.check()?;
            for (row, place) in rows.iter().zip(&mut places) {
                phases[pattern_set.phase(row.position.empties())].rows.push(place);
            }
        }
        Ok(Self { set: pattern_set, config, seed, rows: &set.training, phases })
    }

    /// Runs all epochs on the threads of the current pool, except those that a checkpoint already contains.
    pub(super) fn run(&mut self, checkpoint: Option<&Checkpoint>, context: Context<'_>) -> Result<(), StageError> {
        let epochs_done = checkpoint.map_or(Ok(0), |checkpoint| self.restore(checkpoint))?;
        let Self { set, config, seed, rows, phases } = self;
        phases.par_iter_mut().try_for_each(|learner| learner.count_visits(set, rows, config.epochs, context))?;
        let mut ratio = config.ratio;
        for epoch in 0..config.epochs {
            phases.par_iter_mut().enumerate().try_for_each(|(phase, learner)| {
                if config.shuffle {
                    let purpose = Stream::Shuffle(epoch * set.phase_count() as u32 + phase as u32);
                    stream(*seed, purpose).shuffle(&mut learner.rows, || context.check())?;
                }
                // Each order is a shuffle of the one before it, so the epochs that are done are shuffled too.
                if epoch < epochs_done {
                    return Ok(());
                }
                learner.epoch(set, rows, ratio, config.clip, context)
            })?;
            ratio *= config.ratio_decay;
            if epoch < epochs_done {
                context.progress.resume(1);
            } else {
                context.progress.advance(1, rows.len() as u64);
            }
            if let Some(checkpoint) = checkpoint.filter(|_| epochs_done <= epoch && epoch + 1 < config.epochs) {
                checkpoint.write(epoch + 1, phases.iter().flat_map(|phase| phase.weights.iter().copied()))?;
                context.check_budget()?;
            }
        }
        Ok(())
    }

    /// Loads the weights of a checkpoint, if there is one; returns the number of epochs that it contains.
    fn restore(&mut self, checkpoint: &Checkpoint) -> Result<u32, ArtifactError> {
        let count = self.phases.iter().map(|phase| phase.weights.len()).sum();
        let Some((epochs, weights)) = checkpoint.read(count)? else { return Ok(0) };
        let mut rest = &weights[..];
        for phase in &mut self.phases {
            let (own, others) = rest.split_at(phase.weights.len());
            phase.weights.copy_from_slice(own);
            rest = others;
        }
        Ok(epochs)
    }

    pub(super) fn into_model(self) -> Model {
        let mut weights = self.phases.iter().flat_map(|phase| phase.weights.iter().copied()).collect::<Vec<i16>>();
        let visits = self.phases.into_iter().flat_map(|phase| phase.visits).collect();
        spread(&self.set, &mut weights);
        let evaluation = Evaluation::new(self.set, weights).expect("mirrors were just made equal");
        Model::draft(evaluation, visits)
    }
}

impl PhaseLearner {
    /// Counts the visits of all epochs at once: each visits the same rows.
    fn count_visits(
        &mut self,
        set: &PatternSet,
        rows: &[TrainingRow],
        epochs: u32,
        context: Context<'_>,
    ) -> Result<(), StageError> {
        let mut slots = Slots::new(set);
        for places in self.rows.chunks(ROWS_BETWEEN_CHECKS) {
            context.check()?;
            for &place in places {
                slots.count = 0;
                visit_features(set, rows[place as usize].position, &mut slots);
                for &slot in slots.as_slice() {
                    let visits = &mut self.visits[slot as usize];
                    *visits = visits.saturating_add(epochs);
                }
            }
        }
        Ok(())
    }

    fn epoch(
        &mut self,
        set: &PatternSet,
        rows: &[TrainingRow],
        ratio: f64,
        clip: i32,
        context: Context<'_>,
    ) -> Result<(), StageError> {
        let mut slots = Slots::new(set);
        for places in self.rows.chunks(ROWS_BETWEEN_CHECKS) {
            context.check()?;
            for &place in places {
                let row = &rows[place as usize];
                slots.count = 0;
                visit_features(set, row.position, &mut slots);
                let slots = slots.as_slice();
                let value: i32 = slots.iter().map(|&slot| i32::from(self.weights[slot as usize])).sum();
                // The product of doubles cut toward zero, as a C cast does.
                let step = (f64::from(row.target - value) * ratio) as i32;
                for &slot in slots {
                    let weight = &mut self.weights[slot as usize];
                    *weight = (i32::from(*weight) + step).clamp(-clip, clip) as i16;
                }
            }
        }
        Ok(())
    }
}

/// Instances and a few parity patterns.
const SLOTS_MAX: usize = INSTANCES_MAX + 8;

/// The canonical features of a position.
struct Slots<'a> {
    canonical: &'a [u32],
    count: usize,
    slots: [u32; SLOTS_MAX],
}

impl<'a> Slots<'a> {
    #[inline]
    fn new(set: &'a PatternSet) -> Self {
        Self { canonical: set.canonical(), count: 0, slots: [0; SLOTS_MAX] }
    }

    #[inline]
    fn as_slice(&self) -> &[u32] {
        &self.slots[..self.count]
    }
}

impl FeatureVisitor for Slots<'_> {
    #[inline]
    fn visit(&mut self, FeatureIndex(index): FeatureIndex) {
        self.slots[self.count] = self.canonical[index];
        self.count += 1;
    }
}
