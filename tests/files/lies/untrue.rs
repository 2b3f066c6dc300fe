//! Datasets that lie: games that were never played, footers and manifests that do not belong
//! together, false shards.

use super::{footer_of, rewrite};
use crate::support::workspace::{Workspace, check_same, copy_folder, files};
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use renma::artifact::dataset::manifest::content_of;
use renma::artifact::{GAMES, GATE_GAMES, GameId, Manifest, NEVER, POSITIONS, PositionRow, Table};
use renma::engine::{Discs, Score};
use renma::random::{Stream, belongs};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

/// A dataset of 45 games in five parts.
static RUN: LazyLock<Workspace> = LazyLock::new(|| {
    let run = Workspace::new();
    let config = quick(&run, "quick");
    run.done(&format!("generate --config {config} --output data"));
    run
});

fn quick(workspace: &Workspace, name: &str) -> String {
    let changes = [
        ("generate.games", "45"),
        ("generate.part_games", "10"),
        ("generate.play_depth", "1"),
        ("generate.label_depth", "1"),
        ("generate.exact_empties", "5"),
    ];
    workspace.config(name, "smoke", &changes)
}

fn copy_of_run() -> Workspace {
    Workspace::copy_of(&RUN)
}

/// The same dataset, made by five shards and not yet finished.
fn made_in_shards() -> Workspace {
    let workspace = Workspace::new();
    let config = quick(&workspace, "quick");
    workspace.done(&format!(
        "generate --plan plan.json --config {config} --shards 5 --output data"
    ));
    (0..5).for_each(|shard| drop(workspace.done(&format!("shard run plan.json {shard}"))));
    workspace
}

/// A score that no search gave.
fn falsify(row: &mut PositionRow) {
    if row.exact == Some(false) {
        row.score = row.score.map(|score| {
            if score < Discs(60).into() {
                score + Score(1)
            } else {
                score - Score(1)
            }
        });
    }
}

fn refused(workspace: &Workspace, arguments: &str, words: &[&str]) {
    workspace.ends(arguments, 65, words);
}

#[test]
fn no_game_can_know_that_it_will_not_be_made_again() {
    let workspace = copy_of_run();
    let data = workspace.path("data");
    // The games that a check with seed 0 passes over by their names: once every check was one.
    let passed_over =
        |row: &PositionRow| !belongs(0, Stream::Remake, &row.game_id.0.to_le_bytes(), 0.2);
    for part in 0..5 {
        rewrite(
            &data,
            part,
            |row| {
                if passed_over(row) {
                    falsify(row);
                }
            },
            |_| (),
        );
    }
    workspace.done("dataset verify data");
    refused(
        &workspace,
        "dataset verify data --remake 20%",
        &["positions/part-", "game "],
    );
    for seed in [1, 2, 3] {
        refused(
            &workspace,
            &format!("dataset verify data --remake 20% --seed {seed}"),
            &["positions/part-", "game "],
        );
    }
}

