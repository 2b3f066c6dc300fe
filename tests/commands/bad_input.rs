//! Bad input: one clear error with the right exit code, no panic, and nothing half-written.
#![allow(clippy::print_stdout, reason = "a long test says what it tries")]

use crate::support::workspace::{ONE_PLY, Outcome, Workspace, all_paths, copy_folder, files};
use arrow::array::{ArrayRef, Int32Array, RecordBatch, UInt64Array};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::{ParquetMetaDataReader, ParquetMetaDataWriter};
use renma::artifact::dataset::manifest::content_of;
use renma::artifact::{
    ContentHash, Dataset, DatasetKind, LoadedModel, Manifest, NEVER, POSITIONS, PositionRow, Registry, Table, TableRow,
};
use renma::config::load_config;
use renma::engine::Score;
use renma::pipeline::train::run::train;
use renma::pipeline::train::task::TrainTask;
use renma::pipeline::{Context, StageError};
use renma::random::{Stream, stream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, LazyLock};

/// A tiny run: a dataset in three parts, a draft v0001 and a model v0002, the champion.
static RUN: LazyLock<Workspace> = LazyLock::new(|| {
    let run = Workspace::new();
    let config = tiny(&run, "tiny", &[]);
    run.done(&format!("generate --config {config} --output data"));
    run.done(&format!("train --config {config} --dataset data --models registry"));
    run.done(&format!("fit-mpc --config {config} --model v0001 --models registry"));
    run.done("promote v0002 --models registry");
    run
});

fn tiny(workspace: &Workspace, name: &str, changes: &[(&str, &str)]) -> String {
    workspace.config(name, "smoke", &[&ONE_PLY, [("train.validation", "0.0")].as_slice(), changes].concat())
}

/// A workspace with a copy of the tiny run.
fn copy_of_run() -> Workspace {
    let workspace = Workspace::new();
    copy_folder(RUN.root(), workspace.root());
    workspace
}

/// The exit code, the words of the message, and that nothing was begun: no file is new or changed.
fn check(workspace: &Workspace, arguments: &str, code: i32, words: &[&str]) {
    let before = files(workspace.root());
    let outcome = workspace.run(arguments);
    check_message(&outcome, arguments, code, words);
    assert!(files(workspace.root()) == before, "renma {arguments}: it changed {:?}", all_paths(workspace.root()));
    check_no_leftovers(workspace.root(), arguments);
}

fn check_message(outcome: &Outcome, arguments: &str, code: i32, words: &[&str]) {
    let stderr = &outcome.stderr;
    assert_eq!(outcome.code, Some(code), "renma {arguments}\n{stderr}");
    assert!(stderr.starts_with("error: "), "renma {arguments}\n{stderr}");
    assert_eq!(stderr.lines().filter(|line| line.starts_with("error:")).count(), 1, "renma {arguments}\n{stderr}");
    assert!(!stderr.contains("panicked"), "renma {arguments}\n{stderr}");
    assert!(outcome.stdout.is_empty(), "renma {arguments}\n{}", outcome.stdout);
    for word in words {
        assert!(stderr.contains(word), "renma {arguments}: `{word}` is not in\n{stderr}");
    }
}

fn check_no_leftovers(folder: &Path, arguments: &str) {
    let unfinished: Vec<PathBuf> =
        all_paths(folder).into_iter().filter(|path| path.to_str().unwrap().contains("/.tmp-")).collect();
    assert!(unfinished.is_empty(), "renma {arguments}: {unfinished:?}");
}

