//! A plan is driven to its end by commands: the bytes of one machine, retries, clear ends and
//! resumption.

use crate::support::workspace::{self, Outcome, Workspace, check_same, reached, send};
use renma::artifact::FolderLock;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::process::Command;
use std::time::Instant;

const RENMA: &str = env!("CARGO_BIN_EXE_renma");

/// A workspace with a plan of six shards, and the same games made by one call.
fn planned() -> Workspace {
    let workspace = Workspace::new();
    workspace.write(
        "configs/features/edge-corner.toml",
        workspace::shipped("features/edge-corner.toml"),
    );
    let config = workspace.config("run", "smoke", &[("generate.part_games", "10")]);
    let model = "--model builtin:square-weights";
    workspace.done(&format!(
        "generate --config {config} {model} --output whole"
    ));
    workspace.done(&format!(
        "generate --plan plan.json --config {config} {model} --shards 6 --output shards"
    ));
    workspace
}

/// Drives the plan by a shell script that knows `$plan`, `$shard` and `$renma`.
fn drive_by(workspace: &Workspace, script: &str) -> Command {
    drive_on("2", workspace, script)
}

fn drive_on(workers: &str, workspace: &Workspace, script: &str) -> Command {
    workspace.write(
        "shard.sh",
        format!("plan=$1 shard=$2 renma={RENMA}\n{script}\n"),
    );
    let on = "sh shard.sh {plan} {shard}";
    workspace.command(&[
        "shard",
        "drive",
        "plan.json",
        "--json",
        "--workers",
        workers,
        "--on",
        on,
    ])
}

fn outcome(mut command: Command) -> Outcome {
    command.output().unwrap().into()
}

#[test]
fn more_shards_at_once_than_the_usual_limit_has_files_are_run() {
    let workspace = planned();
    workspace.write(
        "shard.sh",
        format!("plan=$1 shard=$2 renma={RENMA}\nsleep 1\n{RUN}\n"),
    );
    let drive = format!(
        "ulimit -S -n 16; exec {RENMA} shard drive plan.json --workers 6 --on 'sh shard.sh {{plan}} {{shard}}'"
    );
    let mut command = Command::new("sh");
    command.args(["-c", &drive]).current_dir(workspace.root());
    let outcome = outcome(command);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    check_finished(&workspace);
}

