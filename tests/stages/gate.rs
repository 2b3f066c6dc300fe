//! The gate: one verdict however often it is stopped, openings that are new, different and
//! balanced, and games that can be played again.

use crate::support::workspace::{
    ONE_PLY, Outcome, Workspace, all_paths, check_same, copy_folder, files, reached, send,
};
use renma::artifact::dataset::folder::part_path;
use renma::artifact::dataset::verdict::read_verdict;
use renma::artifact::seal::seal;
use renma::artifact::{
    Builtin, Dataset, DatasetKind, GATE_GAMES, GateGameRow, Manifest, NEVER, TableRow, Verdict,
    VerdictFile,
};
use renma::engine::{Depth, Game, Limits, Position, Score, Searcher};
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A sequential test of weak players, a few milliseconds a game.
const QUICK: [(&str, &str); 4] = [
    ("gate.mode", "\"sprt\""),
    ("gate.games", "400"),
    ("gate.depth", "1"),
    ("gate.exact_empties", "4"),
];

/// Like players and narrow bounds, so that the test goes on to its cap, slowly enough to be caught
/// in the middle of it.
const SLOW: [(&str, &str); 5] = [
    ("gate.mode", "\"sprt\""),
    ("gate.games", "320"),
    ("gate.nelo1", "5.0"),
    ("gate.depth", "4"),
    ("gate.exact_empties", "11"),
];

/// The candidate and the baseline of a gate.
const STRONG_WEAK: &str = "--candidate builtin:square-weights --baseline builtin:disc-count";
const WEAK_STRONG: &str = "--candidate builtin:disc-count --baseline builtin:square-weights";
const WEAK_WEAK: &str = "--candidate builtin:disc-count --baseline builtin:disc-count";
const ALIKE: &str = "--candidate builtin:square-weights --baseline builtin:square-weights";

fn quick(workspace: &Workspace, name: &str, changes: &[(&str, &str)]) -> String {
    workspace.config(name, "smoke", &[&QUICK, changes].concat())
}

/// Runs a gate, expects its exit code and gives its verdict.
fn check(workspace: &Workspace, arguments: &str, output: &str, expected: i32) -> VerdictFile {
    let outcome = workspace.run(&format!("gate {arguments} --output {output}"));
    assert_eq!(
        outcome.code,
        Some(expected),
        "gate {arguments}\n{}",
        outcome.stderr
    );
    read_verdict(&workspace.path(output)).unwrap()
}

fn refused(workspace: &Workspace, arguments: &str, code: i32, words: &[&str]) {
    workspace.ends(&format!("gate {arguments}"), code, words);
}

fn games(folder: &Path) -> Vec<GateGameRow> {
    let parts = Manifest::read(folder, DatasetKind::Gate).unwrap().parts;
    let read = |part| {
        GATE_GAMES
            .read_unlisted(&part_path(folder, &GATE_GAMES, part), |_| Ok(1_000), &NEVER)
            .unwrap()
            .2
    };
    (0..parts.len())
        .flat_map(|part| GateGameRow::from_batch(&read(part)).unwrap())
        .collect()
}

/// The position after the opening of each pair.
fn openings(games: &[GateGameRow]) -> Vec<Position> {
    let opening = |row: &GateGameRow| {
        let moves = &row.moves[..2 * usize::from(row.opening_plies)];
        Game::from_transcript(moves).unwrap().to_move().position
    };
    games.iter().step_by(2).map(opening).collect()
}

