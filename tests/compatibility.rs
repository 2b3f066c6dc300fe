//! What was made in older formats is read, checked, trained on and continued, and never made again.
#![allow(clippy::disallowed_methods, reason = "a test looks at files as it likes")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "support/workspace.rs"]
mod workspace;

use renma::artifact::dataset::folder::Dataset;
use renma::artifact::dataset::games::GameRow;
use renma::artifact::dataset::manifest::{DatasetKind, Manifest};
use renma::artifact::dataset::positions::PositionRow;
use renma::artifact::hash::ContentHash;
use renma::artifact::model::reference::load_model;
use renma::artifact::model::registry::Registry;
use renma::config::load_config;
use renma::pipeline::fit_mpc::task::FitMpcTask;
use renma::pipeline::gate::task::GateTask;
use renma::pipeline::generate::task::GenerateTask;
use renma::pipeline::train::task::TrainTask;
use renma::pipeline::{fit_mpc, gate, generate, train};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use workspace::{Workspace, copy_folder, files, pipeline};

fn test_data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn rows(folder: &Path) -> (Vec<PositionRow>, Vec<GameRow>) {
    let dataset = Dataset::open(folder).unwrap();
    let parts = 0..dataset.part_count();
    let games = parts.clone().flat_map(|part| dataset.game_rows(part).unwrap().unwrap()).collect();
    (parts.flat_map(|part| dataset.rows(part).unwrap()).collect(), games)
}

/// A workspace with a dataset of format 1 and the config that made it.
fn old_dataset() -> (Workspace, String) {
    let workspace = Workspace::new();
    copy_folder(&test_data("selfplay-1"), &workspace.path("old"));
    let manifest = Manifest::read(&workspace.path("old"), DatasetKind::Selfplay).unwrap();
    assert_eq!(manifest.format, 1);
    let keys = manifest.config.as_object().unwrap().iter();
    let keys: Vec<(String, String)> = keys.map(|(key, value)| (format!("generate.{key}"), value.to_string())).collect();
    let mut changes: Vec<(&str, &str)> = keys.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    changes.push(("train.validation", "0.0"));
    let config = workspace.config("same", "smoke", &changes);
    (workspace, config)
}

#[test]
fn a_dataset_of_format_1_is_checked_read_and_trained_on() {
    let (workspace, config) = old_dataset();
    workspace.done("dataset verify old --remake 100% --resolve 100%");
    workspace.done(&format!("generate --config {config} --output new"));
    assert_eq!(rows(&workspace.path("old")), rows(&workspace.path("new")));
    for name in ["old", "new"] {
        workspace.done(&format!("train --config {config} --dataset {name} --models {name}-models"));
    }
    let weights = |name: &str| {
        let registry = Registry::new(&workspace.path(&format!("{name}-models")));
        registry.documents().unwrap()[0].weights
    };
    assert_eq!(weights("old"), weights("new"));
}

#[test]
fn a_dataset_of_format_1_is_rewritten_by_merge() {
    let (workspace, _) = old_dataset();
    workspace.done("dataset merge old --output merged");
    workspace.done("dataset verify merged");
    assert_eq!(Manifest::read(&workspace.path("merged"), DatasetKind::Selfplay).unwrap().format, 2);
    assert_eq!(rows(&workspace.path("old")), rows(&workspace.path("merged")));
}

#[test]
fn self_play_neither_resumes_nor_changes_a_dataset_of_format_1() {
    let (workspace, config) = old_dataset();
    for _ in 0..2 {
        let before = files(&workspace.path("old"));
        let outcome = workspace.run(&format!("generate --config {config} --output old"));
        assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("format is 1 there and 2 here"), "{}", outcome.stderr);
        assert!(before == files(&workspace.path("old")), "a file has changed");
        // The same of parts without a manifest.
        std::fs::remove_file(workspace.path("old/manifest.json")).unwrap_or_default();
    }
}

/// Stage, state and step of each stage of the first two generations.
fn states(workspace: &Workspace) -> Vec<(String, String, Option<String>)> {
    let status = workspace.done("status --config configs/run-1.toml --json");
    let status: Value = serde_json::from_str(&status).unwrap();
    let states = status["stage_states"].as_array().unwrap();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let states = states.iter().filter(|state| state["generation"].as_u64().unwrap() <= 2);
    states.map(|state| (text(&state["stage"]).unwrap(), text(&state["state"]).unwrap(), text(&state["step"]))).collect()
}

