//! `mpc.parquet`: one row a fitted pair of depths.

use super::document::ModelFormat;
use crate::artifact::table::{Column, Layout, Table};
use crate::engine::search::mpc::{LEVELS, MpcEntry, MpcTable, NORMAL_QUANTILES};
use arrow::array::{ArrayRef, AsArray, Float64Array, Int32Array, RecordBatch, UInt8Array, UInt64Array};
use arrow::datatypes::{DataType, Float64Type, Int32Type, UInt8Type, UInt64Type};
use std::sync::Arc;

/// The columns of `mpc.parquet`.
pub static MPC: Table = Table {
    name: "mpc",
    columns: &[
        Column::new("empties_min", DataType::UInt8, Layout::Dictionary, "fewest empty squares the row is for"),
        Column::new("empties_max", DataType::UInt8, Layout::Dictionary, "most empty squares the row is for"),
        Column::new(
            "deep_depth",
            DataType::UInt8,
            Layout::Dictionary,
            "remaining depth at which to cut; equal to the number of empty squares: the end",
        ),
        Column::new("shallow_depth", DataType::UInt8, Layout::Dictionary, "depth of the search that decides"),
        Column::new("slope", DataType::Float64, Layout::Plain, "a in deep = a * shallow + b"),
        Column::new("offset", DataType::Int32, Layout::Plain, "b in millidiscs"),
        Column::new("sigma", DataType::Int32, Layout::Plain, "deviation of the rest in millidiscs where shallow is 0"),
        Column::new(
            "growth",
            DataType::Float64,
            Layout::Plain,
            "millidiscs the deviation grows by for each millidisc of |shallow|",
        ),
        Column::new(
            "quantile_73",
            DataType::Float64,
            Layout::Plain,
            "deviations each side that hold 73 % of positions",
        ),
        Column::new(
            "quantile_87",
            DataType::Float64,
            Layout::Plain,
            "deviations each side that hold 87 % of positions",
        ),
        Column::new(
            "quantile_95",
            DataType::Float64,
            Layout::Plain,
            "deviations each side that hold 95 % of positions",
        ),
        Column::new(
            "quantile_98",
            DataType::Float64,
            Layout::Plain,
            "deviations each side that hold 98 % of positions",
        ),
        Column::new(
            "quantile_99",
            DataType::Float64,
            Layout::Plain,
            "deviations each side that hold 99 % of positions",
        ),
        Column::new("samples", DataType::UInt64, Layout::Plain, "positions the row was fitted on"),
    ],
    nullable: &[],
};

/// The columns of a model of format 1, whose deviations are normal and do not grow.
static MPC_1: Table = Table {
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

/// The columns of a model of this format.
#[must_use]
pub const fn table_of(format: ModelFormat) -> &'static Table {
    if format.number() == 1 { &MPC_1 } else { &MPC }
}

/// Rows of a table, and numbers of empty squares that they are for, counted with each row.
pub const ROWS_MAX: u64 = u16::MAX as u64;

/// The first column of the deviation's form, in [`MPC`].
const GROWTH: usize = 7;

/// The table and the number of samples behind each entry, as rows.
#[must_use]
pub fn to_batch(table: &MpcTable, samples: &[u64]) -> RecordBatch {
    let entries = table.entries();
    let bytes =
        |value: fn(&MpcEntry) -> u8| -> ArrayRef { Arc::new(UInt8Array::from_iter_values(entries.iter().map(value))) };
    let mut columns = vec![
        bytes(|entry| entry.empties_min),
        bytes(|entry| entry.empties_max),
        bytes(|entry| entry.deep),
        bytes(|entry| entry.shallow),
        Arc::new(Float64Array::from_iter_values(entries.iter().map(|entry| entry.slope))),
        Arc::new(Int32Array::from_iter_values(entries.iter().map(|entry| entry.offset))),
        Arc::new(Int32Array::from_iter_values(entries.iter().map(|entry| entry.sigma))),
        Arc::new(Float64Array::from_iter_values(entries.iter().map(|entry| entry.growth))),
    ];
    for level in 0..LEVELS.len() {
        let quantiles = entries.iter().map(|entry| entry.quantiles[level]);
        columns.push(Arc::new(Float64Array::from_iter_values(quantiles)));
    }
    columns.push(Arc::new(UInt64Array::from_iter_values(samples.iter().copied())));
    MPC.batch(columns)
}

/// The table and the number of samples that the rows of a batch of [`table_of`] hold.
///
/// # Errors
///
/// Rows that make no MPC table.
pub fn from_batch(batch: &RecordBatch) -> Result<(MpcTable, Vec<u64>), String> {
    let bytes = |index: usize| batch.column(index).as_primitive::<UInt8Type>().values();
    let numbers = |index: usize| batch.column(index).as_primitive::<Int32Type>().values();
    let decimals = |index: usize| batch.column(index).as_primitive::<Float64Type>().values();
    let samples_column = batch.num_columns() - 1;
    let deviation = |row: usize| {
        if samples_column == GROWTH {
            return (0.0, NORMAL_QUANTILES);
        }
        (decimals(GROWTH)[row], std::array::from_fn(|level| decimals(GROWTH + 1 + level)[row]))
    };
    let entries = (0..batch.num_rows()).map(|row| MpcEntry {
        empties_min: bytes(0)[row],
        empties_max: bytes(1)[row],
        deep: bytes(2)[row],
        shallow: bytes(3)[row],
        slope: decimals(4)[row],
        offset: numbers(5)[row],
        sigma: numbers(6)[row],
        growth: deviation(row).0,
        quantiles: deviation(row).1,
    });
    let places: u64 =
        entries.clone().map(|entry| u64::from(entry.empties_max.saturating_sub(entry.empties_min)) + 1).sum();
    if ROWS_MAX < places {
        return Err(format!("its rows are for {places} numbers of empty squares: at most {ROWS_MAX} expected"));
    }
    let table = MpcTable::new(entries.collect()).map_err(|error| error.to_string())?;
    let samples = batch.column(samples_column).as_primitive::<UInt64Type>().values();
    Ok((table, samples.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_formats_are_read_and_the_newer_one_keeps_everything() {
        let fitted =
            MpcEntry { growth: 0.03, quantiles: [0.9, 1.4, 2.0, 2.6, 3.1], ..MpcEntry::source(4, 2, -15, 3500) };
        let table = MpcTable::new(vec![MpcEntry::source(3, 1, 20, 4000), fitted]).unwrap();
        let batch = to_batch(&table, &[7, 9]);
        let (read, samples) = from_batch(&batch).unwrap();
        assert_eq!((read.entries(), samples.as_slice()), (table.entries(), [7, 9].as_slice()));
        let mut columns = batch.columns().to_vec();
        columns.drain(GROWTH..=GROWTH + LEVELS.len());
        let (read, samples) = from_batch(&MPC_1.batch(columns)).unwrap();
        assert_eq!(read.entries(), [MpcEntry::source(3, 1, 20, 4000), MpcEntry::source(4, 2, -15, 3500)]);
        assert_eq!(samples, [7, 9]);
    }
}
