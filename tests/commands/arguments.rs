//! Arguments, configs and places that are wrong: one clear error with the right exit code, and
//! nothing half-written.
#![allow(clippy::print_stdout, reason = "a test says what it leaves out")]

use crate::support::refusal::{check, check_message};
use crate::support::workspace::{Outcome, Workspace, all_paths, copy_folder};
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

static RUN: LazyLock<Workspace> = LazyLock::new(Workspace::with_tiny_run);

/// A workspace with a copy of the tiny run.
fn copy_of_run() -> Workspace {
    Workspace::copy_of(&RUN)
}

#[test]
fn a_bad_config_is_a_usage_error_that_names_the_key() {
    let workspace = Workspace::new();
    let good = workspace.tiny("good", &[]);
    let text = std::fs::read_to_string(workspace.path(&good)).unwrap();
    for (from, to, words) in [
        (
            "play_depth =",
            "play_dept =",
            [
                "generate.play_dept: unknown key",
                "did you mean play_depth?",
            ],
        ),
        (
            "[generate]",
            "[generation]",
            ["[generation]: unknown table", "did you mean [generate]?"],
        ),
        (
            "t = 1.4",
            "# t = 1.4",
            ["fit_mpc.t is missing", "method = \"source\" needs it"],
        ),
        (
            "epochs = 4",
            "clip = \"much\"",
            [
                "train.clip = \"much\"",
                "expected a whole number from 1 to 32767",
            ],
        ),
        (
            "window = 2",
            "window = 2\nwindow = 2",
            ["run.window is set twice", "expected once"],
        ),
        ("epochs = 4", "ratio = nan", ["train.ratio", "expected"]),
        (
            "epochs = 4",
            "table_bits = 12",
            ["train.table_bits: unknown key", ""],
        ),
        (
            "mode = \"games\"",
            "mode = \"games\"\nnelo1 = 9.0",
            ["only gate.mode = \"sprt\" has this key", "remove it"],
        ),
        (
            "games = 9",
            "games = 0",
            ["generate.games = 0", "expected a whole number from 1"],
        ),
        (
            "games = 6",
            "games = 0",
            ["gate.games = 0", "expected a whole number from 2"],
        ),
        ("games = 6", "games = 3", ["gate.games = 3", "pairs"]),
        (
            "games = 9",
            "games = -9",
            ["generate.games = -9", "expected a whole number from 1"],
        ),
        (
            "games = 4",
            "games = 0",
            ["fit_mpc.games = 0", "expected a whole number from 1"],
        ),
        (
            "es-cube.toml",
            "no-such.toml",
            ["no-such.toml", "does not exist"],
        ),
    ] {
        assert!(text.contains(from), "{from}");
        workspace.write("configs/bad.toml", text.replacen(from, to, 1));
        let line = 1 + text[..text.find(from).unwrap()].matches('\n').count();
        // A second line is blamed where it stands, a missing key at the one that needs it.
        let elsewhere = to.contains('\n') || to.starts_with('#');
        let place = if elsewhere {
            "configs/bad.toml:".to_owned()
        } else {
            format!("configs/bad.toml:{line}: ")
        };
        let words = [&[place.as_str()][..], &words].concat();
        let outcome = workspace.run("generate --output out --config configs/bad.toml");
        for raw in [
            "TOML parse error",
            "missing field",
            "invalid type",
            "unknown field",
            "duplicate key",
        ] {
            assert!(!outcome.stderr.contains(raw), "{}", outcome.stderr);
        }
        for stage in [
            "generate --output out",
            "train --dataset out --models out",
            "fit-mpc --model champion",
        ] {
            check(
                &workspace,
                &format!("{stage} --config configs/bad.toml"),
                2,
                &words,
            );
        }
        check(
            &workspace,
            "gate --config configs/bad.toml --candidate a --baseline b --output out",
            2,
            &words,
        );
    }
    workspace.write(
        "configs/features/es-cube.toml",
        "name = \"x\"\nphase_empties_max = [60]\npattern = []\n",
    );
    check(
        &workspace,
        &format!("generate --config {good} --output out"),
        2,
        &["run.features", "es-cube.toml"],
    );
}

