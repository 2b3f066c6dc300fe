//! `renma gtp` as a controller sees it: commands in, answers out.

use crate::support::workspace::Outcome;
use proptest::prelude::{
    Just, ProptestConfig, Strategy, any, prop, prop_assert, prop_assert_eq, prop_oneof, proptest,
};
use renma::artifact::{Builtin, LoadedModel, Model};
use renma::engine::{Depth, Limits};
use renma::play::gtp::serve;
use std::io::{Cursor, Write};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};

static MODEL: LazyLock<Arc<Model>> =
    LazyLock::new(|| LoadedModel::builtin(Builtin::SquareWeights).model);
static NEVER: AtomicBool = AtomicBool::new(false);

const LIMITS: Limits = Limits {
    exact_empties: 6,
    ..Limits::full_width(Depth(1))
};

fn talk(input: &[u8]) -> String {
    let mut output = Vec::new();
    serve(
        &MODEL,
        LIMITS,
        Cursor::new(input.to_vec()),
        &NEVER,
        &mut output,
    )
    .unwrap();
    String::from_utf8(output).unwrap()
}

/// The answers to commands, without the blank line after each.
fn answers(commands: &[String]) -> Vec<String> {
    let text = talk(
        commands
            .iter()
            .map(|command| format!("{command}\n"))
            .collect::<String>()
            .as_bytes(),
    );
    let answers: Vec<String> = text.split_terminator("\n\n").map(str::to_owned).collect();
    assert!(text.is_empty() || text.ends_with("\n\n"), "{text:?}");
    answers
}

fn check(conversation: &[(&str, &str)]) {
    let commands: Vec<String> = conversation
        .iter()
        .map(|(command, _)| (*command).to_owned())
        .collect();
    let found = answers(&commands);
    assert_eq!(found.len(), conversation.len(), "{found:?}");
    for ((command, expected), found) in conversation.iter().zip(&found) {
        assert_eq!(found, expected, "{command}");
    }
}

/// After these moves black must pass.
const BEFORE_PASS: [&str; 8] = [
    "b D3", "w C3", "b e6", "w D2", "b D1", "w E1", "black b2", "WHITE c1",
];

/// A game that ends early: white has no disc left.
const FINISHED: [&str; 9] = [
    "b E6", "w F4", "b E3", "w F6", "b G5", "w D6", "b E7", "w F5", "b C5",
];

fn played<'a>(moves: &[&'a str], then: &[(&'a str, &'a str)]) {
    let commands: Vec<String> = moves
        .iter()
        .map(|played| format!("play {played}"))
        .collect();
    let conversation: Vec<(&str, &str)> = commands
        .iter()
        .map(|command| (command.as_str(), "="))
        .chain(then.iter().copied())
        .collect();
    check(&conversation);
}

#[test]
fn the_administrative_commands_are_those_of_the_standard() {
    check(&[
        ("protocol_version", "= 2"),
        ("1 name", "=1 renma"),
        ("002 version", concat!("=2 ", env!("CARGO_PKG_VERSION"))),
        ("3 known_command genmove", "=3 true"),
        ("known_command reversi", "= false"),
        ("known_command", "= false"),
        ("boardsize 8", "="),
        ("4 boardsize 19", "?4 unacceptable size"),
        ("boardsize", "? syntax error"),
        ("komi 6.5", "="),
        ("komi", "? syntax error"),
        ("time_settings 300 10 1", "="),
        ("time_settings 300", "? syntax error"),
        ("time_left b 12 0", "="),
        ("time_left green 12 0", "? syntax error"),
        ("list_games", "= Othello"),
        ("set_game Othello", "="),
        ("set_game Go", "? unsupported game"),
        ("5 make_tea", "?5 unknown command"),
        ("6", "?6 unknown command"),
        ("4294967296 name", "? unknown command"),
    ]);
}

#[test]
fn every_listed_command_is_known_and_the_session_ends_with_quit() {
    let listed = answers(&["list_commands".to_owned()])[0]
        .trim_start_matches("= ")
        .to_owned();
    for name in listed.lines() {
        check(&[(&format!("known_command {name}"), "= true")]);
        assert_ne!(
            answers(&[name.to_owned()])[0],
            "? unknown command",
            "{name}"
        );
    }
    check(&[("9 quit", "=9")]);
    assert_eq!(answers(&["quit".to_owned(), "name".to_owned()]), ["="]);
}

#[test]
fn comments_control_characters_and_blank_lines_are_left_out() {
    let input = b"# a comment\n\n \t \n7\tna\x01me\x7f # here\r\n\x00\x02\nquit\n";
    assert_eq!(talk(input), "=7 renma\n\n=\n\n");
    // The last line may lack its end.
    assert_eq!(talk(b"1 name\n2 name"), "=1 renma\n\n=2 renma\n\n");
}

