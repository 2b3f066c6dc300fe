//! `datasets/sample`: a sound dataset of 1,000 games with its card, small enough for git, whose name no run takes.

use crate::support::workspace::Workspace;
use renma::artifact::Dataset;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets/sample/selfplay/generation=0001")
}

#[test]
fn it_is_a_sound_dataset_of_1000_games_in_less_than_a_megabyte() {
    let workspace = Workspace::new();
    let folder = folder();
    let summary = workspace.run(&format!("dataset verify {}", folder.display()));
    assert_eq!(summary.code, Some(0), "{}", summary.stderr);
    let dataset = Dataset::open(&folder).unwrap();
    let manifest = dataset.manifest();
    assert_eq!((manifest.done, manifest.seed), (1000, 21), "configs/champion.toml has seed 21");
    assert!(manifest.total_bytes() < 1_000_000, "{} bytes", manifest.total_bytes());
    workspace.done(&format!("dataset export {} --card --output card.md", folder.display()));
    assert!(std::fs::read(workspace.path("card.md")).unwrap() == std::fs::read(folder.join("README.md")).unwrap());
}

#[test]
fn no_run_writes_to_it() {
    let workspace = Workspace::new();
    let config = workspace.config("sample", "seed", &[]);
    let outcome = workspace.run(&format!("config show --config {config}"));
    assert_eq!(outcome.code, Some(2));
    assert!(
        outcome.stderr.contains("no run may be called \"sample\": its datasets are part of the project"),
        "{}",
        outcome.stderr
    );
}
