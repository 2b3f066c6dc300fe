//! The whole loop, tiny, through the program: repeatable, skipping what is done, and a champion
//! that moves on verdicts.

use crate::support::workspace::{Workspace, all_paths, check_same, copy_folder, files};
use renma::artifact::dataset::folder::{file_entry, part_path};
use renma::artifact::dataset::manifest::content_of;
use renma::artifact::dataset::verdict::read_verdict;
use renma::artifact::seal::write_sealed;
use renma::artifact::{
    ChampionFile, DatasetKind, Footer, GATE_GAMES, GateGameRow, Manifest, NEVER, Table, TableRow,
};
use renma::engine::{Discs, Game, Square, Squares};
use renma::random::{Stream, stream};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::LazyLock;

/// The stages of `pipeline.sh` for each generation, with the paths it uses; gives the last gate's
/// exit code.
fn run_loop(workspace: &Workspace, config: &str, generations: u32, options: &str) -> Option<i32> {
    let data = "datasets/smoke";
    let common = format!("--config {config} --models models/smoke {options}");
    let mut champion = "builtin:disc-count".to_owned();
    let mut datasets = String::new();
    let mut code = None;
    for generation in 1..=generations {
        let folder = |stage: &str| format!("{data}/{stage}/generation={generation:04}");
        let (selfplay, mpc, gate) = (folder("selfplay"), folder("mpc"), folder("gate"));
        datasets += &format!(" {selfplay}");
        let common = &common;
        workspace.done(&format!(
            "generate {common} --generation {generation} --model {champion} --output {selfplay}"
        ));
        let draft = workspace.done(&format!(
            "train {common} --parent {champion} --dataset{datasets}"
        ));
        let candidate = workspace.done(&format!(
            "fit-mpc {common} --generation {generation} --model {draft} --output {mpc}"
        ));
        let arguments = format!(
            "--generation {generation} --candidate {candidate} --baseline {champion} --avoid{datasets} --output {gate}"
        );
        let outcome = workspace.run(&format!("gate {common} {arguments}"));
        match outcome.code {
            Some(0) => {
                workspace.done(&format!(
                    "promote {candidate} --models models/smoke --verdict {gate}"
                ));
                champion = candidate;
            }
            Some(10 | 11) => {}
            _ => panic!("gate {arguments}\n{}", outcome.stderr),
        }
        code = outcome.code;
    }
    code
}

/// The smoke config against a weaker start, so that a generation is accepted.
fn smoke(workspace: &Workspace) -> String {
    workspace.config("smoke", "smoke", &[("run.start", "\"builtin:disc-count\"")])
}

/// What the first gate of a run avoids.
const AVOID: &str = "--avoid datasets/smoke/selfplay/generation=0001";

/// A finished run, to be copied.
static RUN: LazyLock<Workspace> = LazyLock::new(|| {
    let run = Workspace::new();
    let config = smoke(&run);
    run_loop(&run, &config, 2, "--threads 1");
    run
});

fn copy_of_run() -> Workspace {
    Workspace::copy_of(&RUN)
}

/// What tells whether a file was written again.
fn identities(folder: &Path) -> BTreeMap<String, (u64, i64, i64)> {
    let shown = files(folder).into_keys();
    shown
        .map(|name| {
            let metadata = folder.join(&name).metadata().unwrap();
            (
                name,
                (metadata.ino(), metadata.mtime(), metadata.mtime_nsec()),
            )
        })
        .collect()
}

#[test]
fn two_runs_give_the_same_bytes_and_a_third_does_nothing() {
    let workspace = Workspace::new();
    let config = smoke(&workspace);
    let code = run_loop(&workspace, &config, 2, "--threads 2");
    for folder in ["datasets", "models"] {
        check_same(&workspace.path(folder), &RUN.path(folder), "two runs");
    }
    let names: Vec<String> = files(&workspace.path("models/smoke")).into_keys().collect();
    for version in ["v0001", "v0002", "v0003", "v0004"] {
        assert!(
            names.contains(&format!("{version}/model.json")),
            "{names:?}"
        );
    }
    assert!(
        names.contains(&"champion.json".to_owned()),
        "no generation was accepted: {names:?}"
    );
    let leftovers: Vec<_> = all_paths(workspace.root())
        .into_iter()
        .filter(|path| path.to_str().unwrap().contains("/.tmp-"))
        .collect();
    assert!(leftovers.is_empty(), "{leftovers:?}");
    let before = identities(workspace.root());
    assert_eq!(run_loop(&workspace, &config, 2, "--threads 2"), code);
    let after = identities(workspace.root());
    assert_eq!(before, after, "a finished run was done again");
}

