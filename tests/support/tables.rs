//! Parquet files and JSON documents as anybody reads them: columns by name, numbers of whatever
//! width.
#![allow(dead_code, reason = "no room needs every helper")]

use arrow::array::AsArray;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type, UInt64Type};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// The rows of one file, or of all parts of a table.
#[derive(Default)]
pub(crate) struct Columns {
    pub(crate) count: usize,
    numbers: BTreeMap<String, Vec<Option<i64>>>,
    reals: BTreeMap<String, Vec<f64>>,
    texts: BTreeMap<String, Vec<String>>,
}

impl Columns {
    pub(crate) fn read_file(path: &Path) -> Self {
        let mut columns = Self::default();
        columns.append(path);
        columns
    }

    /// The parts of a table in their order.
    pub(crate) fn read_parts(folder: &Path) -> Self {
        let mut paths: Vec<_> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        paths.retain(|path| {
            path.extension()
                .is_some_and(|extension| extension == "parquet")
        });
        paths.sort();
        let mut columns = Self::default();
        paths.iter().for_each(|path| columns.append(path));
        columns
    }

    fn append(&mut self, path: &Path) {
        let file = std::fs::File::open(path).unwrap();
        for batch in ParquetRecordBatchReaderBuilder::try_new(file)
            .unwrap()
            .build()
            .unwrap()
        {
            let batch = batch.unwrap();
            self.count += batch.num_rows();
            for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
                let name = field.name().clone();
                match field.data_type() {
                    DataType::Utf8 => {
                        let texts = column
                            .as_string::<i32>()
                            .iter()
                            .map(|text| text.unwrap().to_owned());
                        self.texts.entry(name).or_default().extend(texts);
                    }
                    DataType::Float64 => {
                        self.reals
                            .entry(name)
                            .or_default()
                            .extend(column.as_primitive::<Float64Type>().values());
                    }
                    DataType::UInt64 => {
                        let bits = column
                            .as_primitive::<UInt64Type>()
                            .iter()
                            .map(|bits| bits.map(|bits| bits as i64));
                        self.numbers.entry(name).or_default().extend(bits);
                    }
                    _ => {
                        let wide = cast(column, &DataType::Int64).unwrap();
                        self.numbers
                            .entry(name)
                            .or_default()
                            .extend(wide.as_primitive::<Int64Type>());
                    }
                }
            }
        }
    }

    /// A number, or a Boolean as 0 or 1.
    pub(crate) fn number(&self, name: &str, row: usize) -> i64 {
        self.optional(name, row)
            .unwrap_or_else(|| panic!("{name} of row {row} is null"))
    }

    pub(crate) fn optional(&self, name: &str, row: usize) -> Option<i64> {
        self.numbers[name][row]
    }

    /// A bitboard.
    pub(crate) fn bits(&self, name: &str, row: usize) -> u64 {
        self.number(name, row) as u64
    }

    pub(crate) fn real(&self, name: &str, row: usize) -> f64 {
        self.reals[name][row]
    }

    pub(crate) fn text(&self, name: &str, row: usize) -> &str {
        &self.texts[name][row]
    }
}

pub(crate) fn read_json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// A whole number of a document or of the config in it.
pub(crate) fn whole(value: &Value, name: &str) -> i64 {
    value[name]
        .as_i64()
        .unwrap_or_else(|| panic!("{name}: {}", value[name]))
}

/// Any number of a document or of the config in it.
pub(crate) fn real(value: &Value, name: &str) -> f64 {
    value[name]
        .as_f64()
        .unwrap_or_else(|| panic!("{name}: {}", value[name]))
}
