//! An installed program in an empty folder: `renma init`, the configs that are part of the program,
//! and `--set`.

use crate::support::workspace::{
    self, ONE_PLY, Outcome, Workspace, check_same, files, pipeline, shipped,
};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

/// The options that make a run of the smoke config take a second.
const TINY: &str = "--set generate.games=60 --set generate.part_games=20 --set generate.play_depth=1 --set generate.label_depth=1 \
                    --set generate.exact_empties=4 --set train.epochs=2 --set gate.mode=games --set gate.games=20";

/// `pipeline.sh` of a folder, with this `PATH` in front of the system's and nothing of ours.
fn installed(folder: &Path, bin: &Path, options: &str) -> Outcome {
    let mut command = Command::new("bash");
    command
        .arg(folder.join("pipeline.sh"))
        .args(options.split_whitespace())
        .current_dir(folder)
        .stdin(Stdio::null());
    command
        .env("PATH", format!("{}:/usr/bin:/bin", bin.display()))
        .env_remove("RENMA")
        .env_remove("CARGO_TARGET_DIR");
    command.output().unwrap().into()
}

/// A folder with programs: scripts by their names.
fn programs(workspace: &Workspace, scripts: &[(&str, &str)]) {
    for (name, script) in scripts {
        workspace.program(name, script);
    }
}

const PROGRAM: &str = concat!("exec ", env!("CARGO_BIN_EXE_renma"), " \"$@\"");

#[test]
fn an_installed_program_runs_the_loop_in_an_empty_folder_without_cargo() {
    let workspace = Workspace::new();
    programs(
        &workspace,
        &[
            ("bin/renma", PROGRAM),
            ("bin/cargo", "echo cargo is not to be called; exit 1"),
        ],
    );
    let outcome = workspace.run("init my-othello");
    assert_eq!(
        (outcome.code, outcome.stdout.as_str()),
        (Some(0), ""),
        "{}",
        outcome.stderr
    );
    assert!(
        outcome.stderr.contains("wrote 26 files to my-othello"),
        "{}",
        outcome.stderr
    );
    assert!(
        outcome.stderr.contains("cd my-othello\n    renma run"),
        "{}",
        outcome.stderr
    );
    let folder = workspace.path("my-othello");
    for name in [
        "default",
        "smoke",
        "seed",
        "nightly",
        "champion",
        "random-games",
    ] {
        assert_eq!(
            fs::read_to_string(folder.join(format!("configs/{name}.toml"))).unwrap(),
            shipped(&format!("{name}.toml"))
        );
    }
    assert!(folder.join("datasets").is_dir() && folder.join("models").is_dir());
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let examples = fs::read_dir(project.join("examples/python"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    let examples: Vec<String> = examples
        .map(|name| format!("examples/python/{}", name.to_str().unwrap()))
        .collect();
    let others = [
        "docs/renma.sql",
        "examples/dataset.ipynb",
        "examples/world_model.ipynb",
        ".github/night.sh",
        ".github/summary.py",
    ];
    for name in examples.iter().map(String::as_str).chain(others) {
        assert!(
            fs::read(folder.join(name)).unwrap() == fs::read(project.join(name)).unwrap(),
            "{name}"
        );
    }
    for name in ["pipeline.sh", ".github/night.sh"] {
        let mode = fs::metadata(folder.join(name))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o755, "{name}");
    }
    let outcome = installed(
        &folder,
        &workspace.path("bin"),
        &format!("--config configs/smoke.toml --generations 1 {TINY}"),
    );
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(
        folder.join("models/smoke/v0002/model.json").exists()
            && folder.join("models/smoke/run.json").exists()
    );
}

#[test]
fn init_says_under_json_what_it_wrote_and_a_second_time_writes_nothing() {
    let workspace = Workspace::new();
    let value: Value = serde_json::from_str(&workspace.done("init a/b --json")).unwrap();
    let written: Vec<&str> = value["written"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    assert_eq!(
        (written.len(), written[0], &value["folder"]),
        (26, "pipeline.sh", &"a/b".into())
    );
    let before = files(&workspace.path("a/b"));
    fs::remove_file(workspace.path("a/b/configs/seed.toml")).unwrap();
    fs::set_permissions(
        workspace.path("a/b/pipeline.sh"),
        fs::Permissions::from_mode(0o644),
    )
    .unwrap();
    let value: Value = serde_json::from_str(&workspace.done("init a/b --json")).unwrap();
    assert_eq!(value["written"], serde_json::json!(["configs/seed.toml"]));
    assert_eq!(
        fs::metadata(workspace.path("a/b/pipeline.sh"))
            .unwrap()
            .permissions()
            .mode()
            & 0o777,
        0o755
    );
    assert!(files(&workspace.path("a/b")) == before);
    assert!(
        workspace
            .run("init a/b")
            .stderr
            .contains("init: a/b has everything already")
    );
}

#[test]
fn init_never_overwrites_a_file_that_differs_and_then_writes_nothing() {
    type Spoil = fn(&Path);
    let cases: [(&str, Spoil); 4] = [
        ("configs/smoke.toml", |path| {
            fs::write(path, "[run]\nseed = 2\n").unwrap();
        }),
        ("pipeline.sh", |path| {
            fs::write(
                path,
                include_str!("../../pipeline.sh").replace("set -euo", "set -eux"),
            )
            .unwrap();
        }),
        ("configs/features/edax.toml", |path| {
            symlink("/etc/passwd", path).unwrap();
        }),
        ("configs/default.toml", |path| fs::create_dir(path).unwrap()),
    ];
    for (name, spoil) in cases {
        let workspace = Workspace::new();
        fs::create_dir_all(workspace.path("here").join(name).parent().unwrap()).unwrap();
        spoil(&workspace.path("here").join(name));
        let before = workspace::all_paths(&workspace.path("here"));
        let outcome = workspace.run("init here");
        assert_eq!(outcome.code, Some(2), "{name}: {}", outcome.stderr);
        let words = format!(
            "cannot write here/{name}: it exists and is not that of this renma\nname another folder"
        );
        assert!(
            outcome.stderr.contains(&words),
            "{name}: {}",
            outcome.stderr
        );
        assert_eq!(
            before,
            workspace::all_paths(&workspace.path("here")),
            "{name}"
        );
    }
}

#[test]
fn init_takes_a_folder_and_no_file() {
    let workspace = Workspace::new();
    workspace.write("file", "mine");
    let outcome = workspace.run("init file");
    let message = "error: cannot write file: it exists and is not a folder\nname a new one\n";
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(2), message));
    assert_eq!(fs::read(workspace.path("file")).unwrap(), b"mine");
}