#[test]
fn only_what_does_not_exist_is_a_usage_error_and_only_what_was_read_is_bad_input() {
    let workspace = copy_of_run();
    workspace.write("file", "in the way");
    workspace.write("folder/file", "");
    // A link to itself is refused by the system for root, too.
    for link in ["loop", "configs/features/loop.toml"] {
        let name = Path::new(link).file_name().unwrap();
        std::os::unix::fs::symlink(name, workspace.path(link)).unwrap();
    }
    workspace.tiny("looped", &[("run.features", "\"features/loop.toml\"")]);
    copy_folder(&workspace.path("data"), &workspace.path("torn"));
    std::fs::remove_file(workspace.path("torn/manifest.json")).unwrap();
    std::os::unix::fs::symlink("manifest.json", workspace.path("torn/manifest.json")).unwrap();
    copy_folder(&workspace.path("data"), &workspace.path("stuck"));
    std::fs::remove_file(workspace.path("stuck/manifest.json")).unwrap();
    std::fs::remove_file(workspace.path("stuck/positions/part-00000.parquet")).unwrap();
    std::os::unix::fs::symlink(
        "part-00000.parquet",
        workspace.path("stuck/positions/part-00000.parquet"),
    )
    .unwrap();
    workspace.write("games.txt", "f5d6c3\n");
    let config = "--config configs/tiny.toml";
    let (links, no_folder) = ("symbolic links", "directory");
    let (folder, file) = (
        "it is a folder, and a file is expected",
        "it is a file, and a folder is expected",
    );
    for (arguments, path, cause) in [
        (
            "generate --output out --config loop".to_owned(),
            "loop",
            links,
        ),
        (
            "generate --output out --config folder".to_owned(),
            "folder",
            folder,
        ),
        (
            "generate --output out --config file/x".to_owned(),
            "file/x",
            no_folder,
        ),
        (
            "generate --output out --config configs/looped.toml".to_owned(),
            "loop.toml",
            links,
        ),
        (
            format!("generate {config} --output out --model loop"),
            "loop",
            links,
        ),
        (
            format!("generate {config} --output stuck --replace"),
            "stuck/positions",
            links,
        ),
        (
            format!("train {config} --dataset file --models registry"),
            "file",
            file,
        ),
        (
            format!("train {config} --dataset data file/x --models registry"),
            "file/x",
            no_folder,
        ),
        (
            format!(
                "gate {config} --candidate v0002 --baseline v0001 --models registry --output out --avoid loop"
            ),
            "loop",
            links,
        ),
        ("dataset inspect loop".to_owned(), "loop", links),
        ("dataset inspect file".to_owned(), "file", file),
        (
            "dataset import games.txt --format transcripts --output torn".to_owned(),
            "torn/manifest.json",
            links,
        ),
        (
            "dataset import folder --format transcripts --output out".to_owned(),
            "folder",
            folder,
        ),
        (
            "model import folder --format mpc-dat --model builtin:disc-count --models registry"
                .to_owned(),
            "folder",
            folder,
        ),
        ("promote v0001 --models loop".to_owned(), "loop", links),
        ("shard run folder 0".to_owned(), "folder", folder),
        ("eval folder".to_owned(), "folder", folder),
    ] {
        let before = all_paths(workspace.root());
        // A path of the other kind is an argument; what the system refuses is not.
        let code = if [folder, file].contains(&cause) {
            2
        } else {
            1
        };
        check_message(&workspace.run(&arguments), &arguments, code, &[path, cause]);
        assert_eq!(all_paths(workspace.root()), before, "renma {arguments}");
    }
    for (arguments, code, words) in [
        (
            format!("generate {config} --output file"),
            2,
            ["file", "not a folder"],
        ),
        (
            "dataset import games.txt --format transcripts --output file".to_owned(),
            2,
            ["file", "not a folder"],
        ),
        // A file may be a model, so it is read.
        (
            format!("generate {config} --output out --model file"),
            65,
            ["file", "does not begin as a model archive"],
        ),
        (
            "model show file".to_owned(),
            65,
            ["file", "does not begin as a model archive"],
        ),
    ] {
        check_message(&workspace.run(&arguments), &arguments, code, &words);
    }
}

