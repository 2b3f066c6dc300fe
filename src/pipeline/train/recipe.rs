//! What a training is made from: its datasets, its step, and the weights with which it begins.

use super::parts::phase_empties;
use super::task::{Start, TrainTask};
use crate::artifact::model::document::dataset_setting;
use crate::artifact::model::version::pattern_set_hash;
use crate::artifact::{Dataset, Model, Step};
use crate::engine::Evaluation;
use crate::pipeline::StageError;
use crate::pipeline::stage::Stage;
use std::sync::Arc;

/// Opens the datasets of a task.
///
/// # Errors
///
/// No dataset, or a missing or damaged one.
pub fn open_datasets(task: &TrainTask<'_>) -> Result<Vec<Dataset>, StageError> {
    if task.datasets.is_empty() {
        return Err(StageError::Setting("no dataset is named: add --dataset DIR".into()));
    }
    Ok(task.datasets.iter().map(|folder| Dataset::open(folder)).collect::<Result<_, _>>()?)
}

/// The step that a task is: the version that it makes names it.
pub fn step(task: &TrainTask<'_>, datasets: &[Dataset]) -> Step {
    let parent = task.parent.map_or("none".to_owned(), |parent| parent.content.to_string());
    let mut inputs = vec![
        ("seed", task.seed.to_string()),
        ("features", pattern_set_hash(&task.features).to_string()),
        ("parent", parent),
    ];
    inputs.extend(datasets.iter().map(|dataset| ("dataset", dataset.manifest().content.to_string())));
    let mut step = Stage::Train.step(task.config, &inputs);
    let named = step.settings.iter_mut().filter(|(name, _)| name == "dataset");
    named.zip(1..).zip(datasets).for_each(|((setting, number), dataset)| {
        *setting = dataset_setting(number, dataset.manifest().content);
    });
    step
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
