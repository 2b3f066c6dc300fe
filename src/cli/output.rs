//! Text for people on stderr, results for machines on stdout.

use super::failure::UsageError;
use super::session::Session;
use crate::artifact::error::ArtifactError;
use crate::artifact::output::{FileKind, OutputFile, stream};
use crate::pipeline::generate::remake::share_found;
use serde::Serialize;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// How errors name the standard output.
const STDOUT: &str = "stdout";

/// How surely a check by sample is said to find what is false.
pub(super) const FOUND: f64 = 0.95;

/// Prints a line on stdout; a closed pipe is not an error.
pub(super) fn print(text: &str) -> Result<(), ArtifactError> {
    stream(io::stdout().lock(), Path::new(STDOUT), |writer| writeln!(writer, "{text}")).map(|_| ())
}

/// Prints the help or the version on stdout; a closed pipe is not an error.
pub(super) fn print_help(help: &clap::Error) -> Result<(), ArtifactError> {
    let print = |writer: &mut dyn Write| help.print().and_then(|()| writer.flush());
    stream(io::stdout(), Path::new(STDOUT), print).map(|_| ())
}

/// What `--output` names: a file, or stdout.
pub(super) enum Output {
    Stdout,
    File(OutputFile),
}

impl Output {
    /// Checks the name before any work is done for it.
    pub(super) fn open(session: &Session, path: &Path, kind: FileKind, force: bool) -> anyhow::Result<Self> {
        if !is_stdout(path) {
            return Ok(Self::File(OutputFile::open(path, kind, force)?));
        }
        if session.json {
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

fn is_stdout(path: &Path) -> bool {
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

/// Prints a line for people on stderr; nobody is told when nobody listens.
pub(super) fn say(text: &str) {
    writeln!(io::stderr().lock(), "{text}").ok();
}

/// Which share of false games or rows is found, when `count` that were drawn at random have been done again.
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

/// A number with its thousands set apart: 1,234,567.
pub(super) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if 0 < index && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A line of blocks, one a value, the highest for the greatest of them.
pub(super) fn bars(values: &[u64]) -> String {
    const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let greatest = values.iter().copied().max().unwrap_or(0).max(1);
    values.iter().map(|&value| BLOCKS[(value * 8).div_ceil(greatest) as usize]).collect()
}
