//! Sealed files and rows that say what cannot be: one error that names the field, before memory or
//! time is spent on it.
#![allow(clippy::print_stdout, reason = "a long test says what it tries")]

use super::{RUN, copy_of_run, footer_of, plant, rewrite};
use crate::support::refusal;
use crate::support::workspace::{Outcome, Workspace, check_same, copy_folder};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::{
    ColumnChunkMetaData, KeyValue, ParquetMetaDataReader, ParquetMetaDataWriter,
};
use parquet::file::properties::WriterProperties;
use renma::artifact::dataset::manifest::content_of;
use renma::artifact::publish::publish_bytes;
use renma::artifact::seal::{read_sealed, write_sealed};
use renma::artifact::step::settings_hash;
use renma::artifact::{
    ContentHash, Dataset, DatasetKind, GAMES, GATE_GAMES, GameId, GateGameRow, MPC_SAMPLES,
    Manifest, MpcSampleRow, NEVER, POSITIONS, PositionRow, TableRow,
};
use renma::cluster::plan::build;
use renma::engine::Score;
use renma::pipeline::generate::task::ALGORITHM;
use serde_json::{Value, json};
use std::path::Path;

/// Runs the program with 700 MB of address space.
fn run_bounded(workspace: &Workspace, arguments: &str) -> Outcome {
    workspace.run_bounded("ulimit -v 700000", arguments)
}

fn check(workspace: &Workspace, arguments: &str, code: i32, words: &[&str]) {
    refusal::check_by(run_bounded, workspace, arguments, code, words);
}

/// Changes a sealed file and seals it again; a manifest gets the content and the recipe that fit
/// what it says now.
fn reseal(path: &Path, change: impl Fn(&mut Value)) {
    let mut value: Value = read_sealed(path).unwrap();
    change(&mut value);
    if let Ok(mut manifest) = serde_json::from_value::<Manifest>(value.clone()) {
        manifest.content = content_of(&manifest.parts);
        value = serde_json::to_value(manifest).unwrap();
        value["recipe"] = json!(recipe_of(&value));
    }
    write_sealed(path, &value).unwrap();
}

/// The recipe of what a manifest says, as docs/datasets.md describes it.
fn recipe_of(manifest: &Value) -> String {
    let text = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    let mut settings = vec![
        ("format".to_owned(), text(&manifest["format"])),
        ("algorithm".to_owned(), ALGORITHM.to_string()),
    ];
    settings
        .extend(["rules", "seed", "generation"].map(|key| (key.to_owned(), text(&manifest[key]))));
    settings.push(("model".to_owned(), text(&manifest["models"]["player"])));
    let keys = manifest["config"]
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(key, _)| *key != "games");
    settings.extend(keys.map(|(key, value)| (format!("generate.{key}"), value.to_string())));
    settings_hash("recipe", &settings).to_string()
}

/// A change of a sealed file, or of rows.
type Change<T = Value> = fn(&mut T);

#[test]
fn a_config_in_a_manifest_is_checked_like_one_in_a_file() {
    let workspace = copy_of_run();
    let manifest = workspace.path("data/manifest.json");
    let sound = std::fs::read(&manifest).unwrap();
    reseal(&manifest, |_| ());
    assert_eq!(
        std::fs::read(&manifest).unwrap(),
        sound,
        "the recipe is not the one that renma writes"
    );
    let changes: [(&str, Change); 12] = [
        ("generate.mpc_level = 42", |config| {
            config["mpc_level"] = json!(42);
        }),
        ("generate.mpc_level = 0", |config| {
            config["mpc_level"] = json!(0);
        }),
        ("generate.play_depth = 255", |config| {
            config["play_depth"] = json!(255);
        }),
        ("generate.label_depth = 255", |config| {
            config["label_depth"] = json!(255);
        }),
        ("generate.exact_empties = 255", |config| {
            config["exact_empties"] = json!(255);
        }),
        ("generate.random_plies_max = 255", |config| {
            config["random_plies_max"] = json!(255);
        }),
        ("generate.random_plies_min = 15", |config| {
            config["random_plies_min"] = json!(15);
        }),
        ("generate.exploration = 2", |config| {
            config["exploration"] = json!(2.0);
        }),
        ("generate.part_games = 0", |config| {
            config["part_games"] = json!(0);
        }),
        ("generate.part_games", |config| {
            config["games"] = json!(1_000_000_000_000_u64);
        }),
        ("generate.play_depth = -1", |config| {
            config["play_depth"] = json!(-1);
        }),
        ("missing field", |config| *config = json!({})),
    ];
    for (key, change) in changes {
        reseal(&manifest, |value| change(&mut value["config"]));
        check(
            &workspace,
            "dataset verify data --remake 100%",
            65,
            &["data/manifest.json", key],
        );
        publish_bytes(&manifest, &sound).unwrap();
    }
}

