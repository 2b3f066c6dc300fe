//! Self-play from beginning to end.

use super::openings::Openings;
use super::parts::selfplay_parts;
use super::play::SelfplayPlayer;
use super::task::{GenerateReport, GenerateTask};
use crate::artifact::GameId;
use crate::artifact::{FolderLock, Manifest, POSITIONS};
use crate::pipeline::parts::PartsReport;
use crate::pipeline::workers::make_until;
use crate::pipeline::{Context, StageError};

/// Makes the dataset complete: plays the games it lacks, then publishes its manifest.
///
/// # Errors
///
/// A bad setting, a folder that holds something else, a model that cannot search, or a system
/// error; finished parts stay.
pub fn generate(task: &GenerateTask, context: Context<'_>) -> Result<GenerateReport, StageError> {
    let parts = selfplay_parts(task);
    let _lock = FolderLock::take(&task.output)?;
    parts.sweep()?;
    if let Some(manifest) = parts.finished()? {
        return Ok(report(&manifest, &PartsReport::skipped()));
    }
    context.check_budget()?;
    let (found, made) = parts.complete(&parts.ranges(), |part, _| part, context)?;
    let manifest = parts.finish(found.into_values().collect())?;
    Ok(report(
        &manifest,
        &PartsReport {
            skipped: false,
            ..made
        },
    ))
}

/// Plays games until `is_enough`, at least one, and discards them; returns their number. It shows
/// how long games take.
pub fn play_until(
    task: &GenerateTask,
    is_enough: impl Fn() -> bool,
    context: Context<'_>,
) -> Result<u64, StageError> {
    let openings = Openings::new(&task.config, task.book.as_ref())?;
    let mut player = SelfplayPlayer::new(
        &task.config,
        &openings,
        task.seed,
        task.generation,
        &task.model.model,
        context.stop,
    );
    make_until(
        task.config.games,
        |game| player.play(GameId(game)),
        is_enough,
    )
}

fn report(manifest: &Manifest, PartsReport { skipped, made }: &PartsReport) -> GenerateReport {
    let made = |name| made.get(name).copied().unwrap_or(0);
    GenerateReport {
        skipped: *skipped,
        games: manifest.done,
        games_played: made("games_played"),
        positions: manifest.rows(POSITIONS.name),
        positions_written: made("positions_written"),
        nodes: made("nodes"),
        bytes: manifest.total_bytes(),
        content: manifest.content,
    }
}
