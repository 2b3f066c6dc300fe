//! The diagnostics of a training: they leave the model as it is, resume like it, and are shown as text and as a picture.
#![allow(clippy::disallowed_methods, reason = "a test looks at files as it likes")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "support/workspace.rs"]
mod workspace;

use renma::artifact::dataset::folder::Dataset;
use renma::artifact::model::registry::Registry;
use renma::config::load_config;
use renma::pipeline::train::recipe::step;
use renma::pipeline::train::run::{epochs_done, train};
use renma::pipeline::train::task::TrainTask;
use renma::pipeline::{Context, Host, Progress, StageError};
use serde_json::Value;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use workspace::{Workspace, check_same};

/// The diagnostics, with few positions.
const ON: [(&str, &str); 3] =
    [("train.learning_curve", "true"), ("train.label_noise", "30"), ("train.consistency", "30")];

/// A dataset `data` and a config `on` that asks for all diagnostics.
fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.config("on", "smoke", &ON);
    workspace.done("generate --config configs/on.toml --model builtin:square-weights --output data");
    workspace
}

fn document(workspace: &Workspace, version: &str) -> Value {
    serde_json::from_slice(&std::fs::read(workspace.path(version).join("model.json")).unwrap()).unwrap()
}

#[test]
fn diagnostics_leave_the_model_and_its_errors_as_they_are() {
    let workspace = workspace();
    workspace.config("off", "smoke", &[]);
    let zero = [("train.learning_curve", "false"), ("train.label_noise", "0"), ("train.consistency", "0")];
    workspace.config("zero", "smoke", &zero);
    for name in ["on", "off", "zero"] {
        workspace.done(&format!("train --config configs/{name}.toml --dataset data --models {name}"));
    }
    let weights = |name: &str| std::fs::read(workspace.path(name).join("v0001/weights.parquet")).unwrap();
    assert!(weights("on") == weights("off"));
    let [mut on, off] = ["on/v0001", "off/v0001"].map(|version| document(&workspace, version));
    for key in ["learning_curve", "label_noise", "consistency"] {
        assert!(["config", "metrics"].iter().all(|table| off[table].get(key).is_none()), "{key}");
        assert!(on["metrics"].as_object_mut().unwrap().remove(key).is_some(), "{key}");
    }
    assert_eq!(on["metrics"], off["metrics"]);
    assert_ne!(on["step"], off["step"]);
    check_same(&workspace.path("off"), &workspace.path("zero"), "keys that are named and off");
}

/// Raises a flag after some rows were learned, or positions solved, and counts the rows.
#[derive(Default)]
struct Stopper {
    rows_max: Option<u64>,
    solved_max: Option<u64>,
    task: Mutex<String>,
    total: AtomicU64,
    resumed: AtomicU64,
    learned: AtomicU64,
    solved: AtomicU64,
    budget_spent: AtomicBool,
    stop: AtomicBool,
}

impl Host for Stopper {}

impl Progress for Stopper {
    fn begin(&self, task: &str, total: u64, _: &str) {
        task.clone_into(&mut self.task.lock().unwrap());
        if task == "train" {
            self.total.store(total, Ordering::Relaxed);
        }
    }

    fn resume(&self, items: u64) {
        self.resumed.fetch_add(items, Ordering::Relaxed);
    }

    fn advance(&self, items: u64) {
        let (count, max, flag) = match self.task.lock().unwrap().as_str() {
            "train" => (&self.learned, self.rows_max, &self.budget_spent),
            "solve" => (&self.solved, self.solved_max, &self.stop),
            _ => return,
        };
        let done = count.fetch_add(items, Ordering::Relaxed) + items;
        if max.is_some_and(|max| max <= done) {
            flag.store(true, Ordering::Relaxed);
        }
    }

    fn end(&self) {}
}