#[test]
fn what_does_not_exist_is_a_usage_error_that_names_the_path() {
    let workspace = copy_of_run();
    let config = "configs/tiny.toml";
    for (arguments, path) in [
        (
            "generate --config nowhere.toml --output out",
            "nowhere.toml",
        ),
        (
            &format!("generate --config {config} --model v0009 --models registry --output out"),
            "registry/v0009",
        ),
        (
            &format!("generate --config {config} --model some/folder --output out"),
            "some/folder",
        ),
        (
            &format!("generate --config {config} --model builtin:genius --output out"),
            "builtin:genius is not a built-in model",
        ),
        (
            &format!("train --config {config} --dataset nowhere --models registry"),
            "nowhere",
        ),
        (
            &format!("train --config {config} --dataset data nowhere --models registry"),
            "nowhere",
        ),
        (
            &format!("train --config {config} --dataset data --parent v0009 --models registry"),
            "registry/v0009",
        ),
        (
            &format!("fit-mpc --config {config} --model v0009 --models registry"),
            "registry/v0009",
        ),
        (
            &format!(
                "gate --config {config} --candidate v0009 --baseline v0002 --models registry --output out"
            ),
            "v0009",
        ),
        (
            &format!(
                "gate --config {config} --candidate v0002 --baseline v0009 --models registry --output out"
            ),
            "v0009",
        ),
        ("promote v0009 --models registry", "registry/v0009"),
        (
            "promote v0002 --models registry --verdict nowhere",
            "nowhere",
        ),
        ("promote --rollback --models nowhere", "nowhere"),
        ("model show v0009 --models registry", "registry/v0009"),
        ("model show champion --models nowhere", "nowhere"),
        (
            "model export --model v0009 --models registry --format es-cube-eval --output eval.dat",
            "registry/v0009",
        ),
        (
            "model import nowhere.dat --format es-cube-eval --models registry",
            "nowhere.dat",
        ),
        ("eval nowhere.obf", "nowhere.obf"),
        ("solve nowhere.obf", "nowhere.obf"),
        ("eval nowhere.obf --model v0009", "v0009"),
        ("status --config nowhere.toml", "nowhere.toml"),
        (
            &format!("status --config {config} --models nowhere"),
            "nowhere",
        ),
        (
            &format!("gc --config {config} --models nowhere --dry-run"),
            "nowhere",
        ),
        ("model list --models nowhere", "nowhere"),
        ("model verify --models nowhere", "nowhere"),
        (
            &format!("eval {}", "x".repeat(300)),
            "xxx: it does not exist",
        ),
    ] {
        check(&workspace, arguments, 2, &[path]);
    }
    let long = format!("generate --config {config} --output {}", "x".repeat(300));
    check(&workspace, &long, 1, &["xxx", "File name too long"]);
}

#[test]
fn a_registry_that_a_command_names_must_exist() {
    let workspace = copy_of_run();
    workspace.write(
        "positions.obf",
        "---------------------------OX------XO--------------------------- X;\n",
    );
    workspace.write("games.txt", "f5d6c3\n");
    let import = "dataset import games.txt --format transcripts --output data --label-depth 1";
    for command in [
        "eval positions.obf",
        "play",
        "nboard",
        "gtp",
        import,
        "solve positions.obf",
    ] {
        for model in ["", "--model builtin:square-weights"] {
            let arguments = format!("{command} {model} --models nowhere");
            check(
                &workspace,
                &arguments,
                2,
                &["cannot read nowhere: it does not exist"],
            );
        }
    }
}

#[test]
fn a_config_may_be_a_pipe_with_a_writer_and_is_not_waited_for_without_one() {
    let workspace = Workspace::new();
    let shell = |script: &str| -> Outcome {
        let mut command = Command::new("timeout");
        command
            .args(["60", "bash", "-c", script])
            .current_dir(workspace.root());
        command
            .env("renma", env!("CARGO_BIN_EXE_renma"))
            .output()
            .unwrap()
            .into()
    };
    let refused = shell("mkfifo fifo.toml; exec $renma config show --config fifo.toml");
    check_message(
        &refused,
        "config show",
        2,
        &["cannot read fifo.toml: it is a pipe that nothing was written to"],
    );
    let read =
        shell("$renma config show --json --config <(sleep 0.1; echo '[run]'; echo 'seed = 77')");
    assert!(
        read.code == Some(0) && read.stdout.contains("\"seed\":77"),
        "{read:?}"
    );
}

