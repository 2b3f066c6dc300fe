//! `renma nboard` as an Othello program sees it: commands in, answers out.

use crate::support::workspace::{Outcome, Workspace, send};
use proptest::prelude::{
    ProptestConfig, Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest,
};
use renma::artifact::{Builtin, LoadedModel, Model};
use renma::engine::{Depth, Limits};
use renma::play::nboard::serve;
use rustix::process::Signal;
use serde_json::Value;
use std::io::{BufRead, BufReader, Cursor, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};

/// A quick player without a file.
const PLAYER: &str = "nboard --model builtin:square-weights --depth 3 --exact-empties 8";

const HEAD: &str = "(;GM[Othello]PC[NBoard]DT[2026-11-22 20:52:27 GMT]PB[a]PW[b]RE[?]TI[15:00]TY[8]\
                    BO[8 ---------------------------O*------*O--------------------------- *]";

/// After these moves black must pass.
const BEFORE_PASS: &str = "B[D3]W[C3//1.5]B[e6/1.20/0.50]W[D2/-3/2]B[D1]W[E1]B[b2//]W[C1]";

/// A game that ends early: white has no disc left.
const FINISHED: &str = "B[E6]W[F4]B[E3]W[F6]B[G5]W[D6]B[E7]W[F5]B[C5]";

/// Sends these lines and the end of the input, and waits for the end of the program.
fn talk(arguments: &str, lines: &[&str]) -> Outcome {
    talk_bytes(
        arguments,
        lines
            .iter()
            .map(|line| format!("{line}\n"))
            .collect::<String>()
            .as_bytes(),
    )
}

fn talk_bytes(arguments: &str, input: &[u8]) -> Outcome {
    let mut child = start(arguments);
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap().into()
}

