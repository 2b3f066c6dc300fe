//! Every number and every text of every file is input: whatever it says, each reader ends soon and
//! says why, and no text of a file reaches a terminal or a log as a command.
#![allow(clippy::print_stdout, reason = "a long test says what it tries")]

use crate::support::workspace::{Outcome, Workspace, all_paths, files, shipped};
use arrow::array::{ArrayRef, AsArray, RecordBatch, StringArray};
use rayon::prelude::*;
use renma::artifact::dataset::manifest::content_of;
use renma::artifact::model::vectors_file::vectors_table;
use renma::artifact::model::weights_file::WEIGHTS;
use renma::artifact::publish::publish_bytes;
use renma::artifact::seal::{read_sealed, write_sealed};
use renma::artifact::{
    FileEntry, FolderLock, Footer, GAMES, GATE_GAMES, Manifest, NEVER, POSITIONS, Table,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Two generations, the plan of a stage, and every kind of sealed file.
fn tree() -> Workspace {
    let workspace = Workspace::new();
    let features = shipped("features/es-cube.toml").replace("[60]", "[60]\nvectors = 8");
    workspace.write("configs/features/pairs.toml", features);
    let weak = [
        ("run.start", "\"builtin:disc-count\""),
        ("run.generations", "2"),
        ("run.features", "\"features/pairs.toml\""),
        ("gate.games", "200"),
    ];
    let config = workspace.config("run", "smoke", &weak);
    workspace.done(&format!("run --config {config}"));
    let games = "datasets/run/selfplay/generation=0001";
    workspace.done(&format!(
        "generate --plan generate.json --config {config} --shards 2 --output out"
    ));
    let train = format!("--config {config} --dataset {games} --models models/run");
    workspace.done(&format!("train --plan train.json {train}"));
    let fit = format!("--config {config} --model v0001 --models models/run --output samples");
    workspace.done(&format!(
        "fit-mpc --plan fit.json --set fit_mpc.method=\"line\" {fit}"
    ));
    let sides = "--candidate v0002 --baseline v0001 --models models/run";
    workspace.done(&format!(
        "gate --plan gate.json --config {config} {sides} --output match"
    ));
    workspace
}

/// The readers of a sealed file.
fn readers(file: &Path) -> Vec<String> {
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let folder = text(file.parent().unwrap());
    let run = [
        "status --config configs/run.toml",
        "report --config configs/run.toml",
    ];
    let models = [
        "model list --models models/run",
        "model verify --models models/run",
    ];
    let gc = "gc --dry-run --config configs/run.toml";
    let of = |known: &[&str]| {
        known
            .iter()
            .map(|&reader| reader.to_owned())
            .collect::<Vec<String>>()
    };
    match file.file_name().unwrap().to_str().unwrap() {
        "manifest.json" => {
            let mut readers = of(&[run[0], run[1], gc]);
            readers.extend(
                ["inspect", "verify --fast"].map(|command| format!("dataset {command} {folder}")),
            );
            readers
        }
        "verdict.json" => {
            let mut readers = of(&[
                run[0],
                run[1],
                models[0],
                "model show v0002 --models models/run",
            ]);
            readers.push(format!("dataset verify --fast {folder}"));
            readers
        }
        "model.json" => {
            let mut readers = of(&[run[0], run[1], models[0], models[1], gc]);
            readers.push(format!("model show {folder}"));
            readers
        }
        name if folder.is_empty() => vec![
            format!("shard status {name}"),
            format!("shard run {name} 0"),
        ],
        _ => of(&[run[0], run[1], models[0], models[1], gc]),
    }
}

/// The places of all numbers and texts in a value; of an array its first and its last element.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, field)| {
            places(
                field,
                &format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")),
                found,
            );
        }),
        Value::Array(elements) => {
            let ends = [0, elements.len().saturating_sub(1)];
            let ends = if ends[0] == ends[1] {
                &ends[..1]
            } else {
                &ends
            };
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
        Value::Number(_) => vec![
            json!(0),
            json!(-1),
            json!(1_000_000_000),
            json!(1_u64 << 63),
            json!(1e308),
        ],
        _ => vec![json!("x".repeat(70_000)), json!("\n"), json!("..")],
    }
}

