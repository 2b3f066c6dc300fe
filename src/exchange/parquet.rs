//! Positions in anybody's Parquet: `black`, `white` and `black_to_move` with `score` (millidiscs) or `result` (discs).
//!
//! The columns of `positions` (docs/datasets.md) are taken by name, whatever integers they are stored as, and others are
//! passed over. Neighboring rows with one `game_id` are one game, so that training never splits it; without that column
//! every row is a game of its own.

use super::records::{BadRecord, Place, Records, SIZE_MAX};
use crate::artifact::dataset::positions::POSITIONS;
use crate::artifact::dataset::rows::DatasetRow;
use crate::artifact::dataset::writer::ImportedGame;
use crate::artifact::error::ArtifactError;
use crate::artifact::publish::read_bounded;
use crate::artifact::table::guarded;
use crate::engine::board::notation::ColoredPosition;
use arrow::array::{Array, AsArray, Int64Array, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, UInt64Type};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

const BATCH_ROWS: usize = 1 << 13;

/// Games are cut here, so that a file with one `game_id` throughout needs no more memory than another.
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
    let mut games = Games { reader: Some(reader), record: 0, rows: VecDeque::new() };
    Ok(Records { total, notes, iter: Box::new(std::iter::from_fn(move || games.next_game())) })
}

/// A row with the `game_id` that its source gave it; no row where the side to move has no move.
type SourceRow = (Option<i64>, Option<DatasetRow>);

struct Games {
    /// None at the end of the file.
    reader: Option<ParquetRecordBatchReader>,
    /// Rows read.
    record: u64,
    rows: VecDeque<Result<SourceRow, BadRecord>>,
}

impl Games {
    /// Neighboring rows of one game; a bad row is told before the rest of its game.
    fn next_game(&mut self) -> Option<Result<ImportedGame, BadRecord>> {
        let (id, row) = match self.next_row()? {
            Ok(row) => row,
            Err(bad) => return Some(Err(bad)),
        };
        let mut rows: Vec<DatasetRow> = row.into_iter().collect();
        while id.is_some() && rows.len() < GAME_ROWS_MAX {
            match self.next_row() {
                Some(Ok((next, row))) if next == id => rows.extend(row),
                Some(other) => {
                    self.rows.push_front(other);
                    break;
                }
                None => break,
            }
        }
        Some(Ok(ImportedGame { rows, ..ImportedGame::default() }))
    }

    fn next_row(&mut self) -> Option<Result<SourceRow, BadRecord>> {
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
        self.rows.push_back(Err(BadRecord { record: self.record + 1, place, reason }));
    }

    fn add_batch(&mut self, batch: &RecordBatch) {
        let columns = Columns::new(batch);
        for row in 0..batch.num_rows() {
            self.record += 1;
            let bad = |(name, reason): (&str, String)| BadRecord {
                record: self.record,
                place: Place::Column(name.to_owned()),
                reason,
            };
            self.rows.push_back(columns.row(row).map_err(bad));
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

    fn row(&self, row: usize) -> Result<SourceRow, BadValue> {
        let black = self.required("black", row)?.cast_unsigned();
        let white = self.required("white", row)?.cast_unsigned();
        let black_to_move = self.flag("black_to_move", row)?;
        let black_to_move = black_to_move.ok_or_else(|| ("black_to_move", "the value is missing".to_owned()))?;
        let colored = ColoredPosition::from_boards(black, white, black_to_move);
        let colored = colored.ok_or_else(|| ("black", "black and white share a square".to_owned()))?;
        let id = self.number("game_id", row);
        if colored.position.legal_moves() == 0 {
            return Ok((id, None));
        }
        // Without a pass, plies and empty squares add up to 60; how many passes there were is not known.
        let ply = self.label("ply", row)?.unwrap_or(60_u8.saturating_sub(colored.position.empties()));
        let labeled = DatasetRow {
            score: self.label("score", row)?,
            static_score: self.label("static_score", row)?,
            depth: self.label("depth", row)?,
            exact: self.flag("exact", row)?,
            best_move: self.label("best_move", row)?,
            played_move: self.label("played_move", row)?,
            random_move: self.flag("random_move", row)?,
            result: self.label("result", row)?,
            ..DatasetRow::unlabeled(colored, ply)
        };
        if let Some(empties) = self.number("empties", row).filter(|number| *number != i64::from(labeled.empties)) {
            return Err(("empties", format!("it is {empties}, the board has {}", labeled.empties)));
        }
        labeled.check().map_err(|reason| ("score", reason))?;
        Ok((id, Some(labeled)))
    }
}