#[test]
fn nonsense_on_the_command_line_is_a_usage_error() {
    let workspace = copy_of_run();
    for (arguments, word) in [
        ("generate", "--config"),
        (
            "generate --config configs/tiny.toml --output out --threads 0",
            "--threads",
        ),
        (
            "generate --config configs/tiny.toml --output out --generation 0",
            "--generation",
        ),
        (
            "generate --config configs/tiny.toml --outputs out",
            "--outputs",
        ),
        ("generat", "generat"),
        (
            "train --config configs/tiny.toml --dataset data --memory 4",
            "--memory 4GB",
        ),
        (
            "train --plan p.json --config configs/tiny.toml --dataset data --memory 4000000000",
            "--memory 4GB",
        ),
        (
            "train --config configs/tiny.toml --dataset data --shards 4",
            "--plan <FILE>",
        ),
        (
            "gate --plan p.json --config configs/tiny.toml --candidate v0002 --output out",
            "--baseline <MODEL>",
        ),
        (
            "generate --plan p.json --budget 1h --config configs/tiny.toml --output out",
            "--budget",
        ),
        (
            "bench generate --config configs/tiny.toml --games 0",
            "games",
        ),
        ("eval positions.obf --mpc-level 42", "--mpc-level"),
        (
            "model import registry/v0002/model.json --format mpc-dat --models registry",
            "--model",
        ),
    ] {
        check(&workspace, arguments, 2, &[word]);
    }
}

#[test]
fn an_unfit_model_is_refused() {
    let workspace = copy_of_run();
    let gate = "gate --config configs/tiny.toml --candidate v0001 --baseline v0002 --models registry --output out";
    check(&workspace, gate, 65, &["registry/v0001", "fit-mpc"]);
    let export = "model export --model builtin:disc-count --format es-cube-eval --output eval.dat";
    check(
        &workspace,
        export,
        65,
        &["cannot use builtin:disc-count", "eval.dat holds es-cube"],
    );
    let export = "model export --model registry/v0002 --format edax-eval --output eval.dat";
    check(
        &workspace,
        export,
        65,
        &[
            "cannot use registry/v0002",
            "`es-cube`",
            "`CORNER9`",
            "configs/features/edax.toml",
        ],
    );
    assert!(!workspace.path("eval.dat").exists());
}

#[test]
fn a_window_without_rows_is_no_training() {
    let workspace = copy_of_run();
    let late = workspace.tiny("late", &[("generate.label_from_ply", "20")]);
    workspace.done(&format!("generate --config {late} --output late"));
    let config = workspace.tiny(
        "window",
        &[("train.empties_min", "58"), ("train.empties_max", "60")],
    );
    let train = format!("train --config {config} --dataset late --models registry");
    check(&workspace, &train, 65, &["late", "no rows", "58 to 60"]);
    let nothing = workspace.tiny(
        "nothing",
        &[("generate.label_from_ply", "60"), ("generate.games", "1")],
    );
    workspace.done(&format!("generate --config {nothing} --output nothing"));
    let train = format!("train --config {config} --dataset nothing --models registry");
    check(&workspace, &train, 65, &["nothing", "no rows"]);
}

#[test]
fn an_output_that_cannot_be_written_is_one_error_that_names_it() {
    let workspace = copy_of_run();
    workspace.write("file", "in the way");
    let config = "--config configs/tiny.toml";
    for arguments in [
        format!("generate {config} --output file/out"),
        format!("train {config} --dataset data --models file/out"),
        format!("fit-mpc {config} --model registry/v0001 --models file/out"),
        format!(
            "gate {config} --candidate registry/v0002 --baseline registry/v0001 --output file/out"
        ),
        "model export --model registry/v0002 --format mpc-dat --output file/out".to_owned(),
    ] {
        check(&workspace, &arguments, 1, &["file/out"]);
    }
}

