//! What every command promises: help with an example, one JSON line on request, and peace with a
//! closed pipe.

use crate::support::workspace::{self, ONE_PLY, Outcome, Workspace};
use rustix::process::Signal;
use serde_json::Value;
use std::process::Stdio;

/// The headings of the program's help.
const HEADINGS: [&str; 6] = ["Loop:", "Data:", "Models:", "Engine:", "Machines:", "More:"];

/// The commands that a help text lists, with their headings.
fn listed_under(help: &str) -> Vec<(String, String)> {
    let (mut found, mut heading) = (Vec::new(), "");
    for line in help.lines().filter(|line| !line.is_empty()) {
        if !line.starts_with(' ') {
            heading = line;
        } else if (heading == "Commands:" || HEADINGS.contains(&heading))
            && !line.starts_with("   ")
        {
            found.push((
                heading.to_owned(),
                line.split_whitespace().next().unwrap().to_owned(),
            ));
        }
    }
    found.retain(|(_, name)| name != "help");
    found
}

fn listed(help: &str) -> Vec<String> {
    listed_under(help)
        .into_iter()
        .map(|(_, name)| name)
        .collect()
}

/// What a help text lists, in order, and the headings.
fn headings(help: &str) -> Vec<String> {
    let listed = listed_under(help);
    listed
        .chunk_by(|left, right| left.0 == right.0)
        .map(|group| group[0].0.clone())
        .collect()
}

#[test]
fn the_help_lists_at_most_20_commands_under_five_headings_and_the_others_on_request() {
    let workspace = Workspace::new();
    let (short, all) = (workspace.done("-h"), workspace.done("help --all"));
    let owned = |headings: &[&str]| headings.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(
        (headings(&short), headings(&all)),
        (owned(&HEADINGS[..5]), owned(&HEADINGS))
    );
    assert!(
        15 <= listed(&short).len() && listed(&short).len() <= 20,
        "{short}"
    );
    assert_eq!(
        [
            listed(&short),
            vec!["bench".to_owned(), "completions".to_owned()]
        ]
        .concat(),
        listed(&all)
    );
    assert_eq!(listed(&short), listed(&workspace.done("--help")));
    assert_eq!(workspace.done("help"), workspace.done("--help"));
    for words in ["run no-such-command", "eval -- --", "-- --help"] {
        let refused = workspace.run(&format!("help {words}"));
        assert_eq!(
            (refused.code, refused.stdout.as_str()),
            (Some(2), ""),
            "{words}: {}",
            refused.stderr
        );
    }
}

#[test]
fn the_short_help_of_every_command_fits_on_a_screen_and_the_long_one_has_all_options() {
    let workspace = Workspace::new();
    let mut hidden = Vec::new();
    for (name, _) in [(String::new(), true)]
        .into_iter()
        .chain(commands(&workspace, ""))
    {
        let (short, long) = (
            workspace.done(&format!("{name} -h")),
            workspace.done(&format!("{name} --help")),
        );
        assert!(
            short.lines().count() <= 40,
            "{name}: {} lines\n{short}",
            short.lines().count()
        );
        for line in short.lines().chain(long.lines()) {
            assert!(line.chars().count() <= 80, "{name}: {line}");
        }
        assert!(
            short.contains("-h, --help") && !short.contains("--progress"),
            "{name}: {short}"
        );
        assert_eq!(workspace.done(&format!("help {name}")), long, "{name}");
        let lines: Vec<&str> = short.lines().collect();
        let options = long
            .lines()
            .filter(|line| line.trim_start().starts_with('-') && !lines.contains(line));
        hidden.extend(
            options
                .filter_map(|line| line.split_whitespace().find(|word| word.starts_with("--")))
                .map(str::to_owned),
        );
    }
    assert!(
        hidden.contains(&"--scheduler".to_owned()) && hidden.contains(&"--threads".to_owned()),
        "{hidden:?}"
    );
}

