//! A temporary folder with the shipped configs, and the renma program at work in it.
#![allow(dead_code, reason = "no room needs every helper")]

use renma::artifact::dataset::positions::IMPORTED_POSITIONS;
use renma::artifact::publish::publish_bytes;
use renma::artifact::{Builtin, Footer, PositionRow};
use renma::engine::Searcher;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A folder that vanishes with the test.
#[derive(Debug)]
pub(crate) struct Workspace {
    folder: TempDir,
}

/// What a finished program said.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// None if a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// What makes a run of the smoke config take a fraction of a second. It is then too small to
/// promote its models.
const TINY: [(&str, &str); 11] = [
    ("generate.games", "60"),
    ("generate.part_games", "20"),
    ("generate.exploration", "0.01"),
    ("generate.play_depth", "2"),
    ("generate.label_depth", "2"),
    ("generate.exact_empties", "8"),
    ("train.ratio_decay", "1.0"),
    ("train.epochs", "4"),
    ("gate.mode", "\"games\""),
    ("gate.games", "40"),
    ("gate.exact_empties", "6"),
];

impl Workspace {
    pub(crate) fn new() -> Self {
        let workspace = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        workspace.write(
            "configs/features/es-cube.toml",
            shipped("features/es-cube.toml"),
        );
        workspace
    }

    /// Another workspace with the same files, locks left out.
    pub(crate) fn copy_of(other: &Self) -> Self {
        let workspace = Self::new();
        copy_folder(other.root(), workspace.root());
        workspace
    }

    /// One with a tiny run: a dataset in three parts, a draft v0001 and a model v0002, the champion.
    pub(crate) fn with_tiny_run() -> Self {
        let workspace = Self::new();
        let config = workspace.tiny("tiny", &[]);
        workspace.done(&format!("generate --config {config} --output data"));
        workspace.done(&format!(
            "train --config {config} --dataset data --models registry"
        ));
        workspace.done(&format!(
            "fit-mpc --config {config} --model v0001 --models registry"
        ));
        workspace.done("promote v0002 --models registry");
        workspace
    }

    /// The config of such a run, with other values.
    pub(crate) fn tiny(&self, name: &str, changes: &[(&str, &str)]) -> String {
        let all_train = [("train.validation", "0.0")];
        self.config(name, "smoke", &[&ONE_PLY, &all_train[..], changes].concat())
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        publish_bytes(&self.path(name), content.as_ref()).unwrap();
    }

    /// Writes a program that is a script of `sh`.
    ///
    /// Another process writes it: what this one has open for writing, a child that another test
    /// starts has open too until its exec, and the system runs no file that is open for writing.
    pub(crate) fn program(&self, name: &str, script: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let write = "printf '#!/bin/sh\\n%s\\n' \"$1\" >\"$0.$$\" && chmod 755 \"$0.$$\" && mv -f \"$0.$$\" \"$0\"";
        assert!(
            Command::new("sh")
                .args(["-c", write])
                .arg(&path)
                .arg(script)
                .status()
                .unwrap()
                .success(),
            "{name}"
        );
    }

    /// Writes positions as a Parquet file of another program: its footer names no format.
    pub(crate) fn write_positions(&self, name: &str, rows: &[PositionRow]) {
        IMPORTED_POSITIONS
            .write_rows(&self.path(name), rows, &Footer::new())
            .unwrap();
    }

    /// Writes `configs/NAME.toml`: a shipped config with other values for some keys, named
    /// `table.key`.
    ///
    /// The smoke config is taken with the numbers of [`TINY`].
    pub(crate) fn config(&self, name: &str, base: &str, changes: &[(&str, &str)]) -> String {
        let path = format!("configs/{name}.toml");
        let smaller: &[(&str, &str)] = if base == "smoke" { &TINY } else { &[] };
        self.write(
            &path,
            with_keys(
                &shipped(&format!("{base}.toml")),
                &[smaller, changes].concat(),
            ),
        );
        path
    }

