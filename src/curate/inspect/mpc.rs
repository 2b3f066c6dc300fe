//! A summary of MPC samples: where they are from and what their searches cost.

use crate::artifact::{Dataset, MPC_SAMPLES, MpcSampleRow};
use crate::pipeline::{Context, StageError};
use serde::Serialize;

/// The summary of MPC samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MpcSummary {
    /// Games that positions were sampled from.
    pub games: u64,
    /// Positions.
    pub samples: u64,
    /// Samples that are nodes of search trees.
    pub from_trees: u64,
    /// Samples that were solved to the end of the game.
    pub solved: u64,
    /// Searches of them.
    pub rows: u64,
    /// Nodes of all searches.
    pub nodes: u64,
}

/// Summarizes all samples of a dataset.
pub(super) fn inspect(dataset: &Dataset, context: Context<'_>) -> Result<MpcSummary, StageError> {
    let games = dataset.manifest().done;
    let mut summary = MpcSummary {
        games,
        rows: dataset.manifest().rows(MPC_SAMPLES.name),
        ..MpcSummary::default()
    };
    for index in 0..dataset.part_count() {
        context.check()?;
        let rows: Vec<MpcSampleRow> = dataset.read(&MPC_SAMPLES, index, context.stop)?;
        summary.nodes = rows
            .iter()
            .fold(summary.nodes, |sum, row| sum.saturating_add(row.nodes));
        for sample in rows.chunk_by(|left, right| left.sample_id == right.sample_id) {
            summary.samples += 1;
            summary.from_trees += u64::from(sample[0].alpha.is_some());
            // Depths count up from 0; what follows the last of them is the end of the game.
            summary.solved += u64::from((0..).zip(sample).any(|(depth, row)| row.depth != depth));
        }
        context.progress.advance(1);
    }
    Ok(summary)
}