#[test]
fn more_generations_and_a_lost_manifest_change_nothing_that_is_there() {
    let workspace = Workspace::new();
    let config = smoke(&workspace);
    run_loop(&workspace, &config, 1, "");
    // What a kill before the last rename of each stage leaves.
    for name in [
        "datasets/smoke/selfplay/generation=0001/manifest.json",
        "datasets/smoke/selfplay/generation=0001/positions/part-00001.parquet",
        "datasets/smoke/mpc/generation=0001/manifest.json",
        "datasets/smoke/gate/generation=0001/verdict.json",
    ] {
        std::fs::remove_file(workspace.path(name)).unwrap();
    }
    run_loop(&workspace, &config, 2, "");
    for folder in ["datasets", "models"] {
        check_same(
            &workspace.path(folder),
            &RUN.path(folder),
            "continued and whole",
        );
    }
}

fn champion(workspace: &Workspace) -> Option<String> {
    let file = ChampionFile::read(&workspace.path("models/smoke")).unwrap();
    file.champion().map(|promotion| promotion.id.to_string())
}

/// Runs a command and compares its exit code and the champion after it.
fn check(workspace: &Workspace, arguments: &str, code: i32, expected: Option<&str>) {
    let outcome = workspace.run(&format!("{arguments} --models models/smoke"));
    assert_eq!(
        outcome.code,
        Some(code),
        "renma {arguments}\n{}",
        outcome.stderr
    );
    assert_eq!(
        champion(workspace).as_deref(),
        expected,
        "renma {arguments}\n{}",
        outcome.stderr
    );
}

/// A run without a champion, and gates that accept v0002 and v0004 over weaker models.
fn run_with_gates() -> Workspace {
    let workspace = copy_of_run();
    std::fs::remove_file(workspace.path("models/smoke/champion.json")).unwrap();
    for (candidate, gate) in [("v0002", "accepts2"), ("v0004", "accepts4")] {
        let arguments =
            format!("--candidate {candidate} --baseline builtin:disc-count --output {gate}");
        check(
            &workspace,
            &format!("gate --config configs/smoke.toml {arguments}"),
            0,
            None,
        );
    }
    workspace
}

#[test]
fn the_champion_moves_on_accepted_verdicts_alone() {
    let workspace = run_with_gates();
    let worse = workspace.config(
        "worse",
        "smoke",
        &[
            ("train.ratio", "0.0"),
            ("train.start", "\"zero\""),
            ("gate.games", "100"),
        ],
    );
    let data = "datasets/smoke/selfplay/generation=0001";
    let draft = workspace.done(&format!(
        "train --config {worse} --dataset {data} --models models/smoke"
    ));
    let zero = workspace.done(&format!(
        "fit-mpc --config {worse} --model {draft} --models models/smoke"
    ));
    assert_eq!(zero, "v0006");
    let gate = format!("gate --config {worse} --candidate {zero}");
    check(
        &workspace,
        &format!("{gate} --baseline builtin:square-weights --output rejects"),
        10,
        None,
    );
    check(
        &workspace,
        &format!("promote {zero} --verdict rejects"),
        2,
        None,
    );
    check(
        &workspace,
        &format!("{gate} --baseline {zero} --output undecided"),
        11,
        None,
    );
    check(
        &workspace,
        &format!("promote {zero} --verdict undecided"),
        2,
        None,
    );
    check(&workspace, "promote v0004 --verdict accepts2", 2, None);
    check(
        &workspace,
        "promote v0002 --verdict accepts2",
        0,
        Some("v0002"),
    );
    check(
        &workspace,
        &format!("promote {zero} --verdict rejects"),
        2,
        Some("v0002"),
    );
    check(
        &workspace,
        "promote v0004 --verdict accepts4",
        0,
        Some("v0004"),
    );
}

