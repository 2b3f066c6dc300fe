//! Training as parts: wide ones first, then one per phase. Each is a function of its rows and of the weights with which it
//! begins, so they run in any order, on any number of threads, and a stopped one resumes after its last epoch.

use super::blocks::Blocks;
use super::checkpoint::Checkpoint;
use super::delta::{Delta, Room, Weights};
use super::order::{Order, Shuffle};
use super::parts::{Learned, Part, Plan};
use super::queue::run_when_ready;
use super::rows::TrainingRow;
use super::slots::SlotMap;
use super::task::{EpochLoss, TrainTask};
use crate::artifact::{ArtifactError, Model};
use crate::engine::{Evaluation, Score};
use crate::pipeline::{Context, StageError};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Rows between two checks of the stop flag.
const ROWS_BETWEEN_CHECKS: usize = 1 << 16;

/// A checkpoint is written at the end of the first epoch after this number of rows.
const ROWS_BETWEEN_CHECKPOINTS: u64 = 4_000_000;

/// A training at work.
pub(super) struct Learner<'a> {
    pub(super) task: &'a TrainTask<'a>,
    pub(super) rows: &'a Blocks<TrainingRow>,
    pub(super) checkpoint: Option<Checkpoint>,
    pub(super) context: Context<'a>,
}

