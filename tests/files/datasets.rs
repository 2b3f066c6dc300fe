//! Datasets at their limits: as many parts as a manifest may list, and names that are not text.

use crate::support::workspace::{Outcome, Workspace, all_paths, copy_folder};
use renma::artifact::dataset::manifest::{content_of, part_name};
use renma::artifact::dataset::verify::strangers;
use renma::artifact::{
    ContentHash, Dataset, DatasetFormat, DatasetKind, FileEntry, GameId, Manifest, NEVER,
    PARTS_MAX, Part, PositionRow, RULES,
};
use renma::generation::Generation;
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const QUICK: [(&str, &str); 5] = [
    ("generate.games", "4"),
    ("generate.part_games", "2"),
    ("generate.play_depth", "1"),
    ("generate.label_depth", "1"),
    ("generate.exact_empties", "3"),
];

/// A manifest with this many parts, each as large as possible.
fn manifest(parts: usize, tables: &[&str], seed: u64) -> Manifest {
    let games = 100_000;
    let entry = FileEntry {
        rows: games,
        bytes: 4 << 30,
        hash: ContentHash::of(b"bytes"),
        content: ContentHash::of(&seed.to_le_bytes()),
    };
    let files: BTreeMap<_, _> = tables
        .iter()
        .map(|&table| (table.to_owned(), entry.clone()))
        .collect();
    let part = |index: u64| Part {
        first: index * games,
        count: games,
        files: files.clone(),
    };
    let parts: Vec<Part> = (0..parts as u64).map(part).collect();
    Manifest {
        format: DatasetFormat::CURRENT,
        kind: DatasetKind::Imported,
        rules: RULES.to_owned(),
        recipe: ContentHash::of(b"recipe"),
        seed,
        generation: Generation(1),
        models: BTreeMap::new(),
        config: serde_json::json!({}),
        asked: parts.len() as u64 * games,
        done: parts.len() as u64 * games,
        content: content_of(&parts),
        parts,
    }
}

#[test]
fn a_manifest_of_as_many_parts_as_there_may_be_is_read_back_and_a_larger_one_is_not_written() {
    let workspace = Workspace::new();
    let full = manifest(PARTS_MAX as usize, &["games", "positions"], 1);
    full.write(&workspace.path("full")).unwrap();
    let written = fs::metadata(workspace.path("full/manifest.json")).unwrap();
    assert!(Manifest::read_any(&workspace.path("full")).unwrap() == full);
    let beyond = manifest(PARTS_MAX as usize + 1, &["positions"], 1);
    let error = beyond
        .write(&workspace.path("full"))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("100001 parts") && error.contains("100000 at most"),
        "{error}"
    );
    assert_eq!(
        fs::metadata(workspace.path("full/manifest.json"))
            .unwrap()
            .ino(),
        written.ino(),
        "it was replaced"
    );
}

#[test]
fn files_of_twenty_thousand_parts_are_compared_with_the_manifest_in_one_pass() {
    let workspace = Workspace::new();
    let count = 20_000;
    manifest(count, &["positions"], 1)
        .write(&workspace.path("data"))
        .unwrap();
    let folder = workspace.path("data/positions");
    fs::create_dir(&folder).unwrap();
    for index in 0..=count {
        fs::write(folder.join(part_name(index)), b"").unwrap();
    }
    let dataset = Dataset::open(&workspace.path("data")).unwrap();
    let processor_time = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    };
    let began = processor_time();
    assert_eq!(
        strangers(&dataset).unwrap(),
        [folder.join(part_name(count))]
    );
    // One pass takes 0.1 s; comparing each file with each part took half a minute.
    let seconds = processor_time() - began;
    assert!(seconds < 5.0, "{seconds}");
}

/// Runs the program with arguments of which the last `@` stands for a name that is not UTF-8.
fn run(workspace: &Workspace, arguments: &str) -> Outcome {
    let bytes = |word: &str| {
        let bytes: Vec<u8> = word
            .bytes()
            .map(|byte| if byte == b'@' { 0xff } else { byte })
            .collect();
        OsStr::from_bytes(&bytes).to_owned()
    };
    let words: Vec<OsString> = arguments.split_whitespace().map(bytes).collect();
    let outcome: Outcome = workspace.command(&[]).args(words).output().unwrap().into();
    assert!(
        !outcome.stderr.contains("panicked"),
        "renma {arguments}\n{}",
        outcome.stderr
    );
    outcome
}

