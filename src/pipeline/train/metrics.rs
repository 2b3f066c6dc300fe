//! The error of an evaluation on labeled rows: how far static values are from what they should predict.

use super::blocks::{BlockRow, Blocks};
use super::rows::{JudgedRow, TrainingRow, TrainingSet};
use super::task::{Coverage, Error, Errors, LabelErrors, RangeError};
use crate::artifact::Model;
use crate::engine::eval::features::map_features;
use crate::engine::{Discs, EMPTIES_MAX, Evaluation, KernelChoice, Position, Score};
use crate::pipeline::{Context, StageError};
use crate::statistics::point_sums::PointSums;
use rayon::prelude::{IntoParallelIterator, ParallelIterator};

/// The largest |label| of each class, in discs.
const SCORE_CLASSES: [u32; 4] = [8, 20, 40, 64];

/// Rows between two checks of the stop flag; their features fit the second cache.
const CHUNK_ROWS: usize = 1 << 10;

const EMPTIES: usize = EMPTIES_MAX as usize + 1;

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

    fn of_all<'s>(all: impl Iterator<Item = &'s Self>) -> Self {
        let mut total = Self::default();
        all.for_each(|sums| total.merge(sums));
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

/// Sums by empty squares and class of the label.
#[derive(Clone, Debug)]
struct Table(Vec<[Sums; SCORE_CLASSES.len()]>); // [empties][class]

impl Table {
    fn new() -> Self {
        Self(vec![Default::default(); EMPTIES])
    }

    fn add(&mut self, position: Position, value: Score, label: Score) {
        let classes = SCORE_CLASSES[..SCORE_CLASSES.len() - 1].iter();
        let class = classes.filter(|&&most| Score::from(Discs(most as i32)) < label.abs()).count();
        self.0[usize::from(position.empties().min(EMPTIES_MAX))][class].add(value, label);
    }

    fn merge(&mut self, other: &Self) {
        for (ours, theirs) in self.0.iter_mut().flatten().zip(other.0.iter().flatten()) {
            ours.merge(theirs);
        }
    }

    fn errors(&self) -> Errors {
        let range = |min: u32, max: u32, sums: Sums| RangeError { min, max, error: sums.error() };
        let by_empties = (0..).zip(&self.0).map(|(empties, row)| range(empties, empties, Sums::of_all(row.iter())));
        let least = [0].into_iter().chain(SCORE_CLASSES);
        let by_score = least
            .zip(SCORE_CLASSES)
            .enumerate()
            .map(|(class, (least, most))| range(least, most, Sums::of_all(self.0.iter().map(|row| &row[class]))));
        Errors {
            all: Sums::of_all(self.0.iter().flatten()).error(),
            by_empties: by_empties.filter(|range| 0 < range.error.rows).collect(),
            by_score: by_score.filter(|range| 0 < range.error.rows).collect(),
        }
    }
}

/// Tables of everything that rows can be judged by: target, score, result and exact score.
#[derive(Clone, Debug)]
struct Tables {
    by_label: [Table; 4],
    visited: u64,
    features: u64,
}

impl Tables {
    fn new() -> Self {
        Self { by_label: [(); 4].map(|()| Table::new()), visited: 0, features: 0 }
    }

    fn merge(mut self, other: &Self) -> Self {
        self.by_label.iter_mut().zip(&other.by_label).for_each(|(ours, theirs)| ours.merge(theirs));
        self.visited += other.visited;
        self.features += other.features;
        self
    }

    /// Adds a row that has this value.
    fn add(&mut self, row: &JudgedRow, value: Score) {
        let labels = [Some(row.target), row.score, row.result, row.score.filter(|_| row.exact)];
        for (table, label) in self.by_label.iter_mut().zip(labels) {
            label.into_iter().for_each(|label| table.add(row.position, value, label));
        }
    }

    /// The errors by label, in the same order.
    fn errors(&self) -> [Errors; 4] {
        self.by_label.each_ref().map(Table::errors)
    }
}

/// A row with the labels that it has.
pub trait Judged: BlockRow {
    /// The position with its labels.
    fn judged(&self) -> JudgedRow;
}

impl Judged for JudgedRow {
    fn judged(&self) -> JudgedRow {
        *self
    }
}

impl Judged for TrainingRow {
    fn judged(&self) -> JudgedRow {
        JudgedRow::of_target(self.position, self.target)
    }
}

/// A model judged by the rows that it was not trained on, or if there are none, by those that it was.
#[derive(Clone, Debug)]
pub struct Judgment {
    /// Against the target.
    pub target: Errors,
    /// Against each label.
    pub labels: LabelErrors,
    /// How much of the rows training has seen.
    pub coverage: Coverage,
}

/// Judges a model by the held-out rows of a set, or if there are none, by its training rows, on the threads of the current
/// pool.
///
/// # Errors
///
/// Whatever the system refuses, or [`StageError::Interrupted`].
pub fn judge(model: &Model, set: &TrainingSet, context: Context<'_>) -> Result<Judgment, StageError> {
    let tables = judge_set(&model.evaluation, Some(&model.visits), set, context)?;
    let canonical = model.evaluation.set().canonical();
    let is_own = |place: usize| canonical[place % canonical.len()] as usize == place % canonical.len();
    let weights = (0..model.visits.len()).filter(|&place| is_own(place));
    let unvisited = weights.clone().filter(|&place| model.visits[place] == 0).count();
    let [target, score, result, exact] = tables.errors();
    Ok(Judgment {
        target,
        labels: LabelErrors { score, result, exact },
        coverage: Coverage {
            seen: tables.visited as f64 / tables.features.max(1) as f64,
            weights: weights.count() as u64,
            unvisited: unvisited as u64,
        },
    })
}

/// The error against the target of an evaluation that is not trained yet, as [`judge`] finds it.
///
/// # Errors
///
/// As [`judge`].
pub fn judge_evaluation(
    evaluation: &Evaluation,
    set: &TrainingSet,
    context: Context<'_>,
) -> Result<Errors, StageError> {
    let [target, ..] = judge_set(evaluation, None, set, context)?.errors();
    Ok(target)
}

fn judge_set(
    evaluation: &Evaluation,
    visits: Option<&[u32]>,
    set: &TrainingSet,
    context: Context<'_>,
) -> Result<Tables, StageError> {
    if set.validation.is_empty() {
        judge_rows(evaluation, visits, &set.training, context)
    } else {
        judge_rows(evaluation, visits, &set.validation, context)
    }
}

fn judge_rows<R: Judged>(
    evaluation: &Evaluation,
    visits: Option<&[u32]>,
    rows: &Blocks<R>,
    context: Context<'_>,
) -> Result<Tables, StageError> {
    let walk = Walk::new(evaluation, visits);
    (0..rows.block_count())
        .into_par_iter()
        .map(|block| {
            let (mut block_rows, mut tables) = (Vec::new(), Tables::new());
            rows.read(block, &(0..=EMPTIES_MAX), &mut block_rows)?;
            let mut walk = walk.clone();
            for rows in block_rows.chunks(CHUNK_ROWS) {
                context.check()?;
                walk.judge(rows, &mut tables);
            }
            Ok(tables)
        })
        .try_reduce(Tables::new, |left, right| Ok(left.merge(&right)))
}

/// An evaluation with the visits of its weights, and room for the features of rows.
#[derive(Clone)]
struct Walk<'a> {
    evaluation: &'a Evaluation,
    /// Whether every value is zero, as it is before the first training.
    is_zero: bool,
    visits: Option<&'a [u32]>,
    kernel: KernelChoice,
    features: Vec<u32>,
}

