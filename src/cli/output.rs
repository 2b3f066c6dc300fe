//! Text for people on stderr, results for machines on stdout.

use super::command_errors::UsageError;
use crate::artifact::line::visible;
use crate::artifact::output::stream;
use crate::artifact::{ArtifactError, FileKind, OutputFile};
use crate::pipeline::item_sample::share_found;
use indicatif::HumanCount;
use serde::Serialize;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How errors name the standard output.
const STDOUT: &str = "stdout";

/// The probability with which a check by sample finds false items, for the share that messages
/// name.
pub const FOUND: f64 = 0.95;

/// Whether stderr has errors only, else also a line per stage, notes and warnings. Set once, before
/// anything is said.
pub static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// Whether stdout has the result, or the error, as JSON.
pub static IS_JSON: AtomicBool = AtomicBool::new(false);

/// Whether stderr has the details too.
pub static IS_VERBOSE: AtomicBool = AtomicBool::new(false);

/// Prints lines on stdout; a closed pipe is not an error.
pub fn print(text: &str) -> Result<(), ArtifactError> {
    print_with(|writer| writeln!(writer, "{}", harmless(text)))
}

/// Prints on stdout whatever a function writes; a closed pipe ends it and is not an error.
pub fn print_with(
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), ArtifactError> {
    stream(io::stdout(), Path::new(STDOUT), write).map(|_| ())
}

/// The target of `--output`: a file, else stdout.
pub struct Output(Option<OutputFile>);

impl Output {
    /// Checks the name before any work is done for it.
    pub fn open(json: bool, path: &Path, kind: FileKind, force: bool) -> anyhow::Result<Self> {
        if !is_stdout(path) {
            return Ok(Self(Some(OutputFile::open(path, kind, force)?)));
        }
        if json {
            let reason = format!(
                "--json and {} both write to stdout: choose one",
                path.display()
            );
            return Err(UsageError(reason).into());
        }
        Ok(Self(None))
    }

    /// Writes all of it. `false`: the reader of a pipe closed it first, which is not an error.
    pub fn write(
        self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<bool, ArtifactError> {
        match self.0 {
            Some(file) => file.write(write),
            None => stream(
                BufWriter::new(io::stdout().lock()),
                Path::new(STDOUT),
                write,
            ),
        }
    }
}

fn is_stdout(path: &Path) -> bool {
    ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"]
        .iter()
        .any(|name| path == Path::new(name))
}

/// An output as messages name it.
pub fn output_name(path: &Path) -> &Path {
    if is_stdout(path) {
        Path::new(STDOUT)
    } else {
        path
    }
}

/// Prints a result as one line of JSON on stdout.
pub fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    Ok(print(&serde_json::to_string(value)?)?)
}

/// Prints a line for people on stderr, unless only errors were asked for.
pub fn say(text: &str) {
    if !IS_QUIET.load(Ordering::Relaxed) {
        complain(text);
    }
}

/// Prints a line for people on stderr, even if only errors were asked for.
pub fn complain(text: &str) {
    // A closed stderr has no reader.
    writeln!(io::stderr().lock(), "{}", harmless(text)).ok();
}

