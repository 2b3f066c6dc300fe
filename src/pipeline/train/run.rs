//! Training from beginning to end.

use super::checkpoint::{Checkpoint, remove_published};
use super::learner::Learner;
use super::metrics::judge;
use super::parts::TrainPlan;
use super::recipe::{Initial, contents, fresh_components, open_datasets, step};
use super::rows::{TrainingSet, read_rows};
use super::slots::SlotMap;
use super::task::{FACTS, LabelErrors, TrainMetrics, TrainReport, TrainTask};
use crate::artifact::model::document::VersionOrigin;
use crate::artifact::publish::temporary::sweep;
use crate::artifact::{
    ArtifactError, ContentHash, Dataset, DatasetEntry, FolderLock, Model, ModelKind, POSITIONS,
};
use crate::engine::EMPTIES_MAX;
use crate::pipeline::yardstick::exact_mae;
use crate::pipeline::{Context, StageError};
use std::sync::atomic::AtomicBool;

/// Trains a new version, unless the registry holds it already.
///
/// # Errors
///
/// A bad setting, a missing or damaged dataset, no rows, or a system error.
pub fn train(task: &TrainTask, context: Context<'_>) -> Result<TrainReport, StageError> {
    let datasets = open_datasets(task)?;
    let step = step(task, &contents(&datasets)).id;
    if let Some(made) = task.registry.made_by(step)? {
        remove_published(&task.registry)?;
        return TrainReport::skipped(made);
    }
    fresh_components(task)?;
    context.check_budget()?;
    let _lock = FolderLock::take_named(task.registry.folder(), FACTS.lock())?;
    // Another training of this step may have ended between the look and the lock.
    if let Some(made) = task.registry.made_by(step)? {
        return TrainReport::skipped(made);
    }
    sweep(task.registry.folder())?;
    let checkpoint = Checkpoint::new(task, step);
    let (model, metrics) = context.pool()?.install(|| {
        let set = read_rows(task, &datasets, context)?;
        fit_from(task, &set, Some(checkpoint.clone()), context)
    })?;
    let origin = VersionOrigin {
        kind: ModelKind::Draft,
        stage: FACTS.name.into(),
        step,
        algorithm: FACTS.algorithm,
        parent: task.parent.as_ref().map(|parent| parent.as_reference()),
        datasets: datasets.iter().map(dataset_entry).collect(),
        config: serde_json::to_value(&task.config).expect("a config is plain data"),
        metrics: serde_json::to_value(&metrics).expect("figures are plain data"),
    };
    context.check()?;
    let id = task.registry.publish(&model, &origin)?.to_string();
    checkpoint.remove()?;
    Ok(TrainReport {
        skipped: false,
        id,
        content: model.content_hash(),
        metrics,
    })
}

fn dataset_entry(dataset: &Dataset) -> DatasetEntry {
    let manifest = dataset.manifest();
    DatasetEntry {
        generation: manifest.generation,
        recipe: manifest.recipe,
        content: manifest.content,
        games: manifest.done,
        positions: manifest.rows(POSITIONS.name),
    }
}

/// How much of a training that was stopped is done, if there is one: epochs of its parts, and how
/// many there are.
pub fn epochs_done<M>(
    task: &TrainTask<M>,
    step: ContentHash,
) -> Result<Option<[u64; 2]>, ArtifactError> {
    let plan = TrainPlan::new(&task.features, &task.config);
    let (checkpoint, map) = (Checkpoint::new(task, step), SlotMap::new(&task.features));
    let (mut done, mut all) = (0, 0);
    for part in &plan.parts {
        done += checkpoint
            .read(part, &map)?
            .map_or(0, |learned| learned.errors.len() as u64);
        all += u64::from(task.config.epochs_of(part.round));
    }
    Ok((0 < done).then_some([done, all]))
}

/// Trains on rows that were read: the model and its figures.
///
/// # Errors
///
/// [`StageError::Interrupted`], or threads that do not start.
pub fn fit(
    task: &TrainTask,
    set: &TrainingSet,
    context: Context<'_>,
) -> Result<(Model, TrainMetrics), StageError> {
    fit_from(task, set, None, context)
}

/// [`fit`], resuming after what a checkpoint contains and keeping it up to date.
fn fit_from(
    task: &TrainTask,
    set: &TrainingSet,
    checkpoint: Option<Checkpoint>,
    context: Context<'_>,
) -> Result<(Model, TrainMetrics), StageError> {
    let initial = Initial::new(task)?;
    let (plan, map) = (
        TrainPlan::new(&task.features, &task.config),
        SlotMap::new(&task.features),
    );
    let baseline = task
        .parent
        .as_ref()
        .map_or(&initial.model.evaluation, |parent| &parent.model.evaluation);
    let [before, ..] = judge(baseline, None, set, context)?.errors();
    let rows = &set.training;
    let learner = Learner {
        task,
        plan: &plan,
        map: &map,
        initial: &initial,
        rows,
        checkpoint,
        context,
        has_learned: AtomicBool::new(false),
    };
    let visits = learner.visits(&plan.parts);
    let (model, [epochs, vector_epochs]) =
        context.observe(FACTS.name, visits, "rows", || learner.run())?;
    let judgment = judge(&model.evaluation, Some(&model.visits), set, context)?;
    let [after, score, result, exact] = judgment.errors();
    let all = 0..=EMPTIES_MAX;
    let metrics = TrainMetrics {
        rows: rows.row_count(&all),
        validation_rows: set.validation.row_count(&all),
        held_out: !set.validation.is_empty(),
        unlabeled: set.unlabeled,
        yardstick_rows: set.yardstick_rows,
        updates: visits,
        epochs,
        vector_epochs,
        before,
        after,
        labels: LabelErrors {
            score,
            result,
            exact,
        },
        exact_mae: Some(exact_mae(&model.evaluation)),
        coverage: judgment.coverage(&model),
    };
    Ok((model, metrics))
}

/// Learning alone, without any judgment: the number of rows learned, each as often as it was
/// visited.
pub fn learn(task: &TrainTask, set: &TrainingSet, context: Context<'_>) -> Result<u64, StageError> {
    let (plan, map) = (
        TrainPlan::new(&task.features, &task.config),
        SlotMap::new(&task.features),
    );
    let (initial, rows) = (&Initial::new(task)?, &set.training);
    let learner = Learner {
        task,
        plan: &plan,
        map: &map,
        initial,
        rows,
        checkpoint: None,
        context,
        has_learned: AtomicBool::new(false),
    };
    let visits = learner.visits(&plan.parts);
    context.observe(FACTS.name, visits, "rows", || learner.run())?;
    Ok(visits)
}
