//! `renma play` as a person sees it: lines typed, text read.

use crate::support::workspace::{Workspace, send};
use anstream::adapter::strip_str;
use proptest::prelude::{
    ProptestConfig, Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest,
};
use renma::artifact::{Builtin, LoadedModel, Model};
use renma::engine::Depth;
use renma::play::levels::{LEVELS, Level};
use renma::play::lines::Lines;
use renma::play::terminal::play;
use rustix::process::Signal;
use std::io::{Cursor, Read, Write};
use std::process::Stdio;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};

static MODEL: LazyLock<Arc<Model>> =
    LazyLock::new(|| LoadedModel::builtin(Builtin::SquareWeights).model);
static NEVER: AtomicBool = AtomicBool::new(false);

/// What is shown after these lines were typed, without colors.
fn shown(lines: &[&str]) -> String {
    shown_bytes(
        lines
            .iter()
            .map(|line| format!("{line}\n"))
            .collect::<String>()
            .as_bytes(),
    )
}

fn shown_bytes(input: &[u8]) -> String {
    let mut output = Vec::new();
    let level = Level {
        name: "test",
        depth: Depth(2),
        exact_empties: 4,
        ..LEVELS[LEVELS.len() - 1]
    };
    play(
        &MODEL,
        level,
        &Lines::read(Cursor::new(input.to_vec())),
        &NEVER,
        &mut output,
    )
    .unwrap();
    strip_str(&String::from_utf8(output).unwrap()).to_string()
}

/// The last board that is shown, with the counts below it.
fn last_board(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let begin = lines
        .iter()
        .rposition(|line| *line == "  a b c d e f g h")
        .unwrap();
    lines[begin..begin + 10]
        .iter()
        .map(|line| line.trim_end().to_owned())
        .collect()
}

/// The last line shown.
fn last_line(lines: &[&str]) -> String {
    shown(lines).lines().last().unwrap().to_owned()
}

#[test]
fn the_first_board_has_coordinates_and_the_legal_moves() {
    let expected = "You play black (X).\nType help for all commands.\n\n  a b c d e f g h\n1 . . . . . . . .\n\
                    2 . . . . . . . .\n3 . . . + . . . .\n4 . . + O X . . .\n5 . . . X O + . .\n6 . . . . + . . .\n\
                    7 . . . . . . . .\n8 . . . . . . . .\nX 2, O 2, black to move\n";
    let text = shown(&[]);
    assert_eq!(
        text.lines()
            .map(|line| format!("{}\n", line.trim_end()))
            .collect::<String>(),
        expected
    );
    assert_eq!(shown(&["", "   "]), text);
}

#[test]
fn a_move_is_answered_and_the_last_one_is_marked() {
    let text = shown(&["F5"]);
    let answer = text
        .lines()
        .find(|line| line.starts_with("white plays "))
        .unwrap();
    let square = &answer[12..14];
    assert!(
        ["d6", "f4", "f6"].contains(&square) && answer.ends_with(" (depth 2)"),
        "{answer}"
    );
    let board = last_board(&text);
    let row = &board[usize::from(square.as_bytes()[1] - b'0')];
    assert!(
        row.contains("[O]") && board[9] == "X 3, O 3, black to move",
        "{board:?}"
    );
    // The engine plays what it finds best in its place.
    let hint = last_line(&["both", "f5", "hint"]);
    assert!(hint.starts_with(square), "{hint} {square}");
}

#[test]
fn what_was_played_is_taken_back_and_played_again() {
    let after = |lines: &[&str]| last_board(&shown(lines));
    let start = after(&[]);
    assert_eq!(after(&["f5", "undo"]), start);
    assert_eq!(after(&["f5", "undo", "redo"]), after(&["f5"]));
    // Of two people it is one move, against the engine one's own with its answer.
    assert_eq!(after(&["both", "f5", "d6", "undo"]), after(&["both", "f5"]));
    assert_eq!(
        after(&["both", "f5", "d6", "u", "u", "r", "r"]),
        after(&["both", "f5", "d6"])
    );
    assert_eq!(
        last_line(&["undo"]),
        "there is no move of yours to take back"
    );
    assert_eq!(last_line(&["f5", "redo"]), "there is no move to play again");
    assert_eq!(after(&["f5", "new"]), start);
    let white = shown(&["white", "undo"]);
    assert!(
        white.ends_with("there is no move of yours to take back\n")
            && white.contains("black plays "),
        "{white}"
    );
}