#[test]
fn a_bad_config_is_a_usage_error_that_names_the_key() {
    let workspace = Workspace::new();
    let good = tiny(&workspace, "good", &[]);
    let text = std::fs::read_to_string(workspace.path(&good)).unwrap();
    for (from, to, words) in [
        ("play_depth =", "play_dept =", ["generate.play_dept: unknown key", "did you mean play_depth?"]),
        ("[generate]", "[generation]", ["[generation]: unknown table", "did you mean [generate]?"]),
        ("t = 1.4", "# t = 1.4", ["fit_mpc.t is missing", "method = \"source\" needs it"]),
        ("epochs = 4", "clip = \"much\"", ["train.clip = \"much\"", "expected a whole number from 1 to 32767"]),
        ("window = 2", "window = 2\nwindow = 2", ["run.window is set twice", "expected once"]),
        ("epochs = 4", "ratio = nan", ["train.ratio", "expected"]),
        ("epochs = 4", "table_bits = 12", ["train.table_bits: unknown key", ""]),
        ("mode = \"games\"", "mode = \"games\"\nnelo1 = 9.0", ["only gate.mode = \"sprt\" has this key", "remove it"]),
        ("games = 9", "games = 0", ["generate.games = 0", "expected a whole number from 1"]),
        ("games = 6", "games = 0", ["gate.games = 0", "expected a whole number from 2"]),
        ("games = 6", "games = 3", ["gate.games = 3", "pairs"]),
        ("games = 9", "games = -9", ["generate.games = -9", "expected a whole number from 1"]),
        ("games = 4", "games = 0", ["fit_mpc.games = 0", "expected a whole number from 1"]),
        ("es-cube.toml", "no-such.toml", ["no-such.toml", "does not exist"]),
    ] {
        assert!(text.contains(from), "{from}");
        workspace.write("configs/bad.toml", text.replacen(from, to, 1));
        let line = 1 + text[..text.find(from).unwrap()].matches('\n').count();
        // A second line is blamed where it stands, a missing key at the one that needs it.
        let elsewhere = to.contains('\n') || to.starts_with('#');
        let place = if elsewhere { "configs/bad.toml:".to_owned() } else { format!("configs/bad.toml:{line}: ") };
        let words = [&[place.as_str()][..], &words].concat();
        let outcome = workspace.run("generate --output out --config configs/bad.toml");
        for raw in ["TOML parse error", "missing field", "invalid type", "unknown field", "duplicate key"] {
            assert!(!outcome.stderr.contains(raw), "{}", outcome.stderr);
        }
        for stage in ["generate --output out", "train --dataset out --models out", "fit-mpc --model champion"] {
            check(&workspace, &format!("{stage} --config configs/bad.toml"), 2, &words);
        }
        check(&workspace, "gate --config configs/bad.toml --candidate a --baseline b --output out", 2, &words);
    }
    workspace.write("configs/features/es-cube.toml", "name = \"x\"\nphase_empties_max = [60]\npattern = []\n");
    check(&workspace, &format!("generate --config {good} --output out"), 2, &["run.features", "es-cube.toml"]);
}

#[test]
fn only_what_does_not_exist_is_a_usage_error_and_only_what_was_read_is_bad_input() {
    let workspace = copy_of_run();
    workspace.write("file", "in the way");
    workspace.write("folder/file", "");
    // A link to itself is refused by the system for root, too.
    for link in ["loop", "configs/features/loop.toml"] {
        let name = Path::new(link).file_name().unwrap();
        std::os::unix::fs::symlink(name, workspace.path(link)).unwrap();
    }
    tiny(&workspace, "looped", &[("run.features", "\"features/loop.toml\"")]);
    copy_folder(&workspace.path("data"), &workspace.path("torn"));
    std::fs::remove_file(workspace.path("torn/manifest.json")).unwrap();
    std::os::unix::fs::symlink("manifest.json", workspace.path("torn/manifest.json")).unwrap();
    copy_folder(&workspace.path("data"), &workspace.path("stuck"));
    std::fs::remove_file(workspace.path("stuck/manifest.json")).unwrap();
    std::fs::remove_file(workspace.path("stuck/positions/part-00000.parquet")).unwrap();
    std::os::unix::fs::symlink("part-00000.parquet", workspace.path("stuck/positions/part-00000.parquet")).unwrap();
    workspace.write("games.txt", "f5d6c3\n");
    let config = "--config configs/tiny.toml";
    let (links, folder, no_folder) = ("symbolic links", "directory", "directory");
    for (arguments, path, cause) in [
        ("generate --output out --config loop".to_owned(), "loop", links),
        ("generate --output out --config folder".to_owned(), "folder", folder),
        ("generate --output out --config file/x".to_owned(), "file/x", no_folder),
        ("generate --output out --config configs/looped.toml".to_owned(), "loop.toml", links),
        (format!("generate {config} --output out --model loop"), "loop", links),
        (format!("generate {config} --output stuck --replace"), "stuck/positions", links),
        (format!("train {config} --dataset file --models registry"), "file", no_folder),
        (format!("train {config} --dataset data file/x --models registry"), "file/x", no_folder),
        (
            format!("gate {config} --candidate v0002 --baseline v0001 --models registry --output out --avoid loop"),
            "loop",
            links,
        ),
        ("dataset inspect loop".to_owned(), "loop", links),
        ("dataset inspect file".to_owned(), "file", no_folder),
        ("dataset import games.txt --format transcripts --output torn".to_owned(), "torn/manifest.json", links),
        ("dataset import folder --format transcripts --output out".to_owned(), "folder", folder),
        (
            "model import folder --format mpc-dat --model builtin:disc-count --models registry".to_owned(),
            "folder",
            folder,
        ),
        ("promote v0001 --models loop".to_owned(), "loop/v0001", links),
        ("shard run folder 0".to_owned(), "folder", folder),
        ("eval folder".to_owned(), "folder", folder),
    ] {
        let before = all_paths(workspace.root());
        check_message(&workspace.run(&arguments), &arguments, 1, &[path, cause]);
        assert_eq!(all_paths(workspace.root()), before, "renma {arguments}");
    }
    for (arguments, code, words) in [
        (format!("generate {config} --output file"), 2, ["file", "not a folder"]),
        ("dataset import games.txt --format transcripts --output file".to_owned(), 2, ["file", "not a folder"]),
        // A file may be a model, so it is read.
        (format!("generate {config} --output out --model file"), 65, ["file", "does not begin as a model archive"]),
        ("model show file".to_owned(), 65, ["file", "does not begin as a model archive"]),
    ] {
        check_message(&workspace.run(&arguments), &arguments, code, &words);
    }
}

