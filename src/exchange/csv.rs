//! Positions as comma-separated values: the columns of `positions` by name, empty where a value is missing.

use crate::artifact::dataset::positions::{POSITIONS, PositionRow};
use crate::artifact::output::{FileKind, first_bytes};
use crate::artifact::table::row::TableRow;
use std::io::{self, Write};

/// A file that begins with the names of the columns.
pub const CSV_FILE: FileKind = FileKind {
    name: "a CSV file of positions",
    matches: |path| {
        let head = head();
        Ok(first_bytes(path, head.len() as u64)? == head.as_bytes())
    },
};

fn head() -> String {
    let names: Vec<&str> = POSITIONS.columns.iter().map(|column| column.name).collect();
    format!("{}\n", names.join(","))
}

/// Writes the names of the columns.
///
/// # Errors
///
/// Whatever the system refuses.
pub fn write_csv_head(writer: &mut (impl Write + ?Sized)) -> io::Result<()> {
    writer.write_all(head().as_bytes())
}

/// Writes a row.
///
/// # Errors
///
/// Whatever the system refuses.
pub fn write_csv_row(writer: &mut (impl Write + ?Sized), row: &PositionRow) -> io::Result<()> {
    writeln!(writer, "{}", row.texts().join(","))
}
