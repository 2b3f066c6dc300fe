//! Training as parts, round after round. Each is a function of its rows and of what the parts that it needs have learned, so
//! those of a round run in any order, on any number of threads, and a stopped one resumes after its last epoch.

use super::blocks::Blocks;
use super::checkpoint::Checkpoint;
use super::delta::{Delta, Room, Weights};
use super::order::{Order, Shuffle};
use super::parts::{Learned, Part, Plan};
use super::queue::run_when_ready;
use super::rows::TrainingRow;
use super::slots::SlotMap;
use super::task::{EpochLoss, Round, TrainConfig, TrainTask, VECTOR_DECAY};
use super::vectors::{Vectors, random_vectors, subtract_pairs};
use crate::artifact::{ArtifactError, Model};
use crate::engine::eval::pairs::{FRACTION_BITS, SlotVectors, rounded};
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

/// What a part begins with.
pub(super) struct Initial<'a> {
    pub(super) model: &'a Model,
    /// Whether the model's vectors are to be continued.
    pub(super) has_vectors: bool,
}

/// A part at work.
enum Lesson<'a> {
    /// Weights, beside vectors that do not move.
    Weights {
        rule: Delta,
        weights: Weights<'a>,
        vectors: Option<SlotVectors>,
    },
    Vectors {
        vectors: Vectors<'a>,
        errors: Vec<u64>,
    },
}

