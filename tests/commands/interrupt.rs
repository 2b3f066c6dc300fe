//! The first signal in the midst of a long search: every command ends soon, with 130, and leaves
//! nothing half-made. Signals that a command was started to ignore, and engines whose other side is
//! gone.

use crate::support::workspace::{
    self, Outcome, Workspace, check_same, files, reached, send, signal_group, start_pipeline,
};
use renma::artifact::dataset::folder::part_path;
use renma::artifact::dataset::manifest::content_of;
use renma::artifact::step::settings_hash;
use renma::artifact::{DatasetKind, GAMES, Manifest, ModelRef, NEVER, POSITIONS};
use renma::engine::{Depth, Limits, MpcLevel, NodeRequest, Searcher};
use renma::pipeline::generate::task::ALGORITHM;
use rustix::process::Signal;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Ticks of processor time that a command may still use: 10 s of one core. Two seconds are the
/// promise; searches that did not listen took minutes.
const TICKS_TO_END: u64 = 1_000;

/// Processor time after which a command is in the midst of its search, in ticks of 10 ms.
const TICKS_AT_WORK: u64 = 60;

const OPENING: &str = "---------------------------OX------XO--------------------------- X;\n";

fn interrupt(child: &Child) {
    send(child, Signal::INT);
}

/// Ticks of processor time that a process has used.
fn ticks(id: u32) -> u64 {
    let Ok(line) = std::fs::read_to_string(format!("/proc/{id}/stat")) else {
        return 0;
    };
    let (_, fields) = line.rsplit_once(')').unwrap();
    let fields: Vec<&str> = fields.split_whitespace().collect();
    fields.get(11..13).map_or(0, |times| {
        times.iter().map(|time| time.parse::<u64>().unwrap()).sum()
    })
}

