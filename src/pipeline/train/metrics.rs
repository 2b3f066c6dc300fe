//! The error of an evaluation on labeled rows: how far static values are from what they should
//! predict.

use super::blocks::{BlockRow, Blocks};
use super::rows::{JudgedRow, TrainingSet};
use super::task::{Coverage, Error, Errors, RangeError};
use crate::artifact::Model;
use crate::engine::eval::features::map_features;
use crate::engine::{Discs, EMPTIES_MAX, Evaluation, KernelChoice, Score};
use crate::pipeline::{Context, StageError};
use crate::statistics::point_sums::PointSums;
use rayon::prelude::{IntoParallelIterator, ParallelIterator};

/// The largest |label| of each class, in discs.
const SCORE_CLASSES: [u32; 4] = [8, 20, 40, 64];

/// Rows between two checks of the stop flag; their features fit the second cache.
const CHUNK_ROWS: usize = 1 << 10;

/// What rows can be judged by: target, score, result and exact score.
const LABELS: usize = 4;

/// Sums over rows; values and labels in millidiscs.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    points: PointSums, // of values and labels
    absolute: u64,
}

impl Sums {
    fn add(&mut self, value: Score, label: Score) {
        self.points.add(value.0, label.0);
        self.absolute += u64::from(value.abs_diff(label));
    }

    fn merge(&mut self, other: &Self) {
        self.points.merge(&other.points);
        self.absolute += other.absolute;
    }

    fn of_all<'s>(all: impl IntoIterator<Item = &'s Self>) -> Self {
        let mut total = Self::default();
        all.into_iter().for_each(|sums| total.merge(sums));
        total
    }

    fn error(&self) -> Error {
        let sums = &self.points;
        let rows = sums.count.max(1) as f64;
        let squared_errors = sums.x_squared + sums.y_squared - 2 * sums.product;
        let [variance, _, covariance] = sums.spreads();
        Error {
            rows: sums.count,
            mae: Score::in_discs(self.absolute as f64 / rows),
            rmse: Score::in_discs((squared_errors as f64 / rows).sqrt()),
            bias: Score::in_discs((sums.x - sums.y) as f64 / rows),
            slope: (0 < variance).then(|| covariance as f64 / variance as f64),
        }
    }
}

/// What judging rows by an evaluation finds: their errors by empty squares, label and class of the
/// label.
#[derive(Clone, Debug)]
pub struct Judgment {
    sums: Vec<[[Sums; SCORE_CLASSES.len()]; LABELS]>, // [empties][label][class]
    /// How many of the features of the rows, each as often as it occurs, training has visited.
    visited: u64,
}

impl Judgment {
    fn new() -> Self {
        Self {
            sums: vec![Default::default(); EMPTIES_MAX as usize + 1],
            visited: 0,
        }
    }

    fn merge(mut self, other: &Self) -> Self {
        let theirs = other.sums.iter().flatten().flatten();
        self.sums
            .iter_mut()
            .flatten()
            .flatten()
            .zip(theirs)
            .for_each(|(ours, theirs)| ours.merge(theirs));
        self.visited += other.visited;
        self
    }

    /// Adds a row that has this value.
    fn add(&mut self, row: &JudgedRow, value: Score) {
        let labels = [
            Some(row.row.target),
            row.score,
            row.result,
            row.score.filter(|_| row.exact),
        ];
        let by_label = &mut self.sums[usize::from(row.as_ref().empties().min(EMPTIES_MAX))];
        for (sums, label) in by_label.iter_mut().zip(labels) {
            let Some(label) = label else { continue };
            let classes = SCORE_CLASSES[..SCORE_CLASSES.len() - 1].iter();
            let class = classes
                .filter(|&&most| Score::from(Discs(most as i32)) < label.abs())
                .count();
            sums[class].add(value, label);
        }
    }

