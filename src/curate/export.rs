//! Writes the positions or the games of a dataset in another program's format.

mod obf;
mod tokens;

use crate::artifact::{ArtifactError, Dataset, FileKind};
use crate::exchange::obf::OBF_FILE;
use crate::exchange::tokens::{TOKENS_FILE, TokensConfig};
use crate::pipeline::{Context, StageError};
use std::io::{self, Write};
use std::path::Path;

/// Other programs' formats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ExportFormat {
    /// One position per line.
    Obf,
    /// One game per row of a Parquet file.
    Tokens(TokensConfig),
}

impl ExportFormat {
    /// How a file of this format is recognized.
    pub const fn file_kind(self) -> FileKind {
        match self {
            Self::Obf => OBF_FILE,
            Self::Tokens(_) => TOKENS_FILE,
        }
    }

    /// Opens a dataset that can be exported in this format.
    ///
    /// # Errors
    ///
    /// A missing, unfinished or damaged one, or one without what the format has.
    pub fn open(self, folder: &Path) -> Result<Dataset, ArtifactError> {
        match self {
            Self::Obf => Dataset::open(folder),
            Self::Tokens(_) => tokens::open(folder),
        }
    }
}

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exported {
    /// This number of positions.
    Positions(u64),
    /// All games, and those of them that are for validation.
    #[expect(missing_docs, reason = "the names say it")]
    Games { games: u64, validation: u64 },
}

/// Why a dataset could not be written.
enum Failure {
    /// A damaged dataset or an interruption, which is not the fault of the output.
    Dataset(StageError),
    /// An error of the output.
    Output(io::Error),
}

impl From<ArtifactError> for Failure {
    fn from(error: ArtifactError) -> Self {
        Self::Dataset(error.into())
    }
}

impl From<StageError> for Failure {
    fn from(error: StageError) -> Self {
        Self::Dataset(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// Exports a dataset that [`ExportFormat::open`] has opened; returns what was written, or `None` if
/// the reader of the output stopped reading.
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
) -> Result<Option<Exported>, StageError> {
    let (mut failure, mut exported) = (None, None);
    let mut write = |writer: &mut dyn Write| {
        let written = match format {
            ExportFormat::Obf => obf::write(dataset, context, writer),
            ExportFormat::Tokens(config) => tokens::write(dataset, config, context, writer),
        };
        match written {
            Ok(what) => {
                exported = Some(what);
                Ok(())
            }
            Err(Failure::Output(error)) => Err(error),
            Err(Failure::Dataset(error)) => {
                failure = Some(error);
                Err(io::Error::other("its rows cannot be read"))
            }
        }
    };
    let written = context.observe("export", dataset.part_count() as u64, "parts", || {
        output(&mut write)
    });
    match failure {
        Some(error) => Err(error),
        None => {
            let is_read = written?;
            Ok(exported.filter(|_| is_read))
        }
    }
}