#[test]
fn what_does_not_exist_is_a_usage_error_that_names_the_path() {
    let workspace = copy_of_run();
    let config = "configs/tiny.toml";
    for (arguments, path) in [
        ("generate --config nowhere.toml --output out", "nowhere.toml"),
        (&format!("generate --config {config} --model v0009 --models registry --output out"), "registry/v0009"),
        (&format!("generate --config {config} --model some/folder --output out"), "some/folder"),
        (&format!("generate --config {config} --model builtin:genius --output out"), "cannot use builtin:genius"),
        (&format!("train --config {config} --dataset nowhere --models registry"), "nowhere"),
        (&format!("train --config {config} --dataset data nowhere --models registry"), "nowhere"),
        (&format!("train --config {config} --dataset data --parent v0009 --models registry"), "registry/v0009"),
        (&format!("fit-mpc --config {config} --model v0009 --models registry"), "registry/v0009"),
        (&format!("gate --config {config} --candidate v0009 --baseline v0002 --models registry --output out"), "v0009"),
        (&format!("gate --config {config} --candidate v0002 --baseline v0009 --models registry --output out"), "v0009"),
        ("promote v0009 --models registry", "registry/v0009"),
        ("promote v0002 --models registry --verdict nowhere", "nowhere"),
        ("promote --rollback --models nowhere", "nowhere"),
        ("model show v0009 --models registry", "registry/v0009"),
        ("model show champion --models nowhere", "nowhere"),
        ("model export --model v0009 --models registry --format es-cube-eval --output eval.dat", "registry/v0009"),
        ("model import nowhere.dat --format es-cube-eval --models registry", "nowhere.dat"),
        ("eval nowhere.obf", "nowhere.obf"),
        ("solve nowhere.obf", "nowhere.obf"),
        ("eval nowhere.obf --model v0009", "v0009"),
        ("status --config nowhere.toml", "nowhere.toml"),
        (&format!("status --config {config} --models nowhere"), "nowhere"),
        (&format!("gc --config {config} --models nowhere --dry-run"), "nowhere"),
        ("model list --models nowhere", "nowhere"),
        ("model verify --models nowhere", "nowhere"),
        (&format!("eval {}", "x".repeat(300)), "xxx: it does not exist"),
    ] {
        check(&workspace, arguments, 2, &[path]);
    }
    let long = format!("generate --config {config} --output {}", "x".repeat(300));
    check(&workspace, &long, 1, &["xxx", "File name too long"]);
}

#[test]
fn a_config_may_be_a_pipe_with_a_writer_and_is_not_waited_for_without_one() {
    let workspace = Workspace::new();
    let shell = |script: &str| -> Outcome {
        let mut command = Command::new("timeout");
        command.args(["60", "bash", "-c", script]).current_dir(workspace.root());
        command.env("renma", env!("CARGO_BIN_EXE_renma")).output().unwrap().into()
    };
    let refused = shell("mkfifo fifo.toml; exec $renma config show --config fifo.toml");
    check_message(&refused, "config show", 2, &["cannot read fifo.toml: it is a pipe that nothing was written to"]);
    let read = shell("$renma config show --json --config <(sleep 0.1; echo '[run]'; echo 'seed = 77')");
    assert!(read.code == Some(0) && read.stdout.contains("\"seed\":77"), "{read:?}");
}