#[test]
fn a_line_too_long_is_an_error_and_the_next_one_is_answered() {
    let mut input = b"3 play b F5 ".repeat(10_000);
    input.extend(b"\n4 name\n");
    assert_eq!(talk(&input), "?3 line too long\n\n=4 renma\n\n");
}

#[test]
fn the_colors_take_turns_and_a_forced_pass_may_be_left_out() {
    check(&[
        ("play w F5", "? illegal move: it is the other side's turn"),
        ("play b A1", "? illegal move"),
        ("play b PASS", "? illegal move"),
        ("play b I9", "? syntax error"),
        ("play b", "? syntax error"),
        ("play F5", "? syntax error"),
        ("genmove w", "? it is the other side's turn"),
        ("genmove", "? syntax error"),
        ("play black f5", "="),
    ]);
    played(
        &BEFORE_PASS,
        &[
            ("play w pass", "? illegal move: it is the other side's turn"),
            ("genmove b", "= PASS"),
        ],
    );
    played(
        &BEFORE_PASS,
        &[
            ("play b pass", "="),
            ("play b pass", "? illegal move: it is the other side's turn"),
        ],
    );
    let mut found = Vec::new();
    for commands in [
        &["genmove b", "genmove w"][..],
        &["genmove w"],
        &["play b pass", "reg_genmove w"],
    ] {
        let begin = BEFORE_PASS.iter().map(|played| format!("play {played}"));
        found.push(
            answers(
                &begin
                    .chain(commands.iter().map(|&text| text.to_owned()))
                    .collect::<Vec<_>>(),
            )
            .pop(),
        );
    }
    assert!(
        found[0].as_ref().unwrap().len() == 4 && found.iter().all(|answer| *answer == found[0]),
        "{found:?}"
    );
}

#[test]
fn a_finished_game_has_a_score_and_passes() {
    check(&[("final_score", "? cannot score: the game is not over")]);
    played(
        &FINISHED,
        &[
            ("final_score", "= B+64"),
            ("genmove w", "= PASS"),
            ("play b pass", "="),
            ("final_score", "= B+64"),
        ],
    );
}

#[test]
fn colors_may_pass_after_the_end_for_ever() {
    let passes: Vec<(&str, &str)> = std::iter::repeat_n(
        [
            ("genmove w", "= PASS"),
            ("genmove b", "= PASS"),
            ("reg_genmove w", "= PASS"),
            ("play w pass", "="),
            ("play b pass", "="),
        ],
        100,
    )
    .flatten()
    .chain([("play b f5", "? illegal move"), ("final_score", "= B+64")])
    .collect();
    played(&FINISHED, &passes);
}

#[test]
fn undo_takes_back_a_command_with_the_pass_it_implied() {
    check(&[
        ("undo", "? cannot undo"),
        ("genmove b", "= D3"),
        ("undo", "="),
        ("undo", "? cannot undo"),
    ]);
    check(&[
        ("play b d3", "="),
        ("clear_board", "="),
        ("undo", "? cannot undo"),
    ]);
    let board = |commands: &[&str]| {
        let begin = BEFORE_PASS.iter().map(|played| format!("play {played}"));
        let all: Vec<String> = begin
            .chain(commands.iter().map(|&text| text.to_owned()))
            .collect();
        answers(&[&all[..], &["showboard".to_owned()]].concat())
            .pop()
            .unwrap()
    };
    assert_eq!(board(&["genmove w", "undo"]), board(&[]));
    assert_eq!(board(&["reg_genmove w"]), board(&[]));
    assert_ne!(board(&["genmove w"]), board(&[]));
}

#[test]
fn the_board_is_shown_with_coordinates_and_the_side_to_move() {
    let board = "= \n  a b c d e f g h\n1 . . . . . . . . \n2 . . . . . . . . \n3 . . .[X]. . . . \n4 . . . X X . . . \n\
                 5 . . . X O . . . \n6 . . . . . . . . \n7 . . . . . . . . \n8 . . . . . . . . \nX 4, O 1, white to move";
    check(&[
        ("play b d3", "="),
        ("showboard", board),
        ("clear_board", "="),
        ("play b d3", "="),
        ("showboard", board),
    ]);
}

#[test]
fn hints_are_the_best_moves_with_their_values() {
    let found = answers(&[
        "play b f5".to_owned(),
        "renma-hint 9".to_owned(),
        "renma-hint".to_owned(),
    ]);
    let hints: Vec<&str> = found[1].trim_start_matches("= ").lines().collect();
    let value = |line: &str| line.split(' ').nth(1).unwrap().parse::<f64>().unwrap();
    assert!(
        hints.len() == 3 && hints.is_sorted_by(|left, right| value(right) <= value(left)),
        "{found:?}"
    );
    assert!(
        hints.iter().all(|hint| hint.ends_with(" depth 1")),
        "{found:?}"
    );
    assert!(
        found[2].starts_with("= ") && value(&found[2][2..]) == value(hints[0]),
        "{found:?}"
    );
    played(
        &FINISHED,
        &[
            ("renma-hint", "= PASS -64.00 exact"),
            ("renma-hint many", "? syntax error"),
        ],
    );
}

