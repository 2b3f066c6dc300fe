//! Writes the positions of a dataset in another program's format.

use crate::artifact::{ArtifactError, Dataset, FileKind, POSITIONS, PositionRow};
use crate::exchange::csv::{CSV_FILE, csv_head, write_csv_rows};
use crate::exchange::obf::{OBF_FILE, write_obf_row};
use crate::exchange::parquet::{PARQUET_FILE, ParquetWriter};
use crate::pipeline::{Context, StageError};
use std::io::{self, Write};

/// Other programs' formats of positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ExportFormat {
    /// The columns of positions as text
    Csv,
    /// One table with the columns of positions
    Parquet,
    /// One position per line, with the best move and its score in whole discs
    Obf,
}

impl ExportFormat {
    /// How a file of this format is recognized.
    pub const fn file_kind(self) -> FileKind {
        match self {
            Self::Csv => CSV_FILE,
            Self::Parquet => PARQUET_FILE,
            Self::Obf => OBF_FILE,
        }
    }
}

/// Exports all positions of a dataset; returns their number, or `None` if the reader of the output stopped reading.
///
/// `output` is called once with what writes the whole file, and returns `false` if its reader stopped reading.
///
/// # Errors
///
/// A damaged dataset, or an error of `output`.
pub fn export(
    dataset: &Dataset,
    format: ExportFormat,
    context: Context<'_>,
    output: impl FnOnce(&mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> Result<bool, ArtifactError>,
) -> Result<Option<u64>, StageError> {
    let manifest = dataset.manifest();
    // A damaged dataset or an interruption, which is not the fault of the output.
    let mut failure = None;
    let mut write = |writer: &mut dyn Write| {
        let is_parquet = format == ExportFormat::Parquet;
        let mut table = is_parquet.then(|| ParquetWriter::new(manifest.kind, manifest.recipe)).transpose()?;
        if format == ExportFormat::Csv {
            writer.write_all(csv_head().as_bytes())?;
        }
        for index in 0..dataset.part_count() {
            let read = context.check().and_then(|()| Ok(dataset.positions(index, context.stop)?));
            let rows = read.map_err(|error| {
                failure = Some(error);
                io::Error::other("its rows cannot be read")
            })?;
            let rows: Vec<PositionRow> = rows.into_iter().map(|(_, row)| row).collect();
            match &mut table {
                Some(table) => table.write(&rows, writer)?,
                None if format == ExportFormat::Csv => write_csv_rows(writer, &rows)?,
                None => rows.iter().try_for_each(|row| write_obf_row(writer, row))?,
            }
            context.progress.advance(1);
        }
        table.map_or(Ok(()), |table| table.finish(writer))
    };
    let written = context.observe("export", (dataset.part_count() as u64, 0), "parts", || output(&mut write));
    match failure {
        Some(error) => Err(error),
        None => Ok(written?.then(|| manifest.rows(POSITIONS.name))),
    }
}
