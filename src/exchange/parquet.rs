//! Positions in anybody's Parquet: `black`, `white` and `black_to_move` with `score` (millidiscs) or `result` (discs).
//!
//! The columns of `positions` (docs/datasets.md) are taken by name, whatever integers they are stored as, and others are
//! passed over. Neighboring rows with one `game_id` are one game, so that training never splits it; rows with an id that
//! came before other games are bad. Without that column every row is a separate game.

use super::records::{BadRecord, Place, Records, SIZE_MAX};
use crate::artifact::dataset::positions::{POSITIONS, PositionRow};
use crate::artifact::dataset::writer::ImportedGame;
use crate::artifact::error::ArtifactError;
use crate::artifact::publish::read_bounded;
use crate::artifact::table::guarded;
use crate::artifact::table::row::TableRow;
use crate::engine::board::notation::ColoredPosition;
use arrow::array::{Array, AsArray, Int64Array, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, UInt64Type};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

const BATCH_ROWS: usize = 1 << 13;

/// No game has so many rows, not even with all its mirror images; a file with one `game_id` throughout is not one game.
const GAME_ROWS_MAX: usize = 1 << 12;

/// Reads the positions of a file.
///
/// # Errors
///
/// A missing file, one that is no Parquet, or one without the columns.
pub fn read_parquet(path: &Path) -> Result<Records, ArtifactError> {
    let bytes = bytes::Bytes::from(read_bounded(path, SIZE_MAX)?);
    let damaged = |reason: String| ArtifactError::damaged(path, reason);
    let builder = guarded(|| ParquetRecordBatchReaderBuilder::try_new(bytes));
    let builder = builder.ok_or_else(|| damaged("the Parquet reader gave up on it".into()))?;
    let builder = builder.map_err(|error| damaged(error.to_string()))?;
    let names: Vec<String> = builder.schema().fields().iter().map(|field| field.name().clone()).collect();
    let known = |name: &String| POSITIONS.columns.iter().any(|column| column.name == name);
    let has = |name: &str| names.iter().any(|other| other == name);
    if let Some(name) = ["black", "white", "black_to_move"].into_iter().find(|name| !has(name)) {
        return Err(ArtifactError::unfit(path, format!("it has no column `{name}`")));
    }
    if !has("score") && !has("result") {
        return Err(ArtifactError::unfit(path, "it has neither a column `score` nor a column `result`"));
    }
    for field in builder.schema().fields().iter().filter(|field| known(field.name())) {
        if !field.data_type().is_integer() && *field.data_type() != DataType::Boolean {
            let reason = format!("column `{}` is {}, integers expected", field.name(), field.data_type());
            return Err(ArtifactError::unfit(path, reason));
        }
    }
    let others: Vec<&str> = names.iter().filter(|name| !known(name)).map(String::as_str).collect();
    let mut notes = Vec::new();
    if !others.is_empty() {
        notes.push(format!("columns not used: {}", others.join(", ")));
    }
    let total = u64::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or(0);
    let roots = names.iter().enumerate().filter(|(_, name)| known(name)).map(|(index, _)| index);
    let mask = ProjectionMask::roots(builder.parquet_schema(), roots);
    let reader = guarded(|| builder.with_projection(mask).with_batch_size(BATCH_ROWS).build());
    let reader = reader.ok_or_else(|| damaged("the Parquet reader gave up on it".into()))?;
    let reader = reader.map_err(|error| damaged(error.to_string()))?;
    let mut games = Games {
        reader: Some(reader),
        record: 0,
        rows: VecDeque::new(),
        ready: VecDeque::new(),
        ids: IdSet::default(),
        last: None,
    };
    Ok(Records { total, notes, iter: Box::new(std::iter::from_fn(move || games.next_game())) })
}

/// A row of the file.
struct SourceRow {
    /// Its number, counted from 1.
    record: u64,
    /// The `game_id` that its source gave it.
    id: Option<i64>,
    /// Its position; none where the side to move has no move.
    position: Result<Option<PositionRow>, BadRecord>,
}

