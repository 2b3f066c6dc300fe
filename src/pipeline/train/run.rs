//! Training from beginning to end.

use super::checkpoint::Checkpoint;
use super::curve::Curve;
use super::diagnostics::{consistency, label_noise};
use super::learner::Learner;
use super::metrics::{judge, judge_evaluation};
use super::parts::{Plan, phase_empties};
use super::rows::{CURVE_SHARES, TrainingSet, read_rows};
use super::task::{ALGORITHM, Start, Target, TrainMetrics, TrainReport, TrainTask};
use crate::artifact::dataset::folder::Dataset;
use crate::artifact::dataset::positions::POSITIONS;
use crate::artifact::error::ArtifactError;
use crate::artifact::hash::ContentHash;
use crate::artifact::lock::{FolderLock, TRAIN_LOCK_NAME};
use crate::artifact::model::document::{DatasetEntry, ModelKind, Origin, dataset_setting};
use crate::artifact::model::reference::LoadedModel;
use crate::artifact::model::version::{Model, pattern_set_hash};
use crate::artifact::publish::temporary::sweep;
use crate::artifact::step::Step;
use crate::engine::eval::evaluation::Evaluation;
use crate::engine::eval::pattern_set::EMPTIES_MAX;
use crate::pipeline::{Context, StageError};
use std::sync::Arc;

/// Trains a new version, unless the registry holds it already.
///
/// # Errors
///
/// A bad setting, a missing or damaged dataset, no rows, or whatever the system refuses.
pub fn train(task: &TrainTask<'_>, context: Context<'_>) -> Result<TrainReport, StageError> {
    task.config.check()?;
    if task.datasets.is_empty() {
        return Err(StageError::Setting("no dataset is named: add --dataset DIR".into()));
    }
    let datasets = task.datasets.iter().map(|folder| Dataset::open(folder)).collect::<Result<Vec<_>, _>>()?;
    let step = step(task, &datasets).id;
    if let Some(made) = task.registry.made_by(step)? {
        return skipped(made);
    }
    context.check_budget()?;
    let _lock = FolderLock::take_named(task.registry.folder(), TRAIN_LOCK_NAME)?;
    // Another training of this step may have ended between the look and the lock.
    if let Some(made) = task.registry.made_by(step)? {
        return skipped(made);
    }
    sweep(task.registry.folder())?;
    let checkpoint = Checkpoint::new(task, step);
    let (model, metrics) = context.pool()?.install(|| {
        let set = read_rows(task, &datasets, context)?;
        if set.training.is_empty() {
            return Err(no_rows(task, &set));
        }
        fit_from(task, &set, Some(&checkpoint), context)
    })?;
    let origin = Origin {
        kind: ModelKind::Draft,
        stage: "train".into(),
        step,
        algorithm: ALGORITHM,
        parent: task.parent.map(LoadedModel::as_reference),
        datasets: datasets.iter().map(dataset_entry).collect(),
        config: serde_json::to_value(task.config).expect("a config is plain data"),
        metrics: serde_json::to_value(&metrics).expect("figures are plain data"),
    };
    context.check()?;
    let id = task.registry.publish(&model, &origin)?.to_string();
    checkpoint.remove()?;
    Ok(TrainReport { skipped: false, id, content: model.content_hash(), metrics })
}

pub(super) fn no_rows(task: &TrainTask<'_>, set: &TrainingSet) -> StageError {
    let names: Vec<String> = task.datasets.iter().map(|folder| folder.display().to_string()).collect();
    let (min, max) = (task.config.empties_min, task.config.empties_max);
    let mut text = format!("cannot train: {} has no rows with {min} to {max} empty squares", names.join(", "));
    if 0 < set.unlabeled {
        let (target, column) = match task.config.target {
            Target::Result {} => ("result", "`result`"),
            Target::Score {} => ("score", "`score`"),
            Target::Td { .. } => ("td", "`score`"),
        };
        text += &format!(
            " and a value in {column}, which train.target = \"{target}\" needs: {} rows lack it\n\
             choose another train.target, or import with --label-depth",
            set.unlabeled
        );
    }
    StageError::NoRows(text)
}

pub(super) fn skipped(made: LoadedModel) -> Result<TrainReport, StageError> {
    let document = made.document.expect("a version has a document");
    let metrics = serde_json::from_value(document.origin.metrics).map_err(|error| {
        let path = made.folder.unwrap_or_default().join("model.json");
        ArtifactError::unfit(&path, format!("its figures are not those of this renma: {error}"))
    })?;
    Ok(TrainReport { skipped: true, id: made.id.to_string(), content: made.content, metrics })
}

/// The step that a task is: the version that it makes names it.
#[must_use]
pub fn step(task: &TrainTask<'_>, datasets: &[Dataset]) -> Step {
    let parent = task.parent.map_or("none".to_owned(), |parent| parent.content.to_string());
    let mut inputs = vec![
        ("seed", task.seed.to_string()),
        ("features", pattern_set_hash(&task.features).to_string()),
        ("parent", parent),
    ];
    inputs.extend(datasets.iter().map(|dataset| ("dataset", dataset.manifest().content.to_string())));
    let mut step = Step::new("train", ALGORITHM, task.config, &inputs);
    let named = step.settings.iter_mut().filter(|(name, _)| name == "dataset");
    named.zip(1..).zip(datasets).for_each(|((setting, number), dataset)| {
        *setting = dataset_setting(number, dataset.manifest().content);
    });
    step
}

