//! Positions in Parquet files: read with the columns of `positions` (docs/datasets.md) by name, whatever integers they are
//! stored as, and written as one table.

use super::columns::{SourceRow, check_columns, games, is_column, numbers};
use super::records::Records;
use crate::artifact::dataset::footer::{base_footer, format_footer};
use crate::artifact::guarded::guarded;
use crate::artifact::line::visible;
use crate::artifact::pages;
use crate::artifact::table::footer_of;
use crate::artifact::{
    ArtifactError, ContentHash, DatasetFormat, DatasetKind, FileKind, POSITIONS, PositionRow, Table, TableRow,
};
use arrow::array::RecordBatch;
use arrow::datatypes::DataType;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::file::metadata::SortingColumn;
use parquet::file::properties::EnabledStatistics;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

const BATCH_ROWS: usize = 1 << 13;

/// With less than a bit for each, rows can only be copies: 2^26 of them fit in a megabyte and take minutes to import.
const ROWS_PER_BYTE_MAX: u64 = 8;

/// The column of `positions` that folders of [`partition_file`]s are named after.
pub const PARTITION_COLUMN: &str = "empties";

/// A Parquet file with the columns of `positions`.
pub const PARQUET_FILE: FileKind = FileKind {
    name: "a Parquet file of positions",
    matches: |path| {
        let file = File::open(path).map_err(|source| ArtifactError::io("read", path, source))?;
        let builder = match guarded(path, 0, || ParquetRecordBatchReaderBuilder::try_new(file)) {
            Err(ArtifactError::Damaged { .. }) => return Ok(false),
            other => other?,
        };
        let names = builder.schema().fields().iter().map(|field| field.name().as_str());
        Ok(names.eq(POSITIONS.columns.iter().map(|column| column.name)))
    },
};

/// Reads the positions in the bytes of a file; `label` says whether they need a score or a result.
///
/// # Errors
///
/// A file that is not Parquet, or one without the columns.
pub fn read_parquet(path: &Path, bytes: Vec<u8>, label: bool) -> Result<Records, ArtifactError> {
    let size = bytes.len() as u64;
    let (builder, _) = pages::open(path, bytes.into(), is_column)?;
    let footer = footer_of(builder.metadata());
    for (key, ours) in format_footer(DatasetFormat::CURRENT) {
        // Other programs' files say nothing of it.
        if let Some(theirs) = footer.get(&key).filter(|theirs| **theirs != ours) {
            let reason = format!("its footer says {key} = {}, and this renma reads {ours}", visible(theirs));
            return Err(ArtifactError::unfit(path, reason));
        }
    }
    let names: Vec<String> = builder.schema().fields().iter().map(|field| field.name().clone()).collect();
    let again = names.iter().enumerate().find(|(index, name)| is_column(name) && names[..*index].contains(name));
    if let Some((_, name)) = again {
        return Err(ArtifactError::unfit(path, format!("two of its columns are `{name}`")));
    }
    let has = |name: &str| names.iter().any(|other| other == name);
    check_columns(has, label).map_err(|reason| ArtifactError::unfit(path, reason))?;
    for field in builder.schema().fields().iter().filter(|field| is_column(field.name())) {
        if !field.data_type().is_integer() && *field.data_type() != DataType::Boolean {
            let reason =
                format!("column `{}` is {}, integers expected", field.name(), visible(&field.data_type().to_string()));
            return Err(ArtifactError::unfit(path, reason));
        }
    }
    let unused = names.iter().filter(|name| !is_column(name)).map(|name| visible(name));
    let unused: Vec<String> = unused.collect();
    let notes = if unused.is_empty() { Vec::new() } else { vec![format!("columns not used: {}", unused.join(", "))] };
    let rows = builder.metadata().row_groups().iter().map(|group| u64::try_from(group.num_rows()).unwrap_or(u64::MAX));
    let total = rows.fold(0, u64::saturating_add);
    if size * ROWS_PER_BYTE_MAX < total {
        let reason = format!(
            "it has {total} rows in {size} bytes, more than {ROWS_PER_BYTE_MAX} in a byte: they are copies of few positions\n\
             write each position once"
        );
        return Err(ArtifactError::unfit(path, reason));
    }
    let roots = names.iter().enumerate().filter(|(_, name)| is_column(name)).map(|(index, _)| index);
    let mask = ProjectionMask::roots(builder.parquet_schema(), roots);
    let reader = guarded(path, size, || builder.with_projection(mask).with_batch_size(BATCH_ROWS).build())?;
    let (path, mut reader, mut count) = (path.to_owned(), Some(reader), 0);
    // `None` at the end of the file, or after what cannot be decoded.
    let next = move || {
        let first = count + 1;
        let mut decoder = reader.take()?;
        let decoded = guarded(&path, size, move || decoder.next().transpose().map(|batch| (batch, decoder)));
        let reason = match decoded {
            Ok((None, _)) if count == total => return None,
            Ok((None, _)) => format!("there are fewer rows than the {total} that its footer says"),
            Ok((Some(batch), decoder)) if batch.num_rows() as u64 <= total - count => {
                count += batch.num_rows() as u64;
                reader = Some(decoder);
                return Some(batch_rows(&batch, first));
            }
            Ok(_) => format!("there are more rows than the {total} that its footer says"),
            Err(ArtifactError::Damaged { reason, .. }) => format!("the rest cannot be decoded: {reason}"),
            Err(error) => error.to_string(),
        };
        Some(vec![SourceRow::bad(first, &reason)])
    };
    Ok(Records { total, notes, iter: Box::new(games(std::iter::from_fn(next).flatten())) })
}

