//! The folders of a run: `datasets/RUN/STAGE/generation=NNNN` and the registry `models/RUN`.

use super::log::{read_calls, versions_made};
use crate::artifact::dataset::verdict::read_verdict;
use crate::artifact::publish::{entries_in, exists, is_folder, is_link};
use crate::artifact::{
    ArtifactError, ContentHash, Manifest, ModelDocument, VerdictFile, VersionId,
};
use crate::generation::Generation;
use crate::pipeline::stage::Stage;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A run has no more generations, as the key `run.generations` says.
pub const GENERATIONS_MAX: u32 = 100_000;

/// The file of a finished match.
const VERDICT: &str = "verdict.json";

/// The folder of the plans of a run, beside its datasets.
const PLANS: &str = "plans";

/// With one of these a folder is a registry, though it may have no version yet.
const REGISTRY_FILES: [&str; 7] = [
    "champion.json",
    "closed.json",
    "config",
    "lineage.json",
    "report.html",
    "run.json",
    "run.log",
];

/// An error if a folder that is named as a registry holds other files and nothing of one.
pub fn check_registry(folder: &Path) -> Result<(), ArtifactError> {
    let entries = entries_in(folder)?;
    let names = || entries.iter().filter_map(|entry| entry.name.to_str());
    let is_part = |name: &str| name.parse::<VersionId>().is_ok() || REGISTRY_FILES.contains(&name);
    // Locks and unfinished work are hidden.
    if names().all(|name| name.starts_with('.')) || names().any(is_part) {
        return Ok(());
    }
    let reason = "it holds other files, and no version of a model\nname the registry of a run, such as models/default";
    Err(ArtifactError::refused("use", folder, reason))
}

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
        let stages = Stage::ALL
            .into_iter()
            .filter(|stage| stage.facts().dataset.is_some());
        stages.map(Self::Stage).chain([Self::Drift])
    }

    /// Its name in the folder of the run's datasets.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stage(stage) => stage
                .facts()
                .dataset
                .map_or(stage.name(), |(_, folder)| folder),
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
pub fn generation_folder(
    datasets: &Path,
    folder: impl Into<DatasetFolder>,
    generation: Generation,
) -> PathBuf {
    in_generation(&datasets.join(folder.into().name()), generation)
}

/// The folder of a generation in one that has a folder for each.
pub fn in_generation(folder: &Path, generation: Generation) -> PathBuf {
    folder.join(format!("generation={generation:04}"))
}

/// `datasets/RUN/plans/generation=NNNN/generate.json`, the plan of the dataset
/// `datasets/RUN/selfplay/generation=NNNN`, if that was made in shards.
pub fn plan_of_selfplay(dataset: &Path) -> Option<PathBuf> {
    let run = dataset.ancestors().nth(2)?;
    Some(
        run.join(PLANS)
            .join(dataset.file_name()?)
            .join(format!("{}.json", Stage::Generate)),
    )
}

/// The plan of a stage of a generation.
pub fn plan_path(datasets: &Path, stage: Stage, generation: Generation) -> PathBuf {
    in_generation(&datasets.join(PLANS), generation).join(format!("{stage}.json"))
}

/// `datasets/RUN` beside the registry `models/RUN`.
pub fn datasets_beside(registry: &Path) -> PathBuf {
    let name = registry.file_name().unwrap_or_default();
    let root = registry
        .parent()
        .and_then(Path::parent)
        .unwrap_or(Path::new(""));
    root.join("datasets").join(name)
}

/// The generations with a dataset, ascending.
pub fn generations(
    datasets: &Path,
    folder: impl Into<DatasetFolder>,
) -> Result<Vec<Generation>, ArtifactError> {
    generations_in(&datasets.join(folder.into().name()))
}

/// The generations that have a subfolder here, ascending; empty if the folder does not exist.
pub fn generations_in(folder: &Path) -> Result<Vec<Generation>, ArtifactError> {
    let mut generations = Vec::new();
    for entry in entries_in(folder)? {
        generations.extend(generation_named(&entry.name));
    }
    generations.sort_unstable();
    Ok(generations)
}

/// The generation whose folder has this name.
fn generation_named(name: &OsStr) -> Option<Generation> {
    let number: Generation = name.to_str()?.strip_prefix("generation=")?.parse().ok()?;
    let has_form = in_generation(Path::new(""), number).as_os_str() == name;
    (has_form && (Generation::FIRST..=Generation(GENERATIONS_MAX)).contains(&number))
        .then_some(number)
}

