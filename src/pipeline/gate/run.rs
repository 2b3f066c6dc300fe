//! A gate from beginning to end.

use super::avoided::Avoided;
use super::batches::{Batch, find_file, part_of};
use super::contest::contest;
use super::recheck::recheck;
use super::recipe::Recipe;
use super::task::{GateReport, GateTask};
use super::verdict::{publish_verdict, verdict_of};
use crate::artifact::dataset::folder::{part_path, sweep_dataset};
use crate::artifact::dataset::gate_games::{GATE_GAMES, GateGameRow, to_batch};
use crate::artifact::dataset::part_range::PartRange;
use crate::artifact::dataset::verdict::OpeningCounts;
use crate::artifact::error::ArtifactError;
use crate::artifact::lock::FolderLock;
use crate::artifact::model::reference::LoadedModel;
use crate::artifact::publish::remove_file;
use crate::artifact::step::Step;
use crate::pipeline::{Context, StageError};
use std::collections::BTreeMap;
use std::path::Path;

/// Plays the match, unless its verdict is there already.
///
/// # Errors
///
/// A bad setting, a candidate without MPC statistics of its own, too few openings, or whatever the system refuses;
/// finished batches stay.
pub fn gate(task: GateTask<'_>, context: Context<'_>) -> Result<GateReport, StageError> {
    task.config.check()?;
    check_candidate(task.candidate)?;
    let avoided = Avoided::open(task.avoid)?;
    let recipe = Recipe::new(&task, avoided.contents());
    if task.recheck {
        return recheck(&task, &recipe, &avoided, context);
    }
    let _lock = FolderLock::take(task.output)?;
    sweep_dataset(task.output, &[&GATE_GAMES])?;
    if let Some(verdict) = recipe.finished(&task)? {
        return Ok(GateReport { skipped: true, games_played: 0, verdict });
    }
    context.check_border()?;
    let ranges = PartRange::all(recipe.pairs, task.config.batch_pairs);
    let found = find_batches(&task, &recipe, &ranges, context)?;
    withdraw(task.output)?;
    let publish = |range: &PartRange, rows: &[GateGameRow], openings: &OpeningCounts| {
        let path = part_path(task.output, &GATE_GAMES, range.index);
        Ok(part_of(range, GATE_GAMES.write(&path, &to_batch(rows), &recipe.footer(range, openings))?))
    };
    let outcome = contest(&task, &avoided, &ranges, found, publish, context)?;
    let verdict = verdict_of(&task, &recipe, &outcome);
    publish_verdict(&task, &recipe, &outcome, &verdict)?;
    Ok(GateReport { skipped: false, games_played: outcome.games_played, verdict })
}

pub(super) fn check_candidate(candidate: &LoadedModel) -> Result<(), StageError> {
    if candidate.document.is_none() || candidate.model.mpc_weights == Some(candidate.model.weights_hash()) {
        return Ok(());
    }
    let folder = candidate.folder.clone().unwrap_or_default();
    let reason = "its MPC statistics are not fitted to its weights\nrun renma fit-mpc first";
    Err(ArtifactError::unfit(&folder, reason).into())
}

/// What decides the games but how many there may be: the same settings play the same games.
///
/// # Errors
///
/// A missing or damaged dataset among those to avoid.
pub fn step(task: &GateTask<'_>) -> Result<Step, ArtifactError> {
    let recipe = Recipe::new(task, Avoided::open(task.avoid)?.contents());
    Ok(Step { id: recipe.hash, settings: recipe.settings })
}

/// The batches that are there, of a gate that was stopped or may now play more games.
pub(super) fn find_batches(
    task: &GateTask<'_>,
    recipe: &Recipe,
    ranges: &[PartRange],
    context: Context<'_>,
) -> Result<BTreeMap<usize, Batch>, StageError> {
    let mut found = BTreeMap::new();
    for range in ranges {
        context.check()?;
        if let Some(batch) = recipe.find(task, range)? {
            found.insert(range.index, batch);
        }
    }
    if let Some((_, _, rows)) = find_file(task, recipe, ranges.len())? {
        recipe.check_pairs(task.output, recipe.pairs + rows.len() as u64 / 2)?;
    }
    Ok(found)
}

/// Takes back a verdict that more games may change, and what is left of one.
pub(super) fn withdraw(folder: &Path) -> Result<(), ArtifactError> {
    ["verdict.json", "manifest.json"].iter().try_for_each(|name| remove_file(&folder.join(name)))
}
