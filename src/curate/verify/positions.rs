//! Checks positions and their games, and makes a sample of them again.

use super::{Checked, VerifyReport, VerifyTask, check_division, check_roles, over_parts};
use crate::artifact::dataset::recipe::check_footers;
use crate::artifact::{ArtifactError, Builtin, Dataset, GAMES, LoadedModel, Model, POSITIONS, Registry};
use crate::pipeline::generate::proof::GameProof;
use crate::pipeline::generate::recipe::origin_of;
use crate::pipeline::generate::remake::{Remake, resolve_part};
use crate::pipeline::generate::task::GenerateConfig;
use crate::pipeline::item_sample::ItemSample;
use crate::pipeline::{Context, StageError, keys};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Checks every row and every game, and makes the shares of them again that the task asks for.
pub(super) fn verify(
    task: VerifyTask<'_>,
    dataset: &Dataset,
    context: Context<'_>,
) -> Result<VerifyReport, StageError> {
    // Hours of checking do not end with games that cannot be played.
    let model = task.remake.map(|_| player_model(dataset, task.models)).transpose()?;
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
    let mut rows_resolved = 0;
    if let Some(share) = task.resolve {
        let model = Builtin::Champion.model();
        let resolve = |index| resolve_part(dataset, index, (task.seed, share), &model, context);
        rows_resolved = over_parts(context, "resolve", dataset, resolve)?.iter().sum();
    }
    let manifest = dataset.manifest();
    let replayed = if task.fast { 0 } else { manifest.rows(GAMES.name) };
    let checked = Checked::Positions { games: manifest.done, positions: manifest.rows(POSITIONS.name), replayed };
    Ok(VerifyReport { checked, games_remade, rows_resolved })
}

/// The model that played a dataset whose games can be made again, among the built-ins and the versions of a registry.
fn player_model(dataset: &Dataset, models: Option<&Path>) -> Result<Arc<Model>, StageError> {
    let player = dataset.manifest().models.get("player").copied().ok_or_else(|| {
        let path = dataset.folder().join("manifest.json");
        ArtifactError::unfit(&path, "no model played it: its games cannot be made again")
    })?;
    keys::Checked::<GenerateConfig>::of_dataset(dataset)?;
    let registry = models.map_or_else(|| registry_of(dataset.folder()), Path::to_owned);
    let mut builtins = Builtin::ALL.into_iter().map(LoadedModel::builtin);
    if let Some(builtin) = builtins.find(|builtin| builtin.content == player) {
        return Ok(builtin.model);
    }
    let versions = Registry::new(&registry);
    match versions.documents()?.into_iter().find(|document| document.content == player) {
        Some(document) => Ok(LoadedModel::read(&versions.folder_of(document.id))?.model),
        None => {
            let model = player.short();
            let reason =
                format!("it does not have model {model}, which played the dataset\nname its registry with --models");
            Err(ArtifactError::refused("use", &registry, reason).into())
        }
    }
}

/// `models/RUN` beside `datasets/RUN/selfplay/generation=G`.
fn registry_of(folder: &Path) -> PathBuf {
    let run = folder.ancestors().nth(2);
    let root = run.and_then(Path::parent).and_then(Path::parent);
    match (root, run.and_then(Path::file_name)) {
        (Some(root), Some(name)) => root.join("models").join(name),
        _ => Path::new("models/default").to_owned(),
    }
}
