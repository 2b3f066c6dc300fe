//! `mpc.parquet`: one row a fitted pair of depths.

use crate::artifact::table::{Column, Layout, Table};
use crate::engine::search::mpc::{MpcEntry, MpcTable};
use arrow::array::{AsArray, Float64Array, Int32Array, RecordBatch, UInt8Array, UInt64Array};
use arrow::datatypes::{DataType, Float64Type, Int32Type, UInt8Type, UInt64Type};
use std::sync::Arc;

/// The columns of `mpc.parquet`.
pub static MPC: Table = Table {
    name: "mpc",
    columns: &[
        Column::new("empties_min", DataType::UInt8, Layout::Dictionary, "fewest empty squares the row is for"),
        Column::new("empties_max", DataType::UInt8, Layout::Dictionary, "most empty squares the row is for"),
        Column::new("deep_depth", DataType::UInt8, Layout::Dictionary, "remaining depth at which to cut"),
        Column::new("shallow_depth", DataType::UInt8, Layout::Dictionary, "depth of the search that decides"),
        Column::new("slope", DataType::Float64, Layout::Plain, "a in deep = a * shallow + b"),
        Column::new("offset", DataType::Int32, Layout::Plain, "b in millidiscs"),
        Column::new("sigma", DataType::Int32, Layout::Plain, "standard deviation of the rest in millidiscs"),
        Column::new("samples", DataType::UInt64, Layout::Plain, "positions the row was fitted on"),
    ],
    nullable: &[],
};

/// The table and the number of samples behind each entry, as rows.
#[must_use]
pub fn to_batch(table: &MpcTable, samples: &[u64]) -> RecordBatch {
    let entries = table.entries();
    let bytes = |value: fn(&MpcEntry) -> u8| Arc::new(UInt8Array::from_iter_values(entries.iter().map(value)));
    MPC.batch(vec![
        bytes(|entry| entry.empties_min),
        bytes(|entry| entry.empties_max),
        bytes(|entry| entry.deep),
        bytes(|entry| entry.shallow),
        Arc::new(Float64Array::from_iter_values(entries.iter().map(|entry| entry.slope))),
        Arc::new(Int32Array::from_iter_values(entries.iter().map(|entry| entry.offset))),
        Arc::new(Int32Array::from_iter_values(entries.iter().map(|entry| entry.sigma))),
        Arc::new(UInt64Array::from_iter_values(samples.iter().copied())),
    ])
}

/// The table and the number of samples that the rows of a batch hold.
///
/// # Errors
///
/// Rows that make no MPC table.
pub fn from_batch(batch: &RecordBatch) -> Result<(MpcTable, Vec<u64>), String> {
    let bytes = |index: usize| batch.column(index).as_primitive::<UInt8Type>().values();
    let numbers = |index: usize| batch.column(index).as_primitive::<Int32Type>().values();
    let entries = (0..batch.num_rows()).map(|row| MpcEntry {
        empties_min: bytes(0)[row],
        empties_max: bytes(1)[row],
        deep: bytes(2)[row],
        shallow: bytes(3)[row],
        slope: batch.column(4).as_primitive::<Float64Type>().value(row),
        offset: numbers(5)[row],
        sigma: numbers(6)[row],
    });
    let table = MpcTable::new(entries.collect()).map_err(|error| error.to_string())?;
    let samples = batch.column(7).as_primitive::<UInt64Type>().values();
    Ok((table, samples.to_vec()))
}
