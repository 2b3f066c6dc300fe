//! The folders of a run: `datasets/RUN/STAGE/generation=NNNN` and the registry `models/RUN`.

use crate::artifact::dataset::folder::part_name_path;
use crate::artifact::dataset::manifest::Manifest;
use crate::artifact::dataset::verdict::{VerdictFile, read_verdict};
use crate::artifact::error::ArtifactError;
use crate::artifact::hash::ContentHash;
use crate::artifact::publish::{exists, is_folder};
use crate::artifact::table::Table;
use std::fs;
use std::path::{Path, PathBuf};

/// The folders of a run's datasets, one per stage.
pub const STAGE_FOLDERS: [&str; 4] = ["selfplay", "mpc", "gate", DRIFT];

/// The matches that keep the ladder from drifting; they decide nothing.
pub const DRIFT: &str = "drift";

/// The folder of a stage's dataset of a generation.
#[must_use]
pub fn generation_folder(datasets: &Path, stage: &str, generation: u32) -> PathBuf {
    datasets.join(stage).join(format!("generation={generation:04}"))
}

/// `datasets/RUN/plans/generation=NNNN/generate.json`, the plan of the dataset `datasets/RUN/selfplay/generation=NNNN`, if that
/// was made in shards.
#[must_use]
pub fn plan_of_selfplay(dataset: &Path) -> Option<PathBuf> {
    let run = dataset.ancestors().nth(2)?;
    Some(run.join("plans").join(dataset.file_name()?).join("generate.json"))
}

/// `datasets/RUN` beside the registry `models/RUN`.
#[must_use]
pub fn datasets_beside(registry: &Path) -> PathBuf {
    let name = registry.file_name().unwrap_or_default();
    let root = registry.parent().and_then(Path::parent).unwrap_or(Path::new(""));
    root.join("datasets").join(name)
}

/// The generations with a folder of a stage, ascending.
///
/// # Errors
///
/// Whatever the system refuses; a stage without a folder has none.
pub fn generations(datasets: &Path, stage: &str) -> Result<Vec<u32>, ArtifactError> {
    let folder = datasets.join(stage);
    let failed = |source| ArtifactError::io("read", &folder, source);
    if !is_folder(&folder)? {
        return Ok(Vec::new());
    }
    let mut generations = Vec::new();
    for entry in fs::read_dir(&folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("generation=")?.parse().ok());
        generations.extend(number.filter(|&number| generation_folder(datasets, stage, number).ends_with(&name)));
    }
    generations.sort_unstable();
    Ok(generations)
}

/// A finished gate of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunGate {
    /// Its generation.
    pub generation: u32,
    /// Its folder.
    pub folder: PathBuf,
    /// Its verdict.
    pub verdict: VerdictFile,
}

/// The finished gates of a run, by generation.
///
/// # Errors
///
/// A damaged one.
pub fn gates(datasets: &Path) -> Result<Vec<RunGate>, ArtifactError> {
    matches(datasets, "gate")
}

/// The finished gates of a run, or its finished [`DRIFT`] matches.
///
/// # Errors
///
/// A damaged one.
pub fn matches(datasets: &Path, stage: &str) -> Result<Vec<RunGate>, ArtifactError> {
    let mut gates = Vec::new();
    for generation in generations(datasets, stage)? {
        let folder = generation_folder(datasets, stage, generation);
        if exists(&folder.join("verdict.json"))? {
            let verdict = read_verdict(&folder)?;
            gates.push(RunGate { generation, folder, verdict });
        }
    }
    Ok(gates)
}

/// The recipe of a dataset folder: that of its manifest, or as long as there is none, of its first part.
///
/// # Errors
///
/// A damaged manifest.
pub fn recipe_of(folder: &Path) -> Result<Option<ContentHash>, ArtifactError> {
    if exists(&folder.join("manifest.json"))? {
        return Ok(Some(Manifest::read_any(folder)?.recipe));
    }
    for table in ["positions", "games", "samples"] {
        let footer = match Table::read_footer(&part_name_path(folder, table, 0)) {
            // The stage itself finds or remakes parts, so a damaged one does not matter here.
            Err(ArtifactError::Missing { .. } | ArtifactError::Damaged { .. }) => continue,
            other => other?,
        };
        return Ok(footer.get("renma.recipe").and_then(|recipe| recipe.parse().ok()));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_of_the_exact_form_are_generations() {
        let datasets = tempfile::tempdir().unwrap();
        for name in ["generation=0002", "generation=0001", "generation=12", "generation=00003", "other"] {
            fs::create_dir_all(datasets.path().join("gate").join(name)).unwrap();
        }
        assert_eq!(generations(datasets.path(), "gate").unwrap(), [1, 2]);
        assert!(generations(datasets.path(), "mpc").unwrap().is_empty());
    }

    #[test]
    fn the_datasets_of_a_run_are_beside_its_registry() {
        for (registry, datasets) in [("models/a", "datasets/a"), ("/x/models/b", "/x/datasets/b"), ("c", "datasets/c")]
        {
            assert_eq!(datasets_beside(Path::new(registry)), Path::new(datasets));
        }
    }
}
