//! Stages cut into shards: made in any order, by several processes at once or twice, they give the
//! bytes of a local run. Self-play in shards is tested in stages/generate.rs and
//! files/lies/untrue.rs.

use crate::support::workspace::{self, Workspace, check_same, copy_folder};
use renma::artifact::seal::{read_sealed, write_sealed};
use renma::artifact::{
    GATE_GAMES, GameId, GateGameRow, MPC_SAMPLES, MpcSampleRow, NEVER, Table, TableRow,
};
use renma::engine::{Game, Score, Square, Squares};
use serde_json::Value;
use std::path::Path;

const FIT: [(&str, &str); 4] = [
    ("fit_mpc.games", "7"),
    ("fit_mpc.part_games", "2"),
    ("fit_mpc.depth_max", "3"),
    ("gate.games", "400"),
];

/// A sequential test of weak players; it is decided long before its last batch.
const MATCH: &str = "--candidate builtin:disc-count --baseline builtin:square-weights";

fn config(workspace: &Workspace, name: &str, changes: &[(&str, &str)]) -> String {
    let quick = [("gate.depth", "1"), ("gate.exact_empties", "4")];
    workspace.config(name, "smoke", &[&FIT, quick.as_slice(), changes].concat())
}

fn status(workspace: &Workspace, plan: &str, options: &str) -> Value {
    serde_json::from_str(&workspace.done(&format!("shard status {plan} --json {options}"))).unwrap()
}

fn numbers(value: &Value) -> Vec<u64> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|number| number.as_u64().unwrap())
        .collect()
}

/// Runs the shards that are needed, the last first, until nothing more is; gives how many were run.
fn run_needed(workspace: &Workspace, plan: &str, options: &str) -> usize {
    let mut runs = 0;
    loop {
        let found = status(workspace, plan, options);
        let needed = numbers(&found["needed"]);
        assert_eq!(found["complete"], needed.is_empty(), "{found}");
        if needed.is_empty() {
            return runs;
        }
        for shard in needed.into_iter().rev() {
            workspace.done(&format!(
                "shard run {plan} {shard} --threads {}",
                1 + shard % 2
            ));
            runs += 1;
        }
    }
}

/// Nothing but locks may differ.
fn check_same_stage(workspace: &Workspace, local: &str, shards: &str) {
    check_same(
        &workspace.path(local),
        &workspace.path(shards),
        &format!("{local} and {shards}"),
    );
}

#[test]
fn mpc_statistics_from_shards_are_those_of_one_machine() {
    let workspace = Workspace::new();
    let config = config(&workspace, "tiny", &[]);
    let fit = |registry: &str, output: &str| {
        format!(
            "--config {config} --model builtin:square-weights --models {registry} --output {output}"
        )
    };
    let id = workspace.done(&format!("fit-mpc {}", fit("local", "local-samples")));
    workspace.done(&format!(
        "fit-mpc --plan plan.json --shards 3 {}",
        fit("shared", "samples")
    ));
    let begun = status(&workspace, "plan.json", "");
    assert_eq!(
        (begun["stage"].as_str(), begun["shards"].as_u64()),
        (Some("fit-mpc"), Some(3))
    );
    assert_eq!(
        (numbers(&begun["done"]), numbers(&begun["needed"])),
        (vec![], vec![0, 1, 2])
    );
    workspace.done("shard run plan.json 1");
    assert_eq!(numbers(&status(&workspace, "plan.json", "")["done"]), [1]);
    workspace.ends(
        "shard finish plan.json",
        75,
        &["samples", "part 0 is missing"],
    );
    assert!(!workspace.path("shared").exists(), "nothing was fitted");
    assert_eq!(run_needed(&workspace, "plan.json", ""), 2);
    assert!(
        workspace
            .done("shard run plan.json 0 --json")
            .contains("\"skipped\":true")
    );
    assert_eq!(workspace.done("shard finish plan.json"), id);
    check_same_stage(&workspace, "local", "shared");
    check_same_stage(&workspace, "local-samples", "samples");
    assert_eq!(
        workspace.done("shard finish plan.json"),
        id,
        "it was finished"
    );
}

