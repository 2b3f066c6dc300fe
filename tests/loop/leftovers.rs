//! What killed processes leave behind is swept by whoever works next, and what living ones write
//! never is.

use crate::support::context::context;
use crate::support::workspace::{Workspace, all_paths, files, pipeline, reached, send};
use renma::artifact::seal::{read_sealed, seal};
use renma::artifact::{ArtifactError, Registry, VersionId};
use renma::config::load_config;
use renma::generation::Generation;
use renma::pipeline::StageError;
use renma::pipeline::train::run::train;
use renma::pipeline::train::task::TrainTask;
use rustix::process::Signal;
use serde_json::Value;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// 15 games in the WTHOR format.
const WTHOR: &[u8] = include_bytes!("../data/games.wtb");

const QUICK: [(&str, &str); 8] = [
    ("generate.games", "12"),
    ("generate.part_games", "3"),
    ("generate.play_depth", "1"),
    ("generate.label_depth", "1"),
    ("generate.exact_empties", "3"),
    ("fit_mpc.games", "60"),
    ("fit_mpc.part_games", "20"),
    ("gate.games", "6"),
];

/// A file as a killed process leaves it.
fn plant(workspace: &Workspace, name: &str) -> PathBuf {
    workspace.write(name, b"half");
    workspace.path(name)
}

/// A file as a living process writes it, on this machine or another.
fn plant_living(workspace: &Workspace, name: &str) -> (PathBuf, File) {
    let path = plant(workspace, name);
    let file = File::options().write(true).open(&path).unwrap();
    file.lock().unwrap();
    (path, file)
}

/// Everything under a folder that a killed process may have left.
fn temporaries(folder: &Path) -> Vec<PathBuf> {
    all_paths(folder)
        .into_iter()
        .filter(|path| path.to_str().unwrap().contains("/.tmp-"))
        .collect()
}

#[test]
fn every_writer_of_a_dataset_sweeps_what_is_dead_and_keeps_what_lives() {
    let workspace = Workspace::new();
    let config = workspace.config("quick", "smoke", &QUICK);
    workspace.done(&format!(
        "generate --plan plan.json --config {config} --shards 2 --output data"
    ));
    for arguments in [
        "shard run plan.json 0",
        "shard run plan.json 1",
        "shard finish plan.json",
        &format!("generate --config {config} --output data"),
    ] {
        let dead = [
            "games/.tmp-dead01",
            "positions/.tmp-dead02",
            ".tmp-renma-dead03",
        ];
        let dead = dead.map(|name| plant(&workspace, &format!("data/{name}")));
        let living = [
            "games/.tmp-renma-live01",
            "positions/.tmp-live02",
            ".tmp-renma-live03",
        ];
        let living = living.map(|name| plant_living(&workspace, &format!("data/{name}")));
        workspace.done(arguments);
        for path in &dead {
            assert!(!path.exists(), "{arguments}: {} is left", path.display());
        }
        for (path, _) in &living {
            assert!(path.exists(), "{arguments}: {} was swept", path.display());
        }
        drop(living);
    }
    workspace.done("dataset verify data");
}