/// How a child ends that has been told to.
fn outcome_soon(mut child: Child, arguments: &str) -> Outcome {
    let before_end = ticks(child.id());
    while child.try_wait().unwrap().is_none() {
        if before_end + TICKS_TO_END < ticks(child.id()) {
            child.kill().unwrap();
            panic!("{arguments}: it still works");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().unwrap().into()
}

/// Interrupts a command that would search for hours, and looks at how it ends and what it leaves.
fn check_in_the_midst(workspace: &Workspace, arguments: &str) {
    let before = files(workspace.root());
    let mut child = workspace.start(&format!("{arguments} --threads 2"));
    let id = child.id();
    let at_work = reached(&mut child, || TICKS_AT_WORK <= ticks(id));
    assert!(
        at_work,
        "{arguments}: {:?}",
        Outcome::from(child.wait_with_output().unwrap())
    );
    interrupt(&child);
    let outcome = outcome_soon(child, arguments);
    assert_eq!(outcome.code, Some(130), "{arguments}: {}", outcome.stderr);
    assert!(
        outcome.stderr.contains("press Ctrl-C again to abort"),
        "{arguments}: {}",
        outcome.stderr
    );
    // No result, and for a script the error.
    let error = "{\"error\":{\"causes\":[],\"code\":130,\"message\":\"interrupted; run the same command again to resume\",\"remedy\":null}}\n";
    assert_eq!(
        outcome.stdout,
        if arguments.contains("--json") {
            error
        } else {
            ""
        },
        "{arguments}"
    );
    let after = files(workspace.root());
    assert_eq!(
        before.keys().collect::<Vec<_>>(),
        after.keys().collect::<Vec<_>>(),
        "{arguments}"
    );
}

/// Keys of `[generate]` for few and quick games.
const FEW_GAMES: [(&str, &str); 5] = [
    ("generate.games", "4"),
    ("generate.part_games", "1"),
    ("generate.label_depth", "1"),
    ("generate.play_depth", "1"),
    ("generate.exact_empties", "0"),
];

/// A config whose stage searches for hours: the shipped one for tests with other values for some
/// keys.
fn config(workspace: &Workspace, name: &str, changes: &[(&str, &str)]) -> String {
    workspace.config(name, "smoke", &[&FEW_GAMES, changes].concat())
}

#[test]
fn self_play_ends_in_the_midst_of_any_search() {
    let workspace = Workspace::new();
    workspace.write(
        "configs/features/edge-corner.toml",
        workspace::shipped("features/edge-corner.toml"),
    );
    for (name, changes) in [
        (
            "label",
            &[
                ("generate.label_depth", "30"),
                ("generate.play_depth", "30"),
            ][..],
        ),
        (
            "play",
            &[
                ("generate.label_from_ply", "60"),
                ("generate.play_depth", "30"),
            ],
        ),
        (
            "exact",
            &[
                ("generate.exact_empties", "30"),
                ("generate.random_plies_min", "30"),
                ("generate.random_plies_max", "30"),
            ],
        ),
    ] {
        let config = config(&workspace, name, changes);
        let model = "--model builtin:square-weights";
        check_in_the_midst(
            &workspace,
            &format!("generate --config {config} {model} --output data/{name}"),
        );
    }
    let config = "configs/label.toml --model builtin:square-weights";
    workspace.done(&format!(
        "generate --plan plan.json --config {config} --shards 2 --output data/shards"
    ));
    check_in_the_midst(&workspace, "shard run plan.json 0");
}

#[test]
fn fits_of_mpc_end_in_the_midst_of_any_search() {
    let workspace = Workspace::new();
    workspace.write(
        "configs/features/edge-corner.toml",
        workspace::shipped("features/edge-corner.toml"),
    );
    let deep = ("fit_mpc.depth_max", "16");
    for (name, changes) in [
        ("line", &[deep][..]),
        (
            "source",
            &[
                deep,
                ("fit_mpc.method", "\"source\""),
                ("fit_mpc.t", "10.0"),
            ],
        ),
    ] {
        let config = workspace.config(name, "smoke", changes);
        let model = "--model builtin:square-weights --models models";
        check_in_the_midst(
            &workspace,
            &format!("fit-mpc --config {config} {model} --output data/{name}"),
        );
    }
}

#[test]
fn gates_end_in_the_midst_of_any_search() {
    let workspace = Workspace::new();
    workspace.write(
        "configs/features/edge-corner.toml",
        workspace::shipped("features/edge-corner.toml"),
    );
    for (name, changes) in [
        ("moves", &[("gate.depth", "30")][..]),
        (
            "exact",
            &[("gate.exact_empties", "30"), ("gate.depth", "1")],
        ),
    ] {
        let config = workspace.config(name, "smoke", changes);
        let players = "--candidate builtin:square-weights --baseline builtin:disc-count";
        check_in_the_midst(
            &workspace,
            &format!("gate --config {config} {players} --output data/{name}"),
        );
    }
}

#[test]
fn searches_of_positions_end_at_the_first_signal() {
    let workspace = Workspace::new();
    workspace.write("start.obf", OPENING.repeat(3));
    workspace.write("game.txt", "f5d6c3d3c4\n".repeat(3));
    for arguments in [
        "eval start.obf --model builtin:square-weights --depth 40 --json",
        concat!(
            "eval start.obf --depth 40 --mpc-level 99 --model ",
            env!("CARGO_MANIFEST_DIR"),
            "/tests/data/model"
        ),
        "solve start.obf --model builtin:square-weights",
        "bench search --depth 30 --json",
        "bench endgame --depth 30",
        "bench perft --depth 14",
        "dataset import game.txt --format transcripts --label-depth 30 --model builtin:square-weights --output data",
    ] {
        check_in_the_midst(&workspace, arguments);
    }
}

/// Lets a dataset say, in manifest and footers, that its labels are from searches of depth 30.
fn say_depth_30(folder: &Path) {
    let mut manifest = Manifest::read(folder, DatasetKind::Selfplay).unwrap();
    manifest.config["label_depth"] = 30.into();
    let text = |text: &dyn ToString| text.to_string();
    let mut settings = vec![
        ("format", text(&manifest.format.number())),
        ("algorithm", text(&ALGORITHM)),
        ("rules", text(&manifest.rules)),
    ];
    settings.extend([
        ("seed", text(&manifest.seed)),
        ("generation", text(&manifest.generation)),
    ]);
    settings.push(("model", text(&manifest.models["player"])));
    let mut settings: Vec<(String, String)> = settings
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    let keys = manifest
        .config
        .as_object()
        .unwrap()
        .iter()
        .filter(|(key, _)| *key != "games");
    settings.extend(keys.map(|(key, value)| (format!("generate.{key}"), value.to_string())));
    manifest.recipe = settings_hash("recipe", &settings);
    for (index, part) in manifest.parts.iter_mut().enumerate() {
        for table in [&GAMES, &POSITIONS] {
            let path = part_path(folder, table, index);
            let (_, mut footer, rows) = table.read_unlisted(&path, |_| Ok(1_000), &NEVER).unwrap();
            footer.retain(|key, _| key.starts_with("renma."));
            footer.insert("renma.recipe".into(), manifest.recipe.to_string());
            footer.insert("renma.generate.label_depth".into(), "30".into());
            part.files.insert(
                table.name.to_owned(),
                table.write(&path, &rows, &footer).unwrap(),
            );
        }
    }
    manifest.content = content_of(&manifest.parts);
    manifest.write(folder).unwrap();
}

#[test]
fn a_check_that_searches_again_ends_at_the_first_signal() {
    let workspace = Workspace::new();
    workspace.write(
        "configs/features/edge-corner.toml",
        workspace::shipped("features/edge-corner.toml"),
    );
    let config = config(&workspace, "quick", &[]);
    workspace.done(&format!(
        "generate --config {config} --model builtin:square-weights --output data/quick"
    ));
    say_depth_30(&workspace.path("data/quick"));
    check_in_the_midst(&workspace, "dataset verify data/quick --fast --remake 1");
}

#[test]
fn games_in_flight_are_dropped_whole_and_played_again_to_the_same_bytes() {
    let workspace = Workspace::new();
    workspace.write(
        "configs/features/edge-corner.toml",
        workspace::shipped("features/edge-corner.toml"),
    );
    let changes = [
        ("generate.label_depth", "8"),
        ("generate.play_depth", "8"),
        ("generate.exact_empties", "17"),
    ];
    let config = config(&workspace, "slow", &changes);
    let call = |output: &str| {
        format!(
            "generate --config {config} --model builtin:square-weights --threads 2 --output {output}"
        )
    };
    workspace.done(&call("whole"));
    let mut stops = 0;
    for parts in 0..4 {
        let mut child = workspace.start(&call("stopped"));
        let positions = workspace.path("stopped/positions");
        let (id, folder) = (child.id(), workspace.path("stopped"));
        let parts_now = || {
            std::fs::read_dir(&positions).map_or(0, |entries| {
                entries
                    .filter(|entry| {
                        !entry
                            .as_ref()
                            .unwrap()
                            .file_name()
                            .to_str()
                            .unwrap()
                            .starts_with('.')
                    })
                    .count()
            })
        };
        if reached(&mut child, || parts <= parts_now() && 5 < ticks(id)) {
            interrupt(&child);
        }
        let outcome: Outcome = child.wait_with_output().unwrap().into();
        if outcome.code == Some(130) {
            stops += 1;
            assert!(!folder.join("manifest.json").exists());
            for (name, bytes) in files(&folder) {
                assert!(
                    bytes == files(&workspace.path("whole"))[&name],
                    "{name} differs"
                );
            }
        }
    }
    assert!(0 < stops, "the games were over before any signal");
    workspace.done(&call("stopped"));
    check_same(
        &workspace.path("stopped"),
        &workspace.path("whole"),
        "interrupted games",
    );
}

#[test]
fn a_pipeline_that_a_signal_ends_is_recorded_as_interrupted() {
    let workspace = Workspace::new();
    let config = config(
        &workspace,
        "run",
        &[
            ("generate.label_depth", "30"),
            ("generate.play_depth", "30"),
        ],
    );
    let record = || -> Value {
        serde_json::from_slice(&std::fs::read(workspace.path("models/run/run.json")).unwrap())
            .unwrap()
    };
    // `timeout` ends the script and its stages with SIGTERM; a terminal with SIGINT.
    for signal in [Signal::TERM, Signal::INT] {
        let mut child = start_pipeline(&workspace, &format!("--config {config}"));
        let lock = workspace.path("datasets/run/selfplay/generation=0001/.lock");
        assert!(
            reached(&mut child, || lock.exists()),
            "{signal:?}: the pipeline ended before its first stage"
        );
        assert_eq!(record()["outcome"], "running", "{signal:?}");
        signal_group(&mut child, signal);
        assert_eq!(
            (&record()["code"], &record()["outcome"]),
            (&130.into(), &"interrupted".into()),
            "{signal:?}"
        );
        std::fs::remove_dir_all(workspace.path("datasets/run")).unwrap();
    }
}

/// Runs a search that would take hours, raises its flag in the midst of it and says how long it
/// took to end.
fn seconds_to_end(search: impl FnOnce(&mut Searcher<'_>) -> bool) -> f64 {
    let model = "builtin:square-weights"
        .parse::<ModelRef>()
        .unwrap()
        .load(Path::new("models"))
        .unwrap()
        .model;
    let stop = AtomicBool::new(false);
    let mut searcher = Searcher::new(&model.evaluation, &model.mpc, 16).stopped_by(&stop);
    std::thread::scope(|scope| {
        let raised = scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            stop.store(true, Ordering::Relaxed);
            Instant::now()
        });
        assert!(search(&mut searcher), "a search for hours was not stopped");
        let ended = Instant::now();
        ended
            .saturating_duration_since(raised.join().unwrap())
            .as_secs_f64()
    })
}

#[test]
fn every_kind_of_search_ends_soon_after_its_flag_is_raised() {
    let start = renma::engine::board::position::Position::START;
    let request = NodeRequest {
        depth: Depth(20),
        choice: 1,
    };
    let seconds = [
        seconds_to_end(|searcher| {
            searcher
                .search(start, Limits::full_width(Depth(40)))
                .stopped
        }),
        seconds_to_end(|searcher| searcher.solve(start).stopped),
        seconds_to_end(|searcher| {
            searcher
                .search(
                    start,
                    Limits {
                        wld_empties: 60,
                        ..Limits::full_width(Depth(2))
                    },
                )
                .stopped
        }),
        seconds_to_end(|searcher| {
            searcher
                .score_at_depth(start, Depth(40), MpcLevel::FullWidth)
                .is_err()
        }),
        seconds_to_end(|searcher| searcher.sample_node(start, Depth(40), request).is_err()),
    ];
    // A search that does not listen takes hours.
    assert!(seconds.iter().all(|&seconds| seconds < 60.0), "{seconds:?}");
}

#[test]
fn a_signal_that_was_ignored_at_the_start_stays_ignored() {
    let workspace = Workspace::new();
    let config = config(&workspace, "many", &[("generate.games", "100000")]);
    for (name, signal, other) in [
        ("INT", Signal::INT, Signal::TERM),
        ("TERM", Signal::TERM, Signal::HUP),
        ("HUP", Signal::HUP, Signal::INT),
    ] {
        let call =
            format!("generate --config {config} --model builtin:square-weights --output {name}");
        let mut shell = Command::new("sh");
        shell.args([
            "-c",
            &format!("trap '' {name}; exec \"$@\""),
            "sh",
            env!("CARGO_BIN_EXE_renma"),
        ]);
        shell
            .args(["--progress", "none", "--threads", "1"])
            .args(call.split(' '))
            .current_dir(workspace.root());
        let mut child = shell
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let parts =
            || std::fs::read_dir(workspace.path(name).join("positions")).map_or(0, Iterator::count);
        assert!(reached(&mut child, || 2 < parts()), "{name}");
        send(&child, signal);
        let before = parts();
        assert!(
            reached(&mut child, || before + 100 < parts()),
            "SIG{name} ended it"
        );
        send(&child, other);
        let outcome = outcome_soon(child, name);
        assert_eq!(outcome.code, Some(130), "{name}: {}", outcome.stderr);
        assert_eq!(
            outcome.stderr.matches("press Ctrl-C again").count(),
            1,
            "{name}: {}",
            outcome.stderr
        );
    }
}

/// An engine that was told these commands, and may be told more.
fn engine(workspace: &Workspace, arguments: &str, commands: &str) -> Child {
    let mut engine = workspace.command(&arguments.split(' ').collect::<Vec<_>>());
    let mut child = engine
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .as_mut()
        .unwrap()
        .write_all(commands.as_bytes())
        .unwrap();
    child
}

/// An engine in the midst of a search for hours.
fn searching_engine(workspace: &Workspace, arguments: &str, commands: &str) -> Child {
    let mut child = engine(workspace, arguments, commands);
    let id = child.id();
    assert!(
        reached(&mut child, || TICKS_AT_WORK <= ticks(id)),
        "{arguments}"
    );
    child
}

#[test]
fn an_engine_ends_its_search_when_nobody_can_hear_of_it() {
    let workspace = Workspace::new();
    for (arguments, commands) in [
        ("nboard --depth 60 --model builtin:square-weights", "go\n"),
        (
            "nboard --depth 60 --model builtin:square-weights",
            "hint 3\n",
        ),
        (
            "gtp --depth 60 --model builtin:square-weights",
            "genmove b\ngenmove w\n",
        ),
    ] {
        let mut child = searching_engine(&workspace, arguments, commands);
        drop((child.stdin.take(), child.stdout.take()));
        let outcome = outcome_soon(child, arguments);
        assert_eq!(
            (outcome.code, outcome.stderr.contains("error")),
            (Some(0), false),
            "{arguments}: {}",
            outcome.stderr
        );
    }
}

#[test]
fn an_engine_goes_on_for_a_script_that_only_reads_and_for_one_that_only_writes() {
    let workspace = Workspace::new();
    // All commands are written before the search has ended.
    let arguments = "gtp --depth 60 --nodes 20000000 --model builtin:square-weights";
    let mut child = engine(&workspace, arguments, "genmove b\n");
    drop(child.stdin.take());
    let mut answer = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut answer)
        .unwrap();
    assert!(answer.starts_with("= "), "{answer}");
    assert_eq!(outcome_soon(child, arguments).code, Some(0));
    // Another reader may come, as with a named pipe, while commands can.
    let mut child = searching_engine(
        &workspace,
        "gtp --depth 60 --model builtin:square-weights",
        "genmove b\n",
    );
    drop(child.stdout.take());
    let id = child.id();
    assert!(
        reached(&mut child, || 2 * TICKS_AT_WORK <= ticks(id)),
        "it ended"
    );
    interrupt(&child);
    assert_ne!(outcome_soon(child, "gtp").code, None);
}