#[test]
fn a_match_in_shards_has_the_verdict_and_the_files_of_one_machine() {
    let workspace = Workspace::new();
    let config = config(&workspace, "tiny", &[("gate.mode", "\"sprt\"")]);
    let outcome = workspace.run(&format!("gate --config {config} {MATCH} --output local"));
    assert_eq!(outcome.code, Some(10), "{}", outcome.stderr);
    let mut runs = Vec::new();
    for ahead in [1, 7, 1000] {
        let (plan, output) = (format!("plan{ahead}.json"), format!("match{ahead}"));
        workspace.done(&format!(
            "gate --plan {plan} --config {config} {MATCH} --output {output}"
        ));
        runs.push(run_needed(&workspace, &plan, &format!("--ahead {ahead}")));
        let outcome = workspace.run(&format!("shard finish {plan}"));
        assert_eq!(outcome.code, Some(10), "{}", outcome.stderr);
        check_same_stage(&workspace, "local", &output);
        assert_eq!(
            run_needed(&workspace, &plan, ""),
            0,
            "what lay beyond the decision is not wanted again"
        );
    }
    let played = std::fs::read_dir(workspace.path("local/games"))
        .unwrap()
        .count();
    assert_eq!(
        runs[0], played,
        "one batch at a time plays what the verdict needs"
    );
    assert_eq!(*runs.last().unwrap(), 25, "all batches at once");
}

#[test]
fn a_match_that_goes_on_in_shards_has_no_verdict_until_it_is_finished() {
    let workspace = Workspace::new();
    let of_games = |games: &str| {
        config(
            &workspace,
            games,
            &[("gate.mode", "\"games\""), ("gate.games", games)],
        )
    };
    let (short, long) = (of_games("20"), of_games("40"));
    for output in ["alone", "match"] {
        workspace.run(&format!("gate --config {short} {MATCH} --output {output}"));
    }
    workspace.run(&format!("gate --config {long} {MATCH} --output alone"));
    workspace.done(&format!(
        "gate --plan plan.json --shards 3 --config {long} {MATCH} --output match"
    ));
    // The last part of the short match is made again, longer.
    workspace.done("shard run plan.json 1");
    assert!(
        !workspace.path("match/verdict.json").exists()
            && !workspace.path("match/manifest.json").exists()
    );
    run_needed(&workspace, "plan.json", "");
    assert_eq!(workspace.run("shard finish plan.json").code, Some(10));
    check_same_stage(&workspace, "alone", "match");
}

#[test]
fn a_match_without_early_end_takes_shards_of_several_batches() {
    let workspace = Workspace::new();
    let config = config(
        &workspace,
        "tiny",
        &[("gate.mode", "\"games\""), ("gate.games", "90")],
    );
    workspace.done(&format!(
        "generate --config {config} --model builtin:disc-count --output data"
    ));
    let options = format!("--config {config} {MATCH} --avoid data");
    workspace.run(&format!("gate {options} --output local"));
    workspace.done(&format!(
        "gate --plan plan.json --shards 2 {options} --output shared"
    ));
    // 45 pairs, the first 24 of which are the first shard's.
    let first: Value =
        serde_json::from_str(&workspace.done("shard run plan.json 0 --json")).unwrap();
    assert_eq!(first["games_played"], 48, "{first}");
    assert_eq!(run_needed(&workspace, "plan.json", "--ahead 1"), 1);
    assert_eq!(workspace.run("shard finish plan.json").code, Some(10));
    check_same_stage(&workspace, "local", "shared");
    workspace.done(&format!(
        "generate --config {config} --model builtin:square-weights --output other"
    ));
    std::fs::remove_dir_all(workspace.path("data")).unwrap();
    workspace.ends(
        "shard run plan.json 0",
        2,
        &["plan.json", "its dataset data", "does not exist"],
    );
    std::fs::rename(workspace.path("other"), workspace.path("data")).unwrap();
    workspace.ends(
        "shard run plan.json 0",
        65,
        &["data has content", "the plan was made for"],
    );
}