fn start(arguments: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_renma"));
    // Not in the project's folder, whose models/default has a champion once the pipeline has run
    // there.
    command.current_dir(env!("CARGO_TARGET_TMPDIR"));
    command
        .args(arguments.split_whitespace())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// The answers to commands, all of which the program takes without complaint.
fn answers(arguments: &str, lines: &[&str]) -> Vec<String> {
    let outcome = talk(arguments, lines);
    assert_eq!(
        (outcome.code, outcome.stderr.as_str()),
        (Some(0), ""),
        "{lines:?}"
    );
    outcome.stdout.lines().map(str::to_owned).collect()
}

/// The move of the last answer to `go`, and its score in discs.
fn played(answers: &[String]) -> (String, f64) {
    let line = answers
        .iter()
        .rev()
        .find_map(|line| line.strip_prefix("=== "))
        .unwrap();
    let parts: Vec<&str> = line.split('/').collect();
    let [square, score, seconds] = parts[..] else {
        panic!("{line}")
    };
    assert!(0.0 <= seconds.parse::<f64>().unwrap(), "{line}");
    (square.to_owned(), score.parse().unwrap())
}

fn game(moves: &str) -> String {
    format!("set game {HEAD}{moves};)")
}

#[test]
fn a_session_of_either_version_is_answered_line_by_line() {
    let found = answers(
        PLAYER,
        &[
            "nboard 2",
            "set depth 2",
            &game("B[F5]"),
            "ping 7",
            "learn",
            "go",
            "quit",
            "ping 8",
        ],
    );
    let [name, depth, pong, learned, thinking, nodes, played] = &found[..] else {
        panic!("{found:?}")
    };
    assert_eq!(
        [name, depth, pong, learned],
        [
            "set myname renma3",
            "set myname renma2",
            "pong 7",
            "learned"
        ]
    );
    assert_eq!(thinking, "status renma is thinking");
    assert!(
        nodes.starts_with("nodestats ") && played.starts_with("=== "),
        "{found:?}"
    );
    let found = answers(PLAYER, &["nboard 1", "F5", "d6", "move c5/1.25/3", "learn"]);
    assert_eq!(found, ["set myname renma3", "learn"]);
    let found = answers(
        PLAYER,
        &[
            "set depth 0",
            "set depth 60",
            "set depth 61",
            "set depth 256",
        ],
    );
    assert_eq!(
        found,
        [1, 60, 60, 60].map(|depth| format!("set myname renma{depth}"))
    );
}

/// What `renma eval` finds at depth 3 in a position given by the moves that lead there.
fn evaluated(workspace: &Workspace, moves: &str) -> (String, f64) {
    workspace.write("game.txt", format!("{moves}\n"));
    let text =
        workspace.done("eval game.txt --model builtin:square-weights --depth 3 --exact-empties 8 --json --threads 1");
    let value: Value = serde_json::from_str(&text).unwrap();
    let position = &value["positions"][0];
    (
        position["move"].as_str().unwrap().to_uppercase(),
        position["discs"].as_f64().unwrap(),
    )
}

#[test]
fn the_move_is_that_of_the_search_however_the_game_was_told() {
    let workspace = Workspace::new();
    let expected = evaluated(&workspace, "f5d6c5");
    let whole = game("B[F5]W[D6/1.20/0.50]B[c5//6]");
    let start = game("");
    let other = game("B[D3]W[C3]B[C4]");
    for lines in [
        &[whole.as_str(), "go"][..],
        &[&start, "move F5", "move D6/-1.25/10", "move c5//1", "go"],
        &["F5", "D6", "C5", "go"],
        &[&other, "go", &whole, "go"],
        &[&game("B[F5]"), "go", "hint 3", &whole, "go"],
    ] {
        let (square, score) = played(&answers(PLAYER, lines));
        assert_eq!(square, expected.0, "{lines:?}");
        assert!(
            (score - expected.1).abs() < 0.006,
            "{lines:?}: {score} {}",
            expected.1
        );
    }
}

#[test]
fn passes_are_played_and_accepted() {
    let must_pass = game(BEFORE_PASS);
    assert_eq!(played(&answers(PLAYER, &[&must_pass, "go"])).0, "PA");
    let reply = played(&answers(PLAYER, &[&must_pass, "move PA", "go"])).0;
    assert_ne!(reply, "PA");
    let written = game(&format!("{BEFORE_PASS}B[PA]W[{reply}]"));
    let left_out = game(&format!("{BEFORE_PASS}W[{reply}]"));
    let skipped = format!("move {reply}");
    for lines in [
        &[written.as_str(), "go"][..],
        &[&left_out, "go"],
        &[&must_pass, &skipped, "go"],
    ] {
        let found = answers(PLAYER, lines);
        assert_eq!(found.len(), 3, "{found:?}");
        assert_ne!(played(&found).0, "PA");
    }
    assert_eq!(
        played(&answers(PLAYER, &[&game(FINISHED), "go"])),
        ("PA".to_owned(), -64.0)
    );
}

#[test]
fn hints_are_the_best_moves_at_growing_depths() {
    let found = answers(PLAYER, &[&game("B[F5]"), "hint 2"]);
    let hints: Vec<Vec<&str>> = found
        .iter()
        .filter(|line| line.starts_with("search "))
        .map(|line| line.split(' ').collect())
        .collect();
    assert_eq!(hints.len(), 6, "{found:?}");
    assert_eq!(
        hints.iter().map(|hint| hint[4]).collect::<Vec<_>>(),
        ["1", "1", "2", "2", "3", "3"]
    );
    for pair in hints.chunks(2) {
        let score = |hint: &[&str]| hint[2].parse::<f64>().unwrap();
        assert!(score(&pair[1]) <= score(&pair[0]), "{found:?}");
        assert!(
            pair.iter()
                .all(|hint| hint[3] == "0" && ["D6", "F4", "F6"].contains(&hint[1])),
            "{found:?}"
        );
    }
    // One hint is a line of play.
    let found = answers(PLAYER, &["hint 1"]);
    let line = found
        .iter()
        .rev()
        .find_map(|line| line.strip_prefix("search "))
        .unwrap();
    assert!(4 <= line.split(' ').next().unwrap().len(), "{found:?}");
    // Near the end they are exact, and without a move there is the pass.
    let found = answers(PLAYER, &[&game(FINISHED), "hint 2"]);
    assert!(
        found.contains(&"search PA -64.00 0 100%".to_owned()),
        "{found:?}"
    );
}

#[test]
fn a_game_is_analyzed_from_its_end_as_black_sees_it() {
    let found = answers(PLAYER, &[&game(FINISHED), "analyze"]);
    let lines: Vec<&String> = found
        .iter()
        .filter(|line| line.starts_with("analysis "))
        .collect();
    assert_eq!(lines.len(), 10, "{found:?}");
    assert_eq!(lines[0], "analysis 9 64.00");
    // Black to move wins everything.
    assert_eq!(lines[1], "analysis 8 64.00");
    assert!(lines[9].starts_with("analysis 0 "), "{found:?}");
}

#[test]
fn what_cannot_be_done_changes_nothing_and_what_is_unknown_is_ignored() {
    let workspace = Workspace::new();
    let expected = evaluated(&workspace, "f5");
    let found = answers(
        PLAYER,
        &[
            "",
            "   ",
            "go away and come back",
            "move F5",
            "move A1",
            "move F5/",
            "move",
            "PA",
            "set game (;GM[Othello]BO[8 --- *];)",
            "set game f5d6",
            "set game",
            &game("B[F5]W[A1]"),
            "set",
            "set depth",
            "set depth many",
            "set contempt 100",
            "hint many -1",
            "xyzzy 12",
            "ping",
            "go",
        ],
    );
    let complaints = found
        .iter()
        .filter(|line| line.starts_with("status cannot "))
        .count();
    assert_eq!(complaints, 8, "{found:?}");
    assert!(found.contains(&"pong ".to_owned()), "{found:?}");
    assert_eq!(played(&found).0, expected.0);
    let mut bytes = vec![0xff, 0xfe, 0, b'\n'];
    bytes.extend([b"move ".as_slice(), &[b'F'; 1 << 20], b"\nmove F5\r\ngo"].concat());
    let outcome = talk_bytes(PLAYER, &bytes);
    let lines: Vec<String> = outcome.stdout.lines().map(str::to_owned).collect();
    assert_eq!((outcome.code, played(&lines).0), (Some(0), expected.0));
}

/// A conversation with a running program.
struct Talk {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Talk {
    fn start(arguments: &str) -> Self {
        let mut child = start(arguments);
        let (input, output) = (
            child.stdin.take().unwrap(),
            BufReader::new(child.stdout.take().unwrap()),
        );
        Self {
            child,
            input,
            output,
        }
    }

    fn say(&mut self, line: &str) {
        writeln!(self.input, "{line}").unwrap();
    }

    /// Reads answers up to one that begins like this.
    fn hear(&mut self, begin: &str) -> String {
        loop {
            let mut line = String::new();
            assert_ne!(
                self.output.read_line(&mut line).unwrap(),
                0,
                "{begin} never came"
            );
            if line.starts_with(begin) {
                return line;
            }
        }
    }
}

/// Searches that would take years.
const ENDLESS: &str = "nboard --model builtin:square-weights --depth 40";

/// A position with 14 empty squares: h6, which looks best, only draws; h5, a7 and g5 win.
#[test]
fn with_few_empty_squares_it_proves_which_move_wins() {
    let board = "*OOOOO---OO-*O--O*******O*O**O*-OOO*O*--OO*O*OO--*O*O*--*******-";
    let game = format!("set game (;GM[Othello]PC[NBoard]TY[8]BO[8 {board} *];)");
    let player = "nboard --model builtin:square-weights --depth 1 --exact-empties 0";
    let (by_depth, _) = played(&answers(player, &[&game, "go"]));
    let (proven, score) = played(&answers(
        &format!("{player} --wld-empties 14"),
        &[&game, "go"],
    ));
    assert_eq!(by_depth, "H6");
    assert!(
        ["H5", "A7", "G5"].contains(&proven.as_str()) && 2.0 <= score,
        "{proven} {score}"
    );
}

#[test]
fn a_ping_ends_what_is_being_searched() {
    let mut talk = Talk::start(ENDLESS);
    for (number, command) in ["hint 1", "hint 4", "analyze", "go"]
        .into_iter()
        .enumerate()
    {
        talk.say(command);
        talk.hear("status ");
        talk.say(&format!("ping {number}"));
        talk.hear(&format!("pong {number}"));
    }
    // The next command works as before.
    talk.say("set depth 2");
    talk.say("go");
    talk.hear("=== ");
    talk.say("quit");
    assert_eq!(talk.child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_signal_ends_it_at_work_and_at_rest() {
    for command in ["go", "ping 1"] {
        let mut talk = Talk::start(ENDLESS);
        talk.say(command);
        talk.hear(if command == "go" { "status " } else { "pong " });
        send(&talk.child, Signal::INT);
        assert_eq!(talk.child.wait().unwrap().code(), Some(130), "{command}");
    }
}

static MODEL: LazyLock<Arc<Model>> =
    LazyLock::new(|| LoadedModel::builtin(Builtin::SquareWeights).model);
static NEVER: AtomicBool = AtomicBool::new(false);

/// The answers of an engine that looks one move ahead.
fn answers_in_process(input: &[u8]) -> Vec<String> {
    let mut output = Vec::new();
    serve(
        &MODEL,
        Limits::full_width(Depth(1)),
        Cursor::new(input.to_vec()),
        &NEVER,
        &mut output,
    )
    .unwrap();
    String::from_utf8(output)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect()
}

/// Commands as a confused program might send them; `set depth` would only take time.
fn command() -> impl Strategy<Value = String> {
    let moves = prop::collection::vec("[BW]\\[([A-H][1-8]|PA)(/[0-9.]{0,4}){0,2}\\]", 0..6);
    prop_oneof![
        6 => "(move )?[a-hA-H][1-8](/1\\.5)?",
        2 => prop::sample::select(vec!["go", "move PA", "hint 2", "analyze", "learn", "nboard 1", "set", "set game"])
            .prop_map(str::to_owned),
        1 => moves.prop_map(|moves| format!("set game (;GM[Othello]{};)", moves.concat())),
        1 => "(set game |move |ping |hint )?\\PC{0,20}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_survived_and_the_next_command_is_answered(mut input in prop::collection::vec(any::<u8>(), 0..1000)) {
        input.retain(|byte| *byte != b'q');
        input.extend(b"\nset game (;GM[Othello]B[F5];)\ngo\n");
        let found = answers_in_process(&input);
        prop_assert!(["D6", "F4", "F6"].contains(&played(&found).0.as_str()), "{found:?}");
    }

    #[test]
    fn each_go_is_answered_by_a_move_that_can_be_played(commands in prop::collection::vec(command(), 0..60)) {
        let commands: Vec<String> = commands.into_iter().filter(|command| command.trim() != "quit").collect();
        // A ping may end a search, but not before its first move.
        let lines: String = commands.iter().map(|command| format!("{command}\n")).collect();
        let found = answers_in_process(format!("{lines}go\n").as_bytes());
        let goes = 1 + commands.iter().filter(|command| command.split_whitespace().next() == Some("go")).count();
        prop_assert_eq!(found.iter().filter(|line| line.starts_with("=== ")).count(), goes);
        let last = played(&found).0;
        let found = answers_in_process(format!("{lines}ping before\nmove {last}\nping after\n").as_bytes());
        prop_assert!(found.ends_with(&["pong before".to_owned(), "pong after".to_owned()]), "{last}: {found:?}");
    }
}

#[test]
fn a_reader_that_leaves_ends_it_quietly() {
    let Talk {
        mut child,
        mut input,
        output,
    } = Talk::start(PLAYER);
    drop(output);
    writeln!(input, "nboard 2\ngo").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn its_options_are_those_of_other_commands() {
    for (arguments, code, words) in [
        ("nboard --model nowhere", 2, "nowhere"),
        ("nboard --depth 0", 2, "--depth"),
        ("nboard --mpc-level 42", 2, "'42' for '--mpc-level"),
        ("nboard --json", 2, "--json"),
    ] {
        let outcome = talk(arguments, &[]);
        assert_eq!(outcome.code, Some(code), "{arguments}: {}", outcome.stderr);
        assert!(
            outcome.stderr.contains(words),
            "{arguments}: {}",
            outcome.stderr
        );
        assert_eq!(
            outcome.stdout.contains("\"error\""),
            arguments.contains("--json"),
            "{}",
            outcome.stdout
        );
    }
    // Without a model it says which it took; a node limit gives an answer soon, whatever the depth.
    let outcome = talk("nboard --depth 40 --nodes 1000", &["go"]);
    assert!(
        outcome.stderr.contains("builtin:champion") && outcome.stdout.contains("=== "),
        "{}",
        outcome.stderr
    );
}
