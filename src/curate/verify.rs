//! Checks a dataset of any kind against its manifest and itself, and makes a sample of its work again.

mod gate;
mod mpc;
mod players;
mod positions;

use crate::artifact::dataset::verify::strangers;
use crate::artifact::{ArtifactError, Dataset, DatasetKind, PartRange, Verdict};
use crate::pipeline::{Context, StageError};
use rayon::prelude::{IntoParallelIterator, ParallelIterator};
use serde::Serialize;
use std::path::Path;

/// One verification.
#[derive(Clone, Copy, Debug)]
pub struct VerifyTask<'a> {
    /// The dataset folder.
    pub dataset: &'a Path,
    /// Whether to leave out the replay of games.
    pub fast: bool,
    /// The share of games to make again from their random streams.
    pub remake: Option<f64>,
    /// What chooses those games.
    pub seed: u64,
    /// The registry of the models that played; by default `models/RUN` for `datasets/RUN/…`.
    pub models: Option<&'a Path>,
}

/// What a sound dataset holds, and how much of it was made again.
#[derive(Clone, Copy, Debug)]
pub struct VerifyReport {
    /// What was checked.
    pub checked: Checked,
    /// Games made again.
    pub games_remade: u64,
}

/// What was checked of a kind of dataset; `games` are all of them, `replayed` those that were replayed move by move.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(untagged)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Checked {
    Positions { games: u64, positions: u64, replayed: u64 },
    Gate { games: u64, replayed: u64, verdict: Verdict },
    Mpc { games: u64, samples: u64, rows: u64 },
}

/// Checks a dataset.
///
/// # Errors
///
/// The first thing that is wrong with it, an option that its kind does not have, or an interruption.
pub fn verify(task: VerifyTask<'_>, context: Context<'_>) -> Result<VerifyReport, StageError> {
    let dataset = Dataset::open_any(task.dataset)?;
    if let Some(stranger) = strangers(&dataset)?.first() {
        return Err(ArtifactError::unfit(stranger, "the manifest does not list it").into());
    }
    let kind = dataset.manifest().kind;
    match kind {
        DatasetKind::Selfplay | DatasetKind::Imported => positions::verify(task, &dataset, context),
        DatasetKind::Gate => gate::verify(task, &dataset, context),
        DatasetKind::Mpc if task.remake.is_some() => {
            Err(StageError::Setting(format!("--remake: {} holds no games", task.dataset.display())))
        }
        DatasetKind::Mpc => Ok(VerifyReport { checked: mpc::verify(&dataset, context)?, games_remade: 0 }),
    }
}

/// Checks that a manifest asks for the items of its config, and that its parts are those into which they are divided.
fn check_division(dataset: &Dataset, items: u64, part_items: u64) -> Result<(), ArtifactError> {
    let manifest = dataset.manifest();
    let damaged = |reason| Err(ArtifactError::damaged(&dataset.folder().join("manifest.json"), reason));
    if manifest.asked != items {
        return damaged(format!("it says {} asked, and its config asks for {items}", manifest.asked));
    }
    let ranges = PartRange::all(items, part_items);
    let differing = ranges.iter().zip(&manifest.parts).find(|(range, part)| range.count != part.count);
    if let Some((range, part)) = differing {
        return damaged(format!("part {} has {} items, {} expected", range.index, part.count, range.count));
    }
    Ok(())
}

/// Checks that a manifest names the models in these roles and no others; `roles` ascend.
fn check_roles(dataset: &Dataset, roles: &[&str]) -> Result<(), ArtifactError> {
    if dataset.manifest().models.keys().eq(roles) {
        return Ok(());
    }
    let reason = format!("its models are not those of the roles {}", roles.join(" and "));
    Err(ArtifactError::damaged(&dataset.folder().join("manifest.json"), reason))
}

/// Runs a check over all parts on all threads; returns what each found, in order.
fn over_parts<T: Send>(
    context: Context<'_>,
    task: &str,
    dataset: &Dataset,
    check: impl Fn(usize) -> Result<T, StageError> + Sync,
) -> Result<Vec<T>, StageError> {
    let parts = dataset.part_count();
    let check_one = |index| {
        context.check()?;
        let result = check(index)?;
        context.check()?;
        context.progress.advance(1);
        Ok(result)
    };
    let check_all = || context.pool()?.install(|| (0..parts).into_par_iter().map(check_one).collect());
    context.observe(task, (parts as u64, 0), "parts", check_all)
}
