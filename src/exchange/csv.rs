//! Positions as comma-separated values: the columns of `positions` by name, empty where a value is missing.

use crate::artifact::dataset::positions::POSITIONS;
use crate::artifact::dataset::rows::DatasetRow;
use crate::artifact::output::{FileKind, first_bytes};
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
pub fn write_csv_row(writer: &mut (impl Write + ?Sized), row: &DatasetRow) -> io::Result<()> {
    fn text(value: Option<impl ToString>) -> String {
        value.map(|value| value.to_string()).unwrap_or_default()
    }
    let DatasetRow { game_id, ply, empties, black, white, black_to_move, .. } = row;
    let labels = [
        text(row.score),
        text(row.static_score),
        text(row.depth),
        text(row.exact),
        text(row.best_move),
        text(row.played_move),
        text(row.random_move),
        text(row.result),
    ];
    writeln!(writer, "{game_id},{ply},{empties},{black},{white},{black_to_move},{}", labels.join(","))
}
