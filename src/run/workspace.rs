//! A folder for the runs of an installed program: `pipeline.sh`, the configs with their pattern
//! sets, the SQL and the examples that read datasets, the scripts of a nightly job, `datasets` and
//! `models`.

use crate::artifact::ArtifactError;
use crate::artifact::publish::{
    create_folder, exists, is_folder, make_executable, publish_new_file, read_bounded,
};
use crate::config::builtin::{CONFIGS, FEATURES};
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;

/// The files that are not configs, with their texts.
const FILES: [(&str, &str); 12] = [
    ("pipeline.sh", include_str!("../../pipeline.sh")),
    (".github/night.sh", include_str!("../../.github/night.sh")),
    (
        ".github/summary.py",
        include_str!("../../.github/summary.py"),
    ),
    ("docs/renma.sql", include_str!("../../docs/renma.sql")),
    (
        "examples/dataset.ipynb",
        include_str!("../../examples/dataset.ipynb"),
    ),
    (
        "examples/world_model.ipynb",
        include_str!("../../examples/world_model.ipynb"),
    ),
    (
        "examples/python/boards.py",
        include_str!("../../examples/python/boards.py"),
    ),
    (
        "examples/python/evaluate.py",
        include_str!("../../examples/python/evaluate.py"),
    ),
    (
        "examples/python/evaluate_es_cube.py",
        include_str!("../../examples/python/evaluate_es_cube.py"),
    ),
    (
        "examples/python/learn_es_cube.py",
        include_str!("../../examples/python/learn_es_cube.py"),
    ),
    (
        "examples/python/mlflow_runs.py",
        include_str!("../../examples/python/mlflow_runs.py"),
    ),
    (
        "examples/python/read.py",
        include_str!("../../examples/python/read.py"),
    ),
];

/// Makes a folder one to work in, and names the files that it lacked, in order. Those that are
/// there already stay.
///
/// # Errors
///
/// A file with another content, which is never overwritten, or a system error. What is refused at
/// once leaves the folder as it was.
pub fn make_workspace(folder: &Path) -> Result<Vec<String>, ArtifactError> {
    if exists(folder)? && !is_folder(folder)? {
        return Err(ArtifactError::refused(
            "write",
            folder,
            "it exists and is not a folder\nname a new one",
        ));
    }
    let mut lacking = Vec::new();
    let configs = CONFIGS.map(|(name, text)| (format!("configs/{name}.toml"), text));
    let features = FEATURES.map(|(name, text)| (format!("configs/{name}"), text));
    let files = FILES.map(|(name, text)| (name.to_owned(), text));
    for (name, text) in files.into_iter().chain(configs).chain(features) {
        if !has(&folder.join(&name), text)? {
            lacking.push((name, text));
        }
    }
    for (name, text) in &lacking {
        let path = folder.join(name);
        if !publish_new_file(&path, |writer| writer.write_all(text.as_bytes()))? {
            return Err(foreign(&path, "it was created in the meantime"));
        }
    }
    for (name, _) in FILES.iter().filter(|(name, _)| name.ends_with(".sh")) {
        make_executable(&folder.join(name))?;
    }
    for name in ["datasets", "models"] {
        create_folder(&folder.join(name))?;
    }
    Ok(lacking.into_iter().map(|(name, _)| name).collect())
}

/// Whether a file is there with this text; `false` if the name is free.
fn has(path: &Path, text: &str) -> Result<bool, ArtifactError> {
    let metadata = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        other => other.map_err(|source| ArtifactError::io("read", path, source))?,
    };
    let size = text.len() as u64;
    if metadata.is_file() && metadata.len() == size && read_bounded(path, size)? == text.as_bytes()
    {
        return Ok(true);
    }
    Err(foreign(path, "it exists and is not that of this renma"))
}

fn foreign(path: &Path, why: &str) -> ArtifactError {
    ArtifactError::refused(
        "write",
        path,
        format!("{why}\nname another folder, or move it away"),
    )
}