#[test]
fn a_manifest_of_a_dataset_that_cannot_be_is_refused_by_every_reader() {
    let workspace = copy_of_run();
    let manifest = workspace.path("data/manifest.json");
    let sound = std::fs::read(&manifest).unwrap();
    let changes: [(&str, Change); 19] = [
        ("generation is 0", |manifest| {
            manifest["generation"] = json!(0);
        }),
        ("manifest.json", |manifest| {
            manifest["generation"] = json!(-1);
        }),
        ("manifest.json", |manifest| {
            manifest["generation"] = json!(1_u64 << 32);
        }),
        ("rules is \"chess\"", |manifest| {
            manifest["rules"] = json!("chess");
        }),
        ("rules is \"\\u{1b}[2J\"", |manifest| {
            manifest["rules"] = json!("\u{1b}[2J");
        }),
        ("part 1 begins with item 4, not 3", |manifest| {
            manifest["parts"][1]["first"] = json!(4);
        }),
        ("part 2 begins with item 18446744073709551615", |manifest| {
            manifest["parts"][2]["first"] = json!(u64::MAX);
        }),
        ("part 1: it has 18446744073709551615 items", |manifest| {
            manifest["parts"][1]["count"] = json!(u64::MAX);
        }),
        ("part 2: it has 0 items", |manifest| {
            manifest["parts"][2]["count"] = json!(0);
        }),
        ("its parts hold 10 items", |manifest| {
            manifest["parts"][2]["count"] = json!(4);
        }),
        ("9 items, and it says 18446744073709551615", |manifest| {
            manifest["done"] = json!(u64::MAX);
        }),
        ("9 done of 8 asked", |manifest| manifest["asked"] = json!(8)),
        ("9 items, and it says 10", |manifest| {
            manifest["asked"] = json!(10);
            manifest["done"] = json!(10);
        }),
        ("18446744073709551615 rows in `positions`", |manifest| {
            manifest["parts"][0]["files"]["positions"]["rows"] = json!(u64::MAX);
        }),
        ("181 rows in `positions`, at most 180", |manifest| {
            manifest["parts"][0]["files"]["positions"]["rows"] = json!(181);
        }),
        ("4 rows in `games`, at most 3", |manifest| {
            manifest["parts"][0]["files"]["games"]["rows"] = json!(4);
        }),
        ("bytes in `games`", |manifest| {
            manifest["parts"][0]["files"]["games"]["bytes"] = json!(u64::MAX);
        }),
        ("part 2: it has no file in `positions`", |manifest| {
            manifest["parts"][2]["files"]
                .as_object_mut()
                .unwrap()
                .remove("positions");
        }),
        ("a table `../../elsewhere`", |manifest| {
            let entry = manifest["parts"][0]["files"]["games"].clone();
            manifest["parts"][0]["files"]["../../elsewhere"] = entry;
        }),
    ];
    for (words, change) in changes {
        reseal(&manifest, change);
        for arguments in [
            "dataset verify data --remake 100%",
            "dataset inspect data",
            "train --config configs/tiny.toml --dataset data --models registry",
            "generate --config configs/tiny.toml --output data",
        ] {
            check(&workspace, arguments, 65, &["data/manifest.json", words]);
        }
        publish_bytes(&manifest, &sound).unwrap();
    }
}