/// After these moves black must pass.
const BEFORE_PASS: &str = "d3c3e6d2d1e1b2";

#[test]
fn passes_are_played_as_the_rules_force_them() {
    let text = shown(&["both", &format!("setup {BEFORE_PASS}"), "c1"]);
    assert!(text.contains("black has no move and passes\n"), "{text}");
    assert!(last_board(&text)[9].ends_with("white to move"), "{text}");
    assert_eq!(
        last_board(&shown(&[
            "both",
            &format!("setup {BEFORE_PASS}"),
            "c1",
            "undo"
        ]))[9],
        "X 9, O 2, white to move"
    );
    assert_eq!(
        last_line(&["pass"]),
        "a pass is illegal: there is a legal move; legal: d3 c4 f5 e6"
    );
}

#[test]
fn a_game_ends_with_its_result() {
    let lines = ["both", "setup e6f4e3f6g5d6e7f5"];
    let text = shown(&[&lines[..], &["c5"]].concat());
    assert!(
        text.ends_with("X 13, O 0, the game is over\nblack wins 64 to 0\n"),
        "{text}"
    );
    for command in ["d1", "go", "values"] {
        let line = last_line(&[&lines[..], &["c5", command]].concat());
        assert_eq!(line, "the game is over: try undo, review, save or new");
    }
    let hint = last_line(&[&lines[..], &["c5", "hint"]].concat());
    assert_eq!(hint, "no move is left: black wins 64 to 0");
    // The engine plays to the end as well.
    let text = shown(&[&["both"][..], &["go"; 60]].concat());
    assert!(
        text.contains("the game is over\nblack wins ")
            || text.contains("the game is over\nwhite wins "),
        "{text}"
    );
}

#[test]
fn values_and_hints_are_those_of_the_level() {
    let values = shown(&["both", "f5", "level 1", "values"]);
    let rows = values.lines().last().unwrap();
    assert!(
        ["d6", "f4", "f6"]
            .iter()
            .all(|square| rows.contains(square)),
        "{rows}"
    );
    let hint = last_line(&["both", "setup e6f4e3f6g5d6e7f5", "hint"]);
    assert!(hint.starts_with("c5 +64.00 (depth 2)"), "{hint}");
    let hint = last_line(&["both", "setup e6f4e3f6g5d6e7f5", "level 12", "hint"]);
    assert!(
        hint.starts_with(&format!("c5 +64.00 (depth {})", LEVELS[11].depth.0)),
        "{hint}"
    );
    assert_eq!(
        last_line(&["level 12"]),
        last_line(&[&format!("level {}", LEVELS[11].name.to_uppercase())])
    );
    assert_eq!(last_line(&["level"]), "test: 2 moves ahead, exact from 4");
    assert!(
        LEVELS
            .iter()
            .all(|level| shown(&["level"]).contains(&format!(" {} ", level.name)))
    );
}

