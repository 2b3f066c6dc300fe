//! Training: weights fitted to the labels of datasets, as a new model version.

mod checkpoint;
mod delta;
pub mod metrics;
pub mod rows;

use super::{Context, StageError, check_range};
use crate::artifact::dataset::folder::Dataset;
use crate::artifact::dataset::positions::POSITIONS;
use crate::artifact::error::ArtifactError;
use crate::artifact::hash::ContentHash;
use crate::artifact::lock::{FolderLock, TRAIN_LOCK_NAME};
use crate::artifact::model::document::{DatasetEntry, ModelKind, Origin, dataset_setting};
use crate::artifact::model::reference::LoadedModel;
use crate::artifact::model::registry::Registry;
use crate::artifact::model::version::{Model, pattern_set_hash};
use crate::artifact::publish::temporary::sweep;
use crate::artifact::step::Step;
use crate::engine::eval::evaluation::Evaluation;
use crate::engine::eval::pattern_set::PatternSet;
use checkpoint::Checkpoint;
use delta::Learner;
use metrics::{Errors, errors};
use rows::{TrainingRow, TrainingSet, read_rows};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// Goes up when the same inputs would give other weights.
pub const ALGORITHM: u32 = 1;

/// How weights are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// The clipped delta rule: every weight of a position moves by the same truncated share of the error.
    Delta,
}

/// What the weights learn to predict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// The final disc difference.
    Result,
    /// The deep-search score.
    Score,
    /// `blend` parts result and the rest score.
    Blend,
}

/// With which weights training begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// All zero.
    Zero,
    /// Those of the parent, if it has the same patterns and phases; else zero.
    Parent,
}

/// The `[train]` table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "configs/default.toml says what each key means")]
pub struct TrainConfig {
    pub rule: Rule,
    pub ratio: f64,
    pub ratio_decay: f64,
    pub clip: i32,
    pub target: Target,
    pub blend: f64,
    pub start: Start,
    pub epochs: u32,
    pub shuffle: bool,
    pub validation: f64,
    pub empties_min: u8,
    pub empties_max: u8,
    pub deduplicate: bool,
    pub multiplicity_max: u32,
}

impl TrainConfig {
    /// Checks every key against its range.
    ///
    /// # Errors
    ///
    /// The first key that is out of range.
    pub fn check(&self) -> Result<(), StageError> {
        check_range("train.ratio", self.ratio, 0.0, 1.0)?;
        check_range("train.ratio_decay", self.ratio_decay, 0.0, 1.0)?;
        check_range("train.clip", self.clip, 1, i32::from(i16::MAX))?;
        check_range("train.blend", self.blend, 0.0, 1.0)?;
        check_range("train.epochs", self.epochs, 1, 100_000)?;
        check_range("train.validation", self.validation, 0.0, 0.9)?;
        check_range("train.multiplicity_max", self.multiplicity_max, 1, 1_000_000)?;
        check_range("train.empties_max", self.empties_max, 0, 60)?;
        check_range("train.empties_min", self.empties_min, 0, self.empties_max)
    }
}

/// One call of the stage.
#[derive(Clone, Debug)]
pub struct TrainTask<'a> {
    /// The `[train]` table.
    pub config: &'a TrainConfig,
    /// The run's seed.
    pub seed: u64,
    /// The patterns and phases to train.
    pub features: Arc<PatternSet>,
    /// The dataset folders, oldest first.
    pub datasets: Vec<&'a Path>,
    /// The model to improve upon, if any.
    pub parent: Option<&'a LoadedModel>,
    /// Where the new version goes.
    pub registry: &'a Registry,
}

/// The error before and after, in discs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainMetrics {
    /// Rows trained on.
    pub rows: u64,
    /// Rows held out.
    pub validation_rows: u64,
    /// Whether the errors are those of held-out rows; else of the training rows.
    pub held_out: bool,
    /// Rows left out because the label that is to be learnt is missing.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unlabeled: u64,
    /// Rows left out because their position, up to symmetry, occurs earlier, as often as the config lets it count.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub duplicates: u64,
    /// Weight updates: one for each row and epoch.
    pub updates: u64,
    /// With the weights of the parent, or zero weights.
    pub before: Errors,
    /// With the new weights.
    pub after: Errors,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// What the stage did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrainReport {
    /// Whether the version was there already.
    pub skipped: bool,
    /// The version's id.
    pub id: String,
    /// The hash of its content.
    pub content: ContentHash,
    /// Its figures.
    pub metrics: TrainMetrics,
}

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
    context.check_border()?;
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
        parent: task.parent.map(LoadedModel::as_parent),
        datasets: datasets.iter().map(dataset_entry).collect(),
        config: serde_json::to_value(task.config).expect("a config is plain data"),
        metrics: serde_json::to_value(&metrics).expect("figures are plain data"),
    };
    context.check()?;
    let id = task.registry.publish(&model, &origin)?.to_string();
    checkpoint.remove()?;
    Ok(TrainReport { skipped: false, id, content: model.content_hash(), metrics })
}

fn no_rows(task: &TrainTask<'_>, set: &TrainingSet) -> StageError {
    let names: Vec<String> = task.datasets.iter().map(|folder| folder.display().to_string()).collect();
    let (min, max) = (task.config.empties_min, task.config.empties_max);
    let mut text = format!("cannot train: {} has no rows with {min} to {max} empty squares", names.join(", "));
    if 0 < set.unlabeled {
        let (target, column) = match task.config.target {
            Target::Result => ("result", "`result`"),
            Target::Score => ("score", "`score`"),
            Target::Blend => ("blend", "`score` and `result`"),
        };
        text += &format!(
            " and a value in {column}, which train.target = \"{target}\" needs: {} rows lack it\n\
             choose another train.target, or import with --label-depth",
            set.unlabeled
        );
    }
    StageError::NoRows(text)
}

fn skipped(made: LoadedModel) -> Result<TrainReport, StageError> {
    let document = made.document.expect("a version has a document");
    let metrics = serde_json::from_value(document.origin.metrics).map_err(|error| {
        let path = made.folder.unwrap_or_default().join("model.json");
        ArtifactError::unfit(&path, format!("its figures are not those of this renma: {error}"))
    })?;
    Ok(TrainReport { skipped: true, id: made.id.to_string(), content: made.content, metrics })
}

/// What decides the weights: the same settings make the same version.
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

/// The epochs behind a training of this step that was stopped, if there is one.
///
/// # Errors
///
/// Whatever the system refuses.
pub fn epochs_done(registry: &Path, step: ContentHash) -> Result<Option<u32>, ArtifactError> {
    Checkpoint::new(registry, step).epochs()
}

/// The weights and visits that training begins with.
fn initial_model(task: &TrainTask<'_>) -> Model {
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
fn fit_from(
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