#[test]
fn names_that_are_not_text_are_printed_as_well_as_can_be() {
    let workspace = Workspace::new();
    let config = workspace.config("quick", "smoke", &QUICK);
    workspace.write("lines.txt", "f5d6c3\n");
    for (arguments, name) in [
        (
            format!("generate --config {config} --output d@/selfplay/generation=0001 --json"),
            "content",
        ),
        (
            "dataset import lines.txt --format transcripts --output i@ --json".to_owned(),
            "i\u{fffd}",
        ),
        (
            "dataset import lines.txt --format transcripts --output i@ --json".to_owned(),
            "\"skipped\":true",
        ),
        (
            "dataset export i@ --format obf --output e@.obf --json".to_owned(),
            "e\u{fffd}.obf",
        ),
        (
            format!("generate --plan p@.json --config {config} --shards 2 --output out --json"),
            "p\u{fffd}.json",
        ),
        ("shard run p@.json 0 --json".to_owned(), "games_played"),
        (
            format!(
                "train --config {config} --dataset d@/selfplay/generation=0001 --models r@ --json"
            ),
            "v0001",
        ),
        (
            "model show v0001 --models r@ --datasets d@ --json".to_owned(),
            "d\u{fffd}/selfplay",
        ),
        (
            "model verify --models r@ --datasets d@ --json".to_owned(),
            "d\u{fffd}/selfplay",
        ),
        (
            "model export --model v0001 --models r@ --format es-cube-eval --output w@.dat --json"
                .to_owned(),
            "w\u{fffd}.dat",
        ),
    ] {
        let outcome = run(&workspace, &arguments);
        assert_eq!(
            outcome.code,
            Some(0),
            "renma {arguments}\n{}",
            outcome.stderr
        );
        serde_json::from_str::<serde_json::Value>(&outcome.stdout).unwrap();
        assert!(
            outcome.stdout.contains(name),
            "renma {arguments}\n{}",
            outcome.stdout
        );
    }
    let imported = workspace.root().join(OsStr::from_bytes(b"i\xff"));
    assert_eq!(Dataset::open(&imported).unwrap().manifest().done, 1);
}

#[test]
fn a_plan_names_no_folder_that_json_cannot() {
    let workspace = Workspace::new();
    let config = workspace.config("quick", "smoke", &QUICK);
    workspace.done(&format!("generate --config {config} --output data"));
    run(
        &workspace,
        &format!("train --config {config} --dataset data --models r@"),
    );
    let before = all_paths_lossy(workspace.root());
    for arguments in [
        format!("generate --plan plan.json --config {config} --shards 2 --output o@"),
        format!(
            "generate --plan plan.json --config {config} --shards 2 --output out --models r@ --model v0001 --json"
        ),
    ] {
        let outcome = run(&workspace, &arguments);
        assert_eq!(
            outcome.code,
            Some(2),
            "renma {arguments}\n{}",
            outcome.stderr
        );
        assert!(
            outcome.stderr.starts_with("error: ") && outcome.stderr.contains("not UTF-8"),
            "{}",
            outcome.stderr
        );
        assert_eq!(
            all_paths_lossy(workspace.root()),
            before,
            "renma {arguments}"
        );
    }
}

fn all_paths_lossy(folder: &Path) -> Vec<String> {
    all_paths(folder)
        .iter()
        .map(|path| path.to_string_lossy().into_owned())
        .collect()
}

/// A dataset `data` of 30 games, others with the same games, and `other` without any of them.
fn repeated_datasets(workspace: &Workspace) -> String {
    let changes = |games, label_depth, label_from_ply| {
        let more = [
            ("generate.games", games),
            ("generate.label_depth", label_depth),
        ];
        [
            &QUICK,
            &more[..],
            &[
                ("generate.part_games", "10"),
                ("generate.label_from_ply", label_from_ply),
            ],
        ]
        .concat()
    };
    let config = workspace.config("quick", "smoke", &changes("30", "1", "0"));
    workspace.config("more", "smoke", &changes("45", "1", "0"));
    workspace.config("deeper", "smoke", &changes("30", "2", "0"));
    workspace.config("later", "smoke", &changes("30", "1", "9"));
    for (name, output, generation) in [
        ("quick", "data", 1),
        ("more", "continued", 1),
        ("deeper", "relabeled", 1),
        ("later", "late", 1),
        ("quick", "other", 2),
    ] {
        let options = format!("--generation {generation} --output {output}");
        workspace.done(&format!(
            "generate --config configs/{name}.toml --model builtin:disc-count {options}"
        ));
    }
    copy_folder(&workspace.path("data"), &workspace.path("copy"));
    workspace.write_positions("data.parquet", &positions(workspace, "data"));
    workspace.done("dataset import data.parquet --format parquet --output again");
    let of_data = positions(workspace, "data").into_iter();
    let of_data = of_data
        .map(|row| PositionRow {
            game_id: GameId(row.game_id.0 + 30),
            ..row
        })
        .collect();
    workspace.write_positions(
        "more-games.parquet",
        &[positions(workspace, "other"), of_data].concat(),
    );
    workspace.done("dataset import more-games.parquet --format parquet --output more-games");
    workspace.write_positions("mirrored.parquet", &mirrored(workspace, "data"));
    workspace.done("dataset import mirrored.parquet --format parquet --output mirrored");
    config
}

