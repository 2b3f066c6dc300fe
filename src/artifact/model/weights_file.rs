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
        Column::new(
            "phase",
            DataType::Int16,
            Layout::Dictionary,
            "range of empty squares; 0 begins the game",
        ),
        Column::new(
            "pattern",
            DataType::Utf8,
            Layout::Dictionary,
            "name of the pattern",
        ),
        Column::new(
            "index",
            DataType::UInt32,
            Layout::Delta,
            "configuration, base 3, the smallest of its mirrors",
        ),
        Column::new(
            "weight",
            DataType::Int32,
            Layout::Dictionary,
            "millidiscs for the side to move",
        ),
        Column::new(
            "visits",
            DataType::UInt32,
            Layout::Dictionary,
            "training updates that reached this weight",
        ),
    ],
    nullable: false,
};

/// A row of a file: a canonical feature of a phase, or of a group of phases.
pub(super) struct Row<'a> {
    pub(super) range: usize,
    /// The name of the pattern.
    pub(super) pattern: &'a str,
    pub(super) index: usize,
    /// Its place in a table `[range][feature]` of the ranges asked for.
    pub(super) place: usize,
}

/// The rows of a file for these ranges of empty squares: the canonical features of each, range
/// after range.
pub(super) fn canonical_rows(
    set: &PatternSet,
    ranges: Range<usize>,
) -> impl Iterator<Item = Row<'_>> {
    let begin = ranges.start;
    let patterns = move |range| {
        set.patterns()
            .iter()
            .enumerate()
            .map(move |(number, pattern)| (range, number, pattern))
    };
    ranges
        .flat_map(patterns)
        .flat_map(move |(range, number, pattern)| {
            let first = set.offset(number);
            let is_canonical =
                move |index: &usize| set.canonical()[first + index] as usize == first + index;
            let place = (range - begin) * set.feature_count() + first;
            let row = move |index| Row {
                range,
                pattern: &pattern.name,
                index,
                place: place + index,
            };
            (0..pattern.configuration_count())
                .filter(is_canonical)
                .map(row)
        })
}

/// The weights and visits, `[phase][feature]`, as rows, a row group at a time.
pub fn to_batches<'a>(
    evaluation: &'a Evaluation,
    visits: &'a [u32],
) -> impl Iterator<Item = RecordBatch> + 'a {
    let mut rows = canonical_rows(evaluation.set(), 0..evaluation.set().phase_count());
    let next = move || {
        let group: Vec<Row<'_>> = rows.by_ref().take(ROW_GROUP_ROWS).collect();
        let weight = |row: &Row<'_>| i32::from(evaluation.weights()[row.place]);
        (!group.is_empty()).then(|| {
            WEIGHTS.batch(vec![
                Arc::new(Int16Array::from_iter_values(
                    group.iter().map(|row| row.range as i16),
                )),
                Arc::new(StringArray::from_iter_values(
                    group.iter().map(|row| row.pattern),
                )),
                Arc::new(UInt32Array::from_iter_values(
                    group.iter().map(|row| row.index as u32),
                )),
                Arc::new(Int32Array::from_iter_values(group.iter().map(weight))),
                Arc::new(UInt32Array::from_iter_values(
                    group.iter().map(|row| visits[row.place]),
                )),
            ])
        })
    };
    std::iter::from_fn(next)
}

/// A weight of a file, if it is within ±32,767.
pub fn weight_of(number: i32) -> Option<i16> {
    i16::try_from(number)
        .ok()
        .filter(|weight| *weight != i16::MIN)
}

/// The weights and visits of some phases, `[phase][feature]`, in the rows of a file that hold them,
/// whatever the sizes of its batches.
///
/// # Errors
///
/// Rows that are not the canonical features of the set, each once and in order, or weights beyond
/// 16 bits; `path` names the file in errors.
pub fn from_batches(
    path: &Path,
    set: &PatternSet,
    phases: Range<usize>,
    batches: impl Iterator<Item = Result<RecordBatch, ArtifactError>>,
) -> Result<(Vec<i16>, Vec<u32>), ArtifactError> {
    let damaged = |reason: String| ArtifactError::damaged(path, reason);
    let mut table = vec![0_i16; phases.len() * set.feature_count()];
    let mut visits = vec![0; table.len()];
    let (mut rows, mut number) = (canonical_rows(set, phases), 0);
    for batch in batches {
        let batch = batch?;
        let phases = batch.column(0).as_primitive::<Int16Type>().values();
        let patterns = batch.column(1).as_string::<i32>();
        let indices = batch.column(2).as_primitive::<UInt32Type>().values();
        let weights = batch.column(3).as_primitive::<Int32Type>().values();
        let counts = batch.column(4).as_primitive::<UInt32Type>().values();
        for at in 0..batch.num_rows() {
            let row = rows.next();
            let excess = || {
                damaged(format!(
                    "row {number} and those after it belong to no feature"
                ))
            };
            let Row {
                range: phase,
                pattern,
                index,
                place,
            } = row.ok_or_else(excess)?;
            let is_next = usize::try_from(phases[at]) == Ok(phase) && patterns.value(at) == pattern;
            if !is_next || indices[at] as usize != index {
                return Err(damaged(format!(
                    "row {number} is not phase {phase}, pattern {pattern}, index {index}"
                )));
            }
            let weight = weights[at];
            let beyond = || damaged(format!("row {number}: weight {weight} is beyond ±32767"));
            table[place] = weight_of(weight).ok_or_else(beyond)?;
            visits[place] = counts[at];
            number += 1;
        }
    }
    if let Some(Row {
        range: phase,
        pattern,
        index,
        ..
    }) = rows.next()
    {
        return Err(damaged(format!(
            "it ends before phase {phase}, pattern {pattern}, index {index}"
        )));
    }
    spread(set, &mut table, 1);
    Ok((table, visits))
}

/// Gives every mirror the `size` values at its canonical place.
pub fn spread<T: Copy>(set: &PatternSet, table: &mut [T], size: usize) {
    for table in table.chunks_exact_mut(set.feature_count() * size) {
        for (feature, &canonical) in set.canonical().iter().enumerate() {
            let canonical = canonical as usize;
            if canonical != feature {
                table.copy_within(canonical * size..(canonical + 1) * size, feature * size);
            }
        }
    }
}
