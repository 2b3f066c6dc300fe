//! Rows of any dataset: those of self-play know all their labels, imported ones only what their source knew.

use super::games::{self, GAMES, GameRow};
use super::manifest::DatasetKind;
use super::positions::{self, POSITIONS, PositionRow};
use crate::artifact::table::Table;
use crate::engine::board::notation::{Black, ColoredPosition, White};
use crate::engine::board::position::Position;
use crate::engine::game::Ply;
use crate::engine::score::Score;
use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, PrimitiveArray, RecordBatch, StringArray, UInt8Array,
    UInt64Array,
};
use arrow::datatypes::{Int8Type, Int32Type, UInt8Type, UInt64Type};
use std::sync::Arc;

/// The columns of `positions/part-NNNNN.parquet` of an imported dataset: those of self-play, labels may be missing.
pub static IMPORTED_POSITIONS: Table = Table {
    name: POSITIONS.name,
    columns: POSITIONS.columns,
    nullable: &["score", "static_score", "depth", "exact", "best_move", "played_move", "random_move", "result"],
};

/// The columns of `games/part-NNNNN.parquet` of an imported dataset.
pub static IMPORTED_GAMES: Table =
    Table { name: GAMES.name, columns: GAMES.columns, nullable: &["random_plies", "result"] };

/// A row of a positions table; a label is `None` where the source did not know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the columns of the table describe themselves")]
pub struct DatasetRow {
    pub game_id: u64,
    pub ply: u8,
    pub empties: u8,
    pub black: u64,
    pub white: u64,
    pub black_to_move: bool,
    pub score: Option<i32>,
    pub static_score: Option<i32>,
    pub depth: Option<u8>,
    pub exact: Option<bool>,
    pub best_move: Option<u8>,
    pub played_move: Option<u8>,
    pub random_move: Option<bool>,
    pub result: Option<i8>,
}

/// A row of a games table; `None` is what the source did not know.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the columns of the table describe themselves")]
pub struct DatasetGame {
    pub game_id: u64,
    pub moves: String,
    pub random_plies: Option<u8>,
    pub result: Option<i8>,
    pub positions: u8,
}

impl DatasetRow {
    /// A position without any label; its game is numbered when it is written.
    #[must_use]
    pub fn unlabeled(colored: ColoredPosition, Ply(ply): Ply) -> Self {
        let (Black(black), White(white)) = colored.boards();
        Self {
            game_id: 0,
            ply,
            empties: colored.position.empties(),
            black,
            white,
            black_to_move: colored.black_to_move,
            score: None,
            static_score: None,
            depth: None,
            exact: None,
            best_move: None,
            played_move: None,
            random_move: None,
            result: None,
        }
    }

    /// The board, seen by the side to move, if the row is one that can be.
    ///
    /// # Errors
    ///
    /// What cannot be: overlapping discs, another count of empty squares, values beyond ±64 discs.
    pub fn position(&self) -> Result<Position, String> {
        let colored = ColoredPosition::from_boards(Black(self.black), White(self.white), self.black_to_move);
        let position = colored.ok_or("black and white share a square")?.position;
        if self.empties != position.empties() {
            return Err(format!("empties is {}, the board has {}", self.empties, position.empties()));
        }
        if let Some(score) = self.score.filter(|score| !(Score::MIN..=Score::MAX).contains(&Score(*score))) {
            return Err(format!("score {score} is beyond ±{}", Score::MAX.0));
        }
        if let Some(result) = self.result.filter(|result| !(-64..=64).contains(result)) {
            return Err(format!("result {result} is beyond ±64"));
        }
        Ok(position)
    }

