//! `mpc.parquet`: one row per fitted pair of depths.

use super::document::ModelFormat;
use crate::artifact::table::{Column, Layout, Table};
use crate::engine::score::Score;
use crate::engine::search::depth::Depth;
use crate::engine::search::mpc::{MpcEntry, MpcTable};
use crate::engine::search::mpc_level::{LEVELS, NORMAL_QUANTILES};
use arrow::array::{ArrayRef, AsArray, Float64Array, Int16Array, Int32Array, RecordBatch, UInt64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int16Type, Int32Type, UInt64Type};
use std::sync::Arc;

const fn count(name: &'static str, data_type: DataType, description: &'static str) -> Column {
    Column::new(name, data_type, Layout::Dictionary, description)
}

const fn number(name: &'static str, data_type: DataType, description: &'static str) -> Column {
    Column::new(name, data_type, Layout::Plain, description)
}

/// The columns of a format, by the type of its counts and by what it says of deviations.
macro_rules! columns {
    ($counts:ident, [$($deviation:expr),*]) => {
        &[
            count("empties_min", DataType::$counts, "the row applies from this number of empty squares"),
            count("empties_max", DataType::$counts, "the row applies up to this number of empty squares"),
            count("deep_depth", DataType::$counts, "remaining depth at which to cut; the number of empty squares is the end"),
            count("shallow_depth", DataType::$counts, "depth of the search that decides"),
            number("slope", DataType::Float64, "a in deep = a * shallow + b"),
            number("offset", DataType::Int32, "b in millidiscs"),
            number("sigma", DataType::Int32, "standard deviation of the residual in millidiscs where shallow is 0"),
            $($deviation,)*
            number("samples", DataType::UInt64, "positions the row was fitted on"),
        ]
    };
    ($counts:ident) => {
        columns!($counts, [
            number("growth", DataType::Float64, "increase of the deviation in millidiscs per millidisc of |shallow|"),
            number("quantile_73", DataType::Float64, "deviations on each side that hold 73 % of positions"),
            number("quantile_87", DataType::Float64, "deviations on each side that hold 87 % of positions"),
            number("quantile_95", DataType::Float64, "deviations on each side that hold 95 % of positions"),
            number("quantile_98", DataType::Float64, "deviations on each side that hold 98 % of positions"),
            number("quantile_99", DataType::Float64, "deviations on each side that hold 99 % of positions")
        ])
    };
}

/// The columns of `mpc.parquet`.
pub static MPC: Table = Table { name: "mpc", columns: columns!(Int16), nullable: false };

/// The columns of format 2.
static MPC_2: Table = Table { name: "mpc", columns: columns!(UInt8), nullable: false };

/// The columns of format 1, whose deviations are normal and do not grow.
static MPC_1: Table = Table { name: "mpc", columns: columns!(UInt8, []), nullable: false };

/// The columns of `mpc.parquet` in this format.
#[must_use]
pub const fn table_of(format: ModelFormat) -> &'static Table {
    match format.number() {
        1 => &MPC_1,
        2 => &MPC_2,
        _ => &MPC,
    }
}

/// A bound on the rows, and on the numbers of empty squares that all rows together apply to.
pub const ROWS_MAX: u64 = u16::MAX as u64;

/// The first column of the deviation's form, in [`MPC`].
const GROWTH: usize = 7;

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

/// The table, and the number of samples behind each entry, from the rows of a file of any readable format.
///
/// # Errors
///
/// Rows that are not an MPC table.
pub fn from_batch(batch: &RecordBatch) -> Result<(MpcTable, Vec<u64>), String> {
    let counts: Vec<Vec<u8>> = (0..4).map(|index| counts_of(batch, index)).collect::<Result<_, _>>()?;
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
        empties_min: counts[0][row],
        empties_max: counts[1][row],
        deep: Depth(counts[2][row]),
        shallow: Depth(counts[3][row]),
        slope: decimals(4)[row],
        offset: Score(numbers(5)[row]),
        sigma: Score(numbers(6)[row]),
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

/// A column of numbers of empty squares or of depths.
fn counts_of(batch: &RecordBatch, index: usize) -> Result<Vec<u8>, String> {
    let column = cast(batch.column(index), &DataType::Int16).map_err(|error| error.to_string())?;
    let count = |&number: &i16| {
        u8::try_from(number).map_err(|_| format!("column {}: {number} is out of range", MPC.columns[index].name))
    };
    column.as_primitive::<Int16Type>().values().iter().map(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(deep: u8, shallow: u8, offset: i32, sigma: i32) -> MpcEntry {
        MpcEntry::source(Depth(deep), Depth(shallow), Score(offset), Score(sigma))
    }

    #[test]
    fn every_format_is_read_and_the_newest_keeps_everything() {
        let fitted = MpcEntry { growth: 0.03, quantiles: [0.9, 1.4, 2.0, 2.6, 3.1], ..source(4, 2, -15, 3500) };
        let table = MpcTable::new(vec![source(3, 1, 20, 4000), fitted]).unwrap();
        let batch = to_batch(&table, &[7, 9]);
        let (read, samples) = from_batch(&batch).unwrap();
        assert_eq!((read.entries(), samples.as_slice()), (table.entries(), [7, 9].as_slice()));
        let mut columns = batch.columns().to_vec();
        for column in &mut columns[..4] {
            *column = cast(column, &DataType::UInt8).unwrap();
        }
        let (read, _) = from_batch(&MPC_2.batch(columns.clone())).unwrap();
        assert_eq!(read.entries(), table.entries());
        columns.drain(GROWTH..=GROWTH + LEVELS.len());
        let (read, samples) = from_batch(&MPC_1.batch(columns)).unwrap();
        assert_eq!(read.entries(), [source(3, 1, 20, 4000), source(4, 2, -15, 3500)]);
        assert_eq!(samples, [7, 9]);
        let mut columns = batch.columns().to_vec();
        columns[2] = Arc::new(Int16Array::from(vec![3, 260]));
        assert_eq!(from_batch(&MPC.batch(columns)).unwrap_err(), "column deep_depth: 260 is out of range");
    }
}