struct Games {
    /// None at the end of the file.
    reader: Option<ParquetRecordBatchReader>,
    /// Rows read.
    record: u64,
    rows: VecDeque<SourceRow>,
    /// Bad rows of the game that was read last, and the game itself.
    ready: VecDeque<Result<ImportedGame, BadRecord>>,
    /// The ids of all games so far.
    ids: IdSet,
    /// The id of the last game.
    last: Option<i64>,
}

impl Games {
    /// The next game or bad row. A game stays one game without its bad rows, which are told before it.
    fn next_game(&mut self) -> Option<Result<ImportedGame, BadRecord>> {
        if self.ready.is_empty() {
            let row = self.next_row()?;
            match row.id {
                Some(id) if !self.ids.insert(id) => self.ready.push_back(Err(self.repeated(row, id))),
                _ => self.read_game(row),
            }
        }
        self.ready.pop_front()
    }

    /// Reads the neighbors of a row that belong to its game.
    fn read_game(&mut self, first: SourceRow) {
        self.last = first.id;
        let mut rows = Vec::new();
        let (mut sound, mut count) = (0, 0);
        let mut next = Some(first);
        while let Some(row) = next {
            count += 1;
            match row.position {
                Ok(position) => {
                    sound += 1;
                    rows.extend(position);
                }
                Err(bad) => self.ready.push_back(Err(bad)),
            }
            next = if row.id.is_none() || count == GAME_ROWS_MAX { None } else { self.next_row() };
            if let Some(other) = next.take_if(|row| row.id != self.last) {
                self.rows.push_front(other);
            }
        }
        if 0 < sound {
            self.ready.push_back(Ok(ImportedGame { rows, ..ImportedGame::default() }));
        }
    }

    /// Why a row whose `game_id` was seen before is in no game: under another number, training could hold out one half of
    /// a game and learn the other.
    fn repeated(&self, row: SourceRow, id: i64) -> BadRecord {
        let reason = if self.last == Some(id) {
            format!("more than {GAME_ROWS_MAX} rows have game_id {id}, more than any game")
        } else {
            format!("game_id {id} occurs again after other games: sort the rows by game_id")
        };
        let place = Place::Column("game_id".to_owned());
        row.position.err().unwrap_or(BadRecord { record: row.record, place, reason })
    }

    fn next_row(&mut self) -> Option<SourceRow> {
        while self.rows.is_empty() {
            let reader = self.reader.as_mut()?;
            match guarded(|| reader.next()) {
                Some(Some(Ok(batch))) => self.add_batch(&batch),
                Some(None) => self.reader = None,
                Some(Some(Err(error))) => self.give_up(&error.to_string()),
                None => self.give_up("the Parquet reader gave up on it"),
            }
        }
        self.rows.pop_front()
    }

    fn give_up(&mut self, reason: &str) {
        self.reader = None;
        let reason = format!("the rest cannot be decoded: {reason}");
        let place = Place::Column("black".to_owned());
        let record = self.record + 1;
        self.rows.push_back(SourceRow { record, id: None, position: Err(BadRecord { record, place, reason }) });
    }

    fn add_batch(&mut self, batch: &RecordBatch) {
        let columns = Columns::new(batch);
        for row in 0..batch.num_rows() {
            self.record += 1;
            let record = self.record;
            let bad = |(name, reason): BadValue| BadRecord { record, place: Place::Column(name.to_owned()), reason };
            let (id, position) = (columns.number("game_id", row), columns.position(row).map_err(bad));
            self.rows.push_back(SourceRow { record, id, position });
        }
    }
}

/// The columns of a batch as 64-bit integers, bitboards as their bits; those that do not fit are missing there.
struct Columns(BTreeMap<String, (Int64Array, Vec<bool>)>);