/// The bytes of the second part with `count` equal rows in place of its own.
fn equal_rows(count: usize) -> Vec<u8> {
    let row = Dataset::open(&RUN.path("data"))
        .unwrap()
        .rows(1, &NEVER)
        .unwrap()[0];
    let batch = POSITIONS.batch(PositionRow::to_columns(&vec![row; 1 << 16]));
    let footer = footer_of(&RUN.path("data/positions/part-00001.parquet"));
    let pairs = footer
        .into_iter()
        .map(|(key, value)| KeyValue::new(key, value))
        .collect();
    let properties = WriterProperties::builder()
        .set_key_value_metadata(Some(pairs))
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    (0..count >> 16).for_each(|_| writer.write(&batch).unwrap());
    writer.close().unwrap();
    bytes
}

#[test]
fn more_rows_than_the_games_of_a_part_can_have_are_refused_before_they_are_decoded() {
    let workspace = copy_of_run();
    let folder = workspace.path("data");
    let bytes = equal_rows(1 << 23);
    assert!(bytes.len() < 4 << 20, "{} bytes", bytes.len());
    plant(&folder, &bytes);
    let part = "data/positions/part-00001.parquet";
    let reader = "train --config configs/tiny.toml --dataset data --models other";
    check(&workspace, reader, 65, &[part, "8388608 rows", "180"]);
    let mut manifest = Manifest::read(&folder, DatasetKind::Selfplay).unwrap();
    manifest.parts[1]
        .files
        .get_mut(POSITIONS.name)
        .unwrap()
        .rows = 1 << 23;
    manifest.write(&folder).unwrap();
    check(
        &workspace,
        reader,
        65,
        &["data/manifest.json", "8388608 rows", "180"],
    );
    // A resumed run takes it for a damaged part and makes it again.
    std::fs::remove_file(folder.join("manifest.json")).unwrap();
    let outcome = run_bounded(
        &workspace,
        "generate --config configs/tiny.toml --output data",
    );
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    check_same(&folder, &RUN.path("data"), "mended and sound");
}

#[test]
fn rows_that_cannot_be_are_refused_even_if_their_hashes_fit() {
    let lies: [(&str, Change<PositionRow>); 5] = [
        ("two discs on a square", |row| row.white |= row.black),
        ("a wrong count of empty squares", |row| row.empties = 61),
        ("a score beyond 64 discs", |row| {
            row.score = Some(Score(i32::MAX));
        }),
        ("a score below -64 discs", |row| {
            row.score = Some(Score(i32::MIN));
        }),
        ("a result beyond 64 discs", |row| row.result = Some(127)),
    ];
    for (what, change) in lies {
        let workspace = copy_of_run();
        let of_one_ply = |row: &mut PositionRow| {
            if row.ply == 7 {
                change(row);
            }
        };
        rewrite(&workspace.path("data"), 1, of_one_ply, |_| ());
        println!("{what}");
        let train = "train --config configs/tiny.toml --dataset data --models other";
        check(&workspace, train, 65, &["data/positions", "row"]);
        // The dataset is to blame, and not the file that was to be written.
        let export = "dataset export data --format obf --output positions.obf";
        check(
            &workspace,
            export,
            65,
            &["cannot trust data/positions/part-0000", "row"],
        );
    }
}

