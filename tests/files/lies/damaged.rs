//! Damaged files, and files that are none of ours: each reader refuses them, and says which.
#![allow(clippy::print_stdout, reason = "a test says what it tries")]

use super::{RUN, copy_of_run, plant};
use crate::support::context::context;
use crate::support::refusal::check;
use crate::support::workspace::{Workspace, files};
use arrow::array::{ArrayRef, Int32Array, RecordBatch, UInt64Array};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::{ParquetMetaDataReader, ParquetMetaDataWriter};
use renma::artifact::publish::publish_bytes;
use renma::artifact::{Dataset, LoadedModel, NEVER, POSITIONS, PositionRow, Registry, TableRow};
use renma::config::load_config;
use renma::generation::Generation;
use renma::pipeline::StageError;
use renma::pipeline::train::run::train;
use renma::pipeline::train::task::TrainTask;
use renma::random::{Stream, stream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
    check(
        workspace,
        arguments,
        65,
        &[name.rsplit_once('/').unwrap().0],
    );
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
        2,
        &["cannot read file", "a folder is expected"],
    );
    check(
        &workspace,
        "train --config configs/tiny.toml --dataset configs --models registry",
        65,
        &["configs"],
    );
}

#[test]
fn a_damaged_model_is_refused_with_the_file() {
    let workspace = copy_of_run();
    for name in [
        "model.json",
        "weights.parquet",
        "mpc.parquet",
        "features.toml",
    ] {
        check_spoilt(
            &workspace,
            &format!("registry/v0002/{name}"),
            "model show v0002 --models registry",
        );
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
        check(
            &workspace,
            "promote v0001 --models registry",
            65,
            &["registry/champion.json"],
        );
        check(
            &workspace,
            "promote --rollback --models registry",
            65,
            &["registry/champion.json"],
        );
    }
}

#[test]
fn a_damaged_file_of_another_program_is_refused() {
    let workspace = copy_of_run();
    workspace.write("short.dat", [0; 100]);
    check(
        &workspace,
        "model import short.dat --format es-cube-eval --models registry",
        65,
        &["short.dat", "100"],
    );
    let mut weights = vec![0; 42_608 * 4];
    weights[6] = 1;
    workspace.write("eval.dat", &weights);
    check(
        &workspace,
        "model import eval.dat --format es-cube-eval --models registry",
        65,
        &["eval.dat", "byte 4"],
    );
    workspace.write("mpc.dat", [9; 40]);
    let import = "model import mpc.dat --format mpc-dat --model v0001 --models registry";
    check(&workspace, import, 65, &["mpc.dat"]);
}

#[test]
fn three_hundred_flipped_bits_are_all_noticed() {
    let workspace = copy_of_run();
    let config = load_config(&workspace.path("configs/tiny.toml")).unwrap();
    let data = workspace.path("data");
    let registry = Registry::new(&workspace.path("other"));
    let context = context();
    let use_dataset = || -> Result<(), StageError> {
        let task = TrainTask {
            config: config.config.train.clone(),
            seed: 1,
            generation: Generation(1),
            features: Arc::clone(&config.features),
            datasets: vec![data.clone().into()],
            parent: None,
            registry: registry.clone(),
            memory: 0,
        };
        train(&task, context).map(|_| ())
    };
    let use_model = || {
        LoadedModel::read(&workspace.path("registry/v0002"))
            .map(|_| ())
            .map_err(StageError::from)
    };
    let data_files: Vec<PathBuf> = files(&data)
        .into_keys()
        .map(|name| data.join(name))
        .collect();
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
        publish_bytes(path, &bytes).unwrap();
        let result = if of_model { use_model() } else { use_dataset() };
        let error = result
            .expect_err(&format!("bit {bit} of {}", path.display()))
            .to_string();
        assert!(
            error.contains(path.to_str().unwrap()),
            "bit {bit} of {}: {error}",
            path.display()
        );
        publish_bytes(path, &sound).unwrap();
    }
    use_model().unwrap();
    use_dataset().unwrap();
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
        (
            good.replacen("X;", "X; d3:+2; --:-127; a1:+2;", 1),
            "byte 83",
        ),
        ("-".repeat(10_000), "byte 64"),
    ] {
        workspace.write("bad.obf", format!("% a comment\n{good}\n{bad}\n{good}"));
        for command in ["eval", "solve"] {
            check(
                &workspace,
                &format!("{command} bad.obf"),
                65,
                &["bad.obf", "line 4", byte],
            );
        }
    }
    for (board, length) in [
        (good[1..64].to_owned(), 63),
        (format!("-{}", &good[..64]), 65),
    ] {
        workspace.write("bad.obf", format!("{board} X;\n"));
        let words = format!("the board has {length} characters, 64 expected");
        check(&workspace, "eval bad.obf", 65, &["bad.obf", &words]);
    }
    workspace.write("bad.obf", [good.as_bytes(), b"---\xff---\n"].concat());
    check(
        &workspace,
        "eval bad.obf",
        65,
        &["bad.obf", "line 2", "byte 7"],
    );
    workspace.write("bad.obf", "% nothing but this\n\n");
    check(&workspace, "eval bad.obf", 65, &["bad.obf", "no position"]);
    workspace.write("folder/file", "");
    check(
        &workspace,
        "eval folder",
        2,
        &[
            "cannot read folder",
            "it is a folder, and a file is expected",
        ],
    );
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
    let footer_size =
        u32::from_le_bytes(sound[sound.len() - 8..][..4].try_into().unwrap()) as usize;
    let with_tail = |tail: [u8; 8]| [&sound[..sound.len() - 8], &tail].concat();
    let column =
        |name: &str, values: ArrayRef| RecordBatch::try_from_iter([(name, values)]).unwrap();
    let mut emptied = sound.clone();
    emptied[4..sound.len() - 8 - footer_size].fill(0);
    let hostile = [
        ("nothing", Vec::new()),
        ("text", b"not a Parquet file at all".to_vec()),
        ("its magic alone", b"PAR1PAR1".to_vec()),
        (
            "a footer longer than the file",
            with_tail(*b"\xff\xff\xff\x7fPAR1"),
        ),
        ("a footer of no bytes", with_tail(*b"\0\0\0\0PAR1")),
        ("an encrypted footer", with_tail(*b"\x10\0\0\0PARE")),
        ("pages of zeros", emptied),
        (
            "one foreign column",
            parquet_bytes(&column("x", Arc::new(Int32Array::from(vec![1, 2])))),
        ),
        (
            "one column of ours",
            parquet_bytes(&column("game_id", Arc::new(UInt64Array::from(vec![1, 2])))),
        ),
        (
            "missing values",
            parquet_bytes(&column(
                "game_id",
                Arc::new(UInt64Array::from(vec![Some(1), None])),
            )),
        ),
    ];
    let train = "train --config configs/tiny.toml --dataset data --models other";
    for (what, bytes) in hostile {
        plant(&folder, &bytes);
        println!("{what}");
        check(
            &workspace,
            train,
            65,
            &["data/positions/part-00001.parquet"],
        );
    }
}

