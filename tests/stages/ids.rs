//! The ids of steps and recipes, by which everything that was made is found again.

use renma::artifact::{Builtin, ContentHash, LoadedModel};
use renma::config::load_config;
use renma::pipeline::request::{Models, RequestDataset, Role};
use renma::pipeline::stage::Stage;
use std::path::Path;

/// These ids may change only with a stage's algorithm version or the set of keys that a step
/// depends on, and recipes with the format of their datasets too. Everything made before then
/// belongs to another step.
#[test]
fn step_and_recipe_ids_stay_what_they_are() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = load_config(&root.join("tests/data/every-key.toml")).unwrap();
    let [model, baseline] = [Builtin::SquareWeights, Builtin::DiscCount].map(LoadedModel::builtin);
    let mut dataset = RequestDataset::from(root.join("datasets/yardstick"));
    dataset.content = Some(dataset.content().unwrap());
    let models: Models<LoadedModel> = [
        (Role::Model, model.clone()),
        (Role::Parent, model.clone()),
        (Role::Candidate, model),
        (Role::Baseline, baseline),
    ]
    .into_iter()
    .collect();
    let ids = |stage, output: Option<&str>| {
        let mut request = config.request(stage, Path::new("nowhere"));
        request.seed = 1;
        request.datasets = vec![dataset.clone()];
        request.output = output.map(Into::into);
        let work = request.work(&models).unwrap();
        [work.step().unwrap().id, work.recipe().unwrap()]
    };
    let [generate, train, fit_mpc, gate] = [
        ids(Stage::Generate, Some("nowhere")),
        ids(Stage::Train, None),
        ids(Stage::FitMpc, None),
        ids(Stage::Gate, Some("nowhere")),
    ];
    let found: [(&str, ContentHash); 7] = [
        ("generate step", generate[0]),
        ("generate recipe", generate[1]),
        ("train step", train[0]),
        ("fit-mpc step", fit_mpc[0]),
        ("fit-mpc recipe", fit_mpc[1]),
        ("gate step", gate[0]),
        ("gate recipe", gate[1]),
    ];
    let expected = [
        (
            "generate step",
            "c7f0977a8439328b8451f1cd83fb8d60e70c6ff1ab20034521033b568b8c21a4",
        ),
        (
            "generate recipe",
            "3c8d58d29e558656bc53f03e3abc56855e022cfb0b288f7c48e2f412041e5320",
        ),
        (
            "train step",
            "70cea4be7a0c5d2aacbdc613f55d9d014e9e3f7fd883ab9dee95cffc590a10ac",
        ),
        (
            "fit-mpc step",
            "0ed1cb2227638b0db3ed560799c40bf4e7bb498cdb88fffc53f84aa8546fb97c",
        ),
        (
            "fit-mpc recipe",
            "fad3e8bc754b1ad926407ca778831db61662ffc87a4a105edf0ecd2de6441a71",
        ),
        (
            "gate step",
            "c8d1f58e868a865b4d50e60dc74fb8ff629169cf75817260998154aec1ea6fea",
        ),
        (
            "gate recipe",
            "2ee34bccc57a55cbb8fe2d9a031477b8837dddd3bf150c7c70e3e68dc6f4c4d2",
        ),
    ];
    assert_eq!(
        found.map(|(name, id)| (name, id.to_string())),
        expected.map(|(name, id)| (name, id.to_owned()))
    );
}