pub(super) fn dataset_entry(dataset: &Dataset) -> DatasetEntry {
    let manifest = dataset.manifest();
    DatasetEntry {
        generation: manifest.generation,
        recipe: manifest.recipe,
        content: manifest.content,
        games: manifest.done,
        positions: manifest.rows(POSITIONS.name),
    }
}

/// How much of a training that was stopped is done, if there is one: epochs of its parts, and how many there are.
///
/// # Errors
///
/// Whatever the system refuses.
pub fn epochs_done(task: &TrainTask<'_>, step: ContentHash) -> Result<Option<[u64; 2]>, ArtifactError> {
    let trainings = if task.config.learning_curve { 1 + CURVE_SHARES.len() } else { 1 };
    let parts = trainings * Plan::new(&task.features, task.config).parts().len();
    let numbers: Vec<u32> = (0..parts as u32).collect();
    let all = parts as u64 * u64::from(task.config.epochs);
    let done = Checkpoint::new(task, step).epochs(&numbers)?;
    Ok(done.map(|done| [done, all]))
}

/// The weights and visits that training begins with. A phase begins with those of the parent's phase at the middle of its
/// range.
pub(super) fn initial_model(task: &TrainTask<'_>) -> Model {
    let set = &task.features;
    let inherited = task
        .parent
        .map(|parent| &parent.model)
        .filter(|parent| task.config.start == Start::Parent && parent.evaluation.set().patterns() == set.patterns());
    let Some(parent) = inherited else {
        let evaluation = Evaluation::zero(Arc::clone(set));
        let visits = vec![0; evaluation.weights().len()];
        return Model::draft(evaluation, visits);
    };
    let theirs = parent.evaluation.set();
    let (mut weights, mut visits) = (Vec::new(), Vec::new());
    for phase in 0..set.phase_count() {
        let empties = phase_empties(set, phase);
        let middle = (empties.start() + empties.end()) / 2;
        let features = theirs.phase(middle) * set.feature_count()..(theirs.phase(middle) + 1) * set.feature_count();
        weights.extend_from_slice(&parent.evaluation.weights()[features.clone()]);
        visits.extend_from_slice(&parent.visits[features]);
    }
    let evaluation = Evaluation::new(Arc::clone(set), weights).expect("the parent's mirrors are equal");
    Model::draft(evaluation, visits)
}

/// Trains on rows that were read: the model and its figures.
///
/// # Errors
///
/// [`StageError::Interrupted`], or threads that do not start.
pub fn fit(task: &TrainTask<'_>, set: &TrainingSet, context: Context<'_>) -> Result<(Model, TrainMetrics), StageError> {
    fit_from(task, set, None, context)
}

/// As [`fit`], resuming after what a checkpoint contains and keeping it up to date.
pub(super) fn fit_from(
    task: &TrainTask<'_>,
    set: &TrainingSet,
    checkpoint: Option<&Checkpoint>,
    context: Context<'_>,
) -> Result<(Model, TrainMetrics), StageError> {
    let initial = initial_model(task);
    let baseline = task.parent.map_or(&initial.evaluation, |parent| &parent.model.evaluation);
    let before = judge_evaluation(baseline, set, context)?;
    let learner = learner(task, set, checkpoint, context);
    let curve = Curve { task, set, checkpoint, context };
    context.progress.begin("train", learner.visits() + curve.visits(), "rows");
    let learned = learner.run(&initial).and_then(|learned| Ok((learned, curve.run(&initial)?)));
    context.progress.end();
    let ((model, epochs), learning_curve) = learned?;
    let judgment = judge(&model, set, context)?;
    let config = task.config;
    let label_noise = label_noise(&model, &set.validation, (task.seed, config.label_noise), context)?;
    let consistency = consistency(&model, &set.validation, (task.seed, config.consistency), context)?;
    let all = 0..=EMPTIES_MAX;
    let metrics = TrainMetrics {
        rows: set.training.row_count(&all),
        validation_rows: set.validation.row_count(&all),
        held_out: !set.validation.is_empty(),
        unlabeled: set.unlabeled,
        updates: learner.visits(),
        epochs,
        before,
        after: judgment.target,
        labels: Some(judgment.labels),
        coverage: Some(judgment.coverage),
        learning_curve,
        label_noise,
        consistency,
    };
    Ok((model, metrics))
}

/// Learning alone, without any judgment: the number of rows learned, each as often as it was visited.
///
/// # Errors
///
/// As [`fit`].
pub fn learn(task: &TrainTask<'_>, set: &TrainingSet, context: Context<'_>) -> Result<u64, StageError> {
    let learner = learner(task, set, None, context);
    context.progress.begin("train", learner.visits(), "rows");
    let result = learner.run(&initial_model(task));
    context.progress.end();
    result.map(|_| learner.visits())
}

fn learner<'a>(
    task: &'a TrainTask<'_>,
    set: &'a TrainingSet,
    checkpoint: Option<&'a Checkpoint>,
    context: Context<'a>,
) -> Learner<'a> {
    let rows = &set.training;
    Learner { set: &task.features, config: task.config, seed: task.seed, rows, checkpoint, context }
}