#[test]
fn a_check_by_sample_draws_another_one_each_time_and_says_which_and_what_it_is_worth() {
    let workspace = copy_of_run();
    let report = |arguments: &str| -> Value {
        serde_json::from_str(&workspace.done(&format!("dataset verify data --json {arguments}")))
            .unwrap()
    };
    let seeds: BTreeSet<u64> = (0..3)
        .map(|_| report("--remake 20%")["seed"].as_u64().unwrap())
        .collect();
    assert_eq!(seeds.len(), 3, "{seeds:?}");
    let first = report("--remake 20% --seed 7");
    assert_eq!(first, report("--remake 20% --seed 7"));
    assert_eq!(first["games_remade"], 9);
    // 1 - (1 - q)^9 = 0.95.
    let share = first["share_found"]["games"].as_f64().unwrap();
    assert!((1.0 - (1.0 - share).powi(9) - 0.95).abs() < 1e-9, "{share}");
    assert_eq!(
        report("--remake 100%")["share_found"]["games"],
        0.0,
        "every game was made again"
    );
    assert_eq!(report("")["seed"], Value::Null);
    let text = workspace
        .run("dataset verify data --remake 20% --seed 7")
        .stderr;
    for words in [
        "9 games remade (--seed 7)",
        "with probability 95 % if they are 28.31 % of all or more",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn a_manifest_that_says_other_than_its_footers_is_damaged() {
    let workspace = copy_of_run();
    let path = workspace.path("data/manifest.json");
    let sound = std::fs::read(&path).unwrap();
    let other_hash = "0".repeat(64);
    let changes: [(&str, &str, Value); 6] = [
        ("seed", "seed is 99, and 1 in the footer", 99.into()),
        (
            "generation",
            "generation is 2, and 1 in the footer",
            2.into(),
        ),
        (
            "config.play_depth",
            "generate.play_depth is 2, and 1 in the footer",
            2.into(),
        ),
        (
            "config.label_from_ply",
            "generate.label_from_ply is 3, and 0 in the footer",
            3.into(),
        ),
        ("models.player", "model is 0000", other_hash.as_str().into()),
        (
            "recipe",
            "its recipe is not that of its settings",
            other_hash.as_str().into(),
        ),
    ];
    for (key, words, value) in changes {
        let mut manifest: Value = renma::artifact::seal::read_sealed(&path).unwrap();
        match key.split_once('.') {
            Some((table, key)) => manifest[table][key] = value,
            None => manifest[key] = value,
        }
        renma::artifact::seal::write_sealed(&path, &manifest).unwrap();
        refused(
            &workspace,
            "dataset verify data --fast",
            &["data/manifest.json", words],
        );
        workspace.write("data/manifest.json", &sound);
    }
    workspace.done("dataset verify data");
}

#[test]
fn a_footer_that_says_other_than_the_manifest_is_damaged() {
    for (key, value) in [
        ("format", "7"),
        ("rules", "chess"),
        ("units", "scores in furlongs"),
        ("recipe", "0"),
        ("seed", "99"),
        ("generation", "2"),
        ("model", "0"),
        ("algorithm", "7"),
        ("generate.play_depth", "2"),
        ("generate.komi", "7"),
        ("first_game", "30"),
        ("games", "9"),
    ] {
        let workspace = copy_of_run();
        let data = workspace.path("data");
        rewrite(
            &data,
            2,
            |_| (),
            |footer| drop(footer.insert(format!("renma.{key}"), value.to_owned())),
        );
        let words = [
            &format!("renma.{key} = {value}"),
            "data/positions/part-00002.parquet",
        ];
        refused(&workspace, "dataset verify data --fast", &words);
        rewrite(
            &data,
            2,
            |_| (),
            |footer| drop(footer.remove(&format!("renma.{key}"))),
        );
        if key != "generate.komi" {
            refused(
                &workspace,
                "dataset verify data --fast",
                &[&format!("renma.{key} = nothing")],
            );
        }
    }
}

/// Changes a key in the footer of a part's file, and the manifest with it.
fn say_otherwise(folder: &Path, table: &Table, part: usize, key: &str, value: &str) {
    let path = folder.join(format!("{}/part-{part:05}.parquet", table.name));
    let batch = table
        .read_unlisted(&path, |_| Ok(10_000), &NEVER)
        .unwrap()
        .2;
    let mut footer = footer_of(&path);
    footer.insert(format!("renma.{key}"), value.to_owned());
    let entry = table.write(&path, &batch, &footer).unwrap();
    let mut manifest = Manifest::read_any(folder).unwrap();
    manifest.parts[part]
        .files
        .insert(table.name.to_owned(), entry);
    manifest.content = content_of(&manifest.parts);
    manifest.write(folder).unwrap();
}

/// What decides how rows are to be read, and which they are, with values that would give other
/// rows.
const OTHERWISE: [(&str, &str); 6] = [
    ("units", "scores in discs, results in discs"),
    ("rules", "othello; score counts discs"),
    ("format", "2"),
    ("recipe", "0"),
    ("first_game", "30"),
    ("games", "9"),
];

#[test]
fn every_reader_refuses_a_part_whose_footer_contradicts_the_manifest() {
    let config = "--config configs/quick.toml";
    let gate =
        format!("gate {config} --candidate builtin:square-weights --baseline builtin:disc-count");
    for table in [&POSITIONS, &GAMES] {
        for (key, value) in OTHERWISE {
            let workspace = copy_of_run();
            say_otherwise(&workspace.path("data"), table, 2, key, value);
            let part = format!("data/{}/part-00002.parquet", table.name);
            let before = files(workspace.root());
            let mut readers = vec![
                format!("train {config} --dataset data --models registry"),
                "dataset verify data --fast".to_owned(),
                "dataset export data --format tokens --labels --output -".to_owned(),
            ];
            // These read no games.
            if table.name == POSITIONS.name {
                readers.push(format!("{gate} --avoid data --output match"));
                readers.extend(
                    ["inspect data", "export data --format obf --output -"]
                        .map(|command| format!("dataset {command}")),
                );
            }
            for reader in readers {
                refused(
                    &workspace,
                    &reader,
                    &[&part, &format!("its footer says renma.{key} = {value}")],
                );
                let mut after = files(workspace.root());
                after.retain(|name, _| before.contains_key(name));
                assert!(after == before, "{reader} changed a file");
            }
        }
    }
    let workspace = copy_of_run();
    workspace.run(&format!("{gate} --output match"));
    for (key, value) in OTHERWISE {
        let key = key.replace("game", "pair");
        let copy = format!("match-{key}");
        copy_folder(&workspace.path("match"), &workspace.path(&copy));
        say_otherwise(&workspace.path(&copy), &GATE_GAMES, 1, &key, value);
        for reader in [
            format!("dataset verify {copy}"),
            format!("dataset inspect {copy}"),
        ] {
            let part = format!("{copy}/games/part-00001.parquet");
            refused(
                &workspace,
                &reader,
                &[&part, &format!("its footer says renma.{key} = {value}")],
            );
        }
    }
}

#[test]
fn an_import_refuses_a_part_in_other_units() {
    let workspace = copy_of_run();
    for (key, value) in &OTHERWISE[..3] {
        let path = workspace.path("data/positions/part-00000.parquet");
        workspace.done(
            "dataset import data/positions/part-00000.parquet --format parquet --output sound",
        );
        std::fs::remove_dir_all(workspace.path("sound")).unwrap();
        let sound = std::fs::read(&path).unwrap();
        say_otherwise(&workspace.path("data"), &POSITIONS, 0, key, value);
        let import =
            "dataset import data/positions/part-00000.parquet --format parquet --output imported";
        refused(
            &workspace,
            import,
            &[
                "positions/part-00000.parquet",
                &format!("renma.{key} = {value}, and this renma reads"),
            ],
        );
        assert!(!workspace.path("imported").exists());
        std::fs::write(&path, sound).unwrap();
    }
}

#[test]
fn a_row_in_the_part_of_another_game_is_refused() {
    let outside: [fn(&mut PositionRow); 2] =
        [|row| row.game_id.0 += 10, |row| row.game_id = GameId(0)];
    for change in outside {
        let workspace = copy_of_run();
        rewrite(&workspace.path("data"), 1, change, |_| ());
        refused(
            &workspace,
            "dataset verify data",
            &["positions/part-00001", "rows, its game says"],
        );
    }
}

/// A side log in which shard 3 was run twice by the same worker, and last by another that failed;
/// its last line is torn.
const WORKERS: &str = r#"{"shard":1,"worker":null,"code":0}
{"shard":3,"worker":"tcp://10.0.0.7:40001","host":"seven","code":75}
{"shard":3,"worker":"tcp://10.0.0.7:40001","host":"seven","code":0}
{"shard":3,"worker":"tcp://10.0.0.9:40001","host":"nine","code":null}
{"sha"#;

#[test]
fn false_shards_are_named_with_who_made_them_and_nothing_is_published() {
    let workspace = Workspace::new();
    let config = quick(&workspace, "quick");
    let (out, plan) = (
        "datasets/quick/selfplay/generation=0001",
        "datasets/quick/plans/generation=0001/generate.json",
    );
    workspace.write("datasets/quick/plans/generation=0001/README", "");
    workspace.done(&format!(
        "generate --plan {plan} --config {config} --shards 5 --output {out}"
    ));
    (0..5).for_each(|shard| drop(workspace.done(&format!("shard run {plan} {shard}"))));
    workspace.write(&format!("{plan}.workers.jsonl"), WORKERS);
    let out = workspace.path(out);
    rewrite(&out, 1, falsify, |_| ());
    rewrite(&out, 3, falsify, |_| ());
    let before = files(&out);
    let makers = [1, 3].map(|shard| format!("; shard {shard} of {plan} made it"));
    for seed in ["", "--seed 5", "--threads 1 --seed 6"] {
        let parts = [
            "2 of its parts are false",
            "positions/part-00001.parquet: game 1",
            &format!("{}\n", makers[0]),
            "positions/part-00003.parquet: game 3",
            &format!("{} on tcp://10.0.0.7:40001 (seven)\n", makers[1]),
        ];
        refused(&workspace, &format!("shard finish {plan} {seed}"), &parts);
        assert!(files(&out) == before, "shard finish changed the folder");
    }
    for shard in [1, 3] {
        std::fs::remove_file(out.join(format!("positions/part-0000{shard}.parquet"))).unwrap();
        workspace.done(&format!("shard run {plan} {shard}"));
    }
    let report: Value =
        serde_json::from_str(&workspace.done(&format!("shard finish {plan} --json --seed 3")))
            .unwrap();
    assert_eq!(
        (&report["games_remade"], &report["sample_seed"]),
        (&16.into(), &3.into()),
        "{report}"
    );
    check_same(&out, &RUN.path("data"), "shards and one run");
    rewrite(&out, 3, falsify, |_| ());
    let verify = format!(
        "dataset verify {} --remake 100%",
        "datasets/quick/selfplay/generation=0001"
    );
    refused(
        &workspace,
        &verify,
        &[
            "positions/part-00003.parquet: game 3",
            &makers[1],
            "(seven)",
        ],
    );
}

#[test]
fn a_shard_with_a_sound_footer_and_damaged_rows_is_named() {
    let workspace = made_in_shards();
    let path = workspace.path("data/positions/part-00002.parquet");
    let mut bytes = std::fs::read(&path).unwrap();
    // Beyond the first pages, and far from the footer.
    let middle = bytes.len() / 3;
    bytes[middle] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    for _ in 0..2 {
        let words = [
            "1 of its parts are false",
            "positions/part-00002.parquet: its rows cannot be read",
            "run their shards again",
        ];
        refused(&workspace, "shard finish plan.json", &words);
    }
    std::fs::remove_file(&path).unwrap();
    workspace.done("shard run plan.json 2");
    workspace.done("shard finish plan.json");
    check_same(
        &workspace.path("data"),
        &RUN.path("data"),
        "shards and one run",
    );
}

#[test]
fn a_shard_with_the_right_values_in_other_bytes_is_named() {
    let workspace = made_in_shards();
    let path = workspace.path("data/positions/part-00002.parquet");
    let batch = POSITIONS
        .read_unlisted(&path, |_| Ok(10_000), &NEVER)
        .unwrap()
        .2;
    let footer = footer_of(&path)
        .into_iter()
        .map(|(key, value)| KeyValue::new(key, value))
        .collect();
    let properties = WriterProperties::builder()
        .set_key_value_metadata(Some(footer))
        .build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    std::fs::write(&path, writer.into_inner().unwrap()).unwrap();
    refused(
        &workspace,
        "shard finish plan.json",
        &["positions/part-00002.parquet: its bytes are not those that its values give"],
    );
    std::fs::remove_file(&path).unwrap();
    workspace.done("shard run plan.json 2");
    workspace.done("shard finish plan.json");
    check_same(
        &workspace.path("data"),
        &RUN.path("data"),
        "shards and one run",
    );
}

#[test]
fn a_shard_whose_games_do_not_replay_is_named() {
    let workspace = Workspace::new();
    let config = quick(&workspace, "quick");
    workspace.done(&format!(
        "generate --plan plan.json --config {config} --shards 2 --output out"
    ));
    (0..2).for_each(|shard| drop(workspace.done(&format!("shard run plan.json {shard}"))));
    // One game, which a sample would rarely meet, with a board that its moves do not lead to.
    let swap = |row: &mut PositionRow| {
        if row.game_id == GameId(17) && row.ply == 30 {
            row.black_to_move = !row.black_to_move;
        }
    };
    rewrite(&workspace.path("out"), 1, swap, |_| ());
    refused(
        &workspace,
        "shard finish plan.json",
        &["1 of its parts", "positions/part-00001.parquet"],
    );
    assert!(!workspace.path("out/manifest.json").exists());
}
