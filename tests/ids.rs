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
        ("train step", train::recipe::step(&train_task, &[dataset]).id),
        ("fit-mpc step", fit_mpc::recipe::step(&fit_mpc_task).id),
        ("fit-mpc recipe", fit_mpc::recipe::recipe(&fit_mpc_task).hash),
        ("gate step", gate::recipe::step(&gate_task).unwrap().id),
        ("gate recipe", gate::recipe::recipe(&gate_task).unwrap().hash),
    ];
    let expected = [
        ("generate step", "f927f560299af98436a498b189229b1275cf93111aac3552a2a9c2203fb599fc"),
        ("generate recipe", "98875cd18bb45ab5d996d194c07a32f5c84ad52d7ac0109c63ea8f3c107cb8bc"),
        ("train step", "7c33110e588c09cda40e59dc163acdc0772429d678fa9a45cccb19c39d5dc396"),
        ("fit-mpc step", "c55983d2bbba3c91215ed1141b3590ad5bc81ae5dcdf319b8dd4aa0c76c01ebe"),
        ("fit-mpc recipe", "1c1e237f8702b2c459403edefc11365b585049568dd8470783319d1ba7be3b9a"),
        ("gate step", "0310e52c7804618973be50a1e3f0ca2a4c4747475de140d9ae0ce47940c7c52a"),
        ("gate recipe", "28e9c43e1868aa69777d8e58f1879dfeb1dfb1c973fcc1bb3ebbe9296c590316"),
    ];
    assert_eq!(found.map(|(name, id)| (name, id.to_string())), expected.map(|(name, id)| (name, id.to_owned())));
}
