//! What commands write to: a new file, a pipe, stdout; nothing that somebody else put there. Limits
//! of the size of files and of memory.

use crate::support::workspace::{
    self, ONE_PLY, Outcome, Workspace, all_paths, copy_folder, files, shipped,
};
use renma::engine::ColoredPosition;
use std::fs::{File, symlink_metadata};
use std::io::Read;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

const BOARD: &str = "---------------------------OX------XO---------------------------";

/// An imported dataset, and a registry with the es-cube weights of a tiny run, their statistics,
/// and a model on Edax's patterns in one phase.
static RUN: LazyLock<Workspace> = LazyLock::new(|| {
    let run = Workspace::new();
    run.config(
        "tiny",
        "smoke",
        &[
            &ONE_PLY,
            [
                ("generate.games", "4"),
                ("generate.part_games", "2"),
                ("gate.games", "4"),
            ]
            .as_slice(),
        ]
        .concat(),
    );
    let edax = shipped("features/edax.toml");
    let patterns = &edax[edax.find("[[pattern]]").unwrap()..];
    run.write(
        "configs/edax-patterns.toml",
        format!("name = \"edax-1\"\nphase_empties_max = [60]\n{patterns}"),
    );
    run.config(
        "edax",
        "smoke",
        &[
            ("run.features", "\"edax-patterns.toml\""),
            ("train.epochs", "1"),
        ],
    );
    run.write("games.txt", "f5d6c3\n");
    run.done("dataset import games.txt --format transcripts --output data");
    run.done("generate --config configs/tiny.toml --output selfplay");
    run.done("train --config configs/tiny.toml --dataset selfplay --models registry");
    run.done("fit-mpc --config configs/tiny.toml --model v0001 --models registry");
    run.done("train --config configs/edax.toml --dataset selfplay --models registry");
    run
});

fn copy_of_run() -> Workspace {
    Workspace::copy_of(&RUN)
}

/// Every command that writes a file which the user names, up to that name.
const WRITERS: [&str; 6] = [
    "dataset export data --format obf --output",
    "dataset export data --format tokens --labels --output",
    "model export --model registry/v0002 --format es-cube-eval --output",
    "model export --model registry/v0002 --format mpc-dat --output",
    "model export --model registry/v0003 --format edax-eval --output",
    "generate --config configs/tiny.toml --models registry --model v0001 --shards 1 --output out --plan",
];

fn check_refused(outcome: &Outcome, what: &str, words: &[&str]) {
    assert_eq!(outcome.code, Some(2), "{what}\n{}", outcome.stderr);
    for word in words {
        assert!(
            outcome.stderr.contains(word),
            "{what}: `{word}` is not in\n{}",
            outcome.stderr
        );
    }
}

/// Runs a script in `sh` with the program as `$renma`.
fn shell(workspace: &Workspace, program: &str, script: &str) -> Outcome {
    let mut command = Command::new(program);
    command
        .args(["-c", script])
        .current_dir(workspace.root())
        .stdin(Stdio::null());
    command
        .env("renma", env!("CARGO_BIN_EXE_renma"))
        .output()
        .unwrap()
        .into()
}