#[test]
fn a_run_in_older_formats_is_done_under_its_recorded_ids_and_continues() {
    let workspace = Workspace::new();
    copy_folder(&test_data("run-1"), workspace.root());
    let sealed =
        |path: String| -> Value { serde_json::from_slice(&std::fs::read(workspace.path(&path)).unwrap()).unwrap() };
    let step = |path: String| sealed(path)["step"].as_str().map(str::to_owned);
    let expected: Vec<_> = (1..=2)
        .flat_map(|generation| {
            let version = |number: u32| step(format!("models/run-1/v{number:04}/model.json"));
            let verdict = step(format!("datasets/run-1/gate/generation={generation:04}/verdict.json"));
            let steps = [None, version(2 * generation - 1), version(2 * generation), verdict];
            ["generate", "train", "fit-mpc", "gate"].map(str::to_owned).into_iter().zip(steps)
        })
        .map(|(stage, step)| (stage, "done".to_owned(), step))
        .collect();
    assert_eq!(states(&workspace), expected);
    for folder in ["selfplay", "mpc", "gate"] {
        for generation in ["generation=0001", "generation=0002"] {
            let path = workspace.path(&format!("datasets/run-1/{folder}/{generation}"));
            Manifest::read_any(&path).unwrap();
            if folder == "selfplay" {
                workspace.done(&format!("dataset verify {} --remake 100%", path.display()));
            }
        }
    }
    let data = |name: &str| files(&workspace.path(name)).into_iter().filter(|(name, _)| !name.contains(".lock"));
    let before: Vec<_> = data("datasets").chain(data("models/run-1")).collect();
    let outcome = pipeline(&workspace, "--config configs/run-1.toml --generations 3");
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let after: Vec<_> = data("datasets").chain(data("models/run-1")).collect();
    for (name, bytes) in &before {
        let is_kept = !["run.json", "champion.json", "run.log"].contains(&name.as_str()) && !name.starts_with("config");
        let same = after.iter().any(|(other, others)| name == other && bytes == others);
        assert!(!is_kept || same, "{name} has changed");
    }
    assert!(workspace.path("datasets/run-1/gate/generation=0003/verdict.json").exists());
    assert_eq!(states(&workspace), expected);
}

/// These ids may change only with a stage's algorithm version, a format version, a key of the config that a step depends on,
/// or the value of such a key in `smoke.toml`: everything made before is then another step's result.
#[test]
fn step_and_recipe_ids_stay_what_they_are() {
    let config = load_config(&Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/smoke.toml")).unwrap();
    let nowhere = Path::new("nowhere");
    let registry = Registry::new(nowhere);
    let model = load_model("builtin:square-weights", nowhere).unwrap();
    let baseline = load_model("builtin:disc-count", nowhere).unwrap();
    let folder = test_data("selfplay-1");
    let dataset = Dataset::open(&folder).unwrap();
    let avoid = [folder.clone()];
    let generate_task = GenerateTask {
        config: &config.config.generate,
        book: None,
        seed: 1,
        generation: 1,
        model: &model,
        output: nowhere,
    };
    let train_task = TrainTask {
        config: &config.config.train,
        seed: 1,
        features: Arc::clone(&config.features),
        datasets: vec![&folder],
        parent: Some(&model),
        registry: &registry,
    };
    let fit_mpc_task = FitMpcTask {
        config: &config.config.fit_mpc,
        seed: 1,
        generation: 1,
        model: &model,
        registry: &registry,
        output: None,
        report: None,
    };
    let gate_task = GateTask {
        config: &config.config.gate,
        seed: 1,
        generation: 1,
        candidate: &model,
        baseline: &baseline,
        avoid: &avoid,
        output: nowhere,
        remake: false,
    };
    let found: [(&str, ContentHash); 7] = [
        ("generate step", generate::recipe::step(&generate_task).id),
        ("generate recipe", generate::recipe::recipe(&generate_task).hash),
        ("train step", train::run::step(&train_task, &[dataset]).id),
        ("fit-mpc step", fit_mpc::recipe::step(&fit_mpc_task).id),
        ("fit-mpc recipe", fit_mpc::recipe::recipe(&fit_mpc_task).hash),
        ("gate step", gate::recipe::step(&gate_task).unwrap().id),
        ("gate recipe", gate::recipe::recipe(&gate_task).unwrap().hash),
    ];
    let expected = [
        ("generate step", "a55b3838cdc0663c6975dccd7aadb0bba9b3235428ae7a6f15d19ebe9e3971d7"),
        ("generate recipe", "94f347d1ae0a38652843870695dd09c19c815a87123d4595de91e7b6f4e32a33"),
        ("train step", "2fe47ce94fb3eced65f969f6c4dc21258950fa976642e63f7154ebd7016a2118"),
        ("fit-mpc step", "11ed2b642721cd43fe950cccdbcfcd944eaf11f2aa57f362cdd795639befabf7"),
        ("fit-mpc recipe", "aa7c7cf7e3a04b8c05d0ab7a21391086a59871fe162d0bca0a35f6d4540e6879"),
        ("gate step", "e9411bd295fc1bf31d42584691788e86360d3a0f9a5919eada54a63ee28227ba"),
        ("gate recipe", "d8a193aa47e2016c995ff738cc26772a2dba0f4de9c2c709d529ef8d61b62e25"),
    ];
    assert_eq!(found.map(|(name, id)| (name, id.to_string())), expected.map(|(name, id)| (name, id.to_owned())));
}