#[test]
fn the_options_of_a_command_come_first_and_the_global_ones_last() {
    let workspace = Workspace::new();
    for (name, is_group) in commands(&workspace, "") {
        let help = workspace.done(&format!("{name} --help"));
        let (own, global) = help
            .split_once("\nGlobal options:\n")
            .unwrap_or_else(|| panic!("{name}: {help}"));
        let is_option = |text: &str, option: &str| {
            text.lines()
                .any(|line| line.trim_start().starts_with(option))
        };
        for option in [
            "--json",
            "--progress",
            "-v, --verbose",
            "-q, --quiet",
            "--threads",
            "-h, --help",
            "-V, --version",
        ] {
            assert!(
                is_option(global, option) && !is_option(own, option),
                "{name}: {option} in {help}"
            );
        }
        let options = global
            .lines()
            .filter(|line| line.starts_with("  ") && line.trim_start().starts_with('-'))
            .count();
        assert_eq!(
            (options, global.contains("Example: ")),
            (7, !is_group),
            "{name}: {help}"
        );
        // The long form of clap describes each value in a paragraph.
        assert!(!help.contains("Possible values:"), "{name}: {help}");
    }
}

#[test]
fn a_shell_completes_commands_and_options_from_the_generated_script() {
    let workspace = Workspace::new();
    workspace.write("renma.bash", workspace.done("completions bash"));
    for (line, expected) in [
        ("renma mod", vec!["model"]),
        ("renma model ex", vec!["export"]),
        ("renma model export --for", vec!["--format", "--force"]),
        ("renma model export --format ren", vec!["renma"]),
        ("renma gate --can", vec!["--candidate"]),
        ("renma status --th", vec!["--threads"]),
        ("renma status --lo", vec![]),
        ("renma completions ba", vec!["bash"]),
    ] {
        let script = "source renma.bash; read -ra COMP_WORDS <<<\"$1\"; COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); \
                      _renma renma \"${COMP_WORDS[-1]}\" \"${COMP_WORDS[-2]}\"; echo \"${COMPREPLY[@]}\"";
        let mut bash = std::process::Command::new("bash");
        let outcome = bash
            .args(["-c", script, "bash", line])
            .current_dir(workspace.root())
            .output()
            .unwrap();
        let mut completed: Vec<String> = String::from_utf8(outcome.stdout)
            .unwrap()
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        completed.sort();
        let mut expected = expected;
        expected.sort_unstable();
        assert_eq!(
            completed,
            expected,
            "{line}: {}",
            String::from_utf8_lossy(&outcome.stderr)
        );
    }
    for shell in ["zsh", "fish", "powershell", "elvish"] {
        assert!(
            workspace
                .done(&format!("completions {shell}"))
                .contains("fit-mpc"),
            "{shell}"
        );
    }
}

#[test]
fn an_error_under_json_is_one_line_on_stdout_with_the_same_words_and_code() {
    let workspace = tiny_run();
    workspace.write("configs/bad.toml", "[train]\nepoch = 3\n");
    workspace.write("bad.renma", "x");
    let check = |arguments: &str, code: i32, message: &str, remedy: Option<&str>| {
        let plain = workspace.run(arguments);
        let outcome = workspace.run(&format!("{arguments} --json"));
        assert_eq!(
            (plain.code, outcome.code),
            (Some(code), Some(code)),
            "{arguments}: {}",
            outcome.stderr
        );
        let error = &check_json(&outcome, arguments)["error"];
        assert_eq!(
            (error["code"].as_i64(), error["message"].as_str()),
            (Some(code.into()), Some(message)),
            "{error}"
        );
        assert!(error["causes"].is_array(), "{error}");
        match (remedy, error["remedy"].as_str()) {
            (Some(words), Some(found)) => assert!(found.contains(words), "{found}"),
            (expected, found) => assert_eq!(expected, found, "{arguments}"),
        }
        assert!(
            outcome.stderr.starts_with("error: ") && plain.stdout.is_empty(),
            "{arguments}: {}",
            outcome.stderr
        );
        // People read the same words.
        let words = outcome
            .stderr
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        assert!(words.contains(message), "{arguments}: {words}");
    };
    let line = "configs/bad.toml:2: train.epoch: unknown key";
    check(
        "config show --config configs/bad.toml",
        2,
        line,
        Some("did you mean epochs?"),
    );
    let cut = "cannot trust bad.renma: it does not begin as a model archive does";
    check("eval positions.obf --model bad.renma", 65, cut, None);
    check(
        "eval nothing.obf --model builtin:disc-count",
        2,
        "cannot read nothing.obf: it does not exist",
        None,
    );
    check(
        "gate --pears 3",
        2,
        "unexpected argument '--pears' found",
        Some("'--pairs'"),
    );
    let missing =
        "the following required arguments were not provided: --config <FILE> --output <DIR>";
    check("generate", 2, missing, Some("Usage: renma generate"));
    check(
        "no-such-command",
        2,
        "unrecognized subcommand 'no-such-command'",
        Some("--help"),
    );
}

