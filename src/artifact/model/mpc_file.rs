//! `mpc.parquet`: one row per fitted pair of depths.

use crate::artifact::table::{Column, Layout, Table};
use crate::engine::{Depth, LEVELS, MpcEntry, MpcTable, Score};
use arrow::array::{ArrayRef, AsArray, Float64Array, Int16Array, Int32Array, RecordBatch, UInt64Array};
use arrow::datatypes::{DataType, Float64Type, Int16Type, Int32Type, UInt64Type};
use std::sync::Arc;

const fn count(name: &'static str, description: &'static str) -> Column {
    Column::new(name, DataType::Int16, Layout::Dictionary, description)
}

const fn number(name: &'static str, data_type: DataType, description: &'static str) -> Column {
    Column::new(name, data_type, Layout::Plain, description)
}

/// The columns of `mpc.parquet`.
pub static MPC: Table = Table {
    name: "mpc",
    columns: &[
        count("empties_min", "the row applies from this number of empty squares"),
        count("empties_max", "the row applies up to this number of empty squares"),
        count("deep_depth", "remaining depth at which to cut; the number of empty squares is the end"),
        count("shallow_depth", "depth of the search that decides"),
        number("slope", DataType::Float64, "a in deep = a * shallow + b"),
        number("offset", DataType::Int32, "b in millidiscs"),
        number("sigma", DataType::Int32, "standard deviation of the residual in millidiscs where shallow is 0"),
        number("growth", DataType::Float64, "increase of the deviation in millidiscs per millidisc of |shallow|"),
        number("quantile_73", DataType::Float64, "deviations on each side that hold 73 % of positions"),
        number("quantile_87", DataType::Float64, "deviations on each side that hold 87 % of positions"),
        number("quantile_95", DataType::Float64, "deviations on each side that hold 95 % of positions"),
        number("quantile_98", DataType::Float64, "deviations on each side that hold 98 % of positions"),
        number("quantile_99", DataType::Float64, "deviations on each side that hold 99 % of positions"),
        number("samples", DataType::UInt64, "positions the row was fitted on"),
    ],
    nullable: false,
};

/// A bound on the rows, and on the numbers of empty squares that all rows together apply to.
pub const ROWS_MAX: u64 = u16::MAX as u64;

/// The table and the number of samples behind each entry, as rows.
#[must_use]
pub fn to_batch(table: &MpcTable, samples: &[u64]) -> RecordBatch {
    let entries = table.entries();
    let counts = |value: fn(&MpcEntry) -> u8| -> ArrayRef {
        Arc::new(Int16Array::from_iter_values(entries.iter().map(|entry| i16::from(value(entry)))))
    };
    let mut columns = vec![
        counts(|entry| entry.empties_min),
        counts(|entry| entry.empties_max),
        counts(|entry| entry.deep.0),
        counts(|entry| entry.shallow.0),
        Arc::new(Float64Array::from_iter_values(entries.iter().map(|entry| entry.slope))),
        Arc::new(Int32Array::from_iter_values(entries.iter().map(|entry| entry.offset.0))),
        Arc::new(Int32Array::from_iter_values(entries.iter().map(|entry| entry.sigma.0))),
        Arc::new(Float64Array::from_iter_values(entries.iter().map(|entry| entry.growth))),
    ];
    for level in 0..LEVELS.len() {
        let quantiles = entries.iter().map(|entry| entry.quantiles[level]);
        columns.push(Arc::new(Float64Array::from_iter_values(quantiles)));
    }
    columns.push(Arc::new(UInt64Array::from_iter_values(samples.iter().copied())));
    MPC.batch(columns)
}

/// The table, and the number of samples behind each entry, from the rows of a file.
///
/// # Errors
///
/// Rows that are not an MPC table.
pub fn from_batch(batch: &RecordBatch) -> Result<(MpcTable, Vec<u64>), String> {
    let counts: Vec<Vec<u8>> = (0..4).map(|index| counts_of(batch, index)).collect::<Result<_, _>>()?;
    let numbers = |index: usize| batch.column(index).as_primitive::<Int32Type>().values();
    let decimals = |index: usize| batch.column(index).as_primitive::<Float64Type>().values();
    let entries = (0..batch.num_rows()).map(|row| MpcEntry {
        empties_min: counts[0][row],
        empties_max: counts[1][row],
        deep: Depth(counts[2][row]),
        shallow: Depth(counts[3][row]),
        slope: decimals(4)[row],
        offset: Score(numbers(5)[row]),
        sigma: Score(numbers(6)[row]),
        growth: decimals(7)[row],
        quantiles: std::array::from_fn(|level| decimals(8 + level)[row]),
    });
    let places: u64 =
        entries.clone().map(|entry| u64::from(entry.empties_max.saturating_sub(entry.empties_min)) + 1).sum();
    if ROWS_MAX < places {
        return Err(format!("its rows are for {places} numbers of empty squares: at most {ROWS_MAX} expected"));
    }
    let table = MpcTable::new(entries.collect()).map_err(|error| error.to_string())?;
    let samples = batch.column(8 + LEVELS.len()).as_primitive::<UInt64Type>().values();
    Ok((table, samples.to_vec()))
}

/// A column of numbers of empty squares or of depths.
fn counts_of(batch: &RecordBatch, index: usize) -> Result<Vec<u8>, String> {
    let count = |&number: &i16| {
        u8::try_from(number).map_err(|_| format!("column {}: {number} is out of range", MPC.columns[index].name))
    };
    batch.column(index).as_primitive::<Int16Type>().values().iter().map(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(deep: u8, shallow: u8, offset: i32, sigma: i32) -> MpcEntry {
        MpcEntry::source(Depth(deep), Depth(shallow), Score(offset), Score(sigma))
    }

    #[test]
    fn a_table_survives_the_file_and_counts_that_cannot_be_are_refused() {
        let fitted = MpcEntry { growth: 0.03, quantiles: [0.9, 1.4, 2.0, 2.6, 3.1], ..source(4, 2, -15, 3500) };
        let table = MpcTable::new(vec![source(3, 1, 20, 4000), fitted]).unwrap();
        let batch = to_batch(&table, &[7, 9]);
        let (read, samples) = from_batch(&batch).unwrap();
        assert_eq!((read.entries(), samples.as_slice()), (table.entries(), [7, 9].as_slice()));
        let mut columns = batch.columns().to_vec();
        columns[2] = Arc::new(Int16Array::from(vec![3, 260]));
        assert_eq!(from_batch(&MPC.batch(columns)).unwrap_err(), "column deep_depth: 260 is out of range");
    }
}