#[test]
fn nonsense_on_the_command_line_is_a_usage_error() {
    let workspace = copy_of_run();
    for (arguments, word) in [
        ("generate", "--config"),
        ("generate --config configs/tiny.toml --output out --threads 0", "--threads"),
        ("generate --config configs/tiny.toml --output out --generation 0", "--generation"),
        ("generate --config configs/tiny.toml --outputs out", "--outputs"),
        ("generat", "generat"),
        ("train --config configs/tiny.toml --dataset data --memory 4", "--memory 4GB"),
        ("train --plan p.json --config configs/tiny.toml --dataset data --memory 4000000000", "--memory 4GB"),
        ("train --config configs/tiny.toml --dataset data --shards 4", "--plan <FILE>"),
        ("gate --plan p.json --config configs/tiny.toml --candidate v0002 --output out", "--baseline <MODEL>"),
        ("generate --plan p.json --budget 1h --config configs/tiny.toml --output out", "--budget"),
        ("bench generate --config configs/tiny.toml --games 0", "games"),
        ("eval positions.obf --mpc-level 42", "--mpc-level"),
        ("model import registry/v0002/model.json --format mpc-dat --models registry", "--model"),
    ] {
        check(&workspace, arguments, 2, &[word]);
    }
}

/// Every way to spoil a file: one bit, a lost end, nothing left.
fn spoilt(bytes: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let mut flipped = bytes.to_vec();
    flipped[bytes.len() / 2] ^= 16;
    vec![
        ("a flipped bit", flipped),
        ("cut in half", bytes[..bytes.len() / 2].to_vec()),
        ("one byte short", bytes[..bytes.len() - 1].to_vec()),
        ("empty", Vec::new()),
    ]
}

fn check_spoilt(workspace: &Workspace, name: &str, arguments: &str) {
    let sound = std::fs::read(workspace.path(name)).unwrap();
    for (_, bytes) in spoilt(&sound) {
        workspace.write(name, bytes);
        check(workspace, arguments, 65, &[name]);
    }
    std::fs::remove_file(workspace.path(name)).unwrap();
    check(workspace, arguments, 65, &[name.rsplit_once('/').unwrap().0]);
    workspace.write(name, sound);
}

#[test]
fn a_damaged_dataset_is_refused_with_the_file() {
    let workspace = copy_of_run();
    let train = "train --config configs/tiny.toml --dataset data --parent builtin:disc-count --models registry";
    check_spoilt(&workspace, "data/manifest.json", train);
    check_spoilt(&workspace, "data/positions/part-00001.parquet", train);
    workspace.write("data/manifest.json", "{}");
    check(&workspace, train, 65, &["data/manifest.json"]);
    workspace.write("file", "text");
    check(
        &workspace,
        "train --config configs/tiny.toml --dataset file --models registry",
        1,
        &["cannot read file", "directory"],
    );
    check(&workspace, "train --config configs/tiny.toml --dataset configs --models registry", 65, &["configs"]);
}

#[test]
fn a_damaged_model_is_refused_with_the_file() {
    let workspace = copy_of_run();
    for name in ["model.json", "weights.parquet", "mpc.parquet", "features.toml"] {
        check_spoilt(&workspace, &format!("registry/v0002/{name}"), "model show v0002 --models registry");
    }
    let name = "registry/v0002/weights.parquet";
    for arguments in [
        "generate --config configs/tiny.toml --model champion --models registry --output out",
        "train --config configs/tiny.toml --dataset data --parent v0002 --models registry",
        "gate --config configs/tiny.toml --candidate v0002 --baseline v0001 --models registry --output out",
        "model verify --models registry",
        "model export --model v0002 --models registry --format es-cube-eval --output eval.dat",
    ] {
        let sound = std::fs::read(workspace.path(name)).unwrap();
        for (_, bytes) in spoilt(&sound) {
            workspace.write(name, bytes);
            check(&workspace, arguments, 65, &[name]);
        }
        workspace.write(name, sound);
    }
    let champion = std::fs::read(workspace.path("registry/champion.json")).unwrap();
    for (_, bytes) in spoilt(&champion) {
        workspace.write("registry/champion.json", bytes);
        check(&workspace, "promote v0001 --models registry", 65, &["registry/champion.json"]);
        check(&workspace, "promote --rollback --models registry", 65, &["registry/champion.json"]);
    }
}

