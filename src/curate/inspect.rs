//! Summarizes a dataset of any kind: counts, histograms, and the size of each column.

pub mod gate;
pub mod mpc;
pub mod positions;

use self::gate::GateSummary;
use self::mpc::MpcSummary;
use self::positions::PositionsSummary;
use crate::artifact::dataset::folder::part_path;
use crate::artifact::{Dataset, DatasetKind};
use crate::pipeline::{Context, StageError};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// What a dataset holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Inspection {
    /// The kind of data.
    pub kind: DatasetKind,
    /// Bytes of all tables on disk.
    pub bytes: u64,
    /// Compressed bytes of each column, as `table.column`.
    pub column_bytes: BTreeMap<String, u64>,
    /// The data.
    #[serde(flatten)]
    pub summary: Summary,
}

/// The summary of a kind of dataset.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Summary {
    /// Of positions.
    Positions(PositionsSummary),
    /// Of the games of a gate.
    Gate(Box<GateSummary>),
    /// Of MPC samples.
    Mpc(MpcSummary),
}

/// Summarizes a dataset.
///
/// # Errors
///
/// Damage of any kind, or an interruption.
pub fn inspect(folder: &Path, context: Context<'_>) -> Result<Inspection, StageError> {
    let dataset = Dataset::open_any(folder)?;
    let kind = dataset.manifest().kind;
    let summary = context.observe(
        "inspect",
        dataset.part_count() as u64,
        "parts",
        || match kind {
            DatasetKind::Selfplay | DatasetKind::Imported => {
                positions::inspect(&dataset, context).map(Summary::Positions)
            }
            DatasetKind::Gate => gate::inspect(&dataset, context)
                .map(Box::new)
                .map(Summary::Gate),
            DatasetKind::Mpc => mpc::inspect(&dataset, context).map(Summary::Mpc),
        },
    );
    let bytes = dataset.manifest().total_bytes();
    let (summary, mut column_bytes) = (summary?, BTreeMap::new());
    for (index, part) in dataset.manifest().parts.iter().enumerate() {
        for table in kind
            .tables()
            .iter()
            .filter(|table| part.files.contains_key(table.name))
        {
            for (column, bytes) in table.column_bytes(&part_path(dataset.folder(), table, index))? {
                *column_bytes
                    .entry(format!("{}.{column}", table.name))
                    .or_insert(0) += bytes;
            }
        }
    }
    Ok(Inspection {
        kind,
        bytes,
        summary,
        column_bytes,
    })
}
