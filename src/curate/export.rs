//! Writes the positions of a dataset in another program's format.

use crate::artifact::dataset::manifest::part_name;
use crate::artifact::publish::temporary::sweep_own;
use crate::artifact::publish::{exists, parent, publish_bytes};
use crate::artifact::{ArtifactError, Dataset, FileKind, POSITIONS, PendingFolder, PositionRow};
use crate::exchange::obf::{OBF_FILE, write_obf_row};
use crate::exchange::parquet::{PARQUET_FILE, PARTITION_COLUMN, ParquetWriter, partition_file};
use crate::pipeline::{Context, StageError};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

/// The rows that a partitioned export may hold in memory: 150 MB.
pub const PARTITIONED_ROWS: usize = 1 << 21;

/// Other programs' formats of positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ExportFormat {
    /// One table with the columns of positions
    Parquet,
    /// One position per line, with the best move and its score in whole discs
    Obf,
}

/// What the folders of a partitioned export are named after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Partition {
    /// The number of empty squares: `empties=20`
    Empties,
}

impl ExportFormat {
    /// How a file of this format is recognized.
    pub const fn file_kind(self) -> FileKind {
        match self {
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
        for index in 0..dataset.part_count() {
            let read = context.check().and_then(|()| Ok(dataset.positions(index, context.stop)?));
            let rows = read.map_err(|error| {
                failure = Some(error);
                io::Error::other("its rows cannot be read")
            })?;
            let rows: Vec<PositionRow> = rows.into_iter().map(|(_, row)| row).collect();
            match &mut table {
                Some(table) => table.write(&rows, writer)?,
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

/// Exports all positions of a dataset as Parquet files in one folder per number of empty squares; returns their number.
///
/// The folder appears when it is complete. Rows keep the order of the dataset, so games ascend in each file. After at least
/// `rows_max` rows, what is in memory is written to a file in each folder.
///
/// # Errors
///
/// A name that is taken, a damaged dataset, or an error of the system.
pub fn export_partitions(
    dataset: &Dataset,
    folder: &Path,
    rows_max: usize,
    context: Context<'_>,
) -> Result<u64, StageError> {
    let refused = |reason| ArtifactError::refused("write", folder, format!("{reason}\nname a new folder"));
    let name = folder.file_name().ok_or_else(|| refused("it has no name"))?;
    if exists(folder)? {
        return Err(refused("it exists").into());
    }
    sweep_own(parent(folder))?;
    let mut pending = PendingFolder::new(parent(folder))?;
    let manifest = dataset.manifest();
    let fill = || -> Result<(), StageError> {
        let (mut held, mut count, mut file) = (BTreeMap::<u8, Vec<PositionRow>>::new(), 0, 0);
        for index in 0..dataset.part_count() {
            context.check()?;
            for (_, row) in dataset.positions(index, context.stop)? {
                held.entry(row.empties).or_default().push(row);
                count += 1;
            }
            if rows_max <= count || index + 1 == dataset.part_count() {
                for (empties, rows) in std::mem::take(&mut held) {
                    let path = pending.path().join(format!("{PARTITION_COLUMN}={empties}")).join(part_name(file));
                    let bytes = partition_file(manifest.kind, manifest.recipe, &rows);
                    publish_bytes(&path, &bytes.map_err(|source| ArtifactError::io("encode", &path, source))?)?;
                }
                (count, file) = (0, file + 1);
            }
            context.progress.advance(1);
        }
        Ok(())
    };
    context.observe("export", (dataset.part_count() as u64, 0), "parts", fill)?;
    if !pending.publish(name)? {
        return Err(refused("it was created in the meantime").into());
    }
    Ok(manifest.rows(POSITIONS.name))
}
