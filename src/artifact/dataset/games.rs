//! The games table: one row a self-play game.

use crate::artifact::table::{Column, Layout, Table};
use arrow::array::{AsArray, Int8Array, RecordBatch, StringArray, UInt8Array, UInt64Array};
use arrow::datatypes::{DataType, Int8Type, UInt8Type, UInt64Type};
use std::sync::Arc;

/// The columns of `games/part-NNNNN.parquet`.
pub static GAMES: Table = Table {
    name: "games",
    columns: &[
        Column::new("game_id", DataType::UInt64, Layout::Delta, "the game, unique in the dataset"),
        Column::new("moves", DataType::Utf8, Layout::Plain, "the moves as f5d6c3..., passes left out"),
        Column::new("random_plies", DataType::UInt8, Layout::Dictionary, "opening plies played at random"),
        Column::new(
            "result",
            DataType::Int8,
            Layout::Dictionary,
            "final disc difference in discs, black, empties to the winner",
        ),
        Column::new("positions", DataType::UInt8, Layout::Dictionary, "rows of this game in the positions table"),
    ],
    nullable: &[],
};

/// One row of the games table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the columns of the table describe themselves")]
pub struct GameRow {
    pub game_id: u64,
    pub moves: String,
    pub random_plies: u8,
    pub result: i8,
    pub positions: u8,
}

/// The rows as columns.
#[must_use]
pub fn to_batch(rows: &[GameRow]) -> RecordBatch {
    GAMES.batch(vec![
        Arc::new(UInt64Array::from_iter_values(rows.iter().map(|row| row.game_id))),
        Arc::new(StringArray::from_iter_values(rows.iter().map(|row| &row.moves))),
        Arc::new(UInt8Array::from_iter_values(rows.iter().map(|row| row.random_plies))),
        Arc::new(Int8Array::from_iter_values(rows.iter().map(|row| row.result))),
        Arc::new(UInt8Array::from_iter_values(rows.iter().map(|row| row.positions))),
    ])
}

/// The rows of a batch that has the columns of the table.
///
/// # Panics
///
/// If the batch has other columns: [`Table::read`] gives none such.
pub fn from_batch(batch: &RecordBatch) -> impl Iterator<Item = GameRow> + '_ {
    let game_id = batch.column(0).as_primitive::<UInt64Type>().values();
    let moves = batch.column(1).as_string::<i32>();
    let random_plies = batch.column(2).as_primitive::<UInt8Type>().values();
    let result = batch.column(3).as_primitive::<Int8Type>().values();
    let positions = batch.column(4).as_primitive::<UInt8Type>().values();
    (0..batch.num_rows()).map(move |row| GameRow {
        game_id: game_id[row],
        moves: moves.value(row).to_owned(),
        random_plies: random_plies[row],
        result: result[row],
        positions: positions[row],
    })
}
