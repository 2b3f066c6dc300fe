//! What a run no longer needs: old generations and the versions that only they made.
//!
//! The newest generations stay with everything their steps name, so that each is still recognized as done. The older
//! ones are closed: `closed.json` says so before anything is removed, and no stage works on them again. Of them stay
//! the self-play that training windows still reach, the gates behind promotions, and the versions behind champions.

use super::folders::{DatasetFolder, RunGate, gates, generation_folder, generations};
use super::lineage::Lineage;
use super::measured::measured;
use super::summary::generation_line;
use crate::artifact::publish::temporary::sweep_tree;
use crate::artifact::publish::{bytes_in, is_folder, is_link, remove_folder};
use crate::artifact::{
    ArtifactError, ChampionFile, ClosedFile, ContentHash, FolderLock, GenerationLine, LOCK_NAME, Manifest,
    ModelDocument, ModelName, ModelReference, Registry,
};
use crate::pipeline::StageError;
use crate::pipeline::stage::Stage;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A run whose remains are to be removed.
struct Remains<'a> {
    registry: &'a Registry,
    datasets: &'a Path,
    /// Finished generations that stay whole; 0: all.
    keep_generations: u32,
    /// The generations that are not closed yet and the one after them, each with the first that its training reaches.
    reaches: Vec<(u32, u32)>,
    /// The finished generations after the closed ones, in order.
    finished: Vec<GenerationLine>,
    /// Who plays the generation after each of them; none where that is the run's start.
    champions: Vec<Option<ModelReference>>,
}

/// A folder that nothing needs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Removal {
    pub path: PathBuf,
    pub bytes: u64,
}

/// What a run can do without.
#[derive(Clone, Debug, PartialEq)]
pub struct GcPlan {
    /// What the registry says of what was removed.
    pub closed: ClosedFile,
    /// What is removed, in order.
    pub removals: Vec<Removal>,
    /// What stays although nothing needs it, because it lies behind a symbolic link.
    pub linked: Vec<PathBuf>,
}

impl GcPlan {
    /// Bytes of everything that is removed.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.removals.iter().map(|removal| removal.bytes).sum()
    }
}

/// Finds what nothing reachable needs.
///
/// # Errors
///
/// A folder that is in use ([`ArtifactError::Busy`]), or a damaged document: then nothing is known for sure.
pub fn plan(lineage: &Lineage<'_>) -> Result<GcPlan, StageError> {
    Ok(Remains::of(lineage)?.plan()?)
}

/// Removes what nothing reachable needs, and what killed processes left behind, after noting which generations are closed.
///
/// # Errors
///
/// As [`plan`], or whatever the system refuses; what is removed stays removed.
pub fn collect(lineage: &Lineage<'_>) -> Result<GcPlan, StageError> {
    let remains = Remains::of(lineage)?;
    let plan = remains.plan()?;
    remains.remove(&plan)?;
    Ok(plan)
}

impl<'a> Remains<'a> {
    fn of(lineage: &Lineage<'a>) -> Result<Self, StageError> {
        let documents = lineage.registry.documents()?;
        let (mut finished, mut champions) = (Vec::new(), Vec::new());
        for generation in lineage.closed.generation + 1..=lineage.finished() {
            finished.push(generation_line(lineage, &documents, generation)?);
            let player = lineage.player(generation + 1)?;
            let promoted = lineage.champions.history.iter().find(|promotion| promotion.content == player.content);
            champions.push(
                promoted
                    .map(|promotion| ModelReference { id: ModelName::Version(promotion.id), content: player.content }),
            );
        }
        let (run, next) = (&lineage.config.config.run, lineage.finished() + 1);
        let mut reaches = vec![(next, (next + 1).saturating_sub(run.window))];
        for generation in lineage.closed.generation + 1..=next {
            let window = lineage.config_of(generation)?.config.run.window;
            reaches.push((generation, (generation + 1).saturating_sub(window)));
        }
        let (registry, datasets) = (lineage.registry, lineage.datasets);
        Ok(Self { registry, datasets, keep_generations: run.keep_generations, reaches, finished, champions })
    }

    fn plan(&self) -> Result<GcPlan, ArtifactError> {
        check_idle(self.registry, self.datasets)?;
        let before = ClosedFile::read(self.registry.folder())?;
        if self.keep_generations == 0 {
            return Ok(GcPlan { closed: before, removals: Vec::new(), linked: Vec::new() });
        }
        let gates = gates(self.datasets)?;
        let closed = closed_file(self, before)?;
        let mut needless = needless_generations(self, &gates, closed.generation)?;
        needless.extend(needless_versions(self, &gates, &closed)?);
        let (mut removals, mut linked) = (Vec::new(), Vec::new());
        for (root, path) in needless {
            if is_behind_link(root, &path)? {
                linked.push(path);
            } else {
                removals.push(Removal { bytes: bytes_in(&path)?, path });
            }
        }
        Ok(GcPlan { closed, removals, linked })
    }

    fn remove(&self, plan: &GcPlan) -> Result<(), ArtifactError> {
        let registry = self.registry.folder();
        for root in [registry, self.datasets] {
            if !is_behind_link(root, root)? {
                sweep_tree(root)?;
            }
        }
        if self.keep_generations == 0 || !is_folder(registry)? {
            return Ok(());
        }
        let _lock = FolderLock::take(registry)?;
        if ClosedFile::read(registry)? != plan.closed {
            plan.closed.write(registry)?;
        }
        for removal in &plan.removals {
            let _lock = FolderLock::take(&removal.path)?;
            remove_folder(&removal.path)?;
        }
        Ok(())
    }
}