/// The finished datasets of self-play, by generation, with their folders.
///
/// # Errors
///
/// A damaged manifest.
pub fn selfplay(datasets: &Path) -> Result<Vec<(Generation, PathBuf, Manifest)>, ArtifactError> {
    let mut found = Vec::new();
    for generation in generations(datasets, Stage::Generate)? {
        let folder = generation_folder(datasets, Stage::Generate, generation);
        found.extend(Manifest::find_any(&folder)?.map(|manifest| (generation, folder, manifest)));
    }
    Ok(found)
}

/// The generation in which a stage made a version of this run; none of a version that came from
/// elsewhere, which has a generation of its run. A version is this run's if its newest games are,
/// by their content in each generation, or if `run.log` has it.
pub fn generation_of(
    document: &ModelDocument,
    played: &BTreeMap<Generation, ContentHash>,
    logged: &BTreeSet<(Generation, String)>,
) -> Option<Generation> {
    let origin = &document.origin;
    Stage::named(&origin.stage).filter(|stage| stage.facts().makes_versions())?;
    let newest = origin.datasets.last()?;
    let is_own = played.get(&newest.generation) == Some(&newest.content)
        || logged.contains(&(newest.generation, document.id.to_string()));
    is_own.then_some(newest.generation)
}

/// Whether a version was made by the run of this registry, whose datasets lie beside it.
///
/// # Errors
///
/// A damaged manifest, or a system error.
pub fn is_made_here(document: &ModelDocument, registry: &Path) -> Result<bool, ArtifactError> {
    let selfplay = selfplay(&datasets_beside(registry))?.into_iter();
    let played = selfplay
        .map(|(generation, _, manifest)| (generation, manifest.content))
        .collect();
    let logged = versions_made(&read_calls(registry)?);
    Ok(generation_of(document, &played, &logged).is_some())
}

/// A finished gate of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunGate {
    /// Its generation.
    pub generation: Generation,
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
    let mut gates = Vec::new();
    for generation in generations(datasets, Stage::Gate)? {
        let folder = generation_folder(datasets, Stage::Gate, generation);
        if exists(&folder.join(VERDICT))? {
            let verdict = read_verdict(&folder)?;
            gates.push(RunGate {
                generation,
                folder,
                verdict,
            });
        }
    }
    Ok(gates)
}

/// How deep below a run's datasets a match can lie, as `drift/generation=0005` does.
const MATCH_DEPTH: usize = 2;

/// The verdicts of all matches among the datasets of a run that are not the gates of its
/// generations, in the order of their paths.
///
/// # Errors
///
/// A damaged one.
pub fn other_verdicts(datasets: &Path) -> Result<Vec<VerdictFile>, ArtifactError> {
    let gates = datasets.join(DatasetFolder::Stage(Stage::Gate).name());
    let mut verdicts = Vec::new();
    let mut level = vec![datasets.to_owned()];
    for _ in 0..MATCH_DEPTH {
        let mut next = Vec::new();
        for folder in level {
            for entry in entries_in(&folder)? {
                let path = entry.path;
                let is_hidden = entry.name.as_encoded_bytes().starts_with(b".");
                let is_gate = folder == gates && generation_named(&entry.name).is_some();
                if is_hidden || is_gate || is_link(&path)? || !is_folder(&path)? {
                    continue;
                }
                if exists(&path.join(VERDICT))? {
                    verdicts.push(read_verdict(&path)?);
                } else if !exists(&path.join("manifest.json"))? {
                    next.push(path);
                }
            }
        }
        next.sort_unstable();
        level = next;
    }
    Ok(verdicts)
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
        for name in [
            "0002",
            "0001",
            "12",
            "00003",
            "0000",
            "100000",
            "100001",
            "4294967295",
        ] {
            fs::create_dir_all(datasets.path().join(format!("gate/generation={name}"))).unwrap();
        }
        fs::create_dir(datasets.path().join("gate/other")).unwrap();
        assert_eq!(
            generations(datasets.path(), Stage::Gate).unwrap(),
            [1, 2, GENERATIONS_MAX].map(Generation)
        );
        assert!(
            generations(datasets.path(), Stage::FitMpc)
                .unwrap()
                .is_empty()
        );
    }

    #[test]
    fn a_config_and_a_folder_may_have_the_same_numbers_of_generations() {
        let key = RunConfig::KEYS
            .iter()
            .find(|key| key.name == "generations")
            .unwrap();
        assert!(
            matches!(key.takes, Takes::Whole(1, most) if most == i64::from(GENERATIONS_MAX)),
            "{key:?}"
        );
    }

    #[test]
    fn the_datasets_of_a_run_are_beside_its_registry() {
        for (registry, datasets) in [
            ("models/a", "datasets/a"),
            ("/x/models/b", "/x/datasets/b"),
            ("c", "datasets/c"),
        ] {
            assert_eq!(datasets_beside(Path::new(registry)), Path::new(datasets));
        }
    }
}
