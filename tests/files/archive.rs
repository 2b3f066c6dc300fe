//! A model as one file: what is packed comes back with the same bytes, and nothing else is taken
//! for an archive.

use crate::support::workspace::{self, ONE_PLY, Workspace, all_paths, files};
use renma::artifact::model::archive::Archive;
use renma::artifact::model::document::VersionOrigin;
use renma::artifact::model::features_file::parse_features;
use renma::artifact::seal::seal;
use renma::artifact::{
    ArtifactError, ContentHash, LoadedModel, Model, ModelDocument, ModelKind, ModelRef, Registry,
};
use renma::engine::Evaluation;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, LazyLock};
use tar::{Builder, EntryType, Header};
use tempfile::TempDir;

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/model");

/// A draft of four weights, whose archive is small enough to try every bit of it.
static DRAFT: LazyLock<Vec<u8>> = LazyLock::new(|| packed_draft("phase_empties_max = [60]"));

/// The same with vectors.
static PAIRED: LazyLock<Vec<u8>> =
    LazyLock::new(|| packed_draft("phase_empties_max = [60]\nvectors = 2"));

fn packed_draft(keys: &str) -> Vec<u8> {
    let text =
        format!("name = \"tiny\"\n{keys}\n[[pattern]]\nname = \"corner\"\nsquares = \"a1\"\n");
    let set = Arc::new(parse_features(&text).unwrap());
    let weights: Vec<i16> = (0..set.feature_count())
        .map(|index| 100 * index as i16)
        .collect();
    let vectors = (0..set.component_count())
        .map(|place| 30 - 12 * place as i8)
        .collect();
    let visits = vec![7; weights.len()];
    let model = Model::draft(
        Evaluation::with_vectors(set, weights, vectors).unwrap(),
        visits,
    );
    let origin = VersionOrigin {
        kind: ModelKind::Draft,
        stage: "train".into(),
        step: ContentHash::of(b"step"),
        algorithm: 1,
        parent: None,
        datasets: Vec::new(),
        config: Value::Null,
        metrics: Value::Null,
    };
    let folder = tempfile::tempdir().unwrap();
    let id = Registry::new(folder.path())
        .publish(&model, &origin)
        .unwrap();
    packed(folder.path().join(id.to_string()).to_str().unwrap())
}

/// The archive of a model.
fn packed(name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    name.parse::<ModelRef>()
        .unwrap()
        .load(Path::new(""))
        .unwrap()
        .archive()
        .unwrap()
        .write(&mut bytes)
        .unwrap();
    bytes
}

fn written(bytes: &[u8]) -> (TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.renma");
    fs::write(&path, bytes).unwrap();
    (folder, path)
}

/// Everything that a reader of archives checks.
fn read(path: &Path) -> Result<Archive, ArtifactError> {
    let archive = Archive::read(path)?;
    archive.model(path)?;
    Ok(archive)
}

fn check_refused(path: &Path, what: &str) -> String {
    match read(path) {
        Ok(_) => panic!("{what}: accepted"),
        Err(error @ (ArtifactError::Damaged { .. } | ArtifactError::Unfit { .. })) => {
            error.to_string()
        }
        Err(error) => panic!("{what}: {error}"),
    }
}

#[test]
fn an_archive_cannot_take_the_last_number_of_a_registry() {
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::new(&folder.path().join("models"));
    for (id, is_taken) in [
        ("v99999999", true),
        ("v100000000", false),
        ("v999999999", false),
    ] {
        let mut packed = entries();
        packed[0].2 = document(|document| document["id"] = id.into());
        let other = folder.path().join("other.renma");
        fs::write(&other, tar(&packed)).unwrap();
        match registry.import(&read(&other).unwrap(), &other) {
            Ok(is_new) => assert!(is_new && is_taken, "{id}"),
            Err(error) => assert!(
                !is_taken && error.to_string().contains("too few versions"),
                "{id}: {error}"
            ),
        }
    }
    assert_eq!(
        registry
            .version_last()
            .unwrap()
            .unwrap()
            .next()
            .unwrap()
            .to_string(),
        "v100000000"
    );
}

