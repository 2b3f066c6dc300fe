//! Some rows of a table that is ordered by its first column.

use super::Table;
use crate::artifact::error::ArtifactError;
use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::Int16Type;
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::statistics::Statistics;
use std::path::Path;

/// Rows decoded together: few enough that their columns use the same memory again.
const BATCH_ROWS: usize = 1 << 13;

impl Table {
    /// The rows of a part whose first column, which ascends, has a value. The part is one that this
    /// program wrote and whose bytes are known to be sound; row groups without such rows are not
    /// decoded.
    ///
    /// # Errors
    ///
    /// Bytes that are not a part of a table.
    pub fn decode_range(
        &self,
        path: &Path,
        bytes: Bytes,
        value: i16,
    ) -> Result<Vec<RecordBatch>, ArtifactError> {
        let damaged = |error: ParquetError| ArtifactError::damaged(path, error.to_string());
        let builder = ParquetRecordBatchReaderBuilder::try_new(bytes).map_err(damaged)?;
        let groups = builder.metadata().row_groups().iter().enumerate();
        let groups = groups
            .filter(|(_, group)| may_have(group, value))
            .map(|(number, _)| number)
            .collect();
        let reader = builder
            .with_row_groups(groups)
            .with_batch_size(BATCH_ROWS)
            .build()
            .map_err(damaged)?;
        let mut batches = Vec::new();
        for batch in reader {
            let batch = batch.map_err(|error| damaged(error.into()))?;
            let values = batch.column(0).as_primitive::<Int16Type>().values();
            let begin = values.partition_point(|&other| other < value);
            let end = values.partition_point(|&other| other <= value);
            batches.push(batch.slice(begin, end - begin));
        }
        Ok(batches)
    }
}

/// Whether a row group may have rows whose first column has this value.
fn may_have(group: &RowGroupMetaData, value: i16) -> bool {
    let Some(Statistics::Int32(column)) = group.column(0).statistics() else {
        return true;
    };
    let value = i32::from(value);
    column.min_opt().is_none_or(|&least| least <= value)
        && column.max_opt().is_none_or(|&most| value <= most)
}