#[test]
fn pipeline_takes_the_program_that_is_named_then_the_one_it_builds_then_the_one_installed() {
    let workspace = Workspace::new();
    workspace.done("init here");
    let says = |name: &str| format!("echo {name} >&2; exit 9");
    programs(
        &workspace,
        &[
            ("bin/renma", &says("installed")),
            ("both/renma", &says("installed")),
            ("both/cargo", "echo built >&2"),
            ("here/target/release/renma", &says("of the build")),
            ("named", &says("named")),
        ],
    );
    fs::create_dir(workspace.path("none")).unwrap();
    let folder = workspace.path("here");
    let run = |bin: &str, named: Option<&str>| {
        let mut command = Command::new("bash");
        command
            .args(["here/pipeline.sh"])
            .current_dir(workspace.root())
            .stdin(Stdio::null())
            .env_remove("RENMA");
        command
            .env(
                "PATH",
                format!("{}:/usr/bin:/bin", workspace.path(bin).display()),
            )
            .env_remove("CARGO_TARGET_DIR");
        let outcome: Outcome = command
            .envs(named.map(|name| ("RENMA", name)))
            .output()
            .unwrap()
            .into();
        (outcome.code.unwrap(), outcome.stderr)
    };
    assert_eq!(
        run("both", None),
        (9, "installed\n".to_owned()),
        "no Cargo.toml, so there is nothing to build"
    );
    fs::write(folder.join("Cargo.toml"), "").unwrap();
    assert_eq!(run("both", None), (9, "built\nof the build\n".to_owned()));
    assert_eq!(run("bin", None), (9, "installed\n".to_owned()));
    assert_eq!(
        run("both", Some("./named")),
        (9, "named\n".to_owned()),
        "relative to the caller's folder"
    );
    assert_eq!(run("bin", Some("renma")), (9, "installed\n".to_owned()));
    let (code, words) = run("bin", Some("./nothing"));
    assert!(
        code == 2 && words.contains("RENMA=./nothing: program not found"),
        "{code}: {words}"
    );
    let (code, words) = run("none", None);
    assert!(
        code == 2 && words.contains("error: no renma is here; install it"),
        "{code}: {words}"
    );
}

fn shown(workspace: &Workspace, options: &str) -> Value {
    serde_json::from_str(&workspace.done(&format!("config show --json {options}"))).unwrap()
}