impl<'a> Walk<'a> {
    fn new(evaluation: &'a Evaluation, visits: Option<&'a [u32]>) -> Self {
        let is_zero = visits.is_none() && evaluation.weights().iter().all(|&weight| weight == 0);
        Self { evaluation, is_zero, visits, kernel: KernelChoice::detect(), features: Vec::new() }
    }

    fn judge<R: Judged>(&mut self, rows: &[R], tables: &mut Tables) {
        if self.is_zero {
            return rows.iter().for_each(|row| tables.add(&row.judged(), Score(0)));
        }
        let (set, count) = (self.evaluation.set(), self.evaluation.set().features_per_position());
        self.features.resize(rows.len() * count, 0);
        map_features(self.kernel, set, rows, set.canonical(), &mut self.features);
        for (row, features) in rows.iter().map(Judged::judged).zip(self.features.chunks_exact(count)) {
            let empties = row.position.empties();
            let weights = self.evaluation.phase_weights(empties);
            let value = features.iter().map(|&feature| i32::from(weights[feature as usize])).sum();
            tables.add(&row, Score(value));
            if let Some(visits) = self.visits {
                let visits = &visits[set.phase(empties) * set.feature_count()..][..set.feature_count()];
                let is_visited = |&&feature: &&u32| 0 < visits[feature as usize];
                tables.visited += features.iter().filter(is_visited).count() as u64;
                tables.features += count as u64;
            }
        }
    }
}
