//! Faults by call: every writer of every command with one call of the system spoilt, by seed.
//! `faults/preload.rs` does it.
//!
//! An interrupted call, a short write or folders that cannot be synced change nothing. After an
//! error, a kill or a power cut the same command gives the bytes of an undisturbed one, hidden
//! files too. With `--ignored`, RENMA_FAULTS=20 tries 20 calls of each kind and command,
//! RENMA_FAULTS=all all of them, and RENMA_FAULTS=COMMAND:KIND:CALL the one that failed.
//! RENMA_FAULTS_DONE=FILE keeps the kinds of each command of which all calls were tried without a
//! failure, and leaves out those that it has.
#![allow(clippy::print_stdout, reason = "a long test says what it tries")]

use crate::support::workspace::{ONE_PLY, Outcome, Workspace, all_paths};
use renma::random::{Stream, stream};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex};
use std::time::Instant;

/// Every command that writes, on the folder that [`made`] makes; `COPY` is the program.
const WRITERS: [(&str, &str); 23] = [
    ("init", "init new"),
    (
        "generate",
        "generate --config configs/tiny.toml --model builtin:square-weights --output data/new",
    ),
    (
        "train",
        "train --config configs/tiny.toml --dataset datasets/tiny/selfplay/generation=0001 --models models/new",
    ),
    (
        "fit-mpc",
        "fit-mpc --config configs/tiny.toml --model models/tiny/v0001 --models models/new --output data/mpc",
    ),
    (
        "gate",
        "gate --config configs/tiny.toml --candidate models/tiny/v0002 --baseline builtin:square-weights --output data/gate",
    ),
    ("promote", "promote models/tiny/v0002"),
    ("rollback", "promote --rollback --models models/promoted"),
    ("run", "run --config configs/other.toml"),
    ("run-2", "run --config configs/tiny.toml --generations 2"),
    (
        "run-closing",
        "run --config configs/tiny.toml --generations 3 --set run.keep_generations=1",
    ),
    (
        "run-from-next",
        "run --config configs/tiny.toml --generations 2 --from-next --set train.epochs=2",
    ),
    (
        "run-restart",
        "run --config configs/tiny.toml --restart 1 --set train.epochs=2",
    ),
    ("report", "report --config configs/tiny.toml"),
    (
        "gc",
        "gc --config configs/tiny.toml --set run.keep_generations=1",
    ),
    (
        "export-obf",
        "dataset export datasets/tiny/selfplay/generation=0001 --format obf --force --output out.obf",
    ),
    (
        "export-tokens",
        "dataset export datasets/tiny/selfplay/generation=0001 --format tokens --labels --force --output out.parquet",
    ),
    (
        "import",
        "dataset import games.wtb --format wthor --output data/imported",
    ),
    (
        "model-export",
        "model export --model models/tiny/v0002 --format renma --force --output out.renma",
    ),
    (
        "model-import",
        "model import tiny.renma --models models/new",
    ),
    (
        "shard-plan",
        "generate --plan new.json --force --config configs/tiny.toml --shards 2 --output data/planned",
    ),
    ("shard-run", "shard run plan.json 0"),
    ("shard-drive", "shard drive plan.json --on COPY --workers 2"),
    ("shard-finish", "shard finish sharded.json"),
];

const KINDS: [&str; 7] = [
    "eio", "enospc", "eintr", "short", "kill", "power", UNSYNCABLE,
];

/// Of a call and all that follow it.
const UNSYNCABLE: &str = "unsyncable";

/// Files that record times and process numbers.
const RECORDS: [&str; 5] = [".lock", ".log", ".jsonl", "run.json", "report.html"];

/// A folder with a finished run and what the writers need.
static MADE: LazyLock<Workspace> = LazyLock::new(|| {
    let made = Workspace::new();
    made.config("tiny", "smoke", &ONE_PLY);
    made.config(
        "other",
        "smoke",
        &[
            &ONE_PLY[..],
            &[("generate.games", "6"), ("run.generations", "1")],
        ]
        .concat(),
    );
    made.write("games.wtb", include_bytes!("../data/games.wtb"));
    made.done("run --config configs/tiny.toml --generations 1");
    made.done("model export --model models/tiny/v0002 --format renma --output tiny.renma");
    made.done("model import tiny.renma --models models/promoted");
    made.done("promote models/promoted/v0002");
    for (plan, output) in [
        ("plan.json", "data/driven"),
        ("sharded.json", "data/sharded"),
    ] {
        made.done(&format!(
            "generate --plan {plan} --config configs/tiny.toml --model builtin:square-weights --shards 2 --output {output}"
        ));
    }
    (0..2).for_each(|shard| drop(made.done(&format!("shard run sharded.json {shard}"))));
    made
});

