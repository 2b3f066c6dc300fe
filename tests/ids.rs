//! The ids of steps and recipes, by which everything that was made is found again.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use renma::artifact::model::reference::load_model;
use renma::artifact::{ContentHash, Dataset, Registry};
use renma::config::load_config;
use renma::pipeline::fit_mpc::task::FitMpcTask;
use renma::pipeline::gate::task::GateTask;
use renma::pipeline::generate::task::GenerateTask;
use renma::pipeline::train::task::TrainTask;
use renma::pipeline::{fit_mpc, gate, generate, train};
use std::path::Path;
use std::sync::Arc;

/// These ids may change only with a stage's algorithm version or the set of keys that a step depends on, and recipes with the
/// format of their datasets too. Everything made before then belongs to another step.
#[test]
fn step_and_recipe_ids_stay_what_they_are() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = load_config(&root.join("tests/data/every-key.toml")).unwrap();
    let nowhere = Path::new("nowhere");
    let registry = Registry::new(nowhere);
    let model = load_model("builtin:square-weights", nowhere).unwrap();
    let baseline = load_model("builtin:disc-count", nowhere).unwrap();
    let folder = root.join("datasets/yardstick");
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
        ("generate recipe", generate::recipe::recipe(&generate_task).hash),
        ("train step", train::recipe::step(&train_task, &train::recipe::contents(&[dataset])).id),
        ("fit-mpc step", fit_mpc::recipe::step(&fit_mpc_task).id),
        ("fit-mpc recipe", fit_mpc::recipe::recipe(&fit_mpc_task).hash),
        ("gate step", gate::recipe::step(&gate_task).unwrap().id),
        ("gate recipe", gate::recipe::recipe(&gate_task).unwrap().hash),
    ];
    let expected = [
        ("generate step", "33a05344369353af8219ee8ff56c2c7841a66ce0413ee36e4855bdf5f9aa65f4"),
        ("generate recipe", "ddf731ffc516065c2b736dafeed05ac5d75de96e70baa4d37b41eff59e12523d"),
        ("train step", "f4c8232a1eae8293aba969f9d8634566603d5c968749e97866a22ecb7cf91866"),
        ("fit-mpc step", "0ed1cb2227638b0db3ed560799c40bf4e7bb498cdb88fffc53f84aa8546fb97c"),
        ("fit-mpc recipe", "fad3e8bc754b1ad926407ca778831db61662ffc87a4a105edf0ecd2de6441a71"),
        ("gate step", "c8d1f58e868a865b4d50e60dc74fb8ff629169cf75817260998154aec1ea6fea"),
        ("gate recipe", "2ee34bccc57a55cbb8fe2d9a031477b8837dddd3bf150c7c70e3e68dc6f4c4d2"),
    ];
    assert_eq!(found.map(|(name, id)| (name, id.to_string())), expected.map(|(name, id)| (name, id.to_owned())));
}
