//! Self-play datasets: the same bytes whoever makes them and however often they are stopped, and
//! rows that are true.

use crate::support::workspace::{
    self, Workspace, all_paths, check_same, copy_folder, files, reached, send,
};
use renma::artifact::{Builtin, Dataset, FolderLock, GameRow, NEVER, PositionRow, TableRow};
use renma::engine::{Black, ColoredPosition, Discs, Game, Score, White};
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;

/// Games of a few milliseconds.
const QUICK: [(&str, &str); 5] = [
    ("generate.games", "45"),
    ("generate.part_games", "10"),
    ("generate.play_depth", "1"),
    ("generate.label_depth", "1"),
    ("generate.exact_empties", "5"),
];

/// Games slow enough, on one thread, to be caught in the middle of.
const SLOW: [(&str, &str); 5] = [
    ("generate.games", "96"),
    ("generate.part_games", "3"),
    ("generate.play_depth", "4"),
    ("generate.label_depth", "4"),
    ("generate.exact_empties", "10"),
];

fn quick(workspace: &Workspace, name: &str, changes: &[(&str, &str)]) -> String {
    workspace.config(name, "smoke", &[&QUICK, changes].concat())
}

#[test]
fn one_seed_gives_the_same_bytes_with_any_number_of_threads() {
    let workspace = Workspace::new();
    let config = quick(&workspace, "a", &[]);
    for threads in [1, 2, 3, 8] {
        workspace.done(&format!(
            "generate --config {config} --output t{threads} --threads {threads}"
        ));
    }
    let names: Vec<String> = files(&workspace.path("t1")).into_keys().collect();
    let part = |table: &str| {
        (0..5)
            .map(|part| format!("{table}/part-0000{part}.parquet"))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        names,
        [
            part("games"),
            vec!["manifest.json".into()],
            part("positions")
        ]
        .concat()
    );
    for threads in [2, 3, 8] {
        check_same(
            &workspace.path("t1"),
            &workspace.path(&format!("t{threads}")),
            &format!("1 and {threads} threads"),
        );
    }
    let other = quick(&workspace, "b", &[("run.seed", "2")]);
    workspace.done(&format!("generate --config {other} --output other"));
    workspace.done(&format!(
        "generate --config {config} --generation 2 --output second"
    ));
    let first = &files(&workspace.path("t1"))["positions/part-00000.parquet"];
    for folder in ["other", "second"] {
        assert!(
            files(&workspace.path(folder))["positions/part-00000.parquet"] != *first,
            "{folder}"
        );
    }
}

#[test]
fn a_killed_run_goes_on_to_the_bytes_of_an_undisturbed_one() {
    let workspace = Workspace::new();
    let config = workspace.config("slow", "smoke", &SLOW);
    let output = workspace.path("killed");
    let published = || files(&output).len();
    let mut kills = 0;
    for files_before_kill in [1, 2, 9, 20, 33, 48] {
        let mut child = workspace.start(&format!(
            "generate --config {config} --output killed --threads 1"
        ));
        if reached(&mut child, || files_before_kill <= published()) {
            child.kill().unwrap();
            kills += usize::from(!output.join("manifest.json").exists());
        }
        child.wait().unwrap();
    }
    assert!(4 <= kills, "only {kills} runs were killed before their end");
    workspace.done(&format!("generate --config {config} --output killed"));
    workspace.done(&format!("generate --config {config} --output whole"));
    check_same(&output, &workspace.path("whole"), "killed and undisturbed");
}

