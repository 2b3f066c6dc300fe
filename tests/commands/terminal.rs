//! What a run prints: a heading and a line per stage, the table, and what to do next.

use crate::support::workspace::{Workspace, pipeline_command, shipped};
use std::process::{Command, Output};

const SMOKE: &str = "--config configs/smoke.toml";

/// A folder in which the smoke run can be made.
fn smoke() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("configs/smoke.toml", shipped("smoke.toml"));
    workspace.write(
        "configs/features/es-cube.toml",
        shipped("features/es-cube.toml"),
    );
    workspace
}

fn output(command: &mut Command) -> [String; 2] {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    let [stdout, stderr] = [stdout, stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert!(status.success(), "{stderr}");
    [stdout, stderr]
}

/// Compares with a snapshot in which times, rates and sizes of disks are left out.
fn check(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"[0-9,]+ games/s", "[rate]");
    settings.add_filter(
        r"(about|more than) [0-9]+ (s|min|h)( [0-9]+ min)?",
        "about [time]",
    );
    settings.add_filter(r"· [0-9]+ (s|min|h)( [0-9]+ min)? left", "· [time] left");
    settings.add_filter(r"of [0-9.]+ (MB|GB|kB), ", "of [disk], ");
    settings.add_filter(r"(play|continue) +[^ ]*renma", "$1  [renma]");
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

#[test]
fn a_run_prints_a_line_per_stage_and_ends_with_what_to_do_next() {
    let workspace = smoke();
    let [stdout, stderr] = output(&mut pipeline_command(&workspace, SMOKE, ""));
    check("run", &format!("{stderr}{stdout}"));
    // All is done, so that only the table is left to print.
    let [again, stderr] = output(&mut pipeline_command(&workspace, SMOKE, ""));
    assert_eq!((again, stderr.as_str()), (stdout, ""));
}

#[test]
fn a_dry_run_says_what_the_run_takes_and_writes_nothing() {
    let workspace = smoke();
    let [stdout, stderr] = output(&mut pipeline_command(
        &workspace,
        &format!("{SMOKE} --dry-run"),
        "",
    ));
    check("dry_run", &stderr);
    assert_eq!(stdout, "");
    assert!(!workspace.path("models").exists() && !workspace.path("datasets").exists());
}

#[test]
fn a_quiet_run_prints_nothing_and_a_verbose_one_tells_more() {
    let workspace = smoke();
    let one = format!("{SMOKE} --generations 1");
    assert_eq!(
        output(&mut pipeline_command(&workspace, &format!("{one} -q"), "")),
        ["", ""]
    );
    let workspace = smoke();
    let [_, stderr] = output(&mut pipeline_command(&workspace, &format!("{one} -v"), ""));
    assert!(stderr.contains("bytes per position"), "{stderr}");
    let shown = workspace.done("model show v0001 --models models/smoke");
    for text in [stderr, shown] {
        for words in [
            "error on held-out rows, in discs",
            "loss of epoch 1 ",
            " meet a trained weight",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
}