#[test]
fn a_part_whose_texts_unpack_to_more_than_games_can_have_is_refused_before_they_are_unpacked() {
    let workspace = copy_of_run();
    let folder = workspace.path("data");
    let mut manifest = Manifest::read(&folder, DatasetKind::Selfplay).unwrap();
    let mut rows = Dataset::open(&folder)
        .unwrap()
        .game_rows(2)
        .unwrap()
        .unwrap();
    rows[1].moves = "f5".repeat(64 << 20);
    let path = folder.join("games/part-00002.parquet");
    let mut entry = GAMES.write_rows(&path, &rows, &footer_of(&path)).unwrap();
    // The footer may lie about it: the pages do not.
    let bytes = Bytes::from(std::fs::read(&path).unwrap());
    let metadata = ParquetMetaDataReader::new()
        .parse_and_finish(&bytes)
        .unwrap();
    let mut group = metadata.row_group(0).clone().into_builder();
    let small = |column: ColumnChunkMetaData| {
        column
            .into_builder()
            .set_total_uncompressed_size(1_000)
            .build()
            .unwrap()
    };
    let columns = group.take_columns().into_iter().map(small).collect();
    let metadata = metadata
        .into_builder()
        .set_row_groups(vec![group.set_column_metadata(columns).build().unwrap()]);
    let footer_size =
        u32::from_le_bytes(bytes[bytes.len() - 8..][..4].try_into().unwrap()) as usize;
    let mut bytes = bytes[..bytes.len() - 8 - footer_size].to_vec();
    ParquetMetaDataWriter::new(&mut bytes, &metadata.build())
        .finish()
        .unwrap();
    publish_bytes(&path, &bytes).unwrap();
    (entry.bytes, entry.hash) = (bytes.len() as u64, ContentHash::of(&bytes));
    manifest.parts[2].files.insert(GAMES.name.to_owned(), entry);
    manifest.content = content_of(&manifest.parts);
    manifest.write(&folder).unwrap();
    let words = ["data/games/part-00002.parquet", "moves", "unpacks to 1342"];
    check(&workspace, "dataset verify data", 65, &words);
}

#[test]
fn samples_that_no_search_has_found_are_searched_again() {
    let changes: [(&str, Change<MpcSampleRow>); 5] = [
        ("scores", |row| {
            row.score = Score(if row.depth == 0 { i32::MIN } else { i32::MAX });
        }),
        ("nodes", |row| row.nodes = u64::MAX),
        ("games", |row| row.game_id = GameId(u64::MAX)),
        ("boards", |row| row.player |= row.opponent),
        ("empties", |row| row.empties = 255),
    ];
    let workspace = Workspace::new();
    let small = [("fit_mpc.games", "6"), ("fit_mpc.part_games", "3")];
    let config = workspace.tiny("mpc", &small);
    let fit = format!("fit-mpc --config {config} --model builtin:square-weights");
    workspace.done(&format!("{fit} --models sound --output sound-mpc"));
    for (what, change) in changes {
        copy_folder(&workspace.path("sound-mpc"), &workspace.path(what));
        std::fs::remove_file(workspace.path(what).join("manifest.json")).unwrap();
        let path = workspace.path(what).join("samples/part-00001.parquet");
        let batch = MPC_SAMPLES
            .read_unlisted(&path, |_| Ok(10_000), &NEVER)
            .unwrap()
            .2;
        let mut rows: Vec<MpcSampleRow> = MpcSampleRow::from_batch(&batch).unwrap();
        rows.iter_mut().for_each(change);
        MPC_SAMPLES
            .write_rows(&path, &rows, &footer_of(&path))
            .unwrap();
        let outcome = run_bounded(
            &workspace,
            &format!("{fit} --models registry-{what} --output {what}"),
        );
        assert_eq!(outcome.code, Some(0), "{what}: {}", outcome.stderr);
        check_same(&workspace.path(what), &workspace.path("sound-mpc"), what);
        check_same(
            &workspace.path(&format!("registry-{what}/v0001")),
            &workspace.path("sound/v0001"),
            what,
        );
    }
}