/// Runs a reader with 1 GiB of address space and two seconds of processor time.
fn read_bounded(workspace: &Workspace, arguments: &str) -> Outcome {
    workspace.run_bounded("ulimit -v 1048576; ulimit -t 2", arguments)
}

fn sealed_files(workspace: &Workspace) -> Vec<PathBuf> {
    let relative = |path: PathBuf| path.strip_prefix(workspace.root()).unwrap().to_owned();
    let is_sealed = |path: &PathBuf| {
        path.extension()
            .is_some_and(|extension| extension == "json")
            && read_sealed::<Value>(path).is_ok()
    };
    all_paths(workspace.root())
        .into_iter()
        .filter(is_sealed)
        .map(relative)
        .collect()
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
                    let first: String = outcome
                        .stderr
                        .lines()
                        .next()
                        .unwrap_or("")
                        .chars()
                        .take(160)
                        .collect();
                    if !matches!(outcome.code, Some(0 | 2 | 65))
                        || outcome.stderr.contains("panicked")
                    {
                        wrong.push(format!("{call}\n    {:?} {first}", outcome.code));
                    }
                    if 10_000 < outcome.stderr.len() {
                        wrong.push(format!(
                            "{call}\n    an error of {} bytes",
                            outcome.stderr.len()
                        ));
                    }
                }
                std::fs::write(&path, &sound).unwrap();
            }
        }
    }
    println!("{} changes", number / step);
    // What shards make is theirs.
    let made = |name: &str| {
        ["out/", "samples/", "match/", "models/run/.train"]
            .iter()
            .any(|folder| name.starts_with(folder))
    };
    let after = files(workspace.root());
    let names = kept
        .keys()
        .chain(after.keys())
        .filter(|name| !made(name) && kept.get(*name) != after.get(*name));
    wrong.extend(names.map(|name| format!("a reader changed {name:?}")));
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
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

/// What a hostile file says in place of a text: a terminal would turn red, and a CI service would
/// show an error.
const PLANTED: &str = "\u{1b}[31m\u{9b}31m\r\n::error file=x::planted\n ::stop-commands::x";

/// A reader's words without anything that a terminal or a CI service obeys.
fn check_harmless(outcome: &Outcome, what: &str, wrong: &mut Vec<String>) {
    for text in [&outcome.stdout, &outcome.stderr] {
        // The second is a text that has left its line, and was caught where it is printed.
        let has_command = text.lines().any(|line| {
            ["::", "\\u003a:"]
                .iter()
                .any(|word| line.trim_start().starts_with(word))
        });
        if has_command
            || text
                .contains(|character: char| character.is_control() && !"\n\t".contains(character))
        {
            wrong.push(format!("{what}\n    {text:?}"));
        }
    }
}

/// Runs readers after a change, of one or more files, and puts the files back.
fn try_readers(
    workspace: &Workspace,
    changed: &[&Path],
    sound: &[Vec<u8>],
    what: &str,
    readers: Vec<String>,
) -> Vec<String> {
    let read = |reader: String| (read_bounded(workspace, &reader), reader);
    let outcomes: Vec<_> = readers.into_par_iter().map(read).collect();
    changed
        .iter()
        .zip(sound)
        .for_each(|(path, bytes)| publish_bytes(path, bytes).unwrap());
    let mut wrong = Vec::new();
    for (outcome, reader) in outcomes {
        check_harmless(&outcome, &format!("{what}: renma {reader}"), &mut wrong);
    }
    wrong
}