#[test]
fn an_interrupted_run_says_so_and_goes_on_to_the_same_bytes() {
    let workspace = Workspace::new();
    let config = workspace.config("slow", "smoke", &SLOW);
    let output = workspace.path("stopped");
    let mut child = workspace.start(&format!(
        "generate --config {config} --output stopped --threads 1"
    ));
    assert!(
        reached(&mut child, || 4 <= files(&output).len()),
        "it ended before it could be interrupted"
    );
    send(&child, Signal::INT);
    let outcome = workspace::Outcome::from(child.wait_with_output().unwrap());
    assert_eq!(outcome.code, Some(130), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("error: interrupted"),
        "{}",
        outcome.stderr
    );
    assert!(!output.join("manifest.json").exists());
    let hidden = |path: &std::path::PathBuf| {
        path.file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .starts_with(".tmp")
    };
    assert!(
        !all_paths(&output).iter().any(hidden),
        "half-written files: {:?}",
        all_paths(&output)
    );
    workspace.done(&format!("generate --config {config} --output stopped"));
    workspace.done(&format!("generate --config {config} --output whole"));
    check_same(
        &output,
        &workspace.path("whole"),
        "interrupted and undisturbed",
    );
}

#[test]
fn a_part_in_the_place_of_another_is_made_again() {
    let workspace = Workspace::new();
    let config = quick(&workspace, "a", &[]);
    workspace.done(&format!("generate --config {config} --output whole"));
    copy_folder(&workspace.path("whole"), &workspace.path("moved"));
    std::fs::remove_file(workspace.path("moved/manifest.json")).unwrap();
    for table in ["games", "positions"] {
        let part = |number: u8| workspace.path(&format!("moved/{table}/part-0000{number}.parquet"));
        std::fs::copy(part(1), part(0)).unwrap();
    }
    let report = workspace.done(&format!("generate --config {config} --output moved --json"));
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let rows = Dataset::open(&workspace.path("moved"))
        .unwrap()
        .rows(0, &NEVER)
        .unwrap()
        .len();
    assert_eq!(
        (&report["skipped"], &report["games_played"]),
        (&false.into(), &10.into()),
        "{report}"
    );
    assert_eq!(report["positions_written"], rows, "{report}");
    check_same(
        &workspace.path("moved"),
        &workspace.path("whole"),
        "moved and whole",
    );
}

#[test]
fn more_games_keep_the_parts_that_are_there() {
    let workspace = Workspace::new();
    let fewer = quick(&workspace, "fewer", &[("generate.games", "25")]);
    let more = quick(&workspace, "more", &[("generate.games", "42")]);
    workspace.done(&format!("generate --config {fewer} --output raised"));
    let parts = ["games", "positions"].map(|table| {
        ["00000", "00001"]
            .map(|part| workspace.path(&format!("raised/{table}/part-{part}.parquet")))
    });
    let identity = || {
        parts
            .as_flattened()
            .iter()
            .map(|path| path.metadata().unwrap())
            .map(|of| (of.ino(), of.mtime_nsec()))
            .collect()
    };
    let before: Vec<(u64, i64)> = identity();
    workspace.done(&format!("generate --config {more} --output raised"));
    assert_eq!(before, identity(), "finished parts were written again");
    workspace.done(&format!("generate --config {more} --output fresh"));
    check_same(
        &workspace.path("raised"),
        &workspace.path("fresh"),
        "raised and fresh",
    );
    let manifest = workspace
        .path("raised/manifest.json")
        .metadata()
        .unwrap()
        .ino();
    let report = workspace.done(&format!("generate --config {more} --output raised --json"));
    assert!(report.contains("\"skipped\":true"), "{report}");
    assert_eq!(
        workspace
            .path("raised/manifest.json")
            .metadata()
            .unwrap()
            .ino(),
        manifest
    );
    let outcome = workspace.run(&format!("generate --config {fewer} --output raised"));
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("generate.games"),
        "{}",
        outcome.stderr
    );
    check_same(
        &workspace.path("raised"),
        &workspace.path("fresh"),
        "after a refusal",
    );
    // The same of a run that was stopped before its manifest.
    std::fs::remove_file(workspace.path("raised/manifest.json")).unwrap();
    let outcome = workspace.run(&format!("generate --config {fewer} --output raised"));
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("it holds 50 games already"),
        "{}",
        outcome.stderr
    );
    workspace.done(&format!("generate --config {more} --output raised"));
    check_same(
        &workspace.path("raised"),
        &workspace.path("fresh"),
        "after both",
    );
}

