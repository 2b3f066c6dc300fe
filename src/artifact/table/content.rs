//! The hash of a table's values, which does not depend on how Parquet stores them.

use crate::artifact::hash::{ContentHash, FieldHasher};
use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Schema};
use std::sync::Arc;

pub(super) fn content_hash(batch: &RecordBatch) -> ContentHash {
    content_of(&batch.schema(), &|| std::iter::once(batch.clone())).0
}

/// The hash of the values of some batches, column by column, and the number of rows. A missing
/// value counts as zero, and a separate column says which values are there.
pub(super) fn content_of<B: Iterator<Item = RecordBatch>>(
    schema: &Schema,
    batches: &impl Fn() -> B,
) -> (ContentHash, u64) {
    let (mut rows, mut sizes) = (0, vec![0; schema.fields().len()]);
    for batch in batches() {
        rows += batch.num_rows() as u64;
        sizes
            .iter_mut()
            .zip(batch.columns())
            .for_each(|(size, column)| *size += value_size(column));
    }
    let mut hasher = FieldHasher::new("table");
    for (index, (field, size)) in schema.fields().iter().zip(sizes).enumerate() {
        let columns = || batches().map(|batch| Arc::clone(batch.column(index)));
        if field.is_nullable() {
            hasher.field_in_parts(
                field.name(),
                size,
                columns().map(|column| known_bytes(&column)),
            );
            let known = format!("{} is known", field.name());
            hasher.field_in_parts(&known, rows, columns().map(|column| validity(&column)));
        } else {
            hasher.field_in_parts(
                field.name(),
                size,
                columns().map(|column| value_bytes(&column)),
            );
        }
    }
    (hasher.finish(), rows)
}

/// The values, zeros where they are missing.
fn known_bytes(column: &dyn Array) -> Vec<u8> {
    let (mut values, valid) = (value_bytes(column), validity(column));
    let width = values.len().checked_div(valid.len()).unwrap_or(0);
    for (value, _) in values
        .chunks_exact_mut(width.max(1))
        .zip(&valid)
        .filter(|(_, valid)| **valid == 0)
    {
        value.fill(0);
    }
    values
}

fn validity(column: &dyn Array) -> Vec<u8> {
    (0..column.len())
        .map(|row| u8::from(column.is_valid(row)))
        .collect()
}

/// The number of [`value_bytes`].
fn value_size(column: &dyn Array) -> u64 {
    let size = match column.data_type() {
        DataType::Boolean => column.len(),
        DataType::Utf8 => column
            .as_string::<i32>()
            .iter()
            .map(|text| 4 + text.map_or(0, str::len))
            .sum(),
        numbers => {
            column.len()
                * numbers
                    .primitive_width()
                    .expect("tables hold numbers, flags and texts")
        }
    };
    size as u64
}

fn value_bytes(column: &dyn Array) -> Vec<u8> {
    match column.data_type() {
        DataType::Boolean => column.as_boolean().values().iter().map(u8::from).collect(),
        DataType::Utf8 => {
            let texts = column
                .as_string::<i32>()
                .iter()
                .map(Option::unwrap_or_default);
            texts
                .flat_map(|text| {
                    (text.len() as u32)
                        .to_le_bytes()
                        .into_iter()
                        .chain(text.bytes())
                })
                .collect()
        }
        _ => {
            let data = column.to_data();
            let width = data
                .data_type()
                .primitive_width()
                .expect("tables hold numbers, flags and texts");
            data.buffers()[0].as_slice()[data.offset() * width..][..data.len() * width].to_vec()
        }
    }
}