#[test]
fn an_output_that_exists_is_kept_and_its_own_kind_is_overwritten_only_by_force() {
    let workspace = copy_of_run();
    for (number, writer) in WRITERS.iter().enumerate() {
        let path = format!("out{number}");
        workspace.done(&format!("{writer} {path}"));
        let written = std::fs::read(workspace.path(&path)).unwrap();
        if !writer.ends_with("--plan") {
            check_refused(
                &workspace.run(&format!("{writer} {path}")),
                writer,
                &[&path, "it exists", "--force"],
            );
        }
        workspace.done(&format!("{writer} {path} --force"));
        assert_eq!(
            std::fs::read(workspace.path(&path)).unwrap(),
            written,
            "{writer}"
        );
        for options in ["", "--force"] {
            let diary = "diary";
            workspace.write(diary, "dear diary\n");
            let words = if options.is_empty() {
                [diary, "it exists"]
            } else {
                [diary, "never overwritten"]
            };
            check_refused(
                &workspace.run(&format!("{writer} {diary} {options}")),
                writer,
                &words,
            );
            assert_eq!(
                std::fs::read(workspace.path(diary)).unwrap(),
                b"dear diary\n",
                "{writer}"
            );
        }
    }
    // A plan that is there already is not written again; another one takes --force.
    let plan = WRITERS[5];
    let before = symlink_metadata(workspace.path("out5"))
        .unwrap()
        .modified()
        .unwrap();
    workspace.done(&format!("{plan} out5"));
    assert_eq!(
        symlink_metadata(workspace.path("out5"))
            .unwrap()
            .modified()
            .unwrap(),
        before
    );
    let other = plan.replace("--shards 1", "--shards 2");
    check_refused(
        &workspace.run(&format!("{other} out5")),
        &other,
        &["out5", "it exists", "--force"],
    );
    workspace.done(&format!("{other} out5 --force"));
}

#[test]
fn links_devices_and_folders_are_never_replaced() {
    let workspace = copy_of_run();
    workspace.write("target", "");
    workspace.write("folder/file", "");
    symlink("target", workspace.path("link")).unwrap();
    symlink("nowhere", workspace.path("dangling")).unwrap();
    let node = Command::new("mknod")
        .args(["device", "c", "1", "3"])
        .current_dir(workspace.root())
        .status();
    let mut places = vec![
        ("link", "symbolic link"),
        ("dangling", "symbolic link"),
        ("folder", "a folder"),
    ];
    if node.is_ok_and(|status| status.success()) {
        places.push(("device", "a device"));
    }
    for writer in WRITERS {
        for (place, word) in &places {
            for options in ["", "--force"] {
                let before = all_paths(workspace.root());
                let kind = |name: &str| symlink_metadata(workspace.path(name)).unwrap().file_type();
                let old = kind(place);
                check_refused(
                    &workspace.run(&format!("{writer} {place} {options}")),
                    writer,
                    &[place, word],
                );
                assert_eq!(kind(place), old, "{writer} {place}");
                assert_eq!(all_paths(workspace.root()), before, "{writer} {place}");
            }
        }
        assert_eq!(
            std::fs::read(workspace.path("target")).unwrap(),
            b"",
            "{writer}"
        );
    }
}

#[test]
fn stdout_and_pipes_are_streamed_to_and_hold_the_bytes_of_the_file() {
    let workspace = copy_of_run();
    for (number, writer) in WRITERS.iter().enumerate() {
        let file = format!("file{number}");
        workspace.done(&format!("{writer} {file}"));
        let expected = std::fs::read(workspace.path(&file)).unwrap();
        for (what, script) in [
            ("-", format!("$renma {writer} - >got")),
            (
                "/dev/stdout",
                format!("$renma {writer} /dev/stdout | cat >got"),
            ),
            (
                ">(…)",
                format!(
                    "$renma {writer} >(cat >got; mv got done); for i in {{1..500}}; do [ -e done ] && break; sleep 0.01; done; mv done got"
                ),
            ),
            (
                "a FIFO",
                format!(
                    "rm -f fifo; mkfifo fifo; cat fifo >got & $renma {writer} fifo && wait && [ -p fifo ]"
                ),
            ),
        ] {
            let outcome = shell(&workspace, "bash", &script);
            assert_eq!(outcome.code, Some(0), "{writer} {what}\n{}", outcome.stderr);
            assert!(
                std::fs::read(workspace.path("got")).unwrap() == expected,
                "{writer} {what}"
            );
        }
        let closed = shell(
            &workspace,
            "bash",
            &format!("set -o pipefail; $renma {writer} - | true"),
        );
        assert_eq!(closed.code, Some(0), "{writer}\n{}", closed.stderr);
        check_refused(
            &workspace.run(&format!("{writer} - --json")),
            writer,
            &["--json", "stdout"],
        );
    }
}