#[test]
fn hidden_files_are_no_damage_and_others_are() {
    let workspace = Workspace::new();
    let config = workspace.config("quick", "smoke", &QUICK);
    workspace.done(&format!("generate --config {config} --output data"));
    for name in [
        "games/.DS_Store",
        "positions/.tmp-dead",
        "positions/._part-00000.parquet",
    ] {
        plant(&workspace, &format!("data/{name}"));
    }
    workspace.done("dataset verify data");
    for name in ["games/part-00004.parquet", "positions/notes.txt"] {
        let path = plant(&workspace, &format!("data/{name}"));
        let outcome = workspace.run("dataset verify data");
        assert_eq!(outcome.code, Some(65), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(name), "{}", outcome.stderr);
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_killed_import_leaves_nothing_after_the_next_one() {
    let workspace = Workspace::new();
    workspace.write("games.wtb", WTHOR);
    let import = "dataset import games.wtb --format wthor --output out/imported";
    let mut child = workspace.start(&format!("{import} --label-depth 9 --threads 1"));
    // Until its folder exists, its claim may not be locked yet, and others may remove it.
    let has_folder = || {
        let entries = fs::read_dir(workspace.path("out"))
            .into_iter()
            .flatten()
            .flatten();
        entries
            .map(|entry| entry.path())
            .any(|path| path.is_dir() && path.to_str().unwrap().contains("/.tmp-"))
    };
    assert!(reached(&mut child, has_folder), "it ended too soon");
    send(&child, Signal::STOP);
    let left = temporaries(&workspace.path("out"));
    // A process that is stopped is not dead: others leave its temporary folder alone.
    workspace.write("one.txt", "f5d6c3\n");
    workspace.done("dataset import one.txt --format transcripts --output out/other");
    assert_eq!(temporaries(&workspace.path("out")), left);
    child.kill().unwrap();
    child.wait().unwrap();
    workspace.done(import);
    let after = temporaries(&workspace.path("out"));
    assert!(
        !left.is_empty() && after.is_empty(),
        "{left:?} became {after:?}"
    );
}

#[test]
fn an_export_sweeps_what_a_killed_one_left_beside_it() {
    let workspace = Workspace::new();
    workspace.write("games.wtb", WTHOR);
    workspace.done("dataset import games.wtb --format wthor --output data");
    for arguments in [
        "dataset export data --format obf --output out/positions.obf",
        "dataset export data --format obf --output out/positions.obf --force",
        "dataset export data --format tokens --output out/tokens.parquet",
    ] {
        let dead = ["out/.tmp-renma-dead01", "out/.tmp-renma-dead02.d/part"]
            .map(|name| plant(&workspace, name));
        let (living, lock) = plant_living(&workspace, "out/.tmp-renma-live01");
        workspace.done(arguments);
        assert!(
            living.exists() && dead.iter().all(|path| !path.exists()),
            "renma {arguments}"
        );
        drop(lock);
    }
}

#[test]
fn a_killed_export_leaves_nothing_after_the_next_one() {
    let workspace = Workspace::new();
    let config = workspace.config("random", "random-games", &[("generate.games", "60000")]);
    workspace.done(&format!(
        "generate --config {config} --model builtin:disc-count --output data"
    ));
    let export = "dataset export data --format tokens --labels --output out/tokens.parquet";
    workspace.done(&format!("{export} --threads 2"));
    let expected = fs::read(workspace.path("out/tokens.parquet")).unwrap();
    fs::remove_file(workspace.path("out/tokens.parquet")).unwrap();
    let mut child = workspace.start(&format!("{export} --threads 1"));
    // A row group has been written, and more follow.
    let has_rows = || {
        let left = temporaries(&workspace.path("out"));
        let sizes = left
            .iter()
            .map(|path| fs::metadata(path).map_or(0, |file| file.len()));
        sizes.max().is_some_and(|size| 1 << 20 < size)
    };
    assert!(reached(&mut child, has_rows), "it ended too soon");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!workspace.path("out/tokens.parquet").exists());
    assert_eq!(temporaries(&workspace.path("out")).len(), 1);
    workspace.done(export);
    assert!(fs::read(workspace.path("out/tokens.parquet")).unwrap() == expected);
    assert!(temporaries(&workspace.path("out")).is_empty());
}

#[test]
fn files_of_others_beside_an_output_are_left_alone() {
    let workspace = Workspace::new();
    workspace.write("games.wtb", WTHOR);
    let foreign =
        [".tmp-notes", ".tmp-folder/notes", ".tmpfile"].map(|name| plant(&workspace, name));
    workspace.done("dataset import games.wtb --format wthor --output imported");
    workspace.done("dataset import games.wtb --format wthor --output labeled --label-depth 1");
    assert!(foreign.iter().all(|path| path.exists()));
}

#[test]
fn a_registry_loses_its_dead_drafts_with_the_next_version() {
    let workspace = Workspace::new();
    let config = workspace.config("quick", "smoke", &QUICK);
    workspace.done(&format!("generate --config {config} --output data"));
    for (arguments, version) in [
        (
            format!("train --config {config} --dataset data --models registry"),
            "v0001",
        ),
        (
            format!("fit-mpc --config {config} --model v0001 --models registry --output mpc"),
            "v0002",
        ),
    ] {
        let dead = [
            ".tmp-dead01/model.json",
            ".tmp-renma-dead02.d/weights.parquet",
            ".tmp-renma-dead03",
        ];
        for name in dead {
            plant(&workspace, &format!("registry/{name}"));
        }
        let (claim, lock) = plant_living(&workspace, "registry/.tmp-renma-live01");
        let draft = plant(&workspace, "registry/.tmp-renma-live01.d/model.json");
        let sample = plant(&workspace, "mpc/samples/.tmp-dead");
        assert_eq!(workspace.done(&arguments), version);
        assert_eq!(
            temporaries(&workspace.path("registry")),
            [claim.clone(), draft.clone()],
            "{arguments}"
        );
        assert!(!sample.exists() || version == "v0001", "{arguments}");
        drop(lock);
        fs::remove_file(claim).unwrap();
        fs::remove_dir_all(draft.parent().unwrap()).unwrap();
    }
}

#[test]
fn clearing_away_sweeps_all_dead_drafts_of_a_run() {
    let workspace = Workspace::new();
    workspace.config("run", "smoke", &QUICK);
    let outcome = pipeline(&workspace, "--config configs/run.toml --generations 1");
    assert!(outcome.code.is_some(), "{}", outcome.stderr);
    let before = files(workspace.root());
    for name in [
        "models/run/.tmp-dead01/model.json",
        "models/run/.tmp-renma-dead02",
        "models/run/.tmp-renma-dead02.d/weights.parquet",
        "datasets/run/.tmp-dead03/positions/part-00000.parquet",
        "datasets/run/selfplay/.tmp-dead04/removed/manifest.json",
        "datasets/run/selfplay/generation=0001/games/.tmp-dead05",
        "datasets/run/gate/generation=0001/.tmp-dead06",
    ] {
        plant(&workspace, name);
    }
    let trained = Registry::new(&workspace.path("models/run"))
        .documents()
        .unwrap()
        .remove(0)
        .origin
        .step;
    let [learned, unfinished] = [&trained.short()[..], "000000000000"].map(|step| {
        plant(
            &workspace,
            &format!("models/run/.train.checkpoints/{step}/part-00000"),
        )
    });
    let planted = temporaries(&workspace.path(""));
    let (living, lock) = plant_living(
        &workspace,
        "datasets/run/selfplay/generation=0001/games/.tmp-live",
    );
    workspace.done("gc --config configs/run.toml --dry-run");
    assert_eq!(temporaries(&workspace.path("")).len(), planted.len() + 1);
    assert!(learned.exists());
    workspace.done("gc --config configs/run.toml");
    assert_eq!(temporaries(&workspace.path("")), [living]);
    assert!(
        !learned.exists() && unfinished.exists(),
        "only those of published models are done with"
    );
    drop(lock);
    workspace.done("gc --config configs/run.toml");
    assert!(temporaries(&workspace.path("")).is_empty());
    assert!(
        files(workspace.root()) == before,
        "more than drafts was removed"
    );
}

#[test]
fn two_trainings_of_one_step_make_one_version() {
    let workspace = Workspace::new();
    let config = workspace.config("quick", "smoke", &QUICK);
    workspace.done(&format!("generate --config {config} --output data"));
    let other = workspace.config(
        "other",
        "smoke",
        &[&QUICK[..], &[("run.seed", "2")]].concat(),
    );
    workspace.done(&format!(
        "train --config {other} --dataset data --models registry"
    ));
    // With so many versions a look at all takes longer than the moment in which a new one appears.
    let mut document: Value = read_sealed(&workspace.path("registry/v0001/model.json")).unwrap();
    for number in 2..=800 {
        let folder = workspace.path(&format!("registry/v{number:04}"));
        document["id"] = format!("v{number:04}").into();
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("model.json"), seal(&document)).unwrap();
    }
    let config = load_config(&workspace.path(&config)).unwrap();
    let data = workspace.path("data");
    let registry = Registry::new(&workspace.path("registry"));
    let task = TrainTask {
        config: config.config.train.clone(),
        seed: config.config.run.seed,
        generation: Generation(1),
        features: Arc::clone(&config.features),
        datasets: vec![data.into()],
        parent: None,
        registry: registry.clone(),
        memory: 0,
    };
    let context = context();
    let when_free = || loop {
        match train(&task, context) {
            Err(StageError::Artifact(ArtifactError::Busy { .. })) => {}
            other => return other.unwrap().id.to_string(),
        }
    };
    let ids = std::thread::scope(|scope| {
        let callers: Vec<_> = (0..3).map(|_| scope.spawn(when_free)).collect();
        callers
            .into_iter()
            .map(|caller| caller.join().unwrap())
            .collect::<Vec<_>>()
    });
    assert_eq!(
        (ids, registry.version_last().unwrap().map(VersionId::number)),
        (vec!["v0801".to_owned(); 3], Some(801))
    );
}

#[test]
fn a_published_folder_holds_no_lock_and_nothing_is_left_beside_it() {
    let workspace = Workspace::new();
    workspace.write("games.wtb", WTHOR);
    workspace.done("dataset import games.wtb --format wthor --output out/imported");
    let shown = files(&workspace.path("out"))
        .into_keys()
        .map(|name| workspace.path("out").join(name));
    assert_eq!(all_paths(&workspace.path("out")), shown.collect::<Vec<_>>());
}