#[test]
fn a_damaged_or_missing_part_without_a_manifest_is_made_again() {
    let workspace = Workspace::new();
    let config = quick(&workspace, "a", &[]);
    workspace.done(&format!("generate --config {config} --output whole"));
    copy_folder(&workspace.path("whole"), &workspace.path("mended"));
    let part = "mended/positions/part-00002.parquet";
    let mut bytes = std::fs::read(workspace.path(part)).unwrap();
    // Among the boards: at the end of a column of scores a block is padded, and its bytes may be of
    // no value.
    let place = bytes.len() / 8;
    bytes[place] ^= 4;
    workspace.write(part, &bytes);
    std::fs::remove_file(workspace.path("mended/games/part-00001.parquet")).unwrap();
    std::fs::remove_file(workspace.path("mended/manifest.json")).unwrap();
    workspace.done(&format!("generate --config {config} --output mended"));
    check_same(
        &workspace.path("mended"),
        &workspace.path("whole"),
        "mended and whole",
    );
}

#[test]
fn a_folder_of_another_recipe_is_refused_with_the_key_that_differs() {
    let workspace = Workspace::new();
    let config = quick(&workspace, "a", &[]);
    workspace.done(&format!("generate --config {config} --output finished"));
    copy_folder(&workspace.path("finished"), &workspace.path("started"));
    std::fs::remove_file(workspace.path("started/manifest.json")).unwrap();
    for (key, value, named) in [
        (
            "generate.exploration",
            "0.02",
            "generate.exploration is 0.01 there and 0.02 here",
        ),
        (
            "generate.play_depth",
            "2",
            "generate.play_depth is 1 there and 2 here",
        ),
        (
            "generate.part_games",
            "15",
            "generate.part_games is 10 there and 15 here",
        ),
        ("run.seed", "9", "seed is 1 there and 9 here"),
        ("run.start", "\"builtin:disc-count\"", "model is"),
    ] {
        let changed = quick(&workspace, "changed", &[(key, value)]);
        for folder in ["finished", "started"] {
            let before = files(&workspace.path(folder));
            let outcome = workspace.run(&format!("generate --config {changed} --output {folder}"));
            assert_eq!(outcome.code, Some(2), "{key}: {}", outcome.stderr);
            assert!(outcome.stderr.contains(named), "{key}: {}", outcome.stderr);
            assert!(outcome.stderr.contains(folder), "{key}: {}", outcome.stderr);
            assert!(
                files(&workspace.path(folder)) == before,
                "{key}: the folder was changed"
            );
        }
    }
}

#[test]
fn shards_in_any_order_give_the_bytes_of_one_run() {
    let workspace = Workspace::new();
    let config = quick(
        &workspace,
        "a",
        &[("generate.part_games", "5"), ("generate.games", "43")],
    );
    workspace.done(&format!("generate --config {config} --output whole"));
    for (count, order) in [
        (1, &[0][..]),
        (7, &[6, 2, 0, 5, 2, 1, 4][..]),
        (100, &[8, 1, 2, 3, 0, 5, 4, 7][..]),
    ] {
        let (plan, output) = (format!("plan{count}.json"), format!("shards{count}"));
        workspace.done(&format!(
            "generate --plan {plan} --config {config} --shards {count} --output {output}"
        ));
        for shard in order {
            workspace.done(&format!(
                "shard run {plan} {shard} --threads {}",
                1 + shard % 3
            ));
        }
        if 1 < count {
            let missing = if count == 7 { 3 } else { 6 };
            let outcome = workspace.run(&format!("shard finish {plan}"));
            assert_eq!(outcome.code, Some(75), "{}", outcome.stderr);
            assert!(
                outcome.stderr.contains("part ") && outcome.stderr.contains(&output),
                "{}",
                outcome.stderr
            );
            assert!(!workspace.path(&format!("{output}/manifest.json")).exists());
            workspace.done(&format!("shard run {plan} {missing}"));
        }
        workspace.done(&format!("shard finish {plan}"));
        check_same(
            &workspace.path(&output),
            &workspace.path("whole"),
            &format!("{count} shards and one run"),
        );
        assert!(
            workspace
                .done(&format!("shard run {plan} 0 --json"))
                .contains("\"skipped\":true")
        );
        assert!(
            workspace
                .done(&format!("shard finish {plan} --json"))
                .contains("\"skipped\":true")
        );
    }
    let outcome = workspace.run("shard run plan7.json 7");
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("from 0 to 6"), "{}", outcome.stderr);
}