/// Text that may repeat what files say, without what terminals obey and without lines that begin as
/// GitHub's commands do. JSON stays the same value.
fn harmless(text: &str) -> String {
    let lines = text.split('\n').map(|line| {
        let line = visible(line);
        if line.trim_start().starts_with("::") {
            line.replacen(':', "\\u003a", 1)
        } else {
            line
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Prints on stderr what only `--verbose` shows.
pub fn detail(text: &str) {
    if IS_VERBOSE.load(Ordering::Relaxed) {
        say(text);
    }
}

/// The share of false games or rows that is found when `count` of them, drawn at random, were made
/// again.
pub fn finding_text(items: &str, count: u64) -> String {
    let share = 100.0 * share_found(count, FOUND);
    format!(
        "false {items} are found with probability {:.0} % if they are {share:.2} % of all or more",
        100.0 * FOUND
    )
}

/// The columns of the terminal that a stream is, if it is one.
pub fn terminal_width(stream: impl AsFd + IsTerminal) -> Option<usize> {
    if stream.is_terminal() {
        Some(terminal_size::terminal_size_of(stream)?.0.0.into())
    } else {
        None
    }
}

/// A table with a name above each column.
pub fn table<const N: usize>(
    names: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    narrow_table(names, rows, None, &[])
}

/// A table with at most `width` characters in a line, if that is given: columns are left out in the
/// order of `dispensable`, as many as needed.
pub fn narrow_table<const N: usize>(
    names: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
    width: Option<usize>,
    dispensable: &[usize],
) -> String {
    let rows: Vec<[String; N]> = [names.map(str::to_owned)].into_iter().chain(rows).collect();
    let without = |dropped: &[usize]| {
        let kept = |row: &[String; N]| {
            let cells = row
                .iter()
                .enumerate()
                .filter(|(column, _)| !dropped.contains(column));
            cells.map(|(_, cell)| cell.clone()).collect()
        };
        aligned(&rows.iter().map(kept).collect::<Vec<_>>())
    };
    let fits = |text: &String| {
        text.lines()
            .all(|line| width.is_none_or(|width| line.chars().count() <= width))
    };
    let narrower = (0..=dispensable.len()).map(|count| without(&dispensable[..count]));
    narrower
        .clone()
        .find(fits)
        .unwrap_or_else(|| without(dispensable))
}

/// Columns of text, the first aligned left and the others right.
pub fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
    };
    let widths: Vec<usize> = (0..columns)
        .map(|column| width(column).unwrap_or(0))
        .collect();
    let line = |row: &Vec<String>| {
        let cells = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(column, (cell, &width))| {
                if column == 0 {
                    format!("{cell:<width$}")
                } else {
                    format!("{cell:>width$}")
                }
            });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// A count with separators: 1,234,567.
pub fn thousands(count: u64) -> String {
    HumanCount(count).to_string()
}

/// A count with its noun: 1 game, 2,000 games.
pub fn counted(count: u64, noun: &str) -> String {
    format!(
        "{} {noun}{}",
        thousands(count),
        if count == 1 { "" } else { "s" }
    )
}

/// A duration in its two largest units: 40 s, 3 min, 1 h 40 min, 2 d 3 h.
pub fn duration_text(duration: Duration) -> String {
    let seconds = duration.as_secs_f64().round() as u64;
    let minutes = (seconds as f64 / 60.0).round() as u64;
    let two = |large: u64, unit: &str, small: u64, smaller: &str| match small {
        0 => format!("{large} {unit}"),
        small => format!("{large} {unit} {small} {smaller}"),
    };
    match minutes {
        _ if seconds < 60 => format!("{seconds} s"),
        0..60 => format!("{minutes} min"),
        60..1440 => two(minutes / 60, "h", minutes % 60, "min"),
        _ => two(minutes / 1440, "d", minutes % 1440 / 60, "h"),
    }
}

/// A size on disk or in memory: 38 MB, 0.3 GB, 64 GB.
pub fn bytes_text(bytes: u64) -> String {
    let megabytes = bytes as f64 / 1e6;
    match megabytes {
        0.0..0.95 => format!("{} kB", bytes.div_ceil(1000)),
        0.95..100.0 => format!("{megabytes:.0} MB"),
        100.0..9950.0 => format!("{:.1} GB", megabytes / 1e3),
        _ => format!("{:.0} GB", megabytes / 1e3),
    }
}

/// A line of blocks, one per value, the highest for the greatest of them.
pub fn bars(values: &[u64]) -> String {
    const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let greatest = values.iter().copied().max().unwrap_or(0).max(1);
    values
        .iter()
        .map(|&value| BLOCKS[(value * 8).div_ceil(greatest) as usize])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_drops_columns_until_it_fits() {
        let (names, row) = (
            ["generation", "games", "exact MAE"],
            ["1", "5,000", "7.41"].map(str::to_owned),
        );
        let check = |width, expected: &str| {
            assert_eq!(
                narrow_table(names, [row.clone()], Some(width), &[1, 2]),
                expected,
                "{width}"
            );
        };
        check(
            80,
            "generation  games  exact MAE\n1           5,000       7.41",
        );
        check(
            28,
            "generation  games  exact MAE\n1           5,000       7.41",
        );
        check(27, "generation  exact MAE\n1                7.41");
        check(20, "generation\n1");
        check(5, "generation\n1");
    }

    #[test]
    fn durations_have_one_or_two_units() {
        let check = |seconds, expected: &str| {
            assert_eq!(duration_text(Duration::from_secs_f64(seconds)), expected);
        };
        check(0.4, "0 s");
        check(59.4, "59 s");
        check(59.6, "1 min");
        check(179.0, "3 min");
        check(3599.0, "1 h");
        check(6000.0, "1 h 40 min");
        check(86_400.0 * 2.0 + 3.0 * 3600.0, "2 d 3 h");
    }

    #[test]
    fn sizes_have_a_unit_that_fits() {
        let check = |bytes, expected: &str| assert_eq!(bytes_text(bytes), expected, "{bytes}");
        check(900, "1 kB");
        check(38_400_000, "38 MB");
        check(320_000_000, "0.3 GB");
        check(1_540_000_000, "1.5 GB");
        check(64_000_000_000, "64 GB");
    }
}
