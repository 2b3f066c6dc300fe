//! `datasets/yardstick`: what its README says of it is true, and errors on it are those of the
//! definition.

use crate::support::workspace::{Outcome, Workspace, files};
use renma::artifact::{Builtin, Dataset, ModelRef, NEVER, PositionRow};
use renma::engine::{Discs, Searcher, Symmetry};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The smallest positions that are solved again.
const SOLVED: usize = 8;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets/yardstick")
}

fn rows() -> Vec<PositionRow> {
    let dataset = Dataset::open_any(&folder()).unwrap();
    (0..dataset.part_count())
        .flat_map(|part| dataset.rows(part, &NEVER).unwrap())
        .collect()
}

#[test]
fn it_has_2000_exact_positions_odd_and_even_one_per_game() {
    let rows = rows();
    assert_eq!(rows.len(), 2000);
    let mut by_empties: BTreeMap<u8, usize> = BTreeMap::new();
    rows.iter()
        .for_each(|row| *by_empties.entry(row.empties).or_default() += 1);
    assert_eq!(
        by_empties.keys().copied().collect::<Vec<_>>(),
        (18..=24).collect::<Vec<_>>()
    );
    assert!(
        by_empties.values().all(|count| (249..=334).contains(count)),
        "{by_empties:?}"
    );
    let odd = rows.iter().filter(|row| row.empties % 2 == 1).count();
    assert_eq!(odd, 1000);
    let near_even = rows
        .iter()
        .filter(|row| row.score.unwrap().abs() <= Discs(20).into())
        .count();
    assert!((1000..=1500).contains(&near_even), "{near_even}");
    for row in &rows {
        row.check().unwrap();
        assert_eq!(
            (row.exact, row.depth),
            (Some(true), Some(row.empties)),
            "{row:?}"
        );
    }
    let games: BTreeSet<_> = rows.iter().map(|row| row.game_id).collect();
    let positions: BTreeSet<[u64; 2]> = rows
        .iter()
        .map(|row| {
            let position = row.position().unwrap();
            let images = Symmetry::all().map(|symmetry| position.transform(symmetry));
            images
                .map(|image| [image.player(), image.opponent()])
                .min()
                .unwrap()
        })
        .collect();
    assert_eq!((games.len(), positions.len()), (2000, 2000));
}

#[test]
fn it_is_small_and_sound() {
    let bytes: usize = files(&folder()).values().map(Vec::len).sum();
    assert!(bytes < 150_000, "{bytes}");
    Workspace::new().done(&format!("dataset verify {}", folder().display()));
}

#[test]
fn its_scores_are_exact() {
    let model = Builtin::Champion.model();
    let mut searcher = Searcher::new(&model.evaluation, &model.mpc, 18);
    let smallest = rows()
        .into_iter()
        .filter(|row| row.empties == 18)
        .take(SOLVED);
    let checked = smallest.inspect(|row| {
        let result = searcher.solve(row.position().unwrap());
        assert!(result.exact && result.complete);
        assert_eq!(Some(result.score), row.score, "{row:?}");
    });
    assert_eq!(checked.count(), SOLVED);
}

#[test]
fn the_error_of_a_model_is_that_of_its_static_values_on_the_near_even_positions() {
    let workspace = Workspace::new();
    let near_even: Vec<PositionRow> = rows()
        .into_iter()
        .filter(|row| row.score.unwrap().abs() <= Discs(20).into())
        .collect();
    for builtin in ["builtin:square-weights", "builtin:champion"] {
        let evaluation = builtin
            .parse::<ModelRef>()
            .unwrap()
            .load(Path::new(""))
            .unwrap()
            .model
            .evaluation
            .clone();
        let errors = near_even.iter().map(|row| {
            let value = evaluation.static_value(row.position().unwrap());
            (value - row.score.unwrap()).abs().discs()
        });
        let expected = errors.sum::<f64>() / near_even.len() as f64;
        let shown: Value =
            serde_json::from_str(&workspace.done(&format!("model show {builtin} --json"))).unwrap();
        assert!(
            (shown["exact_mae"].as_f64().unwrap() - expected).abs() < 1e-9,
            "{builtin}: {shown}"
        );
    }
}

