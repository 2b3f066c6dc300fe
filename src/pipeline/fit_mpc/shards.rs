//! The samples of MPC statistics, made and checked piece by piece.

use super::parts::{find_part, make_part, write_part};
use super::recipe::recipe;
use super::task::{FitMpcPartsReport, FitMpcTask, Method};
use crate::artifact::dataset::folder::{part_path, sweep_dataset};
use crate::artifact::dataset::mpc_samples::MPC_SAMPLES;
use crate::artifact::dataset::part_range::PartRange;
use crate::artifact::error::ArtifactError;
use crate::pipeline::item_sample::ItemSample;
use crate::pipeline::stage::Stage;
use crate::pipeline::{Context, StageError};
use std::ops::Range;
use std::path::Path;

/// One of this many games is searched again, and at least the second number.
const GAMES_PER_CHECK: u64 = 50;
const CHECKED_MIN: u64 = 4;

/// Makes the `wanted` parts of the samples, as far as the output folder lacks them, and fits nothing.
///
/// Any number of such calls may share a folder, on many machines: what they publish does not depend on who does it.
///
/// # Errors
///
/// `method = "source"`, which needs all samples before each; otherwise as [`fit_mpc`](super::run::fit_mpc).
pub fn fit_mpc_parts(
    task: FitMpcTask<'_>,
    wanted: Range<usize>,
    context: Context<'_>,
) -> Result<FitMpcPartsReport, StageError> {
    task.config.check()?;
    let output = shared_output(&task)?;
    let recipe = recipe(&task);
    let mut report = FitMpcPartsReport { skipped: true, games: 0, samples: 0 };
    if recipe.finished(output, task.config.games)?.is_some() {
        return Ok(report);
    }
    sweep_dataset(output, &[&MPC_SAMPLES])?;
    let ranges = PartRange::some(task.config.games, task.config.part_games, wanted);
    context.progress.begin(Stage::FitMpc.name(), ranges.iter().map(|range| range.count).sum(), "games");
    let made = context.pool()?.install(|| {
        ranges.iter().try_for_each(|range| {
            context.check()?;
            if find_part(&recipe, task.config, output, range, context.stop)?.is_some() {
                context.progress.resume(range.count);
                return Ok(());
            }
            context.check_budget()?;
            let samples = make_part(task, *range, context)?;
            write_part(&recipe, output, range, &samples)?;
            report.skipped = false;
            report.games += range.count;
            report.samples += samples.len() as u64;
            Ok(())
        })
    });
    context.progress.end();
    made.map(|()| report)
}

/// Searches the positions of games until it is enough, of one game at least, and keeps nothing; gives of how many games. It shows
/// how long they take.
///
/// # Errors
///
/// As [`fit_mpc_parts`].
pub fn sample_until(
    task: FitMpcTask<'_>,
    is_enough: impl Fn() -> bool,
    context: Context<'_>,
) -> Result<u64, StageError> {
    task.config.check()?;
    let one_thread = Context { threads: 1, ..context }.pool()?;
    for game in 0..task.config.games {
        one_thread.install(|| make_part(task, PartRange { index: 0, first: game, count: 1 }, context))?;
        if is_enough() {
            return Ok(game + 1);
        }
    }
    Ok(task.config.games)
}

/// Which parts of the samples the output folder has; their rows are not read.
///
/// # Errors
///
/// As [`fit_mpc_parts`].
pub fn fit_mpc_parts_done(task: &FitMpcTask<'_>) -> Result<Vec<bool>, StageError> {
    let (output, recipe) = (shared_output(task)?, recipe(task));
    let ranges = PartRange::all(task.config.games, task.config.part_games);
    Ok(ranges.iter().map(|range| recipe.has_part(output, range, &MPC_SAMPLES)).collect::<Result<_, _>>()?)
}

/// The folder in which several machines leave their parts.
fn shared_output<'a>(task: &FitMpcTask<'a>) -> Result<&'a Path, StageError> {
    if let Method::Source { .. } = task.config.method {
        let reason =
            "fit_mpc.method = \"source\" cannot be cut into shards: each of its searches uses the fits before it";
        return Err(StageError::Setting(format!(
            "{reason}\nrun renma fit-mpc on one machine, or set method = \"line\""
        )));
    }
    task.output
        .ok_or_else(|| StageError::Setting("shards of fit-mpc share a folder of samples: add --output DIR".into()))
}

/// Searches the positions of some games again and compares them with the samples; gives how many games.
///
/// # Errors
///
/// The first part with samples that are not those of its searches, with the game; otherwise as [`fit_mpc_parts`].
pub fn check_samples(task: FitMpcTask<'_>, seed: u64, context: Context<'_>) -> Result<u64, StageError> {
    let (output, recipe, games) = (shared_output(&task)?, recipe(&task), task.config.games);
    if recipe.finished(output, games)?.is_some() {
        return Ok(0);
    }
    let checked = ItemSample::new(seed, games, (games / GAMES_PER_CHECK).max(CHECKED_MIN));
    context.progress.begin("check", checked.count(), "games");
    let result = context.pool()?.install(|| {
        PartRange::all(games, task.config.part_games).iter().try_for_each(|range| {
            let ids: Vec<u64> = checked.among(range.ids()).collect();
            if ids.is_empty() {
                return Ok(());
            }
            let Some((_, samples)) = find_part(&recipe, task.config, output, range, context.stop)? else {
                return Err(StageError::Unfinished { part: range.index, folder: output.to_owned() });
            };
            for game in ids {
                let again = make_part(task, PartRange { index: range.index, first: game, count: 1 }, context)?;
                if !samples.iter().filter(|sample| sample.game == game).eq(&again) {
                    let path = part_path(output, &MPC_SAMPLES, range.index);
                    let reason = format!("the samples of game {game} are not those of its searches");
                    let remedy = "remove it and run its shard again";
                    return Err(ArtifactError::damaged(&path, format!("{reason}\n{remedy}")).into());
                }
            }
            Ok(())
        })
    });
    context.progress.end();
    result.map(|()| checked.count())
}
