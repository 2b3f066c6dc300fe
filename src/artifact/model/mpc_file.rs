//! `mpc.parquet`: one row per fitted pair of depths.

use crate::artifact::error::ArtifactError;
use crate::artifact::table::Table;
use crate::artifact::table::row::{TableRow, table_rows};
use crate::engine::{Depth, MpcEntry, MpcTable, Score};
use bytes::Bytes;
use std::path::Path;

table_rows! {
    /// A row of `mpc.parquet`.
    #[derive(Clone, Copy, Debug)]
    pub struct MpcRow {
        /// the row applies from this number of empty squares
        empties_min: u8, Dictionary;
        /// the row applies up to this number of empty squares
        empties_max: u8, Dictionary;
        /// remaining depth at which to cut; the number of empty squares is the end
        deep_depth: u8, Dictionary;
        /// depth of the search that decides
        shallow_depth: u8, Dictionary;
        /// a in deep = a * shallow + b
        slope: f64, Plain;
        /// b in millidiscs
        offset: Score, Plain;
        /// standard deviation of the residual in millidiscs where shallow is 0
        sigma: Score, Plain;
        /// increase of the deviation in millidiscs per millidisc of |shallow|
        growth: f64, Plain;
        /// deviations on each side that hold 73 % of positions
        quantile_73: f64, Plain;
        /// deviations on each side that hold 87 % of positions
        quantile_87: f64, Plain;
        /// deviations on each side that hold 95 % of positions
        quantile_95: f64, Plain;
        /// deviations on each side that hold 98 % of positions
        quantile_98: f64, Plain;
        /// deviations on each side that hold 99 % of positions
        quantile_99: f64, Plain;
        /// positions the row was fitted on
        samples: u64, Plain;
    }
}

/// The columns of `mpc.parquet`.
pub static MPC: Table = Table {
    name: "mpc",
    columns: MpcRow::COLUMNS,
    nullable: false,
};

/// A bound on the rows. A fit has some hundreds.
const ROWS_MAX: u64 = 1 << 12;

/// The table, and the number of samples behind each entry, in the bytes of a file.
///
/// # Errors
///
/// Bytes that are not an MPC table; `path` names the file in errors.
pub fn decode(path: &Path, bytes: Bytes) -> Result<(MpcTable, Vec<u64>), ArtifactError> {
    let batch = MPC.decode(path, bytes, ROWS_MAX)?;
    let read = MpcRow::from_batch(&batch).and_then(|rows| from_rows(&rows));
    read.map_err(|reason| ArtifactError::damaged(path, reason))
}

/// The table and the number of samples behind each entry, as rows.
pub fn to_rows(table: &MpcTable, samples: &[u64]) -> Vec<MpcRow> {
    let row = |(entry, &samples): (&MpcEntry, &u64)| {
        let [
            quantile_73,
            quantile_87,
            quantile_95,
            quantile_98,
            quantile_99,
        ] = entry.quantiles;
        MpcRow {
            empties_min: entry.empties_min,
            empties_max: entry.empties_max,
            deep_depth: entry.deep.0,
            shallow_depth: entry.shallow.0,
            slope: entry.slope,
            offset: entry.offset,
            sigma: entry.sigma,
            growth: entry.growth,
            quantile_73,
            quantile_87,
            quantile_95,
            quantile_98,
            quantile_99,
            samples,
        }
    };
    table.entries().iter().zip(samples).map(row).collect()
}

/// The table, and the number of samples behind each entry, from the rows of a file.
///
/// # Errors
///
/// Rows that are not an MPC table.
fn from_rows(rows: &[MpcRow]) -> Result<(MpcTable, Vec<u64>), String> {
    let entry = |row: &MpcRow| MpcEntry {
        empties_min: row.empties_min,
        empties_max: row.empties_max,
        deep: Depth(row.deep_depth),
        shallow: Depth(row.shallow_depth),
        slope: row.slope,
        offset: row.offset,
        sigma: row.sigma,
        growth: row.growth,
        quantiles: [
            row.quantile_73,
            row.quantile_87,
            row.quantile_95,
            row.quantile_98,
            row.quantile_99,
        ],
    };
    let table =
        MpcTable::new(rows.iter().map(entry).collect()).map_err(|error| error.to_string())?;
    Ok((table, rows.iter().map(|row| row.samples).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::Int16Array;
    use std::sync::Arc;

    fn source(deep: u8, shallow: u8, offset: i32, sigma: i32) -> MpcEntry {
        MpcEntry::source(Depth(deep), Depth(shallow), Score(offset), Score(sigma))
    }

    #[test]
    fn a_table_survives_the_file_and_counts_that_cannot_be_are_refused() {
        let fitted = MpcEntry {
            growth: 0.03,
            quantiles: [0.9, 1.4, 2.0, 2.6, 3.1],
            ..source(4, 2, -15, 3500)
        };
        let table = MpcTable::new(vec![source(3, 1, 20, 4000), fitted]).unwrap();
        let mut columns = MpcRow::to_columns(&to_rows(&table, &[7, 9]));
        let (read, samples) =
            from_rows(&MpcRow::from_batch(&MPC.batch(columns.clone())).unwrap()).unwrap();
        assert_eq!(
            (read.entries(), samples.as_slice()),
            (table.entries(), [7, 9].as_slice())
        );
        columns[2] = Arc::new(Int16Array::from(vec![3, 260]));
        let error = MpcRow::from_batch(&MPC.batch(columns)).unwrap_err();
        assert_eq!(error, "column deep_depth holds 260, which is out of range");
        let widest = MpcTable::new(vec![MpcEntry {
            empties_min: 0,
            ..source(1, 0, 0, 0)
        }])
        .unwrap();
        let error = from_rows(&[to_rows(&widest, &[1])[0]; 73]).unwrap_err();
        assert!(error.contains("65846 places"), "{error}");
    }
}
