//! The last step of a dataset that was made in shards: every part checked, a sample of the games played again.

use super::openings::Book;
use super::parts::Parts;
use super::recheck::{GameSample, Remake};
use super::recipe::{Recipe, origin_of};
use super::{GenerateReport, GenerateTask, TABLES, Written, manifest_of, report};
use crate::artifact::dataset::folder::{Dataset, sweep_dataset};
use crate::artifact::dataset::footers::check_footers;
use crate::artifact::dataset::verify::verify_part;
use crate::artifact::error::ArtifactError;
use crate::artifact::lock::FolderLock;
use crate::pipeline::{Context, StageError};
use rayon::prelude::{IntoParallelIterator, ParallelIterator};
use serde::Serialize;
use std::collections::BTreeMap;

/// One of this many games is played again, within the limits below: little work beside that of the shards.
const GAMES_PER_SAMPLE: u64 = 100;
const SAMPLE_MIN: u64 = 16;
const SAMPLE_MAX: u64 = 256;

/// False parts that an error names; the others are counted.
const NAMED_MAX: usize = 5;

/// What the last step did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FinishReport {
    /// The dataset.
    #[serde(flatten)]
    pub dataset: GenerateReport,
    /// Games played again; none if the dataset was finished before.
    pub games_remade: u64,
    /// The seed that chose them.
    pub sample_seed: u64,
}

/// Checks that all parts are there and sound, plays a sample of their games again, and publishes the manifest.
///
/// # Errors
///
/// [`StageError::Unfinished`] with the first part that is missing; parts with a game that plays out differently, each with
/// the game; else as [`generate`](super::generate). Then there is no manifest.
pub fn finish_parts(
    task: GenerateTask<'_>,
    sample_seed: u64,
    context: Context<'_>,
) -> Result<FinishReport, StageError> {
    task.config.check()?;
    let recipe = Recipe::new(&task);
    let _lock = FolderLock::take(task.output)?;
    sweep_dataset(task.output, &TABLES)?;
    if let Some(manifest) = recipe.finished(task.output)? {
        let dataset = report(&manifest, &Written::default());
        return Ok(FinishReport { dataset, games_remade: 0, sample_seed });
    }
    let parts = Parts::find(task.output, &recipe, 0..task.config.part_count(), context)?;
    if let Some(part) = parts.missing().first() {
        return Err(StageError::Unfinished { part: part.index, folder: task.output.to_owned() });
    }
    let manifest = manifest_of(task, &recipe, parts.complete(BTreeMap::new())?);
    let dataset = Dataset::unpublished(task.output, manifest)?;
    let games_remade = check_parts(task, &dataset, sample_seed, context)?;
    let manifest = dataset.manifest();
    manifest.write(task.output)?;
    let dataset = GenerateReport { skipped: false, ..report(manifest, &Written::default()) };
    Ok(FinishReport { dataset, games_remade, sample_seed })
}

/// Checks every part and plays the games of the sample again; gives how many.
fn check_parts(
    task: GenerateTask<'_>,
    dataset: &Dataset,
    sample_seed: u64,
    context: Context<'_>,
) -> Result<u64, StageError> {
    let games = task.config.games;
    let count = (games / GAMES_PER_SAMPLE).clamp(SAMPLE_MIN, SAMPLE_MAX);
    let book: Option<&Book> = task.book;
    let remake = Remake::new(dataset, book, &task.model.model, GameSample::new(sample_seed, games, count))?;
    let settings = origin_of(dataset)?.map(|(_, settings)| settings).unwrap_or_default();
    let check = |index: usize| {
        context.check()?;
        check_footers(dataset, index, &settings)?;
        verify_part(dataset, index, false, context.stop)?;
        let count = remake.part(index, context);
        context.progress.advance(1, 0);
        count
    };
    context.progress.begin("check", dataset.part_count() as u64, "parts");
    let results: Vec<Result<u64, StageError>> =
        context.pool()?.install(|| (0..dataset.part_count()).into_par_iter().map(check).collect());
    context.progress.end();
    context.check()?;
    let (mut count, mut false_parts) = (0, Vec::new());
    for result in results {
        match result {
            Ok(remade) => count += remade,
            Err(StageError::Artifact(ArtifactError::Damaged { path, reason })) => {
                let path = path.strip_prefix(task.output).unwrap_or(&path).to_owned();
                false_parts.push(format!("{}: {reason}", path.display()));
            }
            Err(error) => return Err(error),
        }
    }
    if false_parts.is_empty() { Ok(count) } else { Err(false_dataset(task, &false_parts)) }
}

fn false_dataset(task: GenerateTask<'_>, parts: &[String]) -> StageError {
    let mut reason = parts[..parts.len().min(NAMED_MAX)].join("\n  ");
    if NAMED_MAX < parts.len() {
        reason += &format!("\n  and {} more parts", parts.len() - NAMED_MAX);
    }
    let count = parts.len();
    let reason = format!("{count} of its parts are false\n  {reason}\nremove them and run their shards again");
    ArtifactError::damaged(task.output, reason).into()
}