    /// The program, to be started in this folder.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_renma"));
        command
            .current_dir(self.root())
            .args(["--progress", "none"])
            .args(arguments)
            .stdin(Stdio::null());
        command
    }

    /// Runs the program with these arguments, which hold no blanks of their own.
    pub(crate) fn run(&self, arguments: &str) -> Outcome {
        let arguments: Vec<&str> = arguments.split_whitespace().collect();
        self.command(&arguments).output().unwrap().into()
    }

    /// Runs the program and expects it to succeed.
    pub(crate) fn done(&self, arguments: &str) -> String {
        let outcome = self.run(arguments);
        assert_eq!(
            outcome.code,
            Some(0),
            "renma {arguments}\n{}",
            outcome.stderr
        );
        outcome.stdout.trim_end().to_owned()
    }

    /// Runs the program and expects this exit code and these words on stderr.
    pub(crate) fn ends(&self, arguments: &str, code: i32, words: &[&str]) {
        self.run(arguments).check(arguments, code, words);
    }

    /// Runs the program on one thread for a minute at most, in a shell with these limits: what needs
    /// more has not been bounded.
    pub(crate) fn run_bounded(&self, limits: &str, arguments: &str) -> Outcome {
        let program = env!("CARGO_BIN_EXE_renma");
        let script =
            format!("{limits}; exec timeout 60 {program} --progress none --threads 1 {arguments}");
        let mut command = Command::new("sh");
        command
            .args(["-c", &script])
            .current_dir(self.root())
            .stdin(Stdio::null());
        command.output().unwrap().into()
    }

    /// Runs the program with options of its own before these arguments.
    pub(crate) fn command_with(&self, options: &[&str], arguments: &str) -> Outcome {
        let mut command = Command::new(env!("CARGO_BIN_EXE_renma"));
        command
            .current_dir(self.root())
            .args(options)
            .args(arguments.split_whitespace())
            .stdin(Stdio::null());
        command.output().unwrap().into()
    }

    /// Starts the program, to be killed or interrupted.
    pub(crate) fn start(&self, arguments: &str) -> Child {
        let arguments: Vec<&str> = arguments.split_whitespace().collect();
        self.command(&arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }
}

/// Keys for stages that take a moment: nine games in three parts, and searches of one ply.
pub(crate) const ONE_PLY: [(&str, &str); 12] = [
    ("generate.games", "9"),
    ("generate.part_games", "3"),
    ("generate.play_depth", "1"),
    ("generate.label_depth", "1"),
    ("generate.exact_empties", "3"),
    ("fit_mpc.method", "\"source\""),
    ("fit_mpc.games", "4"),
    ("fit_mpc.part_games", "4"),
    ("fit_mpc.t", "1.4"),
    ("fit_mpc.depth_max", "3"),
    ("gate.games", "6"),
    ("gate.depth", "1"),
];

/// Runs the pipeline; compares its exit code and looks for words in what it says.
pub(crate) fn check_pipeline(
    workspace: &Workspace,
    options: &str,
    code: i32,
    words: &[&str],
) -> Outcome {
    let outcome = pipeline(workspace, options);
    assert_eq!(
        outcome.code,
        Some(code),
        "pipeline.sh {options}\n{}",
        outcome.stderr
    );
    for word in words {
        assert!(
            outcome.stderr.contains(word),
            "pipeline.sh {options}: `{word}` is not in\n{}",
            outcome.stderr
        );
    }
    outcome
}

/// The whole loop as people start it: `pipeline.sh` in a workspace, with this program in the place
/// of a build.
pub(crate) fn pipeline(workspace: &Workspace, options: &str) -> Outcome {
    pipeline_with(workspace, options, "")
}

/// As [`pipeline`], with options for every call of the program.
pub(crate) fn pipeline_with(
    workspace: &Workspace,
    options: &str,
    program_options: &str,
) -> Outcome {
    pipeline_command(workspace, options, program_options)
        .output()
        .unwrap()
        .into()
}

/// As [`pipeline`], called from another folder.
pub(crate) fn pipeline_from(workspace: &Workspace, folder: &str, options: &str) -> Outcome {
    pipeline_command(workspace, options, "")
        .current_dir(workspace.path(folder))
        .output()
        .unwrap()
        .into()
}

/// Starts the loop in a separate process group, to be killed by [`kill_group`].
pub(crate) fn start_pipeline(workspace: &Workspace, options: &str) -> Child {
    start_group(pipeline_command(workspace, options, ""))
}

/// Starts a command in a separate process group, to be killed by [`kill_group`].
pub(crate) fn start_group(mut command: Command) -> Child {
    use std::os::unix::process::CommandExt;
    command
        .process_group(0)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Kills a child with everything that it started.
pub(crate) fn kill_group(child: &mut Child) {
    signal_group(child, Signal::KILL);
}

/// Sends a signal to a child and everything that it started, and waits until the child has ended.
pub(crate) fn signal_group(child: &mut Child, signal: Signal) {
    send_to_group(child, signal);
    child.wait().unwrap();
}

/// Sends a signal to a child and everything that it started.
pub(crate) fn send_to_group(child: &Child, signal: Signal) {
    kill_process_group(Pid::from_child(child), signal).unwrap();
}

/// Sends a signal to a child. A bare Debian has no program `kill`.
pub(crate) fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// The loop, to be started with these options, and others for every call of the program.
pub(crate) fn pipeline_command(
    workspace: &Workspace,
    options: &str,
    program_options: &str,
) -> Command {
    let script = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("pipeline.sh")).unwrap();
    workspace.write("pipeline.sh", script);
    let program = env!("CARGO_BIN_EXE_renma");
    workspace.program(
        "target/release/renma",
        &format!("exec {program} --progress none {program_options} \"$@\""),
    );
    let mut command = Command::new("bash");
    command
        .arg(workspace.path("pipeline.sh"))
        .args(options.split_whitespace())
        .stdin(Stdio::null());
    command
        .current_dir(workspace.root())
        .env("RENMA", workspace.path("target/release/renma"));
    command
}

