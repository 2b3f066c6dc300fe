//! A gate from beginning to end.

use super::batches::Batches;
use super::contest::{BatchRows, contest};
use super::decider::Decider;
use super::remake::remake;
use super::task::{GateReport, GateTask};
use super::verdict::verdict_of;
use crate::artifact::dataset::folder::part_path;
use crate::artifact::publish::remove_file;
use crate::artifact::seal::write_sealed;
use crate::artifact::{FolderLock, GATE_GAMES, Part, PartRange};
use crate::pipeline::stage::Stage;
use crate::pipeline::{Context, StageError};
use std::collections::BTreeMap;

/// Plays the match, unless its verdict is there already.
///
/// # Errors
///
/// A bad setting, a candidate whose MPC statistics were not fitted to its weights, too few openings, or whatever the system refuses;
/// finished batches stay.
pub fn gate(task: GateTask<'_>, context: Context<'_>) -> Result<GateReport, StageError> {
    let parts = Batches::parts(&task)?;
    if task.remake {
        return remake(&parts, context);
    }
    let _lock = FolderLock::take(task.output)?;
    parts.sweep()?;
    if let Some(verdict) = parts.kind.verdict(&parts)? {
        return Ok(GateReport { skipped: true, games_played: 0, verdict });
    }
    context.check_budget()?;
    let ranges = parts.ranges();
    let (found, _) = parts.sort(&ranges, |part, rows| (part, rows), context)?;
    parts.kind.check_no_more(&parts, ranges.len(), context.stop)?;
    // More games may change a verdict.
    ["verdict.json", "manifest.json"].iter().try_for_each(|name| remove_file(&task.output.join(name)))?;
    let found = found.into_iter().map(|(index, (part, rows))| ((index, part), (index, rows)));
    let (mut entries, played): (BTreeMap<usize, Part>, BTreeMap<usize, BatchRows>) = found.unzip();
    let mut publish = |range: &PartRange, batch: BatchRows| {
        entries.insert(range.index, parts.publish(range, &batch)?);
        Ok(())
    };
    let decider = Decider::new(task.config);
    let games = (task.config.games, played.values().map(|batch| batch.rows.len() as u64).sum());
    let play = || contest(&task, &parts.kind.avoided, Some(decider), &ranges, played, &mut publish, context);
    let outcome = context.observe(Stage::Gate.name(), games, Stage::Gate.unit(), play)?;
    // Machines that share a match play ahead of the look that decides it.
    for range in &ranges[outcome.batches..] {
        remove_file(&part_path(task.output, &GATE_GAMES, range.index))?;
    }
    let entries: Vec<Part> = entries.into_values().take(outcome.batches).collect();
    let verdict = verdict_of(&parts, &outcome, &entries);
    parts.finish(entries)?;
    write_sealed(&task.output.join("verdict.json"), &verdict)?;
    Ok(GateReport { skipped: false, games_played: outcome.games_played, verdict })
}
