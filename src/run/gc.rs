//! What a run no longer needs: old generations and the versions that only they made.
//!
//! The newest generations stay with everything their steps name, so that each is still recognized
//! as done. The older ones are closed: `closed.json` says so before anything is removed, and no
//! stage works on them again. Of these we keep the self-play that training windows still reach, the
//! gates behind promotions, and the versions behind champions.

use super::folders::{DatasetFolder, generation_folder, generation_of, generations, selfplay};
use super::lineage::Lineage;
use super::log::{read_calls, versions_made};
use super::status::generation_lines;
use crate::artifact::publish::temporary::sweep_tree;
use crate::artifact::publish::{bytes_in, is_folder, is_link, remove_folder};
use crate::artifact::{
    ArtifactError, ClosedFile, ContentHash, FolderLock, LOCK_NAME, ModelDocument, ModelName,
    ModelReference, Registry,
};
use crate::generation::Generation;
use crate::pipeline::StageError;
use crate::pipeline::stage::Stage;
use crate::pipeline::train::checkpoint::remove_published;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
    pub fn bytes(&self) -> u64 {
        self.removals.iter().map(|removal| removal.bytes).sum()
    }
}

/// Finds what nothing reachable needs.
///
/// # Errors
///
/// A folder that is in use ([`ArtifactError::Busy`]), a damaged document, or a system error: then
/// nothing is certain to be unreachable.
pub fn plan(lineage: &Lineage<'_>) -> Result<GcPlan, StageError> {
    check_idle(lineage.registry, lineage.datasets)?;
    plan_of_idle(lineage)
}

fn plan_of_idle(lineage: &Lineage<'_>) -> Result<GcPlan, StageError> {
    lineage.check_promotions()?;
    let documents = &lineage.versions.documents;
    let (mut removals, mut linked) = (Vec::new(), Vec::new());
    if lineage.config.config.run.keep_generations == 0 {
        return Ok(GcPlan {
            closed: lineage.closed.clone(),
            removals,
            linked,
        });
    }
    let closed = closed_file(lineage)?;
    // Versions before the games by which they are known.
    let mut needless = needless_versions(lineage, documents, &closed)?;
    needless.extend(needless_generations(lineage, closed.generation)?);
    for (root, path) in needless {
        if is_behind_link(root, &path)? {
            linked.push(path);
        } else {
            removals.push(Removal {
                bytes: bytes_in(&path)?,
                path,
            });
        }
    }
    Ok(GcPlan {
        closed,
        removals,
        linked,
    })
}

/// Which generations are closed, if any are.
pub fn closed_text(last: Generation) -> Option<String> {
    match last {
        Generation::NONE => None,
        Generation::FIRST => Some("generation 1 is closed".to_owned()),
        Generation(2) => Some("generations 1 and 2 are closed".to_owned()),
        last => Some(format!("generations 1 to {last} are closed")),
    }
}

/// Removes what nothing reachable needs, and what killed processes left behind, after noting which
/// generations are closed.
///
/// # Errors
///
/// Those of [`plan`], or a system error; what is removed stays removed.
pub fn collect(mut lineage: Lineage<'_>) -> Result<GcPlan, StageError> {
    let registry = lineage.registry.folder();
    check_idle(lineage.registry, lineage.datasets)?;
    let is_removing = lineage.config.config.run.keep_generations != 0 && is_folder(registry)?;
    // Nobody promotes a version while it is removed.
    let lock = is_removing
        .then(|| FolderLock::take(registry))
        .transpose()?;
    // Another may have been promoted, or generations closed, since the run was read.
    lineage.read_again()?;
    let plan = plan_of_idle(&lineage)?;
    for root in [registry, lineage.datasets] {
        if !is_behind_link(root, root)? {
            sweep_tree(root)?;
        }
    }
    if !is_behind_link(registry, registry)? {
        remove_published(lineage.registry)?;
    }
    if lock.is_none() {
        return Ok(plan);
    }
    if lineage.closed != plan.closed {
        plan.closed.write(registry)?;
    }
    for removal in &plan.removals {
        let _lock = FolderLock::take(&removal.path)?;
        remove_folder(&removal.path)?;
    }
    Ok(plan)
}

/// An error if any stage of the run is at work.
///
/// # Errors
///
/// [`ArtifactError::Busy`] with the folder, or a system error.
pub fn check_idle(registry: &Registry, datasets: &Path) -> Result<(), ArtifactError> {
    let registry = registry.folder();
    // Stages without a lock in the registry share that of a folder.
    let mut locks: Vec<(PathBuf, &str)> = Stage::ALL
        .map(|stage| (registry.to_owned(), stage.facts().lock()))
        .into();
    for kind in DatasetFolder::all() {
        let folders = generations(datasets, kind)?.into_iter();
        locks.extend(
            folders.map(|generation| (generation_folder(datasets, kind, generation), LOCK_NAME)),
        );
    }
    for (folder, name) in locks {
        if FolderLock::is_held(&folder, name)? {
            FolderLock::take_named(&folder, name)?;
        }
    }
    Ok(())
}