    /// Facts that a row must state whatever its game was.
    ///
    /// # Errors
    ///
    /// The first that it gets wrong.
    pub fn check(&self) -> Result<(), String> {
        let position = self.position()?;
        let empties = position.empties();
        // Discs are 4 + ply − passes, and passes are never negative.
        if self.ply < 60 - empties.min(60) {
            return Err(format!("ply {} is too low for {empties} empty squares", self.ply));
        }
        if self.exact == Some(true) {
            let score = self.score.ok_or("it is exact and has no score")?;
            if self.depth != Some(empties) {
                let depth = self.depth.map_or("none".to_owned(), |depth| depth.to_string());
                return Err(format!("it is exact with depth {depth} and {empties} empty squares"));
            }
            if score % 1000 != 0 {
                return Err(format!("exact score {score} is no number of discs"));
            }
        }
        let legal = position.legal_moves();
        if legal == 0 {
            return Err("the side to move has no move".into());
        }
        for (name, square) in [("best_move", self.best_move), ("played_move", self.played_move)] {
            if let Some(square) = square.filter(|square| 63 < *square || legal >> square & 1 == 0) {
                return Err(format!("{name} {square} is not legal"));
            }
        }
        Ok(())
    }
}

impl From<PositionRow> for DatasetRow {
    fn from(row: PositionRow) -> Self {
        Self {
            game_id: row.game_id,
            ply: row.ply,
            empties: row.empties,
            black: row.black,
            white: row.white,
            black_to_move: row.black_to_move,
            score: Some(row.score),
            static_score: Some(row.static_score),
            depth: Some(row.depth),
            exact: Some(row.exact),
            best_move: Some(row.best_move),
            played_move: Some(row.played_move),
            random_move: Some(row.random_move),
            result: Some(row.result),
        }
    }
}

impl From<GameRow> for DatasetGame {
    fn from(game: GameRow) -> Self {
        Self {
            game_id: game.game_id,
            moves: game.moves,
            random_plies: Some(game.random_plies),
            result: Some(game.result),
            positions: game.positions,
        }
    }
}

/// The positions table of a kind of dataset.
#[must_use]
pub fn positions_table(kind: DatasetKind) -> &'static Table {
    if kind == DatasetKind::Imported { &IMPORTED_POSITIONS } else { &POSITIONS }
}

/// The games table of a kind of dataset.
#[must_use]
pub fn games_table(kind: DatasetKind) -> &'static Table {
    if kind == DatasetKind::Imported { &IMPORTED_GAMES } else { &GAMES }
}

/// The rows as columns of the positions table of a kind of dataset.
///
/// # Panics
///
/// If a label is missing that this kind must have.
#[must_use]
pub fn to_positions_batch(kind: DatasetKind, rows: &[DatasetRow]) -> RecordBatch {
    fn flags(rows: &[DatasetRow], value: impl Fn(&DatasetRow) -> Option<bool>) -> ArrayRef {
        Arc::new(rows.iter().map(value).collect::<BooleanArray>())
    }
    fn numbers<T: ArrowPrimitiveType>(
        rows: &[DatasetRow],
        value: impl Fn(&DatasetRow) -> Option<T::Native>,
    ) -> ArrayRef {
        Arc::new(rows.iter().map(value).collect::<PrimitiveArray<T>>())
    }
    positions_table(kind).batch(vec![
        numbers::<UInt64Type>(rows, |row| Some(row.game_id)),
        numbers::<UInt8Type>(rows, |row| Some(row.ply)),
        numbers::<UInt8Type>(rows, |row| Some(row.empties)),
        numbers::<UInt64Type>(rows, |row| Some(row.black)),
        numbers::<UInt64Type>(rows, |row| Some(row.white)),
        flags(rows, |row| Some(row.black_to_move)),
        numbers::<Int32Type>(rows, |row| row.score),
        numbers::<Int32Type>(rows, |row| row.static_score),
        numbers::<UInt8Type>(rows, |row| row.depth),
        flags(rows, |row| row.exact),
        numbers::<UInt8Type>(rows, |row| row.best_move),
        numbers::<UInt8Type>(rows, |row| row.played_move),
        flags(rows, |row| row.random_move),
        numbers::<Int8Type>(rows, |row| row.result),
    ])
}

/// The games as columns of the games table of a kind of dataset.
///
/// # Panics
///
/// If a value is missing that this kind must have.
#[must_use]
pub fn to_games_batch(kind: DatasetKind, games: &[DatasetGame]) -> RecordBatch {
    games_table(kind).batch(vec![
        Arc::new(UInt64Array::from_iter_values(games.iter().map(|game| game.game_id))),
        Arc::new(StringArray::from_iter_values(games.iter().map(|game| &game.moves))),
        Arc::new(games.iter().map(|game| game.random_plies).collect::<UInt8Array>()),
        Arc::new(games.iter().map(|game| game.result).collect::<PrimitiveArray<Int8Type>>()),
        Arc::new(UInt8Array::from_iter_values(games.iter().map(|game| game.positions))),
    ])
}