#[test]
fn a_batch_of_a_gate_that_holds_other_games_is_played_again() {
    let workspace = Workspace::new();
    let small = [
        ("gate.games", "48"),
        ("gate.depth", "1"),
        ("gate.exact_empties", "2"),
    ];
    let config = workspace.tiny("gate", &small);
    let gate = format!(
        "gate --config {config} --candidate builtin:square-weights --baseline builtin:disc-count"
    );
    let code = workspace.run(&format!("{gate} --output sound")).code;
    let changes: [(&str, Change<Vec<GateGameRow>>); 3] = [
        ("fewer", |rows| rows.truncate(3)),
        ("others", |rows| {
            rows.iter_mut().for_each(|row| row.game_id.0 += 4);
        }),
        ("many", |rows| *rows = vec![rows[0].clone(); 1 << 18]),
    ];
    for (what, change) in changes {
        copy_folder(&workspace.path("sound"), &workspace.path(what));
        for name in ["manifest.json", "verdict.json"] {
            std::fs::remove_file(workspace.path(what).join(name)).unwrap();
        }
        let path = workspace.path(what).join("games/part-00001.parquet");
        let batch = GATE_GAMES
            .read_unlisted(&path, |_| Ok(10_000), &NEVER)
            .unwrap()
            .2;
        let mut rows: Vec<GateGameRow> = GateGameRow::from_batch(&batch).unwrap();
        change(&mut rows);
        GATE_GAMES
            .write_rows(&path, &rows, &footer_of(&path))
            .unwrap();
        let outcome = run_bounded(&workspace, &format!("{gate} --output {what}"));
        assert_eq!(outcome.code, code, "{what}: {}", outcome.stderr);
        check_same(&workspace.path(what), &workspace.path("sound"), what);
    }
}

#[test]
fn shards_write_only_to_folders_of_their_own() {
    let workspace = copy_of_run();
    let config = "--config configs/tiny.toml";
    let line = workspace.config(
        "line",
        "smoke",
        &[("fit_mpc.games", "4"), ("fit_mpc.part_games", "4")],
    );
    workspace.done(&format!(
        "train {config} --dataset data --models models/run"
    ));
    workspace.done(&format!(
        "fit-mpc --plan fit.json --config {line} --model builtin:square-weights --models models/run --output samples"
    ));
    workspace.done(&format!(
        "train --plan train.json {config} --dataset data --models models/run"
    ));
    workspace.write("notes/todo.txt", "");
    workspace.write("out/mine.txt", "");
    for (plan, key, folders) in [
        (
            "plan.json",
            "output",
            &[
                ".",
                "./.",
                "models",
                "models/run",
                "models/run/v0001/x",
                "configs",
                "notes",
                "out",
            ][..],
        ),
        (
            "fit.json",
            "output",
            &[".", "models", "models/run", "models/run/samples", "notes"],
        ),
        (
            "fit.json",
            "registry",
            &[".", "models", "notes", "configs", "data", "samples"],
        ),
        (
            "train.json",
            "registry",
            &[
                ".",
                "models",
                "notes",
                "configs",
                "data",
                "models/run/v0001",
            ],
        ),
    ] {
        let path = workspace.path(plan);
        let sound = std::fs::read(&path).unwrap();
        for folder in folders {
            reseal(&path, |plan| plan[key] = json!(folder));
            for arguments in ["status", "run", "finish"] {
                let shard = if arguments == "run" { " 0" } else { "" };
                check(
                    &workspace,
                    &format!("shard {arguments} {plan}{shard}"),
                    65,
                    &[plan],
                );
            }
        }
        publish_bytes(&path, &sound).unwrap();
    }
    std::fs::remove_file(workspace.path("out/mine.txt")).unwrap();
    for plan in ["plan.json", "train.json", "fit.json"] {
        workspace.done(&format!("shard run {plan} 0"));
    }
}

