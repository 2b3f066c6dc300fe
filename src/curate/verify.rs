//! Checks a dataset of any kind against its manifest and itself, and makes a sample of its work
//! again.

mod gate;
mod players;
mod positions;

use crate::artifact::dataset::verify::strangers;
use crate::artifact::{ArtifactError, Dataset, DatasetKind, MPC_SAMPLES, Verdict};
use crate::pipeline::fit_mpc::proof::SampleProof;
use crate::pipeline::proof::PartProof;
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
    /// The share of games to make again.
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
    pub checked: VerifiedCounts,
    /// Games made again.
    pub games_remade: u64,
}

/// What was checked of a kind of dataset; `games` are all of them, `replayed` those that were
/// replayed move by move.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(untagged)]
#[expect(missing_docs, reason = "the names say it")]
pub enum VerifiedCounts {
    Positions {
        games: u64,
        positions: u64,
        replayed: u64,
    },
    Gate {
        games: u64,
        replayed: u64,
        verdict: Verdict,
    },
    Mpc {
        games: u64,
        samples: u64,
        rows: u64,
    },
}

/// Checks a dataset.
///
/// # Errors
///
/// The first thing that is wrong with it, an option that its kind does not have, or an
/// interruption.
pub fn verify(task: VerifyTask<'_>, context: Context<'_>) -> Result<VerifyReport, StageError> {
    let dataset = Dataset::open_any(task.dataset)?;
    if let Some(stranger) = strangers(&dataset)?.first() {
        return Err(ArtifactError::unfit(stranger, "the manifest does not list it").into());
    }
    let kind = dataset.manifest().kind;
    match kind {
        DatasetKind::Selfplay | DatasetKind::Imported => positions::verify(task, &dataset, context),
        DatasetKind::Gate => gate::verify(task, &dataset, context),
        DatasetKind::Mpc if task.remake.is_some() => Err(StageError::Setting(format!(
            "--remake: {} holds no games",
            task.dataset.display()
        ))),
        DatasetKind::Mpc => {
            let (SampleProof { config, .. }, _) = prove(&dataset, task.fast, context)?;
            let (games, rows) = (
                dataset.manifest().done,
                dataset.manifest().rows(MPC_SAMPLES.name),
            );
            let samples = games * u64::from(config.sampling().game_samples);
            Ok(VerifyReport {
                checked: VerifiedCounts::Mpc {
                    games,
                    samples,
                    rows,
                },
                games_remade: 0,
            })
        }
    }
}

/// Proves the parts of a dataset; returns the proof, and what it found of each.
fn prove<P: PartProof>(
    dataset: &Dataset,
    fast: bool,
    context: Context<'_>,
) -> Result<(P, Vec<P::Found>), StageError> {
    let proof = P::of(dataset)?;
    let found = over_parts(context, "verify", dataset, |index| {
        Ok(proof.prove(dataset, index, fast, context.stop)?)
    })?;
    match P::contradiction(dataset, &found) {
        Some((index, table, reason)) => Err(dataset.damaged(table, index, reason).into()),
        None => Ok((proof, found)),
    }
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
    let check_all = || {
        context
            .pool()?
            .install(|| (0..parts).into_par_iter().map(check_one).collect())
    };
    context.observe(task, parts as u64, "parts", check_all)
}
