//! Plays a finished gate again and compares every game and the verdict.

use super::batches::Batches;
use super::contest::{BatchRows, contest};
use super::decider::Decider;
use super::task::GateReport;
use super::verdict::verdict_of;
use crate::artifact::dataset::folder::part_path;
use crate::artifact::publish::exists;
use crate::artifact::{ArtifactError, Dataset, GATE_GAMES, GateGameRow, PartRange};
use crate::pipeline::parts::{PartKind, Parts};
use crate::pipeline::stage::Stage;
use crate::pipeline::{Context, StageError};
use std::collections::BTreeMap;

/// The verdict, if every game plays out the same again and leads to it.
pub(super) fn remake(parts: &Parts<'_, Batches<'_>>, context: Context<'_>) -> Result<GateReport, StageError> {
    let task = &parts.kind.task;
    let path = task.output.join("verdict.json");
    if !exists(&path)? {
        return Err(ArtifactError::Missing { path }.into());
    }
    let Some(verdict) = parts.kind.verdict(parts)? else {
        let reason = "its verdict is on another number of games\ngive gate.games the value it had";
        return Err(ArtifactError::Conflict { path, reason: reason.into() }.into());
    };
    let dataset = Dataset::open_any(task.output)?;
    let damaged = |range: &PartRange, reason: String| {
        StageError::from(ArtifactError::damaged(&part_path(task.output, &GATE_GAMES, range.index), reason))
    };
    let mut compare = |range: &PartRange, again: BatchRows| {
        if dataset.part_count() <= range.index {
            return Err(damaged(range, "the manifest does not list it, and the verdict needs it".into()));
        }
        let rows: Vec<GateGameRow> = dataset.read(&GATE_GAMES, range.index, context.stop)?;
        let stored = BatchRows { rows, openings: again.openings };
        Batches::difference(range, &stored, &again).map_or(Ok(()), |(_, reason)| Err(damaged(range, reason)))
    };
    let decider = Some(Decider::new(task.config));
    let play = || contest(task, &parts.kind.avoided, decider, &parts.ranges(), BTreeMap::new(), &mut compare, context);
    let outcome = context.observe(Stage::Gate.name(), (task.config.games, 0), Stage::Gate.unit(), play)?;
    if outcome.batches != dataset.part_count() {
        let reason = format!("{} parts are needed, it lists {}", outcome.batches, dataset.part_count());
        return Err(ArtifactError::damaged(&task.output.join("manifest.json"), reason).into());
    }
    let again = verdict_of(parts, &outcome, &dataset.manifest().parts);
    if (again.verdict, &again.score, &again.test) != (verdict.verdict, &verdict.score, &verdict.test)
        || again.openings != verdict.openings
    {
        return Err(ArtifactError::damaged(&path, "the games do not lead to it").into());
    }
    Ok(GateReport { skipped: true, games_played: outcome.games_played, verdict })
}