#[test]
fn a_plan_of_the_same_stage_keeps_its_shards_and_another_begins_a_new_log() {
    let workspace = Workspace::new();
    let config = config(
        &workspace,
        "tiny",
        &[("generate.games", "400"), ("generate.part_games", "10")],
    );
    let plan = |options: &str| {
        let call = format!(
            "generate --plan plan.json --force --config {config} --model builtin:disc-count --output out {options}"
        );
        workspace.done(&call);
        serde_json::from_slice::<Value>(&std::fs::read(workspace.path("plan.json")).unwrap())
            .unwrap()
    };
    let shards = |plan: &Value| plan["shards"].as_array().unwrap().len();
    let log = "plan.json.workers.jsonl";
    assert_eq!(
        shards(&plan("")),
        32,
        "little work is cut for a few workers"
    );
    let cut = plan("--shards 3");
    assert_eq!(shards(&cut), 3);
    workspace.write(log, "{}");
    assert_eq!(plan(""), cut);
    assert!(workspace.path(log).exists(), "its shards were run");
    assert_eq!(shards(&plan("--generation 2")), 32);
    assert!(!workspace.path(log).exists(), "other shards were run");
}

#[test]
fn a_shard_run_by_several_processes_at_once_is_made_once() {
    let workspace = Workspace::new();
    let config = config(
        &workspace,
        "tiny",
        &[("gate.mode", "\"games\""), ("gate.games", "64")],
    );
    workspace.run(&format!("gate --config {config} {MATCH} --output local"));
    workspace.done(&format!(
        "gate --plan plan.json --shards 1 --config {config} {MATCH} --output shared"
    ));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| workspace.done("shard run plan.json 0"));
        }
    });
    assert_eq!(workspace.run("shard finish plan.json").code, Some(10));
    check_same_stage(&workspace, "local", "shared");
}

#[test]
fn a_stage_that_cannot_be_cut_says_so() {
    let workspace = Workspace::new();
    let source = config(
        &workspace,
        "source",
        &[("fit_mpc.method", "\"source\""), ("fit_mpc.t", "1.4")],
    );
    let model = "--model builtin:square-weights";
    let line = config(&workspace, "line", &[]);
    for (options, words) in [
        (
            format!("{source} {model} --output samples"),
            "fit_mpc.method = \"source\" cannot be cut",
        ),
        (format!("{line} {model}"), "add --output DIR"),
    ] {
        workspace.ends(
            &format!("fit-mpc --plan plan.json --config {options}"),
            2,
            &[words],
        );
        assert!(!workspace.path("plan.json").exists(), "{options}");
    }
}

#[test]
fn a_changed_model_is_refused_by_every_shard() {
    let workspace = Workspace::new();
    let config = config(&workspace, "tiny", &[]);
    let fit = format!("--config {config} --models registry");
    workspace.done(&format!("fit-mpc {fit} --model builtin:square-weights"));
    workspace.done(&format!(
        "fit-mpc --plan plan.json {fit} --model v0001 --output samples"
    ));
    std::fs::remove_dir_all(workspace.path("registry/v0001")).unwrap();
    let words = [
        "plan.json",
        "its model registry/v0001",
        "does not exist",
        "the folder in which the plan was made",
    ];
    for arguments in [
        "shard run plan.json 0",
        "shard status plan.json",
        "shard finish plan.json",
    ] {
        workspace.ends(arguments, 2, &words);
    }
    assert!(!Path::new(&workspace.path("samples")).exists());
}

/// A training of 15 phases after three wide parts.
fn training(workspace: &Workspace) -> String {
    let phases = (1..=15)
        .map(|phase| (4 * phase).to_string())
        .rev()
        .collect::<Vec<_>>()
        .join(", ");
    let features = workspace::shipped("features/es-cube.toml");
    let features = features.replace(
        "phase_empties_max = [60]",
        &format!("phase_empties_max = [{phases}]"),
    );
    assert!(features.contains(&phases), "{features}");
    workspace.write("configs/many.toml", features);
    let changes = [
        ("run.features", "\"many.toml\""),
        ("train.epochs", "2"),
        ("generate.games", "40"),
    ];
    let config = config(workspace, "train", &changes);
    workspace.done(&format!(
        "generate --config {config} --model builtin:disc-count --output data"
    ));
    format!("--config {config} --dataset data")
}