#[test]
fn a_built_in_config_is_the_file_of_that_name_and_needs_no_files() {
    let empty = tempfile::tempdir().unwrap();
    let workspace = Workspace::new();
    workspace.done("init here");
    for name in ["default", "smoke", "seed", "nightly", "champion"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_renma"));
        let arguments = [
            "config",
            "show",
            "--json",
            "--config",
            &format!("builtin:{name}"),
        ];
        let outcome: Outcome = command
            .args(arguments)
            .current_dir(empty.path())
            .output()
            .unwrap()
            .into();
        assert_eq!(outcome.code, Some(0), "{name}: {}", outcome.stderr);
        let builtin: Value = serde_json::from_str(&outcome.stdout).unwrap();
        let file = shown(&workspace, &format!("--config here/configs/{name}.toml"));
        assert_eq!(
            (&builtin["config"], &builtin["name"]),
            (&file["config"], &file["name"]),
            "{name}"
        );
    }
    // A stage makes the same of both.
    let keys = "--set generate.games=4 --set generate.part_games=2 --set generate.play_depth=1 --set generate.label_depth=1";
    workspace.done(&format!(
        "generate --config builtin:seed {keys} --output one"
    ));
    workspace.done(&format!(
        "generate --config here/configs/seed.toml {keys} --output two"
    ));
    check_same(
        &workspace.path("one"),
        &workspace.path("two"),
        "builtin:seed and seed.toml",
    );
    assert_eq!(fs::read_dir(empty.path()).unwrap().count(), 0);
    for (config, words) in [
        (
            "builtin:smok",
            "builtin:smok: unknown built-in config\ndid you mean builtin:smoke?",
        ),
        (
            "builtin:other",
            "builtin:other: unknown built-in config\nchoose one of builtin:default, builtin:smoke",
        ),
        (
            "mine.toml",
            "cannot read mine.toml: it does not exist\nwrite it, or name a built-in config: builtin:default",
        ),
    ] {
        let outcome = workspace.run(&format!("config show --config {config}"));
        assert_eq!(outcome.code, Some(2));
        assert!(outcome.stderr.contains(words), "{}", outcome.stderr);
    }
}

#[test]
fn a_set_key_is_the_same_as_one_in_the_file() {
    let workspace = Workspace::new();
    let base = workspace.config("base", "smoke", &ONE_PLY);
    let changes = [
        ("run.seed", "7"),
        ("generate.games", "4"),
        ("train.target", "\"result\""),
        ("gate.mpc_level", "{ t = 1.5 }"),
    ];
    let file = workspace.config("file", "smoke", &[&ONE_PLY[..], &changes].concat());
    let set = "--set run.seed=7 --set generate.games=4 --set train.target=result --set gate.mpc_level.t=1.5";
    let [by_file, by_set] = [
        shown(&workspace, &format!("--config {file}")),
        shown(&workspace, &format!("--config {base} {set}")),
    ];
    assert_eq!(by_file["config"], by_set["config"]);
    let origin = |key: &str| by_set["origins"][key].as_str().unwrap().to_owned();
    assert_eq!(
        [origin("run.seed"), origin("gate.mpc_level")],
        ["--set", "--set"]
    );
    assert!(
        origin("generate.part_games").starts_with("configs/base.toml:"),
        "{by_set}"
    );
    assert_eq!(origin("run.start"), "default");
    for (name, options) in [
        ("by-file", format!("--config {file}")),
        ("by-set", format!("--config {base} {set}")),
    ] {
        workspace.done(&format!(
            "generate {options} --model builtin:disc-count --output {name}/games"
        ));
        workspace.done(&format!(
            "train {options} --dataset {name}/games --models {name}/models"
        ));
        workspace.done(&format!(
            "fit-mpc {options} --model v0001 --models {name}/models"
        ));
        let gate = format!(
            "gate {options} --candidate v0002 --baseline v0002 --models {name}/models --output {name}/gate"
        );
        assert_eq!(workspace.run(&gate).code, Some(11));
    }
    check_same(
        &workspace.path("by-file"),
        &workspace.path("by-set"),
        "a set key and one in the file",
    );
    // The setting wins over the file, which is then not even read there.
    workspace.write(
        "wrong.toml",
        "[train]\nepochs = \"many\"\ntarget = \"resut\"\n",
    );
    let wins = shown(
        &workspace,
        "--config wrong.toml --set train.epochs=3 --set train.target=score",
    );
    assert_eq!(
        (
            &wins["config"]["train"]["epochs"],
            &wins["config"]["train"]["target"]
        ),
        (&3.into(), &"score".into())
    );
}