/// Every command, those of groups too, with whether it is a group.
fn commands(workspace: &Workspace, group: &str) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    let help = if group.is_empty() {
        workspace.done("help --all")
    } else {
        workspace.done(&format!("{group} --help"))
    };
    for name in listed(&help) {
        let command = format!("{group} {name}").trim().to_owned();
        let inner = commands(workspace, &command);
        found.push((command, !inner.is_empty()));
        found.extend(inner);
    }
    found
}

#[test]
fn every_command_has_help_with_an_example() {
    let workspace = Workspace::new();
    let commands = commands(&workspace, "");
    let names: Vec<&str> = commands.iter().map(|(name, _)| name.as_str()).collect();
    for name in [
        "generate",
        "train",
        "fit-mpc",
        "gate",
        "promote",
        "status",
        "model export",
        "eval",
        "solve",
        "bench perft",
    ] {
        assert!(names.contains(&name), "{name} is not in {names:?}");
    }
    for (name, is_group) in &commands {
        let outcome = workspace.run(&format!("{name} --help"));
        assert_eq!(outcome.code, Some(0), "{name} --help");
        assert!(
            outcome.stderr.is_empty(),
            "{name} --help: {}",
            outcome.stderr
        );
        for option in ["--json", "--progress", "--threads"] {
            assert!(
                outcome.stdout.contains(option),
                "{name} --help: no {option}"
            );
        }
        if *is_group {
            continue;
        }
        let example = outcome
            .stdout
            .lines()
            .find_map(|line| line.split_once("Example: "))
            .map(|(_, example)| example);
        let example = example.unwrap_or_else(|| panic!("{name} --help has no example"));
        assert!(
            example.starts_with(&format!("renma {name}")),
            "{name} --help: {example}"
        );
    }
}

#[test]
fn the_example_of_each_help_is_a_command_line_that_parses() {
    let workspace = Workspace::new();
    for (name, is_group) in commands(&workspace, "") {
        if is_group {
            continue;
        }
        let help = workspace.done(&format!("{name} --help"));
        let begin = help.find("Example: renma ").unwrap() + "Example: renma ".len();
        // Help is wrapped to the terminal's width.
        let example = help[begin..]
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        let outcome = workspace.run(&format!("{example} --no-such-option"));
        assert!(
            outcome.stderr.contains("'--no-such-option'"),
            "{example}: {}",
            outcome.stderr
        );
    }
}

#[test]
fn config_show_prints_every_key_with_the_line_or_the_default_that_its_value_comes_from() {
    let workspace = Workspace::new();
    workspace.write(
        "mine.toml",
        "[run]\nfeatures = \"configs/features/es-cube.toml\"\n\n[train]\ntarget = \"result\"\n",
    );
    let shown = workspace.done("config show --config mine.toml");
    let line = |key: &str| {
        shown
            .lines()
            .find(|line| line.starts_with(key))
            .unwrap_or_else(|| panic!("{key}: {shown}"))
    };
    assert!(
        line("target = \"result\" ").ends_with("# mine.toml:5"),
        "{shown}"
    );
    assert!(
        line("start = \"parent\" ").ends_with("# default") && !shown.contains("lambda"),
        "{shown}"
    );
    let value = check_json(
        &workspace.run("config show --config mine.toml --json"),
        "config show",
    );
    assert_eq!(value["config"]["train"]["target"], "result");
    assert_eq!(
        (
            &value["origins"]["run.features"],
            &value["origins"]["run.seed"]
        ),
        (&"mine.toml:2".into(), &"default".into())
    );
    // What is shown is a config, and the same one.
    workspace.write("copy.toml", &shown);
    let copy = check_json(
        &workspace.run("config show --config copy.toml --json"),
        "config show",
    );
    assert_eq!(copy["config"], value["config"]);
    assert!(
        workspace
            .done("config show")
            .contains("features = \"features/edge-corner.toml\"")
    );
}

