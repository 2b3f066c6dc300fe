//! Files in a dataset folder that no stage wrote: they are never removed or replaced.

use super::manifest::part_index;
use super::tables::TABLE_NAMES;
use crate::artifact::error::ArtifactError;
use crate::artifact::lock::LOCK_NAME;
use crate::artifact::publish::temporary::TEMPORARY_PREFIX;
use crate::artifact::publish::{Entry, entries_in};
use std::fs::FileType;
use std::path::{Path, PathBuf};

/// The files of a dataset folder that are not parts of tables.
const FILES: [&str; 3] = ["manifest.json", "verdict.json", LOCK_NAME];

/// The first entry of a dataset folder, by name, that no stage wrote; `None` if there is none, or the folder does not exist.
pub fn first_foreign(folder: &Path) -> Result<Option<PathBuf>, ArtifactError> {
    for (path, name, file_type) in sorted_entries(folder)? {
        if name.starts_with(TEMPORARY_PREFIX) || file_type.is_file() && FILES.contains(&name.as_str()) {
            continue;
        }
        if !file_type.is_dir() || !TABLE_NAMES.contains(&name.as_str()) {
            return Ok(Some(path));
        }
        let is_own = |name: &str| part_index(name.as_ref()).is_some() || name.starts_with(TEMPORARY_PREFIX);
        let mut parts = sorted_entries(&path)?.into_iter();
        if let Some((foreign, ..)) = parts.find(|(_, name, file_type)| !file_type.is_file() || !is_own(name)) {
            return Ok(Some(foreign));
        }
    }
    Ok(None)
}

/// The path, name and type of each entry of a folder, sorted by path; empty if the folder does not exist.
fn sorted_entries(folder: &Path) -> Result<Vec<(PathBuf, String, FileType)>, ArtifactError> {
    let entry = |entry: Entry| (entry.path, entry.name.to_string_lossy().into_owned(), entry.file_type);
    let mut entries: Vec<_> = entries_in(folder)?.into_iter().map(entry).collect();
    entries.sort_by(|(left, ..), (right, ..)| left.cmp(right));
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::publish::publish_bytes;
    use std::fs;

    #[test]
    fn what_stages_write_is_not_foreign_and_all_else_is() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(first_foreign(&folder.path().join("nowhere")).unwrap(), None);
        for name in ["manifest.json", "verdict.json", ".lock", ".tmp-a1", "games/part-00000.parquet", "games/.tmp-b2"] {
            publish_bytes(&folder.path().join(name), b"").unwrap();
        }
        assert_eq!(first_foreign(folder.path()).unwrap(), None);
        for name in
            ["notes.txt", "games/part-0.parquet", "games/part-00001.csv", "samples.txt", "other/part-00000.parquet"]
        {
            let path = folder.path().join(name);
            publish_bytes(&path, b"").unwrap();
            let found = first_foreign(folder.path()).unwrap().unwrap();
            assert!(path.starts_with(&found), "{name}: {}", found.display());
            fs::remove_file(path).unwrap();
            fs::remove_dir(folder.path().join("other")).unwrap_or_default();
        }
        let link = folder.path().join("games/part-00002.parquet");
        std::os::unix::fs::symlink("part-00000.parquet", &link).unwrap();
        assert_eq!(first_foreign(folder.path()).unwrap(), Some(link));
    }
}
