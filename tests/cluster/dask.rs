//! A plan is driven on Dask workers that are separate processes, some of which are killed or
//! stopped. Needs Python 3.10 with venv, and PyPI.

use crate::support::workspace::{
    self, Outcome, Workspace, check_same, kill_group, pipeline, pipeline_command, reached, send,
    send_to_group, start_group,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const SHARDS: usize = 30;

/// The cache of the virtual environment, which all tests share.
fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache")
}

/// A workspace with a plan of many shards that take a second each, and the same games made by one
/// call.
fn planned() -> Workspace {
    let workspace = Workspace::new();
    workspace.write(
        "configs/features/edge-corner.toml",
        workspace::shipped("features/edge-corner.toml"),
    );
    let changes = [
        ("generate.games", "300"),
        ("generate.part_games", "10"),
        ("generate.label_depth", "7"),
    ];
    let config = workspace.config("run", "smoke", &changes);
    let model = "--model builtin:square-weights";
    workspace.done(&format!(
        "generate --config {config} {model} --output whole"
    ));
    workspace.done(&format!(
        "generate --plan plan.json --config {config} {model} --shards {SHARDS} --output shards"
    ));
    workspace
}

fn drive(workspace: &Workspace, options: &[&str]) -> Command {
    drive_with(&cache(), workspace, options)
}