#[test]
fn a_plan_that_cannot_be_is_one_error_that_says_why() {
    let workspace = copy_of_run();
    let plan = workspace.path("plan.json");
    let sound = std::fs::read(&plan).unwrap();
    let changes: [(&str, Change); 22] = [
        (
            "it has format 4, this renma reads format 3\nmake it again",
            |plan| plan["format"] = json!(4),
        ),
        (
            "it has format 2, this renma reads format 3\nmake it again",
            |plan| plan["format"] = json!(2),
        ),
        (
            "\"renma 0.0.9 with libraries 1\" made it, and this is \"renma ",
            |plan| {
                plan["build"] = json!("renma 0.0.9 with libraries 1");
            },
        ),
        ("missing field `build`", |plan| {
            drop(plan.as_object_mut().unwrap().remove("build"));
        }),
        ("no format version", |plan| {
            *plan = json!({"request": {"stage": "generate"}});
        }),
        ("a plan of \"promote\"", |plan| {
            plan["request"]["stage"] = json!("promote");
        }),
        ("algorithm 7 of generate, this renma has ", |plan| {
            plan["algorithm"] = json!(7);
        }),
        ("generation is 0", |plan| {
            plan["request"]["generation"] = json!(0);
        }),
        ("generate.mpc_level = 42", |plan| {
            plan["request"]["config"]["mpc_level"] = json!(42);
        }),
        ("unknown field `table_bits`", |plan| {
            plan["request"]["config"]["table_bits"] = json!(32);
        }),
        ("generate.games = 18446744073709551615", |plan| {
            plan["request"]["config"]["games"] = json!(u64::MAX);
        }),
        ("generate.part_games = 10000000", |plan| {
            plan["request"]["config"]["games"] = json!(1_000_000_000_000_u64);
        }),
        ("its shards make 3 parts, and its request needs 4", |plan| {
            plan["request"]["config"]["games"] = json!(12);
        }),
        ("shard 1 has the parts from 2 to before 1", |plan| {
            plan["shards"][1] = json!({"start": 2, "end": 1});
        }),
        ("shard 1 has the parts from 0 to before 2", |plan| {
            plan["shards"][1]["start"] = json!(0);
        }),
        ("shard 2 has the parts from 2 to before 2", |plan| {
            plan["shards"][2]["end"] = json!(2);
        }),
        ("its shards make 18446744073709551615 parts", |plan| {
            plan["shards"][2]["end"] = json!(u64::MAX);
        }),
        ("its shards make 0 parts", |plan| plan["shards"] = json!([])),
        ("invalid value", |plan| {
            plan["shards"][0]["start"] = json!(-1);
        }),
        ("its book", |plan| {
            plan["request"]["book"] = json!(["f5d6c3"]);
        }),
        ("its book", |plan| {
            plan["request"]["config"]["openings"] = json!("book");
            plan["request"]["config"]["book"] = json!("book.txt");
        }),
        ("its recipe is", |plan| plan["request"]["seed"] = json!(2)),
    ];
    for (words, change) in changes {
        reseal(&plan, change);
        check(
            &workspace,
            "shard run plan.json 0",
            65,
            &["plan.json", words],
        );
        check(
            &workspace,
            "shard finish plan.json",
            65,
            &["plan.json", words],
        );
        publish_bytes(&plan, &sound).unwrap();
    }
    std::fs::write(&plan, include_str!("../../fuzz/corpus/plan/train.json")).unwrap();
    reseal(&plan, |plan| {
        plan["request"]["datasets"][0]["positions"] = json!(u64::MAX);
    });
    reseal(&plan, |plan| plan["build"] = json!(build()));
    for arguments in [
        "shard status plan.json",
        "shard drive plan.json --on 'true {plan} {shard}'",
    ] {
        check(
            &workspace,
            arguments,
            65,
            &[
                "plan.json",
                "its work adds up to more than 64 bits can count",
            ],
        );
    }
    publish_bytes(&plan, &sound).unwrap();
    for model in ["registry/v0007", &"x".repeat(300)] {
        reseal(&plan, |plan| {
            plan["request"]["models"]["model"]["name"] = json!(model);
        });
        let words = [
            "plan.json",
            &format!("its model {model}"),
            "does not exist",
            "in which the plan was made",
        ];
        for arguments in ["shard run plan.json 0", "shard finish plan.json"] {
            check(&workspace, arguments, 2, &words);
        }
    }
}
