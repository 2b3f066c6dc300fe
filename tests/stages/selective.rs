//! Search options that a config or the command line asks for: `[selective]`, levels in sigmas,
//! values of all moves.

use crate::support::workspace::{Workspace, check_exact_scores, check_same, shipped, with_keys};
use renma::artifact::{Dataset, NEVER, PositionRow};
use serde_json::Value;
use std::path::Path;

const SMALL: [(&str, &str); 4] = [
    ("generate.games", "4"),
    ("generate.part_games", "2"),
    ("generate.exact_empties", "8"),
    ("gate.games", "40"),
];

/// Writes `configs/NAME.toml`: a small run with other keys, and with a `[selective]` table unless
/// it is empty.
fn config(workspace: &Workspace, name: &str, changes: &[(&str, &str)], selective: &str) -> String {
    let table = if selective.is_empty() {
        String::new()
    } else {
        format!("\n[selective]\n{selective}\n")
    };
    let text = with_keys(&shipped("smoke.toml"), &[&SMALL, changes].concat()) + &table;
    let path = format!("configs/{name}.toml");
    workspace.write(&path, text);
    path
}

fn json(workspace: &Workspace, arguments: &str) -> Value {
    serde_json::from_str(&workspace.done(arguments)).unwrap()
}

fn sealed(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn generate(workspace: &Workspace, config: &str, output: &str) -> Vec<PositionRow> {
    workspace.done(&format!(
        "generate --config {config} --model builtin:square-weights --output {output}"
    ));
    let dataset = Dataset::open(&workspace.path(output)).unwrap();
    (0..dataset.part_count())
        .flat_map(|part| dataset.rows(part, &NEVER).unwrap())
        .collect()
}

/// Plays a gate to any verdict.
fn gate(workspace: &Workspace, arguments: &str) {
    let outcome = workspace.run(&format!("gate {arguments}"));
    assert!(
        matches!(outcome.code, Some(0 | 10 | 11)),
        "gate {arguments}: {}",
        outcome.stderr
    );
}

const GATE: &str = "--candidate builtin:square-weights --baseline builtin:disc-count";

#[test]
fn the_table_is_part_of_what_games_are_and_exact_scores_stay_exact() {
    let workspace = Workspace::new();
    let plain = config(&workspace, "plain", &[], "");
    let rows = generate(&workspace, &plain, "plain");
    for (name, table) in [
        ("rank", "rank = 1"),
        ("threshold", "threshold = 0.0"),
        ("horizon", "extension = \"horizon\""),
        ("every-depth", "extension = \"every-depth\"\nrank = 6"),
    ] {
        let config = config(&workspace, name, &[], table);
        let found = generate(&workspace, &config, name);
        assert_ne!(rows, found, "{name} changed nothing");
        let recipe = |name: &str| {
            sealed(&workspace.path(&format!("{name}/manifest.json")))["recipe"].clone()
        };
        assert_ne!(recipe("plain"), recipe(name));
        for row in &found {
            assert_eq!(row.exact, Some(row.empties <= 8), "{name}: {row:?}");
        }
        // Exact rows are solved again by searches that know nothing of the table.
        check_exact_scores(&found);
        workspace.done(&format!("dataset verify {name} --remake 1"));
        let outcome = workspace.run(&format!(
            "generate --config {plain} --model builtin:square-weights --output {name}"
        ));
        assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
        gate(
            &workspace,
            &format!("--config {config} {GATE} --output gate-{name}"),
        );
        workspace.done(&format!("dataset verify gate-{name} --remake 1"));
    }
    gate(
        &workspace,
        &format!("--config {plain} {GATE} --output gate-plain"),
    );
    let games = |name: &str| {
        std::fs::read(workspace.path(&format!("gate-{name}/games/part-00000.parquet"))).unwrap()
    };
    assert_ne!(games("plain"), games("rank"));
    // Shards carry the table with their plan.
    let model = "--config configs/rank.toml --model builtin:square-weights";
    workspace.done(&format!(
        "generate --plan plan.json {model} --shards 2 --output shards"
    ));
    for call in ["run plan.json 0", "run plan.json 1", "finish plan.json"] {
        workspace.done(&format!("shard {call}"));
    }
    check_same(
        &workspace.path("rank"),
        &workspace.path("shards"),
        "shards with [selective]",
    );
}

#[test]
fn a_table_that_cannot_be_is_an_error_that_names_its_key() {
    let workspace = Workspace::new();
    for (table, expected) in [
        (
            "rank = 0",
            "selective.rank = 0: expected a whole number from 1 to 36 (moves)",
        ),
        (
            "rank = 37",
            "selective.rank = 37: expected a whole number from 1 to 36 (moves)",
        ),
        (
            "threshold = -1.0",
            "selective.threshold = -1.0: expected a number from 0 to 128 (discs)",
        ),
        (
            "threshold = nan",
            "selective.threshold = nan: expected a number from 0 to 128 (discs)",
        ),
        (
            "extension = \"always\"",
            "selective.extension = \"always\": expected \"horizon\" or \"every-depth\"",
        ),
        ("depth = 3", "selective.depth: unknown key"),
        (
            "# nothing",
            "[selective]: it has no key\nset threshold, rank or extension, or leave the table out",
        ),
    ] {
        let config = config(&workspace, "wrong", &[], table);
        let outcome = workspace.run(&format!("generate --config {config} --output data"));
        assert_eq!(outcome.code, Some(2), "{table}: {}", outcome.stderr);
        assert!(
            outcome.stderr.contains(expected),
            "{table}: {}",
            outcome.stderr
        );
    }
    let text =
        shipped("smoke.toml").replace("\n[train]", "\n[generate.selective]\nrank = 3\n\n[train]");
    workspace.write("configs/wrong.toml", text);
    let outcome = workspace.run("generate --config configs/wrong.toml --output data");
    assert_eq!(outcome.code, Some(2));
    assert!(
        outcome.stderr.ends_with("write [selective]\n"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn a_level_in_sigmas_is_taken_by_every_stage_and_by_searches_of_positions() {
    let workspace = Workspace::new();
    let sigmas = "{ t = 0.7 }";
    let changes = [
        ("generate.mpc_level", sigmas),
        ("gate.mpc_level", sigmas),
        ("fit_mpc.level", sigmas),
    ];
    let path = config(&workspace, "sigmas", &changes, "");
    let report = json(
        &workspace,
        &format!("fit-mpc --config {path} --model builtin:square-weights --models models --json"),
    );
    assert_eq!(report["metrics"]["level"], serde_json::json!({"t": 0.7}));
    let levels = report["metrics"]["nodes"]["levels"].as_array().unwrap();
    // A margin that cuts more than 95 %, and not the 1.4 sigmas of the source.
    let nodes = |level: Value| {
        levels.iter().find(|found| found["level"] == level).unwrap()["nodes"]
            .as_u64()
            .unwrap()
    };
    assert!(nodes(Value::Null) < nodes(73.into()), "{levels:?}");
    let fitted = "--model models/v0001";
    workspace.done(&format!(
        "generate --config {path} {fitted} --output selfplay"
    ));
    workspace.done("dataset verify selfplay --remake 1 --models models");
    gate(
        &workspace,
        &format!(
            "--config {path} --candidate models/v0001 --baseline builtin:square-weights --output gate"
        ),
    );
    let manifest = sealed(&workspace.path("selfplay/manifest.json"));
    assert_eq!(
        manifest["config"]["mpc_level"],
        serde_json::json!({"t": 0.7})
    );

    workspace.write(
        "start.obf",
        "---------------------------OX------XO--------------------------- X;\n",
    );
    let nodes = |options: &str| {
        let values = json(
            &workspace,
            &format!("eval start.obf {fitted} --depth 7 --json {options}"),
        );
        values["total"]["nodes"].as_u64().unwrap()
    };
    assert_eq!(
        nodes("--mpc-level t=0.7"),
        nodes(&format!("--config {path}"))
    );
    assert_eq!(
        nodes("--mpc-level 100"),
        nodes(&format!("--config {path} --mpc-level 100"))
    );
    assert!(nodes("--mpc-level t=0.7") < nodes("--mpc-level 100"));
    let pruned = config(&workspace, "pruned", &[], "rank = 3");
    assert!(nodes(&format!("--config {pruned} --mpc-level 100")) < nodes("--mpc-level 100"));
    for option in ["t=-1", "t=x"] {
        let outcome = workspace.run(&format!("eval start.obf --depth 3 --mpc-level {option}"));
        assert_eq!(outcome.code, Some(2));
        assert!(
            outcome.stderr.contains("or t=SIGMAS with 0 to 10"),
            "{}",
            outcome.stderr
        );
    }
}

#[test]
fn every_legal_move_has_a_value_and_an_order() {
    let workspace = Workspace::new();
    let lines = [
        "---------------------------OX------XO--------------------------- X;",
        // Black must pass; the game is over.
        "OOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOXX- X;",
        "OOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOO X;",
        "OOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOXXXX-- O;",
    ];
    workspace.write("positions.obf", lines.join("\n") + "\n");
    let model = "--model builtin:square-weights";
    let values = |options: &str| {
        json(
            &workspace,
            &format!("eval positions.obf {model} --json {options}"),
        )
    };
    for options in [
        "--depth 0",
        "--depth 1",
        "--depth 5",
        "--depth 3 --exact-empties 10",
    ] {
        let (with, without) = (values(&format!("{options} --moves")), values(options));
        let positions = with["positions"].as_array().unwrap();
        for (position, plain) in positions
            .iter()
            .zip(without["positions"].as_array().unwrap())
        {
            assert_eq!(plain.get("moves"), None);
            assert_eq!(
                (&position["score"], &position["move"]),
                (&plain["score"], &plain["move"]),
                "{options}"
            );
            let moves = position["moves"].as_array().unwrap();
            let scores: Vec<i64> = moves
                .iter()
                .map(|found| found["score"].as_i64().unwrap())
                .collect();
            assert!(
                scores.is_sorted_by(|left, right| left >= right),
                "{options}: {scores:?}"
            );
            assert!(
                moves
                    .iter()
                    .all(|found| found["order"].is_i64() && found["move"].is_string())
            );
            if options != "--depth 0" && !moves.is_empty() {
                assert_eq!(
                    position["score"], moves[0]["score"],
                    "{options}: {position}"
                );
            }
        }
        let counts: Vec<usize> = positions
            .iter()
            .map(|position| position["moves"].as_array().unwrap().len())
            .collect();
        assert_eq!(counts, [4, 0, 0, 1], "{options}");
    }
    let text = workspace.done(&format!("eval positions.obf {model} --depth 2 --moves"));
    assert!(text.contains("\nmoves of 1: "), "{text}");
}