/// A tiny run with an OBF file.
fn tiny_run() -> Workspace {
    let workspace = Workspace::new();
    workspace.config(
        "tiny",
        "smoke",
        &[
            &ONE_PLY,
            [
                ("generate.games", "8"),
                ("generate.part_games", "4"),
                ("gate.games", "4"),
            ]
            .as_slice(),
        ]
        .concat(),
    );
    workspace.write(
        "positions.obf",
        "OOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOXX- O;\n\
         ---------------------------OX------XO--------------------------- X; d3:0;\n",
    );
    workspace
}

/// The stages of a tiny run in order.
const RUN: [&str; 10] = [
    "generate --config configs/tiny.toml --output datasets/tiny/selfplay/generation=0001",
    "train --config configs/tiny.toml --dataset datasets/tiny/selfplay/generation=0001",
    "fit-mpc --config configs/tiny.toml --model v0001",
    "gate --config configs/tiny.toml --candidate v0002 --baseline v0002 --output datasets/tiny/gate/generation=0001",
    "promote v0002 --models models/tiny",
    "status --config configs/tiny.toml",
    "model list --models models/tiny",
    "model show champion --models models/tiny",
    "model verify --models models/tiny",
    "eval positions.obf --model builtin:square-weights",
];

fn check_json(outcome: &Outcome, what: &str) -> Value {
    assert_eq!(
        outcome.stdout.lines().count(),
        1,
        "{what}: {}",
        outcome.stdout
    );
    assert!(outcome.stdout.ends_with('\n'), "{what}");
    serde_json::from_str(&outcome.stdout)
        .unwrap_or_else(|error| panic!("{what}: {error}: {}", outcome.stdout))
}

#[test]
fn json_is_one_line_on_stdout_the_first_time_and_when_there_is_nothing_to_do() {
    let workspace = tiny_run();
    for arguments in RUN {
        for _ in 0..2 {
            let outcome = workspace.run(&format!("{arguments} --json"));
            // Two equal players leave a gate inconclusive.
            let expected = if arguments.starts_with("gate") { 11 } else { 0 };
            assert_eq!(
                outcome.code,
                Some(expected),
                "{arguments}: {}",
                outcome.stderr
            );
            assert!(check_json(&outcome, arguments).is_object(), "{arguments}");
        }
    }
}

#[test]
fn eval_and_solve_print_every_position_in_the_order_of_the_file() {
    let workspace = tiny_run();
    workspace.write(
        "last.obf",
        "OOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOXX- O;\n".repeat(5),
    );
    for arguments in [
        "eval positions.obf --json",
        "eval positions.obf --depth 3 --json",
        "solve last.obf --json",
    ] {
        let value = check_json(&workspace.run(arguments), arguments);
        let positions = value["positions"].as_array().unwrap();
        assert_eq!(
            positions.len(),
            if arguments.starts_with("eval") { 2 } else { 5 },
            "{arguments}"
        );
        for position in positions {
            for key in [
                "board", "side", "score", "discs", "move", "depth", "nodes", "seconds",
            ] {
                assert!(
                    position.get(key).is_some(),
                    "{arguments}: no {key} in {position}"
                );
            }
            let discs = position["discs"].as_f64().unwrap();
            assert!(
                (discs * 1000.0 - position["score"].as_f64().unwrap()).abs() < 1e-6,
                "{arguments}: {position}"
            );
        }
        assert_eq!(positions[0]["side"], "O", "{arguments}");
        assert!(value["total"]["nodes"].is_u64(), "{arguments}");
        if arguments.starts_with("solve") {
            for position in positions {
                assert_eq!(
                    (&position["score"], &position["move"]),
                    (&64_000.into(), &"h8".into()),
                    "{arguments}"
                );
            }
        }
    }
    let static_value = check_json(
        &workspace.run("eval positions.obf --model builtin:square-weights --json"),
        "eval",
    );
    assert_eq!(static_value["positions"][1]["score"], 0);
    assert_eq!(static_value["positions"][1]["move"], Value::Null);
}

