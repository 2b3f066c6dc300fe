//! Rows of tables in other programs' files: the columns of `positions` by name, and games from rows
//! that share a `game_id`.
//!
//! Neighboring rows with one `game_id` are one game, so that training never splits it; a row whose
//! id occurred before other games is bad, and so is a game whose rows contradict each other.
//! Without that column every row is a separate game.

use crate::artifact::dataset::positions::contradiction;
use crate::artifact::{ImportedGame, POSITIONS, PositionRow};
use crate::engine::{Black, ColoredPosition, Ply, Score, White};
use arrow::array::{Array, AsArray, downcast_integer_array};
use arrow::datatypes::{DataType, Float32Type, Float64Type};
use std::collections::HashSet;
use std::iter::from_fn;

/// No game has more rows, not even with its passes and its end; a file with one `game_id`
/// throughout is not one game.
const GAME_ROWS_MAX: usize = 1 << 7;

/// Columns that no position can do without.
const REQUIRED: [&str; 3] = ["black", "white", "black_to_move"];

/// Columns of which one is needed, unless positions get their scores later.
const LABELS: [&str; 2] = ["score", "result"];

/// The largest whole number below which a float holds every other one.
const WHOLE_MAX: f64 = (1_u64 << f64::MANTISSA_DIGITS) as f64;

/// Whether `positions` has a column of this name.
pub fn is_column(name: &str) -> bool {
    POSITIONS.columns.iter().any(|column| column.name == name)
}

/// An error unless positions can be made from the columns that a file `has`; `label` says whether
/// they need a label.
pub fn check_columns(has: impl Fn(&str) -> bool, label: bool) -> Result<(), String> {
    if let Some(name) = REQUIRED.iter().find(|name| !has(name)) {
        return Err(format!("it has no column `{name}`"));
    }
    if label && !LABELS.into_iter().any(has) {
        let [score, result] = LABELS;
        return Err(format!(
            "it has neither a column `{score}` nor a column `{result}`\n--label-depth computes scores"
        ));
    }
    Ok(())
}

