//! `weights.parquet`: one row per canonical feature.

use crate::artifact::error::ArtifactError;
use crate::artifact::table::{Column, Layout, ROW_GROUP_ROWS, Table};
use crate::engine::{Evaluation, PatternSet};
use arrow::array::{AsArray, Int16Array, Int32Array, RecordBatch, StringArray, UInt32Array};
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

/// A row of a file: a canonical feature of a phase.
struct Row<'a> {
    phase: usize,
    /// The name of the pattern.
    pattern: &'a str,
    index: usize,
    /// Its place in a table `[phase][feature]`.
    place: usize,
}

/// The rows of a file: the canonical features of each phase, phase after phase.
fn rows(set: &PatternSet) -> impl Iterator<Item = Row<'_>> {
    let patterns =
        move |phase| set.patterns().iter().enumerate().map(move |(number, pattern)| (phase, number, pattern));
    (0..set.phase_count()).flat_map(patterns).flat_map(move |(phase, number, pattern)| {
        let first = set.offset(number);
        let is_canonical = move |index: &usize| set.canonical()[first + index] as usize == first + index;
        let place = phase * set.feature_count() + first;
        let row = move |index| Row { phase, pattern: &pattern.name, index, place: place + index };
        (0..pattern.configuration_count()).filter(is_canonical).map(row)
    })
}

/// The weights and visits, `[phase][feature]`, as rows, a row group at a time.
pub fn to_batches<'a>(evaluation: &'a Evaluation, visits: &'a [u32]) -> impl Iterator<Item = RecordBatch> + 'a {
    let mut rows = rows(evaluation.set());
    let next = move || {
        let group: Vec<Row<'_>> = rows.by_ref().take(ROW_GROUP_ROWS).collect();
        let weight = |row: &Row<'_>| i32::from(evaluation.weights()[row.place]);
        (!group.is_empty()).then(|| {
            WEIGHTS.batch(vec![
                Arc::new(Int16Array::from_iter_values(group.iter().map(|row| row.phase as i16))),
                Arc::new(StringArray::from_iter_values(group.iter().map(|row| row.pattern))),
                Arc::new(UInt32Array::from_iter_values(group.iter().map(|row| row.index as u32))),
                Arc::new(Int32Array::from_iter_values(group.iter().map(weight))),
                Arc::new(UInt32Array::from_iter_values(group.iter().map(|row| visits[row.place]))),
            ])
        })
    };
    std::iter::from_fn(next)
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
    let mut table = vec![0_i16; set.phase_count() * set.feature_count()];
    let mut visits = vec![0; table.len()];
    let (mut rows, mut number) = (rows(set), 0);
    for batch in batches {
        let batch = batch?;
        let phases = batch.column(0).as_primitive::<Int16Type>().values();
        let patterns = batch.column(1).as_string::<i32>();
        let indices = batch.column(2).as_primitive::<UInt32Type>().values();
        let weights = batch.column(3).as_primitive::<Int32Type>().values();
        let counts = batch.column(4).as_primitive::<UInt32Type>().values();
        for at in 0..batch.num_rows() {
            let row = rows.next();
            let excess = || damaged(format!("row {number} and those after it belong to no feature"));
            let Row { phase, pattern, index, place } = row.ok_or_else(excess)?;
            let is_next = usize::try_from(phases[at]) == Ok(phase) && patterns.value(at) == pattern;
            if !is_next || indices[at] as usize != index {
                return Err(damaged(format!("row {number} is not phase {phase}, pattern {pattern}, index {index}")));
            }
            let weight = weights[at];
            let beyond = |_| damaged(format!("row {number}: weight {weight} is beyond ±32767"));
            table[place] = i16::try_from(weight).map_err(beyond)?;
            visits[place] = counts[at];
            number += 1;
        }
    }
    if let Some(Row { phase, pattern, index, .. }) = rows.next() {
        return Err(damaged(format!("it ends before phase {phase}, pattern {pattern}, index {index}")));
    }
    spread(set, &mut table);
    let evaluation = Evaluation::new(Arc::clone(set), table).map_err(|error| damaged(error.to_string()))?;
    Ok((evaluation, visits))
}

/// Gives every mirror the weight at its canonical place.
pub fn spread(set: &PatternSet, weights: &mut [i16]) {
    for weights in weights.chunks_exact_mut(set.feature_count()) {
        for (feature, &canonical) in set.canonical().iter().enumerate() {
            weights[feature] = weights[canonical as usize];
        }
    }
}