#[test]
fn a_training_in_shards_is_that_of_one_machine() {
    let workspace = Workspace::new();
    let options = training(&workspace);
    let id = workspace.done(&format!("train {options} --models local"));
    workspace.done(&format!(
        "train --plan plan.json {options} --models shared --memory 1MiB --shards 100"
    ));
    let begun = status(&workspace, "plan.json", "");
    assert_eq!(numbers(&begun["needed"]), [0, 1, 2], "{begun}");
    workspace.ends(
        "shard run plan.json 5",
        75,
        &["cannot begin part 5: part 0 is missing"],
    );
    workspace.done("shard run plan.json 2");
    assert_eq!(
        numbers(&status(&workspace, "plan.json", "")["needed"]),
        [0, 1]
    );
    assert_eq!(run_needed(&workspace, "plan.json", ""), 17);
    workspace.ends("model show v0001 --models shared", 2, &["v0001"]);
    assert_eq!(workspace.done("shard finish plan.json --seed 1"), id);
    check_same_stage(&workspace, "local", "shared");
    assert!(
        workspace
            .done("shard run plan.json 3 --json")
            .contains("\"skipped\":true")
    );
    assert_eq!(
        status(&workspace, "plan.json", "")["complete"],
        true,
        "the model is published"
    );
    assert_eq!(workspace.done("shard finish plan.json"), id);
}

#[test]
fn fewer_shards_than_parts_keep_the_rounds_apart() {
    let workspace = Workspace::new();
    let options = training(&workspace);
    workspace.done(&format!("train {options} --models local"));
    workspace.done(&format!(
        "train --plan plan.json {options} --models shared --shards 4"
    ));
    let rounds: Vec<usize> = std::iter::from_fn(|| {
        let needed = numbers(&status(&workspace, "plan.json", "")["needed"]);
        needed
            .iter()
            .for_each(|shard| drop(workspace.done(&format!("shard run plan.json {shard}"))));
        (!needed.is_empty()).then_some(needed.len())
    })
    .collect();
    assert_eq!((rounds.len(), rounds[0] <= 3), (2, true), "{rounds:?}");
    workspace.done("shard finish plan.json");
    check_same_stage(&workspace, "local", "shared");
}

#[test]
fn damage_to_an_input_is_blamed_on_no_worker() {
    let workspace = Workspace::new();
    let options = training(&workspace);
    workspace.done(&format!(
        "train --plan plan.json {options} --models shared --shards 4"
    ));
    run_needed(&workspace, "plan.json", "");
    let line = |shard: usize| format!("{{\"shard\":{shard},\"worker\":\"w\",\"code\":0}}\n");
    workspace.write(
        "plan.json.workers.jsonl",
        (0..18).map(line).collect::<String>(),
    );
    let part = workspace.path("data/positions/part-00000.parquet");
    let mut bytes = std::fs::read(&part).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&part, bytes).unwrap();
    let outcome = workspace.run("shard finish plan.json");
    assert_eq!(outcome.code, Some(65), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("data/positions/part-00000.parquet"),
        "{}",
        outcome.stderr
    );
    assert!(!outcome.stderr.contains("made it"), "{}", outcome.stderr);
}

/// Changes the rows of a part and writes it as sound as before.
fn falsify<R: TableRow>(table: &Table, path: &Path, change: impl Fn(&mut R)) {
    falsify_all(table, path, |rows: &mut Vec<R>| {
        rows.iter_mut().for_each(&change);
    });
}

fn falsify_all<R: TableRow>(table: &Table, path: &Path, change: impl Fn(&mut Vec<R>)) {
    let footer = Table::read_footer(path).unwrap();
    let (_, _, batch) = table.read_unlisted(path, |_| Ok(1 << 20), &NEVER).unwrap();
    let mut rows = R::from_batch(&batch).unwrap();
    change(&mut rows);
    let kept = |(key, _): &(&String, &String)| *key != "renma.content" && key.starts_with("renma.");
    let footer = footer
        .iter()
        .filter(kept)
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    std::fs::remove_file(path).unwrap();
    table.write_rows(path, &rows, &footer).unwrap();
}

