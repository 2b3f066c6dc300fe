//! Checks positions and their games, and plays a sample of these again.

use super::players::player;
use super::{VerifiedCounts, VerifyReport, VerifyTask, over_parts, prove};
use crate::artifact::{Dataset, GAMES, POSITIONS};
use crate::pipeline::generate::proof::GameProof;
use crate::pipeline::generate::remake::Remake;
use crate::pipeline::item_sample::ItemSample;
use crate::pipeline::{Context, StageError};

/// Checks every row and every game, and plays the share of the games again that the task asks for.
pub fn verify(
    task: VerifyTask<'_>,
    dataset: &Dataset,
    context: Context<'_>,
) -> Result<VerifyReport, StageError> {
    // Hours of checking do not end with games that cannot be played.
    let model = task
        .remake
        .map(|_| player(dataset, "player", task.models))
        .transpose()?;
    let remake = task.remake.zip(model.as_ref()).map(|(share, model)| {
        Remake::new(
            dataset,
            model,
            ItemSample::of_share(task.seed, dataset.manifest().done, share),
        )
    });
    let remake = remake.transpose()?;
    prove::<GameProof>(dataset, task.fast, context)?;
    let mut games_remade = 0;
    if let Some(remake) = remake {
        games_remade = over_parts(context, "remake", dataset, |index| {
            remake.part(index, context)
        })?
        .iter()
        .sum();
    }
    let manifest = dataset.manifest();
    let replayed = if task.fast {
        0
    } else {
        manifest.rows(GAMES.name)
    };
    let checked = VerifiedCounts::Positions {
        games: manifest.done,
        positions: manifest.rows(POSITIONS.name),
        replayed,
    };
    Ok(VerifyReport {
        checked,
        games_remade,
    })
}