/// Whether a line has nothing to answer: no more than a comment, blanks and control characters.
fn is_blank(line: &str) -> bool {
    line.split('#')
        .next()
        .unwrap()
        .chars()
        .all(|letter| letter.is_control() || letter.is_whitespace())
}

/// Commands as a confused controller might send them.
fn command() -> impl Strategy<Value = String> {
    let color = prop::sample::select(vec!["b", "w", "white", "x", ""]);
    let vertex = "([a-hA-H][1-8]|PASS|pass|j9|)";
    prop_oneof![
        4 => (color.clone(), vertex).prop_map(|(color, vertex)| format!("play {color} {vertex}")),
        6 => color.clone().prop_map(|color| format!("genmove {color}")),
        1 => color.prop_map(|color| format!("reg_genmove {color}")),
        2 => Just("undo".to_owned()),
        1 => prop::sample::select(vec!["clear_board", "showboard", "final_score", "renma-hint 3", "komi 1", "boardsize 8"])
            .prop_map(str::to_owned),
        1 => "[a-z_]{0,12}( [ -~]{0,12})?",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_answered_line_by_line(input in prop::collection::vec(
        prop_oneof![any::<u8>(), prop::sample::select(b"\n\n #0123456789play genmove bw f5".to_vec())], 0..2000)) {
        let output = talk(&input);
        let answers: Vec<&str> = output.split_terminator("\n\n").collect();
        prop_assert!(answers.iter().all(|answer| answer.starts_with(['=', '?'])), "{output:?}");
        let lines = String::from_utf8_lossy(&input).into_owned();
        prop_assert_eq!(answers.len(), lines.split('\n').filter(|line| !is_blank(line)).count());
    }

    #[test]
    fn commands_that_fail_or_are_undone_leave_the_board_as_if_they_had_never_been_sent(
        mut commands in prop::collection::vec(command(), 0..90)) {
        commands.push("showboard".to_owned());
        let found = answers(&commands);
        commands.retain(|command| !is_blank(command));
        prop_assert_eq!(found.len(), commands.len());
        let mut effective: Vec<String> = Vec::new();
        for (command, answer) in commands.iter().zip(&found) {
            let words: Vec<&str> = command.split_whitespace().collect();
            match words[0] {
                _ if answer.starts_with('?') => {}
                "clear_board" => effective.clear(),
                "undo" => drop(effective.pop()),
                "play" => effective.push(command.clone()),
                "genmove" => effective.push(format!("play {} {}", words[1], &answer[2..])),
                "quit" => return Ok(()),
                _ => {}
            }
        }
        effective.push("showboard".to_owned());
        let expected = answers(&effective);
        prop_assert_eq!(found.last(), expected.last());
    }
}

/// The program with these arguments and this input.
fn run(arguments: &str, input: &str) -> Outcome {
    let mut command = Command::new(env!("CARGO_BIN_EXE_renma"));
    command
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
        .args(arguments.split_whitespace());
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    child.wait_with_output().unwrap().into()
}

#[test]
fn the_program_plays_a_whole_game_against_itself() {
    let commands: String = (0..70)
        .map(|turn| format!("genmove {}\n", if turn % 2 == 0 { "b" } else { "w" }))
        .collect();
    let outcome = run(
        "gtp --model builtin:square-weights --depth 2",
        &format!("{commands}final_score\n"),
    );
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""));
    let answers: Vec<&str> = outcome.stdout.split_terminator("\n\n").collect();
    assert_eq!(answers.len(), 71);
    // A color that has to pass does so; the turns go on until neither can move.
    assert!(
        answers.iter().all(|answer| answer.starts_with("= ")),
        "{answers:?}"
    );
    assert!(
        answers[..70].ends_with(&["= PASS", "= PASS"]),
        "{answers:?}"
    );
    assert!(
        !answers[..58].ends_with(&["= PASS", "= PASS"]),
        "{answers:?}"
    );
}

#[test]
fn its_options_are_those_of_the_other_protocol() {
    for (arguments, words) in [
        ("gtp --depth 0", "--depth"),
        ("gtp --json", "--json"),
        ("gtp --model nowhere", "nowhere"),
    ] {
        let outcome = run(arguments, "");
        assert_eq!(outcome.code, Some(2), "{arguments}: {}", outcome.stderr);
        assert!(
            outcome.stderr.contains(words) && !outcome.stdout.contains("= "),
            "{arguments}: {}",
            outcome.stderr
        );
    }
    let outcome = run("gtp --depth 40 --nodes 1000", "genmove b\n");
    assert!(
        outcome.stderr.contains("builtin:champion") && outcome.stdout.starts_with("= "),
        "{}",
        outcome.stderr
    );
}