/// A drive that finds or makes its environment in this cache.
fn drive_with(cache: &Path, workspace: &Workspace, options: &[&str]) -> Command {
    let mut command = workspace.command(&[
        "shard",
        "drive",
        "plan.json",
        "--json",
        "--on",
        "dask",
        "--threads",
        "3",
    ]);
    command
        .args(options)
        .env("XDG_CACHE_HOME", cache)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// The Python of the environment that a drive has made.
fn python(workspace: &Workspace) -> PathBuf {
    python_in(&cache(), workspace)
}

fn python_in(cache: &Path, workspace: &Workspace) -> PathBuf {
    let outcome: Outcome = drive_with(cache, workspace, &[]).output().unwrap().into();
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let mut folders = std::fs::read_dir(cache.join("renma"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    folders
        .find_map(|folder| Some(folder.join("bin/python")).filter(|python| python.exists()))
        .unwrap()
}

/// The runs in the side log.
fn runs(workspace: &Workspace) -> Vec<Value> {
    let log =
        std::fs::read_to_string(workspace.path("plan.json.workers.jsonl")).unwrap_or_default();
    log.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn report(outcome: &Outcome) -> Value {
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    serde_json::from_str(&outcome.stdout).unwrap()
}

fn check_finished(workspace: &Workspace) {
    workspace.done("shard finish plan.json");
    check_same(
        &workspace.path("shards"),
        &workspace.path("whole"),
        "driven shards",
    );
}

/// A process that ends with the test, and what it has started.
struct Guarded(Child);

impl Drop for Guarded {
    fn drop(&mut self) {
        kill_group(&mut self.0);
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
        let options = ["--host", "127.0.0.1", "--port", "0"];
        let mut scheduler = process(
            workspace,
            &python,
            "distributed.cli.dask_scheduler",
            &options,
            ":",
        );
        let file = workspace.path("scheduler.json");
        let address = || -> Option<String> {
            let content: Value = serde_json::from_slice(&std::fs::read(&file).ok()?).ok()?;
            Some(content["address"].as_str()?.to_owned())
        };
        assert!(reached(&mut scheduler.0, || address().is_some()));
        let mut cluster = Self {
            address: address().unwrap(),
            python,
            scheduler,
            workers: Vec::new(),
        };
        (0..3).for_each(|_| cluster.add_worker(workspace, ":"));
        cluster
    }

    /// Adds a worker, in whose shell a command has been run.
    fn add_worker(&mut self, workspace: &Workspace, before: &str) {
        let options = ["--nthreads", "1", "--no-nanny", "--host", "127.0.0.1"];
        self.workers.push(process(
            workspace,
            &self.python,
            "distributed.cli.dask_worker",
            &options,
            before,
        ));
    }

    fn drive(&self, workspace: &Workspace) -> Command {
        let mut command = drive(workspace, &["--scheduler", &self.address]);
        command.env("RENMA_PYTHON", &self.python);
        command
    }
}

/// Two generations with a model of 30 phases, long enough to be disturbed in each stage.
fn long_run(workspace: &Workspace) -> String {
    workspace.write(
        "configs/features/edge-corner-30.toml",
        workspace::shipped("features/edge-corner-30.toml"),
    );
    let changes = [
        ("run.features", "\"features/edge-corner-30.toml\""),
        ("generate.games", "400"),
        ("generate.part_games", "5"),
        ("generate.label_depth", "6"),
        ("train.epochs", "12"),
        ("fit_mpc.depth_max", "8"),
        ("fit_mpc.games", "80"),
        ("fit_mpc.part_games", "2"),
        ("gate.games", "400"),
        ("gate.depth", "5"),
        ("gate.mode", "\"sprt\""),
        ("gate.nelo1", "1.0"),
    ];
    workspace.config("long", "smoke", &changes)
}

/// The ends of all runs of shards of a stage in a generation.
fn codes(workspace: &Workspace, generation: u32, stage: &str) -> Vec<Value> {
    let path = format!("datasets/long/plans/generation={generation:04}/{stage}.json.workers.jsonl");
    let log = std::fs::read_to_string(workspace.path(&path)).unwrap_or_default();
    log.lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["code"].clone())
        .collect()
}

#[test]
#[ignore = "slow"]
fn a_run_that_loses_workers_and_its_driver_makes_the_bytes_of_one_machine() {
    let (local, workspace) = (Workspace::new(), Workspace::new());
    let config = long_run(&local);
    assert_eq!(
        pipeline(&local, &format!("--config {config}")).code,
        Some(0)
    );
    long_run(&workspace);
    let cluster = Cluster::start(&workspace, python(&planned()));
    let options = format!(
        "--config {config} --on dask --scheduler {}",
        cluster.address
    );
    let start = || {
        let mut command = pipeline_command(&workspace, &options, "");
        command.env("RENMA_PYTHON", &cluster.python);
        start_group(command)
    };
    let begun =
        |generation, stage, count: usize| count <= codes(&workspace, generation, stage).len();
    let mut first = start();
    assert!(reached(&mut first, || begun(1, "generate", 3)));
    // While shards wait, each worker has one: the stage ends only when that of the stopped one runs
    // elsewhere.
    send_to_group(&cluster.workers[1].0, Signal::STOP);
    assert!(
        reached(&mut first, || begun(1, "train", 1)),
        "it stopped after a worker had stopped"
    );
    send_to_group(&cluster.workers[0].0, Signal::KILL);
    assert!(
        reached(&mut first, || begun(1, "gate", 2)),
        "it stopped after the loss of a worker"
    );
    kill_group(&mut first);
    let mut second = start();
    assert!(
        reached(&mut second, || begun(2, "generate", 5)),
        "it did not resume"
    );
    kill_group(&mut second);
    assert_eq!(start().wait().unwrap().code(), Some(0));
    for folder in [
        "models/long",
        "datasets/long/selfplay",
        "datasets/long/mpc",
        "datasets/long/gate",
    ] {
        check_same(&workspace.path(folder), &local.path(folder), folder);
    }
    let stages = ["generate", "train", "fit-mpc", "gate"];
    let runs =
        (1..=2).flat_map(|generation| stages.map(|stage| codes(&workspace, generation, stage)));
    let runs: Vec<Value> = runs.flatten().collect();
    let lost = runs.iter().filter(|code| code.is_null()).count();
    assert!(
        1 <= lost,
        "of {} runs none was lost: the stopped worker held no shard up",
        runs.len()
    );
    let record: Value =
        serde_json::from_slice(&std::fs::read(workspace.path("models/long/run.json")).unwrap())
            .unwrap();
    let efficiency = record["efficiency"]["stages"]["generate"]["efficiency"]
        .as_f64()
        .unwrap();
    assert!(0.0 < efficiency && efficiency < 1.0, "{efficiency}");
}

#[test]
#[ignore = "slow"]
fn a_worker_that_cannot_write_gets_no_more_shards() {
    let workspace = planned();
    let python = python(&workspace);
    std::fs::remove_dir_all(workspace.path("shards")).unwrap();
    std::fs::remove_file(workspace.path("plan.json.workers.jsonl")).unwrap();
    let mut cluster = Cluster::start(&workspace, python);
    cluster.workers.pop();
    // It may write files of 2 KiB, and parts are larger.
    cluster.add_worker(&workspace, "ulimit -f 4");
    let outcome: Outcome = cluster.drive(&workspace).output().unwrap().into();
    let report = report(&outcome);
    assert_eq!(report["shards"], report["ran"], "{report}");
    let failed = runs(&workspace)
        .iter()
        .filter(|run| run["code"] != 0)
        .count();
    assert!(
        (2..=6).contains(&failed),
        "{failed} runs failed\n{}",
        outcome.stderr
    );
    assert!(
        outcome
            .stderr
            .contains("gets no more shards while there are others"),
        "{}",
        outcome.stderr
    );
    check_finished(&workspace);
}

/// Starts a process of a cluster.
fn process(
    workspace: &Workspace,
    python: &Path,
    module: &str,
    options: &[&str],
    before: &str,
) -> Guarded {
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(format!("{before}; exec \"$0\" \"$@\""))
        .arg(python);
    command
        .args([
            "-m",
            module,
            "--no-dashboard",
            "--scheduler-file",
            "scheduler.json",
        ])
        .args(options);
    command
        .current_dir(workspace.root())
        .env("DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL", "10s");
    command.stdin(Stdio::null());
    Guarded(start_group(command))
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
    send_to_group(&cluster.scheduler.0, Signal::KILL);
    let outcome: Outcome = child.wait_with_output().unwrap().into();
    assert_eq!(outcome.code, Some(75), "{}", outcome.stderr);
    assert!(
        outcome
            .stderr
            .contains("error: the scheduler is gone\nstart it again"),
        "{}",
        outcome.stderr
    );
    let check_unreachable = || {
        let outcome: Outcome = cluster.drive(&workspace).output().unwrap().into();
        assert_eq!(outcome.code, Some(75), "{}", outcome.stderr);
        assert!(
            outcome.stderr.contains("cannot reach the scheduler"),
            "{}",
            outcome.stderr
        );
    };
    check_unreachable();
    let _other =
        std::net::TcpListener::bind(cluster.address.strip_prefix("tcp://").unwrap()).unwrap();
    check_unreachable();
}

/// A drive on a cluster of its own, which has run shards, with its temporary files in a folder of
/// the workspace.
fn begun(workspace: &Workspace) -> Child {
    std::fs::remove_dir_all(workspace.path("shards")).ok();
    std::fs::create_dir_all(workspace.path("tmp")).unwrap();
    let mut command = drive(workspace, &[]);
    let mut child = command
        .env("TMPDIR", workspace.path("tmp"))
        .spawn()
        .unwrap();
    let before = runs(workspace).len();
    assert!(
        reached(&mut child, || before < runs(workspace).len()),
        "no shard ended"
    );
    child
}

/// The process that talks to Dask.
fn bridge_of(driver: &Child) -> Pid {
    let children = Command::new("pgrep")
        .args(["-P", &driver.id().to_string()])
        .output()
        .unwrap()
        .stdout;
    Pid::from_raw(
        String::from_utf8(children)
            .unwrap()
            .split_whitespace()
            .next()
            .unwrap()
            .parse()
            .unwrap(),
    )
    .unwrap()
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().next().is_none()
}

#[test]
#[ignore = "slow"]
fn nothing_stays_in_the_temporary_folder_even_of_a_killed_driver() {
    let workspace = planned();
    python(&workspace);
    let tmp = workspace.path("tmp");
    let mut driver = begun(&workspace);
    send(&driver, Signal::KILL);
    driver.wait().unwrap();
    for _ in 0..600 {
        if is_empty(&tmp) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    assert!(is_empty(&tmp), "a killed driver left files");
    let outcome: Outcome = begun(&workspace).wait_with_output().unwrap().into();
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(is_empty(&tmp), "a drive left files");
    check_finished(&workspace);
}

/// Sends a signal to the bridge of a drive: the drive says this and may pass, and the next one
/// finishes.
fn check_given_up(signal: Signal, words: &str) {
    let workspace = planned();
    python(&workspace);
    let driver = begun(&workspace);
    kill_process(bridge_of(&driver), signal).unwrap();
    let outcome: Outcome = driver.wait_with_output().unwrap().into();
    assert_eq!(outcome.code, Some(75), "{}", outcome.stderr);
    assert!(outcome.stderr.contains(words), "{}", outcome.stderr);
    let outcome: Outcome = drive(&workspace, &[]).output().unwrap().into();
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    check_finished(&workspace);
}

#[test]
#[ignore = "slow"]
fn a_hung_bridge_is_given_up() {
    check_given_up(Signal::STOP, "has hung for 30 s\nrepeat the command");
}

#[test]
#[ignore = "slow"]
fn a_bridge_that_is_killed_ends_the_drive_at_once() {
    check_given_up(Signal::KILL, "the connection to Dask ended");
}

#[test]
#[ignore = "slow"]
fn a_damaged_environment_is_made_again() {
    let workspace = planned();
    // Other tests use the common one at the same time.
    let cache = workspace.path("cache");
    let python = python_in(&cache, &workspace);
    let find = "import distributed; print(distributed.__file__)";
    let file = Command::new(&python)
        .args(["-c", find])
        .output()
        .unwrap()
        .stdout;
    let file = PathBuf::from(String::from_utf8(file).unwrap().trim());
    let sound = std::fs::read(&file).unwrap();
    for damage in [
        |file: &Path| std::fs::write(file, "import nothing").unwrap(),
        |file: &Path| {
            std::fs::remove_file(file.ancestors().nth(5).unwrap().join("bin/python")).unwrap();
        },
    ] {
        damage(&file);
        std::fs::remove_dir_all(workspace.path("shards")).unwrap();
        let outcome: Outcome = drive_with(&cache, &workspace, &[]).output().unwrap().into();
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        assert!(
            outcome.stderr.contains("is damaged: "),
            "{}",
            outcome.stderr
        );
        assert_eq!(std::fs::read(&file).unwrap(), sound);
    }
}

#[test]
#[ignore = "slow"]
fn no_other_user_of_the_machine_can_run_programs_in_the_cluster() {
    let workspace = planned();
    let python = python(&workspace);
    let driver = begun(&workspace);
    // What the cluster listens on, and what a client with another certificate, or with none, gets
    // there.
    let script = "
import asyncio, psutil, sys
from distributed import Client, Security

async def reached(address, security):
    try:
        async with Client(address, asynchronous=True, timeout=5, security=security) as client:
            return await client.run_on_scheduler(lambda: 'reached')
    except (OSError, TypeError, ValueError, asyncio.TimeoutError) as error:
        return type(error).__name__

bridge = psutil.Process(int(sys.argv[1]))
processes = [bridge, *bridge.children(recursive=True)]
listening = {found.laddr for process in processes for found in process.net_connections() if found.status == 'LISTEN'}
assert len(listening) >= 4, listening
assert all(address.ip == '127.0.0.1' and address.port != 8787 for address in listening), listening
for address in listening:
    for protocol, security in (('tcp', None), ('tls', Security.temporary())):
        found = asyncio.run(reached(f'{protocol}://127.0.0.1:{address.port}', security))
        assert found != 'reached', (protocol, address)
print(len(listening))
";
    let bridge = bridge_of(&driver).to_string();
    let outcome: Outcome = Command::new(&python)
        .args(["-c", script, &bridge])
        .output()
        .unwrap()
        .into();
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let outcome: Outcome = driver.wait_with_output().unwrap().into();
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
}

#[test]
#[ignore = "slow"]
fn a_worker_with_another_renma_ends_the_drive_and_is_named() {
    let workspace = planned();
    let mut cluster = Cluster::start(&workspace, python(&workspace));
    std::fs::remove_dir_all(workspace.path("shards")).unwrap();
    cluster.workers.clear();
    let program = env!("CARGO_BIN_EXE_renma");
    let other = workspace.path("other-renma");
    std::fs::write(
        &other,
        [std::fs::read(program).unwrap(), b"another build".to_vec()].concat(),
    )
    .unwrap();
    // The other program lies at the same path, for this worker only.
    let mount = format!("mount --bind {} {program}", other.display());
    let namespace =
        format!("exec unshare --mount sh -c '{mount} && exec \"$0\" \"$@\"' \"$0\" \"$@\"");
    cluster.add_worker(&workspace, &namespace);
    let outcome: Outcome = cluster.drive(&workspace).output().unwrap().into();
    assert_eq!(outcome.code, Some(65), "{}", outcome.stderr);
    for words in [
        "tcp://127.0.0.1:",
        "renma, ",
        "give this worker the same files",
    ] {
        assert!(
            outcome.stderr.contains(words),
            "{words}: {}",
            outcome.stderr
        );
    }
}
