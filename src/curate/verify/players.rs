//! The models that played a dataset, so that they can play it again.

use crate::artifact::{ArtifactError, Builtin, Dataset, LoadedModel, Model, Registry};
use crate::pipeline::StageError;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The model that played a dataset in a role, among the built-ins and the versions of a registry.
pub fn player(
    dataset: &Dataset,
    role: &str,
    models: Option<&Path>,
) -> Result<Arc<Model>, StageError> {
    let player = dataset
        .manifest()
        .models
        .get(role)
        .copied()
        .ok_or_else(|| {
            let path = dataset.folder().join("manifest.json");
            ArtifactError::unfit(&path, "no model played it: its games cannot be made again")
        })?;
    let registry = models.map_or_else(|| registry_of(dataset.folder()), Path::to_owned);
    let mut builtins = Builtin::ALL.into_iter().map(LoadedModel::builtin);
    if let Some(builtin) = builtins.find(|builtin| builtin.content == player) {
        return Ok(builtin.model);
    }
    let versions = Registry::new(&registry);
    match versions
        .documents()?
        .into_iter()
        .find(|document| document.content == player)
    {
        Some(document) => Ok(LoadedModel::read(&versions.folder_of(document.id))?.model),
        None => {
            let model = player.short();
            let reason = format!(
                "it does not have model {model}, which played the dataset\nname its registry with --models"
            );
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
