//! A run's own copy of a config and the files it names: `config/generation=NNNN/` of the registry,
//! from that generation on.

use super::config_entry::{BOOK, ConfigEntry, FEATURES};
use super::error::RunError;
use super::folders::{generations_in, in_generation};
use crate::artifact::ArtifactError;
use crate::artifact::model::features_file::features_text;
use crate::artifact::publish::{
    entries_in, exists, publish_bytes, read_bounded, remove_file, remove_folder,
};
use crate::config::{LoadedConfig, load_config, tables_text};
use crate::generation::Generation;
use crate::pipeline::StageError;
use std::path::{Path, PathBuf};

/// The folder of the snapshots in a registry.
pub const CONFIG: &str = "config";

const SIZE_MAX: u64 = 1 << 30;

/// The file of a snapshot.
pub fn path(registry: &Path, run: &str, from: Generation) -> PathBuf {
    in_generation(&registry.join(CONFIG), from).join(format!("{run}.toml"))
}

/// Writes the snapshot of an entry; files that are already the same are not written. The files that
/// the config names are those of `loaded`, if that is still the entry's config; otherwise an
/// existing snapshot keeps its own.
pub fn write(
    registry: &Path,
    loaded: &LoadedConfig,
    entry: &ConfigEntry,
) -> Result<(), ArtifactError> {
    let path = path(registry, &loaded.name, entry.from);
    let folder = path.parent().unwrap_or(registry);
    if entry.names_the_files_of(loaded) {
        put(
            &folder.join(FEATURES),
            features_text(&loaded.features).as_bytes(),
        )?;
        match &loaded.book {
            Some(book) => put(
                &folder.join(BOOK),
                (book.lines().join("\n") + "\n").as_bytes(),
            )?,
            None => remove_file(&folder.join(BOOK))?,
        }
    } else if !exists(&path)? {
        return Ok(());
    }
    let head = format!(
        "# The config of run {} from generation {} on, as renma run took it.",
        loaded.name, entry.from
    );
    let tables = entry
        .config
        .as_object()
        .map(tables_text)
        .unwrap_or_default();
    put(
        &path,
        format!("{head} Edit the run's own config instead.\n\n{tables}").as_bytes(),
    )
}

/// Removes the snapshots that are not recorded, such as that of a change that was undone.
pub fn keep_only(registry: &Path, froms: &[Generation]) -> Result<(), ArtifactError> {
    for from in generations_in(&registry.join(CONFIG))?
        .into_iter()
        .filter(|from| !froms.contains(from))
    {
        remove_folder(&in_generation(&registry.join(CONFIG), from))?;
    }
    Ok(())
}

/// Reads a snapshot, which must be the config that the run has recorded.
///
/// # Errors
///
/// A snapshot that is missing or was edited.
pub fn load(registry: &Path, run: &str, entry: &ConfigEntry) -> Result<LoadedConfig, StageError> {
    let path = path(registry, run, entry.from);
    let loaded = load_config(&path).map_err(RunError::from)?;
    if !entry.differences(&entry.of(&loaded)).is_empty() {
        let reason = "it is not the config that lineage.json records\nrestore it; to change a run, edit its own config";
        return Err(ArtifactError::damaged(&path, reason).into());
    }
    Ok(loaded)
}

/// The newest snapshot in a registry, with its path; `None` if there is none.
///
/// # Errors
///
/// A snapshot that cannot be read, or a system error.
pub fn latest(registry: &Path) -> Result<Option<(PathBuf, LoadedConfig)>, StageError> {
    let configs = registry.join(CONFIG);
    let Some(from) = generations_in(&configs)?.pop() else {
        return Ok(None);
    };
    let entries = entries_in(&in_generation(&configs, from))?.into_iter();
    let mut files = entries
        .filter(|entry| entry.name != FEATURES && entry.path.extension() == Some("toml".as_ref()));
    let Some(entry) = files.next() else {
        return Ok(None);
    };
    let config = load_config(&entry.path).map_err(RunError::from)?;
    Ok(Some((entry.path, config)))
}

fn put(path: &Path, bytes: &[u8]) -> Result<(), ArtifactError> {
    let known = if exists(path)? {
        read_bounded(path, SIZE_MAX)? == bytes
    } else {
        false
    };
    if known {
        Ok(())
    } else {
        publish_bytes(path, bytes)
    }
}
