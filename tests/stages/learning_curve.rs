//! The learning curve of a training: it leaves the model as it is, resumes like it, and is printed as a table.

use crate::support::workspace::{Workspace, check_same};
use renma::artifact::{Dataset, Registry};
use renma::config::load_config;
use renma::pipeline::train::recipe::{contents, step};
use renma::pipeline::train::run::{epochs_done, train};
use renma::pipeline::train::task::TrainTask;
use renma::pipeline::{Context, Host, Progress, StageError};
use serde_json::Value;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// A dataset `data` and a config `on` that asks for the curve.
fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.config("on", "smoke", &[("train.learning_curve", "true")]);
    workspace.done("generate --config configs/on.toml --model builtin:square-weights --output data");
    workspace
}

fn document(workspace: &Workspace, version: &str) -> Value {
    serde_json::from_slice(&std::fs::read(workspace.path(version).join("model.json")).unwrap()).unwrap()
}

#[test]
fn a_curve_leaves_the_model_and_its_errors_as_they_are() {
    let workspace = workspace();
    workspace.config("off", "smoke", &[]);
    workspace.config("false", "smoke", &[("train.learning_curve", "false")]);
    for name in ["on", "off", "false"] {
        workspace.done(&format!("train --config configs/{name}.toml --dataset data --models {name}"));
    }
    let weights = |name: &str| std::fs::read(workspace.path(name).join("v0001/weights.parquet")).unwrap();
    assert!(weights("on") == weights("off"));
    let [mut on, off] = ["on/v0001", "off/v0001"].map(|version| document(&workspace, version));
    assert!(["config", "metrics"].iter().all(|table| off[table].get("learning_curve").is_none()));
    assert!(on["metrics"].as_object_mut().unwrap().remove("learning_curve").is_some());
    assert_eq!(on["metrics"], off["metrics"]);
    assert_ne!(on["step"], off["step"]);
    check_same(&workspace.path("off"), &workspace.path("false"), "a key that is named and off");
}

/// Raises a flag after some rows were learned, and counts the rows.
#[derive(Default)]
struct Stopper {
    rows_max: Option<u64>,
    task: Mutex<String>,
    total: AtomicU64,
    resumed: AtomicU64,
    learned: AtomicU64,
    budget_spent: AtomicBool,
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
        if *self.task.lock().unwrap() == "train" {
            let done = self.learned.fetch_add(items, Ordering::Relaxed) + items;
            if self.rows_max.is_some_and(|max| max <= done) {
                self.budget_spent.store(true, Ordering::Relaxed);
            }
        }
    }
}

/// Asks for something of the training that `on` describes.
fn with_task<T>(workspace: &Workspace, models: &Path, ask: impl FnOnce(&TrainTask) -> T) -> T {
    let config = load_config(&workspace.path("configs/on.toml")).unwrap();
    ask(&TrainTask {
        config: config.config.train,
        seed: 1,
        generation: 1,
        features: Arc::clone(&config.features),
        datasets: vec![workspace.path("data").into()],
        parent: None,
        registry: Registry::new(models),
        memory: 1 << 30,
    })
}

fn train_until(workspace: &Workspace, models: &Path, stopper: &Stopper, threads: usize) -> Result<(), StageError> {
    let (stop, budget_spent) = (AtomicBool::new(false), &stopper.budget_spent);
    let context = Context { threads, stop: &stop, budget_spent, progress: stopper, host: stopper };
    with_task(workspace, models, |task| train(task, context).map(|_| ()))
}

/// Epochs that `status` counts as done, of how many; `None` if nothing was learned.
fn epochs(workspace: &Workspace, models: &Path) -> Option<[u64; 2]> {
    let datasets = [Dataset::open(&workspace.path("data")).unwrap()];
    with_task(workspace, models, |task| epochs_done(task, step(task, &contents(&datasets)).id)).unwrap()
}

#[test]
fn a_training_that_is_stopped_in_its_learning_curve_resumes_there() {
    let workspace = workspace();
    let [whole, stopped] = ["whole", "stopped"].map(|name| workspace.path(name));
    let undisturbed = Stopper::default();
    train_until(&workspace, &whole, &undisturbed, 1).unwrap();
    let total = undisturbed.learned.into_inner();
    assert_eq!(undisturbed.total.into_inner(), total, "all visits are announced");
    assert_eq!(epochs(&workspace, &stopped), None);
    let (mut done, mut stops, mut counted) = (0, 0, 0);
    loop {
        let stopper = Stopper { rows_max: Some(1), ..Stopper::default() };
        let outcome = train_until(&workspace, &stopped, &stopper, 4);
        assert_eq!(stopper.resumed.into_inner(), done, "nothing is learned twice");
        done += stopper.learned.into_inner();
        match outcome {
            Err(StageError::BudgetSpent) => stops += 1,
            Ok(()) if done == total => break,
            other => panic!("{done} of {total} rows: {other:?}"),
        }
        let [now, all] = epochs(&workspace, &stopped).unwrap();
        assert!(counted < now && all == 16, "{counted} {now} {all}: four epochs of four trainings");
        counted = now;
    }
    // Four epochs of all games, four of nearly a third of them, and more.
    assert!(6 <= stops, "{stops}");
    check_same(&whole, &stopped, "stopped and undisturbed");
}

#[test]
fn the_table_is_printed_by_train_and_by_model_show() {
    let workspace = workspace();
    let trained = workspace.run("train --verbose --config configs/on.toml --dataset data --models registry");
    let shown = workspace.done("model show registry/v0001");
    for text in [&trained.stderr, &shown] {
        for words in ["\nlearning curve: ", "\n3 %", "\n100 %"] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
}