#[test]
fn an_unfit_model_is_refused() {
    let workspace = copy_of_run();
    let gate = "gate --config configs/tiny.toml --candidate v0001 --baseline v0002 --models registry --output out";
    check(&workspace, gate, 65, &["registry/v0001", "fit-mpc"]);
    let export = "model export --model builtin:disc-count --format es-cube-eval --output eval.dat";
    check(&workspace, export, 65, &["cannot use builtin:disc-count", "eval.dat holds es-cube"]);
    let export = "model export --model registry/v0002 --format edax-eval --output eval.dat";
    check(
        &workspace,
        export,
        65,
        &["cannot use registry/v0002", "`es-cube`", "`CORNER9`", "configs/features/edax.toml"],
    );
    assert!(!workspace.path("eval.dat").exists());
    workspace.write("short.dat", [0; 100]);
    check(&workspace, "model import short.dat --format es-cube-eval --models registry", 65, &["short.dat", "100"]);
    let mut weights = vec![0; 42_608 * 4];
    weights[6] = 1;
    workspace.write("eval.dat", &weights);
    check(&workspace, "model import eval.dat --format es-cube-eval --models registry", 65, &["eval.dat", "byte 4"]);
    workspace.write("mpc.dat", [9; 40]);
    let import = "model import mpc.dat --format mpc-dat --model v0001 --models registry";
    check(&workspace, import, 65, &["mpc.dat"]);
}

#[test]
fn a_window_without_rows_is_no_training() {
    let workspace = copy_of_run();
    let late = tiny(&workspace, "late", &[("generate.label_from_ply", "20")]);
    workspace.done(&format!("generate --config {late} --output late"));
    let config = tiny(&workspace, "window", &[("train.empties_min", "58"), ("train.empties_max", "60")]);
    let train = format!("train --config {config} --dataset late --models registry");
    check(&workspace, &train, 65, &["late", "no rows", "58 to 60"]);
    let nothing = tiny(&workspace, "nothing", &[("generate.label_from_ply", "60"), ("generate.games", "1")]);
    workspace.done(&format!("generate --config {nothing} --output nothing"));
    let train = format!("train --config {config} --dataset nothing --models registry");
    check(&workspace, &train, 65, &["nothing", "no rows"]);
}

#[test]
fn an_output_that_cannot_be_written_is_one_error_that_names_it() {
    let workspace = copy_of_run();
    workspace.write("file", "in the way");
    let config = "--config configs/tiny.toml";
    for arguments in [
        format!("generate {config} --output file/out"),
        format!("train {config} --dataset data --models file/out"),
        format!("fit-mpc {config} --model registry/v0001 --models file/out"),
        format!("gate {config} --candidate registry/v0002 --baseline registry/v0001 --output file/out"),
        "model export --model registry/v0002 --format mpc-dat --output file/out".to_owned(),
    ] {
        check(&workspace, &arguments, 1, &["file/out"]);
    }
}

/// Runs the program where `small` is a file system of its own, and lists what it left there.
fn run_on_mount(workspace: &Workspace, options: &str, arguments: &str) -> Option<(Outcome, String)> {
    workspace.write("small/marker", "");
    let script = format!(
        "mount -t tmpfs -o {options} tmpfs small || exit 99; {} --progress none {arguments}; \
         code=$?; find small -type f >listing; exit $code",
        env!("CARGO_BIN_EXE_renma")
    );
    let output = Command::new("unshare").args(["-m", "sh", "-c", &script]).current_dir(workspace.root()).output();
    let Ok(output) = output else {
        println!("skipped: there is no unshare");
        return None;
    };
    let outcome = Outcome::from(output);
    if matches!(outcome.code, Some(99 | 126 | 127)) || outcome.stderr.starts_with("unshare") {
        println!("skipped: cannot mount a file system here: {}", outcome.stderr);
        return None;
    }
    let listing = std::fs::read_to_string(workspace.path("listing")).unwrap();
    Some((outcome, listing))
}

#[test]
fn a_full_disk_is_an_error_that_may_pass_and_leaves_nothing_half_written() {
    let workspace = copy_of_run();
    let big = tiny(&workspace, "big", &[("generate.games", "400"), ("generate.part_games", "40")]);
    for (size, arguments, path) in [
        ("96k", format!("generate --config {big} --output small/out"), "small/out"),
        ("12k", "train --config configs/tiny.toml --dataset data --models small/out".to_owned(), "small/out"),
        (
            "96k",
            "model export --model registry/v0001 --format es-cube-eval --output small/e.dat".to_owned(),
            "small/e.dat",
        ),
    ] {
        let Some((outcome, listing)) = run_on_mount(&workspace, &format!("size={size}"), &arguments) else { return };
        check_message(&outcome, &arguments, 75, &[path]);
        for unfinished in [".tmp-", "manifest.json", "model.json", "e.dat"] {
            assert!(!listing.contains(unfinished), "renma {arguments} left\n{listing}");
        }
    }
}