/// The library that spoils calls.
static LIBRARY: LazyLock<PathBuf> = LazyLock::new(|| {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files/faults/preload.rs");
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join("faults.so");
    let mut rustc = Command::new("rustc");
    rustc
        .args([
            "--edition",
            "2024",
            "--crate-type",
            "cdylib",
            "-O",
            "-C",
            "panic=abort",
            "-o",
        ])
        .arg(&library);
    assert!(rustc.arg(source).status().unwrap().success());
    library
});

/// A copy of the folder, and one beside it for what a power cut brings back.
struct Trial {
    folder: tempfile::TempDir,
}

impl Trial {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let copied = Command::new("cp")
            .arg("-a")
            .arg(MADE.root())
            .arg(folder.path().join("work"))
            .status()
            .unwrap();
        assert!(copied.success());
        fs::create_dir(folder.path().join("state")).unwrap();
        Self { folder }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    fn state(&self, name: &str) -> PathBuf {
        self.folder.path().join("state").join(name)
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new("timeout");
        command.args([
            "--foreground",
            "60",
            env!("CARGO_BIN_EXE_renma"),
            "--progress",
            "none",
            "--threads",
            "1",
        ]);
        for word in arguments.split_whitespace() {
            match word {
                "COPY" => command.arg(format!(
                    "{} shard run {{plan}} {{shard}}",
                    env!("CARGO_BIN_EXE_renma")
                )),
                word => command.arg(word),
            };
        }
        command.current_dir(self.root()).stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &str) -> Outcome {
        self.command(arguments).output().unwrap().into()
    }

    /// Runs a command with a call spoilt; with the number of calls.
    fn spoilt(&self, arguments: &str, kind: &str, call: u64) -> (Outcome, u64) {
        fs::write(self.state("counter"), [0; 8]).unwrap();
        let mut command = self.command(arguments);
        command.env("LD_PRELOAD", &*LIBRARY).process_group(0);
        command
            .env("RENMA_FAULT_ROOT", self.root().canonicalize().unwrap())
            .env("RENMA_FAULT_STATE", self.state(""));
        command
            .env("RENMA_FAULT_KIND", kind)
            .env("RENMA_FAULT_AT", call.to_string())
            .env("RENMA_FAULT_SEED", "1");
        let outcome = command.output().unwrap().into();
        let counter = fs::read(self.state("counter")).unwrap();
        (outcome, u64::from_le_bytes(counter.try_into().unwrap()))
    }

    /// Every file, hidden ones too, except records.
    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let root = self.root();
        let paths = all_paths(&root).into_iter().map(|path| {
            (
                path.strip_prefix(&root)
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .to_owned(),
                path,
            )
        });
        let data = paths.filter(|(name, _)| !RECORDS.iter().any(|record| name.ends_with(record)));
        data.map(|(name, path)| (name, fs::read(path).unwrap()))
            .collect()
    }
}

/// What a command makes undisturbed.
struct Expected {
    code: Option<i32>,
    calls: u64,
    before: BTreeMap<String, Vec<u8>>,
    files: BTreeMap<String, Vec<u8>>,
}

/// Runs a command undisturbed; at its end, nothing that it made could be lost.
fn expected(arguments: &str) -> Expected {
    let trial = Trial::new();
    let before = trial.files();
    let (outcome, calls) = trial.spoilt(arguments, "power", 0);
    assert!(
        matches!(outcome.code, Some(0 | 10 | 11)),
        "{arguments}: {}",
        outcome.stderr
    );
    assert!(0 < calls, "{arguments} writes nothing");
    let unsynced = fs::read_to_string(trial.state("unsynced")).unwrap();
    let is_data = |path: &&str| !RECORDS.iter().any(|record| path.ends_with(record));
    assert_eq!(
        unsynced.lines().filter(is_data).collect::<Vec<_>>(),
        Vec::<&str>::new(),
        "{arguments} ends before it has synced them"
    );
    Expected {
        code: outcome.code,
        calls,
        before,
        files: trial.files(),
    }
}

