//! The error of an evaluation on labeled rows: how far static values are from what they should predict.

use super::blocks::{BlockRow, Blocks};
use super::rows::{JudgedRow, TrainingRow, TrainingSet};
use super::task::{Coverage, Error, Errors, LabelErrors, RangeError};
use crate::artifact::model::version::Model;
use crate::engine::board::kernel::KernelChoice;
use crate::engine::board::position::Position;
use crate::engine::eval::evaluation::Evaluation;
use crate::engine::eval::features::map_features;
use crate::engine::eval::pattern_set::EMPTIES_MAX;
use crate::engine::score::Score;
use crate::pipeline::{Context, StageError};
use rayon::prelude::{IntoParallelIterator, ParallelIterator};

/// The largest |label| of each class, in discs.
const SCORE_CLASSES: [u32; 4] = [8, 20, 40, 64];

/// Rows between two checks of the stop flag; their features fit the second cache.
const CHUNK_ROWS: usize = 1 << 10;

const EMPTIES: usize = EMPTIES_MAX as usize + 1;

/// Integer sums, which add up to the same bits in any order; values and labels in millidiscs.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    rows: u64,
    absolute: u64,
    values: i64,
    labels: i64,
    squared: u128, // of the errors
    squared_values: u128,
    products: i128, // of values and labels
}

impl Sums {
    fn of(value: i32, label: i32) -> Self {
        let (value, label) = (i64::from(value), i64::from(label));
        let error = value.abs_diff(label);
        Self {
            rows: 1,
            absolute: error,
            values: value,
            labels: label,
            squared: u128::from(error * error),
            squared_values: u128::from(value.unsigned_abs() * value.unsigned_abs()),
            products: i128::from(value * label),
        }
    }

    fn add(&mut self, other: &Self) {
        self.rows += other.rows;
        self.absolute += other.absolute;
        self.values += other.values;
        self.labels += other.labels;
        self.squared += other.squared;
        self.squared_values += other.squared_values;
        self.products += other.products;
    }

    fn error(&self) -> Error {
        let (rows, disc) = (self.rows.max(1) as f64, f64::from(Score::DISC.0));
        let covariance = self.products * i128::from(self.rows) - i128::from(self.values) * i128::from(self.labels);
        let variance = self.squared_values as i128 * i128::from(self.rows) - i128::from(self.values).pow(2);
        Error {
            rows: self.rows,
            mae: self.absolute as f64 / rows / disc,
            rmse: (self.squared as f64 / rows).sqrt() / disc,
            bias: Some((self.values - self.labels) as f64 / rows / disc),
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

    fn add(&mut self, position: Position, value: i32, label: i32) {
        let classes = SCORE_CLASSES[..SCORE_CLASSES.len() - 1].iter();
        let class = classes.filter(|&&most| most * Score::DISC.0.unsigned_abs() < label.unsigned_abs()).count();
        self.0[usize::from(position.empties().min(EMPTIES_MAX))][class].add(&Sums::of(value, label));
    }

    fn merge(&mut self, other: &Self) {
        for (ours, theirs) in self.0.iter_mut().flatten().zip(other.0.iter().flatten()) {
            ours.add(theirs);
        }
    }

    fn errors(&self) -> Errors {
        let sum = |sums: &mut dyn Iterator<Item = &Sums>| {
            let mut total = Sums::default();
            sums.for_each(|sums| total.add(sums));
            total
        };
        let range = |min: u32, max: u32, sums: Sums| RangeError { min, max, error: sums.error() };
        let by_empties = (0..).zip(&self.0).map(|(empties, row)| range(empties, empties, sum(&mut row.iter())));
        let mut least = 0;
        let by_score = SCORE_CLASSES.iter().enumerate().map(|(class, &most)| {
            let error = range(least, most, sum(&mut self.0.iter().map(|row| &row[class])));
            least = most;
            error
        });
        Errors {
            all: sum(&mut self.0.iter().flatten()).error(),
            by_empties: by_empties.filter(|range| 0 < range.error.rows).collect(),
            by_score: by_score.filter(|range| 0 < range.error.rows).collect(),
        }
    }
}

/// Tables of everything that rows can be judged by.
#[derive(Clone, Debug)]
struct Tables {
    target: Table,
    score: Table,
    result: Table,
    exact: Table,
    visited: u64,
    features: u64,
}

impl Tables {
    fn new() -> Self {
        let [target, score, result, exact] = [(); 4].map(|()| Table::new());
        Self { target, score, result, exact, visited: 0, features: 0 }
    }

    fn merge(mut self, other: &Self) -> Self {
        self.target.merge(&other.target);
        self.score.merge(&other.score);
        self.result.merge(&other.result);
        self.exact.merge(&other.exact);
        self.visited += other.visited;
        self.features += other.features;
        self
    }

    /// Adds a row that has this value.
    fn add(&mut self, row: &JudgedRow, value: i32) {
        self.target.add(row.position, value, row.target);
        if let Some(score) = row.score {
            self.score.add(row.position, value, score);
            if row.exact {
                self.exact.add(row.position, value, score);
            }
        }
        if let Some(result) = row.result {
            self.result.add(row.position, value, result);
        }
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
    Ok(Judgment {
        target: tables.target.errors(),
        labels: LabelErrors {
            score: tables.score.errors(),
            result: tables.result.errors(),
            exact: tables.exact.errors(),
        },
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
    Ok(judge_set(evaluation, None, set, context)?.target.errors())
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
            return rows.iter().for_each(|row| tables.add(&row.judged(), 0));
        }
        let (set, count) = (self.evaluation.set(), self.evaluation.set().features_per_position());
        self.features.resize(rows.len() * count, 0);
        map_features(self.kernel, set, rows, set.canonical(), &mut self.features);
        for (row, features) in rows.iter().map(Judged::judged).zip(self.features.chunks_exact(count)) {
            let empties = row.position.empties();
            let weights = self.evaluation.phase_weights(empties);
            tables.add(&row, features.iter().map(|&feature| i32::from(weights[feature as usize])).sum());
            if let Some(visits) = self.visits {
                let visits = &visits[set.phase(empties) * set.feature_count()..][..set.feature_count()];
                let is_visited = |&&feature: &&u32| 0 < visits[feature as usize];
                tables.visited += features.iter().filter(is_visited).count() as u64;
                tables.features += count as u64;
            }
        }
    }
}