/// An error if any stage of the run is at work.
///
/// # Errors
///
/// [`ArtifactError::Busy`] with the folder, or whatever the system refuses.
pub fn check_idle(registry: &Registry, datasets: &Path) -> Result<(), ArtifactError> {
    let registry = registry.folder();
    // Stages without a lock in the registry share that of a folder.
    let mut locks: Vec<(PathBuf, &str)> = Stage::ALL.map(|stage| (registry.to_owned(), stage.lock())).into();
    for kind in DatasetFolder::all() {
        let folders = generations(datasets, kind)?.into_iter();
        locks.extend(folders.map(|generation| (generation_folder(datasets, kind, generation), LOCK_NAME)));
    }
    for (folder, name) in locks {
        if FolderLock::is_held(&folder, name)? {
            FolderLock::take_named(&folder, name)?;
        }
    }
    Ok(())
}

/// Closes all finished generations but the newest `keep_generations`.
fn closed_file(task: &Remains<'_>, before: ClosedFile) -> Result<ClosedFile, ArtifactError> {
    let closing = task.finished.len().saturating_sub(task.keep_generations as usize);
    let mut closed = before;
    // The last chance: candidates may be removed.
    closed.generations.extend(measured(task.finished[..closing].to_vec(), task.registry));
    if let Some(last) = closing.checked_sub(1) {
        closed.generation = task.finished[last].generation;
        closed.champion.clone_from(&task.champions[last]);
    }
    closed.version_last = task.registry.version_last()?;
    Ok(closed)
}

/// Folders with the roots they lie in.
type Needless<'a> = Vec<(&'a Path, PathBuf)>;

fn needless_generations<'a>(task: &Remains<'a>, gates: &[RunGate], closed: u32) -> Result<Needless<'a>, ArtifactError> {
    let promotions = ChampionFile::read(task.registry.folder())?.history;
    let promoted = |generation: u32| {
        let gate = gates.iter().find(|gate| gate.generation == generation);
        gate.is_some_and(|gate| promotions.iter().any(|promotion| promotion.gate == Some(gate.verdict.step)))
    };
    let reached = task.reaches.iter().filter(|(generation, _)| closed < *generation).map(|(_, first)| *first).min();
    let mut needless = Vec::new();
    for kind in DatasetFolder::all() {
        for generation in generations(task.datasets, kind)? {
            let needed = closed < generation
                || match kind {
                    DatasetFolder::Stage(Stage::Generate) => reached.is_some_and(|first| first <= generation),
                    DatasetFolder::Stage(Stage::Gate) => promoted(generation),
                    DatasetFolder::Stage(_) => false,
                    DatasetFolder::Drift => true,
                };
            if !needed {
                needless.push((task.datasets, generation_folder(task.datasets, kind, generation)));
            }
        }
    }
    Ok(needless)
}

fn needless_versions<'a>(
    task: &Remains<'a>,
    gates: &[RunGate],
    closed: &ClosedFile,
) -> Result<Needless<'a>, ArtifactError> {
    let registry = task.registry.folder();
    // Each has the id of the folder in which it was found.
    let documents = task.registry.documents()?;
    let of_closed_generation = |document: &ModelDocument| {
        let generation = document.origin.generation().unwrap_or(0);
        Stage::named(&document.origin.stage).is_some_and(Stage::makes_versions)
            && (1..=closed.generation).contains(&generation)
    };
    let needed = |gate: &&RunGate| closed.generation < gate.generation;
    let players = gates.iter().filter(needed).flat_map(|gate| [&gate.verdict.candidate, &gate.verdict.baseline]);
    let history = ChampionFile::read(registry)?.history;
    let mut wanted: Vec<ContentHash> = players.map(|player| player.content).collect();
    wanted.extend(history.iter().map(|promotion| promotion.content));
    wanted.extend(closed.champion.as_ref().map(|champion| champion.content));
    for generation in generations(task.datasets, Stage::Generate)? {
        let folder = generation_folder(task.datasets, Stage::Generate, generation);
        if closed.generation < generation {
            wanted.extend(Manifest::find_any(&folder)?.into_iter().flat_map(|manifest| manifest.models.into_values()));
        }
    }
    wanted.extend(documents.iter().filter(|document| !of_closed_generation(document)).map(|document| document.content));
    let mut reachable = BTreeSet::new();
    while let Some(content) = wanted.pop() {
        if reachable.insert(content) {
            let versions = documents.iter().filter(|document| document.content == content);
            wanted.extend(versions.filter_map(|document| Some(document.origin.parent.as_ref()?.content)));
        }
    }
    let needless = documents.iter().filter(|document| !reachable.contains(&document.content));
    Ok(needless.map(|document| (registry, task.registry.folder_of(document.id))).collect())
}

/// Whether any folder from the root down to the path is a symbolic link; of a relative root, any folder at all.
fn is_behind_link(root: &Path, path: &Path) -> Result<bool, ArtifactError> {
    for folder in path.ancestors().take_while(|folder| *folder != Path::new("")) {
        let inside = root.is_relative() || folder.starts_with(root);
        if inside && is_link(folder)? {
            return Ok(true);
        }
    }
    Ok(false)
}
