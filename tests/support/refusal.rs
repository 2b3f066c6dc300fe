//! A refusal: one clear error with the right exit code, no panic, and nothing half-written.

use crate::support::workspace::{Outcome, Workspace, all_paths, files};

/// The exit code, the words of the message, and that nothing was begun: no file is new or changed.
pub(crate) fn check(workspace: &Workspace, arguments: &str, code: i32, words: &[&str]) {
    check_by(Workspace::run, workspace, arguments, code, words);
}

/// As [`check`], for a program that is run in another way.
pub(crate) fn check_by(
    run: impl FnOnce(&Workspace, &str) -> Outcome,
    workspace: &Workspace,
    arguments: &str,
    code: i32,
    words: &[&str],
) {
    let before = files(workspace.root());
    check_message(&run(workspace, arguments), arguments, code, words);
    let paths = all_paths(workspace.root());
    assert!(
        files(workspace.root()) == before,
        "renma {arguments}: it changed {paths:?}"
    );
    let is_unfinished =
        |path: &&std::path::PathBuf| path.to_str().is_some_and(|name| name.contains("/.tmp-"));
    let unfinished: Vec<_> = paths.iter().filter(is_unfinished).collect();
    assert!(unfinished.is_empty(), "renma {arguments}: {unfinished:?}");
}

/// The exit code and the words of the message.
pub(crate) fn check_message(outcome: &Outcome, arguments: &str, code: i32, words: &[&str]) {
    let stderr = &outcome.stderr;
    outcome.check(arguments, code, words);
    assert!(stderr.starts_with("error: "), "renma {arguments}\n{stderr}");
    assert_eq!(
        stderr
            .lines()
            .filter(|line| line.starts_with("error:"))
            .count(),
        1,
        "renma {arguments}\n{stderr}"
    );
    assert!(!stderr.contains("panicked"), "renma {arguments}\n{stderr}");
    assert!(
        outcome.stdout.is_empty(),
        "renma {arguments}\n{}",
        outcome.stdout
    );
}
