//! Making way in a dataset folder for what a stage is about to write there.

use crate::artifact::dataset::folder::{part_indices, part_path, recipe_of};
use crate::artifact::dataset::foreign::first_foreign;
use crate::artifact::line::visible;
use crate::artifact::publish::{exists, is_folder, is_link, remove_file, remove_folder};
use crate::artifact::{ArtifactError, FolderLock, Manifest, POSITIONS};
use crate::pipeline::stage::Stage;
use crate::pipeline::work::{Asked, AskedDataset};
use crate::pipeline::{Context, StageError};
use std::path::Path;

/// Checks the folder that a stage is about to write, if it writes one; with `replace`, also removes
/// the result of other inputs from it, or the parts that the config no longer asks for. A folder
/// that holds data of another kind stays as it is, and the stage refuses it.
///
/// # Errors
///
/// A folder that holds something that renma did not write or, to be cleared, is a link or in use;
/// and a damaged dataset to avoid.
pub fn make_way(
    stage: Stage,
    task: &dyn Asked,
    replace: bool,
    context: Context<'_>,
) -> Result<(), StageError> {
    let Some(dataset) = task.dataset() else {
        return Ok(());
    };
    let (folder, recipe) = (dataset.folder, task.recipe()?);
    if !is_folder(folder)? && (is_link(folder)? || exists(folder)?) {
        let reason = "it exists and is not a folder\nname a new one";
        return Err(ArtifactError::refused("write", folder, reason).into());
    }
    let begun = recipe_of(folder)?;
    if begun.is_none() {
        check_no_foreign(folder)?;
    }
    let what = match begun.filter(|_| replace) {
        Some(found) if found == recipe => clear_surplus(stage, &dataset)?
            .then_some("held more than the config asks for; removed the rest"),
        Some(_) => {
            clear_folder(stage, folder)?.then_some("was made from other inputs; rebuilding it")
        }
        None => None,
    };
    if let Some(what) = what {
        context
            .host
            .detail(&format!("{stage}: {} {what}", folder.display()));
    }
    Ok(())
}

/// Removes the result of other inputs, unless the folder holds data of another kind; whether it
/// did.
fn clear_folder(stage: Stage, folder: &Path) -> Result<bool, ArtifactError> {
    let is_of_kind = match Manifest::read_any(folder) {
        Ok(manifest) => stage.facts().kind() == Some(manifest.kind),
        // Only self-play leaves parts of positions behind before it has a manifest.
        Err(
            ArtifactError::Missing { .. }
            | ArtifactError::Unfit { .. }
            | ArtifactError::Damaged { .. },
        ) => stage == Stage::Generate || !exists(&folder.join(POSITIONS.name))?,
        Err(error) => return Err(error),
    };
    if !is_of_kind {
        return Ok(false);
    }
    if is_link(folder)? {
        return Err(ArtifactError::refused(
            "replace",
            folder,
            "it is a symbolic link\nname the folder itself",
        ));
    }
    let _lock = FolderLock::take(folder)?;
    check_no_foreign(folder)?;
    remove_folder(folder)?;
    Ok(true)
}

/// Removes parts of the same recipe beyond those that the config asks for; whether a whole dataset
/// held more.
fn clear_surplus(stage: Stage, dataset: &AskedDataset<'_>) -> Result<bool, ArtifactError> {
    let folder = dataset.folder;
    let _lock = FolderLock::take(folder)?;
    let manifest = folder.join("manifest.json");
    let holds_more = exists(&manifest)? && dataset.items < Manifest::read_any(folder)?.done;
    if holds_more {
        remove_file(&folder.join("verdict.json"))?;
        remove_file(&manifest)?;
    }
    for table in stage.facts().tables() {
        for index in part_indices(folder, table)?
            .into_iter()
            .filter(|index| dataset.parts() <= *index as u64)
        {
            remove_file(&part_path(folder, table, index))?;
        }
    }
    Ok(holds_more)
}

/// An error if a folder holds anything that no stage wrote.
fn check_no_foreign(folder: &Path) -> Result<(), ArtifactError> {
    let Some(foreign) = first_foreign(folder)? else {
        return Ok(());
    };
    let name = visible(
        &foreign
            .strip_prefix(folder)
            .unwrap_or(&foreign)
            .display()
            .to_string(),
    );
    let reason = format!(
        "it holds {name}, which renma did not write\nmove it away, or choose another --output"
    );
    Err(ArtifactError::refused("write", folder, reason))
}
