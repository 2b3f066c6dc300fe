//! `vectors.parquet`: one row per canonical feature of a group of phases whose vector is not zero.
//!
//! Each component is a column. A list would be a column of objects in pandas, and its lengths,
//! which pack well, could unpack to any number of values.

use super::weights_file::{Row, canonical_rows, spread};
use crate::artifact::error::ArtifactError;
use crate::artifact::line::visible;
use crate::artifact::table::{Column, Layout, ROW_GROUP_ROWS, Table};
use crate::engine::eval::pattern_set::{COMPONENT_MAX, VECTOR_SIZE_MAX};
use crate::engine::{Evaluation, PatternSet};
use arrow::array::{ArrayRef, AsArray, Int16Array, RecordBatch, StringArray, UInt32Array};
use arrow::datatypes::{DataType, Int16Type, UInt32Type};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// The columns before the components.
const KEYS: usize = 3;

/// The columns of keys, and one for each of these numbers.
macro_rules! columns {
    ($($number:literal)*) => {[
        Column::new("group", DataType::Int16, Layout::Dictionary, "group of phases that share vectors; 0 begins the game"),
        Column::new("pattern", DataType::Utf8, Layout::Dictionary, "name of the pattern"),
        Column::new("index", DataType::UInt32, Layout::Delta, "configuration, base 3, the smallest of its mirrors"),
        $(Column::new(
            concat!("component_", $number),
            DataType::Int16,
            Layout::Dictionary,
            "component of the vector, in units of the root of half a millidisc",
        )),*
    ]};
}

static COLUMNS: [Column; KEYS + VECTOR_SIZE_MAX as usize] =
    columns!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);

/// The columns of `vectors.parquet` for vectors of this many components.
pub fn vectors_table(size: usize) -> Table {
    Table {
        name: "vectors",
        columns: &COLUMNS[..KEYS + size],
        nullable: false,
    }
}

/// The vectors of an evaluation, `[group][feature][component]`, as rows, a row group at a time.
pub fn to_batches(evaluation: &Evaluation) -> impl Iterator<Item = RecordBatch> + '_ {
    let set = evaluation.set();
    let (size, table) = (set.vector_size(), vectors_table(set.vector_size()));
    let vector = move |row: &Row<'_>| &evaluation.vectors()[row.place * size..][..size];
    let is_learned = move |row: &Row<'_>| vector(row).iter().any(|&component| component != 0);
    let mut rows = canonical_rows(set, 0..set.group_count()).filter(is_learned);
    let next = move || {
        let group: Vec<Row<'_>> = rows.by_ref().take(ROW_GROUP_ROWS).collect();
        let component = |number: usize| -> ArrayRef {
            Arc::new(Int16Array::from_iter_values(
                group.iter().map(|row| i16::from(vector(row)[number])),
            ))
        };
        (!group.is_empty()).then(|| {
            let keys: [ArrayRef; KEYS] = [
                Arc::new(Int16Array::from_iter_values(
                    group.iter().map(|row| row.range as i16),
                )),
                Arc::new(StringArray::from_iter_values(
                    group.iter().map(|row| row.pattern),
                )),
                Arc::new(UInt32Array::from_iter_values(
                    group.iter().map(|row| row.index as u32),
                )),
            ];
            table.batch(keys.into_iter().chain((0..size).map(component)).collect())
        })
    };
    std::iter::from_fn(next)
}

/// The vectors of some groups, `[group][feature][component]`, in the rows of a file that hold them,
/// whatever the sizes of its batches.
///
/// # Errors
///
/// Rows that are not canonical features of the set, each at most once and in order, with a vector
/// that is not zero; `path` names the file in errors.
pub fn from_batches(
    path: &Path,
    set: &PatternSet,
    groups: Range<usize>,
    batches: impl Iterator<Item = Result<RecordBatch, ArtifactError>>,
) -> Result<Vec<i8>, ArtifactError> {
    let (size, mut number) = (set.vector_size(), 0_u64);
    let mut vectors = vec![0; groups.len() * set.feature_count() * size];
    let mut features = canonical_rows(set, groups);
    for batch in batches {
        let batch = batch?;
        let groups = batch.column(0).as_primitive::<Int16Type>().values();
        let patterns = batch.column(1).as_string::<i32>();
        let indices = batch.column(2).as_primitive::<UInt32Type>().values();
        let column = |number: usize| {
            &batch
                .column(KEYS + number)
                .as_primitive::<Int16Type>()
                .values()[..]
        };
        let components: Vec<&[i16]> = (0..size).map(column).collect();
        for row in 0..batch.num_rows() {
            let damaged =
                |reason: String| ArtifactError::damaged(path, format!("row {number}: {reason}"));
            let (group, pattern, index) = (groups[row], patterns.value(row), indices[row]);
            let is_next = |feature: &Row<'_>| {
                feature.index == index as usize
                    && usize::try_from(group) == Ok(feature.range)
                    && feature.pattern == pattern
            };
            let unknown = || {
                let feature = format!("group {group}, pattern {}, index {index}", visible(pattern));
                damaged(format!(
                    "{feature} is not a canonical feature after that of the row before"
                ))
            };
            let place = features.find(is_next).ok_or_else(unknown)?.place;
            let vector = &mut vectors[place * size..][..size];
            for (index, (value, column)) in vector.iter_mut().zip(&components).enumerate() {
                let component = column[row];
                if component.unsigned_abs() > COMPONENT_MAX.unsigned_abs().into() {
                    return Err(damaged(format!(
                        "component_{index} is {component}, beyond ±{COMPONENT_MAX}"
                    )));
                }
                *value = component as i8;
            }
            if vector.iter().all(|&component| component == 0) {
                return Err(damaged("all its components are zero".to_owned()));
            }
            number += 1;
        }
    }
    spread(set, &mut vectors, size);
    Ok(vectors)
}

