//! Checks positions and their games, and plays a sample of these again.

use super::players::player;
use super::{Checked, VerifyReport, VerifyTask, check_division, check_roles, over_parts};
use crate::artifact::dataset::recipe::check_footers;
use crate::artifact::{Dataset, GAMES, POSITIONS};
use crate::pipeline::generate::proof::GameProof;
use crate::pipeline::generate::recipe::origin_of;
use crate::pipeline::generate::remake::Remake;
use crate::pipeline::generate::task::GenerateConfig;
use crate::pipeline::item_sample::ItemSample;
use crate::pipeline::{Context, StageError, keys};

/// Checks every row and every game, and plays the share of the games again that the task asks for.
pub(super) fn verify(
    task: VerifyTask<'_>,
    dataset: &Dataset,
    context: Context<'_>,
) -> Result<VerifyReport, StageError> {
    // Hours of checking do not end with games that cannot be played.
    let model = task.remake.map(|_| player(dataset, "player", task.models)).transpose()?;
    let remake = task.remake.zip(model.as_ref()).map(|(share, model)| {
        Remake::new(dataset, model, ItemSample::of_share(task.seed, dataset.manifest().done, share))
    });
    let remake = remake.transpose()?;
    let settings = origin_of(dataset)?.map(|(_, settings)| settings).unwrap_or_default();
    if !settings.is_empty() {
        let config = keys::Checked::<GenerateConfig>::of_dataset(dataset)?;
        check_division(dataset, config.games, config.part_games)?;
        check_roles(dataset, &["player"])?;
    }
    let proof = GameProof::new(dataset)?;
    over_parts(context, "verify", dataset, |index| {
        check_footers(dataset, index, &settings)?;
        Ok(proof.prove(index, task.fast, context.stop)?)
    })?;
    let mut games_remade = 0;
    if let Some(remake) = remake {
        games_remade = over_parts(context, "remake", dataset, |index| remake.part(index, context))?.iter().sum();
    }
    let manifest = dataset.manifest();
    let replayed = if task.fast { 0 } else { manifest.rows(GAMES.name) };
    let checked = Checked::Positions { games: manifest.done, positions: manifest.rows(POSITIONS.name), replayed };
    Ok(VerifyReport { checked, games_remade })
}
