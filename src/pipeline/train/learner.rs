//! Training as parts, round after round. Each is a function of its rows and of what the parts that
//! it needs have learned, so those of a round run in any order, on any number of threads, and a
//! stopped one resumes after its last epoch.

use super::blocks::Blocks;
use super::checkpoint::Checkpoint;
use super::delta::Weights;
use super::order::{Order, Shuffle};
use super::parts::{Learned, LearnedParts, TrainPart, TrainPlan};
use super::recipe::Initial;
use super::rows::TrainingRow;
use super::slots::SlotMap;
use super::task::{EpochLoss, Round, TrainConfig, TrainTask};
use super::vectors::{Vectors, random_vectors, subtract_pairs};
use crate::artifact::{ArtifactError, Model};
use crate::engine::eval::pairs::{FRACTION_BITS, SlotVectors, rounded};
use crate::engine::{Evaluation, Score};
use crate::pipeline::{Context, StageError};
use rayon::ScopeFifo;
use std::cmp::Reverse;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Rows between two checks of the stop flag.
const ROWS_BETWEEN_CHECKS: usize = 1 << 16;

/// A checkpoint is written at the end of the first epoch after this number of rows.
const ROWS_BETWEEN_CHECKPOINTS: u64 = 4_000_000;

/// A training at work.
pub struct Learner<'a> {
    pub task: &'a TrainTask,
    pub plan: &'a TrainPlan,
    pub map: &'a SlotMap<'a>,
    pub initial: &'a Initial,
    pub rows: &'a Blocks<TrainingRow>,
    pub checkpoint: Option<Checkpoint>,
    pub context: Context<'a>,
    /// Whether this call has learned an epoch.
    pub has_learned: AtomicBool,
}

/// Some parts while they are learned.
struct Work<'p> {
    learned: LearnedParts,
    waiting: Vec<&'p TrainPart>,
    error: Option<StageError>,
}

