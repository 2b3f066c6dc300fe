//! The paths of the sequential tests of a run's gates.

use crate::artifact::{ArtifactError, Dataset, GATE_GAMES, GateGameRow, NEVER, Verdict};
use crate::pipeline::gate::decider::{Decider, Look};
use crate::run::folders::RunGate;
use crate::statistics::sprt::SequentialTest;
use rayon::prelude::{IntoParallelRefIterator, ParallelIterator};

/// A gate that was a sequential test.
#[derive(Clone, Debug)]
pub(super) struct GatePath {
    pub(super) generation: u32,
    pub(super) verdict: Verdict,
    pub(super) test: SequentialTest,
    pub(super) looks: Vec<Look>,
}

/// The sequential tests among some gates.
pub(super) fn gate_paths(gates: &[RunGate]) -> Result<Vec<GatePath>, ArtifactError> {
    let paths: Result<Vec<Option<GatePath>>, ArtifactError> = gates.par_iter().map(path).collect();
    Ok(paths?.into_iter().flatten().collect())
}

fn path(gate: &RunGate) -> Result<Option<GatePath>, ArtifactError> {
    let Some(test) = gate.verdict.test.clone() else { return Ok(None) };
    let dataset = Dataset::open_any(&gate.folder)?;
    let mut decider = Decider::of_test(&test);
    for index in 0..dataset.part_count() {
        decider.look(&dataset.read::<GateGameRow>(&GATE_GAMES, index, &NEVER)?);
    }
    Ok(Some(GatePath { generation: gate.generation, verdict: gate.verdict.verdict, test, looks: decider.looks }))
}