#[test]
fn packing_unpacking_and_packing_again_gives_the_same_bytes_and_model() {
    let workspace = Workspace::new();
    workspace.done(&format!(
        "model export --model {DATA} --format renma --output first.renma"
    ));
    assert_eq!(
        workspace.done("model import first.renma --models models/a"),
        "v0002"
    );
    workspace
        .done("model export --model v0002 --models models/a --format renma --output second.renma");
    workspace.done("model export --model second.renma --format renma --output third.renma");
    let bytes = |name: &str| fs::read(workspace.path(name)).unwrap();
    assert!(
        bytes("first.renma") == bytes("second.renma")
            && bytes("first.renma") == bytes("third.renma")
    );
    assert!(
        files(Path::new(DATA)) == files(&workspace.path("models/a/v0002")),
        "the files of the version"
    );
    let [before, after] = [DATA, workspace.path("first.renma").to_str().unwrap()]
        .map(|name| {
            name.parse::<ModelRef>()
                .unwrap()
                .load(Path::new(""))
                .unwrap()
        })
        .map(|model| {
            (
                model.id,
                model.content,
                model.model.weights_hash(),
                model.known.document,
            )
        });
    assert_eq!(before, after);
}

#[test]
fn any_tar_lists_and_unpacks_an_archive_and_a_version_that_was_unpacked_is_read_as_a_folder() {
    let workspace = Workspace::new();
    workspace.done("model export --model builtin:champion --format renma --output champion.renma");
    fs::create_dir(workspace.path("unpacked")).unwrap();
    let mut tar = Command::new("tar");
    let outcome = tar
        .args(["-xvf", "champion.renma", "-C", "unpacked"])
        .current_dir(workspace.root())
        .output()
        .unwrap();
    assert!(outcome.status.success());
    let listed = String::from_utf8(outcome.stdout).unwrap();
    let expected = [
        "model.json",
        "features.toml",
        "weights.parquet",
        "vectors.parquet",
        "mpc.parquet",
    ];
    assert_eq!(listed.lines().collect::<Vec<_>>(), expected);
    let [folder, builtin] = [
        workspace.path("unpacked").to_str().unwrap(),
        "builtin:champion",
    ]
    .map(packed);
    assert!(folder == builtin && builtin == fs::read(workspace.path("champion.renma")).unwrap());
}

#[test]
fn every_command_with_a_model_takes_an_archive() {
    let workspace = Workspace::new();
    let config = workspace.config("tiny", "smoke", &ONE_PLY);
    workspace.done(&format!(
        "model export --model {DATA} --format renma --output m.renma"
    ));
    workspace.write(
        "positions.obf",
        "---------------------------OX------XO--------------------------- X;\n",
    );
    let started = workspace.config(
        "started",
        "smoke",
        &[&ONE_PLY[..], &[("run.start", "\"m.renma\"")]].concat(),
    );
    for arguments in [
        "eval positions.obf --model m.renma --depth 2".to_owned(),
        "model show m.renma".to_owned(),
        format!("generate --config {config} --model m.renma --output games"),
        format!("generate --config {started} --output started"),
        format!("train --config {config} --dataset games --parent m.renma"),
        format!("fit-mpc --config {config} --model m.renma"),
        format!("generate --plan plan.json --config {config} --model m.renma --output planned"),
        "shard run plan.json 0".to_owned(),
        "bench search --depth 2 --positions 2 --model m.renma".to_owned(),
    ] {
        workspace.done(&arguments);
    }
    let gate =
        format!("gate --config {config} --candidate m.renma --baseline m.renma --output gate");
    assert_eq!(workspace.run(&gate).code, Some(11));
    // A model is the same wherever it lies.
    workspace.done(&format!(
        "generate --config {config} --model {DATA} --output again"
    ));
    assert!(files(&workspace.path("games")) == files(&workspace.path("again")));
}

#[test]
fn vectors_come_back_from_an_archive_and_from_its_folder() {
    let (folder, path) = written(&PAIRED);
    let archive = read(&path).unwrap();
    let names: Vec<&str> = archive.files().map(|(name, _)| name).collect();
    assert_eq!(
        names,
        [
            "model.json",
            "features.toml",
            "weights.parquet",
            "vectors.parquet"
        ]
    );
    let expected = [30, 18, 6, -6, -18, -30];
    assert_eq!(archive.model(&path).unwrap().evaluation.vectors(), expected);
    assert!(packed(path.to_str().unwrap()) == *PAIRED);
    archive
        .files()
        .for_each(|(name, bytes)| fs::write(folder.path().join(name), bytes).unwrap());
    assert_eq!(
        LoadedModel::read(folder.path())
            .unwrap()
            .model
            .evaluation
            .vectors(),
        expected
    );
    assert!(packed(folder.path().to_str().unwrap()) == *PAIRED);
}

