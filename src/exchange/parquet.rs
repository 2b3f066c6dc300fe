//! Positions in Parquet files: the columns of `positions` (docs/datasets.md) by name, whatever
//! integers they are stored as, floats of whole numbers among them.

use super::columns::{SourceRow, cells, check_columns, games, is_board, is_column, is_readable};
use super::packed::check_unpacked;
use super::records::Records;
use crate::artifact::dataset::footer::format_footer;
use crate::artifact::guarded::guarded;
use crate::artifact::line::visible;
use crate::artifact::pages;
use crate::artifact::table::footer_of;
use crate::artifact::{ArtifactError, DatasetFormat};
use arrow::array::RecordBatch;
use parquet::arrow::ProjectionMask;
use std::collections::BTreeMap;
use std::path::Path;

const BATCH_ROWS: usize = 1 << 13;

/// With less than a bit for each, rows can only be copies: 2^26 of them fit in a megabyte and take
/// minutes to import.
const ROWS_PER_BYTE_MAX: u64 = 8;

/// Reads the positions in the bytes of a file; `label` says whether they need a score or a result.
///
/// # Errors
///
/// A file that is not Parquet, or one without the columns.
pub fn read_parquet(path: &Path, bytes: Vec<u8>, label: bool) -> Result<Records, ArtifactError> {
    check_unpacked(path, &bytes)?;
    let size = bytes.len() as u64;
    let (builder, _) = pages::open(path, bytes.into(), is_column)?;
    let footer = footer_of(builder.metadata());
    for (key, ours) in format_footer(DatasetFormat::CURRENT) {
        // Other programs' files say nothing of it.
        if let Some(theirs) = footer.get(&key).filter(|theirs| **theirs != ours) {
            let reason = format!(
                "its footer says {key} = {}, and this renma reads {ours}",
                visible(theirs)
            );
            return Err(ArtifactError::unfit(path, reason));
        }
    }
    let names: Vec<String> = builder
        .schema()
        .fields()
        .iter()
        .map(|field| field.name().clone())
        .collect();
    let again = names
        .iter()
        .enumerate()
        .find(|(index, name)| is_column(name) && names[..*index].contains(name));
    if let Some((_, name)) = again {
        return Err(ArtifactError::unfit(
            path,
            format!("two of its columns are `{name}`"),
        ));
    }
    let has = |name: &str| names.iter().any(|other| other == name);
    check_columns(has, label).map_err(|reason| ArtifactError::unfit(path, reason))?;
    for field in builder
        .schema()
        .fields()
        .iter()
        .filter(|field| is_column(field.name()))
    {
        if !is_readable(field.data_type(), field.name()) {
            let remedy = if is_board(field.name()) {
                "\nread and write the boards as 64-bit integers: docs/datasets.md says how"
            } else {
                ""
            };
            let reason = format!(
                "column `{}` is {}, integers expected{remedy}",
                field.name(),
                visible(&field.data_type().to_string())
            );
            return Err(ArtifactError::unfit(path, reason));
        }
    }
    let unused = names
        .iter()
        .filter(|name| !is_column(name))
        .map(|name| visible(name));
    let unused: Vec<String> = unused.collect();
    let notes = if unused.is_empty() {
        Vec::new()
    } else {
        vec![format!("columns not used: {}", unused.join(", "))]
    };
    let rows = builder
        .metadata()
        .row_groups()
        .iter()
        .map(|group| u64::try_from(group.num_rows()).unwrap_or(u64::MAX));
    let total = rows.fold(0, u64::saturating_add);
    if size * ROWS_PER_BYTE_MAX < total {
        let reason = format!(
            "it has {total} rows in {size} bytes, more than {ROWS_PER_BYTE_MAX} in a byte: they are copies of few positions\n\
             write each position once"
        );
        return Err(ArtifactError::unfit(path, reason));
    }
    let roots = names
        .iter()
        .enumerate()
        .filter(|(_, name)| is_column(name))
        .map(|(index, _)| index);
    let mask = ProjectionMask::roots(builder.parquet_schema(), roots);
    let reader = guarded(path, size, || {
        builder
            .with_projection(mask)
            .with_batch_size(BATCH_ROWS)
            .build()
    })?;
    let (path, mut reader, mut count) = (path.to_owned(), Some(reader), 0);
    // `None` at the end of the file, or after what cannot be decoded.
    let next = move || {
        let first = count + 1;
        let mut decoder = reader.take()?;
        let decoded = guarded(&path, size, move || {
            decoder.next().transpose().map(|batch| (batch, decoder))
        });
        let reason = match decoded {
            Ok((None, _)) if count == total => return None,
            Ok((None, _)) => format!("there are fewer rows than the {total} that its footer says"),
            Ok((Some(batch), decoder)) if batch.num_rows() as u64 <= total - count => {
                count += batch.num_rows() as u64;
                reader = Some(decoder);
                return Some(batch_rows(&batch, first));
            }
            Ok(_) => format!("there are more rows than the {total} that its footer says"),
            Err(ArtifactError::Damaged { reason, .. }) => {
                format!("the rest cannot be decoded: {reason}")
            }
            Err(error) => error.to_string(),
        };
        Some(vec![SourceRow::bad(first, &reason)])
    };
    Ok(Records {
        total,
        notes,
        iter: Box::new(games(std::iter::from_fn(next).flatten())),
    })
}

/// The rows of a batch, numbered from `first`.
fn batch_rows(batch: &RecordBatch, first: u64) -> Vec<SourceRow> {
    let schema = batch.schema();
    let names = schema.fields().iter().map(|field| field.name().as_str());
    let columns: BTreeMap<&str, Vec<_>> = names
        .zip(batch.columns().iter().map(|column| cells(column)))
        .collect();
    let cell = |row: usize, name: &str| columns.get(name).map_or(Ok(None), |cells| cells[row]);
    let rows = (first..).zip(0..batch.num_rows());
    rows.map(|(record, row)| SourceRow::new(record, |name| cell(row, name)))
        .collect()
}
