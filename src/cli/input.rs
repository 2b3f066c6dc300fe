//! The input of a command: a file, a pipe or stdin, of bounded size.

use super::session::wait_for;
use crate::artifact::ArtifactError;
use crate::artifact::publish::{read_bounded, read_stream};
use crate::pipeline::{Context, StageError};
use std::fs::{File, metadata};
use std::io;
use std::path::{Path, PathBuf};

/// How errors name the standard input.
const STDIN: &str = "stdin";

/// Reads all of an input and returns it with its name for errors.
pub(super) fn read_input(context: Context<'_>, path: &Path, size_max: u64) -> Result<(PathBuf, Vec<u8>), StageError> {
    let name = if path == Path::new("-") { Path::new(STDIN) } else { path };
    let input = path.to_owned();
    let bytes = wait_for(context, move || read(&input, size_max))??;
    Ok((name.to_owned(), bytes))
}

fn read(path: &Path, size_max: u64) -> Result<Vec<u8>, ArtifactError> {
    if path == Path::new("-") {
        return read_stream(io::stdin().lock(), Path::new(STDIN), size_max);
    }
    let failed = |source| ArtifactError::io("read", path, source);
    let file_type = metadata(path).map_err(failed)?.file_type();
    if file_type.is_file() || file_type.is_dir() {
        return read_bounded(path, size_max);
    }
    read_stream(File::open(path).map_err(failed)?, path, size_max)
}
