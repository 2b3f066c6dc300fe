//! Writes the positions of a dataset in another program's format.

use crate::artifact::{ArtifactError, Dataset, FileKind, POSITIONS};
use crate::exchange::obf::{OBF_FILE, write_obf_row};
use crate::pipeline::{Context, StageError};
use std::io::{self, Write};

/// Other programs' formats of positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// One position per line.
    Obf,
}

impl ExportFormat {
    /// How a file of this format is recognized.
    pub const fn file_kind(self) -> FileKind {
        match self {
            Self::Obf => OBF_FILE,
        }
    }
}

/// Exports all positions of a dataset; returns their number, or `None` if the reader of the output
/// stopped reading.
///
/// `output` is called once with what writes the whole file, and returns `false` if its reader
/// stopped reading.
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
    // A damaged dataset or an interruption, which is not the fault of the output.
    let mut failure = None;
    let mut write = |writer: &mut dyn Write| {
        for index in 0..dataset.part_count() {
            let read = context
                .check()
                .and_then(|()| Ok(dataset.positions(index, context.stop)?));
            let rows = read.map_err(|error| {
                failure = Some(error);
                io::Error::other("its rows cannot be read")
            })?;
            match format {
                ExportFormat::Obf => rows
                    .iter()
                    .try_for_each(|(_, row)| write_obf_row(writer, row))?,
            }
            context.progress.advance(1);
        }
        Ok(())
    };
    let written = context.observe("export", dataset.part_count() as u64, "parts", || {
        output(&mut write)
    });
    match failure {
        Some(error) => Err(error),
        None => Ok(written?.then(|| dataset.manifest().rows(POSITIONS.name))),
    }
}