#[test]
fn solve_uses_a_table_of_the_size_asked_for() {
    let workspace = Workspace::new();
    workspace.write(
        "one.obf",
        "--X-OO----XOOO--XXXOOXOXXXOXOXXXXOOXXXXX-OXXXOXX--XX-OO----OOOO- X;\n",
    );
    let solve = |options: &str| {
        let arguments = format!("solve one.obf --model builtin:square-weights {options} --json");
        let value = check_json(&workspace.run(&arguments), &arguments);
        (
            value["positions"][0]["score"].clone(),
            value["total"]["nodes"].as_u64().unwrap(),
        )
    };
    let (score, nodes) = solve("--threads 1");
    assert_eq!(
        (score.clone(), nodes),
        solve("--threads 1 --memory 16MiB"),
        "the default"
    );
    let (small_score, small_nodes) = solve("--threads 1 --memory 1kB");
    assert_eq!(small_score, score);
    assert!(
        nodes < small_nodes,
        "{nodes} nodes, {small_nodes} with a tiny table"
    );
    assert_eq!(
        solve("--threads 2 --memory 1kB").0,
        score,
        "two threads share a table"
    );
    let refused = workspace.run("solve one.obf --memory 4EiB");
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("--memory 4.0 EiB"),
        "{}",
        refused.stderr
    );
}

/// The figures of `eval` about exact scores, from its other output: of each position the exact
/// score and the best moves.
fn exact_figures(positions: &[Value], exact: &[(f64, Vec<String>)]) -> Value {
    let errors = || {
        positions
            .iter()
            .zip(exact)
            .map(|(found, (exact, _))| found["discs"].as_f64().unwrap() - exact)
    };
    let chosen = positions
        .iter()
        .zip(exact)
        .filter_map(|(found, (_, best))| {
            let chosen = found["move"]
                .as_str()
                .or_else(|| found["moves"][0]["move"].as_str())?;
            Some(best.iter().any(|best| best == chosen))
        });
    let chosen: Vec<bool> = chosen.collect();
    let count = positions.len() as f64;
    serde_json::json!({
        "positions": positions.len(),
        "mae": errors().map(f64::abs).sum::<f64>() / count,
        "bias": errors().sum::<f64>() / count,
        "best_moves": chosen.iter().filter(|&&is_best| is_best).count() as f64 / chosen.len() as f64,
        "best_move_positions": chosen.len(),
    })
}