#[test]
fn a_document_lists_vectors_exactly_if_the_patterns_have_them() {
    type Change = fn(&mut Vec<(String, EntryType, Vec<u8>)>);
    let changes: [(&[u8], &str, Change); 3] = [
        (
            &PAIRED,
            "model.json: it does not list vectors.parquet, and features.toml has vectors",
            |entries| {
                entries[0].2 = document_of(&PAIRED, |value| {
                    drop(
                        value["files"]
                            .as_object_mut()
                            .unwrap()
                            .remove("vectors.parquet"),
                    );
                });
                entries.pop();
            },
        ),
        (
            &DRAFT,
            "model.json: it lists vectors.parquet, and features.toml has no vectors",
            |entries| {
                let vectors = entries_of(&PAIRED).pop().unwrap();
                let entry = json!({"bytes": vectors.2.len(), "hash": ContentHash::of(&vectors.2)});
                entries[0].2 = document(|value| value["files"]["vectors.parquet"] = entry);
                entries.push(vectors);
            },
        ),
        (
            &PAIRED,
            "vectors.parquet: its hash is not the one in model.json",
            |entries| entries[3].2[9] ^= 1,
        ),
    ];
    for (archive, words, change) in changes {
        let mut entries = entries_of(archive);
        change(&mut entries);
        let (folder, path) = written(&tar(&entries));
        let found = check_refused(&path, words);
        assert!(found.contains(words), "{found}");
        entries
            .iter()
            .for_each(|(name, _, bytes)| fs::write(folder.path().join(name), bytes).unwrap());
        let found = LoadedModel::read(folder.path()).unwrap_err().to_string();
        assert!(found.contains(words), "{found}");
    }
    let mut entries = entries_of(&PAIRED);
    entries[0].2 = document_of(&PAIRED, |value| {
        value["files"]["vectors.parquet"]["bytes"] = json!(1_u64 << 32);
    });
    let (_folder, path) = written(&tar(&entries));
    let found = check_refused(&path, "size");
    assert!(
        found.contains("vectors.parquet: it has 4294967296 bytes, at most"),
        "{found}"
    );
}

#[test]
fn an_archive_that_ends_early_or_late_is_refused_at_every_byte() {
    let (_folder, path) = written(&DRAFT);
    assert!(read(&path).is_ok());
    let file = fs::File::options().write(true).open(&path).unwrap();
    for length in (0..DRAFT.len()).rev() {
        file.set_len(length as u64).unwrap();
        check_refused(&path, &format!("{length} bytes"));
    }
    for more in [&[0][..], &[0; 512], &DRAFT] {
        fs::write(&path, [&DRAFT[..], more].concat()).unwrap();
        let words = check_refused(&path, "more");
        assert!(
            words.contains(&format!(
                "something follows its end at byte {}",
                DRAFT.len()
            )),
            "{words}"
        );
    }
}

#[test]
fn an_archive_with_any_flipped_bit_is_refused() {
    let (_folder, path) = written(&DRAFT);
    let file = fs::File::options().write(true).open(&path).unwrap();
    for (place, byte) in DRAFT.iter().enumerate() {
        for bit in 0..8 {
            file.write_all_at(&[byte ^ (1 << bit)], place as u64)
                .unwrap();
            check_refused(&path, &format!("byte {place}, bit {bit}"));
        }
        file.write_all_at(&[*byte], place as u64).unwrap();
    }
    assert!(read(&path).is_ok());
}

/// The document of the draft with a change and a new seal.
fn document(change: impl FnOnce(&mut Value)) -> Vec<u8> {
    document_of(&DRAFT, change)
}

fn document_of(archive: &[u8], change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let (_folder, path) = written(archive);
    let mut document = serde_json::to_value(&Archive::read(&path).unwrap().document).unwrap();
    change(&mut document);
    seal(&document).into_bytes()
}

/// Name, type and bytes of the files of the draft.
fn entries() -> Vec<(String, EntryType, Vec<u8>)> {
    entries_of(&DRAFT)
}

fn entries_of(archive: &[u8]) -> Vec<(String, EntryType, Vec<u8>)> {
    let (_folder, path) = written(archive);
    let archive = Archive::read(&path).unwrap();
    archive
        .files()
        .map(|(name, bytes)| (name.to_owned(), EntryType::Regular, bytes.to_vec()))
        .collect()
}

fn tar(entries: &[(String, EntryType, Vec<u8>)]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for (name, kind, bytes) in entries {
        let mut header = Header::new_ustar();
        // `set_path` refuses what an attacker writes.
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(*kind);
        header.set_mode(0o644);
        header.set_uid(0);
        header.set_gid(0);
        header.set_size(bytes.len() as u64);
        if *kind != EntryType::Regular {
            header.set_link_name("/etc/passwd").unwrap();
        }
        header.set_cksum();
        builder.append(&header, &bytes[..]).unwrap();
    }
    builder.into_inner().unwrap()
}