/// A column and what is wrong with its value, or with the row as a whole if there is no column.
type BadValue = (Option<&'static str>, String);

/// A whole number or a flag, `None` for a missing value; or a number that is not whole.
pub type Cell = Result<Option<i128>, f64>;

/// Whether [`cells`] reads a column of this type and name.
pub fn is_readable(data_type: &DataType, name: &str) -> bool {
    match data_type {
        DataType::Boolean | DataType::Null => true,
        DataType::Float32 | DataType::Float64 => !is_board(name),
        DataType::Dictionary(_, values) => is_readable(values, name),
        other => other.is_integer(),
    }
}

/// Whether a column holds boards: a float has room for 53 of their 64 squares.
pub fn is_board(name: &str) -> bool {
    matches!(name, "black" | "white")
}

/// The values of a column: integers of any width, flags, floats, and dictionaries of them. Arrow's
/// casts would add 1.6 MB to the program.
pub fn cells(column: &dyn Array) -> Vec<Cell> {
    downcast_integer_array!(
        column => column.iter().map(|value| Ok(value.map(Into::into))).collect(),
        DataType::Boolean => column.as_boolean().iter().map(|value| Ok(value.map(Into::into))).collect(),
        DataType::Null => vec![Ok(None); column.len()],
        DataType::Float32 => {
            let floats = column.as_primitive::<Float32Type>();
            floats.iter().map(|value| value.map_or(Ok(None), |float| whole(float.into()))).collect()
        }
        DataType::Float64 => {
            let floats = column.as_primitive::<Float64Type>();
            floats.iter().map(|value| value.map_or(Ok(None), whole)).collect()
        }
        DataType::Dictionary(_, _) => {
            let dictionary = column.as_any_dictionary();
            let values = cells(dictionary.values());
            let entry = |key: Cell| {
                let index = key.ok().flatten().and_then(|key| usize::try_from(key).ok());
                index.map_or(Ok(None), |index| values.get(index).copied().unwrap_or(Ok(None)))
            };
            cells(dictionary.keys()).into_iter().map(entry).collect()
        }
        other => unreachable!("a column of {other}"),
    )
}

/// A float as the whole number for which pandas uses it where a column has missing values, which
/// are NaN.
fn whole(float: f64) -> Cell {
    match float {
        missing if missing.is_nan() => Ok(None),
        number if number.fract() == 0.0 && number.abs() <= WHOLE_MAX => Ok(Some(number as i128)),
        other => Err(other),
    }
}

/// One row of a file.
pub struct SourceRow {
    /// Its number in the file, counted from 1.
    record: u64,
    /// The `game_id` of the source.
    id: Option<i128>,
    /// `None` where the side to move has no move; or why there is none, with its place in the file.
    position: Result<Option<PositionRow>, String>,
}

impl SourceRow {
    /// A row from the cells of its columns, which are empty for a missing column. Flags are 0 and
    /// 1, and every 64-bit number fits.
    pub fn new(record: u64, cell: impl Fn(&'static str) -> Cell) -> Self {
        let values = |name| {
            cell(name).map_err(|number| (Some(name), format!("{number} is not a whole number")))
        };
        let bad = |(column, reason): BadValue| bad_record(record, column, &reason);
        let id = values("game_id").map_err(bad);
        Self {
            record,
            id: id.clone().unwrap_or_default(),
            position: id.and_then(|_| position(values).map_err(bad)),
        }
    }

    /// A row that cannot be read.
    pub fn bad(record: u64, reason: &str) -> Self {
        Self {
            record,
            id: None,
            position: Err(bad_record(record, None, reason)),
        }
    }
}

fn bad_record(record: u64, column: Option<&str>, reason: &str) -> String {
    let column = column
        .map(|name| format!(", column {name}"))
        .unwrap_or_default();
    format!("record {record}{column}: {reason}")
}

fn position(
    values: impl Fn(&'static str) -> Result<Option<i128>, BadValue>,
) -> Result<Option<PositionRow>, BadValue> {
    let colored = ColoredPosition::from_boards(
        Black(bitboard(&values, "black")?),
        White(bitboard(&values, "white")?),
        flag(&values, "black_to_move")?.ok_or_else(|| missing("black_to_move"))?,
    );
    let colored = colored.ok_or_else(|| (None, "black and white share a square".to_owned()))?;
    if colored.position.legal_moves() == 0 {
        return Ok(None);
    }
    // Without a pass, plies and empty squares add up to 60; how many passes there were is not
    // known.
    let ply = label(&values, "ply")?.unwrap_or(60_u8.saturating_sub(colored.position.empties()));
    let row = PositionRow {
        score: label(&values, "score")?.map(Score),
        static_score: label(&values, "static_score")?.map(Score),
        depth: label(&values, "depth")?,
        exact: flag(&values, "exact")?,
        best_move: label(&values, "best_move")?,
        played_move: label(&values, "played_move")?,
        random_move: flag(&values, "random_move")?,
        result: label(&values, "result")?,
        ..PositionRow::unlabeled(colored, Ply(ply))
    };
    if let Some(empties) = values("empties")?.filter(|number| *number != i128::from(row.empties)) {
        return Err((
            Some("empties"),
            format!("it is {empties}, the board has {}", row.empties),
        ));
    }
    row.check().map_err(|reason| (None, reason))?;
    Ok(Some(row))
}

fn missing(name: &'static str) -> BadValue {
    (Some(name), "the value is missing".to_owned())
}

/// A bitboard; signed numbers stand for their bits.
fn bitboard(
    values: impl Fn(&'static str) -> Result<Option<i128>, BadValue>,
    name: &'static str,
) -> Result<u64, BadValue> {
    let number = values(name)?.ok_or_else(|| missing(name))?;
    let bits = u64::try_from(number).or_else(|_| i64::try_from(number).map(i64::cast_unsigned));
    bits.map_err(|_| (Some(name), format!("{number} is out of range")))
}

fn label<T: TryFrom<i128>>(
    values: impl Fn(&'static str) -> Result<Option<i128>, BadValue>,
    name: &'static str,
) -> Result<Option<T>, BadValue> {
    let in_range =
        |number| T::try_from(number).map_err(|_| (Some(name), format!("{number} is out of range")));
    values(name)?.map(in_range).transpose()
}

fn flag(
    values: impl Fn(&'static str) -> Result<Option<i128>, BadValue>,
    name: &'static str,
) -> Result<Option<bool>, BadValue> {
    match values(name)? {
        None => Ok(None),
        Some(number @ 0..=1) => Ok(Some(number == 1)),
        Some(number) => Err((Some(name), format!("{number} is neither 0 nor 1"))),
    }
}

/// The games and the bad rows of a table, in order. A game stays one game without its bad rows,
/// which come before it.
pub fn games(
    rows: impl Iterator<Item = SourceRow>,
) -> impl Iterator<Item = Result<ImportedGame, String>> {
    let (mut rows, mut ids, mut last) = (rows.peekable(), HashSet::new(), None);
    let next_game = move || {
        let first = rows.next()?;
        if let Some(id) = first.id.filter(|id| !ids.insert(*id)) {
            return Some(vec![Err(repeated(first, id, last == Some(id)))]);
        }
        last = first.id;
        let (mut found, mut game, mut records) = (Vec::new(), ImportedGame::default(), Vec::new());
        let (mut next, mut count) = (Some(first), 0);
        while let Some(row) = next {
            count += 1;
            match row.position {
                Ok(Some(position)) => {
                    game.rows.push(position);
                    records.push(row.record);
                }
                Ok(None) => {}
                Err(bad) => found.push(Err(bad)),
            }
            let may_continue = row.id.is_some() && count < GAME_ROWS_MAX;
            next = rows.next_if(|row| may_continue && row.id == last);
        }
        match contradiction(&game.rows) {
            Some((place, reason)) => found.push(Err(bad_record(records[place], None, &reason))),
            None if found.len() < count => found.push(Ok(game)),
            None => {}
        }
        Some(found)
    };
    from_fn(next_game).flatten()
}

/// Why a row whose `game_id` was seen before is in no game: under another number, training could
/// hold out one half of a game and learn the other. `is_neighbor`: no other game came in between.
fn repeated(row: SourceRow, id: i128, is_neighbor: bool) -> String {
    let reason = if is_neighbor {
        format!("more than {GAME_ROWS_MAX} rows have game_id {id}, more than any game")
    } else {
        format!("game_id {id} occurs again after other games: sort the rows by game_id")
    };
    row.position
        .err()
        .unwrap_or_else(|| bad_record(row.record, Some("game_id"), &reason))
}
