//! The ids of steps and recipes, by which everything that was made is found again.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use renma::artifact::dataset::folder::Dataset;
use renma::artifact::hash::ContentHash;
use renma::artifact::model::reference::load_model;
use renma::artifact::model::registry::Registry;
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
        ("train step", train::recipe::step(&train_task, &[dataset]).id),
        ("fit-mpc step", fit_mpc::recipe::step(&fit_mpc_task).id),
        ("fit-mpc recipe", fit_mpc::recipe::recipe(&fit_mpc_task).hash),
        ("gate step", gate::recipe::step(&gate_task).unwrap().id),
        ("gate recipe", gate::recipe::recipe(&gate_task).unwrap().hash),
    ];
    let expected = [
        ("generate step", "f927f560299af98436a498b189229b1275cf93111aac3552a2a9c2203fb599fc"),
        ("generate recipe", "f46fa385064ffc67b8f5111de8fb3e171404c53ad0a900ecc567e7d84005d437"),
        ("train step", "1af2d23cf6172f1856c725e1c90ec5cfa0fb3484a6a4bfeb6c3e087c7dbf5f98"),
        ("fit-mpc step", "469a794e927e440b142d4f945def5d3c3cc1f3bb0f1ab2967088f81aed9063ae"),
        ("fit-mpc recipe", "d08573a92cd9ebfbe618bad88ab186d3ba0a80fd24d1d75c180c07a26708ab2b"),
        ("gate step", "6823979e47b746810f35661f5b8ce5e1ebe0c481234cd78064efa64d5b31660e"),
        ("gate recipe", "2107f1dc107ca81ff49c6c367771ad952752520139aebe1ea4c18ec308123190"),
    ];
    assert_eq!(found.map(|(name, id)| (name, id.to_string())), expected.map(|(name, id)| (name, id.to_owned())));
}