/// A part at work.
enum Lesson<'a> {
    Weights(Weights<'a>),
    Vectors(Vectors<'a>),
}

impl Learner<'_> {
    /// Trains all parts, on the threads of the current pool: the new model, and the mean error of
    /// each epoch of its weights and of its vectors.
    pub fn run(&self) -> Result<(Model, [Vec<EpochLoss>; 2]), StageError> {
        let learned = self.learn_parts(self.plan.parts.iter().collect(), LearnedParts::new())?;
        let rounds = [
            self.plan.last_round().next(),
            self.plan.round(Round::Vectors).next(),
        ];
        Ok((
            self.model(&learned),
            rounds.map(|first| self.losses(first, &learned)),
        ))
    }

    /// Trains some parts as [`Learner::run`] does: what each has learned, by its number, beside
    /// what was `learned` before. That has all that they need, unless it is among `parts`.
    ///
    /// # Errors
    ///
    /// The first error of a part; those that have not begun by then are dropped.
    pub fn learn_parts(
        &self,
        parts: Vec<&TrainPart>,
        learned: LearnedParts,
    ) -> Result<LearnedParts, StageError> {
        let work = Mutex::new(Work {
            learned,
            waiting: parts,
            error: None,
        });
        rayon::scope_fifo(|scope| self.begin_ready(&work, scope));
        let Work { learned, error, .. } = work.into_inner().unwrap_or_else(PoisonError::into_inner);
        error.map_or(Ok(learned), Err)
    }

    /// Begins all parts that wait for no other, the largest first, so that the threads end at about
    /// the same time.
    fn begin_ready<'s, 'p: 's>(&'s self, work: &'s Mutex<Work<'p>>, scope: &ScopeFifo<'s>) {
        let mut ready: Vec<&'p TrainPart> = {
            let Work {
                learned, waiting, ..
            } = &mut *lock(work);
            let is_learned = |part: &&TrainPart| learned.contains_key(&part.number);
            waiting
                .extract_if(.., |part| self.plan.needs(part).iter().all(is_learned))
                .collect()
        };
        ready.sort_by_key(|part| Reverse(self.rows.row_count(&part.empties)));
        for part in ready {
            scope.spawn_fifo(move |scope| {
                let needed = {
                    let Work {
                        learned,
                        error: None,
                        ..
                    } = &*lock(work)
                    else {
                        return;
                    };
                    let needs = self.plan.needs(part).into_iter();
                    needs
                        .map(|part| (part.number, learned[&part.number].clone()))
                        .collect()
                };
                match self.learn(part, &needed) {
                    Ok(made) => {
                        lock(work).learned.insert(part.number, made);
                        self.begin_ready(work, scope);
                    }
                    Err(error) => drop(lock(work).error.get_or_insert(error)),
                }
            });
        }
    }

    /// Row visits of some parts.
    pub fn visits<'p>(&self, parts: impl IntoIterator<Item = &'p TrainPart>) -> u64 {
        let visits = |part: &TrainPart| {
            u64::from(self.task.config.epochs_of(part.round)) * self.rows.row_count(&part.empties)
        };
        parts.into_iter().map(visits).sum()
    }

    fn features(&self, phase: usize) -> Range<usize> {
        phase * self.task.features.feature_count()..(phase + 1) * self.task.features.feature_count()
    }

    fn inherited_weights(&self, phase: usize) -> Vec<i32> {
        let weights = self
            .map
            .gather(&self.initial.model.evaluation.weights()[self.features(phase)]);
        weights
            .into_iter()
            .map(|weight| i32::from(weight) << self.task.config.fraction_bits)
            .collect()
    }

    /// The vectors of a group as the first row finds them.
    fn first_vectors(&self, group: usize) -> Vec<i32> {
        let (size, fresh) = (self.map.set.vector_size(), &self.initial.fresh);
        let mut vectors = random_vectors(self.task.seed, group, self.map);
        for (vector, inherited) in vectors
            .chunks_exact_mut(size)
            .zip(self.inherited_vectors(group).chunks_exact(size))
        {
            vector[..fresh.start].copy_from_slice(&inherited[..fresh.start]);
            vector[fresh.end..].copy_from_slice(&inherited[fresh.end..]);
        }
        vectors
    }

    /// The vectors of a group that the initial model has; its fresh components are zero.
    fn inherited_vectors(&self, group: usize) -> Vec<i32> {
        let size = self.map.set.vector_size();
        let all: Vec<&[i8]> = self
            .initial
            .model
            .evaluation
            .vectors()
            .chunks_exact(size)
            .collect();
        let components = self
            .map
            .gather(&all[self.features(group)])
            .into_iter()
            .flatten();
        components
            .map(|&component| i32::from(component) << FRACTION_BITS)
            .collect()
    }

    /// The number of the group of phases that share the vectors of a part.
    fn group(&self, part: &TrainPart) -> usize {
        let set = &self.task.features;
        set.group(set.phase_empties_max()[part.middle()])
    }

    /// What a part has learned before its first row.
    fn begin(&self, part: &TrainPart, needed: &LearnedParts) -> Learned {
        let of_phase = |round| {
            self.plan
                .of_phase(round, part.phases.start)
                .and_then(|part| needed.get(&part.number))
        };
        let unvisited = || vec![0; self.map.len()];
        let inherited = || self.inherited_weights(part.middle());
        let (weights, visits) = match part.round {
            Round::Wide => (inherited(), unvisited()),
            Round::Phases => {
                let weights =
                    of_phase(Round::Wide).map_or_else(inherited, |wide| wide.weights.clone());
                (
                    weights,
                    self.map
                        .gather(&self.initial.model.visits[self.features(part.middle())]),
                )
            }
            Round::Vectors => (self.first_vectors(self.group(part)), unvisited()),
            Round::Refit => {
                let phase = of_phase(Round::Phases).expect("it needs the part of its phase");
                (phase.weights.clone(), phase.visits.clone())
            }
        };
        Learned {
            weights,
            visits,
            errors: Vec::new(),
        }
    }

    /// The vectors beside which a part learns weights.
    fn frozen_vectors(&self, part: &TrainPart, needed: &LearnedParts) -> Option<SlotVectors> {
        let components = match part.round {
            Round::Vectors => return None,
            Round::Refit => {
                let group = self
                    .plan
                    .of_phase(Round::Vectors, part.phases.start)
                    .expect("every phase has a group");
                self.shipped_vectors(&needed[&group.number])
            }
            _ if self.initial.fresh.len() < self.map.set.vector_size() => {
                self.inherited_vectors(self.group(part))
            }
            _ => return None,
        };
        Some(SlotVectors::new(self.map.set, &components))
    }

    /// A part that continues what it has learned.
    fn lesson(&self, part: &TrainPart, needed: &LearnedParts, learned: Learned) -> Lesson<'_> {
        let (
            config,
            map,
            Learned {
                weights, visits, ..
            },
        ) = (&self.task.config, self.map, learned);
        if part.round != Round::Vectors {
            return Lesson::Weights(Weights::new(config, map, weights, visits));
        }
        let of_phase = |phase: usize| {
            let needed = self
                .plan
                .of_phase(Round::Phases, phase)
                .and_then(|part| needed.get(&part.number));
            needed
                .map(|phase| phase.weights.clone())
                .unwrap_or_default()
        };
        Lesson::Vectors(Vectors {
            map,
            weights: (0..self.task.features.phase_count())
                .map(of_phase)
                .collect(),
            fraction_bits: config.fraction_bits,
            vectors: SlotVectors::new(map.set, &weights),
            visits,
        })
    }

    /// The components of vectors as the model will have them, in binary fractions: in whole units,
    /// and zero where they began at random and no row has visited their slot.
    fn shipped_vectors(&self, learned: &Learned) -> Vec<i32> {
        let vectors = learned
            .weights
            .chunks_exact(self.map.set.vector_size())
            .zip(&learned.visits);
        let shipped = vectors.flat_map(|(vector, &visits)| {
            vector.iter().enumerate().map(move |(place, &component)| {
                if visits == 0 && self.initial.fresh.contains(&place) {
                    0
                } else {
                    rounded(component) << FRACTION_BITS
                }
            })
        });
        shipped.collect()
    }

    /// Learns the rows of a part as often as there are epochs.
    fn learn(&self, part: &TrainPart, needed: &LearnedParts) -> Result<Learned, StageError> {
        let all_are_read = part.empties.clone().all(|empties| self.rows.keeps(empties));
        assert!(all_are_read, "the rows of part {} were read", part.number);
        let count = self.rows.row_count(&part.empties);
        let found = self
            .checkpoint
            .as_ref()
            .map(|checkpoint| checkpoint.read(part, self.map))
            .transpose()?
            .flatten();
        let mut learned = found.unwrap_or_else(|| self.begin(part, needed));
        let mut errors = std::mem::take(&mut learned.errors);
        if !errors.is_empty() {
            self.context.progress.resume(count * errors.len() as u64);
        }
        let mut lesson = self.lesson(part, needed, learned);
        let frozen = self.frozen_vectors(part, needed);
        let save = |learned: &Learned| -> Result<(), ArtifactError> {
            self.checkpoint
                .as_ref()
                .map_or(Ok(()), |checkpoint| checkpoint.write(part, learned))
        };
        let epochs = self.task.config.epochs_of(part.round);
        let mut unsaved = 0;
        for epoch in errors.len() as u32..epochs {
            if self.context.is_ending() {
                save(&lesson.learned(&errors))?;
                self.context.check()?;
                // Every call makes some progress, however long its rows take to read.
                if self.has_learned.load(Ordering::Relaxed) {
                    self.context.check_budget()?;
                }
            }
            errors.push(self.epoch(part, epoch, &mut lesson, frozen.as_ref())?);
            self.has_learned.store(true, Ordering::Relaxed);
            unsaved += count;
            if ROWS_BETWEEN_CHECKPOINTS <= unsaved || epoch + 1 == epochs {
                save(&lesson.learned(&errors))?;
                unsaved = 0;
            }
        }
        Ok(lesson.learned(&errors))
    }

    fn epoch(
        &self,
        part: &TrainPart,
        epoch: u32,
        lesson: &mut Lesson<'_>,
        frozen: Option<&SlotVectors>,
    ) -> Result<u64, StageError> {
        let config = &self.task.config;
        let shuffle = config.shuffle.then_some(Shuffle {
            seed: self.task.seed,
            part: part.number,
            epoch,
        });
        let order = Order::new(self.rows, &part.empties, shuffle);
        let check = || self.context.check();
        let read = |group: usize, rows: &mut Vec<TrainingRow>| -> Result<(), StageError> {
            order.read(group, rows, check)?;
            if let Some(vectors) = frozen {
                subtract_pairs(self.map, vectors, rows);
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

    /// The model of learned parts: weights rounded to multiples of the quantum, halves away from
    /// zero.
    fn model(&self, learned: &LearnedParts) -> Model {
        let (plan, map) = (self.plan, self.map);
        let quantum = self.task.config.quantum;
        let unit = f64::from(quantum << self.task.config.fraction_bits);
        let most = i32::from(self.task.features.weight_max()) / quantum;
        let round = |&weight: &i32| {
            (((f64::from(weight) / unit).round() as i32).clamp(-most, most) * quantum) as i16
        };
        let (mut weights, mut visits, mut vectors) = (Vec::new(), Vec::new(), Vec::new());
        for phase in plan.last_round().map(|part| &learned[&part.number]) {
            let rounded: Vec<i16> = phase.weights.iter().map(round).collect();
            weights.extend(map.spread(&rounded));
            visits.extend(map.at_canonical(&phase.visits));
        }
        for group in plan
            .round(Round::Vectors)
            .map(|part| &learned[&part.number])
        {
            let components = self.shipped_vectors(group);
            let components: Vec<i8> = components
                .iter()
                .map(|component| (component >> FRACTION_BITS) as i8)
                .collect();
            let by_slot: Vec<&[i8]> = components.chunks_exact(map.set.vector_size()).collect();
            vectors.extend(map.spread(&by_slot).flatten());
        }
        let set = Arc::clone(&self.task.features);
        Model::draft(
            Evaluation::with_vectors(set, weights, vectors).expect("mirrors share a slot"),
            visits,
        )
    }

    /// The mean error of each epoch over the rows of all parts of the round of a part, before each
    /// row's update.
    fn losses(&self, part: Option<&TrainPart>, learned: &LearnedParts) -> Vec<EpochLoss> {
        let Some(round) = part.map(|part| part.round) else {
            return Vec::new();
        };
        let (config, parts) = (&self.task.config, || self.plan.round(round));
        // A millidisc has this many units of the errors.
        let units = if round == Round::Vectors {
            1.0
        } else {
            f64::from(1_u32 << config.fraction_bits)
        };
        let rows: u64 = parts().map(|part| self.rows.row_count(&part.empties)).sum();
        let errors = |epoch: usize| {
            parts()
                .map(|part| u128::from(learned[&part.number].errors[epoch]))
                .sum::<u128>()
        };
        let mean = |epoch| errors(epoch) as f64 / Score::in_millidiscs(units) / rows.max(1) as f64;
        (0..config.epochs_of(round) as usize)
            .map(|epoch| EpochLoss { mae: mean(epoch) })
            .collect()
    }
}

fn lock<'w, 'p>(work: &'w Mutex<Work<'p>>) -> MutexGuard<'w, Work<'p>> {
    work.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Lesson<'_> {
    fn learn(&mut self, config: &TrainConfig, epoch: u32, rows: &[TrainingRow]) -> u64 {
        match self {
            Self::Weights(weights) => {
                let visits = if epoch == 0 { config.epochs } else { 0 };
                weights.learn(rows, config.schedule().ratio_of(epoch), visits)
            }
            Self::Vectors(vectors) => {
                vectors.learn(rows, config.vectors.schedule().ratio_of(epoch))
            }
        }
    }

    /// What was learned, with the errors of the epochs that are done.
    fn learned(&self, errors: &[u64]) -> Learned {
        let (weights, visits) = match self {
            Self::Weights(weights) => (weights.weights.clone(), &weights.visits),
            Self::Vectors(vectors) => (
                vectors.vectors.components(vectors.map.set.vector_size()),
                &vectors.visits,
            ),
        };
        Learned {
            weights,
            visits: visits.clone(),
            errors: errors.to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::model::features_file::parse_features;
    use crate::artifact::{ContentHash, NEVER, Registry};
    use crate::engine::KernelChoice;
    use crate::generation::Generation;
    use crate::pipeline::fixtures::{context, default_table, position};
    use crate::pipeline::keys::Checked;
    use crate::pipeline::train::rows::TrainingSet;
    use std::path::Path;

    const FEATURES: &str = "name = \"small\"\nphase_empties_max = [60, 30]\n\
        [[pattern]]\nname = \"EDGE\"\nsquares = \"a1 b1 c1 d1 e1 f1 g1 h1\"\n\
        [[pattern]]\nname = \"CORNER\"\nsquares = \"a1 b1 c1 a2 b2 c2 a3 b3\"\n\
        [[pattern]]\nname = \"PARITY\"\nkind = \"parity\"\n\
        [[pattern]]\nname = \"MOBILITY_OWN\"\nkind = \"mobility\"\nside = \"own\"\ncap = 31\n";

    fn rows() -> Vec<TrainingRow> {
        let row = |number: u64| {
            let position = position(number, 4 + (number % 50) as u8);
            TrainingRow::new(position, Score((number * 7919 % 41_000) as i32 - 20_000))
        };
        (0..1_500).map(row).collect()
    }

    fn config(change: impl Fn(&mut TrainConfig)) -> Checked<TrainConfig> {
        default_table::<TrainConfig>().with(change).unwrap()
    }

    /// What a training by a kernel learns, beginning from a model or from nothing.
    fn learned(
        config: &Checked<TrainConfig>,
        features: &str,
        kernel: KernelChoice,
        begin: Option<Model>,
    ) -> Model {
        let task = TrainTask {
            config: config.clone(),
            seed: 1,
            generation: Generation::FIRST,
            features: Arc::new(parse_features(features).unwrap()),
            datasets: Vec::new(),
            parent: None,
            registry: Registry::new(Path::new("")),
            memory: u64::MAX,
        };
        let mut initial = Initial::new(&task).unwrap();
        initial.model = begin.unwrap_or(initial.model);
        let (set, plan) = (
            TrainingSet::of_rows(&rows()),
            TrainPlan::new(&task.features, config),
        );
        let mut map = SlotMap::new(&task.features);
        map.kernel = kernel;
        let (rows, context) = (&set.training, context(&NEVER));
        let learner = Learner {
            task: &task,
            plan: &plan,
            map: &map,
            initial: &initial,
            rows,
            checkpoint: None,
            context,
            has_learned: AtomicBool::new(false),
        };
        learner.run().unwrap().0
    }

    #[test]
    fn every_kernel_learns_the_same_weights_and_vectors() {
        for (size, negative) in [(16, 0), (3, 0), (16, 6), (3, 1), (21, 21)] {
            let keys = format!("vectors = {size}\nnegative = {negative}\n[[");
            let features = FEATURES.replacen("[[", &keys, 1);
            let config = config(|train| train.vectors.ratio = 0.05);
            let learned = |kernel| learned(&config, &features, kernel, None);
            let plain = learned(KernelChoice::PORTABLE);
            let moved = plain
                .evaluation
                .vectors()
                .iter()
                .filter(|component| 3 < component.abs())
                .count();
            assert!(100 < moved, "{moved} components moved");
            let hashes: Vec<(KernelChoice, ContentHash)> = KernelChoice::all()
                .into_iter()
                .map(|kernel| (kernel, learned(kernel).content_hash()))
                .collect();
            assert!(
                hashes.iter().all(|(_, hash)| *hash == plain.content_hash()),
                "{size} components, {negative} of them negative: {hashes:?}"
            );
        }
    }

    #[test]
    fn every_epoch_has_its_own_order_of_the_rows() {
        // Whole millidiscs at a constant ratio: nothing of an epoch is lost between two trainings.
        let config = |shuffle, epochs| {
            config(|train| {
                (train.shuffle, train.epochs, train.vectors.epochs) = (shuffle, epochs, epochs);
                (train.ratio_decay, train.fraction_bits, train.wide_overlap) = (1.0, 0, 0);
            })
        };
        for shuffle in [false, true] {
            let learned = |epochs, begin| {
                learned(
                    &config(shuffle, epochs),
                    FEATURES,
                    KernelChoice::detect(),
                    begin,
                )
            };
            let [once, twice] = [1, 2].map(|epochs| learned(epochs, None));
            // The first order, and the first order again.
            let again = learned(1, Some(once));
            assert_eq!(
                again.evaluation.weights() == twice.evaluation.weights(),
                !shuffle,
                "shuffle {shuffle}"
            );
        }
    }
}
