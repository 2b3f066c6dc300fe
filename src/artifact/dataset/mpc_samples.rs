//! The samples of a fit of MPC statistics: full-width searches of the same position to every depth wanted.

use crate::artifact::table::{Column, Layout, Table};
use arrow::array::{Array, AsArray, Int32Array, RecordBatch, UInt8Array, UInt64Array};
use arrow::datatypes::{DataType, Int32Type, UInt8Type, UInt64Type};
use std::sync::Arc;

/// The columns of `samples/part-NNNNN.parquet`.
pub static MPC_SAMPLES: Table = Table {
    name: "samples",
    columns: &[
        Column::new("sample_id", DataType::UInt64, Layout::Delta, "the position"),
        Column::new("game_id", DataType::UInt64, Layout::Delta, "the game that it, or the search that met it, is from"),
        Column::new("empties", DataType::UInt8, Layout::Dictionary, "empty squares"),
        Column::new("player", DataType::UInt64, Layout::Plain, "discs of the side to move, bit i for square i"),
        Column::new("opponent", DataType::UInt64, Layout::Plain, "discs of the other side, bit i for square i"),
        Column::new(
            "met_depth",
            DataType::UInt8,
            Layout::Dictionary,
            "remaining depth at which a search met it in a null window; 0: a position of the game",
        ),
        Column::new(
            "alpha",
            DataType::Int32,
            Layout::Split,
            "the lower bound of that window in millidiscs, side to move; null: a position of the game",
        ),
        Column::new(
            "depth",
            DataType::UInt8,
            Layout::Dictionary,
            "depth of the search; equal to empties, the end of the game",
        ),
        Column::new("score", DataType::Int32, Layout::Split, "its score in millidiscs, side to move"),
        Column::new("nodes", DataType::UInt64, Layout::Delta, "nodes that it took"),
    ],
    nullable: &["alpha"],
};

/// One row of the samples table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the columns of the table describe themselves")]
pub struct MpcSampleRow {
    pub sample_id: u64,
    pub game_id: u64,
    pub empties: u8,
    pub player: u64,
    pub opponent: u64,
    pub met_depth: u8,
    pub alpha: Option<i32>,
    pub depth: u8,
    pub score: i32,
    pub nodes: u64,
}

/// The rows as columns.
#[must_use]
pub fn to_batch(rows: &[MpcSampleRow]) -> RecordBatch {
    let words = |value: fn(&MpcSampleRow) -> u64| Arc::new(UInt64Array::from_iter_values(rows.iter().map(value)));
    let bytes = |value: fn(&MpcSampleRow) -> u8| Arc::new(UInt8Array::from_iter_values(rows.iter().map(value)));
    MPC_SAMPLES.batch(vec![
        words(|row| row.sample_id),
        words(|row| row.game_id),
        bytes(|row| row.empties),
        words(|row| row.player),
        words(|row| row.opponent),
        bytes(|row| row.met_depth),
        Arc::new(rows.iter().map(|row| row.alpha).collect::<Int32Array>()),
        bytes(|row| row.depth),
        Arc::new(Int32Array::from_iter_values(rows.iter().map(|row| row.score))),
        words(|row| row.nodes),
    ])
}

/// The rows of a batch that has the columns of the table.
///
/// # Panics
///
/// If the batch has other columns: [`Table::read`] gives none such.
pub fn from_batch(batch: &RecordBatch) -> impl Iterator<Item = MpcSampleRow> + '_ {
    let words = |index: usize| batch.column(index).as_primitive::<UInt64Type>().values();
    let bytes = |index: usize| batch.column(index).as_primitive::<UInt8Type>().values();
    let (sample_id, game_id, empties, player, opponent) = (words(0), words(1), bytes(2), words(3), words(4));
    let (met_depth, alpha, depth) = (bytes(5), batch.column(6).as_primitive::<Int32Type>(), bytes(7));
    let (score, nodes) = (batch.column(8).as_primitive::<Int32Type>().values(), words(9));
    (0..batch.num_rows()).map(move |row| MpcSampleRow {
        sample_id: sample_id[row],
        game_id: game_id[row],
        empties: empties[row],
        player: player[row],
        opponent: opponent[row],
        met_depth: met_depth[row],
        alpha: alpha.is_valid(row).then(|| alpha.value(row)),
        depth: depth[row],
        score: score[row],
        nodes: nodes[row],
    })
}
