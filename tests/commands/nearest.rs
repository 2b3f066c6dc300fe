//! What is almost right gets the nearest that is: places to run, configs, keys and registries.

use crate::support::refusal::check;
use crate::support::workspace::Workspace;
use std::process::Command;

#[test]
fn a_near_word_is_suggested() {
    let workspace = Workspace::new();
    workspace.tiny("mine", &[]);
    for (arguments, words) in [
        (
            "run --config configs/mine.toml --on dsk",
            ["--on dsk: it is neither", "did you mean dask?"],
        ),
        (
            "run --config configs/mine.toml --on lcoal",
            ["--on lcoal: it is neither", "did you mean local?"],
        ),
        (
            "run --config configs/mine.toml --on true",
            ["--on true: {plan} is missing", "name both in it"],
        ),
        (
            "run --config mine --dry-run",
            ["mine: it does not exist", "/configs/mine.toml?"],
        ),
        (
            "status --config mine",
            ["cannot read mine", "did you mean configs/mine.toml?"],
        ),
        (
            "config show --config configs/mien.toml",
            [
                "cannot read configs/mien.toml",
                "did you mean configs/mine.toml?",
            ],
        ),
        (
            "config show --config builtin:defualt",
            ["unknown built-in config", "did you mean builtin:default?"],
        ),
        (
            "config show --config other",
            ["other: it does not exist", "name a built-in config"],
        ),
        (
            "config show --set gate.node=5",
            ["gate.node: unknown key", "did you mean nodes?"],
        ),
        (
            "run configs/mine.toml",
            ["unexpected argument", "--config configs/mine.toml"],
        ),
        (
            "run mine",
            ["unexpected argument", "--config configs/mine.toml"],
        ),
    ] {
        check(&workspace, arguments, 2, &words);
    }
    check(&workspace, "run elsewhere", 2, &["unexpected argument"]);
    let outcome = workspace.run("run elsewhere");
    assert!(!outcome.stderr.contains("tip"), "{}", outcome.stderr);
}

#[test]
fn a_folder_that_is_not_a_registry_is_refused_by_every_command() {
    let workspace = Workspace::new();
    let config = workspace.tiny("mine", &[]);
    workspace.write("photos/one.png", "");
    workspace.write("g.txt", "f5d6\n");
    for command in [
        "model list",
        "model show v0001",
        "model verify",
        "model import g.txt",
        "model export --model v0001 --format renma --output x.renma",
        "eval g.txt",
        "solve g.txt",
        "play",
        "serve --port 0",
        "nboard",
        "gtp",
        "promote v0001",
        "dataset verify data --remake 1%",
        "dataset import g.txt --format transcripts --output out --label-depth 1",
        &format!("status --config {config}"),
        &format!("report --config {config}"),
        &format!("gc --config {config}"),
        &format!("generate --config {config} --output out"),
        &format!("train --config {config} --dataset data"),
        &format!("fit-mpc --config {config} --model v0001"),
        &format!("gate --config {config} --candidate v0002 --baseline v0001 --output out"),
    ] {
        for (folder, words) in [
            ("photos", "no version of a model"),
            ("g.txt", "it is a file, and a folder is expected"),
        ] {
            check(
                &workspace,
                &format!("{command} --models {folder}"),
                2,
                &[folder, words],
            );
        }
    }
    // A folder with nothing in it, or with a version, is a registry.
    std::fs::create_dir(workspace.path("new")).unwrap();
    workspace.done("model list --models new");
    workspace.write("photos/champion.json", "");
    let outcome = workspace.run("model list --models photos");
    assert_eq!(outcome.code, Some(65), "{}", outcome.stderr);
}

#[test]
fn a_file_for_a_folder_and_a_folder_for_a_file_are_named() {
    let workspace = Workspace::new();
    workspace.write("g.txt", "f5d6\n");
    workspace.write("folder/g.txt", "f5d6\n");
    for arguments in ["dataset inspect g.txt", "dataset verify g.txt"] {
        check(
            &workspace,
            arguments,
            2,
            &["g.txt: it is a file, and a folder is expected"],
        );
    }
    for arguments in [
        "eval folder",
        "solve folder",
        "dataset import folder --format text --output out",
    ] {
        check(
            &workspace,
            arguments,
            2,
            &["folder: it is a folder, and a file is expected"],
        );
    }
}

#[test]
fn a_help_text_builds_nothing() {
    let workspace = Workspace::new();
    let read = |name: &str| {
        std::fs::read(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
    };
    workspace.write("pipeline.sh", read("pipeline.sh"));
    workspace.write("docs/reference.md", read("docs/reference.md"));
    workspace.write("Cargo.toml", "");
    workspace.program("bin/cargo", "touch built");
    for option in ["--help", "-h"] {
        let outcome = Command::new("bash")
            .args(["pipeline.sh", option])
            .current_dir(workspace.root())
            .env_remove("RENMA")
            .env_remove("CARGO_TARGET_DIR")
            .env(
                "PATH",
                format!("{}:/usr/bin:/bin", workspace.path("bin").display()),
            )
            .output()
            .unwrap();
        let text = String::from_utf8(outcome.stdout).unwrap();
        assert!(
            outcome.status.success()
                && text.contains("--generations")
                && !text.contains("### renma generate"),
            "{text}"
        );
        assert!(!workspace.path("built").exists());
    }
}