    /// The errors against target, score, result and exact score.
    pub fn errors(&self) -> [Errors; LABELS] {
        std::array::from_fn(|label| {
            let by_class = || self.sums.iter().map(|by_label| &by_label[label]);
            let range = |min: u32, max: u32, sums: Sums| RangeError {
                min,
                max,
                error: sums.error(),
            };
            let by_empties = (0..)
                .zip(by_class())
                .map(|(empties, sums)| range(empties, empties, Sums::of_all(sums)));
            let classes = [0]
                .into_iter()
                .chain(SCORE_CLASSES)
                .zip(SCORE_CLASSES)
                .enumerate();
            let of_class = |class: usize| Sums::of_all(by_class().map(|sums| &sums[class]));
            let by_score =
                classes.map(|(class, (least, most))| range(least, most, of_class(class)));
            Errors {
                all: Sums::of_all(by_class().flatten()).error(),
                by_empties: by_empties.filter(|range| 0 < range.error.rows).collect(),
                by_score: by_score.filter(|range| 0 < range.error.rows).collect(),
            }
        })
    }

    /// How much of the rows the training of the model has seen that judged them.
    pub fn coverage(&self, model: &Model) -> Coverage {
        let (set, canonical) = (model.evaluation.set(), model.evaluation.set().canonical());
        // Every row has a target.
        let rows = Sums::of_all(self.sums.iter().flat_map(|[by_target, ..]| by_target))
            .points
            .count;
        let is_own =
            |place: usize| canonical[place % canonical.len()] as usize == place % canonical.len();
        let weights = (0..model.visits.len()).filter(|&place| is_own(place));
        let unvisited = weights
            .clone()
            .filter(|&place| model.visits[place] == 0)
            .count();
        Coverage {
            seen: self.visited as f64 / (rows * set.features_per_position() as u64).max(1) as f64,
            weights: weights.count() as u64,
            unvisited: unvisited as u64,
        }
    }
}

/// Judges an evaluation by the held-out rows of a set, or if there are none, by its training rows,
/// on the threads of the current pool. With the visits of its weights, features that training has
/// visited are counted too.
///
/// # Errors
///
/// A system error, or [`StageError::Interrupted`].
pub fn judge(
    evaluation: &Evaluation,
    visits: Option<&[u32]>,
    set: &TrainingSet,
    context: Context<'_>,
) -> Result<Judgment, StageError> {
    if set.validation.is_empty() {
        judge_rows(evaluation, visits, &set.training, context)
    } else {
        judge_rows(evaluation, visits, &set.validation, context)
    }
}

fn judge_rows<R: BlockRow + Into<JudgedRow>>(
    evaluation: &Evaluation,
    visits: Option<&[u32]>,
    rows: &Blocks<R>,
    context: Context<'_>,
) -> Result<Judgment, StageError> {
    let (kernel, set) = (KernelChoice::detect(), evaluation.set());
    let count = set.features_per_position();
    let judge_block = |block| {
        let (mut block_rows, mut features, mut judgment) =
            (Vec::new(), Vec::new(), Judgment::new());
        rows.read(block, &(0..=EMPTIES_MAX), &mut block_rows)?;
        for rows in block_rows.chunks(CHUNK_ROWS) {
            context.check()?;
            features.resize(rows.len() * count, 0);
            map_features(kernel, set, rows, set.canonical(), &mut features);
            for (&row, features) in rows.iter().zip(features.chunks_exact(count)) {
                let row: JudgedRow = row.into();
                let empties = row.as_ref().empties();
                let value =
                    evaluation.value_of(empties, features.iter().map(|&feature| feature as usize));
                judgment.add(&row, value);
                if let Some(visits) = visits {
                    let visits =
                        &visits[set.phase(empties) * set.feature_count()..][..set.feature_count()];
                    let is_visited = |&&feature: &&u32| 0 < visits[feature as usize];
                    judgment.visited += features.iter().filter(is_visited).count() as u64;
                }
            }
        }
        Ok(judgment)
    };
    let blocks = (0..rows.block_count()).into_par_iter().map(judge_block);
    blocks.try_reduce(Judgment::new, |left, right| Ok(left.merge(&right)))
}
