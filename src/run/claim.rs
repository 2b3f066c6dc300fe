//! Making way in a dataset folder for what a stage is about to write there.

use super::folders::recipe_of;
use crate::artifact::dataset::folder::{part_indices, part_path};
use crate::artifact::dataset::foreign::first_foreign;
use crate::artifact::dataset::manifest::Manifest;
use crate::artifact::dataset::positions::POSITIONS;
use crate::artifact::error::ArtifactError;
use crate::artifact::hash::ContentHash;
use crate::artifact::lock::FolderLock;
use crate::artifact::publish::{exists, is_folder, is_link, remove_file, remove_folder};
use crate::pipeline::fit_mpc::task::FitMpcTask;
use crate::pipeline::gate::task::{BATCH_PAIRS, GateTask};
use crate::pipeline::generate::task::GenerateTask;
use crate::pipeline::stage::Stage;
use crate::pipeline::{Context, StageError, fit_mpc, gate, generate};
use std::path::Path;

/// The dataset that a stage is about to write.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// The folder.
    pub folder: &'a Path,
    /// The stage.
    pub stage: Stage,
    /// Its recipe.
    pub recipe: ContentHash,
    /// Its games, samples or pairs.
    pub items: u64,
    /// Its parts.
    pub parts: u64,
}

impl<'a> Claim<'a> {
    /// What self-play is about to write.
    #[must_use]
    pub fn of_generate(task: &GenerateTask<'a>) -> Self {
        Self {
            folder: task.output,
            stage: Stage::Generate,
            recipe: generate::recipe::recipe(task).hash,
            items: task.config.games,
            parts: task.config.part_count() as u64,
        }
    }

    /// The samples that a fit of MPC statistics is about to write.
    #[must_use]
    pub fn of_fit_mpc(task: &FitMpcTask<'_>, output: &'a Path) -> Self {
        Self {
            folder: output,
            stage: Stage::FitMpc,
            recipe: fit_mpc::recipe::recipe(task).hash,
            items: task.config.games,
            parts: task.config.games.div_ceil(task.config.part_games),
        }
    }

    /// The games that a match is about to write.
    ///
    /// # Errors
    ///
    /// A damaged dataset to avoid.
    pub fn of_gate(task: &GateTask<'a>) -> Result<Self, StageError> {
        let pairs = task.config.games / 2;
        Ok(Self {
            folder: task.output,
            stage: Stage::Gate,
            recipe: gate::recipe::recipe(task)?.hash,
            items: pairs,
            parts: pairs.div_ceil(BATCH_PAIRS),
        })
    }

    /// Checks the folder before a stage writes to it; with `replace`, also clears it.
    ///
    /// # Errors
    ///
    /// A folder that is a link, is in use, or holds something that renma did not write.
    pub fn make_way(&self, replace: bool, context: Context<'_>) -> Result<(), ArtifactError> {
        if !replace {
            return check_folder(self.folder).map(drop);
        }
        let what = match clear_folder(self)? {
            Some(Cleared::OtherInputs) => "was made from other inputs; rebuilding it",
            Some(Cleared::Surplus) => "held more than the config asks for; removed the rest",
            None => return Ok(()),
        };
        context.host.detail(&format!("{}: {} {what}", self.stage, self.folder.display()));
        Ok(())
    }
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