#[test]
fn a_read_only_disk_is_one_error_that_names_the_output() {
    let workspace = copy_of_run();
    for arguments in [
        "generate --config configs/tiny.toml --output small/out",
        "train --config configs/tiny.toml --dataset data --models small/out",
        "model export --model registry/v0001 --format es-cube-eval --output small/out",
    ] {
        let Some((outcome, listing)) = run_on_mount(&workspace, "ro", arguments) else { return };
        check_message(&outcome, arguments, 1, &["small/out"]);
        assert!(listing.is_empty(), "renma {arguments} left\n{listing}");
    }
}

#[test]
fn garbage_in_a_position_file_is_refused_with_line_and_byte() {
    let workspace = Workspace::new();
    let good = "---------------------------OX------XO--------------------------- X;\n";
    for (bad, byte) in [
        (good.replacen('O', "?", 1), "byte 27"),
        (good.replacen("X;", "Q;", 1), "byte 64"),
        (good[..40].to_owned(), "byte 40"),
        (good.replacen("X;", "X; z9:3;", 1), "byte 67"),
        (good.replacen("X;", "X; f5:much;", 1), "byte 67"),
        (good.replacen("X;", "X; d3:+2; f5:+65;", 1), "byte 74"),
        (good.replacen("X;", "X; d3:+2; --:-127; a1:+2;", 1), "byte 83"),
        ("-".repeat(10_000), "byte 64"),
    ] {
        workspace.write("bad.obf", format!("% a comment\n{good}\n{bad}\n{good}"));
        for command in ["eval", "solve"] {
            check(&workspace, &format!("{command} bad.obf"), 65, &["bad.obf", "line 4", byte]);
        }
    }
    workspace.write("bad.obf", [good.as_bytes(), b"---\xff---\n"].concat());
    check(&workspace, "eval bad.obf", 65, &["bad.obf", "line 2", "byte 3"]);
    workspace.write("bad.obf", "% nothing but this\n\n");
    check(&workspace, "eval bad.obf", 65, &["bad.obf", "no position"]);
    workspace.write("folder/file", "");
    check(&workspace, "eval folder", 1, &["cannot read folder", "is a directory"]);
}

/// Puts bytes in the place of a part, with a manifest that vouches for them.
fn plant(folder: &Path, bytes: &[u8]) {
    let mut manifest = Manifest::read(folder, DatasetKind::Selfplay).unwrap();
    let entry = manifest.parts[1].files.get_mut(POSITIONS.name).unwrap();
    entry.bytes = bytes.len() as u64;
    entry.hash = ContentHash::of(bytes);
    manifest.content = content_of(&manifest.parts);
    renma::artifact::publish::publish_bytes(&folder.join("positions/part-00001.parquet"), bytes).unwrap();
    manifest.write(folder).unwrap();
}

fn parquet_bytes(batch: &RecordBatch) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes
}

#[test]
fn a_hostile_part_that_its_manifest_vouches_for_is_an_error_and_no_panic() {
    let workspace = copy_of_run();
    let folder = workspace.path("data");
    let part = folder.join("positions/part-00001.parquet");
    let sound = std::fs::read(&part).unwrap();
    let footer_size = u32::from_le_bytes(sound[sound.len() - 8..][..4].try_into().unwrap()) as usize;
    let with_tail = |tail: [u8; 8]| [&sound[..sound.len() - 8], &tail].concat();
    let column = |name: &str, values: ArrayRef| RecordBatch::try_from_iter([(name, values)]).unwrap();
    let mut emptied = sound.clone();
    emptied[4..sound.len() - 8 - footer_size].fill(0);
    let hostile = [
        ("nothing", Vec::new()),
        ("text", b"not a Parquet file at all".to_vec()),
        ("its magic alone", b"PAR1PAR1".to_vec()),
        ("a footer longer than the file", with_tail(*b"\xff\xff\xff\x7fPAR1")),
        ("a footer of no bytes", with_tail(*b"\0\0\0\0PAR1")),
        ("an encrypted footer", with_tail(*b"\x10\0\0\0PARE")),
        ("pages of zeros", emptied),
        ("one foreign column", parquet_bytes(&column("x", Arc::new(Int32Array::from(vec![1, 2]))))),
        ("one column of ours", parquet_bytes(&column("game_id", Arc::new(UInt64Array::from(vec![1, 2]))))),
        ("missing values", parquet_bytes(&column("game_id", Arc::new(UInt64Array::from(vec![Some(1), None]))))),
    ];
    let train = "train --config configs/tiny.toml --dataset data --models other";
    for (what, bytes) in hostile {
        plant(&folder, &bytes);
        println!("{what}");
        check(&workspace, train, 65, &["data/positions/part-00001.parquet"]);
    }
}

