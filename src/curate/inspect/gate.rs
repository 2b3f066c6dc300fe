//! A summary of a gate: its verdict, and the path of its sequential test.

use crate::artifact::dataset::verdict::read_verdict;
use crate::artifact::{Dataset, GATE_GAMES, GateGameRow, VerdictFile};
use crate::pipeline::gate::decider::{Decider, Look};
use crate::pipeline::{Context, StageError};
use serde::Serialize;

/// The summary of a gate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GateSummary {
    /// Games.
    pub games: u64,
    /// The looks that a sequential test took at the score.
    pub looks: Vec<Look>,
    /// The verdict on them, with the players and the score.
    #[serde(flatten)]
    pub verdict: VerdictFile,
}

/// Summarizes all games of a gate.
pub(super) fn inspect(dataset: &Dataset, context: Context<'_>) -> Result<GateSummary, StageError> {
    let verdict = read_verdict(dataset.folder())?;
    let mut decider = verdict.test.as_ref().map(Decider::of_test);
    for index in 0..dataset.part_count() {
        context.check()?;
        let batch: Vec<GateGameRow> = dataset.read(&GATE_GAMES, index, context.stop)?;
        decider.iter_mut().for_each(|decider| decider.look(&batch));
        context.progress.advance(1);
    }
    let looks = decider.map_or_else(Vec::new, |decider| decider.looks);
    Ok(GateSummary {
        games: dataset.manifest().rows(GATE_GAMES.name),
        looks,
        verdict,
    })
}