#[test]
fn what_an_attacker_packs_is_one_error_and_leaves_nothing() {
    type Change = fn(&mut Vec<(String, EntryType, Vec<u8>)>);
    assert!(
        tar(&entries()) == *DRAFT,
        "the archives of this test are those of renma"
    );
    let changes: [(&str, Change); 20] = [
        ("the header of features.toml", |entries| {
            entries[1].0 = "../features.toml".into();
        }),
        ("the header of features.toml", |entries| {
            entries[1].0 = "/etc/features.toml".into();
        }),
        ("the header of features.toml", |entries| {
            entries[1].0 = "./features.toml".into();
        }),
        ("the header of features.toml", |entries| {
            entries[1].1 = EntryType::Symlink;
        }),
        ("the header of features.toml", |entries| {
            entries[1].1 = EntryType::Link;
        }),
        ("the header of features.toml", |entries| {
            entries[1].1 = EntryType::GNUSparse;
        }),
        ("the header of features.toml", |entries| {
            entries[1].1 = EntryType::XHeader;
        }),
        ("the header of features.toml", |entries| entries.swap(1, 2)),
        ("the header of features.toml", |entries| {
            drop(entries.remove(1));
        }),
        ("the header of features.toml", |entries| {
            entries.insert(1, entries[0].clone());
        }),
        ("its end", |entries| entries.push(entries[2].clone())),
        ("its end", |entries| {
            entries.push(("run.sh".into(), EntryType::Regular, b"rm -rf /".to_vec()));
        }),
        ("the header of weights.parquet", |entries| {
            drop(entries.pop());
        }),
        ("does not begin as a model archive", |entries| {
            entries.swap(0, 1);
        }),
        ("does not begin as a model archive", |entries| {
            entries.clear();
        }),
        ("model.json: its hash does not match", |entries| {
            *entries[0].2.last_mut().unwrap() = b' ';
        }),
        ("features.toml: its hash is not the one", |entries| {
            entries[1].2[0] ^= 1;
        }),
        ("lists \"../../weights.parquet\"", |entries| {
            entries[0].2 = document(|value| {
                value["files"]["../../weights.parquet"] = value["files"]["weights.parquet"].clone();
            });
        }),
        ("does not list weights.parquet", |entries| {
            entries[0].2 = document(|value| {
                drop(
                    value["files"]
                        .as_object_mut()
                        .unwrap()
                        .remove("weights.parquet"),
                );
            });
        }),
        ("its content hash is not that of", |entries| {
            entries[0].2 = document(|value| value["content"] = json!(ContentHash::of(b"another")));
        }),
    ];
    let workspace = Workspace::new();
    let config = workspace.config("tiny", "smoke", &ONE_PLY);
    for (words, change) in changes {
        let mut packed = entries();
        change(&mut packed);
        workspace.write("bad.renma", tar(&packed));
        let before = all_paths(workspace.root());
        for arguments in [
            "model import bad.renma --models models/a".to_owned(),
            "model show bad.renma".to_owned(),
            format!("generate --config {config} --model bad.renma --output games"),
        ] {
            let outcome = workspace.run(&arguments);
            assert_eq!(
                outcome.code,
                Some(65),
                "{words}: {arguments}\n{}",
                outcome.stderr
            );
            assert_eq!(
                outcome.stderr.matches("error:").count(),
                1,
                "{words}: {}",
                outcome.stderr
            );
            assert!(
                outcome.stderr.contains("bad.renma") && outcome.stderr.contains(words),
                "{words}: {}",
                outcome.stderr
            );
            assert_eq!(before, all_paths(workspace.root()), "{words}: {arguments}");
        }
    }
}

#[test]
fn a_size_that_cannot_be_is_refused_before_there_is_memory_for_it() {
    let workspace = Workspace::new();
    let claims: [(&str, u64); 3] = [
        ("features.toml", 1 << 40),
        ("weights.parquet", 1 << 32),
        ("features.toml", u64::MAX),
    ];
    for (name, size) in claims {
        let mut packed = entries();
        packed[0].2 = document(|value| value["files"][name]["bytes"] = json!(size));
        workspace.write("bad.renma", tar(&packed));
        check_bounded(&workspace, &format!("{name}: it has {size} bytes, at most"));
    }
    // The header of a document of 8 GiB, and a file that is nothing but a hole of a terabyte.
    let mut header = Header::from_byte_slice(&DRAFT[..512]).clone();
    header.set_size(8 << 30);
    header.set_cksum();
    workspace.write("bad.renma", header.as_bytes());
    check_bounded(&workspace, "does not begin as a model archive");
    fs::File::options()
        .write(true)
        .open(workspace.path("bad.renma"))
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    check_bounded(&workspace, "does not begin as a model archive");
    workspace.write("bad.renma", &DRAFT[..]);
    fs::File::options()
        .write(true)
        .open(workspace.path("bad.renma"))
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    check_bounded(&workspace, "something follows its end");
}