#[test]
fn a_verdict_acts_once_and_a_rollback_stands() {
    let workspace = run_with_gates();
    check(
        &workspace,
        "promote v0002 --verdict accepts2",
        0,
        Some("v0002"),
    );
    check(
        &workspace,
        "promote v0002 --verdict accepts2",
        0,
        Some("v0002"),
    );
    check(
        &workspace,
        "promote v0004 --verdict accepts4",
        0,
        Some("v0004"),
    );
    check(
        &workspace,
        "promote v0002 --verdict accepts2",
        0,
        Some("v0004"),
    );
    check(&workspace, "promote --rollback", 0, Some("v0002"));
    check(
        &workspace,
        "promote v0004 --verdict accepts4",
        2,
        Some("v0002"),
    );
    check(&workspace, "promote v0004", 0, Some("v0004"));
    check(&workspace, "promote --rollback", 0, Some("v0002"));
    check(&workspace, "promote --rollback", 0, None);
    check(&workspace, "promote --rollback", 65, None);
}

#[test]
fn the_champion_plays_where_no_model_is_named() {
    let workspace = run_with_gates();
    check(&workspace, "promote v0002", 0, Some("v0002"));
    let games = "--config configs/smoke.toml --models models/smoke --generation 9";
    workspace.done(&format!("generate {games} --output unnamed"));
    workspace.done(&format!(
        "generate {games} --model champion --output champion"
    ));
    workspace.done(&format!("generate {games} --model v0002 --output named"));
    check_same(
        &workspace.path("unnamed"),
        &workspace.path("named"),
        "no model and the champion's id",
    );
    check_same(
        &workspace.path("champion"),
        &workspace.path("named"),
        "champion and its id",
    );
}

#[test]
fn a_stage_refuses_a_folder_that_holds_something_else() {
    let workspace = copy_of_run();
    let deeper = workspace.config(
        "deeper",
        "smoke",
        &[("fit_mpc.depth_max", "4"), ("gate.depth", "3")],
    );
    let data = workspace.path("datasets/smoke");
    std::fs::remove_file(data.join("gate/generation=0001/verdict.json")).unwrap();
    let before = files(workspace.root());
    for (arguments, code, words) in [
        (
            "fit-mpc --model v0001",
            2,
            "fit_mpc.depth_max is 5 there and 4 here",
        ),
        (
            "gate --candidate v0002 --baseline v0004",
            2,
            "gate.depth is 2 there and 3 here",
        ),
    ] {
        let stage = if arguments.starts_with("fit") {
            "mpc"
        } else {
            "gate"
        };
        for (folder, code, words) in [
            (stage, code, words),
            ("selfplay", 65, "it holds games of self-play, "),
        ] {
            let output = format!("datasets/smoke/{folder}/generation=0001");
            let arguments =
                format!("{arguments} --config {deeper} --models models/smoke --output {output}");
            let outcome = workspace.run(&arguments);
            assert_eq!(outcome.code, Some(code), "{arguments}: {}", outcome.stderr);
            assert!(
                outcome.stderr.contains(words) && outcome.stderr.contains(&output),
                "{}",
                outcome.stderr
            );
            assert!(
                files(workspace.root()) == before,
                "{arguments}: it changed something"
            );
        }
    }
    let output = "datasets/smoke/gate/generation=0001";
    let outcome = workspace.run(&format!("generate --config {deeper} --output {output}"));
    assert_eq!(outcome.code, Some(65), "{}", outcome.stderr);
    assert!(
        files(workspace.root()) == before,
        "generate changed something"
    );
}

/// Changes one game of a gate, with a manifest and a verdict that vouch for it.
fn change_game(gate: &Path, change: impl Fn(&mut Vec<GateGameRow>)) {
    let mut verdict = read_verdict(gate).unwrap();
    let mut manifest = Manifest::read(gate, DatasetKind::Gate).unwrap();
    let path = part_path(gate, &GATE_GAMES, 0);
    let batch = GATE_GAMES
        .read(
            &path,
            file_entry(gate, &manifest.parts[0], &GATE_GAMES).unwrap(),
            &Footer::new(),
            &NEVER,
        )
        .unwrap();
    let mut rows: Vec<GateGameRow> = GateGameRow::from_batch(&batch).unwrap();
    change(&mut rows);
    let mut footer = Table::read_footer(&path).unwrap();
    footer.retain(|key, _| key.starts_with("renma."));
    let entry = GATE_GAMES.write_rows(&path, &rows, &footer).unwrap();
    manifest.parts[0]
        .files
        .insert(GATE_GAMES.name.to_owned(), entry);
    manifest.content = content_of(&manifest.parts);
    manifest.write(gate).unwrap();
    verdict.games_content = manifest.content;
    write_sealed(&gate.join("verdict.json"), &verdict).unwrap();
}