#[test]
fn a_weak_level_plays_the_same_game_again_and_not_the_best_moves() {
    let game = |level: &str| shown(&[&[level, "both"][..], &["go"; 60]].concat());
    let moves = |text: &str| {
        text.lines()
            .filter(|line| line.contains(" plays "))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let weak = moves(&game("level beginner"));
    assert_eq!(weak, moves(&game("level 1")));
    let review = |level: &str| shown(&[&[level, "both"][..], &["go"; 60], &["review"]].concat());
    let lost = |level: &str| {
        review(level)
            .lines()
            .skip_while(|line| !line.starts_with("move "))
            .count()
    };
    assert!(
        lost("level expert") < lost("level beginner"),
        "{}",
        review("level beginner")
    );
    assert_ne!(weak, moves(&game("level 2")));
}

#[test]
fn the_end_and_the_help_have_the_names_that_people_try() {
    let help = shown(&["?"]);
    assert!(
        help.contains("\nhint ") && help == shown(&["help"]),
        "{help}"
    );
    assert_eq!(shown(&["exit", "f5"]), shown(&["quit"]));
}

#[test]
fn a_review_names_the_moves_that_lost() {
    let text = shown(&["both", "level 4", "setup e6f4e3f6g5d6e7f5c5", "review"]);
    let rows: Vec<&str> = text
        .lines()
        .skip_while(|line| !line.starts_with("move "))
        .collect();
    assert_eq!(rows[0], "move          lost  better");
    // White could have kept a disc until its last move.
    let last: Vec<&str> = rows.last().unwrap().split_whitespace().collect();
    assert!(
        last[..3] == ["8", "white", "f5"] && last.len() == 5,
        "{rows:?}"
    );
    assert_eq!(last_line(&["review"]), "no move lost two discs or more");
    // Every level reviews at the same depth, and says so.
    let review = |level: &str| {
        let text = shown(&["both", level, "setup e6f4e3f6g5d6e7f5c5", "review"]);
        text[text.find("8 moves ahead, exact from 14:\nmove ").unwrap()..].to_owned()
    };
    assert_eq!(review("level 1"), review("level 11"));
}

#[test]
fn everything_fits_forty_columns() {
    let text = shown(&[
        "help",
        "f5",
        "hint",
        "values",
        "level 4",
        "review",
        "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz",
        "undo",
        "undo",
    ]);
    assert!(
        text.lines().all(|line| line.chars().count() <= 40),
        "{text}"
    );
}

#[test]
fn games_are_saved_and_loaded() {
    let workspace = Workspace::new();
    let file = workspace.path("my game.txt").display().to_string();
    let (save, overwrite, load) = (
        format!("save {file}"),
        format!("save! {file}"),
        format!("load {file}"),
    );
    assert_eq!(last_line(&[&save]), "no move has been played yet");
    let before = shown(&["both", "f5", "d6", &save]);
    assert!(before.ends_with(&format!("saved to {file}\n")), "{before}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "f5d6\n");
    assert_eq!(last_board(&shown(&["both", &load])), last_board(&before));
    let refused = last_line(&["both", "f5", &save]);
    assert!(
        refused.contains("it exists; name another place, or overwrite it with save!"),
        "{refused}"
    );
    shown(&["both", "f5", "d6", "c3", &overwrite]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "f5d6c3\n");
    // A game that begins elsewhere keeps its position.
    let board = "---------------------------XO------OX---------------------------";
    let elsewhere = shown(&["both", &format!("setup {board} O;"), "d3", &overwrite]);
    assert_eq!(last_board(&shown(&["both", &load])), last_board(&elsewhere));
    assert_eq!(last_board(&elsewhere)[9], "X 1, O 4, black to move");
    // Comments and other games are passed over; files of others are never overwritten.
    workspace.write("games.txt", "# mine\n\n  f5d6c3 # first\nd3\n");
    let load = format!("load {}", workspace.path("games.txt").display());
    assert_eq!(
        last_board(&shown(&["both", &load])),
        last_board(&shown(&["both", "setup f5d6c3"]))
    );
    for (name, content) in [("diary.txt", "Dear diary\n"), ("games.txt", "f5d6c3\nd3\n")] {
        workspace.write(name, content);
        let refused = last_line(&[
            "both",
            "f5",
            &format!("save! {}", workspace.path(name).display()),
        ]);
        assert!(
            refused.contains("is not a file of one game: it is never overwritten"),
            "{refused}"
        );
        assert_eq!(
            std::fs::read_to_string(workspace.path(name)).unwrap(),
            content
        );
    }
}

#[test]
fn what_is_wrong_is_one_clear_line_and_changes_nothing() {
    let workspace = Workspace::new();
    for (name, content) in [
        ("diary", &b"Dear diary"[..]),
        ("bytes", &[0xff, 0xfe]),
        ("empty", b"# f5\n"),
        ("wrong", b"f5\na1"),
    ] {
        workspace.write(name, content);
    }
    let load = |name: &str| format!("load {}", workspace.path(name).display());
    let before = last_board(&shown(&["both", "f5"]));
    for (line, words) in [
        ("a1", "a1 is illegal; legal: f4 d6 f6"),
        ("i9", "unknown command: i9 (try help)"),
        ("f4 d6", "f4 stands alone"),
        (
            "level 99",
            "a level is a number from 1 to 15, or beginner, ",
        ),
        ("setup f5f5", "move 2: f5 is illegal"),
        ("setup ---", "the board has 3 characters"),
        (&load("diary"), "line 1, byte 4: the board has 4 characters"),
        (
            &load("bytes"),
            "bytes: it is not text in UTF-8 but in UTF-16; save it as UTF-8",
        ),
        (&load("empty"), "empty: it holds no game"),
        (&load("nowhere"), "nowhere"),
        (&load(""), "cannot read"),
        (
            "save /dev/null",
            "it is a device or a socket; name a new file",
        ),
        ("save /dev/null/game", "cannot write"),
    ] {
        let text = shown(&["both", "f5", line]);
        let (_, after) = text.split_once("X 4, O 1, white to move\n").unwrap();
        assert!(
            after.contains(words) && after.lines().count() == 1,
            "{line}: {after}"
        );
        assert_eq!(last_board(&text), before, "{line}");
    }
    let long = format!("f5{}\nf5\n", " ".repeat(100_000));
    let text = shown_bytes(long.as_bytes());
    assert!(
        text.contains("the line is too long\n") && text.contains("white plays "),
        "{text}"
    );
}

fn line() -> impl Strategy<Value = String> {
    const WORDS: [&str; 15] = [
        "hint",
        "values",
        "undo",
        "redo",
        "go",
        "level 1",
        "level",
        "black",
        "white",
        "both",
        "new",
        "review",
        "board",
        "help",
        "setup f5d6c3d3c4",
    ];
    prop_oneof![
        8 => "[a-h][1-8]",
        4 => prop::sample::select(WORDS.to_vec()).prop_map(str::to_owned),
        1 => "\\PC{0,20}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_lines_are_survived_and_the_board_stays_possible(lines in prop::collection::vec(line(), 0..60)) {
        let lines: Vec<&str> = lines.iter().map(String::as_str).filter(|line| !line.starts_with(['s', 'l', 'q'])).collect();
        let text = shown(&lines);
        let counts = &last_board(&text)[9];
        let discs: u32 = counts.split([' ', ',']).filter_map(|word| word.parse::<u32>().ok()).sum();
        let letters = last_board(&text)[1..9].concat();
        prop_assert_eq!(letters.chars().filter(|letter| "XO".contains(*letter)).count() as u32, discs);
        prop_assert!((4..=64).contains(&discs));
    }

    #[test]
    fn any_bytes_are_survived(input in prop::collection::vec(any::<u8>(), 0..500)) {
        shown_bytes(&input);
    }
}

#[test]
fn an_interrupt_ends_it_at_work_and_at_rest() {
    let workspace = Workspace::new();
    // A full-width search this deep takes minutes.
    for typed in ["level champion\nf5\n", ""] {
        let mut command = workspace.command(&["play", "--model", "builtin:square-weights"]);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Held until it ended: the end of the input would end it too, and with another code.
        let mut input = child.stdin.take().unwrap();
        input.write_all(typed.as_bytes()).unwrap();
        let (mut output, mut seen) = (child.stdout.take().unwrap(), Vec::<u8>::new());
        let ready: &[u8] = if typed.is_empty() {
            b"black to move"
        } else {
            b"exact from 2"
        };
        while !seen.windows(ready.len()).any(|window| window == ready) {
            let mut bytes = [0; 1024];
            let count = output.read(&mut bytes).unwrap();
            assert_ne!(count, 0, "it ended");
            seen.extend(&bytes[..count]);
        }
        send(&child, Signal::INT);
        assert_eq!(child.wait().unwrap().code(), Some(130), "{typed:?}");
        drop(input);
    }
}

#[test]
fn the_program_reads_a_pipe_and_colors_only_if_it_is_told_to() {
    let workspace = Workspace::new();
    for (variable, colored) in [("NO_COLOR", false), ("CLICOLOR_FORCE", true)] {
        let mut command =
            workspace.command(&["play", "--level", "1", "--model", "builtin:square-weights"]);
        command
            .env(variable, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(b"f5\nhint").unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{output:?}"
        );
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text.contains('\u{1b}'), colored, "{text}");
        assert!(
            strip_str(&text).to_string().contains("white plays "),
            "{text}"
        );
    }
    for (arguments, words) in [
        ("play --level 0", "1 to 15"),
        ("play --level weak", "beginner"),
        ("play --json", "gtp or nboard"),
        ("play --model x", "x"),
    ] {
        let outcome = workspace.run(arguments);
        assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
        assert!(
            outcome.stderr.contains(words) && !outcome.stdout.contains("plays"),
            "{}",
            outcome.stderr
        );
    }
}
