//! Text for people on stderr, results for machines on stdout.

use super::failure::UsageError;
use crate::artifact::error::ArtifactError;
use crate::artifact::output::{FileKind, OutputFile, stream};
use crate::pipeline::item_sample::share_found;
use indicatif::HumanCount;
use serde::Serialize;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// How errors name the standard output.
const STDOUT: &str = "stdout";

/// The probability with which a check by sample finds false items, for the share that messages name.
pub(super) const FOUND: f64 = 0.95;

/// Prints a line on stdout; a closed pipe is not an error.
pub(super) fn print(text: &str) -> Result<(), ArtifactError> {
    print_with(|writer| writeln!(writer, "{text}"))
}

/// Prints on stdout whatever a function writes; a closed pipe ends it and is not an error.
pub(super) fn print_with(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), ArtifactError> {
    stream(io::stdout(), Path::new(STDOUT), write).map(|_| ())
}

/// Prints the help or the version on stdout; a closed pipe is not an error.
pub(super) fn print_help(help: &clap::Error) -> Result<(), ArtifactError> {
    print_with(|writer| help.print().and_then(|()| writer.flush()))
}

/// The target of `--output`.
pub(super) enum Output {
    Stdout,
    File(OutputFile),
}

impl Output {
    /// Checks the name before any work is done for it.
    pub(super) fn open(json: bool, path: &Path, kind: FileKind, force: bool) -> anyhow::Result<Self> {
        if !is_stdout(path) {
            return Ok(Self::File(OutputFile::open(path, kind, force)?));
        }
        if json {
            let reason = format!("--json and {} both write to stdout: choose one", path.display());
            return Err(UsageError(reason).into());
        }
        Ok(Self::Stdout)
    }

    /// Writes all of it. `false`: the reader of a pipe closed it first, which is not an error.
    pub(super) fn write(self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<bool, ArtifactError> {
        match self {
            Self::File(file) => file.write(write),
            Self::Stdout => stream(BufWriter::new(io::stdout().lock()), Path::new(STDOUT), write),
        }
    }
}

pub(super) fn is_stdout(path: &Path) -> bool {
    ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].iter().any(|name| path == Path::new(name))
}

/// An output as messages name it.
pub(super) fn output_name(path: &Path) -> &Path {
    if is_stdout(path) { Path::new(STDOUT) } else { path }
}

/// Prints a result as one line of JSON on stdout.
pub(super) fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    Ok(print(&serde_json::to_string(value)?)?)
}

/// Prints a line for people on stderr.
pub(super) fn say(text: &str) {
    // Without stderr there is nobody to tell.
    writeln!(io::stderr().lock(), "{text}").ok();
}

/// The share of false games or rows that is found when `count` of them, drawn at random, were made again.
pub(super) fn finding_text(items: &str, count: u64) -> String {
    let share = 100.0 * share_found(count, FOUND);
    format!("false {items} are found with probability {:.0} % if they are {share:.2} % of all or more", 100.0 * FOUND)
}

/// Columns of text, the first aligned left and the others right.
pub(super) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| {
            if column == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// A count with separators: 1,234,567.
pub(super) fn thousands(count: u64) -> String {
    HumanCount(count).to_string()
}

/// A line of blocks, one per value, the highest for the greatest of them.
pub(super) fn bars(values: &[u64]) -> String {
    const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let greatest = values.iter().copied().max().unwrap_or(0).max(1);
    values.iter().map(|&value| BLOCKS[(value * 8).div_ceil(greatest) as usize]).collect()
}