/// Ends a game of a gate otherwise, by the rules and with the same result.
fn end_otherwise(row: &mut GateGameRow) {
    let moves: Vec<Square> = Game::from_transcript(&row.moves).unwrap().moves().collect();
    for number in 0.. {
        let mut rng = stream(1, Stream::Game(1, number));
        let mut game = Game::from_moves(moves[..moves.len() - 12].iter().copied()).unwrap();
        while !game.is_over() {
            game.play(
                rng.pick(Squares(game.to_move().position.legal_moves()))
                    .unwrap(),
            )
            .unwrap();
        }
        let Discs(result) = if row.candidate_black {
            game.black_discs()
        } else {
            -game.black_discs()
        };
        if result == i32::from(row.result) && game.transcript() != row.moves {
            row.moves = game.transcript();
            return;
        }
    }
}

#[test]
fn a_remake_passes_on_the_games_as_played_and_fails_on_changed_ones() {
    let workspace = copy_of_run();
    let gate = "datasets/smoke/gate/generation=0001";
    let folder = workspace.path(gate);
    let remake = format!("dataset verify {gate} --remake 100%");
    let report = workspace.done(&format!("{remake} --json"));
    let games = 2 * read_verdict(&folder).unwrap().pairs_done;
    assert!(
        report.contains(&format!("\"games_remade\":{games},")),
        "{report}"
    );
    let changes: [fn(&mut Vec<GateGameRow>); 5] = [
        |rows| rows[5].result += 2,
        |rows| rows[6].moves.truncate(20),
        |rows| rows.swap(8, 9),
        |rows| drop(rows.pop()),
        |rows| end_otherwise(&mut rows[7]),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let copy = workspace.path("copy");
        copy_folder(&folder, &copy);
        change_game(&folder, change);
        let outcome = workspace.run(&remake);
        assert_eq!(
            outcome.code,
            Some(65),
            "change {number}: {}",
            outcome.stderr
        );
        assert!(
            outcome.stderr.contains("games/part-00000.parquet"),
            "change {number}: {}",
            outcome.stderr
        );
        // What follows the rules is found only by playing.
        let is_legal = outcome
            .stderr
            .contains("game 7 does not play out the same again");
        assert_eq!(is_legal, number == 4, "change {number}: {}", outcome.stderr);
        assert_eq!(
            workspace.run(&format!("dataset verify {gate}")).code == Some(0),
            is_legal,
            "change {number}"
        );
        copy_folder(&copy, &folder);
    }
    workspace.done(&remake);
    for (arguments, code, words) in [
        (
            format!("{remake} --models nowhere"),
            2,
            "which played the dataset",
        ),
        (
            "dataset verify nowhere --remake 100%".to_owned(),
            2,
            "nowhere",
        ),
    ] {
        let outcome = workspace.run(&arguments);
        assert_eq!(outcome.code, Some(code), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(words), "{}", outcome.stderr);
    }
}

#[test]
fn another_gate_in_the_same_folder_is_refused_with_what_differs() {
    let workspace = copy_of_run();
    let gate = "datasets/smoke/gate/generation=0001";
    let before = files(&workspace.path(gate));
    let start = "builtin:disc-count";
    let deeper = workspace.config("deeper", "smoke", &[("gate.depth", "3")]);
    for (config, candidate, words) in [
        (deeper.as_str(), "v0002", "gate.depth is 2 there and 3 here"),
        ("configs/smoke.toml", "v0004", "v0004"),
    ] {
        let arguments = format!(
            "--candidate {candidate} --baseline {start} --models models/smoke {AVOID} --output {gate}"
        );
        let outcome = workspace.run(&format!("gate --config {config} {arguments}"));
        assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(words), "{}", outcome.stderr);
        assert!(files(&workspace.path(gate)) == before);
    }
}
