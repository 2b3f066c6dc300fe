//! What follows from the parts of a dataset without making them again: by its manifest, by
//! themselves, and by each other.

use super::StageError;
use crate::artifact::{ArtifactError, Dataset, PartRange, Table};
use std::sync::atomic::AtomicBool;

/// What a stage proves of the parts of its datasets.
pub trait PartProof: Sync + Sized {
    /// What the proof of a part leaves to compare with other parts.
    type Found: Send;

    /// What the manifest of a dataset says its parts are.
    ///
    /// # Errors
    ///
    /// A manifest that contradicts itself.
    fn of(dataset: &Dataset) -> Result<Self, StageError>;

    /// Proves the footers and the rows of a part; if `fast`, without replaying games.
    ///
    /// # Errors
    ///
    /// A part that is damaged or contradicts itself or the manifest.
    fn prove(
        &self,
        dataset: &Dataset,
        index: usize,
        fast: bool,
        stop: &AtomicBool,
    ) -> Result<Self::Found, ArtifactError>;

    /// The first part that contradicts one before it, by number: the table and the reason.
    /// Something was found of each part.
    fn contradiction(
        _dataset: &Dataset,
        _found: &[Self::Found],
    ) -> Option<(usize, &'static Table, String)> {
        None
    }
}

/// Checks that a manifest asks for the items of its config, and that its parts are those into which
/// they are divided.
pub(super) fn check_division(
    dataset: &Dataset,
    items: u64,
    part_items: u64,
) -> Result<(), ArtifactError> {
    let manifest = dataset.manifest();
    let damaged = |reason| {
        Err(ArtifactError::damaged(
            &dataset.folder().join("manifest.json"),
            reason,
        ))
    };
    if manifest.asked != items {
        return damaged(format!(
            "it says {} asked, and its config asks for {items}",
            manifest.asked
        ));
    }
    let ranges = PartRange::all(items, part_items);
    let differing = ranges
        .iter()
        .zip(&manifest.parts)
        .find(|(range, part)| range.count != part.count);
    if let Some((range, part)) = differing {
        return damaged(format!(
            "part {} has {} items, {} expected",
            range.index, part.count, range.count
        ));
    }
    Ok(())
}

/// Checks that a manifest names the models in these roles and no others; `roles` ascend.
pub(super) fn check_roles(dataset: &Dataset, roles: &[&str]) -> Result<(), ArtifactError> {
    if dataset.manifest().models.keys().eq(roles) {
        return Ok(());
    }
    let reason = format!(
        "its models are not those of the roles {}",
        roles.join(" and ")
    );
    Err(ArtifactError::damaged(
        &dataset.folder().join("manifest.json"),
        reason,
    ))
}
