//! Datasets at their limits: as many parts as a manifest may list.
#![allow(clippy::disallowed_methods, reason = "a test looks at files as it likes")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "support/workspace.rs"]
mod workspace;

use renma::artifact::dataset::folder::Dataset;
use renma::artifact::dataset::manifest::{
    DatasetKind, FORMAT, Manifest, PARTS_MAX, Part, RULES, content_of, part_name,
};
use renma::artifact::dataset::verify::strangers;
use renma::artifact::hash::ContentHash;
use renma::artifact::table::FileEntry;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};
use workspace::{Workspace, all_paths};

/// A manifest of so many parts, each of one game, that name their files with the longest numbers that can be.
fn manifest(parts: usize, tables: &[&str], seed: u64) -> Manifest {
    let entry = FileEntry {
        rows: u64::MAX,
        bytes: u64::MAX,
        hash: ContentHash::of(b"bytes"),
        content: ContentHash::of(&seed.to_le_bytes()),
    };
    let files: BTreeMap<_, _> = tables.iter().map(|&table| (table.to_owned(), entry.clone())).collect();
    let parts: Vec<Part> = (0..parts as u64).map(|first| Part { first, count: 1, files: files.clone() }).collect();
    Manifest {
        format: FORMAT,
        kind: DatasetKind::Imported,
        rules: RULES.to_owned(),
        recipe: ContentHash::of(b"recipe"),
        seed,
        generation: 1,
        models: BTreeMap::new(),
        config: serde_json::json!({}),
        asked: parts.len() as u64,
        done: parts.len() as u64,
        parents: Vec::new(),
        content: content_of(&parts),
        parts,
    }
}

#[test]
fn a_manifest_of_as_many_parts_as_there_may_be_is_read_back_and_a_larger_one_is_not_written() {
    let workspace = Workspace::new();
    let full = manifest(PARTS_MAX, &["games", "positions"], 1);
    full.write(&workspace.path("full")).unwrap();
    let written = fs::metadata(workspace.path("full/manifest.json")).unwrap();
    assert!(Manifest::read_any(&workspace.path("full")).unwrap() == full);
    let beyond = manifest(PARTS_MAX + 1, &["positions"], 1);
    let error = beyond.write(&workspace.path("full")).unwrap_err().to_string();
    assert!(error.contains("100001 parts") && error.contains("100000 at most"), "{error}");
    assert_eq!(fs::metadata(workspace.path("full/manifest.json")).unwrap().ino(), written.ino(), "it was replaced");
}

#[test]
fn datasets_with_too_many_parts_together_are_not_merged() {
    let workspace = Workspace::new();
    for (name, seed) in [("first", 1), ("second", 2)] {
        manifest(PARTS_MAX / 2 + 1, &["positions"], seed).write(&workspace.path(name)).unwrap();
    }
    let outcome = workspace.run("dataset merge first second --output out/merged");
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("out/merged") && outcome.stderr.contains("100002 parts"), "{}", outcome.stderr);
    assert!(all_paths(&workspace.path("out")).is_empty());
}

#[test]
fn files_of_twenty_thousand_parts_are_compared_with_the_manifest_in_one_pass() {
    let workspace = Workspace::new();
    let count = 20_000;
    manifest(count, &["positions"], 1).write(&workspace.path("data")).unwrap();
    let folder = workspace.path("data/positions");
    fs::create_dir(&folder).unwrap();
    for index in 0..=count {
        fs::write(folder.join(part_name(index)), b"").unwrap();
    }
    let dataset = Dataset::open(&workspace.path("data")).unwrap();
    let began = Instant::now();
    assert_eq!(strangers(&dataset).unwrap(), [folder.join(part_name(count))]);
    // One pass takes 0.1 s; comparing each file with each part took half a minute.
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}