/// Asks for something of the training that `on` describes.
fn with_task<T>(workspace: &Workspace, models: &Path, ask: impl FnOnce(&TrainTask<'_>) -> T) -> T {
    let config = load_config(&workspace.path("configs/on.toml")).unwrap();
    ask(&TrainTask {
        config: &config.config.train,
        seed: 1,
        features: Arc::clone(&config.features),
        datasets: vec![&workspace.path("data")],
        parent: None,
        registry: &Registry::new(models),
        memory: 1 << 30,
    })
}

fn train_until(workspace: &Workspace, models: &Path, stopper: &Stopper, threads: usize) -> Result<(), StageError> {
    let Stopper { stop, budget_spent, .. } = stopper;
    let context = Context { threads, stop, budget_spent, progress: stopper, host: stopper };
    with_task(workspace, models, |task| train(task, context).map(|_| ()))
}

/// Epochs that `status` counts as done, of how many.
fn epochs(workspace: &Workspace, models: &Path) -> [u64; 2] {
    let datasets = [Dataset::open(&workspace.path("data")).unwrap()];
    with_task(workspace, models, |task| epochs_done(task, step(task, &datasets).id)).unwrap().unwrap()
}

#[test]
fn a_training_that_is_stopped_in_its_learning_curve_resumes_there() {
    let workspace = workspace();
    let [whole, stopped] = ["whole", "stopped"].map(|name| workspace.path(name));
    let undisturbed = Stopper::default();
    train_until(&workspace, &whole, &undisturbed, 1).unwrap();
    let total = undisturbed.learned.into_inner();
    assert_eq!(undisturbed.total.into_inner(), total, "all visits are announced");
    let (mut done, mut stops, mut counted) = (0, 0, 0);
    while done < total {
        let stopper = Stopper { rows_max: Some(1), ..Stopper::default() };
        match train_until(&workspace, &stopped, &stopper, 4) {
            Err(StageError::BudgetSpent) => stops += 1,
            other => panic!("{done} of {total} rows: {other:?}"),
        }
        assert_eq!(stopper.resumed.into_inner(), done, "nothing is learned twice");
        done += stopper.learned.into_inner();
        let [now, all] = epochs(&workspace, &stopped);
        assert!(counted < now && all == 16, "{counted} {now} {all}: four epochs of four trainings");
        counted = now;
    }
    assert_eq!(counted, 16);
    // Four epochs of all games, four of nearly a third of them, and more.
    assert!(6 <= stops, "{stops}");
    let stopper = Stopper { solved_max: Some(3), ..Stopper::default() };
    assert!(matches!(train_until(&workspace, &stopped, &stopper, 4), Err(StageError::Interrupted)));
    let stopper = Stopper::default();
    train_until(&workspace, &stopped, &stopper, 4).unwrap();
    assert_eq!(stopper.learned.into_inner(), 0, "the rows were learned before");
    check_same(&whole, &stopped, "stopped and undisturbed");
}

#[test]
fn tables_and_warnings_are_printed_by_train_and_by_model_show() {
    let workspace = workspace();
    let trained = workspace.run("train --verbose --config configs/on.toml --dataset data --models registry");
    let shown = workspace.done("model show registry/v0001");
    let metrics = &document(&workspace, "registry/v0001")["metrics"];
    let biases = metrics["consistency"].as_array().unwrap().iter().flat_map(|found| {
        ["even", "odd"].map(|parity| (&found["depth"], parity, found[parity]["bias"].as_f64().unwrap()))
    });
    let (beyond, within): (Vec<_>, Vec<_>) = biases.partition(|(_, _, bias)| 0.5 < bias.abs());
    assert!(!beyond.is_empty(), "one ply changes the values of weak models");
    let start = |depth: &Value, parity| {
        format!("warning: a search to depth {depth} changes the value of positions with an {parity} number")
    };
    for text in [&trained.stderr, &shown] {
        for words in ["\nlearning curve: ", "\nlabel noise: ", "\nconsistency: ", "\n3 %", "\n100 %"] {
            assert!(text.contains(words), "{words}: {text}");
        }
        for (depth, parity, bias) in &beyond {
            let warning = format!("{} of empty squares by {bias:+.2} discs", start(depth, parity));
            assert!(text.contains(&warning), "{warning}: {text}");
        }
        assert!(within.iter().all(|(depth, parity, _)| !text.contains(&start(depth, parity))), "{text}");
    }
}