/// The places of all objects in a value; of an array its first element.
fn objects(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            found.push(at.to_owned());
            fields
                .iter()
                .for_each(|(name, field)| objects(field, &format!("{at}/{name}"), found));
        }
        Value::Array(elements) => elements
            .iter()
            .take(1)
            .for_each(|first| objects(first, &format!("{at}/0"), found)),
        _ => (),
    }
}

#[test]
fn no_text_of_a_sealed_file_is_a_command_to_a_terminal() {
    let workspace = tree();
    let (mut wrong, mut kinds) = (Vec::new(), BTreeSet::new());
    for file in sealed_files(&workspace) {
        let name = file.file_name().unwrap().to_owned();
        // One file of each kind: selfplay has the names of a gate's manifest.
        if !kinds.insert(name) {
            continue;
        }
        let path = workspace.path(file.to_str().unwrap());
        let sound = std::fs::read(&path).unwrap();
        let value: Value = read_sealed(&path).unwrap();
        let (mut texts, mut tables) = (Vec::new(), Vec::new());
        places(&value, "", &mut texts);
        objects(&value, "", &mut tables);
        texts.retain(|place| place != "/hash" && value.pointer(place).unwrap().is_string());
        let mut changes: Vec<(String, Value)> = Vec::new();
        for place in texts {
            let mut changed = value.clone();
            *changed.pointer_mut(&place).unwrap() = PLANTED.into();
            changes.push((place, changed));
        }
        for place in tables {
            let mut changed = value.clone();
            let fields = changed
                .pointer_mut(&place)
                .unwrap()
                .as_object_mut()
                .unwrap();
            // One that is a field of others of its kind, where they may have any name.
            let like = fields.values().next().cloned().unwrap_or(Value::Null);
            fields.insert(PLANTED.to_owned(), like);
            changes.push((format!("{place}/?"), changed));
        }
        for (place, mut changed) in changes {
            if let Ok(mut manifest) = serde_json::from_value::<Manifest>(changed.clone()) {
                manifest.content = content_of(&manifest.parts);
                changed = serde_json::to_value(manifest).unwrap();
            }
            write_sealed(&path, &changed).unwrap();
            let what = format!("{}{place}", file.display());
            // The report and gc read what status reads.
            let is_tried =
                |reader: &String| !reader.starts_with("report ") && !reader.starts_with("gc ");
            let readers = readers(&file).into_iter().filter(is_tried).collect();
            wrong.extend(try_readers(
                &workspace,
                &[&path],
                std::slice::from_ref(&sound),
                &what,
                readers,
            ));
        }
    }
    assert!(5 < kinds.len(), "{kinds:?}");
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// A batch with another text in its first row, if it has a column of texts.
fn with_text(batch: &RecordBatch) -> Option<RecordBatch> {
    let index = batch
        .columns()
        .iter()
        .position(|column| column.as_string_opt::<i32>().is_some())?;
    let texts = batch
        .column(index)
        .as_string::<i32>()
        .iter()
        .map(Option::unwrap);
    let planted = StringArray::from_iter_values(std::iter::once(PLANTED).chain(texts.skip(1)));
    let mut columns: Vec<ArrayRef> = batch.columns().to_vec();
    columns[index] = Arc::new(planted);
    Some(RecordBatch::try_new(batch.schema(), columns).unwrap())
}

/// Lists a changed file in the document beside its folder or its table.
fn list(document: &Path, table: &str, file: &str, entry: &FileEntry) {
    let mut value: Value = read_sealed(document).unwrap();
    if document.ends_with("model.json") {
        value["files"][file] = json!({"bytes": entry.bytes, "hash": entry.hash});
    } else {
        let mut manifest: Manifest = serde_json::from_value(value).unwrap();
        manifest.parts[0]
            .files
            .insert(table.to_owned(), entry.clone());
        manifest.content = content_of(&manifest.parts);
        value = serde_json::to_value(manifest).unwrap();
    }
    write_sealed(document, &value).unwrap();
}

#[test]
fn no_text_of_a_parquet_file_is_a_command_to_a_terminal() {
    let workspace = tree();
    let games = "datasets/run/selfplay/generation=0001";
    let train = format!("train --config configs/run.toml --dataset {games} --models learned");
    let resume =
        format!("generate --config configs/run.toml --model builtin:disc-count --output {games}");
    let of_games = |data: &str| {
        let commands = [
            "verify",
            "verify --fast",
            "inspect",
            "export --format obf --output -",
        ];
        let mut readers = commands
            .map(|command| format!("dataset {command} {data}"))
            .to_vec();
        readers.extend([train.clone(), resume.clone()]);
        readers
    };
    let vectors = vectors_table(8);
    let gate = "datasets/run/gate/generation=0001";
    let files: [(&str, &str, &Table, Vec<String>); 5] = [
        (games, "games/part-00000.parquet", &GAMES, of_games(games)),
        (
            games,
            "positions/part-00000.parquet",
            &POSITIONS,
            of_games(games),
        ),
        (
            gate,
            "games/part-00000.parquet",
            &GATE_GAMES,
            ["verify", "inspect"]
                .map(|word| format!("dataset {word} {gate}"))
                .to_vec(),
        ),
        (
            "models/run/v0001",
            "weights.parquet",
            &WEIGHTS,
            vec!["model show models/run/v0001".to_owned()],
        ),
        (
            "models/run/v0001",
            "vectors.parquet",
            &vectors,
            vec!["model show models/run/v0001".to_owned()],
        ),
    ];
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (folder, file, table, readers) in files {
        let path = workspace.path(folder).join(file);
        let (_, footer, batch) = table
            .read_unlisted(&path, |_| Ok(u64::MAX), &NEVER)
            .unwrap();
        let document = if folder.starts_with("models") {
            "model.json"
        } else {
            "manifest.json"
        };
        let document = workspace.path(folder).join(document);
        let changed = [document.as_path(), path.as_path()];
        let sound = changed.map(|path| std::fs::read(path).unwrap());
        let is_ours = |key: &String| key.starts_with("renma.") && key != "renma.content";
        let ours: Footer = footer.into_iter().filter(|(key, _)| is_ours(key)).collect();
        let keys = ours.keys().cloned().chain([format!("renma.{PLANTED}")]);
        let with_key = |key: String| {
            let mut changed = ours.clone();
            changed.insert(key.clone(), PLANTED.to_owned());
            (key, batch.clone(), changed)
        };
        let mut changes: Vec<(String, RecordBatch, Footer)> = keys.map(with_key).collect();
        changes.extend(with_text(&batch).map(|batch| ("a text".to_owned(), batch, ours.clone())));
        for (what, batch, footer) in changes {
            count += 1;
            let entry = table.write(&path, &batch, &footer).unwrap();
            list(&document, table.name, file, &entry);
            let what = format!("{folder}/{file}: {what}");
            wrong.extend(try_readers(
                &workspace,
                &changed,
                &sound,
                &what,
                readers.clone(),
            ));
        }
    }
    assert!(50 < count, "{count} changes");
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn no_text_of_any_other_file_is_a_command_to_a_terminal() {
    let workspace = tree();
    let text = serde_json::to_string(PLANTED).unwrap();
    let toml = text.replace('\u{9b}', "\\u009b");
    let board = "-".repeat(64);
    let mut wrong = Vec::new();
    let mut check = |name: &str, content: &[u8], readers: &[&str]| {
        let path = workspace.path(name);
        let before = std::fs::read(&path).ok();
        workspace.write(name, content);
        for reader in readers {
            let outcome = read_bounded(&workspace, reader);
            check_harmless(&outcome, &format!("{name}: renma {reader}"), &mut wrong);
        }
        match before {
            Some(bytes) => workspace.write(name, bytes),
            None => std::fs::remove_file(path).unwrap(),
        }
    };
    for line in [
        format!("{board}{PLANTED}"),
        format!("{board} X {PLANTED}"),
        format!("{board} X; {PLANTED}"),
        format!("{board} X; d3:{PLANTED}"),
        PLANTED.to_owned(),
        format!("f5{PLANTED}"),
    ] {
        check(
            "lines.txt",
            line.as_bytes(),
            &[
                "eval lines.txt",
                "solve lines.txt",
                "eval lines.txt --review",
            ],
        );
        check(
            "lines.txt",
            line.as_bytes(),
            &["dataset import lines.txt --format text --output lines"],
        );
        check(
            "lines.txt",
            line.as_bytes(),
            &["dataset import lines.txt --format transcripts --output lines"],
        );
    }
    for key in [
        format!("{toml} = 1\n"),
        format!("[{toml}]\n"),
        format!("[train]\n{toml} = 1\n"),
        format!("[train]\ntarget = {toml}\n"),
    ] {
        check(
            "configs/other.toml",
            key.as_bytes(),
            &["config show --config configs/other.toml"],
        );
    }
    check(
        "configs/other.toml",
        format!("[train]\n{PLANTED} = 1\n").as_bytes(),
        &["config show --config configs/other.toml"],
    );
    let features = shipped("features/es-cube.toml");
    for (from, to) in [
        ("\"es-cube\"", toml.clone()),
        ("\"LINE4\"", toml.clone()),
        (
            "phase_empties_max",
            format!("{toml} = 1\nphase_empties_max"),
        ),
        ("\"a4 b4 c4 d4 e4 f4 g4 h4\"", toml.clone()),
        ("\"parity\"", toml.clone()),
    ] {
        let changed = features.replacen(from, &to, 1);
        assert_ne!(changed, features, "{from}");
        let config = "[run]\nfeatures = \"features/planted.toml\"\n";
        workspace.write("configs/planted.toml", config);
        let train = "train --config configs/planted.toml --dataset datasets/run/selfplay/generation=0001 --models learned";
        check(
            "configs/features/planted.toml",
            changed.as_bytes(),
            &[train],
        );
    }
    // What a run keeps beside its sealed files.
    for name in ["run.json", "run.log"] {
        let path = workspace.path("models/run").join(name);
        let text = std::fs::read_to_string(&path).unwrap();
        let record: Vec<Value> = serde_json::Deserializer::from_str(&text)
            .into_iter()
            .map(Result::unwrap)
            .collect();
        let mut found = Vec::new();
        places(&record[0], "", &mut found);
        found.retain(|place| record[0].pointer(place).unwrap().is_string());
        for place in found {
            let mut changed = record.clone();
            *changed[0].pointer_mut(&place).unwrap() = PLANTED.into();
            let lines: String = changed.iter().map(|line| format!("{line}\n")).collect();
            let readers = [
                "status --config configs/run.toml",
                "model list --models models/run",
            ];
            check(&format!("models/run/{name}"), lines.as_bytes(), &readers);
        }
    }
    // The owner of a lock, and a file with a name that is a command.
    let lock = FolderLock::take(&workspace.path("busy")).unwrap();
    std::fs::write(workspace.path("busy/.lock"), PLANTED).unwrap();
    let outcome = read_bounded(
        &workspace,
        "generate --config configs/run.toml --model builtin:disc-count --output busy",
    );
    assert_eq!(outcome.code, Some(75), "{}", outcome.stderr);
    check_harmless(&outcome, "the owner of a lock", &mut wrong);
    drop(lock);
    let stranger = format!(
        "datasets/run/selfplay/generation=0001/games/{}",
        PLANTED.replace('/', "")
    );
    workspace.write(&stranger, "");
    for reader in [
        "dataset verify datasets/run/selfplay/generation=0001",
        "gc --dry-run --config configs/run.toml",
    ] {
        check_harmless(
            &read_bounded(&workspace, reader),
            "the name of a file",
            &mut wrong,
        );
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