/// The lines of the side log.
fn lines(workspace: &Workspace) -> Vec<Value> {
    let log =
        std::fs::read_to_string(workspace.path("plan.json.workers.jsonl")).unwrap_or_default();
    log.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The runs in the side log: shard and exit code.
fn runs(workspace: &Workspace) -> Vec<(u64, Value)> {
    lines(workspace)
        .iter()
        .map(|line| (line["shard"].as_u64().unwrap(), line["code"].clone()))
        .collect()
}

fn check_finished(workspace: &Workspace) {
    workspace.done("shard finish plan.json");
    check_same(
        &workspace.path("shards"),
        &workspace.path("whole"),
        "driven shards",
    );
}

const RUN: &str = "exec $renma --threads 1 shard run $plan $shard";

#[test]
fn shards_that_commands_make_have_the_bytes_of_one_machine() {
    let workspace = planned();
    let outcome = outcome(drive_by(&workspace, RUN));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let report: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(
        [&report["shards"], &report["ran"], &report["retried"]],
        [6, 6, 0]
    );
    assert_eq!(
        (&report["workers"], &report["cpu_seconds"]),
        (&2.into(), &Value::Null),
        "no shard printed its report"
    );
    let mut runs = runs(&workspace);
    runs.sort_by_key(|(shard, _)| *shard);
    assert_eq!(
        runs,
        (0..6).map(|shard| (shard, 0.into())).collect::<Vec<_>>()
    );
    let again: Value =
        serde_json::from_str(&self::outcome(drive_by(&workspace, "exit 1")).stdout).unwrap();
    assert_eq!(
        [&again["shards"], &again["ran"]],
        [6, 0],
        "all of them are there"
    );
    check_finished(&workspace);
}

#[test]
fn a_shard_that_is_busy_and_then_killed_is_run_again() {
    let workspace = planned();
    let flaky = "if [ $shard = 2 ]; then
            [ -e busy ] || { touch busy; exit 75; }
            [ -e dead ] || { touch dead; kill -9 $$; }
        fi";
    let outcome = outcome(drive_by(&workspace, &format!("{flaky}\n{RUN}")));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let report: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(
        [&report["shards"], &report["ran"], &report["retried"]],
        [6, 6, 2]
    );
    let codes: Vec<Value> = runs(&workspace)
        .into_iter()
        .filter(|(shard, _)| *shard == 2)
        .map(|(_, code)| code)
        .collect();
    assert_eq!(codes, [75.into(), Value::Null, 0.into()]);
    check_finished(&workspace);
}

#[test]
fn a_shard_that_prints_its_report_tells_its_processor_time() {
    let (workspace, began) = (planned(), Instant::now());
    let report: Value =
        serde_json::from_str(&outcome(drive_by(&workspace, &format!("{RUN} --json"))).stdout)
            .unwrap();
    let most = began.elapsed().as_secs_f64();
    let seconds = |line: &Value, name: &str| line[name].as_f64().unwrap();
    let lines = lines(&workspace);
    for line in &lines {
        let [seconds, used] = ["seconds", "cpu_seconds"].map(|name| seconds(line, name));
        assert!(
            0.0 < used && 0.0 < seconds && seconds < most,
            "{line} in {most} s"
        );
    }
    let used: f64 = lines.iter().map(|line| seconds(line, "cpu_seconds")).sum();
    assert!(
        (used - seconds(&report, "cpu_seconds")).abs() < 0.001 && 0.0 < used,
        "{used}: {report}"
    );
}

#[test]
fn the_log_of_a_run_has_the_processor_time_of_its_shards() {
    // Shards that print no report leave it unknown.
    for (json, threads) in [(" --json", 3), ("", 0)] {
        let workspace = Workspace::new();
        workspace.config("run", "smoke", &[("run.generations", "1")]);
        let on = format!("{RENMA} --threads 1 shard run {{plan}} {{shard}}{json}");
        let options = [
            "run",
            "--config",
            "configs/run.toml",
            "--on",
            &on,
            "--workers",
            "3",
        ];
        let outcome: Outcome = workspace.command(&options).output().unwrap().into();
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        let log = std::fs::read_to_string(workspace.path("models/run/run.log")).unwrap();
        let calls: Vec<Value> = log
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let plays = || {
            calls
                .iter()
                .filter(|call| call["stage"] == "generate" && call["outcome"] == "done")
        };
        let call = plays()
            .find(|call| call["threads"] == threads)
            .unwrap_or_else(|| panic!("{log}"));
        assert_eq!(
            0.0 < call["cpu_seconds"].as_f64().unwrap(),
            threads == 3,
            "{log}"
        );
        let figures: Value =
            serde_json::from_str(&workspace.done("status --config configs/run.toml --format bmf"))
                .unwrap();
        assert_eq!(
            figures["run"]["cpu-seconds"].is_null(),
            threads == 0,
            "{figures}"
        );
        // The games were played by one call and checked by another.
        let seconds: f64 = plays().map(|call| call["seconds"].as_f64().unwrap()).sum();
        let speed = figures["run"]["games-per-second"]["value"]
            .as_f64()
            .unwrap();
        assert!(
            plays().count() == 2 && (speed * seconds - 60.0).abs() < 1e-6,
            "{speed}: {log}"
        );
    }
}

#[test]
fn an_error_for_good_ends_the_drive_with_the_words_of_the_shard() {
    let workspace = planned();
    for (code, expected) in [(65, 65), (2, 2), (1, 1)] {
        let script =
            format!("[ $shard != 1 ] || {{ echo the book is torn >&2; exit {code}; }}\n{RUN}");
        let outcome = outcome(drive_by(&workspace, &script));
        assert_eq!(outcome.code, Some(expected), "{}", outcome.stderr);
        let message = format!("shard 1 of plan.json ended with {code}:\nthe book is torn");
        assert!(
            outcome.stderr.ends_with(&format!("error: {message}\n")),
            "{}",
            outcome.stderr
        );
        let error: Value = serde_json::from_str(&outcome.stdout).unwrap();
        let expected = json!({"message": message, "causes": [], "remedy": null, "code": code});
        assert_eq!(error["error"], expected);
    }
    assert_eq!(
        runs(&workspace)
            .iter()
            .filter(|(shard, _)| *shard == 1)
            .count(),
        3
    );
    assert_eq!(outcome(drive_by(&workspace, RUN)).code, Some(0));
    check_finished(&workspace);
}

#[test]
fn what_cannot_be_driven_is_said_before_anything_runs() {
    let workspace = planned();
    for (arguments, expected) in [
        (
            &["plan.json", "--on", "renma {plan}"][..],
            "{shard} is missing",
        ),
        (
            &["plan.json", "--on", "renma '{plan} {shard}"],
            "a quotation mark is not closed",
        ),
        (
            &["plan.json", "--on", "./gone {plan} {shard}"],
            "cannot start `./gone`",
        ),
        (
            &["gone.json", "--on", "renma {plan} {shard}"],
            "cannot read gone.json: it does not exist",
        ),
        (
            &[
                "plan.json",
                "--on",
                "renma {plan} {shard}",
                "--scheduler",
                "localhost:1",
            ],
            "--scheduler needs --on dask",
        ),
        (
            &[
                "plan.json",
                "--on",
                "dask",
                "--scheduler",
                "tcp://10.0.0.1:1",
            ],
            "or say --insecure",
        ),
    ] {
        let outcome = outcome(workspace.command(&[&["shard", "drive"], arguments].concat()));
        assert_eq!(outcome.code, Some(2), "{arguments:?}: {}", outcome.stderr);
        assert!(
            outcome.stderr.contains(expected),
            "{arguments:?}: {}",
            outcome.stderr
        );
    }
    assert!(runs(&workspace).is_empty());
    assert!(!workspace.path(".gone.json.lock").exists());
}

#[test]
fn a_killed_driver_resumes_and_a_second_one_is_told_of_the_first() {
    let workspace = planned();
    let script = format!("while [ $shard -gt 1 ] && [ ! -e go ]; do sleep 0.05; done\n{RUN}");
    let mut child = drive_on("6", &workspace, &script).spawn().unwrap();
    assert!(reached(&mut child, || 2 <= runs(&workspace).len()));
    let second = outcome(drive_by(&workspace, &script));
    assert_eq!(second.code, Some(75), "{}", second.stderr);
    assert!(
        second
            .stderr
            .contains("./.plan.json.lock is in use by process"),
        "{}",
        second.stderr
    );
    child.kill().unwrap();
    child.wait().unwrap();
    workspace.write("go", "");
    let outcome = outcome(drive_by(&workspace, &script));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let report: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert!(report["ran"].as_u64().unwrap() <= 4, "{report}");
    check_finished(&workspace);
}

#[test]
fn a_plan_that_is_driven_is_not_replaced() {
    let workspace = planned();
    let plan = || std::fs::read(workspace.path("plan.json")).unwrap();
    let (before, driven) = (
        plan(),
        FolderLock::take_named(workspace.root(), ".plan.json.lock").unwrap(),
    );
    let model = "--model builtin:square-weights --output shards";
    let other =
        format!("generate --plan plan.json --force --config configs/run.toml {model} --shards 3");
    let outcome = workspace.run(&other);
    assert_eq!(outcome.code, Some(75), "{}", outcome.stderr);
    assert!(
        plan() == before && outcome.stderr.contains(".plan.json.lock is in use"),
        "{}",
        outcome.stderr
    );
    drop(driven);
    workspace.done(&other);
    assert!(plan() != before);
}

#[test]
fn an_interruption_ends_the_commands_too() {
    let workspace = planned();
    let mut child = drive_on("3", &workspace, "echo $$ >>pids\nexec sleep 600")
        .spawn()
        .unwrap();
    let pids = || std::fs::read_to_string(workspace.path("pids")).unwrap_or_default();
    assert!(reached(&mut child, || pids().lines().count() == 3));
    send(&child, Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    for pid in pids().lines() {
        assert!(
            !std::path::Path::new("/proc").join(pid).exists(),
            "command {pid} still runs"
        );
    }
}