/// The exit code and the words of the error with 200 MB of address space.
fn check_bounded(workspace: &Workspace, words: &str) {
    let program = env!("CARGO_BIN_EXE_renma");
    let script = format!(
        "ulimit -v 200000; exec {program} --threads 1 model import bad.renma --models models/a"
    );
    let outcome: workspace::Outcome = Command::new("sh")
        .args(["-c", &script])
        .current_dir(workspace.root())
        .output()
        .unwrap()
        .into();
    assert_eq!(outcome.code, Some(65), "{words}: {}", outcome.stderr);
    assert!(
        outcome.stderr.contains(words),
        "{words}: {}",
        outcome.stderr
    );
    assert!(!workspace.path("models/a").exists(), "{words}");
}

#[test]
fn an_import_never_takes_the_place_of_another_version() {
    let workspace = Workspace::new();
    workspace.write("draft.renma", &DRAFT[..]);
    workspace.done(&format!(
        "model export --model {DATA} --format renma --output model.renma"
    ));
    assert_eq!(
        workspace.done("model import draft.renma --models models/a"),
        "v0001"
    );
    assert_eq!(
        workspace.done("model import model.renma --models models/a"),
        "v0002"
    );
    // Once more changes nothing.
    let before = files(&workspace.path("models"));
    assert_eq!(
        workspace.done("model import draft.renma --models models/a"),
        "v0001"
    );
    let mut other = entries();
    other[0].2 = document(|value| value["algorithm"] = json!(2));
    workspace.write("other.renma", tar(&other));
    let outcome = workspace.run("model import other.renma --models models/a");
    assert_eq!(outcome.code, Some(2));
    let words =
        "cannot import into models/a: it has another v0001\nname another registry with --models";
    assert!(outcome.stderr.contains(words), "{}", outcome.stderr);
    assert!(before == files(&workspace.path("models")));
    // An id that was removed stays taken.
    let closed = json!({"format": 1, "generation": 1, "champion": null, "version_last": 5});
    workspace.write("models/b/closed.json", seal(&closed));
    let outcome = workspace.run("model import draft.renma --models models/b");
    assert_eq!(outcome.code, Some(2));
    assert!(
        outcome.stderr.contains("it once had a v0001"),
        "{}",
        outcome.stderr
    );
    // The next version comes after the highest that was imported.
    let loaded = ModelRef::Path("model.renma".into())
        .load(Path::new(""))
        .err();
    assert!(
        loaded.is_some(),
        "a name is relative to the caller's folder"
    );
    let registry = Registry::new(&workspace.path("models/a"));
    assert_eq!(
        registry.version_last().unwrap().unwrap().to_string(),
        "v0002"
    );
    let documents: Vec<ModelDocument> = registry.documents().unwrap();
    assert_eq!(
        documents
            .iter()
            .map(|document| document.id.to_string())
            .collect::<Vec<_>>(),
        ["v0001", "v0002"]
    );
    workspace.done("promote v0002 --models models/a");
    let refused = workspace.run("promote model.renma --models models/a");
    assert_eq!(refused.code, Some(65));
    assert!(
        refused.stderr.contains("import it first"),
        "{}",
        refused.stderr
    );
}

#[test]
fn an_export_is_refused_where_there_is_nothing_to_pack_and_never_overwrites_another_file() {
    let workspace = Workspace::new();
    let export = |model: &str, options: &str| {
        workspace.run(&format!(
            "model export --model {model} --format renma --output out.renma {options}"
        ))
    };
    let refused = export("builtin:square-weights", "");
    assert_eq!(refused.code, Some(65));
    assert!(
        refused
            .stderr
            .contains("builtin:square-weights: it is a part of the program"),
        "{}",
        refused.stderr
    );
    workspace.write("out.renma", "a diary");
    assert_eq!(export(DATA, "--force").code, Some(2));
    assert_eq!(fs::read(workspace.path("out.renma")).unwrap(), b"a diary");
    workspace.write("out.renma", &DRAFT[..]);
    assert_eq!(export(DATA, "").code, Some(2));
    assert_eq!(export(DATA, "--force").code, Some(0));
    assert!(fs::read(workspace.path("out.renma")).unwrap() == packed(DATA));
}
