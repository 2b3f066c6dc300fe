//! Self-play from beginning to end: whole datasets, ranges of parts, and the finish of a dataset made in shards.

use super::book::Book;
use super::openings::Openings;
use super::parts::Parts;
use super::play::Player;
use super::recipe::{origin_of, recipe};
use super::remake::Remake;
use super::task::{FinishReport, Fixed, GeneratePartsReport, GenerateReport, GenerateTask, TABLES};
use super::workers::{Written, play_missing};
use crate::artifact::dataset::folder::{Dataset, sweep_dataset};
use crate::artifact::dataset::games::GAMES;
use crate::artifact::dataset::manifest::Manifest;
use crate::artifact::dataset::part_range::PartRange;
use crate::artifact::dataset::positions::POSITIONS;
use crate::artifact::dataset::recipe::check_footers;
use crate::artifact::dataset::verify::verify_part;
use crate::artifact::error::ArtifactError;
use crate::artifact::lock::FolderLock;
use crate::pipeline::item_sample::ItemSample;
use crate::pipeline::{Context, StageError};
use rayon::prelude::{IntoParallelIterator, ParallelIterator};
use std::collections::BTreeMap;
use std::ops::Range;

/// Makes the dataset complete: plays the games it lacks, then publishes its manifest.
///
/// # Errors
///
/// A bad setting, a folder that holds something else, a model that cannot search, or whatever the system refuses; finished parts stay.
pub fn generate(task: GenerateTask<'_>, context: Context<'_>) -> Result<GenerateReport, StageError> {
    task.config.check()?;
    let recipe = recipe(&task);
    let _lock = FolderLock::take(task.output)?;
    sweep_dataset(task.output, &TABLES)?;
    if let Some(manifest) = recipe.finished(task.output, task.config.games)? {
        return Ok(report(&manifest, &Written::default()));
    }
    context.check_budget()?;
    let parts = Parts::find(task.output, (&recipe, task.config), 0..task.config.part_count(), context)?;
    let missing = parts.missing();
    let mut written = play_missing(task, &recipe, &missing, task.config.games, context)?;
    let manifest = recipe.manifest(task.config.games, parts.complete(std::mem::take(&mut written.parts))?);
    manifest.write(task.output)?;
    Ok(report(&manifest, &written))
}

/// Makes the `wanted` parts, as far as the folder lacks them, and no manifest.
///
/// Any number of such calls may share a folder, on many machines: what they publish does not depend on who does it.
///
/// # Errors
///
/// As [`generate`].
pub fn generate_parts(
    task: GenerateTask<'_>,
    wanted: Range<usize>,
    context: Context<'_>,
) -> Result<GeneratePartsReport, StageError> {
    task.config.check()?;
    let recipe = recipe(&task);
    if recipe.finished(task.output, task.config.games)?.is_some() {
        return Ok(GeneratePartsReport { skipped: true, games_played: 0, positions_written: 0, nodes: 0 });
    }
    sweep_dataset(task.output, &TABLES)?;
    let parts = Parts::find(task.output, (&recipe, task.config), wanted, context)?;
    let (missing, games) = (parts.missing(), parts.games());
    let Written { games: games_played, positions: positions_written, nodes, .. } =
        play_missing(task, &recipe, &missing, games, context)?;
    Ok(GeneratePartsReport { skipped: missing.is_empty(), games_played, positions_written, nodes })
}

/// Plays games until it is enough, at least one, and keeps none of them; gives how many. It shows how long games take.
///
/// # Errors
///
/// As [`generate`].
pub fn play_until(
    task: GenerateTask<'_>,
    is_enough: impl Fn() -> bool,
    context: Context<'_>,
) -> Result<u64, StageError> {
    task.config.check()?;
    let openings = Openings::new(task.config, task.book)?;
    let settings = (task.config, Fixed::TODAY);
    let mut player = Player::new(settings, &openings, task.seed, task.generation, &task.model.model, context.stop);
    for game in 0..task.config.games {
        player.play(game)?;
        if is_enough() {
            return Ok(game + 1);
        }
    }
    Ok(task.config.games)
}

/// Which parts the folder has; their rows are not read.
///
/// # Errors
///
/// A folder that holds something else, or whatever the system refuses.
pub fn generate_parts_done(task: &GenerateTask<'_>) -> Result<Vec<bool>, StageError> {
    let recipe = recipe(task);
    // The positions are published last.
    let has = |range: &PartRange| recipe.has_part(task.output, range, &POSITIONS);
    let ranges = PartRange::all(task.config.games, task.config.part_games);
    Ok(ranges.iter().map(has).collect::<Result<_, _>>()?)
}

/// Checks that all parts are there and sound, plays a sample of their games again, and publishes the manifest.
///
/// # Errors
///
/// [`StageError::Unfinished`] with the first part that is missing; parts with a game that plays out differently, each with
/// the game; otherwise as [`generate`]. No manifest is written then.
pub fn finish_parts(
    task: GenerateTask<'_>,
    sample_seed: u64,
    context: Context<'_>,
) -> Result<FinishReport, StageError> {
    task.config.check()?;
    let recipe = recipe(&task);
    let _lock = FolderLock::take(task.output)?;
    sweep_dataset(task.output, &TABLES)?;
    if let Some(manifest) = recipe.finished(task.output, task.config.games)? {
        let dataset = report(&manifest, &Written::default());
        return Ok(FinishReport { dataset, games_remade: 0, sample_seed });
    }
    let parts = Parts::find(task.output, (&recipe, task.config), 0..task.config.part_count(), context)?;
    if let Some(part) = parts.missing().first() {
        return Err(StageError::Unfinished { part: part.index, folder: task.output.to_owned() });
    }
    let manifest = recipe.manifest(task.config.games, parts.complete(BTreeMap::new())?);
    let dataset = Dataset::unpublished(task.output, manifest)?;
    let games_remade = check_parts(task, &dataset, sample_seed, context)?;
    let manifest = dataset.manifest();
    manifest.write(task.output)?;
    let dataset = GenerateReport { skipped: false, ..report(manifest, &Written::default()) };
    Ok(FinishReport { dataset, games_remade, sample_seed })
}

/// One of this many games is played again, within the limits below: little work beside that of the shards.
const GAMES_PER_SAMPLE: u64 = 100;

const SAMPLE_MIN: u64 = 16;

const SAMPLE_MAX: u64 = 256;

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
    let remake = Remake::new(dataset, book, &task.model.model, ItemSample::new(sample_seed, games, count))?;
    let settings = origin_of(dataset)?.map(|(_, settings)| settings).unwrap_or_default();
    let check = |index: usize| {
        context.check()?;
        check_footers(dataset, index, &settings)?;
        verify_part(dataset, index, false, context.stop)?;
        let count = remake.part(index, context);
        context.progress.advance(1);
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
                false_parts.push((path, reason));
            }
            Err(error) => return Err(error),
        }
    }
    if false_parts.is_empty() {
        Ok(count)
    } else {
        Err(StageError::FalseParts { folder: task.output.to_owned(), parts: false_parts })
    }
}

fn report(manifest: &Manifest, written: &Written) -> GenerateReport {
    GenerateReport {
        skipped: written.games == 0,
        games: manifest.done,
        games_played: written.games,
        positions: manifest.rows(POSITIONS.name),
        positions_written: written.positions,
        nodes: written.nodes,
        bytes: manifest.bytes(POSITIONS.name) + manifest.bytes(GAMES.name),
        content: manifest.content,
    }
}