impl Learner<'_> {
    /// Trains all parts from a model, on the threads of the current pool: the new model, and the mean error of each epoch of its
    /// weights and of its vectors.
    pub(super) fn run(&self, initial: &Initial<'_>) -> Result<(Model, [Vec<EpochLoss>; 2]), StageError> {
        let map = SlotMap::new(&self.task.features);
        let plan = Plan::new(&self.task.features, self.task.config);
        let parts: Vec<&Part> = plan.parts.iter().collect();
        let learned = self.learn_parts(initial, (&plan, &map), &parts, BTreeMap::new())?;
        let config = self.task.config;
        let unit = Score::in_millidiscs(f64::from(1_u32 << config.fraction_bits));
        let losses = self.losses(plan.last_round(), &learned, config.epochs, unit);
        let millidiscs = Score::in_millidiscs(1.0);
        let vectors = plan.round(Round::Vectors);
        let epochs = if vectors.clone().next().is_some() { config.vectors.epochs } else { 0 };
        let vector_losses = self.losses(vectors, &learned, epochs, millidiscs);
        Ok((self.model(initial, &plan, &learned, &map), [losses, vector_losses]))
    }

    /// Trains some parts of a plan as [`Learner::run`] does: what each has learned, by its number, beside what was `learned`
    /// before. That has all that they need, unless it is among `parts`.
    pub(super) fn learn_parts(
        &self,
        initial: &Initial<'_>,
        (plan, map): (&Plan, &SlotMap<'_>),
        parts: &[&Part],
        learned: BTreeMap<u32, Learned>,
    ) -> Result<BTreeMap<u32, Learned>, StageError> {
        struct State<'p> {
            learned: BTreeMap<u32, Learned>,
            waiting: Vec<&'p Part>,
        }
        impl<'p> State<'p> {
            /// Takes the parts that can begin.
            fn ready(&mut self, plan: &Plan) -> Vec<&'p Part> {
                let learned = &self.learned;
                let is_ready =
                    |part: &mut &'p Part| plan.needs(part).iter().all(|part| learned.contains_key(&part.number));
                self.waiting.extract_if(.., is_ready).collect()
            }
        }
        let mut state = State { learned, waiting: parts.to_vec() };
        let ready = state.ready(plan);
        let state = Mutex::new(state);
        let lock = || state.lock().unwrap_or_else(PoisonError::into_inner);
        let rows = |part: &&Part| self.rows.row_count(&part.empties);
        run_when_ready(ready, rows, |part| {
            let needed: BTreeMap<u32, Learned> = {
                let learned = &lock().learned;
                plan.needs(part).into_iter().map(|part| (part.number, learned[&part.number].clone())).collect()
            };
            let made = self.learn(part, (plan, map), initial, &needed)?;
            let mut state = lock();
            state.learned.insert(part.number, made);
            Ok::<_, StageError>(state.ready(plan))
        })?;
        Ok(state.into_inner().unwrap_or_else(PoisonError::into_inner).learned)
    }

    /// Row visits of the whole training.
    pub(super) fn visits(&self) -> u64 {
        self.visits_of(&Plan::new(&self.task.features, self.task.config).parts.iter().collect::<Vec<_>>())
    }

    /// Row visits of some parts.
    pub(super) fn visits_of(&self, parts: &[&Part]) -> u64 {
        let visits =
            |part: &&Part| u64::from(self.task.config.epochs_of(part.round)) * self.rows.row_count(&part.empties);
        parts.iter().map(visits).sum()
    }

    fn features(&self, phase: usize) -> Range<usize> {
        phase * self.task.features.feature_count()..(phase + 1) * self.task.features.feature_count()
    }

    fn inherited_weights(&self, initial: &Model, phase: usize, map: &SlotMap<'_>) -> Vec<i32> {
        let weights = map.gather(&initial.evaluation.weights()[self.features(phase)]);
        weights.into_iter().map(|weight| i32::from(weight) << self.task.config.fraction_bits).collect()
    }

    /// The vectors of a group that the model has.
    fn inherited_vectors(&self, initial: &Model, group: usize, map: &SlotMap<'_>) -> Vec<i32> {
        let (set, size) = (&self.task.features, self.task.features.vector_size());
        let vectors = &initial.evaluation.vectors()[group * set.feature_count() * size..][..set.feature_count() * size];
        let vectors: Vec<&[i8]> = vectors.chunks_exact(size).collect();
        let components = map.gather(&vectors).into_iter().flatten();
        components.map(|&component| i32::from(component) << FRACTION_BITS).collect()
    }

    /// The number of the group of phases that share the vectors of a part.
    fn group(&self, part: &Part) -> usize {
        let set = &self.task.features;
        set.group(set.phase_empties_max()[part.middle()])
    }

    /// What a part has learned before its first row.
    fn begin(
        &self,
        part: &Part,
        (plan, map): (&Plan, &SlotMap<'_>),
        initial: &Initial<'_>,
        needed: &BTreeMap<u32, Learned>,
    ) -> Learned {
        let of_phase = |round| plan.of_phase(round, part.phases.start).and_then(|part| needed.get(&part.number));
        let inherited = || self.inherited_weights(initial.model, part.middle(), map);
        let (weights, visits) = match part.round {
            Round::Wide => (inherited(), vec![0; map.len()]),
            Round::Phases => {
                let weights = of_phase(Round::Wide).map_or_else(inherited, |wide| wide.weights.clone());
                (weights, map.gather(&initial.model.visits[self.features(part.middle())]))
            }
            Round::Vectors => {
                let group = self.group(part);
                let vectors = match initial.has_vectors {
                    true => self.inherited_vectors(initial.model, group, map),
                    false => random_vectors(self.task.seed, group, &self.task.features, map),
                };
                (vectors, vec![0; map.len()])
            }
            Round::Refit => {
                let phase = of_phase(Round::Phases).expect("it needs the part of its phase");
                (phase.weights.clone(), phase.visits.clone())
            }
        };
        Learned { weights, visits, errors: Vec::new() }
    }

    /// What a part works on.
    fn lesson<'m>(
        &self,
        part: &Part,
        (plan, map): (&Plan, &'m SlotMap<'m>),
        initial: &Initial<'_>,
        needed: &BTreeMap<u32, Learned>,
        learned: Learned,
    ) -> Lesson<'m> {
        let (config, size) = (self.task.config, self.task.features.vector_size());
        if part.round == Round::Vectors {
            let weights = |phase: usize| {
                let needed = plan.of_phase(Round::Phases, phase).and_then(|part| needed.get(&part.number));
                needed.map(|phase| phase.weights.clone()).unwrap_or_default()
            };
            let vectors = Vectors {
                map,
                weights: (0..self.task.features.phase_count()).map(weights).collect(),
                fraction_bits: config.fraction_bits,
                vectors: SlotVectors::new(size, &learned.weights),
                visits: learned.visits,
            };
            return Lesson::Vectors { vectors, errors: learned.errors };
        }
        let vectors = match part.round {
            Round::Refit => {
                let vectors = plan.of_phase(Round::Vectors, part.phases.start).expect("every phase has a group");
                Some(self.shipped_vectors(initial, &needed[&vectors.number]))
            }
            _ if initial.has_vectors => Some(self.inherited_vectors(initial.model, self.group(part), map)),
            _ => None,
        };
        let vectors = vectors.map(|components| SlotVectors::new(size, &components));
        Lesson::Weights { rule: Delta::new(config), weights: Weights { map, learned, room: Room::default() }, vectors }
    }

    /// The components of vectors as the model will have them, in binary fractions: in whole units, and zero for slots that began at
    /// random and that no row has visited.
    fn shipped_vectors(&self, initial: &Initial<'_>, learned: &Learned) -> Vec<i32> {
        let size = self.task.features.vector_size();
        let vectors = learned.weights.chunks_exact(size).zip(&learned.visits);
        let shipped = vectors.flat_map(|(vector, &visits)| {
            let is_known = initial.has_vectors || 0 < visits;
            vector.iter().map(move |&component| if is_known { rounded(component) << FRACTION_BITS } else { 0 })
        });
        shipped.collect()
    }

    /// Learns the rows of a part as often as there are epochs.
    fn learn(
        &self,
        part: &Part,
        (plan, map): (&Plan, &SlotMap<'_>),
        initial: &Initial<'_>,
        needed: &BTreeMap<u32, Learned>,
    ) -> Result<Learned, StageError> {
        assert!(
            part.empties.clone().all(|empties| self.rows.keeps(empties)),
            "the rows of part {} were read",
            part.number
        );
        let count = self.rows.row_count(&part.empties);
        let found = self.checkpoint.as_ref().map(|checkpoint| checkpoint.read(part, map)).transpose()?;
        let learned = found.flatten().inspect(|resumed| {
            self.context.progress.resume(count * resumed.errors.len() as u64);
        });
        let learned = learned.unwrap_or_else(|| self.begin(part, (plan, map), initial, needed));
        let mut lesson = self.lesson(part, (plan, map), initial, needed, learned);
        let epochs = self.task.config.epochs_of(part.round);
        let mut unsaved = 0;
        for epoch in lesson.errors().len() as u32..epochs {
            if self.context.is_ending() {
                self.save(part, &lesson)?;
                self.context.check_budget()?;
            }
            let errors = self.epoch(part, epoch, &mut lesson)?;
            lesson.errors().push(errors);
            unsaved += count;
            if ROWS_BETWEEN_CHECKPOINTS <= unsaved || epoch + 1 == epochs {
                self.save(part, &lesson)?;
                unsaved = 0;
            }
        }
        Ok(lesson.into_learned())
    }

    fn epoch(&self, part: &Part, epoch: u32, lesson: &mut Lesson<'_>) -> Result<u64, StageError> {
        let config = self.task.config;
        let shuffle = self.task.config.shuffle.then_some(Shuffle { seed: self.task.seed, part: part.number, epoch });
        let order = Order::new(self.rows, &part.empties, shuffle);
        let check = || self.context.check();
        let frozen = lesson.frozen();
        let read = |group: usize, rows: &mut Vec<TrainingRow>| -> Result<(), StageError> {
            order.read(self.rows, &part.empties, group, rows, check)?;
            if let Some((map, vectors)) = &frozen {
                subtract_pairs(map, vectors, rows);
            }
            Ok(())
        };
        let mut learn = |rows: &[TrainingRow]| -> Result<u64, StageError> {
            let mut errors = 0;
            for rows in rows.chunks(ROWS_BETWEEN_CHECKS) {
                check()?;
                errors += lesson.learn(config, epoch, rows);
                self.context.progress.advance(rows.len() as u64);
            }
            Ok(errors)
        };
        let (mut rows, mut next, mut errors) = (Vec::new(), Vec::new(), 0);
        read(0, &mut rows)?;
        for next_group in 1..=order.groups.len() {
            // A thread that has nothing else to do reads the next group.
            let (learned, read) = rayon::join(|| learn(&rows), || read(next_group, &mut next));
            errors += learned?;
            read?;
            std::mem::swap(&mut rows, &mut next);
        }
        Ok(errors)
    }

    fn save(&self, part: &Part, lesson: &Lesson<'_>) -> Result<(), ArtifactError> {
        let Some(checkpoint) = &self.checkpoint else { return Ok(()) };
        match lesson {
            Lesson::Weights { weights, .. } => checkpoint.write(part, &weights.learned),
            Lesson::Vectors { vectors, errors } => checkpoint.write(part, &vectors.learned(errors)),
        }
    }

    /// The model of learned parts: weights rounded to multiples of the quantum, halves away from zero.
    fn model(&self, initial: &Initial<'_>, plan: &Plan, learned: &BTreeMap<u32, Learned>, map: &SlotMap<'_>) -> Model {
        let quantum = self.task.config.quantum;
        let unit = f64::from(quantum << self.task.config.fraction_bits);
        let most = i32::from(self.task.features.weight_max()) / quantum;
        let round = |&weight: &i32| (((f64::from(weight) / unit).round() as i32).clamp(-most, most) * quantum) as i16;
        let (mut weights, mut visits, mut vectors) = (Vec::new(), Vec::new(), Vec::new());
        for phase in plan.last_round().map(|part| &learned[&part.number]) {
            let rounded: Vec<i16> = phase.weights.iter().map(round).collect();
            weights.extend(map.spread(&rounded));
            visits.extend(map.at_canonical(&phase.visits));
        }
        for group in plan.round(Round::Vectors).map(|part| &learned[&part.number]) {
            let components: Vec<i8> = self
                .shipped_vectors(initial, group)
                .iter()
                .map(|component| (component >> FRACTION_BITS) as i8)
                .collect();
            let by_slot: Vec<&[i8]> = components.chunks_exact(map.vector_size()).collect();
            vectors.extend(map.spread(&by_slot).flatten());
        }
        let set = Arc::clone(&self.task.features);
        Model::draft(Evaluation::with_vectors(set, weights, vectors).expect("mirrors share a slot"), visits)
    }

    /// The mean error of each epoch over the rows of all parts, before each row's update.
    fn losses<'p>(
        &self,
        parts: impl Iterator<Item = &'p Part> + Clone,
        learned: &BTreeMap<u32, Learned>,
        epochs: u32,
        unit: f64,
    ) -> Vec<EpochLoss> {
        let rows: u64 = parts.clone().map(|part| self.rows.row_count(&part.empties)).sum();
        let errors =
            |epoch: usize| parts.clone().map(|part| u128::from(learned[&part.number].errors[epoch])).sum::<u128>();
        (0..epochs as usize).map(|epoch| EpochLoss { mae: errors(epoch) as f64 / unit / rows.max(1) as f64 }).collect()
    }
}