/// Closes all finished generations but the newest `keep_generations`.
fn closed_file(lineage: &Lineage<'_>) -> Result<ClosedFile, ArtifactError> {
    let mut closed = lineage.closed.clone();
    let last = lineage
        .finished()
        .back(lineage.config.config.run.keep_generations);
    if closed.generation < last {
        // The last chance: candidates may be removed.
        closed.generations = generation_lines(lineage, last)?;
        closed.generation = last;
        let content = lineage.player(last + 1)?.content;
        let promoted = lineage
            .champions
            .history
            .iter()
            .find(|promotion| promotion.content == content);
        closed.champion = promoted.map(|promotion| ModelReference {
            id: ModelName::Version(promotion.id),
            content,
        });
    }
    closed.version_last = lineage.registry.version_last()?;
    Ok(closed)
}

/// Folders with the roots they lie in.
type Needless<'a> = Vec<(&'a Path, PathBuf)>;

fn needless_generations<'a>(
    lineage: &Lineage<'a>,
    closed: Generation,
) -> Result<Needless<'a>, StageError> {
    let history = &lineage.champions.history;
    // Without its verdict nobody can tell.
    let may_have_promoted = |generation: Generation| {
        let verdict = lineage.verdict(generation);
        verdict.is_none_or(|verdict| {
            history
                .iter()
                .any(|promotion| promotion.gate == Some(verdict.step))
        })
    };
    let next = lineage.finished() + 1;
    let mut reached = (next + 1).back(lineage.config.config.run.window);
    for generation in (closed + 1).to(next) {
        let window = lineage.config_of(generation)?.config.run.window;
        reached = reached.min((generation + 1).back(window));
    }
    let mut needless = Vec::new();
    for kind in DatasetFolder::all() {
        for generation in generations(lineage.datasets, kind)? {
            let needed = closed < generation
                || match kind {
                    DatasetFolder::Stage(Stage::Generate) => reached <= generation,
                    DatasetFolder::Stage(Stage::Gate) => may_have_promoted(generation),
                    DatasetFolder::Stage(_) => false,
                    DatasetFolder::Drift => true,
                };
            if !needed {
                needless.push((
                    lineage.datasets,
                    generation_folder(lineage.datasets, kind, generation),
                ));
            }
        }
    }
    Ok(needless)
}

fn needless_versions<'a>(
    lineage: &Lineage<'a>,
    documents: &[Arc<ModelDocument>],
    closed: &ClosedFile,
) -> Result<Needless<'a>, ArtifactError> {
    let played = selfplay(lineage.datasets)?;
    let contents = played
        .iter()
        .map(|(generation, _, manifest)| (*generation, manifest.content))
        .collect();
    let logged = versions_made(&read_calls(lineage.registry.folder())?);
    // Each has the id of the folder in which it was found.
    let is_closed = |document: &&Arc<ModelDocument>| {
        generation_of(document, &contents, &logged)
            .is_some_and(|generation| (Generation::FIRST..=closed.generation).contains(&generation))
    };
    let needed = lineage
        .gates
        .iter()
        .filter(|gate| closed.generation < gate.generation);
    let players = needed.flat_map(|gate| [&gate.verdict.candidate, &gate.verdict.baseline]);
    let mut wanted: Vec<ContentHash> = players.map(|player| player.content).collect();
    wanted.extend(
        lineage
            .champions
            .history
            .iter()
            .map(|promotion| promotion.content),
    );
    wanted.extend(closed.champion.as_ref().map(|champion| champion.content));
    let played = played
        .into_iter()
        .filter(|(generation, ..)| closed.generation < *generation);
    wanted.extend(played.flat_map(|(.., manifest)| manifest.models.into_values()));
    wanted.extend(
        documents
            .iter()
            .filter(|document| !is_closed(document))
            .map(|document| document.content),
    );
    let mut parents: BTreeMap<ContentHash, Vec<ContentHash>> = BTreeMap::new();
    for document in documents {
        let parent = document.origin.parent.as_ref().map(|parent| parent.content);
        parents.entry(document.content).or_default().extend(parent);
    }
    let mut reachable = BTreeSet::new();
    while let Some(content) = wanted.pop() {
        if reachable.insert(content) {
            wanted.extend(parents.get(&content).into_iter().flatten());
        }
    }
    let needless = documents
        .iter()
        .filter(|document| !reachable.contains(&document.content));
    let registry = lineage.registry;
    Ok(needless
        .map(|document| (registry.folder(), registry.folder_of(document.id)))
        .collect())
}

/// Whether any folder from the root down to the path is a symbolic link; of a relative root, any
/// folder at all.
fn is_behind_link(root: &Path, path: &Path) -> Result<bool, ArtifactError> {
    for folder in path
        .ancestors()
        .take_while(|folder| *folder != Path::new(""))
    {
        let inside = root.is_relative() || folder.starts_with(root);
        if inside && is_link(folder)? {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::{Generation, closed_text};

    #[test]
    fn closed_generations_are_named_if_there_are_any() {
        let words = [
            None,
            Some("generation 1 is closed"),
            Some("generations 1 and 2 are closed"),
        ];
        assert_eq!(
            [0, 1, 2].map(|closed| closed_text(Generation(closed))),
            words.map(|words| words.map(str::to_owned))
        );
    }
}