/// The rows of a batch, numbered from `first`.
fn batch_rows(batch: &RecordBatch, first: u64) -> Vec<SourceRow> {
    let schema = batch.schema();
    let names = schema.fields().iter().map(|field| field.name().as_str());
    let columns: BTreeMap<&str, Vec<_>> = names.zip(batch.columns().iter().map(|column| numbers(column))).collect();
    let number = |row: usize, name: &str| columns.get(name).and_then(|numbers| numbers[row]);
    let rows = (first..).zip(0..batch.num_rows());
    rows.map(|(record, row)| SourceRow::new(record, |name| number(row, name))).collect()
}

/// A Parquet file of positions with equal `empties`, which is not among its columns: its folder names it. The rows ascend by
/// game, and each page states its least and greatest values.
///
/// # Errors
///
/// None that is expected.
pub fn partition_file(kind: DatasetKind, recipe: ContentHash, rows: &[PositionRow]) -> io::Result<Vec<u8>> {
    let table = kind.table(&POSITIONS);
    let names: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
    let kept: Vec<usize> = (0..names.len()).filter(|&index| names[index] != PARTITION_COLUMN).collect();
    let game_column = kept.iter().position(|&index| names[index] == "game_id").expect("positions have games");
    let sorting = SortingColumn { column_idx: game_column as i32, descending: false, nulls_first: false };
    let properties = table
        .properties(&base_footer(DatasetFormat::CURRENT, recipe))
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_sorting_columns(Some(vec![sorting]));
    let write = || {
        let batch = table.batch(PositionRow::to_columns(rows)).project(&kept)?;
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties.build()))?;
        writer.write(&batch)?;
        writer.into_inner()
    };
    write().map_err(io::Error::other)
}

/// Writes positions as one Parquet file, to anything that bytes can be written to.
#[derive(Debug)]
pub struct ParquetWriter {
    table: &'static Table,
    /// Collects bytes until they are handed on.
    writer: ArrowWriter<Vec<u8>>,
}

impl ParquetWriter {
    /// A file with the rows of a dataset of this kind and recipe.
    ///
    /// # Errors
    ///
    /// None that is expected.
    pub fn new(kind: DatasetKind, recipe: ContentHash) -> io::Result<Self> {
        let table = kind.table(&POSITIONS);
        let writer = table.writer(Vec::new(), &base_footer(DatasetFormat::CURRENT, recipe));
        Ok(Self { table, writer: writer.map_err(io::Error::other)? })
    }

    /// Adds rows; what is encoded of them goes to `output`.
    pub fn write(&mut self, rows: &[PositionRow], output: &mut (impl Write + ?Sized)) -> io::Result<()> {
        self.writer.write(&self.table.batch(PositionRow::to_columns(rows))).map_err(io::Error::other)?;
        output.write_all(&std::mem::take(self.writer.inner_mut()))
    }

    /// Ends the file.
    pub fn finish(self, output: &mut (impl Write + ?Sized)) -> io::Result<()> {
        output.write_all(&self.writer.into_inner().map_err(io::Error::other)?)
    }
}