#[cfg(test)]
mod tests {
    use super::super::features_file::parse_features;
    use super::*;
    use crate::artifact::table::Footer;
    use parquet::arrow::ArrowWriter;

    /// Two groups of 11 features; of ROW the features 3, 6 and 7 are mirrors of 1, 2 and 5.
    fn set(size: usize) -> PatternSet {
        let text = format!(
            "name = \"a\"\nphase_empties_max = [60, 40, 30]\nvectors = {size}\nvector_empties_max = [60, 30]\n\
            [[pattern]]\nname = \"ROW\"\nsquares = \"a1 h1\"\n[[pattern]]\nname = \"PARITY\"\nkind = \"parity\"\n"
        );
        parse_features(&text).unwrap()
    }

    type Row<'a> = (i16, &'a str, u32, &'a [i16]);

    fn batch(rows: &[Row<'_>], size: usize) -> RecordBatch {
        let component = |number: usize| -> ArrayRef {
            Arc::new(Int16Array::from_iter_values(
                rows.iter().map(|(.., vector)| vector[number]),
            ))
        };
        let keys: [ArrayRef; KEYS] = [
            Arc::new(Int16Array::from_iter_values(rows.iter().map(|row| row.0))),
            Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.1))),
            Arc::new(UInt32Array::from_iter_values(rows.iter().map(|row| row.2))),
        ];
        vectors_table(size).batch(keys.into_iter().chain((0..size).map(component)).collect())
    }

    fn encoded(batches: impl Iterator<Item = RecordBatch>, size: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        let table = vectors_table(size);
        let properties = table.properties(&Footer::new()).build();
        let mut writer =
            ArrowWriter::try_new(&mut bytes, table.schema(), Some(properties)).unwrap();
        batches.for_each(|batch| writer.write(&batch).unwrap());
        writer.close().unwrap();
        bytes
    }

    fn decoded(set: &PatternSet, bytes: Vec<u8>) -> Result<Vec<i8>, String> {
        let path = Path::new("vectors.parquet");
        let rows_max = (set.group_count() * set.feature_count()) as u64;
        let read = || {
            from_batches(
                path,
                set,
                0..set.group_count(),
                vectors_table(set.vector_size()).decode_batches(path, bytes.into(), rows_max)?,
            )
        };
        read().map_err(|error| error.to_string())
    }

    #[test]
    fn vectors_of_every_size_survive_the_file() {
        for size in [1, 2, 16, 32] {
            let set = Arc::new(set(size));
            let mut vectors: Vec<i8> = (0..set.component_count())
                .map(|place| (place * 37 % 255) as u8 as i8)
                .map(|byte| byte % 32)
                .collect();
            // Some are zero and have no row.
            vectors
                .chunks_exact_mut(size)
                .step_by(3)
                .for_each(|vector| vector.fill(0));
            spread(&set, &mut vectors, size);
            let weights = vec![0; set.weight_count()];
            let evaluation =
                Evaluation::with_vectors(Arc::clone(&set), weights.clone(), vectors.clone())
                    .unwrap();
            let rows: usize = to_batches(&evaluation).map(|batch| batch.num_rows()).sum();
            let is_learned = |vector: &[i8]| vector.iter().any(|&component| component != 0);
            let own = |place: usize| set.canonical()[place % 11] as usize == place % 11;
            let expected = (0..22)
                .filter(|&place| own(place) && is_learned(&vectors[place * size..][..size]))
                .count();
            assert_eq!(rows, expected, "{size}");
            assert_eq!(
                decoded(&set, encoded(to_batches(&evaluation), size)).unwrap(),
                vectors,
                "{size}"
            );
            let empty = Evaluation::new(Arc::clone(&set), weights).unwrap();
            assert_eq!(
                decoded(&set, encoded(to_batches(&empty), size)).unwrap(),
                empty.vectors(),
                "{size}: no rows"
            );
        }
    }

    #[test]
    fn rows_in_batches_of_any_size_are_the_same_vectors() {
        let set = set(2);
        let rows: [Row<'_>; 5] = [
            (0, "ROW", 1, &[1, -31]),
            (0, "ROW", 8, &[0, 31]),
            (0, "PARITY", 0, &[3, 0]),
            (1, "ROW", 0, &[4, 5]),
            (1, "PARITY", 1, &[6, 7]),
        ];
        let mut expected = vec![0; 44];
        for (feature, vector) in [
            (1, [1, -31]),
            (3, [1, -31]),
            (8, [0, 31]),
            (9, [3, 0]),
            (11, [4, 5]),
            (21, [6, 7]),
        ] {
            expected[2 * feature..][..2].copy_from_slice(&vector);
        }
        for count in 1..=5 {
            let batches = rows.chunks(count).map(|rows| Ok(batch(rows, 2)));
            assert_eq!(
                from_batches(Path::new("x"), &set, 0..2, batches).unwrap(),
                expected,
                "{count}"
            );
        }
        // The order is kept from batch to batch.
        let repeated = [&rows[..1], &rows[..1]].map(|rows| Ok(batch(rows, 2)));
        let error = from_batches(Path::new("x"), &set, 0..2, repeated.into_iter())
            .unwrap_err()
            .to_string();
        let expected = "row 1: group 0, pattern ROW, index 1 is not a canonical feature after that of the row before";
        assert!(error.ends_with(expected), "{error}");
    }

    #[test]
    fn a_row_that_cannot_be_is_refused_with_its_number() {
        let first: Row<'_> = (0, "ROW", 1, &[1, 1]);
        for (row, expected) in [
            ((0, "ROW", 2, &[0, 1][..]), None),
            (
                (0, "ROW", 1, &[2, 2][..]),
                Some("group 0, pattern ROW, index 1"),
            ),
            (
                (0, "ROW", 0, &[1, 1]),
                Some("group 0, pattern ROW, index 0"),
            ),
            (
                (-1, "ROW", 2, &[1, 1]),
                Some("group -1, pattern ROW, index 2"),
            ),
            (
                (2, "ROW", 2, &[1, 1]),
                Some("group 2, pattern ROW, index 2"),
            ),
            (
                (0, "LINE", 2, &[1, 1]),
                Some("group 0, pattern LINE, index 2"),
            ),
            (
                (0, "ROW", 3, &[1, 1]),
                Some("group 0, pattern ROW, index 3"),
            ),
            (
                (0, "ROW", 9, &[1, 1]),
                Some("group 0, pattern ROW, index 9"),
            ),
            (
                (0, "PARITY", 2, &[1, 1]),
                Some("group 0, pattern PARITY, index 2"),
            ),
            (
                (1, "PARITY", u32::MAX, &[1, 1]),
                Some("group 1, pattern PARITY, index 4294967295"),
            ),
            (
                (0, "ROW", 2, &[1, 32]),
                Some("component_1 is 32, beyond ±31"),
            ),
            (
                (0, "ROW", 2, &[-32, 1]),
                Some("component_0 is -32, beyond ±31"),
            ),
            (
                (0, "ROW", 2, &[i16::MIN, 1]),
                Some("component_0 is -32768, beyond ±31"),
            ),
            ((0, "ROW", 2, &[0, 0]), Some("all its components are zero")),
        ] {
            let found = decoded(
                &set(2),
                encoded(std::iter::once(batch(&[first, row], 2)), 2),
            );
            match (found, expected) {
                (Ok(_), None) => {}
                (Err(error), Some(expected)) => {
                    assert!(error.contains(&format!("row 1: {expected}")), "{error}");
                }
                (found, _) => panic!("{row:?}: {found:?}"),
            }
        }
    }

    #[test]
    fn a_file_with_other_columns_or_too_many_rows_is_refused() {
        let vector = [1; 32];
        let file = |size: usize, rows: usize| {
            let rows: Vec<Row<'_>> = (0..rows as u32)
                .map(|index| (0, "ROW", index, &vector[..size]))
                .collect();
            encoded(std::iter::once(batch(&rows, size)), size)
        };
        for (size, bytes, expected) in [
            (2, file(1, 1), "it has no column component_1"),
            (
                2,
                file(3, 1),
                "its column component_2 is not one of `vectors`",
            ),
            (32, file(31, 1), "it has no column component_31"),
            (2, file(2, 23), "it has 23 rows, at most 22 expected"),
        ] {
            let error = decoded(&set(size), bytes).unwrap_err();
            assert!(error.ends_with(expected), "{error}");
        }
    }
}
