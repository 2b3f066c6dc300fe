//! `datasets/sample`: a sound dataset of 1,000 games with its card, small enough for git, whose
//! name no run takes.

use crate::support::workspace::Workspace;
use renma::artifact::{Dataset, GAMES, POSITIONS};
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
    assert_eq!(
        (manifest.done, manifest.seed),
        (1000, 21),
        "configs/champion.toml has seed 21"
    );
    assert!(
        manifest.total_bytes() < 1_000_000,
        "{} bytes",
        manifest.total_bytes()
    );
    let card = std::fs::read_to_string(folder.join("README.md")).unwrap();
    let rows =
        [&POSITIONS, &GAMES].map(|table| format!("num_examples: {}\n", manifest.rows(table.name)));
    let [content, recipe] = [manifest.content, manifest.recipe].map(|hash| hash.to_string());
    for fact in [content, recipe].iter().chain(&rows) {
        assert!(card.contains(fact), "its card does not say {fact}");
    }
}

#[test]
fn no_run_writes_to_it() {
    let workspace = Workspace::new();
    let config = workspace.config("sample", "seed", &[]);
    let outcome = workspace.run(&format!("config show --config {config}"));
    assert_eq!(outcome.code, Some(2));
    assert!(
        outcome
            .stderr
            .contains("no run may be called \"sample\": its datasets are part of the project"),
        "{}",
        outcome.stderr
    );
}
