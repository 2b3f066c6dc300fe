//! What was made in older formats is read, checked, trained on and continued, and never made again.
#![allow(clippy::disallowed_methods, reason = "a test looks at files as it likes")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "support/workspace.rs"]
mod workspace;

use renma::artifact::dataset::folder::Dataset;
use renma::artifact::dataset::games::GameRow;
use renma::artifact::dataset::manifest::{DatasetKind, Manifest};
use renma::artifact::dataset::positions::PositionRow;
use renma::artifact::dataset::recipe::Recipe;
use renma::artifact::hash::ContentHash;
use renma::artifact::model::reference::load_model;
use renma::artifact::model::registry::Registry;
use renma::artifact::step::settings_hash;
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

/// A workspace with a dataset of format 1, and a config.
fn old_dataset() -> (Workspace, String) {
    let workspace = Workspace::new();
    copy_folder(&test_data("selfplay-1"), &workspace.path("old"));
    assert_eq!(Manifest::read(&workspace.path("old"), DatasetKind::Selfplay).unwrap().format, 1);
    let config = workspace.config("run", "smoke", &[("train.validation", "0.0")]);
    (workspace, config)
}

/// Another algorithm plays other games.
fn not_played_again(workspace: &Workspace, dataset: &str) {
    let outcome = workspace.run(&format!("dataset verify {dataset} --remake 100%"));
    assert_eq!(outcome.code, Some(65), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("algorithm 1 made its games, this renma has algorithm 2"), "{}", outcome.stderr);
}

#[test]
fn a_dataset_of_format_1_is_checked_rewritten_by_merge_and_trained_on() {
    let (workspace, config) = old_dataset();
    workspace.done("dataset verify old --resolve 100%");
    not_played_again(&workspace, "old");
    workspace.done("dataset merge old --output new");
    workspace.done("dataset verify new");
    let new = Manifest::read(&workspace.path("new"), DatasetKind::Selfplay).unwrap();
    assert_eq!(new.format, DatasetKind::Selfplay.format());
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
fn self_play_neither_resumes_nor_changes_a_dataset_of_format_1() {
    let (workspace, config) = old_dataset();
    for _ in 0..2 {
        let before = files(&workspace.path("old"));
        let outcome = workspace.run(&format!("generate --config {config} --output old"));
        assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
        let formats = format!("format is 1 there and {} here", DatasetKind::Selfplay.format());
        assert!(outcome.stderr.contains(&formats), "{}", outcome.stderr);
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
                workspace.done(&format!("dataset verify {}", path.display()));
                not_played_again(&workspace, &path.display().to_string());
            }
        }
    }
    let data = |name: &str| files(&workspace.path(name)).into_iter().filter(|(name, _)| !name.contains(".lock"));
    let before: Vec<_> = data("datasets").chain(data("models/run-1")).collect();
    // Its gate and its searches had numbers that are fixed to others now.
    let refused = pipeline(&workspace, "--config configs/run-1.toml --generations 3");
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    for words in ["gate.interval is 0.1 in the run and nothing in the config", "generate.table_bits is 12 in the run"] {
        assert!(refused.stderr.contains(words), "{}", refused.stderr);
    }
    let outcome = pipeline(&workspace, "--config configs/run-1.toml --generations 3 --from-next");
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let after: Vec<_> = data("datasets").chain(data("models/run-1")).collect();
    for (name, bytes) in &before {
        let is_kept = !["run.json", "report.html", "champion.json", "run.log"].contains(&name.as_str())
            && !name.starts_with("config");
        let same = after.iter().any(|(other, others)| name == other && bytes == others);
        assert!(!is_kept || same, "{name} has changed");
    }
    assert!(workspace.path("datasets/run-1/gate/generation=0003/verdict.json").exists());
    assert_eq!(states(&workspace), expected);
}

/// The id that a recipe has in this format; every new column is another format.
fn recipe_in(format: u32, mut recipe: Recipe) -> ContentHash {
    assert_eq!(recipe.hash, settings_hash("recipe", &recipe.settings));
    let (_, value) = recipe.settings.iter_mut().find(|(name, _)| name == "format").unwrap();
    *value = format.to_string();
    settings_hash("recipe", &recipe.settings)
}

/// These ids may change only with a stage's algorithm version or the set of keys that a step depends on, and recipes with the
/// format of their datasets too. Everything made before then belongs to another step.
#[test]
fn step_and_recipe_ids_stay_what_they_are() {
    let config = load_config(&test_data("every-key.toml")).unwrap();
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
        memory: 0,
    };
    let fit_mpc_task = FitMpcTask {
        config: &config.config.fit_mpc,
        seed: 1,
        generation: 1,
        model: &model,
        registry: &registry,
        output: None,
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
        ("generate recipe", recipe_in(2, generate::recipe::recipe(&generate_task))),
        ("train step", train::recipe::step(&train_task, &[dataset]).id),
        ("fit-mpc step", fit_mpc::recipe::step(&fit_mpc_task).id),
        ("fit-mpc recipe", recipe_in(3, fit_mpc::recipe::recipe(&fit_mpc_task))),
        ("gate step", gate::recipe::step(&gate_task).unwrap().id),
        ("gate recipe", recipe_in(2, gate::recipe::recipe(&gate_task).unwrap())),
    ];
    let expected = [
        ("generate step", "f927f560299af98436a498b189229b1275cf93111aac3552a2a9c2203fb599fc"),
        ("generate recipe", "f46fa385064ffc67b8f5111de8fb3e171404c53ad0a900ecc567e7d84005d437"),
        ("train step", "eb0d640881906cd6312184f5ddb333d9cdcd49e15674cb358885c7c8561f1c22"),
        ("fit-mpc step", "469a794e927e440b142d4f945def5d3c3cc1f3bb0f1ab2967088f81aed9063ae"),
        ("fit-mpc recipe", "d08573a92cd9ebfbe618bad88ab186d3ba0a80fd24d1d75c180c07a26708ab2b"),
        ("gate step", "b6987d593b2fd85fc5af4268c2f5e1c4e7f67824c637e4d5d84e35150d79b6f1"),
        ("gate recipe", "2740e20e8d06500a4f6efcdfcfb0774793eb5fdc32a92db094b9641e7d5e6dc8"),
    ];
    assert_eq!(found.map(|(name, id)| (name, id.to_string())), expected.map(|(name, id)| (name, id.to_owned())));
}
