//! Reading a manifest: what it says is checked before anything is allocated for it.

use super::bounds::{GAME_ROWS_MAX, PART_ITEMS_MAX, PART_ROWS_MAX, PARTS_MAX};
use super::games::GAMES;
use super::gate_games::GATE_GAMES;
use super::manifest::{DatasetFormat, DatasetKind, Manifest, Part, RULES, content_of};
use super::mpc_samples::MPC_SAMPLES;
use super::positions::POSITIONS;
use crate::artifact::error::ArtifactError;
use crate::artifact::line::visible;
use crate::artifact::publish::{check_folder, exists};
use crate::artifact::seal::read_versioned;
use crate::artifact::table::PART_SIZE_MAX;
use crate::generation::Generation;
use std::path::Path;

/// Rows of the samples table for one game: four samples, each searched to every depth and to the
/// end.
const GAME_SAMPLE_ROWS_MAX: u64 = 4 * 62;

impl Manifest {
    /// Reads and checks the manifest of a dataset folder.
    ///
    /// # Errors
    ///
    /// No manifest, a damaged one, or one of another format or kind.
    pub fn read(folder: &Path, kind: DatasetKind) -> Result<Self, ArtifactError> {
        let manifest = Self::read_any(folder)?;
        if manifest.kind != kind {
            let reason = format!(
                "it holds {}, {} expected",
                manifest.kind.content_words(),
                kind.content_words()
            );
            return Err(ArtifactError::unfit(&folder.join("manifest.json"), reason));
        }
        Ok(manifest)
    }

    /// The manifest of a dataset folder of one kind, if it is finished.
    pub fn find(folder: &Path, kind: DatasetKind) -> Result<Option<Self>, ArtifactError> {
        exists(&folder.join("manifest.json"))?
            .then(|| Self::read(folder, kind))
            .transpose()
    }

    /// The manifest of a dataset folder of any kind, if it is finished.
    pub fn find_any(folder: &Path) -> Result<Option<Self>, ArtifactError> {
        exists(&folder.join("manifest.json"))?
            .then(|| Self::read_any(folder))
            .transpose()
    }

    /// Reads and checks the manifest of a dataset folder of any kind.
    ///
    /// # Errors
    ///
    /// No manifest, a damaged one, one of another format, or one of a dataset that cannot be.
    pub fn read_any(folder: &Path) -> Result<Self, ArtifactError> {
        let path = folder.join("manifest.json");
        check_folder(folder)?;
        if !exists(&path)? {
            return Err(ArtifactError::unfit(
                folder,
                "it has no manifest.json: it is not a dataset, or not finished",
            ));
        }
        let manifest: Self = read_versioned::<DatasetFormat, _>(&path)?;
        if manifest.content != content_of(&manifest.parts) {
            return Err(ArtifactError::damaged(
                &path,
                "its content hash is not that of its parts",
            ));
        }
        check_manifest(&path, &manifest)?;
        Ok(manifest)
    }
}

/// The rows that a part of a sound count can have in a table; `None` if a dataset of this kind has
/// no such table.
fn rows_max(kind: DatasetKind, part: &Part, table: &str) -> Option<u64> {
    Some(match kind {
        DatasetKind::Selfplay | DatasetKind::Imported if table == GAMES.name => part.count,
        // Positions without games come in groups of any size.
        DatasetKind::Imported
            if table == POSITIONS.name && !part.files.contains_key(GAMES.name) =>
        {
            PART_ROWS_MAX
        }
        DatasetKind::Selfplay | DatasetKind::Imported if table == POSITIONS.name => {
            PART_ROWS_MAX.min(part.count * GAME_ROWS_MAX)
        }
        DatasetKind::Mpc if table == MPC_SAMPLES.name => part.count * GAME_SAMPLE_ROWS_MAX,
        DatasetKind::Gate if table == GATE_GAMES.name => part.count * 2,
        _ => return None,
    })
}

/// Checks that a manifest describes a dataset that can be: its rules, parts that follow each other,
/// and counts that add up.
///
/// # Errors
///
/// The first field that cannot be; `path` is that of the manifest.
pub fn check_manifest(path: &Path, manifest: &Manifest) -> Result<(), ArtifactError> {
    if manifest.rules != RULES {
        let reason = format!("rules is {:?}, this renma plays {RULES:?}", manifest.rules);
        return Err(ArtifactError::unfit(path, reason));
    }
    let damaged = |reason: String| ArtifactError::damaged(path, reason);
    // Imported datasets have no generation.
    if manifest.kind != DatasetKind::Imported && manifest.generation == Generation::NONE {
        return Err(damaged(
            "generation is 0: generations are counted from 1".into(),
        ));
    }
    if PARTS_MAX < manifest.parts.len() as u64 {
        return Err(damaged(format!(
            "it lists {} parts, at most {PARTS_MAX} expected",
            manifest.parts.len()
        )));
    }
    let mut next = 0;
    for (index, part) in manifest.parts.iter().enumerate() {
        if part.first != next {
            return Err(damaged(format!(
                "part {index} begins with item {}, not {next}",
                part.first
            )));
        }
        check_part(manifest.kind, part)
            .map_err(|reason| damaged(format!("part {index}: {reason}")))?;
        // With bounded counts of bounded parts no sum can overflow.
        next += part.count;
    }
    if next != manifest.done || manifest.asked < manifest.done {
        let (done, asked) = (manifest.done, manifest.asked);
        return Err(damaged(format!(
            "its parts hold {next} items, and it says {done} done of {asked} asked"
        )));
    }
    Ok(())
}

fn check_part(kind: DatasetKind, part: &Part) -> Result<(), String> {
    let count_max = if kind == DatasetKind::Imported {
        PART_ROWS_MAX
    } else {
        PART_ITEMS_MAX
    };
    if !(1..=count_max).contains(&part.count) {
        return Err(format!(
            "it has {} items, 1 to {count_max} expected",
            part.count
        ));
    }
    for table in kind.tables() {
        // Imported positions may come without games.
        let is_optional = kind == DatasetKind::Imported && table.name == GAMES.name;
        if !is_optional && !part.files.contains_key(table.name) {
            return Err(format!("it has no file in `{}`", table.name));
        }
    }
    for (table, file) in &part.files {
        let rows_max = rows_max(kind, part, table)
            .ok_or_else(|| format!("it has a table `{}`", visible(table)))?;
        if rows_max < file.rows {
            return Err(format!(
                "{} rows in `{table}`, at most {rows_max} expected",
                file.rows
            ));
        }
        if PART_SIZE_MAX < file.bytes {
            return Err(format!(
                "{} bytes in `{table}`, at most {PART_SIZE_MAX} expected",
                file.bytes
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::seal::parse_versioned;

    #[test]
    fn a_game_has_no_more_rows_than_its_samples_can_have() {
        let (path, sealed) = (
            Path::new("a"),
            include_bytes!("../../../tests/fuzz/corpus/manifest/mpc.json"),
        );
        let mut manifest: Manifest = parse_versioned::<DatasetFormat, _>(path, sealed).unwrap();
        for (rows, is_sound) in [(8 * 248, true), (8 * 248 + 1, false)] {
            manifest.parts[0]
                .files
                .get_mut(MPC_SAMPLES.name)
                .unwrap()
                .rows = rows;
            assert_eq!(
                check_manifest(path, &manifest).is_ok(),
                is_sound,
                "{rows} rows of 8 games"
            );
        }
    }
}
