//! The folders of a run: `datasets/RUN/STAGE/generation=NNNN` and the registry `models/RUN`.

use crate::artifact::dataset::folder::part_path;
use crate::artifact::dataset::verdict::read_verdict;
use crate::artifact::publish::{entries_in, exists};
use crate::artifact::{ArtifactError, ContentHash, Manifest, ModelDocument, Table, VerdictFile};
use crate::pipeline::stage::Stage;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A run has no more generations, as the key `run.generations` says.
pub const GENERATIONS_MAX: u32 = 100_000;

/// The folder of the plans of a run, beside its datasets.
const PLANS: &str = "plans";

/// What a run keeps datasets of, one per generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatasetFolder {
    /// What a stage makes.
    Stage(Stage),
    /// The matches that keep the ladder from drifting; they decide nothing.
    Drift,
}

impl DatasetFolder {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        let stages = Stage::ALL.into_iter().filter(|stage| stage.dataset().is_some());
        stages.map(Self::Stage).chain([Self::Drift])
    }

    /// Its name in the folder of the run's datasets.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stage(stage) => stage.facts().dataset.map_or(stage.name(), |(_, folder)| folder),
            Self::Drift => "drift",
        }
    }
}

impl From<Stage> for DatasetFolder {
    fn from(stage: Stage) -> Self {
        Self::Stage(stage)
    }
}

/// The folder of a dataset of a generation.
pub fn generation_folder(datasets: &Path, folder: impl Into<DatasetFolder>, generation: u32) -> PathBuf {
    in_generation(&datasets.join(folder.into().name()), generation)
}

/// The folder of a generation in one that has a folder for each.
pub fn in_generation(folder: &Path, generation: u32) -> PathBuf {
    folder.join(format!("generation={generation:04}"))
}

/// `datasets/RUN/plans/generation=NNNN/generate.json`, the plan of the dataset `datasets/RUN/selfplay/generation=NNNN`, if that
/// was made in shards.
pub fn plan_of_selfplay(dataset: &Path) -> Option<PathBuf> {
    let run = dataset.ancestors().nth(2)?;
    Some(run.join(PLANS).join(dataset.file_name()?).join(format!("{}.json", Stage::Generate)))
}

/// The plan of a stage of a generation.
pub fn plan_path(datasets: &Path, stage: Stage, generation: u32) -> PathBuf {
    in_generation(&datasets.join(PLANS), generation).join(format!("{stage}.json"))
}

/// `datasets/RUN` beside the registry `models/RUN`.
pub fn datasets_beside(registry: &Path) -> PathBuf {
    let name = registry.file_name().unwrap_or_default();
    let root = registry.parent().and_then(Path::parent).unwrap_or(Path::new(""));
    root.join("datasets").join(name)
}

/// The generations with a dataset, ascending.
pub fn generations(datasets: &Path, folder: impl Into<DatasetFolder>) -> Result<Vec<u32>, ArtifactError> {
    generations_in(&datasets.join(folder.into().name()))
}

/// The generations that have a subfolder here, ascending; empty if the folder does not exist.
pub fn generations_in(folder: &Path) -> Result<Vec<u32>, ArtifactError> {
    let mut generations = Vec::new();
    for entry in entries_in(folder)? {
        let number = entry.name.to_str().and_then(|name| name.strip_prefix("generation=")?.parse().ok());
        let has_form = |number: &u32| in_generation(folder, *number).ends_with(&entry.name);
        generations.extend(number.filter(|number| (1..=GENERATIONS_MAX).contains(number) && has_form(number)));
    }
    generations.sort_unstable();
    Ok(generations)
}

/// The finished datasets of self-play, by generation, with their folders.
///
/// # Errors
///
/// A damaged manifest.
pub fn selfplay(datasets: &Path) -> Result<Vec<(u32, PathBuf, Manifest)>, ArtifactError> {
    let mut found = Vec::new();
    for generation in generations(datasets, Stage::Generate)? {
        let folder = generation_folder(datasets, Stage::Generate, generation);
        found.extend(Manifest::find_any(&folder)?.map(|manifest| (generation, folder, manifest)));
    }
    Ok(found)
}

/// The generation in which a stage made a version of this run; none of a version that came from elsewhere, which has a generation of
/// its run. A version is this run's if its newest games are, by their content in each generation, or if `run.log` has it.
pub fn generation_of(
    document: &ModelDocument,
    played: &BTreeMap<u32, ContentHash>,
    logged: &BTreeSet<(u32, String)>,
) -> Option<u32> {
    let origin = &document.origin;
    Stage::named(&origin.stage).filter(|stage| stage.makes_versions())?;
    let newest = origin.datasets.last()?;
    let is_own = played.get(&newest.generation) == Some(&newest.content)
        || logged.contains(&(newest.generation, document.id.to_string()));
    is_own.then_some(newest.generation)
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
    matches(datasets, Stage::Gate)
}

/// The finished gates of a run, or its finished matches of another folder.
///
/// # Errors
///
/// A damaged one.
pub fn matches(datasets: &Path, folder: impl Into<DatasetFolder>) -> Result<Vec<RunGate>, ArtifactError> {
    let (mut gates, kind) = (Vec::new(), folder.into());
    for generation in generations(datasets, kind)? {
        let folder = generation_folder(datasets, kind, generation);
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
    if let Some(manifest) = Manifest::find_any(folder)? {
        return Ok(Some(manifest.recipe));
    }
    for table in Stage::ALL.into_iter().flat_map(|stage| stage.tables().iter().rev()) {
        let footer = match Table::read_footer(&part_path(folder, table, 0)) {
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
    use crate::config::RunConfig;
    use crate::pipeline::keys::{ConfigTable, Takes};
    use std::fs;

    #[test]
    fn only_folders_of_the_exact_form_are_generations() {
        let datasets = tempfile::tempdir().unwrap();
        for name in ["0002", "0001", "12", "00003", "0000", "100000", "100001", "4294967295"] {
            fs::create_dir_all(datasets.path().join(format!("gate/generation={name}"))).unwrap();
        }
        fs::create_dir(datasets.path().join("gate/other")).unwrap();
        assert_eq!(generations(datasets.path(), Stage::Gate).unwrap(), [1, 2, GENERATIONS_MAX]);
        assert!(generations(datasets.path(), Stage::FitMpc).unwrap().is_empty());
    }

    #[test]
    fn a_config_and_a_folder_may_have_the_same_numbers_of_generations() {
        let key = RunConfig::KEYS.iter().find(|key| key.name == "generations").unwrap();
        assert!(matches!(key.takes, Takes::Whole(1, most) if most == i64::from(GENERATIONS_MAX)), "{key:?}");
    }

    #[test]
    fn the_datasets_of_a_run_are_beside_its_registry() {
        for (registry, datasets) in [("models/a", "datasets/a"), ("/x/models/b", "/x/datasets/b"), ("c", "datasets/c")]
        {
            assert_eq!(datasets_beside(Path::new(registry)), Path::new(datasets));
        }
    }
}