/// The rows of a batch of a positions table of this kind.
///
/// # Panics
///
/// If the batch has other columns: [`Table::read`] gives none such.
#[must_use]
pub fn from_positions_batch(kind: DatasetKind, batch: &RecordBatch) -> Vec<DatasetRow> {
    if kind != DatasetKind::Imported {
        return positions::from_batch(batch).map(DatasetRow::from).collect();
    }
    let words = |index: usize| batch.column(index).as_primitive::<UInt64Type>().values();
    let bytes = |index: usize| batch.column(index).as_primitive::<UInt8Type>();
    let scores = |index: usize| batch.column(index).as_primitive::<Int32Type>();
    let flags = |index: usize| batch.column(index).as_boolean();
    let (game_id, ply, empties) = (words(0), bytes(1).values(), bytes(2).values());
    let (black, white, black_to_move) = (words(3), words(4), flags(5));
    let (score, static_score, depth, exact) = (scores(6), scores(7), bytes(8), flags(9));
    let (best_move, played_move, random_move) = (bytes(10), bytes(11), flags(12));
    let result = batch.column(13).as_primitive::<Int8Type>();
    (0..batch.num_rows())
        .map(|row| DatasetRow {
            game_id: game_id[row],
            ply: ply[row],
            empties: empties[row],
            black: black[row],
            white: white[row],
            black_to_move: black_to_move.value(row),
            score: known(score, row),
            static_score: known(static_score, row),
            depth: known(depth, row),
            exact: exact.is_valid(row).then(|| exact.value(row)),
            best_move: known(best_move, row),
            played_move: known(played_move, row),
            random_move: random_move.is_valid(row).then(|| random_move.value(row)),
            result: known(result, row),
        })
        .collect()
}

/// The games of a batch of a games table of this kind.
///
/// # Panics
///
/// If the batch has other columns: [`Table::read`] gives none such.
#[must_use]
pub fn from_games_batch(kind: DatasetKind, batch: &RecordBatch) -> Vec<DatasetGame> {
    if kind != DatasetKind::Imported {
        return games::from_batch(batch).map(DatasetGame::from).collect();
    }
    let game_id = batch.column(0).as_primitive::<UInt64Type>().values();
    let moves = batch.column(1).as_string::<i32>();
    let random_plies = batch.column(2).as_primitive::<UInt8Type>();
    let result = batch.column(3).as_primitive::<Int8Type>();
    let positions = batch.column(4).as_primitive::<UInt8Type>().values();
    (0..batch.num_rows())
        .map(|row| DatasetGame {
            game_id: game_id[row],
            moves: moves.value(row).to_owned(),
            random_plies: known(random_plies, row),
            result: known(result, row),
            positions: positions[row],
        })
        .collect()
}

fn known<T: ArrowPrimitiveType>(column: &PrimitiveArray<T>, row: usize) -> Option<T::Native> {
    column.is_valid(row).then(|| column.value(row))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::table::Footer;

    #[test]
    fn missing_labels_survive_the_file_and_count_in_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("part.parquet");
        let bare = DatasetRow::unlabeled(ColoredPosition::START, Ply(0));
        let zero = DatasetRow { score: Some(0), exact: Some(false), result: Some(0), ..bare };
        let content = |rows: &[DatasetRow]| {
            let entry = IMPORTED_POSITIONS
                .write(&path, &to_positions_batch(DatasetKind::Imported, rows), &Footer::new())
                .unwrap();
            let batch = IMPORTED_POSITIONS.read(&path, &entry).unwrap();
            assert_eq!(from_positions_batch(DatasetKind::Imported, &batch), rows);
            assert!(POSITIONS.read(&path, &entry).is_err(), "self-play has no missing labels");
            entry.content
        };
        assert_ne!(content(&[bare, zero]), content(&[zero, bare]));
        assert_ne!(content(&[bare]), content(&[zero]));
    }
}