#[test]
fn the_test_stops_in_the_batch_that_decides_it() {
    let workspace = Workspace::new();
    let config = quick(&workspace, "a", &[]);
    for (players, verdict, code) in [
        (STRONG_WEAK, Verdict::Accepted, 0),
        (WEAK_STRONG, Verdict::Rejected, 10),
    ] {
        let found = check(
            &workspace,
            &format!("--config {config} {players}"),
            &format!("decided{code}"),
            code,
        );
        let test = found.test.clone().unwrap();
        assert_eq!(found.verdict, verdict);
        assert!(
            found.pairs_done < 100 && found.pairs_done.is_multiple_of(8),
            "{found:?}"
        );
        assert_eq!(found.pairs_asked, 200);
        assert_eq!(found.score.pairs.iter().sum::<u64>(), found.pairs_done);
        assert!(
            if code == 0 {
                test.llr_high <= test.llr
            } else {
                test.llr <= test.llr_low
            },
            "{test:?}"
        );
        assert_eq!(test.pairs_forecast, None);
        let folder = workspace.path(&format!("decided{code}"));
        let manifest = Manifest::read(&folder, DatasetKind::Gate).unwrap();
        assert_eq!((manifest.asked, manifest.done), (200, found.pairs_done));
        assert_eq!(manifest.content, found.games_content);
        let names: Vec<String> = files(&folder).into_keys().collect();
        assert_eq!(names.len() as u64, 2 + found.pairs_done / 8, "{names:?}");
        assert_eq!(games(&folder).len() as u64, 2 * found.pairs_done);
    }
}

#[test]
fn a_player_whose_nodes_cost_more_searches_less() {
    let workspace = Workspace::new();
    let limited = [
        ("gate.mode", "\"games\""),
        ("gate.games", "40"),
        ("gate.depth", "8"),
        ("gate.nodes", "2000"),
    ];
    let play = |name: &str, costs: &str| {
        let costs = [("gate.node_cost", costs)];
        let changes = [
            limited.as_slice(),
            if costs[0].1.is_empty() { &[] } else { &costs },
        ]
        .concat();
        let config = quick(&workspace, name, &changes);
        let outcome = workspace.run(&format!("gate --config {config} {ALIKE} --output {name}"));
        let found = read_verdict(&workspace.path(name)).unwrap();
        let moves: Vec<String> = games(&workspace.path(name))
            .into_iter()
            .map(|row| row.moves)
            .collect();
        (outcome.code, found.score.points, found.step, moves)
    };
    let plain = play("plain", "");
    let equal = play("equal", "[1, 1.0]");
    assert_eq!((&plain.0, &plain.3), (&equal.0, &equal.3));
    assert_ne!(plain.2, equal.2);
    // At half the cost both visit twice as many; at 20 times the cost for one, the other wins.
    let doubled = play("doubled", "[0.5, 0.5]");
    assert_ne!(plain.3, doubled.3);
    let (code, points, ..) = play("cheap", "[1.0, 20.0]");
    assert!(code == Some(0) && 0.7 < points, "{code:?} {points}");
    let (code, points, ..) = play("costly", "[20.0, 1.0]");
    assert!(code == Some(10) && points < 0.3, "{code:?} {points}");
}