/// Runs the program where `small` is a file system of its own, and lists what it left there.
fn run_on_mount(
    workspace: &Workspace,
    options: &str,
    arguments: &str,
) -> Option<(Outcome, String)> {
    workspace.write("small/marker", "");
    let script = format!(
        "mount -t tmpfs -o {options} tmpfs small || exit 99; {} --progress none {arguments}; \
         code=$?; find small -type f >listing; exit $code",
        env!("CARGO_BIN_EXE_renma")
    );
    let output = Command::new("unshare")
        .args(["-m", "sh", "-c", &script])
        .current_dir(workspace.root())
        .output();
    let Ok(output) = output else {
        println!("skipped: there is no unshare");
        return None;
    };
    let outcome = Outcome::from(output);
    if matches!(outcome.code, Some(99 | 126 | 127)) || outcome.stderr.starts_with("unshare") {
        println!(
            "skipped: cannot mount a file system here: {}",
            outcome.stderr
        );
        return None;
    }
    let listing = std::fs::read_to_string(workspace.path("listing")).unwrap();
    Some((outcome, listing))
}

#[test]
fn a_full_disk_is_an_error_that_may_pass_and_leaves_nothing_half_written() {
    let workspace = copy_of_run();
    let big = workspace.tiny(
        "big",
        &[("generate.games", "400"), ("generate.part_games", "40")],
    );
    for (size, arguments, path) in [
        (
            "96k",
            format!("generate --config {big} --output small/out"),
            "small/out",
        ),
        (
            "12k",
            "train --config configs/tiny.toml --dataset data --models small/out".to_owned(),
            "small/out",
        ),
        (
            "96k",
            "model export --model registry/v0001 --format es-cube-eval --output small/e.dat"
                .to_owned(),
            "small/e.dat",
        ),
    ] {
        let Some((outcome, listing)) =
            run_on_mount(&workspace, &format!("size={size}"), &arguments)
        else {
            return;
        };
        check_message(&outcome, &arguments, 75, &[path]);
        for unfinished in [".tmp-", "manifest.json", "model.json", "e.dat"] {
            assert!(
                !listing.contains(unfinished),
                "renma {arguments} left\n{listing}"
            );
        }
    }
}

#[test]
fn a_read_only_disk_is_one_error_that_names_the_output() {
    let workspace = copy_of_run();
    for arguments in [
        "generate --config configs/tiny.toml --output small/out",
        "train --config configs/tiny.toml --dataset data --models small/out",
        "model export --model registry/v0001 --format es-cube-eval --output small/out",
    ] {
        let Some((outcome, listing)) = run_on_mount(&workspace, "ro", arguments) else {
            return;
        };
        check_message(&outcome, arguments, 1, &["small/out"]);
        assert!(listing.is_empty(), "renma {arguments} left\n{listing}");
    }
}

#[test]
fn a_config_of_too_many_parts_names_the_size_that_it_needs() {
    let workspace = copy_of_run();
    for (keys, words) in [
        (
            [
                ("generate.games", "1000000000000"),
                ("generate.part_games", "1000"),
            ],
            [
                "generate.part_games = 1000",
                "generate.part_games = 10000000",
                "at most 100000",
            ],
        ),
        (
            [
                ("generate.games", "100000001"),
                ("generate.part_games", "1000"),
            ],
            [
                "generate.games = 100000001 makes 100001 parts",
                "at most 100000",
                "part_games to at least 1001",
            ],
        ),
        (
            [("generate.games", "9"), ("generate.part_games", "100001")],
            [
                "generate.part_games = 100001",
                "expected a whole number from 1 to 100000",
                "",
            ],
        ),
        (
            [("fit_mpc.games", "10000000"), ("fit_mpc.part_games", "1")],
            [
                "fit_mpc.part_games = 1",
                "10000000 parts",
                "fit_mpc.part_games to at least 100",
            ],
        ),
        (
            [("gate.games", "1600002"), ("gate.depth", "1")],
            [
                "gate.games = 1600002",
                "expected a whole number from 2 to 1600000",
                "",
            ],
        ),
    ] {
        let config = workspace.tiny("many", &keys);
        for arguments in [
            "generate --output new",
            "generate --plan new.json --shards 4 --output new",
        ] {
            check(
                &workspace,
                &format!("{arguments} --config {config}"),
                2,
                &words,
            );
        }
    }
}
