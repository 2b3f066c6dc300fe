//! A gate from beginning to end.

use super::avoided::Avoided;
use super::batches::{find_batches, finished, withdraw, write_batch};
use super::contest::contest;
use super::recipe::GateIdentity;
use super::remake::remake;
use super::rule::Rule;
use super::task::{BATCH_PAIRS, GateReport, GateTask};
use super::verdict::{publish_verdict, verdict_of};
use crate::artifact::dataset::folder::{part_path, sweep_dataset};
use crate::artifact::dataset::gate_games::{GATE_GAMES, GateGameRow};
use crate::artifact::dataset::part_range::PartRange;
use crate::artifact::dataset::verdict::OpeningCounts;
use crate::artifact::lock::FolderLock;
use crate::artifact::publish::remove_file;
use crate::pipeline::{Context, StageError};

/// Plays the match, unless its verdict is there already.
///
/// # Errors
///
/// A bad setting, a candidate whose MPC statistics were not fitted to its weights, too few openings, or whatever the system refuses;
/// finished batches stay.
pub fn gate(task: GateTask<'_>, context: Context<'_>) -> Result<GateReport, StageError> {
    task.config.check()?;
    task.check_candidate()?;
    let avoided = Avoided::open(task.avoid)?;
    let identity = GateIdentity::new(&task, avoided.contents());
    if task.remake {
        return remake(&task, &identity, &avoided, context);
    }
    let _lock = FolderLock::take(task.output)?;
    sweep_dataset(task.output, &[&GATE_GAMES])?;
    if let Some(verdict) = finished(&task, &identity)? {
        return Ok(GateReport { skipped: true, games_played: 0, verdict });
    }
    context.check_budget()?;
    let ranges = PartRange::all(task.config.games / 2, BATCH_PAIRS);
    let found = find_batches(&task, &identity.recipe, &ranges, context)?;
    withdraw(task.output)?;
    let publish = |range: &PartRange, rows: &[GateGameRow], openings: &OpeningCounts| {
        Ok(write_batch(&task, &identity.recipe, range, (rows, openings))?)
    };
    let rule = Rule::new(task.config);
    let outcome = contest(&task, &avoided, Some(rule), &ranges, found, publish, context)?;
    // Machines that share a match play ahead of the look that decides it.
    for range in &ranges[outcome.parts.len()..] {
        remove_file(&part_path(task.output, &GATE_GAMES, range.index))?;
    }
    let verdict = verdict_of(&task, &identity, &outcome);
    publish_verdict(&task, &identity.recipe, &outcome, &verdict)?;
    Ok(GateReport { skipped: false, games_played: outcome.games_played, verdict })
}