impl<'a> Lesson<'a> {
    /// The errors of the epochs that are done.
    fn errors(&mut self) -> &mut Vec<u64> {
        match self {
            Self::Weights { weights, .. } => &mut weights.learned.errors,
            Self::Vectors { errors, .. } => errors,
        }
    }

    /// The vectors beside which weights are learned.
    fn frozen(&self) -> Option<(&'a SlotMap<'a>, SlotVectors)> {
        match self {
            Self::Weights { weights, vectors, .. } => vectors.clone().map(|vectors| (weights.map, vectors)),
            Self::Vectors { .. } => None,
        }
    }

    fn learn(&mut self, config: &TrainConfig, epoch: u32, rows: &[TrainingRow]) -> u64 {
        // The share of the error by which a weight moves.
        let decayed = |ratio: f64, decay: f64| (0..epoch).fold(ratio, |ratio, _| ratio * decay);
        match self {
            Self::Weights { rule, weights, .. } => {
                let visits = if epoch == 0 { config.epochs } else { 0 };
                rule.learn(weights, rows, decayed(config.ratio, config.ratio_decay), visits)
            }
            Self::Vectors { vectors, .. } => vectors.learn(rows, decayed(config.vectors.ratio, VECTOR_DECAY)),
        }
    }

    fn into_learned(self) -> Learned {
        match self {
            Self::Weights { weights, .. } => weights.learned,
            Self::Vectors { vectors, errors } => vectors.learned(&errors),
        }
    }
}
