//! Positions as comma-separated values: the columns of `positions` by name, empty where a value is missing.

use crate::artifact::dataset::positions::POSITIONS;
use crate::artifact::dataset::rows::DatasetRow;
use std::io::{self, Write};

/// Writes the names of the columns.
///
/// # Errors
///
/// Whatever the system refuses.
pub fn write_csv_head(writer: &mut impl Write) -> io::Result<()> {
    let names: Vec<&str> = POSITIONS.columns.iter().map(|column| column.name).collect();
    writeln!(writer, "{}", names.join(","))
}

/// Writes a row.
///
/// # Errors
///
/// Whatever the system refuses.
pub fn write_csv_row(writer: &mut impl Write, row: &DatasetRow) -> io::Result<()> {
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
