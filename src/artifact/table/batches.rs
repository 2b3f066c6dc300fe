//! The rows of a part, some at a time.

use super::listed::read_listed;
use super::row::TableRow;
use super::{FileEntry, Footer, ROW_SIZE_MAX, Table, check_footer};
use crate::artifact::error::ArtifactError;
use crate::artifact::guarded::guarded;
use arrow::array::{ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::SchemaRef;
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

impl Table {
    /// The rows of a part that a manifest lists, some at a time: size, hash, schema, the keys of its
    /// footer that are in `footer` and the number of rows are checked.
    ///
    /// # Errors
    ///
    /// Anything that is not as the manifest says; each batch may be an error, such as
    /// [`ArtifactError::Interrupted`].
    pub fn read_row_batches<'p, R: TableRow>(
        &self,
        path: &'p Path,
        entry: &FileEntry,
        footer: &Footer,
        stop: &'p AtomicBool,
    ) -> Result<impl Iterator<Item = Result<Vec<R>, ArtifactError>> + use<'p, R>, ArtifactError>
    {
        let part = self.open(path, read_listed(path, entry)?.into(), stop)?;
        check_footer(path, &part.footer, footer)?;
        part.check_rows(entry.rows)?;
        Ok(part.map(move |batch| {
            R::from_batch(&batch?).map_err(|reason| ArtifactError::damaged(path, reason))
        }))
    }
}

/// The rows of a part, some at a time, with the columns of the table in order, and never more than
/// its footer says.
pub struct RecordBatches<'p> {
    pub path: &'p Path,
    /// Of the file, in bytes.
    pub size: u64,
    pub stop: &'p AtomicBool,
    pub footer: Footer,
    /// None after an error.
    pub reader: Option<ParquetRecordBatchReader>,
    pub rows_left: u64,
    /// Where the file has each column of the table.
    pub order: Vec<usize>,
    /// That of the table.
    pub schema: SchemaRef,
}

impl RecordBatches<'_> {
    /// Refuses a part with more rows than this.
    pub fn check_rows(&self, rows_max: u64) -> Result<(), ArtifactError> {
        if self.rows_left <= rows_max {
            return Ok(());
        }
        Err(ArtifactError::damaged(
            self.path,
            format!(
                "it has {} rows, at most {rows_max} expected",
                self.rows_left
            ),
        ))
    }
}

impl Iterator for RecordBatches<'_> {
    type Item = Result<RecordBatch, ArtifactError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut reader = self.reader.take()?;
        if self.stop.load(Ordering::Relaxed) {
            return Some(Err(ArtifactError::Interrupted));
        }
        let damaged = |reason: &str| Some(Err(ArtifactError::damaged(self.path, reason)));
        let next = guarded(self.path, self.size, move || {
            reader.next().transpose().map(|batch| (batch, reader))
        });
        let (batch, reader) = match next {
            Ok((Some(batch), reader)) => (batch, reader),
            Ok((None, _)) if self.rows_left == 0 => return None,
            Ok((None, _)) => return damaged("it holds fewer rows than its footer says"),
            Err(error) => return Some(Err(error)),
        };
        let rows = batch.num_rows() as u64;
        let Some(rows_left) = self.rows_left.checked_sub(rows) else {
            return damaged("it holds more rows than its footer says");
        };
        let text_size = |column: &ArrayRef| {
            column
                .as_string_opt::<i32>()
                .map_or(0, |texts| texts.value_data().len())
        };
        if let Some(size) = batch
            .columns()
            .iter()
            .map(text_size)
            .find(|&size| rows * ROW_SIZE_MAX < size as u64)
        {
            return damaged(&format!("the texts of {rows} rows have {size} bytes"));
        }
        self.rows_left = rows_left;
        self.reader = Some(reader);
        let columns = self
            .order
            .iter()
            .map(|&index| Arc::clone(batch.column(index)))
            .collect();
        let arranged = RecordBatch::try_new(Arc::clone(&self.schema), columns);
        Some(arranged.map_err(|error| ArtifactError::damaged(self.path, error.to_string())))
    }
}
