//! Promotions and rollbacks in any order, against a list of them.

use crate::support::plain::{Purpose, Stream};
use crate::support::tables::read_json;
use crate::support::workspace::{ONE_PLY, Workspace};
use serde_json::{Value, json};
use std::path::Path;

const VERSIONS: [&str; 3] = ["v0001", "v0002", "v0003"];

/// A gate: its folder, who was judged, and whether it was accepted.
struct Gate {
    folder: String,
    candidate: &'static str,
    accepted: bool,
    step: Value,
}

/// Three versions of one registry, each accepted by a gate of its own, the last one rejected by
/// another.
fn gates(workspace: &Workspace) -> Vec<Gate> {
    for (seed, id) in ["1", "2", "3"].into_iter().zip(VERSIONS) {
        let config = workspace.config(
            "fit",
            "smoke",
            &[&ONE_PLY[..], &[("run.seed", seed)]].concat(),
        );
        let call =
            format!("fit-mpc --config {config} --model builtin:square-weights --models models/run");
        assert_eq!(workspace.done(&call), id);
    }
    let strong = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/model")
        .display()
        .to_string();
    let config = workspace.config(
        "gate",
        "smoke",
        &[&ONE_PLY[..], &[("gate.games", "40")]].concat(),
    );
    let rejected = [(VERSIONS[2], strong.as_str(), false)];
    let accepted = VERSIONS.map(|id| (id, "builtin:disc-count", true));
    let gate = |(number, (candidate, baseline, accepted)): (usize, (&'static str, &str, bool))| {
        let folder = format!("gate{number}");
        let call = format!(
            "gate --config {config} --candidate models/run/{candidate} --baseline {baseline}"
        );
        let outcome = workspace.run(&format!("{call} --output {folder}"));
        assert_eq!(
            outcome.code,
            Some(if accepted { 0 } else { 10 }),
            "{call}\n{}",
            outcome.stderr
        );
        let step = read_json(&workspace.path(&folder).join("verdict.json"))["step"].clone();
        Gate {
            folder,
            candidate,
            accepted,
            step,
        }
    };
    accepted
        .into_iter()
        .chain(rejected)
        .enumerate()
        .map(gate)
        .collect()
}

#[test]
fn the_champion_is_the_last_of_the_promotions_that_stand() {
    let workspace = Workspace::new();
    let gates = gates(&workspace);
    let contents = VERSIONS.map(|id| {
        read_json(&workspace.path("models/run").join(id).join("model.json"))["content"].clone()
    });
    let (mut history, mut acted): (Vec<Value>, Vec<Value>) = (Vec::new(), Vec::new());
    let mut rng = Stream::new(1, Purpose::Game, [0, 0]);
    for call in 0..100 {
        let version = rng.below(3);
        let gate = (rng.below(2) == 0).then(|| &gates[rng.below(gates.len())]);
        let rollback = rng.below(4) == 0;
        let is_champion = history
            .last()
            .is_some_and(|last| last["id"] == VERSIONS[version]);
        let allowed = gate.is_none_or(|gate| gate.accepted && gate.candidate == VERSIONS[version]);
        let step = gate.map(|gate| gate.step.clone());
        let (arguments, succeeds) = if rollback {
            (
                "--rollback --models models/run".to_owned(),
                history.pop().is_some(),
            )
        } else {
            // A verdict acts once: what was taken back since, it does not promote again.
            let is_spent = step.as_ref().is_some_and(|step| acted.contains(step))
                && !history
                    .iter()
                    .any(|promotion| promotion["id"] == VERSIONS[version]);
            if allowed && !step.as_ref().is_some_and(|step| acted.contains(step)) {
                if !is_champion {
                    history.push(json!({ "id": VERSIONS[version], "content": contents[version], "gate": step }));
                }
                acted.extend(step);
            }
            let verdict = gate.map_or(String::new(), |gate| format!("--verdict {}", gate.folder));
            (
                format!("models/run/{} {verdict}", VERSIONS[version]),
                allowed && !is_spent,
            )
        };
        let outcome = workspace.run(&format!("promote {arguments}"));
        assert_eq!(
            outcome.code == Some(0),
            succeeds,
            "call {call}: promote {arguments}\n{}",
            outcome.stderr
        );
        let path = workspace.path("models/run/champion.json");
        if path.exists() {
            let found = read_json(&path);
            assert_eq!(
                found["history"],
                json!(history),
                "call {call}: promote {arguments}"
            );
            assert_eq!(
                found["acted"],
                json!(acted),
                "call {call}: promote {arguments}"
            );
        } else {
            assert!(history.is_empty(), "call {call}: promote {arguments}");
        }
    }
    assert_eq!(acted.len(), 3);
}
