//! The samples of a fit of MPC statistics: shallow and deep searches of the same position.

use crate::artifact::table::{Column, Layout, Table};
use arrow::array::{Int32Array, RecordBatch, UInt8Array, UInt64Array};
use arrow::datatypes::DataType;
use std::sync::Arc;

/// The columns of `samples/part-NNNNN.parquet`.
pub static MPC_SAMPLES: Table = Table {
    name: "samples",
    columns: &[
        Column::new("sample_id", DataType::UInt64, Layout::Delta, "the position, which comes from a game of its own"),
        Column::new("empties", DataType::UInt8, Layout::Dictionary, "empty squares"),
        Column::new("player", DataType::UInt64, Layout::Plain, "discs of the side to move, bit i for square i"),
        Column::new("opponent", DataType::UInt64, Layout::Plain, "discs of the other side, bit i for square i"),
        Column::new("deep_depth", DataType::UInt8, Layout::Dictionary, "depth of the deep search"),
        Column::new("shallow_depth", DataType::UInt8, Layout::Dictionary, "depth of the shallow search"),
        Column::new("deep_score", DataType::Int32, Layout::Split, "deep score in millidiscs, side to move"),
        Column::new("shallow_score", DataType::Int32, Layout::Split, "shallow score in millidiscs, side to move"),
    ],
    nullable: &[],
};

/// One row of the samples table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the columns of the table describe themselves")]
pub struct MpcSampleRow {
    pub sample_id: u64,
    pub empties: u8,
    pub player: u64,
    pub opponent: u64,
    pub deep_depth: u8,
    pub shallow_depth: u8,
    pub deep_score: i32,
    pub shallow_score: i32,
}

/// The rows as columns.
#[must_use]
pub fn to_batch(rows: &[MpcSampleRow]) -> RecordBatch {
    MPC_SAMPLES.batch(vec![
        Arc::new(UInt64Array::from_iter_values(rows.iter().map(|row| row.sample_id))),
        Arc::new(UInt8Array::from_iter_values(rows.iter().map(|row| row.empties))),
        Arc::new(UInt64Array::from_iter_values(rows.iter().map(|row| row.player))),
        Arc::new(UInt64Array::from_iter_values(rows.iter().map(|row| row.opponent))),
        Arc::new(UInt8Array::from_iter_values(rows.iter().map(|row| row.deep_depth))),
        Arc::new(UInt8Array::from_iter_values(rows.iter().map(|row| row.shallow_depth))),
        Arc::new(Int32Array::from_iter_values(rows.iter().map(|row| row.deep_score))),
        Arc::new(Int32Array::from_iter_values(rows.iter().map(|row| row.shallow_score))),
    ])
}