fn positions(workspace: &Workspace, dataset: &str) -> Vec<PositionRow> {
    let dataset = Dataset::open(&workspace.path(dataset)).unwrap();
    (0..dataset.part_count())
        .flat_map(|part| dataset.rows(part, &NEVER).unwrap())
        .collect()
}

/// The positions of a dataset with score and result, turned upside down and with the colors
/// swapped.
fn mirrored(workspace: &Workspace, dataset: &str) -> Vec<PositionRow> {
    let mirrored = positions(workspace, dataset)
        .into_iter()
        .map(|row| PositionRow {
            black: row.white.swap_bytes(),
            white: row.black.swap_bytes(),
            black_to_move: !row.black_to_move,
            static_score: None,
            depth: None,
            exact: None,
            best_move: None,
            played_move: None,
            random_move: None,
            ..row
        });
    mirrored.collect()
}

#[test]
fn a_game_counts_once_whatever_dataset_it_comes_in() {
    let workspace = Workspace::new();
    let config = repeated_datasets(&workspace);
    let train = format!("train --config {config} --models registry --dataset");
    for pair in [
        "data data",
        "data ./data",
        "copy data",
        "data again",
        "again data",
        "data continued",
        "continued data",
        "data relabeled",
        "data late",
        "data mirrored",
        "data more-games",
        "other more-games",
    ] {
        let outcome = workspace.run(&format!("{train} {pair}"));
        assert_eq!(outcome.code, Some(65), "{pair}: {}", outcome.stderr);
        let (reason, remedy) = outcome.stderr.split_once('\n').unwrap();
        assert!(
            pair.split(' ').all(|name| reason.contains(name)),
            "{pair}: {reason}"
        );
        assert!(
            reason.contains(": a game counts once") && remedy.starts_with("train on "),
            "{pair}: {reason}"
        );
    }
    assert!(
        workspace
            .run("model list --models registry --json")
            .stdout
            .contains("[]")
    );
    for pair in ["data other", "mirrored other", "continued other"] {
        workspace.done(&format!("{train} {pair}"));
    }
}

#[test]
fn a_game_is_held_out_in_every_dataset_or_in_none() {
    let workspace = Workspace::new();
    repeated_datasets(&workspace);
    let keys = [("train.validation", "0.4"), ("train.target", "\"score\"")];
    let config = workspace.config("held", "smoke", &keys);
    let held_out = |dataset: &str, seed: u32| {
        let train = format!(
            "train --config {config} --set run.seed={seed} --models {dataset}-{seed} --dataset {dataset}"
        );
        let report: serde_json::Value =
            serde_json::from_str(&workspace.done(&format!("{train} --json"))).unwrap();
        report["metrics"]["validation_rows"].as_u64().unwrap()
    };
    let found = held_out("data", 1);
    let of_all = Dataset::open(&workspace.path("data"))
        .unwrap()
        .manifest()
        .rows("positions");
    assert!(
        (of_all / 10..of_all * 7 / 10).contains(&found),
        "{found} of {of_all}"
    );
    for same in ["again", "relabeled", "mirrored"] {
        assert_eq!(held_out(same, 1), found, "{same}");
    }
    // The rows from ply 9 on are of the same games.
    let games_held_out = |rows: u64, of_game: f64| (rows as f64 / of_game).round();
    assert_eq!(
        games_held_out(held_out("late", 1), 51.0),
        games_held_out(found, 60.0)
    );
    assert_eq!(held_out("more-games", 1), held_out("other", 1) + found);
    let seeds: Vec<u64> = (2..6).map(|seed| held_out("data", seed)).collect();
    assert!(seeds.iter().any(|rows| *rows != found), "{seeds:?}");
}
