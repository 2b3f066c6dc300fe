//! Positions as comma-separated values: the columns of `positions` by name, empty where a value is missing.

use super::columns::{Number, SourceRow, check_columns, games, numbers};
use super::records::{Line, Records, line_ends, lines_of};
use crate::artifact::output::first_bytes;
use crate::artifact::{ArtifactError, Column, FileKind, POSITIONS, PositionRow, TableRow};
use arrow::datatypes::DataType;
use std::io::{self, Write};
use std::path::Path;

/// A less similar name is not worth suggesting; 1 is the same name.
const SIMILARITY_MIN: f64 = 0.7;

/// A file that begins with the names of the columns.
pub const CSV_FILE: FileKind = FileKind {
    name: "a CSV file of positions",
    matches: |path| {
        let head = csv_head();
        Ok(first_bytes(path, head.len() as u64)? == head.as_bytes())
    },
};

/// The first line: the names of the columns.
pub fn csv_head() -> String {
    let names: Vec<&str> = POSITIONS.columns.iter().map(|column| column.name).collect();
    format!("{}\n", names.join(","))
}

/// Reads the positions in the bytes of a file whose first line names columns of `positions`, in any order; `label` says whether they need
/// a score or a result. Flags are `true` and `false`, or 1 and 0; empty lines are skipped.
///
/// # Errors
///
/// A file without the columns, or an unknown column.
pub fn read_csv(path: &Path, bytes: Vec<u8>, label: bool) -> Result<Records, ArtifactError> {
    let total = line_ends(&bytes).saturating_sub(1);
    let mut lines = lines_of(bytes);
    let unfit = |reason: String| ArtifactError::unfit(path, format!("line 1: {reason}"));
    let head = lines.next().map_or_else(|| Ok(String::new()), |(_, text)| text).map_err(|(_, reason)| unfit(reason))?;
    let columns = columns(head.trim_start_matches('\u{feff}')).map_err(unfit)?;
    check_columns(|name| columns.iter().any(|column| column.name == name), label).map_err(unfit)?;
    let row = move |(number, text): Line| {
        let place = ("line", number);
        let text = match text {
            Ok(text) if text.trim().is_empty() => return None,
            Ok(text) => text,
            Err((_, reason)) => return Some(SourceRow::bad(place, &reason)),
        };
        let fields: Vec<&str> = fields(&text).collect();
        if fields.len() == columns.len() {
            return Some(SourceRow::new(place, |name| value(&columns, &fields, name)));
        }
        let reason = format!("it has {} values, the first line names {} columns", fields.len(), columns.len());
        Some(SourceRow::bad(place, &reason))
    };
    Ok(Records { total, notes: Vec::new(), iter: Box::new(games(lines.filter_map(row))) })
}

/// The values of a line; no number or flag has a comma, so quotes can only be around a whole value.
fn fields(line: &str) -> impl Iterator<Item = &str> {
    line.split(',').map(|field| {
        let field = field.trim();
        field.strip_prefix('"').and_then(|field| field.strip_suffix('"')).unwrap_or(field)
    })
}

/// The columns that the first line names.
fn columns(head: &str) -> Result<Vec<&'static Column>, String> {
    let mut columns: Vec<&Column> = Vec::new();
    for name in fields(head) {
        if columns.iter().any(|column| column.name == name) {
            return Err(format!("it names the column `{name}` twice"));
        }
        columns.push(POSITIONS.columns.iter().find(|column| column.name == name).ok_or_else(|| unknown(name))?);
    }
    Ok(columns)
}

fn unknown(name: &str) -> String {
    let similar = POSITIONS.columns.iter().map(|column| (strsim::jaro(name, column.name), column.name));
    let nearest = similar.max_by(|(left, _), (right, _)| left.total_cmp(right));
    let remedy = match nearest.filter(|(similarity, _)| SIMILARITY_MIN < *similarity) {
        Some((_, nearest)) => format!("did you mean {nearest}?"),
        None => format!("the columns are {}", csv_head().trim_end().replace(',', ", ")),
    };
    format!("unknown column `{}`\n{remedy}", name.escape_debug())
}

/// The value of a column in a line.
fn value(columns: &[&Column], fields: &[&str], name: &'static str) -> Number {
    let found = columns.iter().zip(fields).find(|(column, _)| column.name == name);
    let Some((column, field)) = found.filter(|(_, field)| !field.is_empty()) else { return Ok(None) };
    let is_flag = column.data_type == DataType::Boolean;
    if is_flag && let Ok(flag) = field.to_ascii_lowercase().parse::<bool>() {
        return Ok(Some(flag.into()));
    }
    // 64 bits, signed or not.
    let number = field.parse::<i64>().map(i128::from).or_else(|_| field.parse::<u64>().map(i128::from));
    let kind = if is_flag { "true or false" } else { "an integer" };
    number.map(Some).map_err(|_| (Some(name), format!("`{}` is not {kind}", field.escape_debug())))
}

/// As [`value`] reads it.
fn text(column: &Column, number: Option<i128>) -> String {
    match number {
        Some(number) if column.data_type == DataType::Boolean => (number != 0).to_string(),
        other => other.map(|number| number.to_string()).unwrap_or_default(),
    }
}

/// Writes rows.
///
/// # Errors
///
/// A system error.
pub fn write_csv_rows(writer: &mut (impl Write + ?Sized), rows: &[PositionRow]) -> io::Result<()> {
    let columns: Vec<_> = PositionRow::to_columns(rows).iter().map(|column| numbers(column)).collect();
    for row in 0..rows.len() {
        let texts: Vec<String> =
            POSITIONS.columns.iter().zip(&columns).map(|(column, numbers)| text(column, numbers[row])).collect();
        writeln!(writer, "{}", texts.join(","))?;
    }
    Ok(())
}