#[test]
fn a_full_stdout_may_pass_and_is_named() {
    let workspace = copy_of_run();
    workspace.write("positions.obf", format!("{BOARD} X;\n"));
    let commands = [
        "eval positions.obf",
        "eval positions.obf --json",
        "model list --models registry",
        "model show v0002 --models registry",
        "dataset inspect data",
        "dataset inspect data --json",
        "status --config configs/tiny.toml",
        "bench perft --depth 2 --json",
        "serve --model builtin:disc-count --port 0 --json",
        "train --config configs/tiny.toml --dataset selfplay --models registry",
        "--help",
        "eval --help",
        "--version",
    ]
    .map(str::to_owned);
    for arguments in commands
        .into_iter()
        .chain(WRITERS.map(|writer| format!("{writer} -")))
    {
        let words: Vec<&str> = arguments.split_whitespace().collect();
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut command = workspace.command(&words);
        let output = command
            .stdout(full)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(75), "{arguments}\n{stderr}");
        assert!(
            stderr.contains("cannot write stdout"),
            "{arguments}\n{stderr}"
        );
    }
}

#[test]
fn an_export_that_does_not_fit_blames_the_model_and_not_the_file() {
    let workspace = copy_of_run();
    for (arguments, blamed) in [
        (
            "--model builtin:disc-count --format es-cube-eval",
            "cannot use builtin:disc-count",
        ),
        (
            "--model builtin:champion --format mpc-dat",
            "cannot use builtin:champion",
        ),
        (
            "--model builtin:square-weights --format mpc-dat",
            "the model has no statistics",
        ),
    ] {
        let outcome = workspace.run(&format!("model export {arguments} --output out.dat"));
        assert_eq!(outcome.code, Some(65), "{arguments}\n{}", outcome.stderr);
        assert!(
            outcome.stderr.contains(blamed) && !outcome.stderr.contains("out.dat"),
            "{}",
            outcome.stderr
        );
    }
    let nan = workspace
        .run("model export --model registry/v0002 --format mpc-dat --t nan --output out.dat");
    check_refused(&nan, "--t nan", &["--t NaN", "positive"]);
    assert!(!workspace.path("out.dat").exists());
}

#[test]
fn each_bad_option_of_an_export_is_one_clear_error() {
    let workspace = copy_of_run();
    workspace.write(
        "boards.txt",
        format!("{} 2\n", ColoredPosition::START.board_text()),
    );
    workspace.done("dataset import boards.txt --format text --output boards");
    workspace.done(
        "fit-mpc --config configs/tiny.toml --model v0001 --models registry --output samples",
    );
    workspace.run("gate --config configs/tiny.toml --candidate builtin:square-weights --baseline builtin:disc-count --output match");
    for (arguments, code, words) in [
        (
            "data --format obf --labels",
            2,
            &["--labels is only for --format tokens"][..],
        ),
        (
            "data --format obf --length 59",
            2,
            &["--length is only for"],
        ),
        (
            "data --format obf --validation 1%",
            2,
            &["--validation is only for"],
        ),
        (
            "data --format tokens --length 0",
            2,
            &["--length", "1..=60"],
        ),
        (
            "data --format tokens --length 61",
            2,
            &["--length", "1..=60"],
        ),
        (
            "data --format tokens --validation 101%",
            2,
            &["--validation", "0 to 100%"],
        ),
        (
            "data --format tokens --validation=-0.1",
            2,
            &["--validation", "0 to 100%"],
        ),
        (
            "data --format tokens --validation nan",
            2,
            &["--validation", "0 to 100%"],
        ),
        (
            "data --format tokens --validation some",
            2,
            &["--validation", "invalid float"],
        ),
        ("nowhere --format tokens", 2, &["nowhere"]),
        (
            "boards --format tokens",
            65,
            &["boards/manifest.json", "positions without games"],
        ),
        (
            "samples --format tokens",
            65,
            &["samples/manifest.json", "it holds search samples"],
        ),
        (
            "match --format obf",
            65,
            &["match/manifest.json", "a dataset of positions is expected"],
        ),
    ] {
        let arguments = format!("dataset export {arguments} --output out.parquet");
        let outcome = workspace.run(&arguments);
        outcome.check(&arguments, code, words);
        let errors = outcome.stderr.matches("error:").count();
        assert_eq!(errors, 1, "{arguments}\n{}", outcome.stderr);
        assert!(!workspace.path("out.parquet").exists(), "{arguments}");
    }
    workspace.ends(
        "dataset export data --format tokens --output - --json",
        2,
        &["--json and - both write to stdout"],
    );
    // Another Parquet file is not one of tokens.
    let part = "data/positions/part-00000.parquet";
    let bytes = std::fs::read(workspace.path(part)).unwrap();
    workspace.ends(
        &format!("dataset export data --format tokens --force --output {part}"),
        2,
        &["is not a Parquet file of tokens"],
    );
    assert!(std::fs::read(workspace.path(part)).unwrap() == bytes);
}

