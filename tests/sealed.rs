//! Every number and every text of every sealed file is input: whatever it says, each reader ends soon and says why.
#![allow(clippy::disallowed_methods, reason = "a test looks at files as it likes")]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may panic, and says what it tries")]

#[path = "support/workspace.rs"]
mod workspace;

use rayon::prelude::*;
use renma::artifact::seal::{read_sealed, write_sealed};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use workspace::{Outcome, Workspace, all_paths, files};

/// Two generations, the plan of a stage, and every kind of sealed file.
fn tree() -> Workspace {
    let workspace = Workspace::new();
    let weak = [("run.start", "\"builtin:disc-count\""), ("run.generations", "2"), ("gate.games", "200")];
    let config = workspace.config("run", "smoke", &weak);
    workspace.done(&format!("run --config {config}"));
    let games = "datasets/run/selfplay/generation=0001";
    workspace.done(&format!("shard plan generate.json --config {config} --shards 2 --output out"));
    let train = format!("--config {config} --dataset {games} --models models/run");
    workspace.done(&format!("shard plan train.json --stage train {train}"));
    let fit = format!("--config {config} --model v0001 --models models/run --output samples");
    workspace.done(&format!("shard plan fit.json --stage fit-mpc --set fit_mpc.method=\"line\" {fit}"));
    let sides = "--candidate v0002 --baseline v0001 --models models/run";
    workspace.done(&format!("shard plan gate.json --stage gate --config {config} {sides} --output match"));
    workspace
}

/// The readers of a sealed file.
fn readers(file: &Path) -> Vec<String> {
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let folder = text(file.parent().unwrap());
    let run = ["status --config configs/run.toml", "report --config configs/run.toml"];
    let models = ["model list --models models/run", "model verify --models models/run"];
    let gc = "gc --dry-run --config configs/run.toml";
    let of = |known: &[&str]| known.iter().map(|&reader| reader.to_owned()).collect::<Vec<String>>();
    match file.file_name().unwrap().to_str().unwrap() {
        "manifest.json" => {
            let mut readers = of(&[run[0], run[1], gc]);
            readers.extend(["inspect", "verify --fast"].map(|command| format!("dataset {command} {folder}")));
            readers
        }
        "verdict.json" => {
            let mut readers = of(&[run[0], run[1], models[0], "model show v0002 --models models/run"]);
            readers.push(format!("dataset verify --fast {folder}"));
            readers
        }
        "model.json" => {
            let mut readers = of(&[run[0], run[1], models[0], models[1], gc]);
            readers.push(format!("model show {folder}"));
            readers
        }
        name if folder.is_empty() => vec![format!("shard status {name}"), format!("shard run {name} 0")],
        _ => of(&[run[0], run[1], models[0], models[1], gc]),
    }
}

/// The places of all numbers and texts in a value; of an array its first and its last element.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, field)| {
            places(field, &format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), found);
        }),
        Value::Array(elements) => {
            let ends = [0, elements.len().saturating_sub(1)];
            let ends = if ends[0] == ends[1] { &ends[..1] } else { &ends };
            ends.iter()
                .filter_map(|&place| Some((place, elements.get(place)?)))
                .for_each(|(place, element)| places(element, &format!("{at}/{place}"), found));
        }
        Value::Number(_) | Value::String(_) => found.push(at.to_owned()),
        Value::Null | Value::Bool(_) => (),
    }
}

fn others(value: &Value) -> Vec<Value> {
    match value {
        Value::Number(_) => vec![json!(0), json!(-1), json!(1_000_000_000), json!(1_u64 << 63), json!(1e308)],
        _ => vec![json!("x".repeat(70_000)), json!("\n"), json!("..")],
    }
}

/// Runs a reader with 1 GiB of address space and two seconds of processor time.
fn read_bounded(workspace: &Workspace, arguments: &str) -> Outcome {
    let program = env!("CARGO_BIN_EXE_renma");
    let script =
        format!("ulimit -v 1048576; ulimit -t 2; exec timeout 60 {program} --progress none --threads 1 {arguments}");
    let mut command = Command::new("sh");
    command.args(["-c", &script]).current_dir(workspace.root()).stdin(Stdio::null());
    command.output().unwrap().into()
}

fn sealed_files(workspace: &Workspace) -> Vec<PathBuf> {
    let relative = |path: PathBuf| path.strip_prefix(workspace.root()).unwrap().to_owned();
    let is_sealed = |path: &PathBuf| {
        path.extension().is_some_and(|extension| extension == "json") && read_sealed::<Value>(path).is_ok()
    };
    all_paths(workspace.root()).into_iter().filter(is_sealed).map(relative).collect()
}

/// Tries one change in `step`, each on every reader of its file.
fn try_changes(step: usize) {
    let workspace = tree();
    let kept = files(workspace.root());
    let (mut number, mut wrong) = (0, Vec::new());
    for file in sealed_files(&workspace) {
        let path = workspace.path(file.to_str().unwrap());
        let sound = std::fs::read(&path).unwrap();
        let value: Value = read_sealed(&path).unwrap();
        let mut found = Vec::new();
        places(&value, "", &mut found);
        found.retain(|place| place != "/hash");
        for place in found {
            for other in others(value.pointer(&place).unwrap()) {
                number += 1;
                if number % step != 0 {
                    continue;
                }
                let mut changed = value.clone();
                *changed.pointer_mut(&place).unwrap() = other.clone();
                write_sealed(&path, &changed).unwrap();
                let read = |reader: String| (read_bounded(&workspace, &reader), reader);
                let outcomes: Vec<_> = readers(&file).into_par_iter().map(read).collect();
                for (outcome, reader) in outcomes {
                    let shown: String = other.to_string().chars().take(30).collect();
                    let call = format!("{}{place} = {shown}: renma {reader}", file.display());
                    let first: String = outcome.stderr.lines().next().unwrap_or("").chars().take(160).collect();
                    if !matches!(outcome.code, Some(0 | 2 | 65)) || outcome.stderr.contains("panicked") {
                        wrong.push(format!("{call}\n    {:?} {first}", outcome.code));
                    }
                    if 10_000 < outcome.stderr.len() {
                        wrong.push(format!("{call}\n    an error of {} bytes", outcome.stderr.len()));
                    }
                }
                std::fs::write(&path, &sound).unwrap();
            }
        }
    }
    println!("{} changes", number / step);
    // What shards make is theirs.
    let made =
        |name: &str| ["out/", "samples/", "match/", "models/run/.train"].iter().any(|folder| name.starts_with(folder));
    let after = files(workspace.root());
    let names = kept.keys().chain(after.keys()).filter(|name| !made(name) && kept.get(*name) != after.get(*name));
    wrong.extend(names.map(|name| format!("a reader changed {name:?}")));
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn some_false_numbers_and_texts_in_sealed_files_end_every_reader_soon() {
    try_changes(37);
}

#[test]
#[ignore = "slow, and a quarter of an hour with RENMA_SEALED=all"]
fn many_false_numbers_and_texts_in_sealed_files_end_every_reader_soon() {
    let all = std::env::var("RENMA_SEALED").is_ok_and(|asked| asked == "all");
    try_changes(if all { 1 } else { 7 });
}
