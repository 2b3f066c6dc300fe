//! Plays a finished gate again and compares every game and the verdict.

use super::avoided::Avoided;
use super::batches::finished;
use super::contest::contest;
use super::recipe::GateIdentity;
use super::rule::Rule;
use super::task::{BATCH_PAIRS, GateReport, GateTask};
use super::verdict::verdict_of;
use crate::artifact::dataset::folder::{file_entry, part_path};
use crate::artifact::dataset::gate_games::{GATE_GAMES, GateGameRow};
use crate::artifact::dataset::manifest::{DatasetKind, Manifest, Part};
use crate::artifact::dataset::part_range::PartRange;
use crate::artifact::error::ArtifactError;
use crate::artifact::publish::exists;
use crate::pipeline::{Context, StageError};
use std::collections::BTreeMap;

/// The verdict, if every game plays out the same again and leads to it.
pub(super) fn remake(
    task: &GateTask<'_>,
    identity: &GateIdentity,
    avoided: &Avoided,
    context: Context<'_>,
) -> Result<GateReport, StageError> {
    let path = task.output.join("verdict.json");
    if !exists(&path)? {
        return Err(ArtifactError::Missing { path }.into());
    }
    let Some(verdict) = finished(task, identity)? else {
        let reason = "its verdict is on another number of games\ngive gate.games the value it had";
        return Err(ArtifactError::Conflict { path, reason: reason.into() }.into());
    };
    let manifest = Manifest::read(task.output, DatasetKind::Gate)?;
    let ranges = PartRange::all(task.config.games / 2, BATCH_PAIRS);
    let compare = |range: &PartRange, rows: &[GateGameRow], _: &_| compare(task, &manifest, range, rows);
    let outcome = contest(task, avoided, Some(Rule::new(task.config)), &ranges, BTreeMap::new(), compare, context)?;
    if outcome.parts != manifest.parts {
        let reason = format!("{} parts are needed, it lists {}", outcome.parts.len(), manifest.parts.len());
        return Err(ArtifactError::damaged(&task.output.join("manifest.json"), reason).into());
    }
    let again = verdict_of(task, identity, &outcome);
    if (again.verdict, &again.score, &again.test) != (verdict.verdict, &verdict.score, &verdict.test)
        || again.openings != verdict.openings
    {
        return Err(ArtifactError::damaged(&path, "the games do not lead to it").into());
    }
    Ok(GateReport { skipped: true, games_played: outcome.games_played, verdict })
}

fn compare(
    task: &GateTask<'_>,
    manifest: &Manifest,
    range: &PartRange,
    rows: &[GateGameRow],
) -> Result<Part, StageError> {
    let path = part_path(task.output, &GATE_GAMES, range.index);
    let Some(part) = manifest.parts.get(range.index) else {
        return Err(ArtifactError::damaged(&path, "the manifest does not list it, and the verdict needs it").into());
    };
    let stored: Vec<GateGameRow> = GATE_GAMES.read_rows(&path, file_entry(task.output, part, &GATE_GAMES)?)?;
    match stored.iter().zip(rows).find(|(stored, played)| stored != played) {
        Some((stored, _)) => {
            let reason = format!("game {} does not play out the same again", stored.game_id);
            Err(ArtifactError::damaged(&path, reason).into())
        }
        None if stored.len() != rows.len() => {
            let reason = format!("it has {} games, {} expected", stored.len(), rows.len());
            Err(ArtifactError::damaged(&path, reason).into())
        }
        None => Ok(part.clone()),
    }
}