#[test]
fn an_export_of_games_reports_both_sides_of_the_split() {
    let workspace = copy_of_run();
    let report = workspace.done(
        "dataset export selfplay --format tokens --validation 50% --output out.parquet --json",
    );
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let [games, train, validation] =
        ["games", "train", "validation"].map(|name| report[name].as_u64().unwrap());
    assert_eq!(report["output"], "out.parquet");
    assert_eq!(games, train + validation);
    assert!(0 < train && 0 < validation, "{report}");
    let script = "$renma dataset export selfplay --format tokens --validation 50% --progress plain --output - >piped.parquet";
    let outcome = shell(&workspace, "sh", script);
    assert!(
        std::fs::read(workspace.path("piped.parquet")).unwrap()
            == std::fs::read(workspace.path("out.parquet")).unwrap()
    );
    let said = format!("{games} games, {validation} for validation, in stdout");
    assert!(outcome.stderr.contains(&said), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("export"), "{}", outcome.stderr);
}

#[test]
fn a_reader_of_a_pipe_gets_the_rows_while_they_are_written() {
    let workspace = copy_of_run();
    let arguments = [
        "dataset", "export", "data", "--format", "obf", "--output", "-",
    ];
    let mut child = workspace
        .command(&arguments)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut text = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(
        (text.lines().count(), text.starts_with(BOARD)),
        (4, true),
        "{text}"
    );
}

const CONFIG: &str = "--config configs/tiny.toml --models registry";

/// The stages that write a folder which the user names, up to that name.
fn stages() -> [String; 4] {
    [
        format!("generate {CONFIG} --model v0001 --output"),
        format!("fit-mpc {CONFIG} --model v0001 --output"),
        format!("gate {CONFIG} --candidate v0002 --baseline v0001 --output"),
        format!("generate --plan - {CONFIG} --model v0001 --shards 1 --output"),
    ]
}

#[test]
fn no_stage_begins_in_a_folder_with_files_of_others() {
    let workspace = copy_of_run();
    for stage in stages() {
        workspace.write("home/letter.txt", "dear diary\n");
        workspace.write("home/thesis/chapter.txt", "one\n");
        let options = if stage.contains("--plan") {
            &[""][..]
        } else {
            &["", "--replace"]
        };
        for option in options {
            let before = all_paths(workspace.root());
            check_refused(
                &workspace.run(&format!("{stage} home {option}")),
                &stage,
                &["home", "letter.txt"],
            );
            assert_eq!(all_paths(workspace.root()), before, "{stage}");
        }
    }
}

#[test]
fn a_plan_that_is_refused_removes_nothing() {
    let workspace = copy_of_run();
    let other = workspace.config(
        "other",
        "smoke",
        &[("generate.games", "2"), ("generate.label_depth", "2")],
    );
    let options = format!(
        "--config {other} --models registry --model v0001 --shards 1 --output selfplay --replace"
    );
    workspace.done(&format!("{} plan.json", WRITERS[5]));
    workspace.write("diary", "dear diary\n");
    let before = files(workspace.root());
    for (plan, words) in [
        ("- --json", ["--json", "stdout"]),
        ("plan.json", ["it exists", "--force"]),
        ("diary --force", ["diary", "never overwritten"]),
    ] {
        check_refused(
            &workspace.run(&format!("generate --plan {plan} {options}")),
            plan,
            &words,
        );
        assert!(files(workspace.root()) == before, "{plan}");
    }
    let train = format!("train --plan new.json {CONFIG} --dataset selfplay --replace");
    check_refused(
        &workspace.run(&train),
        &train,
        &["unexpected argument '--replace'"],
    );
    // With the plan the result of other inputs goes, and also where the plan is there already.
    for _ in 0..2 {
        workspace.done(&format!("generate --plan plan.json {options} --force"));
        assert!(!workspace.path("selfplay/manifest.json").exists());
        copy_folder(&RUN.path("selfplay"), &workspace.path("selfplay"));
    }
}

