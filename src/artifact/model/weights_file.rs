//! `weights.parquet`: one row per canonical feature.

use crate::artifact::error::ArtifactError;
use crate::artifact::table::{Column, Layout, ROW_GROUP_ROWS, Table};
use crate::engine::{Evaluation, PatternSet};
use arrow::array::{AsArray, Int16Array, Int32Array, RecordBatch, StringArray, UInt32Array};
use arrow::datatypes::{DataType, Int16Type, Int32Type, UInt32Type};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// The columns of `weights.parquet`.
pub static WEIGHTS: Table = Table {
    name: "weights",
    columns: &[
        Column::new("phase", DataType::Int16, Layout::Dictionary, "range of empty squares; 0 begins the game"),
        Column::new("pattern", DataType::Utf8, Layout::Dictionary, "name of the pattern"),
        Column::new("index", DataType::UInt32, Layout::Delta, "configuration, base 3, the smallest of its mirrors"),
        Column::new("weight", DataType::Int32, Layout::Dictionary, "millidiscs for the side to move"),
        Column::new("visits", DataType::UInt32, Layout::Dictionary, "training updates that reached this weight"),
    ],
    nullable: false,
};

/// A canonical feature of a phase.
#[derive(Clone, Copy)]
struct CanonicalFeature {
    pattern: usize,
    index: usize,
    /// Among all features of a phase.
    feature: usize,
}

/// The rows of a file: the canonical features of each phase, phase after phase.
struct Rows<'a> {
    set: &'a PatternSet,
    features: Vec<CanonicalFeature>,
}

impl<'a> Rows<'a> {
    fn new(set: &'a PatternSet) -> Self {
        let features = set.patterns().iter().enumerate().flat_map(|(pattern, kind)| {
            let offset = set.offset(pattern);
            let features = (0..kind.configuration_count()).map(move |index| CanonicalFeature {
                pattern,
                index,
                feature: offset + index,
            });
            features.filter(|canonical| set.canonical()[canonical.feature] as usize == canonical.feature)
        });
        Self { features: features.collect(), set }
    }

    fn count(&self) -> usize {
        self.set.phase_count() * self.features.len()
    }

    /// The phase and the feature of a row.
    fn at(&self, row: usize) -> (usize, CanonicalFeature) {
        (row / self.features.len(), self.features[row % self.features.len()])
    }

    fn pattern_name(&self, feature: CanonicalFeature) -> &'a str {
        &self.set.patterns()[feature.pattern].name
    }

    /// Its place in a table `[phase][feature]`.
    fn place(&self, phase: usize, feature: CanonicalFeature) -> usize {
        phase * self.set.feature_count() + feature.feature
    }
}

/// The weights and visits, `[phase][feature]`, as rows, a row group at a time.
pub fn to_batches<'a>(evaluation: &'a Evaluation, visits: &'a [u32]) -> impl Iterator<Item = RecordBatch> + 'a {
    let rows = Rows::new(evaluation.set());
    let groups = (0..rows.count()).step_by(ROW_GROUP_ROWS);
    groups.map(move |begin| to_batch(evaluation, visits, &rows, begin..rows.count().min(begin + ROW_GROUP_ROWS)))
}

fn to_batch(evaluation: &Evaluation, visits: &[u32], rows: &Rows<'_>, group: Range<usize>) -> RecordBatch {
    let features: Vec<(usize, CanonicalFeature)> = group.map(|row| rows.at(row)).collect();
    let places: Vec<usize> = features.iter().map(|&(phase, feature)| rows.place(phase, feature)).collect();
    let weight = |&place: &usize| i32::from(evaluation.weights()[place]);
    WEIGHTS.batch(vec![
        Arc::new(Int16Array::from_iter_values(features.iter().map(|(phase, _)| *phase as i16))),
        Arc::new(StringArray::from_iter_values(features.iter().map(|(_, feature)| rows.pattern_name(*feature)))),
        Arc::new(UInt32Array::from_iter_values(features.iter().map(|(_, feature)| feature.index as u32))),
        Arc::new(Int32Array::from_iter_values(places.iter().map(weight))),
        Arc::new(UInt32Array::from_iter_values(places.iter().map(|&place| visits[place]))),
    ])
}

/// The evaluation and visits in the rows of a file, whatever the sizes of its batches.
///
/// # Errors
///
/// Rows that are not the canonical features of the set, each once and in order, or weights beyond 16 bits; `path` names the
/// file in errors.
pub fn from_batches(
    path: &Path,
    set: &Arc<PatternSet>,
    batches: impl Iterator<Item = Result<RecordBatch, ArtifactError>>,
) -> Result<(Evaluation, Vec<u32>), ArtifactError> {
    let damaged = |reason: String| ArtifactError::damaged(path, reason);
    let rows = Rows::new(set);
    let mut table = vec![0_i16; set.phase_count() * set.feature_count()];
    let mut visits = vec![0; table.len()];
    let mut first = 0;
    for batch in batches {
        let batch = batch?;
        fill(&rows, &mut table, &mut visits, (first, &batch)).map_err(damaged)?;
        first += batch.num_rows();
    }
    if first < rows.count() {
        let (phase, feature) = rows.at(first);
        let (name, index) = (rows.pattern_name(feature), feature.index);
        return Err(damaged(format!("it ends before phase {phase}, pattern {name}, index {index}")));
    }
    spread(set, &mut table);
    let evaluation = Evaluation::new(Arc::clone(set), table).map_err(|error| damaged(error.to_string()))?;
    Ok((evaluation, visits))
}

/// Puts the rows of a batch, which begins with row `first` of its file, in their places.
fn fill(
    rows: &Rows<'_>,
    table: &mut [i16],
    visits: &mut [u32],
    (first, batch): (usize, &RecordBatch),
) -> Result<(), String> {
    let phases = batch.column(0).as_primitive::<Int16Type>().values();
    let patterns = batch.column(1).as_string::<i32>();
    let indices = batch.column(2).as_primitive::<UInt32Type>().values();
    let weights = batch.column(3).as_primitive::<Int32Type>().values();
    let counts = batch.column(4).as_primitive::<UInt32Type>().values();
    for row in 0..batch.num_rows() {
        let number = first + row;
        if rows.count() <= number {
            return Err(format!("row {number} and those after it belong to no feature"));
        }
        let (phase, feature) = rows.at(number);
        let (name, index) = (rows.pattern_name(feature), feature.index);
        if usize::try_from(phases[row]) != Ok(phase) || patterns.value(row) != name || indices[row] as usize != index {
            return Err(format!("row {number} is not phase {phase}, pattern {name}, index {index}"));
        }
        let (weight, place) = (weights[row], rows.place(phase, feature));
        table[place] = i16::try_from(weight).map_err(|_| format!("row {number}: weight {weight} is beyond ±32767"))?;
        visits[place] = counts[row];
    }
    Ok(())
}

/// Gives every mirror the weight at its canonical place.
pub fn spread(set: &PatternSet, weights: &mut [i16]) {
    for weights in weights.chunks_exact_mut(set.feature_count()) {
        for (feature, &canonical) in set.canonical().iter().enumerate() {
            weights[feature] = weights[canonical as usize];
        }
    }
}
