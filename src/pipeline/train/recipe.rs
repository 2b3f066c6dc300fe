//! What a training is made from: its datasets, its step, and the weights with which it begins.

use super::parts::phase_empties;
use super::task::{FACTS, Start, TrainTask};
use crate::artifact::model::document::dataset_setting;
use crate::artifact::model::version::pattern_set_hash;
use crate::artifact::{ContentHash, Dataset, KnownModel, Model, Step};
use crate::engine::{Evaluation, VectorShape};
use crate::pipeline::StageError;
use std::ops::Range;
use std::sync::Arc;

/// Opens the datasets of a task.
///
/// # Errors
///
/// A missing or damaged one.
pub fn open_datasets<M>(task: &TrainTask<M>) -> Result<Vec<Dataset>, StageError> {
    Ok(task
        .datasets
        .iter()
        .map(|dataset| Dataset::open(&dataset.folder))
        .collect::<Result<_, _>>()?)
}

/// The contents of datasets.
pub fn contents(datasets: &[Dataset]) -> Vec<ContentHash> {
    datasets
        .iter()
        .map(|dataset| dataset.manifest().content)
        .collect()
}

/// The step that a task is, with the contents of its datasets: the version that it makes names it.
pub fn step<M: AsRef<KnownModel>>(task: &TrainTask<M>, contents: &[ContentHash]) -> Step {
    let parent = task.parent.as_ref().map_or("none".to_owned(), |parent| {
        parent.as_ref().content.to_string()
    });
    let mut inputs = vec![
        ("seed", task.seed.to_string()),
        ("features", pattern_set_hash(&task.features).to_string()),
        ("parent", parent),
    ];
    inputs.extend(
        contents
            .iter()
            .map(|content| ("dataset", content.to_string())),
    );
    let mut step = FACTS.step(&task.config, &inputs);
    let named = step
        .settings
        .iter_mut()
        .filter(|(name, _)| name == "dataset");
    named
        .zip(1..)
        .zip(contents)
        .for_each(|((setting, number), content)| {
            *setting = dataset_setting(number, *content);
        });
    step
}

/// What training begins with.
pub(super) struct Initial {
    /// A phase has the weights and visits of the parent's phase at the middle of its range.
    pub(super) model: Model,
    /// The components that the parent's vectors lack, and that begin at random.
    pub(super) fresh: Range<usize>,
}

/// The components that the vectors of a training's parent lack: positive ones after its own, and
/// negative ones before its own.
///
/// # Errors
///
/// A parent with other groups, or with more components of a sign.
pub(super) fn fresh_components(task: &TrainTask) -> Result<Range<usize>, StageError> {
    let size = task.features.vector_size();
    let Some(parent) = inherited(task) else {
        return Ok(0..size);
    };
    let set = parent.evaluation.set();
    let (theirs, ours) = (set.vectors(), task.features.vectors());
    if theirs.size == 0 {
        return Ok(0..size);
    }
    if theirs.empties_max == ours.empties_max
        && theirs.negative <= ours.negative
        && set.positive_size() <= task.features.positive_size()
    {
        return Ok(set.positive_size()..size - usize::from(theirs.negative));
    }
    let shape = |shape: &VectorShape| match shape.size {
        0 => "no vectors".to_owned(),
        size => format!(
            "vectors of {size} components, {} of them negative, for phases from {:?} empty squares",
            shape.negative, shape.empties_max
        ),
    };
    Err(StageError::Setting(format!(
        "the parent has {} and the features have {}\n\
         name features with those of the parent, or begin with train.start = \"zero\"",
        shape(theirs),
        shape(ours)
    )))
}

/// The parent, if its patterns are those to train.
fn inherited(task: &TrainTask) -> Option<&Model> {
    let parent = task.parent.as_ref().map(|parent| &*parent.model);
    parent.filter(|parent| {
        task.config.start == Start::Parent
            && parent.evaluation.set().patterns() == task.features.patterns()
    })
}

impl Initial {
    /// What a task begins with: its parent, or zero weights.
    ///
    /// # Errors
    ///
    /// A parent with other groups, or with more components of a sign.
    pub(super) fn new(task: &TrainTask) -> Result<Self, StageError> {
        let (set, fresh) = (&task.features, fresh_components(task)?);
        let Some(parent) = inherited(task) else {
            let evaluation = Evaluation::zero(Arc::clone(set));
            let visits = vec![0; evaluation.set().weight_count()];
            return Ok(Self {
                model: Model::draft(evaluation, visits),
                fresh,
            });
        };
        let theirs = parent.evaluation.set();
        let (mut weights, mut visits) = (Vec::new(), Vec::new());
        for phase in 0..set.phase_count() {
            let empties = phase_empties(set, phase);
            let begin = theirs.phase((empties.start() + empties.end()) / 2) * set.feature_count();
            weights.extend_from_slice(&parent.evaluation.weights()[begin..][..set.feature_count()]);
            visits.extend_from_slice(&parent.visits[begin..][..set.feature_count()]);
        }
        let mut vectors = vec![0; set.component_count()];
        if 0 < theirs.vector_size() {
            let inherited = parent.evaluation.vectors();
            for (vector, inherited) in vectors
                .chunks_exact_mut(set.vector_size())
                .zip(inherited.chunks_exact(theirs.vector_size()))
            {
                let (positive, negative) = inherited.split_at(fresh.start);
                vector[..fresh.start].copy_from_slice(positive);
                vector[fresh.end..].copy_from_slice(negative);
            }
        }
        if theirs.weight_max() != set.weight_max() {
            // A parent without vectors may have larger weights than fit beside vectors.
            let most = set.weight_max();
            weights
                .iter_mut()
                .for_each(|weight| *weight = (*weight).clamp(-most, most));
        }
        let evaluation = Evaluation::with_vectors(Arc::clone(set), weights, vectors);
        Ok(Self {
            model: Model::draft(evaluation.expect("the parent's mirrors are equal"), visits),
            fresh,
        })
    }
}
