//! A plan is driven on Dask workers that are separate processes, some of which are killed or stopped. Needs Python 3.10 with
//! venv, and PyPI.
#![allow(clippy::disallowed_methods, reason = "a test looks at files as it likes")]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[path = "support/workspace.rs"]
mod workspace;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use workspace::{Outcome, Workspace, check_same, reached};

const SHARDS: usize = 30;

/// The cache of the virtual environment, which all tests share.
fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache")
}

/// A workspace with a plan of many shards that take a second each, and the same games made by one call.
fn planned() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("configs/features/edge-corner.toml", workspace::shipped("features/edge-corner.toml"));
    let changes = [("generate.games", "300"), ("generate.part_games", "10"), ("generate.label_depth", "7")];
    let config = workspace.config("run", "smoke", &changes);
    let model = "--model builtin:square-weights";
    workspace.done(&format!("generate --config {config} {model} --output whole"));
    workspace.done(&format!("shard plan plan.json --config {config} {model} --shards {SHARDS} --output shards"));
    workspace
}

fn drive(workspace: &Workspace, options: &[&str]) -> Command {
    let mut command = workspace.command(&["shard", "drive", "plan.json", "--json", "--on", "dask", "--threads", "3"]);
    command.args(options).env("XDG_CACHE_HOME", cache()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The Python of the environment that a drive has made.
fn python(workspace: &Workspace) -> PathBuf {
    let outcome: Outcome = drive(workspace, &[]).output().unwrap().into();
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let mut folders = std::fs::read_dir(cache().join("renma")).unwrap().map(|entry| entry.unwrap().path());
    folders.find_map(|folder| Some(folder.join("bin/python")).filter(|python| python.exists())).unwrap()
}

/// The runs in the side log.
fn runs(workspace: &Workspace) -> Vec<Value> {
    let log = std::fs::read_to_string(workspace.path("plan.json.workers.jsonl")).unwrap_or_default();
    log.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn report(outcome: &Outcome) -> Value {
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    serde_json::from_str(&outcome.stdout).unwrap()
}

fn check_finished(workspace: &Workspace) {
    workspace.done("shard finish plan.json");
    check_same(&workspace.path("shards"), &workspace.path("whole"), "driven shards");
}

/// A process that ends with the test.
struct Guarded(Child);

impl Drop for Guarded {
    fn drop(&mut self) {
        self.0.kill().and_then(|()| self.0.wait()).unwrap();
    }
}

impl Guarded {
    fn signal(&self, signal: &str) {
        assert!(Command::new("kill").args([signal, &self.0.id().to_string()]).status().unwrap().success());
    }
}

/// A scheduler and three workers, each a process.
struct Cluster {
    address: String,
    python: PathBuf,
    scheduler: Guarded,
    workers: Vec<Guarded>,
}

impl Cluster {
    fn start(workspace: &Workspace, python: PathBuf) -> Self {
        let start = |module: &str, options: &[&str]| {
            let mut command = Command::new(&python);
            command.args(["-m", module, "--no-dashboard", "--scheduler-file", "scheduler.json"]).args(options);
            command.current_dir(workspace.root()).env("DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL", "10s");
            Guarded(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
        };
        let mut scheduler = start("distributed.cli.dask_scheduler", &["--host", "127.0.0.1", "--port", "0"]);
        let file = workspace.path("scheduler.json");
        let address = || -> Option<String> {
            let content: Value = serde_json::from_slice(&std::fs::read(&file).ok()?).ok()?;
            Some(content["address"].as_str()?.to_owned())
        };
        assert!(reached(&mut scheduler.0, || address().is_some()));
        let worker =
            |_| start("distributed.cli.dask_worker", &["--nthreads", "1", "--no-nanny", "--host", "127.0.0.1"]);
        let workers = (0..3).map(worker).collect();
        Self { address: address().unwrap(), python: python.clone(), scheduler, workers }
    }

    fn drive(&self, workspace: &Workspace) -> Command {
        let mut command = drive(workspace, &["--scheduler", &self.address]);
        command.env("RENMA_PYTHON", &self.python);
        command
    }
}

#[test]
#[ignore = "slow"]
fn a_cluster_that_loses_workers_and_its_driver_makes_the_bytes_of_one_machine() {
    let workspace = planned();
    let python = python(&workspace);
    assert_eq!(runs(&workspace).len(), SHARDS);
    check_finished(&workspace);
    for file in ["shards", "plan.json.workers.jsonl"] {
        let path = workspace.path(file);
        if path.is_dir() { std::fs::remove_dir_all(path).unwrap() } else { std::fs::remove_file(path).unwrap() }
    }
    let cluster = Cluster::start(&workspace, python);
    let mut first = cluster.drive(&workspace).spawn().unwrap();
    assert!(reached(&mut first, || 3 <= runs(&workspace).len()));
    cluster.workers[0].signal("-KILL");
    let lost = |runs: &[Value]| runs.iter().any(|run| run["code"].is_null());
    assert!(reached(&mut first, || lost(&runs(&workspace)) || SHARDS / 2 <= runs(&workspace).len()));
    cluster.workers[1].signal("-STOP");
    std::thread::sleep(Duration::from_secs(1));
    first.kill().unwrap();
    first.wait().unwrap();
    let before = runs(&workspace);
    assert!(before.len() < SHARDS, "the drive was over before it was killed");
    let second: Outcome = cluster.drive(&workspace).output().unwrap().into();
    let report = report(&second);
    assert!(report["ran"].as_u64().unwrap() < SHARDS as u64, "{report}: all were run again");
    let after = runs(&workspace);
    assert!(lost(&after), "no run was lost: {after:?}");
    assert!(report["retried"].as_u64().unwrap() + u64::from(lost(&before)) > 0, "{report}");
    check_finished(&workspace);
}

#[test]
#[ignore = "slow"]
fn a_scheduler_that_is_gone_or_was_never_there_is_an_error_that_may_pass() {
    let workspace = planned();
    let cluster = Cluster::start(&workspace, python(&workspace));
    std::fs::remove_dir_all(workspace.path("shards")).unwrap();
    let mut child = cluster.drive(&workspace).spawn().unwrap();
    let begun = runs(&workspace).len();
    assert!(reached(&mut child, || begun < runs(&workspace).len()));
    cluster.scheduler.signal("-KILL");
    let outcome: Outcome = child.wait_with_output().unwrap().into();
    assert_eq!(outcome.code, Some(75), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("error: the scheduler is gone\nstart it again"), "{}", outcome.stderr);
    let outcome: Outcome = cluster.drive(&workspace).output().unwrap().into();
    assert_eq!(outcome.code, Some(75), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("cannot reach the scheduler"), "{}", outcome.stderr);
}
