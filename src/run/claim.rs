//! Making way in a dataset folder for what a stage is about to write there.

use super::folders::recipe_of;
use crate::artifact::dataset::folder::{part_indices, part_path};
use crate::artifact::dataset::foreign::first_foreign;
use crate::artifact::publish::{exists, is_folder, is_link, remove_file, remove_folder};
use crate::artifact::{ArtifactError, ContentHash, FolderLock, Manifest, POSITIONS};
use crate::pipeline::gate::task::BATCH_PAIRS;
use crate::pipeline::stage::Stage;
use crate::pipeline::stage_task::StageTask;
use crate::pipeline::{Context, StageError};
use std::path::Path;

/// The dataset that a stage is about to write.
#[derive(Clone, Copy, Debug)]
struct Claim<'a> {
    folder: &'a Path,
    stage: Stage,
    recipe: ContentHash,
    /// Its games, samples or pairs.
    items: u64,
    parts: u64,
}

/// Checks the folder that a stage is about to write, if it writes one; with `replace`, also clears it.
///
/// # Errors
///
/// A folder that holds something that renma did not write or, to be cleared, is a link or in use; and a damaged dataset to avoid.
pub fn make_way(task: &StageTask<'_>, replace: bool, context: Context<'_>) -> Result<(), StageError> {
    let (items, parts) = match task {
        StageTask::Generate(task) => (task.config.games, task.config.part_count() as u64),
        StageTask::Train(_) => return Ok(()),
        StageTask::FitMpc(task) => (task.config.games, task.config.games.div_ceil(task.config.part_games)),
        StageTask::Gate(task) => (task.config.games / 2, (task.config.games / 2).div_ceil(BATCH_PAIRS)),
    };
    let Some(folder) = task.output() else { return Ok(()) };
    let claim = Claim { folder, stage: task.stage(), recipe: task.recipe()?, items, parts };
    if !replace {
        return Ok(check_folder(folder).map(drop)?);
    }
    let what = match clear_folder(&claim)? {
        Some(Cleared::OtherInputs) => "was made from other inputs; rebuilding it",
        Some(Cleared::Surplus) => "held more than the config asks for; removed the rest",
        None => return Ok(()),
    };
    context.host.detail(&format!("{}: {} {what}", claim.stage, folder.display()));
    Ok(())
}

/// What was removed from a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cleared {
    /// The result of other inputs.
    OtherInputs,
    /// Parts of the same recipe, beyond those that the config asks for.
    Surplus,
}

/// The recipe by which a dataset folder was begun, if it was.
///
/// # Errors
///
/// A folder that holds something else.
fn check_folder(folder: &Path) -> Result<Option<ContentHash>, ArtifactError> {
    if !is_folder(folder)? && (is_link(folder)? || exists(folder)?) {
        return Err(ArtifactError::refused("write", folder, "it exists and is not a folder\nname a new one"));
    }
    let recipe = recipe_of(folder)?;
    if recipe.is_none() {
        check_no_foreign(folder)?;
    }
    Ok(recipe)
}

/// Removes the result of other inputs from a folder, or the parts that the config no longer asks for. A folder that holds
/// data of another kind stays as it is, and the stage refuses it.
///
/// # Errors
///
/// A folder that is a link, is in use, or holds something that renma did not write.
fn clear_folder(claim: &Claim<'_>) -> Result<Option<Cleared>, ArtifactError> {
    let Some(recipe) = check_folder(claim.folder)? else { return Ok(None) };
    if recipe == claim.recipe {
        return clear_surplus(claim);
    }
    if !is_of_kind(claim)? {
        return Ok(None);
    }
    if is_link(claim.folder)? {
        return Err(ArtifactError::refused("replace", claim.folder, "it is a symbolic link\nname the folder itself"));
    }
    let _lock = FolderLock::take(claim.folder)?;
    check_no_foreign(claim.folder)?;
    remove_folder(claim.folder)?;
    Ok(Some(Cleared::OtherInputs))
}

fn is_of_kind(claim: &Claim<'_>) -> Result<bool, ArtifactError> {
    match Manifest::read_any(claim.folder) {
        Ok(manifest) => Ok(claim.stage.dataset() == Some(manifest.kind)),
        // Only self-play leaves parts of positions behind before it has a manifest.
        Err(ArtifactError::Missing { .. } | ArtifactError::Unfit { .. } | ArtifactError::Damaged { .. }) => {
            Ok(claim.stage == Stage::Generate || !exists(&claim.folder.join(POSITIONS.name))?)
        }
        Err(error) => Err(error),
    }
}

fn clear_surplus(claim: &Claim<'_>) -> Result<Option<Cleared>, ArtifactError> {
    let folder = claim.folder;
    let _lock = FolderLock::take(folder)?;
    let mut cleared = None;
    let manifest = folder.join("manifest.json");
    if exists(&manifest)? && claim.items < Manifest::read_any(folder)?.done {
        remove_file(&folder.join("verdict.json"))?;
        remove_file(&manifest)?;
        cleared = Some(Cleared::Surplus);
    }
    for table in claim.stage.tables() {
        for index in part_indices(folder, table)?.into_iter().filter(|index| claim.parts <= *index) {
            remove_file(&part_path(folder, table, index as usize))?;
        }
    }
    Ok(cleared)
}

/// An error if a folder holds what no stage wrote.
fn check_no_foreign(folder: &Path) -> Result<(), ArtifactError> {
    let Some(foreign) = first_foreign(folder)? else { return Ok(()) };
    let name = foreign.strip_prefix(folder).unwrap_or(&foreign).display();
    let reason = format!("it holds {name}, which renma did not write\nmove it away, or choose another --output");
    Err(ArtifactError::refused("write", folder, reason))
}
