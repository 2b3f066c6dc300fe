//! The games of a gate: everything needed to play them again.

use crate::artifact::table::{Column, Layout, Table};
use arrow::array::{AsArray, BooleanArray, Int8Array, RecordBatch, StringArray, UInt8Array, UInt64Array};
use arrow::datatypes::{DataType, Int8Type, UInt8Type, UInt64Type};
use std::sync::Arc;

/// The columns of a gate's `games/part-NNNNN.parquet`.
pub static GATE_GAMES: Table = Table {
    name: "games",
    columns: &[
        Column::new(
            "game_id",
            DataType::UInt64,
            Layout::Delta,
            "the game: twice the pair, plus one for the second of the pair",
        ),
        Column::new("pair", DataType::UInt64, Layout::Delta, "the opening, played once with each color"),
        Column::new("candidate_black", DataType::Boolean, Layout::Plain, "whether the candidate plays black"),
        Column::new(
            "opening_plies",
            DataType::UInt8,
            Layout::Dictionary,
            "moves of the opening, which neither side chose",
        ),
        Column::new("moves", DataType::Utf8, Layout::Plain, "the moves as f5d6c3..., passes left out"),
        Column::new(
            "result",
            DataType::Int8,
            Layout::Dictionary,
            "final disc difference in discs, candidate, empties to the winner",
        ),
    ],
    nullable: &[],
};

/// One row of the gate games table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the columns of the table describe themselves")]
pub struct GateGameRow {
    pub game_id: u64,
    pub pair: u64,
    pub candidate_black: bool,
    pub opening_plies: u8,
    pub moves: String,
    pub result: i8,
}

/// The rows as columns.
#[must_use]
pub fn to_batch(rows: &[GateGameRow]) -> RecordBatch {
    GATE_GAMES.batch(vec![
        Arc::new(UInt64Array::from_iter_values(rows.iter().map(|row| row.game_id))),
        Arc::new(UInt64Array::from_iter_values(rows.iter().map(|row| row.pair))),
        Arc::new(BooleanArray::from_iter(rows.iter().map(|row| Some(row.candidate_black)))),
        Arc::new(UInt8Array::from_iter_values(rows.iter().map(|row| row.opening_plies))),
        Arc::new(StringArray::from_iter_values(rows.iter().map(|row| &row.moves))),
        Arc::new(Int8Array::from_iter_values(rows.iter().map(|row| row.result))),
    ])
}

/// The rows of a batch that has the columns of the table.
///
/// # Panics
///
/// If the batch has other columns: [`Table::read`] gives none such.
pub fn from_batch(batch: &RecordBatch) -> impl Iterator<Item = GateGameRow> + '_ {
    let game_id = batch.column(0).as_primitive::<UInt64Type>().values();
    let pair = batch.column(1).as_primitive::<UInt64Type>().values();
    let candidate_black = batch.column(2).as_boolean().values();
    let opening_plies = batch.column(3).as_primitive::<UInt8Type>().values();
    let moves = batch.column(4).as_string::<i32>();
    let result = batch.column(5).as_primitive::<Int8Type>().values();
    (0..batch.num_rows()).map(move |row| GateGameRow {
        game_id: game_id[row],
        pair: pair[row],
        candidate_black: candidate_black.value(row),
        opening_plies: opening_plies[row],
        moves: moves.value(row).to_owned(),
        result: result[row],
    })
}