#[test]
fn a_test_that_reaches_its_cap_is_inconclusive_and_forecasts_the_rest() {
    let workspace = Workspace::new();
    let config = quick(
        &workspace,
        "a",
        &[("gate.games", "36"), ("gate.nelo1", "3.0")],
    );
    let found = check(&workspace, &format!("--config {config} {ALIKE}"), "cap", 11);
    assert_eq!(
        (found.verdict, found.pairs_done),
        (Verdict::Inconclusive, 18)
    );
    assert!(0 < found.test.unwrap().pairs_forecast.unwrap());
    let outcome = workspace.run(&format!("gate --config {config} {ALIKE} --output cap"));
    assert!(
        outcome.stderr.contains("more pairs would decide"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn all_games_are_played_in_the_other_mode() {
    let workspace = Workspace::new();
    let changes = [("gate.mode", "\"games\""), ("gate.games", "42")];
    let config = quick(&workspace, "a", &changes);
    let found = check(
        &workspace,
        &format!("--config {config} {STRONG_WEAK}"),
        "all",
        0,
    );
    assert_eq!((found.pairs_done, found.test.as_ref()), (21, None));
    assert!(0.0 < found.score.elo_low && found.score.elo_low < found.score.elo);
    let counts: Vec<u64> = Manifest::read(&workspace.path("all"), DatasetKind::Gate)
        .unwrap()
        .parts
        .iter()
        .map(|part| part.count)
        .collect();
    assert_eq!(counts, [8, 8, 5]);
}

/// Starts a gate on one thread and stops it once so many files are there; whether it was in time.
fn stopped(
    workspace: &Workspace,
    arguments: &str,
    output: &str,
    files_before: usize,
    signal: Signal,
) -> bool {
    let folder = workspace.path(output);
    let mut child = workspace.start(&format!("gate {arguments} --output {output} --threads 1"));
    if reached(&mut child, || files_before <= files(&folder).len()) {
        send(&child, signal);
    }
    let outcome = Outcome::from(child.wait_with_output().unwrap());
    if folder.join("verdict.json").exists() {
        return false;
    }
    if signal == Signal::INT {
        assert_eq!(outcome.code, Some(130), "{}", outcome.stderr);
        assert!(
            outcome.stderr.contains("error: interrupted"),
            "{}",
            outcome.stderr
        );
        let unfinished = |path: &Path| {
            path.file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .starts_with(".tmp")
        };
        assert!(
            !all_paths(&folder).iter().any(|path| unfinished(path)),
            "{:?}",
            all_paths(&folder)
        );
    }
    true
}

#[test]
fn a_gate_that_is_stopped_five_times_gives_the_verdict_and_games_of_an_undisturbed_one() {
    let workspace = Workspace::new();
    let config = workspace.config("slow", "smoke", &SLOW);
    let arguments = format!("--config {config} {ALIKE}");
    let mut stops = 0;
    for (files_before, signal) in [
        (1, Signal::INT),
        (4, Signal::KILL),
        (7, Signal::INT),
        (10, Signal::KILL),
        (13, Signal::INT),
        (16, Signal::INT),
    ] {
        stops += usize::from(stopped(
            &workspace,
            &arguments,
            "stopped",
            files_before,
            signal,
        ));
    }
    assert!(
        5 <= stops,
        "only {stops} runs were stopped before their end"
    );
    let last = workspace.run(&format!("gate {arguments} --output stopped --json"));
    assert_eq!(last.code, Some(11), "{}", last.stderr);
    // At most a batch was lost: sixteen files are 128 pairs of 160.
    let report: serde_json::Value = serde_json::from_str(&last.stdout).unwrap();
    assert!(report["games_played"].as_u64().unwrap() <= 64, "{report}");
    for threads in [1, 2, 7] {
        let output = format!("whole{threads}");
        check(
            &workspace,
            &format!("{arguments} --threads {threads}"),
            &output,
            11,
        );
        check_same(
            &workspace.path("stopped"),
            &workspace.path(&output),
            "stopped and undisturbed",
        );
    }
}

#[test]
fn an_early_end_is_the_same_on_any_number_of_threads_and_after_a_stop() {
    let workspace = Workspace::new();
    let changes = [
        ("gate.nelo1", "20.0"),
        ("gate.depth", "3"),
        ("gate.exact_empties", "9"),
    ];
    let config = quick(&workspace, "a", &changes);
    let arguments = format!("--config {config} {STRONG_WEAK}");
    assert!(
        stopped(&workspace, &arguments, "stopped", 2, Signal::INT),
        "it ended before it could be stopped"
    );
    check(&workspace, &arguments, "stopped", 0);
    for threads in [1, 2, 5] {
        let output = format!("t{threads}");
        check(
            &workspace,
            &format!("{arguments} --threads {threads}"),
            &output,
            0,
        );
        check_same(
            &workspace.path(&output),
            &workspace.path("stopped"),
            "early ends",
        );
    }
}

/// What tells whether the files of finished batches were written again.
fn identities(folder: &Path) -> Vec<(u64, i64)> {
    let parts = all_paths(&folder.join("games")).into_iter();
    parts
        .map(|path| path.metadata().unwrap())
        .map(|data| (data.ino(), data.mtime_nsec()))
        .collect()
}

#[test]
fn a_higher_cap_keeps_the_games_and_a_lower_one_is_refused() {
    let workspace = Workspace::new();
    let undecided = [("gate.nelo1", "2.0"), ("gate.games", "48")];
    let fewer = quick(&workspace, "fewer", &undecided);
    let more = quick(&workspace, "more", &[undecided[0], ("gate.games", "88")]);
    let arguments = |config: &str| format!("--config {config} {ALIKE}");
    check(&workspace, &arguments(&fewer), "raised", 11);
    let before = identities(&workspace.path("raised"));
    let verdict = check(&workspace, &arguments(&more), "raised", 11);
    assert_eq!((before.len(), verdict.pairs_done), (3, 44));
    assert_eq!(
        before,
        identities(&workspace.path("raised"))[..3],
        "finished batches were written again"
    );
    check(&workspace, &arguments(&more), "fresh", 11);
    check_same(
        &workspace.path("raised"),
        &workspace.path("fresh"),
        "raised and fresh",
    );
    let words = ["it holds 88 games already", "gate.games asks for 48"];
    refused(
        &workspace,
        &format!("{} --output raised", arguments(&fewer)),
        2,
        &words,
    );
    check_same(
        &workspace.path("raised"),
        &workspace.path("fresh"),
        "after a refusal",
    );
    // The same of a gate that was stopped before its verdict.
    for name in ["verdict.json", "manifest.json"] {
        std::fs::remove_file(workspace.path("raised").join(name)).unwrap();
    }
    refused(
        &workspace,
        &format!("{} --output raised", arguments(&fewer)),
        2,
        &words[1..],
    );
    // A test that was decided stays so, without another game.
    let high = quick(&workspace, "high", &[("gate.games", "600")]);
    let low = quick(&workspace, "low", &[]);
    let decided = check(
        &workspace,
        &format!("--config {low} {STRONG_WEAK}"),
        "decided",
        0,
    );
    let again = workspace.run(&format!(
        "gate --config {high} {STRONG_WEAK} --output decided --json"
    ));
    assert!(
        again.stdout.contains("\"games_played\":0"),
        "{}",
        again.stdout
    );
    let raised = read_verdict(&workspace.path("decided")).unwrap();
    assert_eq!(
        (raised.pairs_asked, raised.games_content),
        (300, decided.games_content)
    );
    assert_ne!(raised.step, decided.step);
}

#[test]
fn a_damaged_or_missing_batch_without_a_verdict_is_played_again() {
    let workspace = Workspace::new();
    let config = quick(
        &workspace,
        "a",
        &[("gate.nelo1", "2.0"), ("gate.games", "80")],
    );
    let arguments = format!("--config {config} {ALIKE}");
    check(&workspace, &arguments, "whole", 11);
    copy_folder(&workspace.path("whole"), &workspace.path("mended"));
    let part = workspace.path("mended/games/part-00002.parquet");
    let mut bytes = std::fs::read(&part).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    workspace.write("mended/games/part-00002.parquet", &bytes);
    std::fs::remove_file(workspace.path("mended/games/part-00000.parquet")).unwrap();
    let outcome = workspace.run("dataset verify mended --remake 100%");
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    assert!(
        outcome
            .stderr
            .contains("games/part-00000.parquet: it does not exist"),
        "{}",
        outcome.stderr
    );
    std::fs::remove_file(workspace.path("mended/manifest.json")).unwrap();
    let outcome = workspace.run(&format!("gate {arguments} --output mended --json"));
    assert!(
        outcome.stdout.contains("\"games_played\":32"),
        "{}",
        outcome.stdout
    );
    check_same(
        &workspace.path("mended"),
        &workspace.path("whole"),
        "mended and whole",
    );
}

#[test]
fn openings_are_different_balanced_and_not_among_the_training_positions() {
    let workspace = Workspace::new();
    let changes = [
        ("generate.games", "400"),
        ("generate.play_depth", "0"),
        ("generate.label_depth", "0"),
        ("generate.exact_empties", "0"),
        ("gate.nelo1", "1.0"),
        ("gate.games", "60"),
        ("gate.opening_plies", "6"),
    ];
    let config = quick(&workspace, "a", &changes);
    for generation in [1, 2] {
        workspace.done(&format!(
            "generate --config {config} --generation {generation} --output train{generation}"
        ));
    }
    let arguments = format!("--config {config} {WEAK_WEAK}");
    let found = check(
        &workspace,
        &format!("{arguments} --avoid train1 train2"),
        "gate",
        11,
    );
    let openings = openings(&games(&workspace.path("gate")));
    let different: BTreeSet<Position> = openings
        .iter()
        .map(|position| position.canonical())
        .collect();
    assert_eq!((openings.len(), different.len()), (30, 30));
    let mut training = BTreeSet::new();
    for folder in ["train1", "train2"] {
        let dataset = Dataset::open(&workspace.path(folder)).unwrap();
        assert!(found.avoided.contains(&dataset.manifest().content));
        for part in 0..dataset.part_count() {
            let rows = dataset.rows(part, &NEVER).unwrap();
            training.extend(rows.iter().map(|row| row.position().unwrap().canonical()));
        }
    }
    assert!(
        different.is_disjoint(&training),
        "an opening is among the training positions"
    );
    let model = Builtin::DiscCount.model();
    let mut searcher = Searcher::new(&model.evaluation, &model.mpc, 12);
    for position in openings {
        searcher.clear();
        let score = searcher
            .search(position, Limits::full_width(Depth(4)))
            .score;
        assert!(
            score.abs() <= Score(5000),
            "{position:?} has score {score:?}"
        );
    }
    let counts = found.openings;
    assert!(
        0 < counts.in_training && 0 < counts.unbalanced,
        "{counts:?}"
    );
    assert_eq!(
        counts.drawn,
        counts.repeated + counts.in_training + counts.unbalanced + 30,
        "{counts:?}"
    );
    // The order of the datasets and a second mention mean nothing; to leave one out is another
    // gate.
    let again = workspace.run(&format!(
        "gate {arguments} --avoid train2 --avoid train1 train2 --output gate"
    ));
    assert!(again.stderr.contains("made before"), "{}", again.stderr);
    refused(
        &workspace,
        &format!("{arguments} --avoid train1 --output gate"),
        2,
        &["avoid is"],
    );
    refused(
        &workspace,
        &format!("{arguments} --avoid nowhere --output other"),
        2,
        &["nowhere", "does not exist"],
    );
    refused(
        &workspace,
        &format!("{arguments} --avoid gate --output other"),
        65,
        &["gate/manifest.json", "games of a gate"],
    );
    workspace.done("dataset verify gate --remake 100%");
}

#[test]
fn too_few_openings_are_an_error_that_names_the_key() {
    let workspace = Workspace::new();
    // There are 60 positions after 4 plies, up to symmetry.
    let (short, narrow) = (("gate.opening_plies", "4"), ("gate.nelo1", "1.0"));
    for (mode, changes) in [
        ("games", &[short, ("gate.mode", "\"games\"")]),
        ("sprt", &[short, narrow]),
    ] {
        let config = quick(&workspace, mode, changes);
        let words = [
            "gate.opening_plies = 4",
            "only 60 openings for 200 pairs",
            "raise",
        ];
        refused(
            &workspace,
            &format!("--config {config} {ALIKE} --output {mode}"),
            2,
            &words,
        );
        let played = files(&workspace.path(mode)).len();
        assert_eq!(played, if mode == "sprt" { 7 } else { 0 }, "{mode}");
        assert!(!workspace.path(mode).join("manifest.json").exists());
    }
    // What the openings are enough for is a gate.
    let config = quick(&workspace, "few", &[short, narrow, ("gate.games", "120")]);
    let found = check(
        &workspace,
        &format!("--config {config} {ALIKE}"),
        "sprt",
        11,
    );
    assert_eq!(
        (found.pairs_done, found.openings.drawn),
        (60, found.openings.repeated + 60)
    );
}

#[test]
fn a_limit_of_nodes_decides_the_games_on_any_number_of_threads() {
    let workspace = Workspace::new();
    let changes = [
        ("gate.depth", "8"),
        ("gate.nodes", "300"),
        ("gate.nelo1", "2.0"),
        ("gate.games", "16"),
    ];
    let config = quick(&workspace, "a", &changes);
    let more = quick(
        &workspace,
        "b",
        &[changes[0], ("gate.nodes", "600"), changes[2], changes[3]],
    );
    for (config, output, threads) in [(&config, "t1", 1), (&config, "t2", 2), (&more, "more", 2)] {
        check(
            &workspace,
            &format!("--config {config} {ALIKE} --threads {threads}"),
            output,
            11,
        );
    }
    check_same(
        &workspace.path("t1"),
        &workspace.path("t2"),
        "1 and 2 threads",
    );
    assert_ne!(games(&workspace.path("t1")), games(&workspace.path("more")));
}

#[test]
fn a_verdict_that_the_games_do_not_lead_to_is_refused() {
    let workspace = Workspace::new();
    let config = quick(&workspace, "a", &[]);
    let arguments = format!("--config {config} {STRONG_WEAK}");
    let verdict = check(&workspace, &arguments, "gate", 0);
    workspace.done("dataset verify gate --remake 100%");
    let changes: [fn(&mut VerdictFile); 4] = [
        |verdict| verdict.verdict = Verdict::Rejected,
        |verdict| verdict.score.wins += 1,
        |verdict| verdict.test.as_mut().unwrap().llr += 1e-9,
        |verdict| verdict.openings.in_training += 1,
    ];
    for change in changes {
        let mut changed = verdict.clone();
        change(&mut changed);
        workspace.write("gate/verdict.json", seal(&changed));
        let outcome = workspace.run("dataset verify gate");
        assert_eq!(outcome.code, Some(65), "{}", outcome.stderr);
        assert!(
            outcome.stderr.contains("gate/verdict.json"),
            "{}",
            outcome.stderr
        );
    }
    let mut older = serde_json::to_value(&verdict).unwrap();
    older.as_object_mut().unwrap().remove("format");
    workspace.write("gate/verdict.json", seal(&older));
    let words = [
        "gate/verdict.json",
        "it has no format version, this renma reads format 1",
    ];
    refused(
        &workspace,
        &format!("{arguments} --output gate"),
        65,
        &words,
    );
    let mut other = verdict.clone();
    other.games_content = other.step;
    workspace.write("gate/verdict.json", seal(&other));
    refused(
        &workspace,
        &format!("{arguments} --output gate"),
        65,
        &["not the verdict on the games beside it"],
    );
}

#[test]
fn a_candidate_plays_only_with_mpc_statistics_of_its_weights() {
    let workspace = Workspace::new();
    let config = quick(
        &workspace,
        "a",
        &[&ONE_PLY[..], &[("gate.games", "20")]].concat(),
    );
    workspace.done(&format!(
        "generate --config {config} --model builtin:square-weights --output games"
    ));
    workspace.done(&format!(
        "train --config {config} --dataset games --models models"
    ));
    let gate = |version| {
        format!("--config {config} --candidate models/{version} --baseline builtin:disc-count")
    };
    let words = [
        "models/v0001",
        "its MPC statistics are not fitted to its weights",
        "run renma fit-mpc first",
    ];
    refused(
        &workspace,
        &format!("{} --output gate", gate("v0001")),
        65,
        &words,
    );
    assert!(!workspace.path("gate").exists());
    workspace.done(&format!(
        "fit-mpc --config {config} --model models/v0001 --models models --output samples"
    ));
    let code = workspace
        .run(&format!("gate {} --output gate", gate("v0002")))
        .code;
    assert!(matches!(code, Some(0 | 10 | 11)), "{code:?}");
}

#[test]
fn impossible_settings_are_named() {
    let workspace = Workspace::new();
    for (key, value, words) in [
        ("gate.mode", "\"swiss\"", ["mode", "swiss"]),
        (
            "gate.games",
            "1600002",
            [
                "gate.games = 1600002",
                "expected a whole number from 2 to 1600000",
            ],
        ),
        ("gate.nelo1", "0.0", ["gate.nelo1 = 0", "gate.nelo0 = 0"]),
        (
            "gate.nelo0",
            "nan",
            ["gate.nelo0", "expected a number from -500"],
        ),
        (
            "gate.opening_plies",
            "3",
            ["gate.opening_plies = 3", "expected a whole number from 4"],
        ),
        (
            "gate.nodes",
            "-1",
            ["gate.nodes = -1", "expected a whole number"],
        ),
    ] {
        let config = quick(&workspace, "bad", &[(key, value)]);
        refused(
            &workspace,
            &format!("--config {config} {ALIKE} --output out"),
            2,
            &words,
        );
    }
    assert!(!workspace.path("out").exists());
}