#[test]
fn a_folder_cannot_be_stdout() {
    let workspace = copy_of_run();
    let import = "dataset import games.txt --format transcripts --output";
    for stage in stages().iter().map(String::as_str).chain([import]) {
        check_refused(
            &workspace.run(&format!("{stage} -")),
            stage,
            &["stdout", "folder"],
        );
        assert!(!workspace.path("-").exists(), "{stage}");
    }
}

#[test]
fn a_result_with_files_of_others_beside_it_is_not_replaced() {
    let workspace = copy_of_run();
    let other = workspace.config(
        "other",
        "smoke",
        &[("generate.games", "2"), ("generate.label_depth", "2")],
    );
    let replace = format!("generate --config {other} --output selfplay --replace");
    for (name, word) in [
        ("selfplay/letter.txt", "letter.txt"),
        ("selfplay/games/list.csv", "games/list.csv"),
    ] {
        workspace.write(name, "mine\n");
        let before = files(workspace.root());
        check_refused(&workspace.run(&replace), name, &["selfplay", word]);
        assert!(files(workspace.root()) == before, "{name}");
        std::fs::remove_file(workspace.path(name)).unwrap();
    }
    symlink("selfplay", workspace.path("link")).unwrap();
    let through_link = format!("generate --config {other} --output link --replace");
    check_refused(
        &workspace.run(&through_link),
        "link",
        &["link", "symbolic link"],
    );
    assert!(workspace.path("selfplay/manifest.json").exists());
    workspace.done(&replace);
    // A finished result with a letter beside it is left as it is, and nothing is refused.
    workspace.write("selfplay/letter.txt", "mine\n");
    workspace.done(&replace);
    assert!(workspace.path("selfplay/letter.txt").exists());
}

#[test]
fn an_import_refuses_a_dangling_link_before_any_work() {
    let workspace = copy_of_run();
    symlink("nowhere", workspace.path("link")).unwrap();
    let import = "dataset import games.txt --format transcripts --output link";
    check_refused(&workspace.run(import), import, &["link", "exists already"]);
    assert!(
        symlink_metadata(workspace.path("link"))
            .unwrap()
            .is_symlink()
    );
}

/// A call of the program below limits of the shell.
fn limited(workspace: &Workspace, limit: &str, arguments: &str) -> Outcome {
    let mut shell = Command::new("bash");
    shell.args([
        "-c",
        &format!("ulimit {limit}; exec \"$@\""),
        "bash",
        env!("CARGO_BIN_EXE_renma"),
    ]);
    shell
        .args(["--progress", "none", "--threads", "1"])
        .args(arguments.split(' '))
        .current_dir(workspace.root());
    shell.stdin(Stdio::null()).output().unwrap().into()
}

#[test]
fn a_file_beyond_the_limit_of_sizes_is_named_and_nothing_of_it_stays() {
    let workspace = Workspace::new();
    // The games fit, the positions do not.
    workspace.config(
        "sizes",
        "smoke",
        &[
            &ONE_PLY[..],
            &[("generate.games", "400"), ("generate.part_games", "400")],
        ]
        .concat(),
    );
    let call = "generate --config configs/sizes.toml --model builtin:square-weights --output";
    let outcome = limited(&workspace, "-f 40", &format!("{call} limited"));
    assert_eq!(outcome.code, Some(75), "{}", outcome.stderr);
    let expected = "error: cannot write limited/positions/part-00000.parquet: File too large";
    assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
    let names: Vec<String> = files(&workspace.path("limited")).into_keys().collect();
    assert_eq!(names, ["games/part-00000.parquet"]);
    workspace.done(&format!("{call} limited"));
    workspace.done(&format!("{call} whole"));
    workspace::check_same(
        &workspace.path("limited"),
        &workspace.path("whole"),
        "after the limit",
    );
}