#[test]
fn eval_compares_values_with_the_exact_scores_that_a_file_lists() {
    let workspace = Workspace::new();
    let pass = format!("OX{}", "-".repeat(62));
    workspace.write("plain.obf", format!("{START} X;\n{START} O;\n{pass} X;\n"));
    let evaluated = |options: &str| {
        let arguments = format!("eval {options} --model builtin:square-weights --json");
        check_json(&workspace.run(&arguments), &arguments)
    };
    let plain = evaluated("plain.obf --moves");
    assert_eq!(plain["total"].get("exact"), None, "{plain}");
    let text = workspace.done("eval plain.obf --model builtin:square-weights");
    assert!(text.trim_end().ends_with(" CPU s"), "{text}");
    // Scores are made up: in the second position two moves are the best.
    let squares = |index: usize| {
        let moves = plain["positions"][index]["moves"]
            .as_array()
            .unwrap()
            .iter();
        moves
            .map(|found| found["move"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let (first, second) = (squares(0), squares(1));
    assert_eq!((first.len(), second.len()), (4, 4));
    let line = |squares: &[String], scores: [i32; 4]| {
        squares
            .iter()
            .zip(scores)
            .map(|(square, discs)| format!("{square}:{discs:+}; "))
            .collect::<String>()
    };
    let lines = [
        format!("{START} X; {}--:-127;", line(&first, [-4, -2, -6, -10])),
        format!(
            "{START} O; {}--:-127;",
            line(&second, [6, 0, 6, 2]).to_uppercase()
        ),
        format!("{pass} X; PA:-3;"),
        format!("{START} X; --:-127;"),
    ];
    workspace.write("scored.obf", lines.join("\n"));
    let exact = [
        (-2.0, vec![first[1].clone()]),
        (6.0, vec![second[0].clone(), second[2].clone()]),
        (-3.0, vec![]),
    ];
    for options in [
        "--moves",
        "--depth 1",
        "--depth 3 --moves",
        "--depth 4 --exact-empties 20",
    ] {
        let found = evaluated(&format!("scored.obf {options}"));
        let figures = &found["total"]["exact"];
        let expected = exact_figures(&found["positions"].as_array().unwrap()[..3], &exact);
        for (key, expected) in expected.as_object().unwrap() {
            let difference = figures[key].as_f64().unwrap() - expected.as_f64().unwrap();
            assert!(
                difference.abs() < 1e-9,
                "{options}: {key} is {}, {expected} expected",
                figures[key]
            );
        }
        let [mae, bias, share] =
            ["mae", "bias", "best_moves"].map(|key| figures[key].as_f64().unwrap());
        let text = workspace.done(&format!(
            "eval scored.obf {options} --model builtin:square-weights"
        ));
        let last = format!(
            "exact scores for 3 positions: mean absolute error {mae:.2} discs, bias {bias:+.2}, \
             best move in {:.1} % of 2",
            100.0 * share
        );
        assert_eq!(
            text.lines().last(),
            Some(last.as_str()),
            "{options}: {text}"
        );
    }
    // A static value has the move that --moves puts first.
    let [with, without] = ["scored.obf --moves", "scored.obf"]
        .map(|options| evaluated(options)["total"]["exact"].clone());
    assert_eq!(with, without);
    assert_eq!(without["best_moves"], 0.5);
    workspace.write("scored.obf", format!("{}\n", lines[2]));
    let only_pass = &evaluated("scored.obf")["total"]["exact"];
    assert_eq!(
        (&only_pass["best_moves"], &only_pass["best_move_positions"]),
        (&Value::Null, &0.into())
    );
    let text = workspace.done("eval scored.obf --model builtin:square-weights");
    let last = text.lines().last().unwrap();
    assert!(
        last.starts_with("exact scores for 1 position: ") && !last.contains("best move"),
        "{text}"
    );
}

#[test]
fn a_review_names_the_turning_points_of_each_game() {
    let workspace = Workspace::new();
    workspace.write("games.txt", "f5d6\n# the shortest\ne6f4e3f6g5d6e7f5c5\n");
    let review = "eval games.txt --review --depth 3 --model builtin:square-weights";
    let value = check_json(&workspace.run(&format!("{review} --json")), "eval --review");
    let played = |game: usize| value["positions"][game]["played"].as_array().unwrap();
    assert_eq!((played(0).len(), played(1).len()), (2, 9));
    for moves in [played(0), played(1)] {
        for (ply, found) in moves.iter().enumerate() {
            assert_eq!(
                (&found["ply"], &found["side"]),
                (&ply.into(), &["X", "O"][ply % 2].into())
            );
            let loss = found["best_score"].as_i64().unwrap() - found["score"].as_i64().unwrap();
            assert_eq!(
                (&found["loss"], &found["turning_point"]),
                (&loss.into(), &(2_000 <= loss).into()),
                "{found}"
            );
            assert_eq!(loss == 0, found["move"] == found["best_move"], "{found}");
        }
    }
    // White's last move gave everything away, and the text names it in its row.
    let last = &played(1)[7];
    assert_eq!(
        (&last["move"], &last["score"], &last["turning_point"]),
        (&"f5".into(), &(-64_000).into(), &true.into())
    );
    assert_eq!(
        value["review"],
        serde_json::json!({"depth": 3, "exact_empties": 14})
    );
    let text = workspace.done(review);
    assert!(
        text.contains("\nreviewed to depth 3, exactly from 14 empty squares on\ngame 1: "),
        "{text}"
    );
    assert!(
        text.contains("\ngame 1: ") && text.contains("\ngame 2: "),
        "{text}"
    );
    let is_row = |line: &&str| line.split_whitespace().take(3).eq(["8", "O", "f5"]);
    assert_eq!(text.lines().filter(is_row).count(), 1, "{text}");
    for (content, words) in [
        (format!("f5\n{START} X;\n"), "position 2 has no moves"),
        ("f5a1\n".into(), "line 1, byte 2"),
    ] {
        workspace.write("games.txt", content);
        let outcome = workspace.run(review);
        assert_eq!(
            (outcome.code, outcome.stdout.as_str()),
            (Some(65), ""),
            "{}",
            outcome.stderr
        );
        assert!(outcome.stderr.contains(words), "{}", outcome.stderr);
    }
    // A review without limits looks ahead; a value without them is static.
    workspace.write("games.txt", "f5d6\n");
    let depth = |arguments: &str| {
        check_json(&workspace.run(arguments), arguments)["positions"][0]["depth"].clone()
    };
    assert_eq!(
        (
            depth("eval games.txt --review --json"),
            depth("eval games.txt --json")
        ),
        (8.into(), 0.into())
    );
    // Moves cannot be compared without a look at what follows.
    let text = workspace.done("eval games.txt --review --depth 0");
    assert!(
        text.contains("\nreviewed to depth 1, exactly from 14 empty squares on\n"),
        "{text}"
    );
}

const START: &str = "---------------------------OX------XO---------------------------";

#[test]
fn eval_and_solve_read_stdin_pipes_and_substitutions_like_files() {
    let workspace = tiny_run();
    let last = "OOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOXX- O;\n";
    workspace.write("last.obf", last.repeat(3));
    let scores = |stdout: &str| {
        let value: Value = serde_json::from_str(stdout).unwrap();
        let positions = value["positions"].as_array().unwrap();
        positions
            .iter()
            .map(|position| position["score"].clone())
            .collect::<Vec<_>>()
    };
    for command in ["eval", "solve"] {
        let expected = scores(&workspace.done(&format!("{command} last.obf --json")));
        assert_eq!(expected.len(), 3);
        for script in [
            "$renma COMMAND - --json <last.obf",
            "cat last.obf | $renma COMMAND - --json",
            "cat last.obf | $renma COMMAND /dev/stdin --json",
            "$renma COMMAND <(cat last.obf) --json",
            "mkfifo COMMAND.fifo; cat last.obf >COMMAND.fifo & $renma COMMAND COMMAND.fifo --json",
        ] {
            let script = script.replace("COMMAND", command);
            let mut shell = std::process::Command::new("bash");
            shell
                .args(["-c", &script])
                .current_dir(workspace.root())
                .env("renma", env!("CARGO_BIN_EXE_renma"));
            let outcome: Outcome = shell.stdin(Stdio::null()).output().unwrap().into();
            assert_eq!(outcome.code, Some(0), "{script}\n{}", outcome.stderr);
            assert_eq!(scores(&outcome.stdout), expected, "{script}");
        }
        let empty = workspace.run(&format!("{command} -"));
        assert_eq!(empty.code, Some(65), "{}", empty.stderr);
        assert!(
            empty
                .stderr
                .contains("cannot use stdin: it holds no position"),
            "{}",
            empty.stderr
        );
    }
}

#[test]
fn eval_that_waits_for_a_pipe_ends_at_the_first_interrupt() {
    let workspace = tiny_run();
    let mut command = workspace.command(&["eval", "-"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Waiting for a child closes its pipe, unless somebody else holds it.
    let _pipe = child.stdin.take();
    let id = child.id().to_string();
    // The signals that the program handles are a mask in which SIGINT is the second bit.
    let handles_interrupt = || {
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
        let mask = status
            .lines()
            .find_map(|line| line.strip_prefix("SigCgt:"))
            .unwrap()
            .trim()
            .to_owned();
        u64::from_str_radix(&mask, 16).unwrap() & 2 != 0
    };
    assert!(workspace::reached(&mut child, handles_interrupt));
    workspace::send(&child, Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn eval_takes_transcripts_and_gives_the_position_after_the_last_move() {
    let workspace = tiny_run();
    workspace.write(
        "games.txt",
        format!("f5d6c3\n{START} X;\n  f5 # one move\n"),
    );
    let value = check_json(
        &workspace.run("eval games.txt --json --depth 2"),
        "eval games.txt",
    );
    let boards: Vec<_> = value["positions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|position| &position["board"])
        .collect();
    assert_eq!(
        boards[0],
        "------------------X--------XX------OXX-----O--------------------"
    );
    assert_eq!((boards[1], boards.len()), (&START.into(), 3));
    let sides: Vec<_> = value["positions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|position| &position["side"])
        .collect();
    assert_eq!(sides, ["O", "X", "O"]);
    workspace.write("end.txt", "e6f4e3f6g5d6e7f5c5\n");
    let value = check_json(&workspace.run("solve end.txt --json"), "solve end.txt");
    assert_eq!(
        value["positions"][0]["discs"].as_f64().unwrap().abs(),
        64.0,
        "{value}"
    );
    let text = workspace.done("solve end.txt");
    assert!(text.contains("\n1 position with "), "{text}");
    let outcome = workspace
        .command(&["eval", "1. f5 2. d6 3. c3", "--json", "--depth", "2"])
        .output()
        .unwrap();
    for outcome in [
        workspace.run("eval f5d6c3 --json --depth 2"),
        outcome.into(),
    ] {
        assert_eq!(
            check_json(&outcome, "eval f5d6c3")["positions"][0]["board"],
            "------------------X--------XX------OXX-----O--------------------",
            "{}",
            outcome.stderr
        );
    }
    assert!(
        workspace
            .run("eval f5d6a1")
            .stderr
            .contains("cannot read f5d6a1: it does not exist")
    );
    workspace.write("bad.txt", "f5d6\nf5d6a1\n");
    let bad = workspace.run("eval bad.txt");
    assert_eq!(bad.code, Some(65));
    assert!(
        bad.stderr.contains("bad.txt: line 2, byte 4: "),
        "{}",
        bad.stderr
    );
}

#[test]
fn eval_says_which_model_it_took_and_why() {
    let workspace = tiny_run();
    let note = "no champion in models/default";
    for command in ["eval positions.obf --json", "eval positions.obf"] {
        let outcome = workspace.run(command);
        assert!(
            outcome
                .stderr
                .contains(&format!("eval: with builtin:champion ({note})")),
            "{}",
            outcome.stderr
        );
    }
    let value = check_json(&workspace.run("eval positions.obf --json"), "eval");
    assert_eq!(
        (&value["model"], &value["model_note"]),
        (&"builtin:champion".into(), &note.into())
    );
    let named = workspace.run("eval positions.obf --json --model builtin:disc-count");
    assert_eq!(
        (
            check_json(&named, "eval")["model_note"].clone(),
            named.stderr.as_str()
        ),
        (Value::Null, "")
    );
    for arguments in &RUN[..5] {
        workspace.run(arguments);
    }
    let champion = workspace.run("eval positions.obf --models models/tiny");
    assert!(
        champion
            .stderr
            .contains("eval: with v0002 (the champion of models/tiny)"),
        "{}",
        champion.stderr
    );
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let workspace = tiny_run();
    for arguments in RUN {
        workspace.run(arguments);
    }
    for arguments in [
        "--help",
        "--version",
        "generate --help",
        "status --config configs/tiny.toml",
        "status --config configs/tiny.toml --json",
        "model list --models models/tiny",
        "model show v0002 --models models/tiny",
        "eval positions.obf --json",
        "eval positions.obf --depth 2",
        "bench perft --depth 3 --json",
        "train --config configs/tiny.toml --dataset datasets/tiny/selfplay/generation=0001",
    ] {
        let words: Vec<&str> = arguments.split_whitespace().collect();
        // A writing end whose reading end is gone before the program starts.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = workspace.command(&words);
        let output = command
            .stdout(Stdio::from(writer))
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments}: {stderr}");
        assert!(
            !stderr.contains("error") || stderr.starts_with("train "),
            "{arguments}: {stderr}"
        );
        assert!(!stderr.contains("panicked"), "{arguments}: {stderr}");
    }
}

#[test]
fn people_read_on_stderr_and_machines_on_stdout() {
    let workspace = tiny_run();
    for arguments in &RUN[..3] {
        let outcome = workspace.run(&format!("{arguments} --progress plain"));
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        assert!(!outcome.stderr.is_empty(), "{arguments} says nothing");
        // A script reads the new version's id.
        let id = if arguments.starts_with("generate") {
            ""
        } else {
            outcome.stdout.trim_end()
        };
        assert!(
            id.is_empty() || id.starts_with('v'),
            "{arguments}: {}",
            outcome.stdout
        );
        assert_eq!(
            outcome.stdout.lines().count(),
            usize::from(!id.is_empty()),
            "{arguments}"
        );
    }
}
