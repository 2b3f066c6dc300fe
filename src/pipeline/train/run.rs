//! Training from beginning to end.

use super::checkpoint::Checkpoint;
use super::delta::Learner;
use super::metrics::errors;
use super::rows::{TrainingSet, read_rows};
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
use crate::pipeline::{Context, StageError};
use std::path::Path;
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
    let set = read_rows(task, &datasets, context)?;
    if set.training.is_empty() {
        return Err(no_rows(task, &set));
    }
    let checkpoint = Checkpoint::new(task.registry.folder(), step);
    let (model, metrics) = fit_from(task, &set, Some(&checkpoint), context)?;
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
            Target::Blend { .. } => ("blend", "`score` and `result`"),
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

/// The epochs behind a training of this step that was stopped, if there is one.
///
/// # Errors
///
/// Whatever the system refuses.
pub fn epochs_done(registry: &Path, step: ContentHash) -> Result<Option<u32>, ArtifactError> {
    Checkpoint::new(registry, step).epochs()
}

/// The weights and visits that training begins with.
pub(super) fn initial_model(task: &TrainTask<'_>) -> Model {
    let inherited = task.parent.map(|parent| &parent.model).filter(|parent| {
        task.config.start == Start::Parent
            && pattern_set_hash(parent.evaluation.set()) == pattern_set_hash(&task.features)
    });
    if let Some(parent) = inherited {
        return Model::draft(parent.evaluation.clone(), parent.visits.clone());
    }
    let evaluation = Evaluation::zero(Arc::clone(&task.features));
    let visits = vec![0; evaluation.weights().len()];
    Model::draft(evaluation, visits)
}

/// Trains on rows in memory: the model and its figures.
///
/// # Errors
///
/// [`StageError::Interrupted`], or threads that do not start.
pub fn fit(task: &TrainTask<'_>, set: &TrainingSet, context: Context<'_>) -> Result<(Model, TrainMetrics), StageError> {
    fit_from(task, set, None, context)
}

/// As [`fit`], going on after the epochs of a checkpoint and keeping it up to date.
pub(super) fn fit_from(
    task: &TrainTask<'_>,
    set: &TrainingSet,
    checkpoint: Option<&Checkpoint>,
    context: Context<'_>,
) -> Result<(Model, TrainMetrics), StageError> {
    let pool = context.pool()?;
    let held_out = !set.validation.is_empty();
    let judged = if held_out { &set.validation } else { &set.training };
    let initial = initial_model(task);
    let baseline = task.parent.map_or(&initial.evaluation, |parent| &parent.model.evaluation);
    let before = pool.install(|| errors(baseline, judged, context))?;
    let mut learner = Learner::new(initial, task.config, task.seed, set, context)?;
    context.progress.begin("train", u64::from(task.config.epochs), "epochs");
    let result = pool.install(|| learner.run(checkpoint, context));
    context.progress.end();
    result?;
    let model = learner.into_model();
    let metrics = TrainMetrics {
        rows: set.training.len() as u64,
        validation_rows: set.validation.len() as u64,
        unlabeled: set.unlabeled,
        duplicates: set.duplicates,
        held_out,
        updates: set.training.len() as u64 * u64::from(task.config.epochs),
        before,
        after: pool.install(|| errors(&model.evaluation, judged, context))?,
    };
    Ok((model, metrics))
}