#[test]
fn false_samples_and_games_are_found_and_nothing_is_published() {
    let workspace = Workspace::new();
    let config = config(
        &workspace,
        "tiny",
        &[("gate.mode", "\"games\""), ("gate.games", "16")],
    );
    let fit = format!(
        "--config {config} --model builtin:square-weights --models registry --output samples"
    );
    workspace.done(&format!("fit-mpc --plan fit.json --shards 2 {fit}"));
    workspace.done(&format!(
        "gate --plan gate.json --config {config} {MATCH} --output match"
    ));
    for plan in ["fit.json", "gate.json"] {
        run_needed(&workspace, plan, "");
    }
    let part = workspace.path("samples/samples/part-00001.parquet");
    let sound = std::fs::read(&part).unwrap();
    falsify(&MPC_SAMPLES, &part, |row: &mut MpcSampleRow| {
        row.score.0 += Score::DISC.0;
    });
    workspace.ends(
        "shard finish fit.json",
        65,
        &["part-00001.parquet", "are not those of its searches"],
    );
    assert!(!workspace.path("registry").join("v0001").exists());
    std::fs::remove_file(&part).unwrap();
    run_needed(&workspace, "fit.json", "");
    assert!(
        std::fs::read(&part).unwrap() == sound,
        "the shard made the part again"
    );
    let part = workspace.path("match/games/part-00000.parquet");
    falsify(&GATE_GAMES, &part, |row: &mut GateGameRow| {
        row.result = -row.result;
    });
    workspace.ends(
        "shard finish gate.json",
        65,
        &["part-00000.parquet", "its moves lead to"],
    );
    assert!(!workspace.path("match/verdict.json").exists());
}

/// A change of all rows of a batch.
type Lie = fn(&mut Vec<GateGameRow>);

/// Lies that no sample is needed for, and the words that tell them; games are numbered from the
/// first of the batch.
const LIES: [(&str, Lie); 7] = [
    ("its moves lead to", |rows| {
        rows.iter_mut()
            .for_each(|row| row.result = row.result.abs());
    }),
    ("do not begin with one opening", |rows| {
        rows[3] = GateGameRow {
            game_id: GameId(3),
            pair: 1,
            candidate_black: false,
            ..rows[1].clone()
        };
    }),
    ("do not begin with one opening", |rows| {
        // Another last move of the opening, and a game that is played to its end.
        let last = usize::from(rows[5].opening_plies) - 1;
        let moves: Vec<Square> = Game::from_transcript(&rows[5].moves)
            .unwrap()
            .moves()
            .collect();
        let mut game = Game::from_moves(moves[..last].iter().copied()).unwrap();
        let other = Squares(game.to_move().position.legal_moves())
            .find(|square| *square != moves[last])
            .unwrap();
        game.play(other).unwrap();
        while !game.is_over() {
            game.play(
                Squares(game.to_move().position.legal_moves())
                    .next()
                    .unwrap(),
            )
            .unwrap();
        }
        (rows[5].moves, rows[5].result) = (game.transcript(), -game.black_discs().0 as i8);
    }),
    ("has the opening of a pair before it", |rows| {
        for game in [2, 3] {
            rows[game] = GateGameRow {
                game_id: GameId(game as u64),
                pair: 1,
                ..rows[game - 2].clone()
            };
        }
    }),
    ("is in the place of game", |rows| {
        rows[2].candidate_black = false;
    }),
    ("its moves end before the game does", |rows| {
        let length = rows[5].moves.len();
        rows[5].moves.truncate(length - 2);
    }),
    ("moves, ", |rows| {
        let end = rows[7].moves.len() - 2;
        rows[7].moves.replace_range(end - 2..end, "d4");
    }),
];

/// A workspace with a match of 256 games that shards have played, before it is published.
fn match_in_shards() -> Workspace {
    let workspace = Workspace::new();
    let config = config(
        &workspace,
        "tiny",
        &[("gate.mode", "\"games\""), ("gate.games", "256")],
    );
    workspace.done(&format!(
        "gate --plan gate.json --config {config} {MATCH} --output match"
    ));
    run_needed(&workspace, "gate.json", "");
    workspace
}

