//! The positions table: one row for each position with a legal move.

use crate::artifact::table::{Column, Layout, Table};
use arrow::array::{ArrayRef, AsArray, BooleanArray, Int8Array, Int32Array, RecordBatch, UInt8Array, UInt64Array};
use arrow::datatypes::{DataType, Int8Type, Int32Type, UInt8Type, UInt64Type};
use std::sync::Arc;

/// The columns of `positions/part-NNNNN.parquet`.
pub static POSITIONS: Table = Table {
    name: "positions",
    columns: &[
        Column::new("game_id", DataType::UInt64, Layout::Delta, "the game, unique in the dataset"),
        Column::new("ply", DataType::UInt8, Layout::Dictionary, "half-moves before this position, passes included"),
        Column::new("empties", DataType::UInt8, Layout::Dictionary, "empty squares"),
        Column::new("black", DataType::UInt64, Layout::Plain, "black's discs, bit i for square i, a1 = 0, h8 = 63"),
        Column::new("white", DataType::UInt64, Layout::Plain, "white's discs, bit i for square i, a1 = 0, h8 = 63"),
        Column::new("black_to_move", DataType::Boolean, Layout::Plain, "whether black is to move"),
        Column::new(
            "score",
            DataType::Int32,
            Layout::Split,
            "deep-search score in millidiscs, side to move, within 64000",
        ),
        Column::new(
            "static_score",
            DataType::Int32,
            Layout::Split,
            "evaluation without search in millidiscs, side to move",
        ),
        Column::new("depth", DataType::UInt8, Layout::Dictionary, "nominal depth of score; equals empties when exact"),
        Column::new("exact", DataType::Boolean, Layout::Plain, "whether score was solved to the end"),
        Column::new("best_move", DataType::UInt8, Layout::Dictionary, "the square the search prefers"),
        Column::new("played_move", DataType::UInt8, Layout::Dictionary, "the square that was played"),
        Column::new(
            "random_move",
            DataType::Boolean,
            Layout::Plain,
            "whether the played move was opening or exploration",
        ),
        Column::new(
            "result",
            DataType::Int8,
            Layout::Dictionary,
            "final disc difference in discs, side to move, empties to the winner",
        ),
    ],
    nullable: &[],
};

/// One row of the positions table of a self-play dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the columns of the table describe themselves")]
pub struct PositionRow {
    pub game_id: u64,
    pub ply: u8,
    pub empties: u8,
    pub black: u64,
    pub white: u64,
    pub black_to_move: bool,
    pub score: i32,
    pub static_score: i32,
    pub depth: u8,
    pub exact: bool,
    pub best_move: u8,
    pub played_move: u8,
    pub random_move: bool,
    pub result: i8,
}

/// The rows as columns.
#[must_use]
pub fn to_batch(rows: &[PositionRow]) -> RecordBatch {
    fn bytes(rows: &[PositionRow], value: impl Fn(&PositionRow) -> u8) -> ArrayRef {
        Arc::new(UInt8Array::from_iter_values(rows.iter().map(value)))
    }
    fn words(rows: &[PositionRow], value: impl Fn(&PositionRow) -> u64) -> ArrayRef {
        Arc::new(UInt64Array::from_iter_values(rows.iter().map(value)))
    }
    fn scores(rows: &[PositionRow], value: impl Fn(&PositionRow) -> i32) -> ArrayRef {
        Arc::new(Int32Array::from_iter_values(rows.iter().map(value)))
    }
    fn flags(rows: &[PositionRow], value: impl Fn(&PositionRow) -> bool) -> ArrayRef {
        Arc::new(BooleanArray::from_iter(rows.iter().map(|row| Some(value(row)))))
    }
    POSITIONS.batch(vec![
        words(rows, |row| row.game_id),
        bytes(rows, |row| row.ply),
        bytes(rows, |row| row.empties),
        words(rows, |row| row.black),
        words(rows, |row| row.white),
        flags(rows, |row| row.black_to_move),
        scores(rows, |row| row.score),
        scores(rows, |row| row.static_score),
        bytes(rows, |row| row.depth),
        flags(rows, |row| row.exact),
        bytes(rows, |row| row.best_move),
        bytes(rows, |row| row.played_move),
        flags(rows, |row| row.random_move),
        Arc::new(Int8Array::from_iter_values(rows.iter().map(|row| row.result))),
    ])
}

/// The rows of a batch that has the columns of the table.
///
/// # Panics
///
/// If the batch has other columns: [`Table::read`] gives none such.
pub fn from_batch(batch: &RecordBatch) -> impl Iterator<Item = PositionRow> + '_ {
    let bytes = |index: usize| batch.column(index).as_primitive::<UInt8Type>().values();
    let words = |index: usize| batch.column(index).as_primitive::<UInt64Type>().values();
    let scores = |index: usize| batch.column(index).as_primitive::<Int32Type>().values();
    let flags = |index: usize| batch.column(index).as_boolean().values();
    let (game_id, ply, empties) = (words(0), bytes(1), bytes(2));
    let (black, white, black_to_move) = (words(3), words(4), flags(5));
    let (score, static_score, depth, exact) = (scores(6), scores(7), bytes(8), flags(9));
    let (best_move, played_move, random_move) = (bytes(10), bytes(11), flags(12));
    let result = batch.column(13).as_primitive::<Int8Type>().values();
    (0..batch.num_rows()).map(move |row| PositionRow {
        game_id: game_id[row],
        ply: ply[row],
        empties: empties[row],
        black: black[row],
        white: white[row],
        black_to_move: black_to_move.value(row),
        score: score[row],
        static_score: static_score[row],
        depth: depth[row],
        exact: exact.value(row),
        best_move: best_move[row],
        played_move: played_move[row],
        random_move: random_move.value(row),
        result: result[row],
    })
}