type BadValue = (&'static str, String);

impl Columns {
    fn new(batch: &RecordBatch) -> Self {
        let column = |index: usize| {
            let column = batch.column(index);
            let present = (0..column.len()).map(|row| column.is_valid(row)).collect();
            let numbers = if *column.data_type() == DataType::UInt64 {
                column.as_primitive::<UInt64Type>().unary(u64::cast_signed)
            } else {
                let numbers = cast(column, &DataType::Int64).expect("integers and flags become integers");
                numbers.as_primitive().clone()
            };
            (numbers, present)
        };
        let schema = batch.schema();
        let names = schema.fields().iter().map(|field| field.name().clone());
        Self(names.enumerate().map(|(index, name)| (name, column(index))).collect())
    }

    /// The number in a column, if it is there and not null.
    fn number(&self, name: &str, row: usize) -> Option<i64> {
        let (numbers, present) = self.0.get(name)?;
        present[row].then(|| numbers.value(row))
    }

    fn required(&self, name: &'static str, row: usize) -> Result<i64, BadValue> {
        self.number(name, row).ok_or_else(|| (name, "the value is missing".to_owned()))
    }

    fn label<T: TryFrom<i64>>(&self, name: &'static str, row: usize) -> Result<Option<T>, BadValue> {
        let number = self.number(name, row);
        number.map(|number| T::try_from(number).map_err(|_| (name, format!("{number} is out of range")))).transpose()
    }

    fn flag(&self, name: &'static str, row: usize) -> Result<Option<bool>, BadValue> {
        match self.number(name, row) {
            None => Ok(None),
            Some(0) => Ok(Some(false)),
            Some(1) => Ok(Some(true)),
            Some(number) => Err((name, format!("{number} is neither 0 nor 1"))),
        }
    }

    fn position(&self, row: usize) -> Result<Option<PositionRow>, BadValue> {
        let black = self.required("black", row)?.cast_unsigned();
        let white = self.required("white", row)?.cast_unsigned();
        let black_to_move = self.flag("black_to_move", row)?;
        let black_to_move = black_to_move.ok_or_else(|| ("black_to_move", "the value is missing".to_owned()))?;
        let colored = ColoredPosition::from_boards(black, white, black_to_move);
        let colored = colored.ok_or_else(|| ("black", "black and white share a square".to_owned()))?;
        if colored.position.legal_moves() == 0 {
            return Ok(None);
        }
        // Without a pass, plies and empty squares add up to 60; how many passes there were is not known.
        let ply = self.label("ply", row)?.unwrap_or(60_u8.saturating_sub(colored.position.empties()));
        let mut labeled = PositionRow::unlabeled(colored, ply);
        for &name in PositionRow::OPTIONAL {
            if let Some(number) = self.number(name, row) {
                labeled.set(name, number).map_err(|reason| (name, reason))?;
            }
        }
        if let Some(empties) = self.number("empties", row).filter(|number| *number != i64::from(labeled.empties)) {
            return Err(("empties", format!("it is {empties}, the board has {}", labeled.empties)));
        }
        labeled.check().map_err(|reason| ("score", reason))?;
        Ok(Some(labeled))
    }
}

/// Numbers that were seen, as ranges without gaps between: few, where ids ascend.
#[derive(Default)]
struct IdSet(BTreeMap<i64, i64>); // the first and the last of each range

impl IdSet {
    /// Adds a number; false if it was there.
    fn insert(&mut self, id: i64) -> bool {
        let before = self.0.range(..=id).next_back().map(|(&first, &last)| (first, last));
        if before.is_some_and(|(_, last)| id <= last) {
            return false;
        }
        let joined = before.filter(|(_, last)| *last == id - 1).map_or(id, |(first, _)| first);
        let after = id.checked_add(1).and_then(|next| self.0.remove(&next));
        self.0.insert(joined, after.unwrap_or(id));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_set_of_ids_is_a_set_and_neighbors_are_one_range() {
        let (mut ids, mut plain) = (IdSet::default(), BTreeSet::new());
        let edges = [i64::MAX, i64::MIN, i64::MAX - 1, i64::MIN + 1, -1, 0, i64::MAX];
        for id in (0..500).map(|step| step * 37 % 101 - 50).chain(edges) {
            assert_eq!(ids.insert(id), plain.insert(id), "{id}");
        }
        assert_eq!(ids.0, BTreeMap::from([(i64::MIN, i64::MIN + 1), (-50, 50), (i64::MAX - 1, i64::MAX)]));
    }
}