#[test]
fn a_match_that_contradicts_its_moves_is_never_published() {
    let workspace = match_in_shards();
    let part = workspace.path("match/games/part-00001.parquet");
    let sound = std::fs::read(&part).unwrap();
    let first = GATE_GAMES
        .read_unlisted(&part, |_| Ok(1 << 20), &NEVER)
        .unwrap()
        .2;
    let first = GateGameRow::from_batch(&first).unwrap()[0].game_id.0;
    for (words, lie) in LIES {
        falsify_all(&GATE_GAMES, &part, |rows: &mut Vec<GateGameRow>| {
            let number = |rows: &mut Vec<GateGameRow>, change: fn(u64, u64) -> u64, by: u64| {
                for row in rows {
                    row.game_id.0 = change(row.game_id.0, by);
                    row.pair = change(row.pair, by / 2);
                }
            };
            number(rows, |id, by| id - by, first);
            lie(rows);
            number(rows, |id, by| id + by, first);
        });
        let before = std::fs::read(&part).unwrap();
        assert!(before != sound, "{words}: the lie changes nothing");
        for seed in 0..3 {
            let words = ["part-00001.parquet", words];
            workspace.ends(&format!("shard finish gate.json --seed {seed}"), 65, &words);
        }
        assert!(!workspace.path("match/verdict.json").exists());
        std::fs::write(&part, &sound).unwrap();
    }
    let told = workspace.run("shard finish gate.json --seed 1").stderr;
    let words = "60 of 128 pairs (46.9 %) made again with --seed 1; false pairs are found with probability 95 %";
    assert!(told.contains(words), "{told}");
}

#[test]
fn games_that_were_not_played_are_found_by_the_sample() {
    let workspace = match_in_shards();
    // Each second game of a pair becomes the first one with the colors exchanged: legal, and won by
    // the other side.
    let part = workspace.path("match/games/part-00000.parquet");
    falsify_all(&GATE_GAMES, &part, |rows: &mut Vec<GateGameRow>| {
        for game in (1..rows.len()).step_by(2) {
            let other = rows[game - 1].clone();
            rows[game] = GateGameRow {
                game_id: GameId(other.game_id.0 + 1),
                candidate_black: false,
                result: -other.result,
                ..other
            };
        }
    });
    for seed in 0..5 {
        let words = ["part-00000.parquet", "does not play out the same again"];
        workspace.ends(&format!("shard finish gate.json --seed {seed}"), 65, &words);
    }
}

#[test]
fn a_verdict_is_verified_before_it_promotes() {
    let workspace = Workspace::new();
    let changes = [("gate.mode", "\"games\""), ("gate.games", "16")];
    let config = config(&workspace, "tiny", &changes);
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/shipped");
    let document: Value = read_sealed(&shipped.join("model.json")).unwrap();
    let id = document["id"].as_str().unwrap();
    copy_folder(&shipped, &workspace.path("registry").join(id));
    let sides = format!("--candidate registry/{id} --baseline builtin:disc-count");
    let outcome = workspace.run(&format!("gate --config {config} {sides} --output match"));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let part = workspace.path("match/games/part-00000.parquet");
    let sound = [
        part.clone(),
        workspace.path("match/manifest.json"),
        workspace.path("match/verdict.json"),
    ]
    .map(|path| (std::fs::read(&path).unwrap(), path));
    falsify(&GATE_GAMES, &part, |row: &mut GateGameRow| row.result = 64);
    let promote = &format!("promote {id} --models registry --verdict match");
    workspace.ends(promote, 65, &["match/games/part-00000.parquet"]);
    for (bytes, path) in &sound {
        std::fs::write(path, bytes).unwrap();
    }
    let verdict = workspace.path("match/verdict.json");
    let mut value: Value = read_sealed(&verdict).unwrap();
    value["openings"]["drawn"] = 1_000_000.into();
    write_sealed(&verdict, &value).unwrap();
    workspace.ends(promote, 65, &["match/verdict.json"]);
    std::fs::write(&verdict, &sound[2].0).unwrap();
    workspace.done(promote);
}