#[test]
fn too_little_memory_ends_a_command_with_a_message() {
    let workspace = Workspace::new();
    workspace.write("start.obf", format!("{BOARD} X;\n"));
    let (mut megabytes, mut ended) = (16, 0);
    let limit = |megabytes: u64| format!("-v {}", megabytes << 10);
    while limited(&workspace, &limit(megabytes), "--version").code != Some(0) {
        megabytes += 8;
    }
    loop {
        megabytes += 8;
        let outcome = limited(
            &workspace,
            &limit(megabytes),
            "eval start.obf --depth 2 --json",
        );
        if outcome.code == Some(0) {
            break;
        }
        let what = format!("{megabytes} MiB: {:?} {}", outcome.code, outcome.stderr);
        assert_eq!(outcome.code, Some(75), "{what}");
        assert!(
            outcome
                .stderr
                .contains("error: there is not enough memory for another"),
            "{what}"
        );
        let json: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
        assert_eq!(json["error"]["code"], 75, "{what}");
        ended += 1;
    }
    assert!(0 < ended, "there is no limit to try");
}

#[test]
fn a_large_model_takes_little_more_memory_than_its_weights() {
    let workspace = Workspace::new();
    let tiny = workspace.config("tiny", "smoke", &ONE_PLY);
    workspace.done(&format!("generate --config {tiny} --output data"));
    let phases: Vec<String> = (0..=60).rev().map(|empties| empties.to_string()).collect();
    let features = format!(
        "name = \"wide\"\nphase_empties_max = [{}]\n\n[[pattern]]\nname = \"A\"\nsquares = \"a1 b1 c1 d1 e1 f1 g1 h1 a2 h2\"\n\n\
         [[pattern]]\nname = \"B\"\nsquares = \"a3 b3 c3 d3 e3 f3 g3 h3 a4 h4\"\n",
        phases.join(", ")
    );
    workspace.write("configs/features/wide.toml", features);
    let changes = [
        ("run.features", "\"features/wide.toml\""),
        ("train.epochs", "1"),
    ];
    let config = workspace.config("wide", "smoke", &[&ONE_PLY[..], &changes].concat());
    // 7.2 million weights: 14 MB, as much again for searches, and 29 MB of visits.
    for arguments in [
        &format!("train --config {config} --dataset data --models registry"),
        "model show v0001 --models registry",
        "model verify --models registry --datasets nowhere",
    ] {
        let outcome = limited(&workspace, "-v 350000", arguments);
        assert_eq!(
            outcome.code,
            Some(0),
            "renma {arguments}\n{}",
            outcome.stderr
        );
    }
}

#[test]
fn memory_does_not_grow_with_the_games_that_are_asked_for() {
    let workspace = Workspace::new();
    let changes = [
        ("generate.games", "200000000"),
        ("generate.part_games", "2000"),
    ];
    let config = workspace.config("many", "smoke", &[&ONE_PLY[..], &changes].concat());
    let program = env!("CARGO_BIN_EXE_renma");
    let arguments = format!("--progress none --threads 1 generate --config {config} --output many");
    let mut command = Command::new("sh");
    command
        .args([
            "-c",
            &format!("ulimit -v 700000; exec {program} {arguments}"),
        ])
        .current_dir(workspace.root());
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let published = || workspace.path("many/positions/part-00000.parquet").exists();
    let begun = workspace::reached(&mut child, published);
    child.kill().unwrap();
    let outcome = Outcome::from(child.wait_with_output().unwrap());
    assert!(
        begun,
        "it ended before its first part with {:?}\n{}",
        outcome.code, outcome.stderr
    );
}
