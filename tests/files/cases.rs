//! Inputs on which the program once failed. In each folder of tests/data/cases `cmd` is a script of
//! `sh` with `$R` as the program, `expect` says what is right and why, and `shows` has fragments of
//! what the script prints, in order.

use crate::support::workspace::Workspace;
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn every_case_shows_what_it_expects() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/cases");
    let mut cases: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    cases.sort();
    assert!(!cases.is_empty());
    for case in cases {
        check(&case);
    }
}

fn check(case: &Path) {
    let workspace = Workspace::new();
    for entry in std::fs::read_dir(case).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        workspace.write(&name, std::fs::read(entry.path()).unwrap());
    }
    let outcome = Command::new("sh")
        .args(["-c", ". ./cmd 2>&1"])
        .current_dir(workspace.root())
        .env("R", env!("CARGO_BIN_EXE_renma"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8(outcome.stdout).unwrap();
    assert!(!text.contains("panicked"), "{}: {text}", case.display());
    let mut rest = text.as_str();
    for fragment in std::fs::read_to_string(case.join("shows")).unwrap().lines() {
        let (_, after) = rest
            .split_once(fragment)
            .unwrap_or_else(|| panic!("{}: `{fragment}` is missing in {rest}", case.display()));
        rest = after;
    }
}