/// The first difference between two folders.
fn difference(
    found: &BTreeMap<String, Vec<u8>>,
    expected: &BTreeMap<String, Vec<u8>>,
) -> Option<String> {
    let names = found.keys().chain(expected.keys());
    let differing = names.filter(|name| found.get(*name) != expected.get(*name));
    differing
        .map(|name| match (found.get(name), expected.get(name)) {
            (Some(_), None) => format!("{name} is there"),
            (None, _) => format!("{name} is missing"),
            _ => format!("{name} differs"),
        })
        .next()
}

/// What is wrong after a command with a spoilt call.
fn fault(
    (name, arguments): (&str, &str),
    expected: &Expected,
    kind: &str,
    call: u64,
) -> Option<String> {
    let trial = Trial::new();
    let (outcome, _) = trial.spoilt(arguments, kind, call);
    let Outcome { code, stderr, .. } = &outcome;
    let spoilt = fs::read_to_string(trial.state("spoilt")).unwrap_or_default();
    let wrong = |what: String| Some(format!("{what}\nspoilt: {spoilt}\n{code:?} {stderr}"));
    if stderr.contains("panicked") {
        return wrong("it panicked".into());
    }
    let is_killed = kind == "kill" || kind == "power";
    let is_harmless = matches!(kind, "eintr" | "short" | UNSYNCABLE);
    let errors = stderr
        .lines()
        .filter(|line| line.starts_with("error:"))
        .count();
    match *code {
        None if is_killed => {}
        _ if *code == expected.code && errors == 0 => {}
        // A drive reports the error of the shard too.
        Some(1 | 75) if !is_harmless && (errors == 1 || errors == 2 && name == "shard-drive") => {}
        _ => return wrong("it ends otherwise".into()),
    }
    let notes = stderr.matches("cannot sync folders").count();
    let notes_expected = usize::from(kind == UNSYNCABLE && !spoilt.is_empty());
    // Of a shard that succeeds, a drive says nothing.
    if notes != notes_expected && name != "shard-drive" {
        return wrong(format!("{notes} notes instead of {notes_expected}"));
    }
    if name == "rollback" {
        // Each call takes back one promotion more: it has happened, or it has not.
        let files = trial.files();
        let states = [&expected.before, &expected.files];
        let differences: Vec<String> = states
            .iter()
            .filter_map(|state| difference(&files_of(&files), &files_of(state)))
            .collect();
        return if differences.len() < 2 {
            None
        } else {
            wrong(format!("half done: {differences:?}"))
        };
    }
    if *code != expected.code {
        // What was removed to be made again is not removed once more.
        let mut again = trial.run(&arguments.replace("--restart 1 ", ""));
        if again.code == Some(2) {
            again = trial.run(arguments);
        }
        if again.code != expected.code {
            return wrong(format!(
                "the next call ends with {:?}\n{}",
                again.code, again.stderr
            ));
        }
    }
    let files = trial.files();
    // What cannot be removed stays.
    if is_killed
        || ["unlink", "rmdir"]
            .iter()
            .any(|call| spoilt.starts_with(call))
    {
        return after_kill(&trial, &files, expected).and_then(wrong);
    }
    difference(&files, &expected.files).and_then(wrong)
}

/// What is wrong after a kill: other files, or temporary ones that `renma gc` does not remove.
fn after_kill(
    trial: &Trial,
    files: &BTreeMap<String, Vec<u8>>,
    expected: &Expected,
) -> Option<String> {
    let wrong = difference(&files_of(files), &files_of(&expected.files));
    let collected = trial.run("gc --config configs/tiny.toml");
    let is_left = |name: &str| {
        (name.starts_with("models/tiny/") || name.starts_with("datasets/tiny/"))
            && name.contains("/.tmp-")
    };
    let left = trial.files().into_keys().find(|name| is_left(name));
    let uncollected = left.map(|name| {
        format!(
            "renma gc leaves {name}: {:?} {}",
            collected.code, collected.stderr
        )
    });
    wrong.or(uncollected)
}

