//! `weights.parquet`: one row per canonical feature.

use super::document::ModelFormat;
use crate::artifact::error::ArtifactError;
use crate::artifact::table::{Column, Layout, ROW_GROUP_ROWS, Table};
use crate::engine::eval::evaluation::Evaluation;
use crate::engine::eval::pattern_set::PatternSet;
use arrow::array::{AsArray, Int16Array, Int32Array, RecordBatch, StringArray, UInt32Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int16Type, Int32Type, UInt32Type};
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

/// The columns of formats 1 and 2.
static WEIGHTS_2: Table = Table {
    name: "weights",
    columns: &[
        Column::new("phase", DataType::UInt8, Layout::Dictionary, ""),
        Column::new("pattern", DataType::Utf8, Layout::Dictionary, ""),
        Column::new("index", DataType::UInt32, Layout::Delta, ""),
        Column::new("weight", DataType::Int32, Layout::Split, ""),
        Column::new("visits", DataType::UInt32, Layout::Split, ""),
    ],
    nullable: false,
};

/// The columns of `weights.parquet` in this format.
#[must_use]
pub fn table_of(format: ModelFormat) -> &'static Table {
    if format == ModelFormat::CURRENT { &WEIGHTS } else { &WEIGHTS_2 }
}

/// The phase, pattern and configuration of every canonical feature, in file order.
fn canonical_features(set: &PatternSet) -> impl Iterator<Item = (usize, usize, usize)> + '_ {
    (0..set.phase_count()).flat_map(move |phase| {
        set.patterns().iter().enumerate().flat_map(move |(pattern, kind)| {
            let offset = set.offset(pattern);
            (0..kind.configuration_count())
                .filter(move |index| set.canonical()[offset + index] as usize == offset + index)
                .map(move |index| (phase, pattern, index))
        })
    })
}

/// The weights and visits, `[phase][feature]`, as rows, a row group at a time.
pub fn to_batches<'a>(evaluation: &'a Evaluation, visits: &'a [u32]) -> impl Iterator<Item = RecordBatch> + 'a {
    let mut features = canonical_features(evaluation.set());
    std::iter::from_fn(move || {
        let some: Vec<_> = features.by_ref().take(ROW_GROUP_ROWS).collect();
        (!some.is_empty()).then(|| to_batch(evaluation, visits, &some))
    })
}

fn to_batch(evaluation: &Evaluation, visits: &[u32], features: &[(usize, usize, usize)]) -> RecordBatch {
    let set = evaluation.set();
    let place = |phase: usize, pattern: usize, index: usize| phase * set.feature_count() + set.offset(pattern) + index;
    let weight = |&(phase, pattern, index): &_| i32::from(evaluation.weights()[place(phase, pattern, index)]);
    let visits = |&(phase, pattern, index): &_| visits[place(phase, pattern, index)];
    WEIGHTS.batch(vec![
        Arc::new(Int16Array::from_iter_values(features.iter().map(|feature| feature.0 as i16))),
        Arc::new(StringArray::from_iter_values(features.iter().map(|feature| &set.patterns()[feature.1].name))),
        Arc::new(UInt32Array::from_iter_values(features.iter().map(|feature| feature.2 as u32))),
        Arc::new(Int32Array::from_iter_values(features.iter().map(weight))),
        Arc::new(UInt32Array::from_iter_values(features.iter().map(visits))),
    ])
}

/// The evaluation and visits in the rows of a file of any readable format, whatever the sizes of its batches.
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
    let mut features = canonical_features(set);
    let mut table = vec![0_i16; set.phase_count() * set.feature_count()];
    let mut visits = vec![0; table.len()];
    let mut first = 0;
    for batch in batches {
        let batch = batch?;
        fill(set, &mut features, &mut table, &mut visits, (first, &batch)).map_err(damaged)?;
        first += batch.num_rows();
    }
    if let Some((phase, pattern, index)) = features.next() {
        let name = &set.patterns()[pattern].name;
        return Err(damaged(format!("it ends before phase {phase}, pattern {name}, index {index}")));
    }
    drop(features);
    spread(set, &mut table);
    let evaluation = Evaluation::new(Arc::clone(set), table).map_err(|error| damaged(error.to_string()))?;
    Ok((evaluation, visits))
}

/// Puts the rows of a batch, which begins with row `first` of its file, in the places of the next features.
fn fill(
    set: &PatternSet,
    features: &mut impl Iterator<Item = (usize, usize, usize)>,
    table: &mut [i16],
    visits: &mut [u32],
    (first, batch): (usize, &RecordBatch),
) -> Result<(), String> {
    let phases = cast(batch.column(0), &DataType::Int16).map_err(|error| error.to_string())?;
    let phases = phases.as_primitive::<Int16Type>().values();
    let patterns = batch.column(1).as_string::<i32>();
    let indices = batch.column(2).as_primitive::<UInt32Type>().values();
    let weights = batch.column(3).as_primitive::<Int32Type>().values();
    let counts = batch.column(4).as_primitive::<UInt32Type>().values();
    for row in 0..batch.num_rows() {
        let number = first + row;
        let Some((phase, pattern, index)) = features.next() else {
            return Err(format!("row {number} and those after it belong to no feature"));
        };
        let name = &set.patterns()[pattern].name;
        if usize::try_from(phases[row]) != Ok(phase) || patterns.value(row) != name || indices[row] as usize != index {
            return Err(format!("row {number} is not phase {phase}, pattern {name}, index {index}"));
        }
        let weight = weights[row];
        let place = phase * set.feature_count() + set.offset(pattern) + index;
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