#[test]
fn no_model_is_trained_on_it() {
    let workspace = Workspace::new();
    let config = workspace.config("run", "smoke", &[("train.target", "\"score\"")]);
    let yardstick = folder().display().to_string();
    let import =
        format!("dataset import {yardstick}/positions/part-00000.parquet --format parquet");
    workspace.done(&format!("{import} --output copy"));
    for dataset in [yardstick.as_str(), "copy"] {
        let outcome = workspace.run(&format!(
            "train --config {config} --dataset {dataset} --models models"
        ));
        assert_eq!(outcome.code, Some(65), "{}", outcome.stderr);
        assert!(
            outcome.stderr.contains("it holds the yardstick"),
            "{}",
            outcome.stderr
        );
    }
    assert!(files(&workspace.path("models")).is_empty());
}

/// The yardstick turned upside down and with the colors swapped.
fn mirrored() -> Vec<PositionRow> {
    let mirrored = rows().into_iter().map(|row| PositionRow {
        black: row.white.swap_bytes(),
        white: row.black.swap_bytes(),
        black_to_move: !row.black_to_move,
        depth: None,
        exact: None,
        ..row
    });
    mirrored.collect()
}

#[test]
fn its_positions_are_skipped_and_counted_in_any_dataset() {
    let workspace = Workspace::new();
    let config = workspace.config("run", "smoke", &[("train.target", "\"score\"")]);
    workspace.done(&format!(
        "generate --config {config} --model builtin:disc-count --output games"
    ));
    workspace.write_positions("mirrored.parquet", &mirrored());
    workspace.done("dataset import mirrored.parquet --format parquet --output mirrored");
    let train = |datasets: &str, models: &str| {
        workspace.run(&format!(
            "train --config {config} --models {models} --json --dataset {datasets}"
        ))
    };
    let report = |outcome: &Outcome| -> Value { serde_json::from_str(&outcome.stdout).unwrap() };
    let [plain, both] = [("games", "plain"), ("games mirrored", "both")]
        .map(|(datasets, models)| train(datasets, models));
    assert!(
        both.stderr
            .contains("train: skipped 2,000 rows that are positions of the yardstick"),
        "{}",
        both.stderr
    );
    let [plain, both] = [plain, both].map(|outcome| report(&outcome)["metrics"].take());
    assert_eq!(
        (&plain["yardstick_rows"], &both["yardstick_rows"]),
        (&Value::Null, &2000.into())
    );
    assert_eq!(
        [&plain["rows"], &plain["validation_rows"]],
        [&both["rows"], &both["validation_rows"]]
    );
    let shown: Value =
        serde_json::from_str(&workspace.done("model show plain/v0001 --json")).unwrap();
    assert!(
        plain["exact_mae"].is_f64() && plain["exact_mae"] == shown["exact_mae"],
        "{shown}"
    );
    let weights =
        |models: &str| std::fs::read(workspace.path(models).join("v0001/weights.parquet")).unwrap();
    assert!(weights("plain") == weights("both"));
    let alone = train("mirrored", "models");
    assert_eq!(alone.code, Some(65));
    assert!(
        alone.stdout.contains("it holds the yardstick"),
        "{}",
        alone.stdout
    );
}

#[test]
fn the_published_method_skips_no_row() {
    let workspace = Workspace::new();
    let config = workspace.config("seed", "seed", &[("generate.games", "30")]);
    workspace.done(&format!(
        "generate --config {config} --model builtin:square-weights --output games"
    ));
    let sample =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets/sample/selfplay/generation=0001");
    for folder in [workspace.path("games"), sample] {
        let train = format!(
            "train --config {config} --models models --json --dataset {}",
            folder.display()
        );
        let report: Value = serde_json::from_str(&workspace.done(&train)).unwrap();
        assert_eq!(
            report["metrics"]["rows"],
            Dataset::open(&folder).unwrap().manifest().rows("positions")
        );
        assert_eq!(report["metrics"]["yardstick_rows"], Value::Null);
    }
}
