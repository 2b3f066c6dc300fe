//! A summary of MPC samples: where they are from and what their searches cost.

use crate::artifact::{Dataset, MPC_SAMPLES, MpcSampleRow};
use crate::pipeline::{Context, StageError};
use serde::Serialize;
use std::collections::BTreeMap;

/// The width of a line of the table by empties.
const EMPTIES_STEP: u8 = 5;

/// The summary of MPC samples.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
    /// Samples by empty squares, fewest first.
    pub by_empties: Vec<SampleSummary>,
}

/// Samples in one range of empty squares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SampleSummary {
    /// The fewest empty squares.
    pub empties_min: u8,
    /// Samples.
    pub samples: u64,
    /// Nodes of search trees among them.
    pub from_trees: u64,
    /// Samples solved to the end of the game.
    pub solved: u64,
}

/// Summarizes all samples of a dataset.
pub(super) fn inspect(dataset: &Dataset, context: Context<'_>) -> Result<MpcSummary, StageError> {
    let mut nodes = 0;
    let mut by_empties: BTreeMap<u8, SampleSummary> = BTreeMap::new();
    for index in 0..dataset.part_count() {
        context.check()?;
        let rows: Vec<MpcSampleRow> = dataset.read(&MPC_SAMPLES, index, context.stop)?;
        nodes += rows.iter().map(|row| row.nodes).sum::<u64>();
        for sample in rows.chunk_by(|left, right| left.sample_id == right.sample_id) {
            let range = sample[0].empties / EMPTIES_STEP * EMPTIES_STEP;
            let summary = by_empties.entry(range).or_default();
            summary.empties_min = range;
            summary.samples += 1;
            summary.from_trees += u64::from(sample[0].alpha.is_some());
            // Depths count up from 0; what follows the last of them is the end of the game.
            let depths = (0..).zip(sample).take_while(|(depth, row)| row.depth == *depth).count();
            summary.solved += u64::from(depths < sample.len());
        }
        context.progress.advance(1);
    }
    let by_empties: Vec<SampleSummary> = by_empties.into_values().collect();
    let total = |count: fn(&SampleSummary) -> u64| by_empties.iter().map(count).sum();
    Ok(MpcSummary {
        games: dataset.manifest().done,
        samples: total(|summary| summary.samples),
        from_trees: total(|summary| summary.from_trees),
        solved: total(|summary| summary.solved),
        rows: dataset.manifest().rows(MPC_SAMPLES.name),
        nodes,
        by_empties,
    })
}