#[test]
fn a_wrong_setting_names_the_key_as_a_file_would() {
    let workspace = Workspace::new();
    workspace.write("td.toml", "[train]\nlambda = [[60, 0.5]]\n");
    for (options, words) in [
        (
            "--set train.epoch=3",
            "error: --set: train.epoch: unknown key\ndid you mean epochs?",
        ),
        (
            "--set epochs=3",
            "error: --set: epochs: unknown key outside a table\ndid you mean train.epochs?",
        ),
        (
            "--set a=b",
            "error: --set: a: unknown key outside a table\nthe form is TABLE.KEY=VALUE, such as ",
        ),
        (
            "--set tran.epochs=3",
            "error: --set: [tran]: unknown table\ndid you mean [train]?",
        ),
        (
            "--set train.epochs=0",
            "error: --set: train.epochs = 0: expected a whole number from 1 to 100000",
        ),
        (
            "--set train.epochs=many",
            "error: --set: train.epochs = \"many\": expected a whole number from 1 to 100000",
        ),
        (
            "--set train.epochs=3 --set train.epochs=4",
            "error: --set: train.epochs is set twice: expected once",
        ),
        (
            "--set fit_mpc.method=source",
            "error: --set: fit_mpc.t is missing: method = \"source\" needs it",
        ),
        (
            "--set train.epochs",
            "invalid value 'train.epochs' for '--set <KEY=VALUE>': expected a key and its value",
        ),
        (
            "--set run.features=none.toml",
            "error: --set: run.features = \"none.toml\": cannot read none.toml: it does not",
        ),
        (
            "--config td.toml --set train.target=score",
            "error: td.toml:2: train.lambda: only train.target = \"td\" has this key",
        ),
    ] {
        let outcome = workspace.run(&format!("config show {options}"));
        assert_eq!(outcome.code, Some(2), "{options}: {}", outcome.stderr);
        assert!(
            outcome.stderr.contains(words),
            "{options}: {}",
            outcome.stderr
        );
    }
    // Every command with a config has it.
    for command in [
        "generate",
        "train",
        "fit-mpc",
        "gate",
        "status",
        "gc",
        "config show",
        "eval",
        "bench train",
        "bench generate",
    ] {
        let help = workspace.done(&format!("{command} --help"));
        assert!(
            help.contains("--config") && help.contains("--set <KEY=VALUE>"),
            "{command}: {help}"
        );
    }
}

#[test]
fn a_run_keeps_a_set_key_and_another_value_of_it_is_a_change() {
    let workspace = Workspace::new();
    workspace.config(
        "run",
        "smoke",
        &[("train.epochs", "2"), ("gate.games", "20")],
    );
    let run = |options: &str| {
        pipeline(
            &workspace,
            &format!("--config configs/run.toml --generations 1 {options}"),
        )
    };
    // A path is relative to the config, as in the file.
    let first = run(
        "--set train.epochs=3 --set=run.seed=5 --set run.features=../configs/features/es-cube.toml",
    );
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    let snapshot =
        fs::read_to_string(workspace.path("models/run/config/generation=0001/run.toml")).unwrap();
    assert!(
        snapshot.contains("epochs = 3") && snapshot.contains("seed = 5"),
        "{snapshot}"
    );
    let before = files(&workspace.path("models"));
    assert_eq!(run("--set train.epochs=3 --set run.seed=5").code, Some(0));
    assert!(
        files(&workspace.path("models")) == before,
        "an unchanged run does nothing"
    );
    let changed = run("--set run.seed=5");
    assert_eq!(changed.code, Some(2));
    assert!(
        changed.stderr.contains("train.epochs") && changed.stderr.contains("--from-next"),
        "{}",
        changed.stderr
    );
    let bad = run("--set train.epoch=3");
    assert_eq!(bad.code, Some(2));
    assert!(
        bad.stderr.contains("--set: train.epoch: unknown key"),
        "{}",
        bad.stderr
    );
    assert!(
        run("--set")
            .stderr
            .contains("a value is required for '--set")
    );
    assert!(files(&workspace.path("models")) == before);
}

#[test]
fn a_built_in_config_makes_a_run_of_its_name() {
    let workspace = Workspace::new();
    let outcome = pipeline(
        &workspace,
        &format!("--config builtin:smoke --generations 1 {TINY}"),
    );
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let status = workspace.done(&format!("status --config builtin:smoke {TINY} --json"));
    assert!(status.contains("\"v0002\""), "{status}");
    assert!(workspace.path("models/smoke/v0002/model.json").exists());
}
