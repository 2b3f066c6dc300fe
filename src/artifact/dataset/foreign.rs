//! Files in a dataset folder that no stage wrote: they are never removed or replaced.

use super::manifest::part_index;
use super::tables::TABLE_NAMES;
use crate::artifact::error::ArtifactError;
use crate::artifact::lock::LOCK_NAME;
use crate::artifact::publish::temporary::TEMPORARY_PREFIX;
use crate::artifact::publish::{FolderEntry, entries_in};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The files of a dataset folder that are not parts of tables.
const FILES: [&str; 3] = ["manifest.json", "verdict.json", LOCK_NAME];

/// The first entry of a dataset folder, by name, that no stage wrote; `None` if there is none, or
/// the folder does not exist.
pub fn first_foreign(folder: &Path) -> Result<Option<PathBuf>, ArtifactError> {
    let is_temporary = |name: &OsStr| {
        name.as_encoded_bytes()
            .starts_with(TEMPORARY_PREFIX.as_bytes())
    };
    for FolderEntry {
        path,
        name,
        file_type,
    } in entries_in(folder)?
    {
        if is_temporary(&name) || file_type.is_file() && FILES.iter().any(|file| name == *file) {
            continue;
        }
        if !file_type.is_dir() || TABLE_NAMES.iter().all(|table| name != *table) {
            return Ok(Some(path));
        }
        let is_own = |part: &FolderEntry| {
            part.file_type.is_file()
                && (part_index(&part.name).is_some() || is_temporary(&part.name))
        };
        if let Some(foreign) = entries_in(&path)?.into_iter().find(|part| !is_own(part)) {
            return Ok(Some(foreign.path));
        }
    }
    Ok(None)
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
        for name in [
            "manifest.json",
            "verdict.json",
            ".lock",
            ".tmp-a1",
            "games/part-00000.parquet",
            "games/.tmp-b2",
        ] {
            publish_bytes(&folder.path().join(name), b"").unwrap();
        }
        assert_eq!(first_foreign(folder.path()).unwrap(), None);
        for name in [
            "notes.txt",
            "games/part-0.parquet",
            "games/part-00001.csv",
            "samples.txt",
            "other/part-00000.parquet",
        ] {
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