impl Outcome {
    /// Expects this exit code and these words on stderr.
    pub(crate) fn check(&self, arguments: &str, code: i32, words: &[&str]) {
        let stderr = &self.stderr;
        assert_eq!(self.code, Some(code), "renma {arguments}\n{stderr}");
        for word in words {
            assert!(
                stderr.contains(word),
                "renma {arguments}: `{word}` is not in\n{stderr}"
            );
        }
    }
}

impl From<Output> for Outcome {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// A file of the project's `configs/`.
pub(crate) fn shipped(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("configs")
        .join(name);
    std::fs::read_to_string(path).unwrap()
}

/// A config's text with other values for some keys.
pub(crate) fn with_keys(text: &str, changes: &[(&str, &str)]) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for (name, value) in changes {
        let (table, key) = name.split_once('.').unwrap();
        let head = format!("[{table}]");
        let begin = lines
            .iter()
            .position(|line| *line == head)
            .unwrap_or_else(|| {
                lines.push(head);
                lines.len() - 1
            });
        let end = (begin + 1..lines.len())
            .find(|&place| lines[place].starts_with('['))
            .unwrap_or(lines.len());
        let line = format!("{key} = {value}");
        match (begin..end).find(|&place| lines[place].starts_with(&format!("{key} = "))) {
            Some(place) => lines[place] = line,
            None => lines.insert(begin + 1, line),
        }
    }
    lines.join("\n") + "\n"
}

/// Every file under a folder by its path from there; what is no data is left out: hidden files
/// (locks, unfinished ones), logs, `run.json` and the report.
pub(crate) fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let paths = all_paths(folder);
    let name = |path: &Path| {
        path.strip_prefix(folder)
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned()
    };
    let is_hidden = |name: &str| name.split('/').any(|part| part.starts_with('.'));
    let is_data = |name: &str| {
        !is_hidden(name)
            && !name.ends_with(".log")
            && !name.ends_with("run.json")
            && !name.ends_with("report.html")
    };
    let shown = paths.iter().filter(|path| is_data(&name(path)));
    shown
        .map(|path| (name(path), std::fs::read(path).unwrap()))
        .collect()
}

/// Every file under a folder, hidden ones too.
pub(crate) fn all_paths(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            paths.extend(all_paths(&path));
        } else {
            paths.push(path);
        }
    }
    paths.sort();
    paths
}

/// Solves the positions of exact rows, each with an empty table, and compares the scores.
pub(crate) fn check_exact_scores(rows: &[PositionRow]) {
    let model = Builtin::Champion.model();
    let mut searcher = Searcher::new(&model.evaluation, &model.mpc, 16);
    for row in rows.iter().filter(|row| row.exact == Some(true)) {
        searcher.clear();
        assert_eq!(
            row.score,
            Some(searcher.solve(row.position().unwrap()).score),
            "{row:?}"
        );
    }
}

/// Copies a folder, locks left out.
pub(crate) fn copy_folder(from: &Path, to: &Path) {
    for (name, bytes) in files(from) {
        publish_bytes(&to.join(name), &bytes).unwrap();
    }
}

/// Fails unless two folders hold the same files with the same bytes.
pub(crate) fn check_same(left: &Path, right: &Path, what: &str) {
    let (left, right) = (files(left), files(right));
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert!(!left.is_empty(), "{what}: no files");
    assert_eq!(names(&left), names(&right), "{what}");
    for (name, bytes) in &left {
        assert!(*bytes == right[name], "{what}: {name} differs");
    }
}

/// Waits until a child has got so far; false if it ended first.
pub(crate) fn reached(child: &mut Child, so_far: impl Fn() -> bool) -> bool {
    let deadline = Instant::now() + Duration::from_secs(600);
    while child.try_wait().unwrap().is_none() {
        if so_far() {
            return true;
        }
        assert!(Instant::now() < deadline, "the child makes no progress");
        std::thread::sleep(Duration::from_millis(1));
    }
    false
}