#[test]
fn a_part_that_the_parser_gives_up_on_is_one_error_like_any_other() {
    let workspace = copy_of_run();
    let folder = workspace.path("data");
    let sound = std::fs::read(folder.join("positions/part-00001.parquet")).unwrap();
    let footer_size = u32::from_le_bytes(sound[sound.len() - 8..][..4].try_into().unwrap()) as usize;
    let panics = (8 * (sound.len() - 8 - footer_size)..8 * sound.len()).find_map(|bit| {
        let mut bytes = sound.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let error = POSITIONS.decode(Path::new("part"), bytes.clone().into(), 1_000).err()?;
        error.to_string().contains("gave up").then_some(bytes)
    });
    let Some(bytes) = panics else {
        println!("skipped: no flipped bit of the footer makes the parser panic");
        return;
    };
    plant(&folder, &bytes);
    let train = "train --config configs/tiny.toml --dataset data --models other";
    check(&workspace, train, 65, &["data/positions/part-00001.parquet", "gave up"]);
}

/// A Parquet file of one row group with a footer that gives it another number of rows.
fn with_row_count(bytes: &[u8], rows: i64) -> Vec<u8> {
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&Bytes::copy_from_slice(bytes)).unwrap();
    let group = metadata.row_group(0).clone().into_builder().set_num_rows(rows).build().unwrap();
    let metadata = metadata.into_builder().set_row_groups(vec![group]).build();
    let footer_size = u32::from_le_bytes(bytes[bytes.len() - 8..][..4].try_into().unwrap()) as usize;
    let mut bytes = bytes[..bytes.len() - 8 - footer_size].to_vec();
    ParquetMetaDataWriter::new(&mut bytes, &metadata).finish().unwrap();
    bytes
}