#[test]
fn a_plan_holds_for_its_model_only() {
    let workspace = Workspace::new();
    let config = quick(&workspace, "a", &[]);
    workspace.done(&format!("generate --config {config} --output data"));
    workspace.done(&format!(
        "train --config {config} --dataset data --models registry"
    ));
    let changed = quick(&workspace, "b", &[("run.seed", "2"), ("train.epochs", "1")]);
    workspace.done(&format!(
        "train --config {changed} --dataset data --models registry"
    ));
    copy_folder(&workspace.path("registry/v0001"), &workspace.path("player"));
    workspace.done(&format!(
        "generate --plan plan.json --config {config} --model player --shards 2 --output out"
    ));
    copy_folder(&workspace.path("registry/v0002"), &workspace.path("player"));
    let outcome = workspace.run("shard run plan.json 0");
    assert_eq!(outcome.code, Some(65), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("the plan was made for"),
        "{}",
        outcome.stderr
    );
    let mut bytes = std::fs::read(workspace.path("plan.json")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    workspace.write("plan.json", &bytes);
    let outcome = workspace.run("shard finish plan.json");
    assert_eq!(outcome.code, Some(65), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("plan.json"), "{}", outcome.stderr);
    assert!(!workspace.path("out").exists());
}

#[test]
fn a_book_begins_the_games_and_is_known_by_its_lines() {
    let workspace = Workspace::new();
    // The third line has a pass after its 8th move.
    let lines = ["f5d6c3", "f5f6e6f4", "d3c3e6d2d1e1b2c1", "e6f4"];
    workspace.write(
        "configs/book.txt",
        format!("# openings\n{}\n", lines.join("  # one\n")),
    );
    workspace.write("elsewhere/lines", lines.join("\n"));
    let changes = |book: &'static str| {
        let plies = [
            ("generate.random_plies_min", "1"),
            ("generate.random_plies_max", "4"),
        ];
        [
            [("generate.openings", "\"book\""), ("generate.book", book)],
            plies,
        ]
        .concat()
    };
    let config = quick(&workspace, "book", &changes("\"book.txt\""));
    workspace.done(&format!("generate --config {config} --output here"));
    let moved = quick(&workspace, "moved", &changes("\"../elsewhere/lines\""));
    workspace.done(&format!(
        "generate --config {moved} --output there --threads 1"
    ));
    check_same(
        &workspace.path("here"),
        &workspace.path("there"),
        "the same book elsewhere",
    );
    workspace.done("dataset verify here --remake 100%");
    // Games that end in their opening do not say where their line ended.
    let long = [
        ("generate.random_plies_min", "60"),
        ("generate.random_plies_max", "60"),
    ];
    let long = quick(
        &workspace,
        "long",
        &[&changes("\"book.txt\"")[..2], &long].concat(),
    );
    workspace.done(&format!("generate --config {long} --output random"));
    workspace.done("dataset verify random --remake 100%");
    let games = games(&workspace, "here");
    for (game, line) in games.iter().zip(lines.iter().cycle()) {
        assert!(
            game.moves.starts_with(line),
            "{} begins with {line}",
            game.moves
        );
        let plies = Game::from_transcript(line).unwrap().ply().0;
        assert!(
            (plies + 1..=plies + 4).contains(&game.random_plies.unwrap()),
            "{line}: {game:?}"
        );
    }
    workspace.write("configs/book.txt", "f5d6c3\nf5f6\n");
    let outcome = workspace.run(&format!("generate --config {config} --output here"));
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("generate.book is"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn games_begin_from_the_boards_of_a_book() {
    let workspace = Workspace::new();
    let boards = ["f5d6c3d3c4f4f6", "f5f6e6f4e3c5c4", "c4e3f5"]
        .map(|line| Game::from_transcript(line).unwrap().to_move());
    let line = |board: &ColoredPosition| format!("{} {};\n", board.board_text(), board.side_text());
    workspace.write(
        "configs/book.txt",
        format!("{}f5f4\n", boards.each_ref().map(line).concat()),
    );
    let changes = [
        ("generate.openings", "\"book\""),
        ("generate.book", "\"book.txt\""),
        ("generate.random_plies_min", "0"),
        ("generate.random_plies_max", "0"),
    ];
    let config = quick(&workspace, "book", &changes);
    workspace.done(&format!("generate --config {config} --output data"));
    workspace.done("dataset verify data --remake 100%");
    for (number, game) in games(&workspace, "data").iter().enumerate() {
        let opening = &game.moves[..2 * usize::from(game.random_plies.unwrap())];
        match boards.get(number % 4) {
            Some(board) => assert_eq!(
                Game::from_transcript(opening).unwrap().to_move(),
                *board,
                "{opening}"
            ),
            None => assert_eq!(opening, "f5f4"),
        }
    }
}

#[test]
fn a_book_that_cannot_be_used_is_an_error_that_names_the_line() {
    let workspace = Workspace::new();
    for (book, code, words) in [
        ("f5d6\nf5f5\n", 2, ["book.txt", "line 2, byte 2: "]),
        (
            "f5d6\ne6f4e3f6g5d6e7f5c5\n",
            2,
            ["book.txt", "opening 2: it is a whole game"],
        ),
        ("# nothing\n", 2, ["book.txt", "no position"]),
        (
            &format!("{}X\n", "-".repeat(64)),
            2,
            ["book.txt", "opening 1: "],
        ),
    ] {
        workspace.write("configs/book.txt", book);
        let config = quick(
            &workspace,
            "book",
            &[
                ("generate.openings", "\"book\""),
                ("generate.book", "\"book.txt\""),
            ],
        );
        let outcome = workspace.run(&format!("generate --config {config} --output out"));
        assert_eq!(outcome.code, Some(code), "{book}: {}", outcome.stderr);
        assert!(
            words.iter().all(|word| outcome.stderr.contains(word)),
            "{book}: {}",
            outcome.stderr
        );
    }
    for changes in [
        &[("generate.openings", "\"book\"")][..],
        &[("generate.book", "\"book.txt\"")],
    ] {
        let config = quick(&workspace, "book", changes);
        let outcome = workspace.run(&format!("generate --config {config} --output out"));
        assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
        assert!(
            outcome.stderr.contains("generate.book"),
            "{}",
            outcome.stderr
        );
    }
}

#[test]
fn a_second_run_in_the_same_folder_is_told_of_the_first() {
    let workspace = Workspace::new();
    let config = quick(&workspace, "a", &[]);
    let lock = FolderLock::take(&workspace.path("busy")).unwrap();
    let outcome = workspace.run(&format!("generate --config {config} --output busy"));
    assert_eq!(outcome.code, Some(75), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains(&std::process::id().to_string()),
        "{}",
        outcome.stderr
    );
    assert!(files(&workspace.path("busy")).is_empty());
    drop(lock);
    workspace.done(&format!("generate --config {config} --output busy"));
}

/// Replays a game and compares every row of it with the board.
fn check(game: &GameRow, rows: &[PositionRow], changes: &Checked) {
    let evaluation = Builtin::SquareWeights.model().evaluation;
    let mut board = Game::default();
    let mut rows = rows.iter();
    let mut written = 0;
    for square in Game::from_transcript(&game.moves).unwrap().moves() {
        let current = board.to_move();
        let ply = board.ply().0;
        let place = format!("game {}, ply {ply}", game.game_id);
        if changes.label_from_ply <= ply {
            let row = rows
                .next()
                .unwrap_or_else(|| panic!("{place}: the row is missing"));
            let empties = current.position.empties();
            written += 1;
            assert_eq!(
                (row.game_id, row.ply, row.empties),
                (game.game_id, ply, empties),
                "{place}"
            );
            assert_eq!(
                (Black(row.black), White(row.white)),
                current.boards(),
                "{place}"
            );
            assert_eq!(row.black_to_move, current.black_to_move, "{place}");
            assert!(
                PositionRow::to_columns(&[*row])
                    .iter()
                    .all(|column| column.null_count() == 0),
                "{place}"
            );
            let (exact, score, random_move) = (
                row.exact.unwrap(),
                row.score.unwrap(),
                row.random_move.unwrap(),
            );
            assert_eq!(row.played_move, Some(square.number()), "{place}");
            let best_is_legal = current.position.legal_moves() >> row.best_move.unwrap() & 1 == 1;
            assert!(best_is_legal, "{place}: the best move is illegal");
            let result = game
                .result
                .map(|result| if row.black_to_move { result } else { -result });
            assert_eq!(row.result, result, "{place}");
            assert_eq!(
                row.static_score,
                Some(evaluation.static_value(current.position)),
                "{place}"
            );
            assert!(score.abs() <= Score::MAX, "{place}");
            assert_eq!(
                exact,
                empties <= changes.exact_empties.max(changes.label_depth),
                "{place}"
            );
            assert_eq!(
                row.depth,
                Some(if exact { empties } else { changes.label_depth }),
                "{place}"
            );
            // Once solved, both sides play perfectly: exploration has ended before.
            assert!(
                !exact || score == Discs(row.result.unwrap().into()).into(),
                "{place}: {row:?}"
            );
            let opening = row.ply < changes.random_plies;
            assert!(
                !opening || random_move,
                "{place}: an opening move is random"
            );
            let may_explore = EXPLORATION_EMPTIES < empties;
            assert!(
                opening || may_explore || !random_move,
                "{place}: it is too late to explore"
            );
            let one_search = changes.play_depth == changes.label_depth || exact;
            assert!(
                random_move || !one_search || row.best_move == row.played_move,
                "{place}"
            );
        }
        board.play(square).unwrap();
    }
    assert!(
        board.is_over() && rows.next().is_none(),
        "game {}",
        game.game_id
    );
    assert_eq!(
        i32::from(game.result.unwrap()),
        board.black_discs().0,
        "game {}",
        game.game_id
    );
    assert_eq!(
        usize::from(game.positions),
        written,
        "game {}",
        game.game_id
    );
    assert_eq!(
        game.random_plies,
        Some(changes.random_plies.min(board.ply().0)),
        "game {}",
        game.game_id
    );
}

/// Random moves after the opening come while more squares than this are empty.
const EXPLORATION_EMPTIES: u8 = 14;

/// The keys that decide what the rows of a game must say.
struct Checked {
    random_plies: u8,
    play_depth: u8,
    label_depth: u8,
    exact_empties: u8,
    label_from_ply: u8,
}

#[test]
fn every_game_replays_to_its_rows() {
    let workspace = Workspace::new();
    for (name, checked) in [
        ("source", [8, 1, 1, 8, 0]),
        ("late", [12, 2, 2, 6, 13]),
        ("apart", [4, 1, 3, 0, 1]),
        ("random", [60, 0, 0, 0, 0]),
    ] {
        let [
            random_plies,
            play_depth,
            label_depth,
            exact_empties,
            label_from_ply,
        ] = checked;
        let texts = checked.map(|value| value.to_string());
        let keys = [
            "random_plies_min",
            "play_depth",
            "label_depth",
            "exact_empties",
            "label_from_ply",
        ];
        let keys = keys.map(|key| format!("generate.{key}"));
        let mut changes: Vec<(&str, &str)> = keys
            .iter()
            .map(String::as_str)
            .zip(texts.iter().map(String::as_str))
            .collect();
        changes.push(("generate.random_plies_max", &texts[0]));
        changes.push(("generate.exploration", "0.2"));
        let config = quick(&workspace, name, &changes);
        workspace.done(&format!("generate --config {config} --output {name}"));
        let dataset = Dataset::open(&workspace.path(name)).unwrap();
        let checked = Checked {
            random_plies,
            play_depth,
            // At depth 0 the shortest search that finds a move looks one ply ahead.
            label_depth: label_depth.max(1),
            exact_empties,
            label_from_ply,
        };
        let mut ids = Vec::new();
        let mut passes = 0;
        for part in 0..dataset.part_count() {
            let rows = dataset.rows(part, &NEVER).unwrap();
            let mut begin = 0;
            for game in dataset.game_rows(part).unwrap().unwrap() {
                let end = begin + usize::from(game.positions);
                check(&game, &rows[begin..end], &checked);
                passes += usize::from(rows[end - 1].ply) + 1
                    - (60 - usize::from(rows[end - 1].empties) + 1);
                ids.push(game.game_id.0);
                begin = end;
            }
            assert_eq!(begin, rows.len(), "{name}: part {part} has rows of no game");
        }
        assert_eq!(ids, (0..45).collect::<Vec<u64>>(), "{name}");
        assert!(0 < passes, "{name}: no game had a pass");
    }
}

fn games(workspace: &Workspace, folder: &str) -> Vec<GameRow> {
    let dataset = Dataset::open(&workspace.path(folder)).unwrap();
    (0..dataset.part_count())
        .flat_map(|part| dataset.game_rows(part).unwrap().unwrap())
        .collect()
}

#[test]
fn games_begin_and_explore_as_the_config_says() {
    let workspace = Workspace::new();
    for (name, changes) in [
        (
            "spread",
            vec![
                ("generate.random_plies_min", "3"),
                ("generate.random_plies_max", "20"),
            ],
        ),
        ("explored", vec![("generate.exploration", "0.3")]),
    ] {
        let config = quick(&workspace, name, &changes);
        workspace.done(&format!("generate --config {config} --output {name}"));
        workspace.done(&format!(
            "generate --config {config} --output {name}-1 --threads 1"
        ));
        check_same(
            &workspace.path(name),
            &workspace.path(&format!("{name}-1")),
            name,
        );
        workspace.done(&format!("dataset verify {name} --remake 100%"));
    }
    let spread: BTreeSet<u8> = games(&workspace, "spread")
        .iter()
        .filter_map(|game| game.random_plies)
        .collect();
    assert!(
        10 <= spread.len() && spread.iter().all(|plies| (3..=20).contains(plies)),
        "{spread:?}"
    );
    let dataset = Dataset::open(&workspace.path("explored")).unwrap();
    let rows = (0..dataset.part_count()).flat_map(|part| dataset.rows(part, &NEVER).unwrap());
    let random: Vec<PositionRow> = rows
        .filter(|row| row.random_move == Some(true) && 8 <= row.ply)
        .collect();
    // A move drawn from ten is seldom the best.
    let best = random
        .iter()
        .filter(|row| row.played_move == row.best_move)
        .count();
    assert!(
        300 < random.len() && 4 * best < random.len(),
        "{best} of {} random moves",
        random.len()
    );
}

#[test]
fn impossible_openings_are_usage_errors() {
    let workspace = Workspace::new();
    for (key, value) in [
        ("generate.openings", "\"some\""),
        ("generate.random_plies_min", "15"),
        ("generate.random_plies_max", "129"),
        ("generate.book", "\"book.txt\""),
    ] {
        let config = quick(&workspace, "bad", &[(key, value)]);
        let outcome = workspace.run(&format!("generate --config {config} --output out"));
        assert_eq!(outcome.code, Some(2), "{key}: {}", outcome.stderr);
    }
}