#[test]
fn a_part_that_the_parser_gives_up_on_is_one_error_like_any_other() {
    let workspace = copy_of_run();
    let folder = workspace.path("data");
    let sound = std::fs::read(folder.join("positions/part-00001.parquet")).unwrap();
    let footer_size =
        u32::from_le_bytes(sound[sound.len() - 8..][..4].try_into().unwrap()) as usize;
    let panics = (8 * (sound.len() - 8 - footer_size)..8 * sound.len()).find_map(|bit| {
        let mut bytes = sound.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let error = POSITIONS
            .decode(Path::new("part"), bytes.clone().into(), 1_000)
            .err()?;
        error.to_string().contains("gave up").then_some(bytes)
    });
    let Some(bytes) = panics else {
        println!("skipped: no flipped bit of the footer makes the parser panic");
        return;
    };
    plant(&folder, &bytes);
    let train = "train --config configs/tiny.toml --dataset data --models other";
    check(
        &workspace,
        train,
        65,
        &["data/positions/part-00001.parquet", "gave up"],
    );
}

/// A Parquet file of one row group with a footer that gives it another number of rows.
fn with_row_count(bytes: &[u8], rows: i64) -> Vec<u8> {
    let metadata = ParquetMetaDataReader::new()
        .parse_and_finish(&Bytes::copy_from_slice(bytes))
        .unwrap();
    let group = metadata
        .row_group(0)
        .clone()
        .into_builder()
        .set_num_rows(rows)
        .build()
        .unwrap();
    let metadata = metadata.into_builder().set_row_groups(vec![group]).build();
    let footer_size =
        u32::from_le_bytes(bytes[bytes.len() - 8..][..4].try_into().unwrap()) as usize;
    let mut bytes = bytes[..bytes.len() - 8 - footer_size].to_vec();
    ParquetMetaDataWriter::new(&mut bytes, &metadata)
        .finish()
        .unwrap();
    bytes
}

#[test]
fn a_footer_that_counts_other_rows_than_there_are_is_an_error() {
    let workspace = Workspace::new();
    let rows = &Dataset::open(&RUN.path("data"))
        .unwrap()
        .rows(1, &NEVER)
        .unwrap()[..3];
    let bytes = parquet_bytes(&POSITIONS.batch(PositionRow::to_columns(rows)));
    for (count, words) in [
        (2, "more rows than its footer says"),
        (4, "fewer rows than its footer says"),
    ] {
        let error = POSITIONS
            .decode(Path::new("part"), with_row_count(&bytes, count).into(), 4)
            .unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
    assert_eq!(
        POSITIONS
            .decode(Path::new("part"), with_row_count(&bytes, 3).into(), 4)
            .unwrap()
            .num_rows(),
        3
    );
    workspace.write("more.parquet", with_row_count(&bytes, 2));
    workspace.write("fewer.parquet", with_row_count(&bytes, 4));
    for (name, words) in [
        ("more", "record 3: there are more rows than the 2 "),
        ("fewer", "record 4: there are fewer rows than the 4 "),
    ] {
        let import = format!("dataset import {name}.parquet --format parquet --output out");
        check(
            &workspace,
            &import,
            65,
            &[&format!("{name}.parquet"), words],
        );
    }
}

/// An unknown field of a footer may be a list of 2^31 - 1 booleans, which the parser skips one by
/// one, reading no bytes.
#[test]
fn a_footer_that_keeps_the_parser_busy_for_minutes_is_one_error() {
    let workspace = Workspace::new();
    let list = |id: u8| [id << 4 | 9, 0xf1, 0xff, 0xff, 0xff, 0xff, 0x07];
    let footer = [list(14).to_vec(), list(1).repeat(99), vec![0]].concat();
    let size = (footer.len() as u32).to_le_bytes();
    workspace.write(
        "endless.parquet",
        [b"PAR1".as_slice(), &footer, &size, b"PAR1"].concat(),
    );
    let words = ["endless.parquet", "its footer is not sound"];
    check(
        &workspace,
        "dataset import endless.parquet --format parquet --output out",
        65,
        &words,
    );
}
