//! Nights of `pipeline.sh`: what is done again and what is not, budgets, exit codes and the record
//! for machines.

use crate::support::workspace::{
    Outcome, Workspace, all_paths, check_same, copy_folder, files, pipeline, pipeline_with,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// A run of one generation against a start that is weak enough to be beaten.
const WEAK_START: [(&str, &str); 3] = [
    ("run.start", "\"builtin:disc-count\""),
    ("run.generations", "1"),
    ("gate.games", "200"),
];

/// Runs the pipeline and compares its exit code.
fn check(workspace: &Workspace, options: &str, code: i32) -> Outcome {
    let outcome = pipeline(workspace, options);
    assert_eq!(
        outcome.code,
        Some(code),
        "pipeline.sh {options}\n{}",
        outcome.stderr
    );
    outcome
}

fn run_json(workspace: &Workspace, run: &str) -> Value {
    serde_json::from_slice(
        &std::fs::read(workspace.path(&format!("models/{run}/run.json"))).unwrap(),
    )
    .unwrap()
}

/// Runs the pipeline and takes its promotion away: the first generation is there, and not finished.
fn unfinished_run() -> (Workspace, String) {
    let workspace = Workspace::new();
    let config = workspace.config("run", "smoke", &WEAK_START);
    check(&workspace, &format!("--config {config}"), 0);
    std::fs::remove_file(workspace.path("models/run/champion.json")).unwrap();
    (workspace, config)
}

#[test]
fn a_promotion_that_is_missing_is_made_before_the_next_generation() {
    let (workspace, config) = unfinished_run();
    assert!(status(&workspace, "gate", &config).starts_with("generation 1: done"));
    check(&workspace, &format!("--config {config} --generations 2"), 0);
    let champion = std::fs::read_to_string(workspace.path("models/run/champion.json")).unwrap();
    assert!(champion.contains("v0002"), "{champion}");
    let second = std::fs::read_to_string(
        workspace.path("datasets/run/selfplay/generation=0002/manifest.json"),
    )
    .unwrap();
    let model = std::fs::read_to_string(workspace.path("models/run/v0002/model.json")).unwrap();
    let content = serde_json::from_str::<Value>(&model).unwrap()["content"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        second.contains(&content),
        "the second generation was played by another model"
    );
}

#[test]
fn an_accepted_candidate_that_a_person_has_promoted_before_ends_its_generation() {
    let (workspace, config) = unfinished_run();
    workspace.done("promote v0002 --models models/run");
    check(&workspace, &format!("--config {config}"), 0);
    let champion = std::fs::read_to_string(workspace.path("models/run/champion.json")).unwrap();
    let champion: Value = serde_json::from_str(&champion).unwrap();
    let verdict =
        std::fs::read_to_string(workspace.path("datasets/run/gate/generation=0001/verdict.json"))
            .unwrap();
    let verdict: Value = serde_json::from_str(&verdict).unwrap();
    assert_eq!(champion["acted"], json!([verdict["step"]]));
    assert_eq!(
        (
            &champion["history"][0]["gate"],
            champion["history"].as_array().unwrap().len()
        ),
        (&Value::Null, 1)
    );
}

/// What tells whether a file was written again.
fn identities(folder: &Path) -> BTreeMap<String, (u64, i64, i64)> {
    let identity = |name: String| {
        let metadata = folder.join(&name).metadata().unwrap();
        (
            name,
            (metadata.ino(), metadata.mtime(), metadata.mtime_nsec()),
        )
    };
    files(folder).into_keys().map(identity).collect()
}

/// The words of `status STEP`, a line a generation.
fn status(workspace: &Workspace, step: &str, config: &str) -> String {
    workspace.done(&format!("status {step} --config {config}"))
}

#[test]
fn a_key_of_train_makes_training_and_what_comes_after_anew_and_nothing_before() {
    let (workspace, config) = unfinished_run();
    let selfplay = identities(&workspace.path("datasets/run/selfplay"));
    let gate = files(&workspace.path("datasets/run/gate"));
    workspace.config(
        "run",
        "smoke",
        &[&WEAK_START[..], &[("train.epochs", "5")]].concat(),
    );
    assert!(status(&workspace, "generate", &config).starts_with("generation 1: done"));
    let train = status(&workspace, "train", &config);
    assert!(
        train.starts_with("generation 1: stale")
            && train.contains("train.epochs is 4 there and 5 here"),
        "{train}"
    );
    for step in ["fit-mpc", "gate"] {
        let words = status(&workspace, step, &config);
        assert!(
            words.contains("stale") && words.contains("train of generation 1 is stale"),
            "{step}: {words}"
        );
    }
    let outcome = check(&workspace, &format!("--config {config}"), 0);
    assert!(outcome.stderr.contains("generate  60 games, "));
    assert_eq!(
        selfplay,
        identities(&workspace.path("datasets/run/selfplay")),
        "self-play was made again"
    );
    assert_ne!(
        gate,
        files(&workspace.path("datasets/run/gate")),
        "the gate was not played again"
    );
    for step in ["generate", "train", "fit-mpc", "gate"] {
        assert!(
            status(&workspace, step, &config).starts_with("generation 1: done"),
            "{step}"
        );
    }
    for version in ["v0001", "v0002", "v0003", "v0004"] {
        assert!(
            workspace
                .path(&format!("models/run/{version}/model.json"))
                .exists(),
            "{version}"
        );
    }
}

#[test]
fn every_input_that_changes_is_named() {
    let (workspace, config) = unfinished_run();
    for (key, value, step, words) in [
        (
            "generate.play_depth",
            "3",
            "generate",
            "generate.play_depth is 2 there and 3 here",
        ),
        (
            "generate.games",
            "80",
            "generate",
            "generate.games is 60 there and 80 here",
        ),
        ("run.seed", "9", "generate", "seed is 1 there and 9 here"),
        (
            "run.start",
            "\"builtin:square-weights\"",
            "generate",
            "model is ",
        ),
        (
            "fit_mpc.games",
            "24",
            "fit-mpc",
            "fit_mpc.games is 20 there and 24 here",
        ),
        ("gate.games", "60", "gate", "gate.games is"),
        (
            "gate.depth",
            "3",
            "gate",
            "gate.depth is 2 there and 3 here",
        ),
    ] {
        workspace.config("run", "smoke", &[&WEAK_START[..], &[(key, value)]].concat());
        let told = status(&workspace, step, &config);
        assert!(
            told.contains("generation 1: stale") && told.contains(words),
            "{key}: {told}"
        );
        let whole = workspace.done(&format!("status --config {config}"));
        assert!(
            whole.contains(&format!("{step} is stale: {words}")),
            "{key}: {whole}"
        );
    }
}

#[test]
fn another_folder_other_threads_and_another_clock_make_nothing_anew() {
    let workspace = Workspace::new();
    let config = workspace.config("run", "smoke", &[("run.start", "\"builtin:disc-count\"")]);
    assert_eq!(
        pipeline_with(&workspace, &format!("--config {config}"), "--threads 2").code,
        Some(0)
    );
    let moved = Workspace::new();
    copy_folder(workspace.root(), moved.root());
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    for path in all_paths(moved.root()) {
        std::fs::File::open(path)
            .unwrap()
            .set_modified(long_ago)
            .unwrap();
    }
    let all = || {
        [
            identities(&moved.path("datasets")),
            identities(&moved.path("models")),
        ]
    };
    let is_config = |name: &String| name.starts_with("run/config/");
    let without_config = |mut all: [BTreeMap<String, (u64, i64, i64)>; 2]| {
        all[1].retain(|name, _| !is_config(name));
        all
    };
    let before = without_config(all());
    assert!(30 < before[0].len() + before[1].len(), "{before:?}");
    let outcome = pipeline_with(&moved, &format!("--config {config}"), "--threads 1");
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!(
        before,
        without_config(all()),
        "a finished run was done again\n{}",
        outcome.stderr
    );
    let calls = run_json(&moved, "run")["stages"]
        .as_array()
        .unwrap()
        .clone();
    assert!(
        calls.iter().all(|call| call["outcome"] == "skipped"),
        "{calls:?}"
    );
}

#[test]
fn a_flipped_byte_in_a_dataset_stops_the_run_with_its_name() {
    let workspace = Workspace::new();
    let config = workspace.config("run", "smoke", &[("run.start", "\"builtin:disc-count\"")]);
    check(&workspace, &format!("--config {config} --generations 1"), 0);
    for name in ["positions/part-00001.parquet", "manifest.json"] {
        let name = format!("datasets/run/selfplay/generation=0001/{name}");
        let sound = std::fs::read(workspace.path(&name)).unwrap();
        let mut flipped = sound.clone();
        flipped[sound.len() / 2] ^= 1;
        workspace.write(&name, &flipped);
        std::fs::remove_file(workspace.path("models/run/run.json")).unwrap();
        let outcome = check(&workspace, &format!("--config {config} --exit-verdict"), 65);
        assert!(outcome.stderr.contains(&name), "{}", outcome.stderr);
        let record = run_json(&workspace, "run");
        assert_eq!(
            (&record["code"], &record["outcome"]),
            (&65.into(), &"damaged".into()),
            "{record}"
        );
        workspace.write(&name, &sound);
    }
    check(&workspace, &format!("--config {config}"), 0);
}

/// A run whose games take a while, in parts of a few.
const SLOW: [(&str, &str); 9] = [
    ("gate.depth", "6"),
    ("gate.games", "100"),
    ("run.start", "\"builtin:disc-count\""),
    ("run.generations", "1"),
    ("generate.games", "240"),
    ("generate.part_games", "4"),
    ("generate.play_depth", "6"),
    ("generate.label_depth", "6"),
    ("train.epochs", "40"),
];

#[test]
fn nights_with_a_budget_end_in_the_bytes_of_an_undisturbed_run() {
    let workspace = Workspace::new();
    let config = workspace.config("run", "smoke", &SLOW);
    let options = format!("--config {config} --exit-verdict");
    let mut nights = 0;
    let outcome = loop {
        nights += 1;
        // A second is less than the start of a night, which plays games to time them.
        assert!(nights < 200, "nights without progress");
        let outcome = pipeline_with(&workspace, &format!("{options} --budget 1s"), "--threads 1");
        if outcome.code != Some(12) {
            break outcome;
        }
        assert!(
            outcome
                .stderr
                .contains("error: the budget is spent; run the same command again to resume")
        );
        let record = run_json(&workspace, "run");
        assert_eq!(
            (&record["outcome"], &record["budget"]["spent"]),
            (&"budget".into(), &true.into()),
            "{record}"
        );
        assert_eq!(
            record["stages"].as_array().unwrap().last().unwrap()["outcome"],
            "stopped",
            "{record}"
        );
        let hidden = |path: &std::path::PathBuf| path.to_str().unwrap().contains("/.tmp-");
        assert!(
            !all_paths(workspace.root()).iter().any(hidden),
            "half-written files"
        );
    };
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(1 < nights, "the budget was never spent");
    let whole = Workspace::new();
    let config = whole.config("run", "smoke", &SLOW);
    check(&whole, &format!("--config {config}"), 0);
    for folder in ["datasets", "models"] {
        check_same(
            &workspace.path(folder),
            &whole.path(folder),
            "nights and one run",
        );
    }
}

#[test]
fn training_that_is_stopped_goes_on_after_its_last_epoch() {
    let workspace = Workspace::new();
    let changes = [
        ("train.epochs", "500"),
        ("train.ratio_decay", "0.999"),
        ("generate.games", "400"),
    ];
    let config = workspace.config("run", "smoke", &changes);
    workspace.done(&format!("generate --config {config} --output data"));
    let train = format!("train --config {config} --dataset data");
    let (mut stops, mut budget) = (0, 250);
    loop {
        let outcome = workspace.run(&format!("{train} --models stopped --budget {budget}ms"));
        match outcome.code {
            Some(0) => break,
            Some(12) => stops += u32::from(workspace.path("stopped/.train.checkpoints").exists()),
            _ => panic!("{}", outcome.stderr),
        }
        // On a busy machine the time may pass before the first epoch ends.
        budget += 50;
    }
    assert!(0 < stops, "no call stopped between two epochs");
    assert!(!workspace.path("stopped/.train.checkpoints").exists());
    workspace.done(&format!("{train} --models whole"));
    check_same(
        &workspace.path("stopped"),
        &workspace.path("whole"),
        "stopped and undisturbed",
    );
}

#[test]
fn the_exit_code_tells_the_verdict() {
    let zero = [
        ("train.ratio", "0.0"),
        ("train.start", "\"zero\""),
        ("run.generations", "1"),
    ];
    for (changes, code, outcome) in [
        (&WEAK_START[..], 0, "accepted"),
        (
            &[&zero[..], &[("run.start", "\"builtin:champion\"")]].concat(),
            10,
            "rejected",
        ),
        (
            &[&zero[..], &[("gate.games", "2")]].concat(),
            11,
            "inconclusive",
        ),
    ] {
        let workspace = Workspace::new();
        let config = workspace.config("run", "smoke", changes);
        check(
            &workspace,
            &format!("--config {config} --exit-verdict"),
            code,
        );
        let record = run_json(&workspace, "run");
        assert_eq!(
            (&record["code"], &record["outcome"]),
            (&code.into(), &outcome.into()),
            "{record}"
        );
        assert_eq!(
            record["generations"][0]["gate"]["verdict"], outcome,
            "{record}"
        );
        check(&workspace, &format!("--config {config}"), 0);
        let names: Vec<&str> = record["stages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|call| call["stage"].as_str().unwrap())
            .collect();
        let expected = ["generate", "train", "fit-mpc", "gate", "promote"];
        assert_eq!(names, expected[..if code == 0 { 5 } else { 4 }], "{record}");
    }
    let workspace = Workspace::new();
    let config = workspace.config("run", "smoke", &WEAK_START);
    check(&workspace, &format!("--config {config} --budget 0s"), 12);
    for options in [
        "--budget 2",
        "--budget soon",
        "--generations few",
        "--generations +",
    ] {
        check(&workspace, &format!("--config {config} {options}"), 2);
    }
}

#[test]
fn a_record_that_does_not_say_how_the_run_ended_is_written_again() {
    let workspace = Workspace::new();
    let config = workspace.config("run", "smoke", &WEAK_START);
    let options = format!("--config {config} --json");
    check(&workspace, &options, 0);
    let bytes = || std::fs::read(workspace.path("models/run/run.json")).unwrap();
    // A call that was interrupted in a later generation, and one that was killed.
    for (code, outcome) in [(json!(130), "interrupted"), (Value::Null, "running")] {
        let mut record = run_json(&workspace, "run");
        (record["code"], record["outcome"]) = (code, outcome.into());
        workspace.write("models/run/run.json", record.to_string());
        let printed: Value = serde_json::from_str(&check(&workspace, &options, 0).stdout).unwrap();
        assert_eq!(
            (&printed["code"], &printed["outcome"]),
            (&0.into(), &"accepted".into()),
            "{printed}"
        );
        let before = bytes();
        check(&workspace, &options, 0);
        assert!(
            bytes() == before,
            "a finished run was recorded again after {outcome}"
        );
    }
}

#[test]
fn one_more_generation_each_night() {
    let workspace = Workspace::new();
    let config = workspace.config("run", "smoke", &WEAK_START);
    for generation in 1..=3 {
        let options = format!("--config {config} --generations +1");
        assert_eq!(pipeline(&workspace, &options).code, Some(0));
        let folder = |number| {
            workspace.path(&format!(
                "datasets/run/gate/generation={number:04}/verdict.json"
            ))
        };
        assert!(
            folder(generation).exists() && !folder(generation + 1).exists(),
            "{generation}"
        );
    }
}

#[test]
fn the_figures_for_other_tools_are_those_of_the_run() {
    let workspace = Workspace::new();
    let config = workspace.config(
        "run",
        "smoke",
        &[WEAK_START[0], ("run.generations", "2"), WEAK_START[2]],
    );
    check(&workspace, &format!("--config {config}"), 0);
    std::fs::remove_dir_all(workspace.path("datasets/run/gate/generation=0002")).unwrap();
    check(&workspace, &format!("--config {config}"), 0);
    let status: Value =
        serde_json::from_str(&workspace.done(&format!("status --config {config} --json"))).unwrap();
    let found = workspace.done(&format!("status --config {config} --format bmf"));
    let mut found: Value = serde_json::from_str::<Value>(&found).unwrap()["run"].take();
    let free = found.as_object_mut().unwrap().remove("disk-free-bytes");
    assert!(1e6 < free.unwrap()["value"].as_f64().unwrap());
    let ended = run_json(&workspace, "run")["ended"].take();
    let ended = humantime::parse_rfc3339(ended.as_str().unwrap()).unwrap();
    let ended = ended.duration_since(std::time::UNIX_EPOCH).unwrap();
    let number = |value: f64| json!({"value": value});
    let generations = status["generations"].as_array().unwrap();
    let promoted = generations.iter().find(|line| line["champion"] == true);
    let champion = status["ladder"]
        .as_array()
        .unwrap()
        .iter()
        .find(|player| player["id"] == status["champion"])
        .unwrap();
    let newest = &status["generations"][1];
    let between = |value: &Value, low: &Value, high: &Value| json!({"value": value, "lower_value": low, "upper_value": high});
    let log = std::fs::read_to_string(workspace.path("models/run/run.log")).unwrap();
    let calls: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let (skipped, worked): (Vec<&Value>, Vec<&Value>) = calls
        .iter()
        .filter(|call| call["generation"] == 2)
        .partition(|call| call["outcome"] == "skipped");
    assert!(!skipped.is_empty(), "{log}");
    let cpu_seconds: f64 = worked
        .iter()
        .map(|call| call["cpu_seconds"].as_f64().unwrap())
        .sum();
    let speed = status["play_speed"]
        .as_array()
        .unwrap()
        .iter()
        .find(|speed| speed["generation"] == 2)
        .unwrap();
    assert_eq!(
        found,
        json!({
            "champion-elo": between(&champion["elo"], &champion["elo_low"], &champion["elo_high"]),
            "gate-elo": between(&newest["elo"][0], &newest["elo"][1], &newest["elo"][2]),
            "exact-mae-discs": {"value": newest["exact_mae"]},
            "games-per-second": {"value": speed["games_per_second"]},
            "cpu-seconds": {"value": cpu_seconds},
            "champion-exact-mae-discs": {"value": promoted.unwrap()["exact_mae"]},
            "last-end-seconds": number(ended.as_secs_f64()),
            "last-exit-code": number(0.0),
            "rejected-in-a-row-gates": number(status["rejected_in_a_row"].as_f64().unwrap()),
            "disk-used-bytes": number(status["bytes_on_disk"].as_f64().unwrap()),
        })
    );
    let names = |format: &str| -> Vec<String> {
        let text = workspace.done(&format!("status --config {config} --format {format}"));
        let entries: Vec<Value> = serde_json::from_str(&text).unwrap();
        let name = |entry: &Value| entry["name"].as_str().unwrap().to_owned();
        entries.iter().map(name).collect()
    };
    assert_eq!(
        names("benchmark-bigger"),
        ["run champion-elo", "run gate-elo", "run games-per-second"]
    );
    assert_eq!(
        names("benchmark-smaller"),
        [
            "run champion-exact-mae-discs",
            "run exact-mae-discs",
            "run cpu-seconds",
            "run rejected-in-a-row-gates"
        ]
    );
    let gauges = workspace.done(&format!("status --config {config} --format openmetrics"));
    let elo = champion["elo"].as_f64().unwrap();
    for line in [
        "# TYPE renma_champion_elo gauge".to_owned(),
        format!("renma_champion_elo{{run=\"run\"}} {elo}"),
    ] {
        assert!(
            gauges.lines().any(|found| found == line),
            "{line}\n{gauges}"
        );
    }
    assert!(gauges.ends_with("# EOF"), "{gauges}");
}