#[test]
fn a_footer_that_counts_other_rows_than_there_are_is_an_error() {
    let workspace = Workspace::new();
    let rows = &Dataset::open(&RUN.path("data")).unwrap().rows(1, &NEVER).unwrap()[..3];
    let bytes = parquet_bytes(&POSITIONS.batch(PositionRow::to_columns(rows)));
    for (count, words) in [(2, "more rows than its footer says"), (4, "fewer rows than its footer says")] {
        let error = POSITIONS.decode(Path::new("part"), with_row_count(&bytes, count).into(), 4).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
    assert_eq!(POSITIONS.decode(Path::new("part"), with_row_count(&bytes, 3).into(), 4).unwrap().num_rows(), 3);
    workspace.write("more.parquet", with_row_count(&bytes, 2));
    workspace.write("fewer.parquet", with_row_count(&bytes, 4));
    for (name, words) in
        [("more", "record 3: there are more rows than the 2 "), ("fewer", "record 4: there are fewer rows than the 4 ")]
    {
        let import = format!("dataset import {name}.parquet --format parquet --output out");
        check(&workspace, &import, 65, &[&format!("{name}.parquet"), words]);
    }
}

/// An unknown field of a footer may be a list of 2^31 - 1 booleans, which the parser skips one by one, reading no bytes.
#[test]
fn a_footer_that_keeps_the_parser_busy_for_minutes_is_one_error() {
    let workspace = Workspace::new();
    let list = |id: u8| [id << 4 | 9, 0xf1, 0xff, 0xff, 0xff, 0xff, 0x07];
    let footer = [list(14).to_vec(), list(1).repeat(99), vec![0]].concat();
    let size = (footer.len() as u32).to_le_bytes();
    workspace.write("endless.parquet", [b"PAR1".as_slice(), &footer, &size, b"PAR1"].concat());
    let words = ["endless.parquet", "its footer is not sound"];
    check(&workspace, "dataset import endless.parquet --format parquet --output out", 65, &words);
}

/// The rows of the second part, written anew with a manifest that vouches for them.
fn rewrite_rows(folder: &Path, change: impl Fn(&mut PositionRow)) {
    let mut rows = Dataset::open(folder).unwrap().rows(1, &NEVER).unwrap();
    change(&mut rows[7]);
    let mut manifest = Manifest::read(folder, DatasetKind::Selfplay).unwrap();
    let path = folder.join("positions/part-00001.parquet");
    let mut footer = Table::read_footer(&path).unwrap();
    footer.retain(|key, _| key.starts_with("renma."));
    let entry = POSITIONS.write_rows(&path, &rows, &footer).unwrap();
    manifest.parts[1].files.insert(POSITIONS.name.to_owned(), entry);
    manifest.content = content_of(&manifest.parts);
    manifest.write(folder).unwrap();
}

/// A change of a row.
type Change = fn(&mut PositionRow);

#[test]
fn rows_that_cannot_be_are_refused_even_if_their_hashes_fit() {
    let lies: [(&str, Change); 5] = [
        ("two discs on a square", |row| row.white |= row.black),
        ("a wrong count of empty squares", |row| row.empties = 61),
        ("a score beyond 64 discs", |row| row.score = Some(Score(i32::MAX))),
        ("a score below -64 discs", |row| row.score = Some(Score(i32::MIN))),
        ("a result beyond 64 discs", |row| row.result = Some(127)),
    ];
    for (what, change) in lies {
        let workspace = copy_of_run();
        rewrite_rows(&workspace.path("data"), change);
        println!("{what}");
        let train = "train --config configs/tiny.toml --dataset data --models other";
        check(&workspace, train, 65, &["data/positions", "row"]);
        // The dataset is to blame, and not the file that was to be written.
        let export = "dataset export data --format obf --output positions.obf";
        check(&workspace, export, 65, &["cannot trust data/positions/part-0000", "row"]);
    }
}

#[test]
fn what_a_file_says_does_not_reach_the_terminal_as_it_is() {
    let workspace = Workspace::new();
    let board = format!("{}XO{}OX{}", "-".repeat(27), "-".repeat(6), "-".repeat(27));
    for line in [format!("{board} X; d3:\x1b[2J;"), "f5\x1bc".to_owned(), format!("{board} X; \x1b[2J:+2;")] {
        workspace.write("positions.obf", &line);
        for command in ["eval positions.obf", "solve positions.obf"] {
            let outcome = workspace.run(command);
            assert_eq!(outcome.code, Some(65), "{line:?}\n{}", outcome.stderr);
            assert!(!outcome.stderr.contains('\x1b'), "{:?}", outcome.stderr);
        }
    }
    workspace.write("positions.txt", format!("{board} X \x1b[2J\n"));
    let outcome = workspace.run("dataset import positions.txt --format text --output out");
    assert_eq!(outcome.code, Some(65), "{}", outcome.stderr);
    assert!(!outcome.stderr.contains('\x1b'), "{:?}", outcome.stderr);
}

#[test]
fn three_hundred_flipped_bits_are_all_noticed() {
    let workspace = copy_of_run();
    let config = load_config(&workspace.path("configs/tiny.toml")).unwrap();
    let data = workspace.path("data");
    let registry = Registry::new(&workspace.path("other"));
    let context = Context { threads: 1, stop: &NEVER, budget_spent: &NEVER, progress: &(), host: &() };
    let use_dataset = || -> Result<(), StageError> {
        let task = TrainTask {
            config: config.config.train.clone(),
            seed: 1,
            generation: 1,
            features: Arc::clone(&config.features),
            datasets: vec![data.clone().into()],
            parent: None,
            registry: registry.clone(),
            memory: 0,
        };
        train(&task, context).map(|_| ())
    };
    let use_model = || LoadedModel::read(&workspace.path("registry/v0002")).map(|_| ()).map_err(StageError::from);
    let data_files: Vec<PathBuf> = files(&data).into_keys().map(|name| data.join(name)).collect();
    let model_files: Vec<PathBuf> = files(&workspace.path("registry/v0002"))
        .into_keys()
        .map(|name| workspace.path("registry/v0002").join(name))
        .collect();
    assert_eq!((data_files.len(), model_files.len()), (7, 4));
    let mut rng = stream(7, Stream::Game(1, 1));
    for flip in 0..300 {
        let of_model = flip % 3 == 0;
        let candidates = if of_model { &model_files } else { &data_files };
        let path = rng.pick(candidates.iter()).unwrap();
        let sound = std::fs::read(path).unwrap();
        let bit = rng.below(sound.len() as u32 * 8) as usize;
        let mut bytes = sound.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        renma::artifact::publish::publish_bytes(path, &bytes).unwrap();
        let result = if of_model { use_model() } else { use_dataset() };
        let error = result.expect_err(&format!("bit {bit} of {}", path.display())).to_string();
        assert!(error.contains(path.to_str().unwrap()), "bit {bit} of {}: {error}", path.display());
        renma::artifact::publish::publish_bytes(path, &sound).unwrap();
    }
    use_model().unwrap();
    use_dataset().unwrap();
}
