//! Where shards may write: folders below the one in which they run that hold nothing but what
//! stages write there.

use super::error::PlanFault;
use crate::artifact::dataset::folder::recipe_of;
use crate::artifact::dataset::foreign::first_foreign;
use crate::artifact::line::is_line;
use crate::artifact::publish::{FolderEntry, entries_in};
use crate::artifact::{ArtifactError, VersionId};
use crate::run::snapshot::CONFIG;
use std::path::{Component, Path, PathBuf};

/// Files by which a registry without a version is known.
const SIGNS: [&str; 2] = ["champion.json", "lineage.json"];

/// Checks a folder that shards write to: it lies below the one in which they run, and is neither a
/// version of a registry nor in one.
pub fn check_output(folder: &Path) -> Result<(), PlanFault> {
    let is_normal = |component| matches!(component, Component::Normal(_));
    let is_within = folder
        .components()
        .all(|component| is_normal(component) || component == Component::CurDir);
    let is_below = is_within && folder.components().any(is_normal);
    let is_version = || {
        folder
            .ancestors()
            .any(|above| VersionId::of_folder(above).is_some())
    };
    if is_below && folder.to_str().is_some_and(is_line) && !is_version() {
        return Ok(());
    }
    Err(PlanFault::Outside(
        folder.display().to_string().chars().take(100).collect(),
    ))
}

/// A relative folder without `.`.
pub fn plain(folder: &Path) -> PathBuf {
    folder
        .components()
        .filter(|component| *component != Component::CurDir)
        .collect()
}

/// What a folder holds that no stage wrote, if no dataset was begun there.
///
/// # Errors
///
/// A damaged manifest, or a system error.
pub fn foreign_in_output(folder: &Path) -> Result<Option<PathBuf>, ArtifactError> {
    if recipe_of(folder)?.is_some() {
        Ok(None)
    } else {
        first_foreign(folder)
    }
}

/// What a folder holds that no registry has: a folder that is not a version, or anything if it has
/// no sign of being one.
pub fn foreign_in_registry(folder: &Path) -> Result<Option<PathBuf>, ArtifactError> {
    let mut entries = entries_in(folder)?;
    entries.retain(|entry| !entry.name.as_encoded_bytes().starts_with(b"."));
    let is_own = |entry: &FolderEntry| match entry.file_type.is_dir() {
        true => VersionId::of_folder(&entry.path).is_some() || entry.name == CONFIG,
        false => SIGNS.iter().any(|sign| entry.name == *sign),
    };
    let is_registry = entries.iter().any(is_own);
    let foreign = entries
        .into_iter()
        .find(|entry| !is_own(entry) && (entry.file_type.is_dir() || !is_registry));
    Ok(foreign.map(|entry| entry.path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_write_only_below_the_folder_in_which_they_run() {
        for folder in [
            "out",
            "./out",
            "datasets/run/selfplay/generation=0001",
            "models/run",
            "v1",
            "a b",
        ] {
            assert_eq!(check_output(Path::new(folder)), Ok(()));
        }
        for folder in [
            "",
            ".",
            "./.",
            "/abs",
            "../x",
            "a/../../x",
            "models/run/v0001",
            "v0001",
            "v0001/x",
            "a\nb",
        ] {
            assert!(check_output(Path::new(folder)).is_err(), "{folder}");
        }
        assert!(check_output(Path::new(&"x".repeat(5000))).is_err());
    }
}