impl Learner<'_> {
    /// Trains all parts from the weights and visits of a model, on the threads of the current pool: the new model, and the
    /// mean error of each epoch of the phases.
    pub(super) fn run(&self, initial: &Model) -> Result<(Model, Vec<EpochLoss>), StageError> {
        let map = SlotMap::new(&self.task.features);
        let plan = Plan::new(&self.task.features, self.task.config);
        let mut learned = self.learn_parts(initial, (&plan, &map), &plan.parts(), BTreeMap::new())?;
        let phases: Vec<Learned> = learned.split_off(&(plan.wide.len() as u32)).into_values().collect();
        Ok((self.model(&phases, &map), self.losses(&plan.phases, &phases)))
    }

    /// Trains some parts of a plan as [`Learner::run`] does: what each has learned, by its number, beside the wide parts that
    /// were `learned` before. Those have all from which the others begin, unless they are among `parts`.
    pub(super) fn learn_parts(
        &self,
        initial: &Model,
        (plan, map): (&Plan, &SlotMap<'_>),
        parts: &[&Part],
        learned: BTreeMap<u32, Learned>,
    ) -> Result<BTreeMap<u32, Learned>, StageError> {
        let wide_of = |part: &Part| plan.wide_of(part).filter(|wide| parts.contains(wide));
        let (later, ready): (Vec<&Part>, Vec<&Part>) = parts.iter().partition(|part| wide_of(part).is_some());
        let learned = Mutex::new(learned);
        let lock = || learned.lock().unwrap_or_else(PoisonError::into_inner);
        let rows = |part: &&Part| self.rows.row_count(&part.empties);
        run_when_ready(ready, rows, |part| {
            let begin = || {
                let wide = plan.wide_of(part).map(|wide| lock()[&wide.number].weights.clone());
                let visits = match plan.is_wide(part) {
                    true => vec![0; map.len()],
                    false => map.gather(&initial.visits[self.features(part.middle())]),
                };
                let weights = wide.unwrap_or_else(|| self.inherited_weights(initial, part.middle(), map));
                Learned { weights, visits, errors: Vec::new() }
            };
            let made = self.learn(part, map, begin)?;
            lock().insert(part.number, made);
            Ok::<_, StageError>(later.iter().copied().filter(|phase| plan.wide_of(phase) == Some(part)).collect())
        })?;
        Ok(learned.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Row visits of the whole training.
    pub(super) fn visits(&self) -> u64 {
        self.visits_of(&Plan::new(&self.task.features, self.task.config).parts())
    }

    /// Row visits of some parts.
    pub(super) fn visits_of(&self, parts: &[&Part]) -> u64 {
        u64::from(self.task.config.epochs) * parts.iter().map(|part| self.rows.row_count(&part.empties)).sum::<u64>()
    }

    fn features(&self, phase: usize) -> Range<usize> {
        phase * self.task.features.feature_count()..(phase + 1) * self.task.features.feature_count()
    }

    fn inherited_weights(&self, initial: &Model, phase: usize, map: &SlotMap<'_>) -> Vec<i32> {
        let weights = map.gather(&initial.evaluation.weights()[self.features(phase)]);
        weights.into_iter().map(|weight| i32::from(weight) << self.task.config.fraction_bits).collect()
    }

    /// Learns the rows of a part as often as there are epochs.
    fn learn(&self, part: &Part, map: &SlotMap<'_>, begin: impl FnOnce() -> Learned) -> Result<Learned, StageError> {
        assert!(
            part.empties.clone().all(|empties| self.rows.keeps(empties)),
            "the rows of part {} were read",
            part.number
        );
        let count = self.rows.row_count(&part.empties);
        let found = self.checkpoint.as_ref().map(|checkpoint| checkpoint.read(part.number, map.len())).transpose()?;
        let learned = found.flatten().inspect(|resumed| {
            self.context.progress.resume(count * resumed.errors.len() as u64);
        });
        let rule = Delta::new(self.task.config);
        let mut weights = Weights { map, learned: learned.unwrap_or_else(begin), room: Room::default() };
        let mut unsaved = 0;
        for epoch in weights.learned.errors.len() as u32..self.task.config.epochs {
            if self.context.is_ending() {
                self.save(part, &weights.learned)?;
                self.context.check_budget()?;
            }
            let errors = self.epoch(part, epoch, rule, &mut weights)?;
            weights.learned.errors.push(errors);
            unsaved += count;
            if ROWS_BETWEEN_CHECKPOINTS <= unsaved || epoch + 1 == self.task.config.epochs {
                self.save(part, &weights.learned)?;
                unsaved = 0;
            }
        }
        Ok(weights.learned)
    }

    fn epoch(&self, part: &Part, epoch: u32, rule: Delta, weights: &mut Weights<'_>) -> Result<u64, StageError> {
        let config = self.task.config;
        // The share of the error by which a weight moves.
        let ratio = (0..epoch).fold(config.ratio, |ratio, _| ratio * config.ratio_decay);
        let visits = if epoch == 0 { self.task.config.epochs } else { 0 };
        let shuffle = self.task.config.shuffle.then_some(Shuffle { seed: self.task.seed, part: part.number, epoch });
        let order = Order::new(self.rows, &part.empties, shuffle);
        let check = || self.context.check();
        let mut learn = |rows: &[TrainingRow]| -> Result<u64, StageError> {
            let mut errors = 0;
            for rows in rows.chunks(ROWS_BETWEEN_CHECKS) {
                check()?;
                errors += rule.learn(weights, rows, ratio, visits);
                self.context.progress.advance(rows.len() as u64);
            }
            Ok(errors)
        };
        let (mut rows, mut next, mut errors) = (Vec::new(), Vec::new(), 0);
        order.read(self.rows, &part.empties, 0, &mut rows, check)?;
        for next_group in 1..=order.groups.len() {
            // A thread that has nothing else to do reads the next group.
            let (learned, read) =
                rayon::join(|| learn(&rows), || order.read(self.rows, &part.empties, next_group, &mut next, check));
            errors += learned?;
            read?;
            std::mem::swap(&mut rows, &mut next);
        }
        Ok(errors)
    }

    fn save(&self, part: &Part, learned: &Learned) -> Result<(), ArtifactError> {
        let checkpoint = self.checkpoint.as_ref().filter(|_| !learned.errors.is_empty());
        checkpoint.map_or(Ok(()), |checkpoint| checkpoint.write(part.number, learned))
    }

    /// The model of learned phases: weights rounded to multiples of the quantum, halves away from zero.
    fn model(&self, phases: &[Learned], map: &SlotMap<'_>) -> Model {
        let quantum = self.task.config.quantum;
        let unit = f64::from(quantum << self.task.config.fraction_bits);
        let most = i32::from(i16::MAX) / quantum;
        let round = |&weight: &i32| (((f64::from(weight) / unit).round() as i32).clamp(-most, most) * quantum) as i16;
        let (mut weights, mut visits) = (Vec::new(), Vec::new());
        for phase in phases {
            let rounded: Vec<i16> = phase.weights.iter().map(round).collect();
            weights.extend(map.spread(&rounded));
            visits.extend(map.at_canonical(&phase.visits));
        }
        let set = Arc::clone(&self.task.features);
        Model::draft(Evaluation::new(set, weights).expect("mirrors share a slot"), visits)
    }

    /// The mean error of each epoch over the rows of all phases, before each row's update.
    fn losses(&self, parts: &[Part], phases: &[Learned]) -> Vec<EpochLoss> {
        let rows: u64 = parts.iter().map(|part| self.rows.row_count(&part.empties)).sum();
        let unit = Score::in_millidiscs(f64::from(1_u32 << self.task.config.fraction_bits));
        let epochs = 0..self.task.config.epochs as usize;
        let errors = |epoch: usize| phases.iter().map(|phase| u128::from(phase.errors[epoch])).sum::<u128>();
        epochs.map(|epoch| EpochLoss { mae: errors(epoch) as f64 / unit / rows.max(1) as f64 }).collect()
    }
}