/// Without what killed processes left.
fn files_of(files: &BTreeMap<String, Vec<u8>>) -> BTreeMap<String, Vec<u8>> {
    files
        .iter()
        .filter(|(name, _)| !name.contains(".tmp-"))
        .map(|(name, bytes)| (name.clone(), bytes.clone()))
        .collect()
}

/// The file with what was tried before, if there is one.
fn done_file() -> Option<PathBuf> {
    std::env::var_os("RENMA_FAULTS_DONE").map(PathBuf::from)
}

/// Keeps that a kind of a command was tried.
fn keep_done(line: &str) {
    let Some(file) = done_file() else { return };
    let mut file = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(file)
        .unwrap();
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
}

/// Tries the calls of each command that `chosen` gives for the command's index, a kind, and the
/// number of its calls.
fn try_calls(chosen: impl Fn(usize, &str, u64) -> Vec<u64> + Sync) {
    let began = Instant::now();
    let (next, tried, found) = (
        AtomicUsize::new(0),
        AtomicUsize::new(0),
        Mutex::new(Vec::new()),
    );
    let done = done_file()
        .and_then(|file| fs::read_to_string(file).ok())
        .unwrap_or_default();
    LazyLock::force(&MADE);
    LazyLock::force(&LIBRARY);
    let work = || {
        while let Some((index, writer)) = WRITERS
            .iter()
            .enumerate()
            .nth(next.fetch_add(1, Ordering::Relaxed))
        {
            let expected = expected(writer.1);
            for kind in KINDS {
                let line = format!("{}:{kind}", writer.0);
                if done.lines().any(|done| done == line) {
                    continue;
                }
                let calls = chosen(index, kind, expected.calls);
                if 1 < calls.len() {
                    let (tried, seconds) =
                        (tried.load(Ordering::Relaxed), began.elapsed().as_secs());
                    let count = calls.len();
                    println!(
                        "{line}: {count} of {} calls; {tried} tried in {seconds} s",
                        expected.calls
                    );
                }
                let all = calls.iter().copied().eq(1..=expected.calls);
                let mut sound = true;
                for call in calls {
                    tried.fetch_add(1, Ordering::Relaxed);
                    let Some(what) = fault(*writer, &expected, kind, call) else {
                        continue;
                    };
                    sound = false;
                    let replay = format!("RENMA_FAULTS={line}:{call}");
                    println!(
                        "{replay} cargo test --release --locked --test files faults:: -- --ignored\n{what}\n"
                    );
                    found.lock().unwrap().push(replay);
                }
                if all && sound {
                    keep_done(&line);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for worker in [scope.spawn(work), scope.spawn(work)] {
            worker
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    });
    println!(
        "{} faults in {} s",
        tried.into_inner(),
        began.elapsed().as_secs()
    );
    assert_eq!(found.into_inner().unwrap(), Vec::<String>::new());
}

/// Calls of a command, drawn by a seed.
fn drawn(seed: u64, index: usize, kind: &str, calls: u64, count: usize) -> Vec<u64> {
    let kind = KINDS.iter().position(|other| *other == kind).unwrap();
    let mut random = stream(seed, Stream::Game(kind as u32, index as u64));
    (0..count)
        .map(|_| 1 + u64::from(random.below(calls as u32)))
        .collect()
}

#[test]
fn a_command_with_a_spoilt_call_can_be_repeated() {
    // Each command has one of the kinds, and the one of whole file systems.
    try_calls(|index, kind, calls| {
        if kind == UNSYNCABLE {
            return vec![1];
        }
        let is_chosen = KINDS[(index + 3) % (KINDS.len() - 1)] == kind;
        drawn(1, index, kind, calls, usize::from(is_chosen))
    });
}

#[test]
#[ignore = "slow"]
fn every_command_with_many_spoilt_calls_can_be_repeated() {
    let asked = std::env::var("RENMA_FAULTS").unwrap_or_default();
    let one: Vec<&str> = asked.split(':').collect();
    try_calls(|index, kind, calls| match one[..] {
        [name, kind_asked, call] => {
            if (WRITERS[index].0, kind) == (name, kind_asked) {
                vec![call.parse().unwrap()]
            } else {
                Vec::new()
            }
        }
        ["all"] => (1..=calls).collect(),
        [count] => drawn(2, index, kind, calls, count.parse().unwrap_or(8)),
        _ => panic!("RENMA_FAULTS={asked}"),
    });
}
