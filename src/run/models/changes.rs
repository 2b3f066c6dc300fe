//! What differs between two models: config keys, figures and weights.

use crate::artifact::model::document::Origin;
use crate::artifact::model::version::pattern_set_hash;
use crate::artifact::{LoadedModel, ModelKind, ModelName, Versions};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// What changed from one model to another.
#[derive(Clone, Debug, Serialize)]
pub struct Changes {
    /// The model compared with.
    pub against: ModelName,
    /// Config keys with both values, the other model's first.
    pub config: BTreeMap<String, [Value; 2]>,
    /// Figures with both values, the other model's first.
    pub metrics: BTreeMap<String, [Value; 2]>,
    /// The number of weights that differ; none if the patterns or phases do.
    pub weights_changed: Option<u64>,
    /// The number of weights.
    pub weights: u64,
    /// The largest change of a weight, in millidiscs.
    pub weight_change_max: Option<i32>,
}

impl Changes {
    /// Compares a model with another one; `versions` are those of the registry.
    pub fn new(model: &LoadedModel, other: &LoadedModel, versions: &Versions) -> Self {
        let [before, after] = [other, model].map(|model| stages_behind(model, versions));
        let evaluations = [&other.model.evaluation, &model.model.evaluation];
        let same_patterns = pattern_set_hash(evaluations[0].set()) == pattern_set_hash(evaluations[1].set());
        let pairs = evaluations[0].weights().iter().zip(evaluations[1].weights());
        let differences: Vec<i32> = pairs.map(|(before, after)| i32::from(*after) - i32::from(*before)).collect();
        Self {
            against: other.id,
            config: differing(&before, &after, |origin| &origin.config),
            metrics: differing(&before, &after, |origin| &origin.metrics),
            weights_changed: same_patterns.then(|| differences.iter().filter(|&&change| change != 0).count() as u64),
            weights: evaluations[1].weights().len() as u64,
            weight_change_max: same_patterns
                .then(|| differences.into_iter().max_by_key(|change| change.abs()))
                .flatten(),
        }
    }
}

/// How a model was made, by stage: for a model with MPC statistics also how its draft was made.
fn stages_behind<'a>(model: &'a LoadedModel, versions: &'a Versions) -> BTreeMap<String, &'a Origin> {
    let own = model.document.as_ref().map(|document| &document.origin);
    let draft = own.filter(|own| own.kind == ModelKind::Model).and_then(|own| {
        let parent = own.parent.as_ref()?;
        Some(&versions.with_content(parent.content)?.origin)
    });
    draft.into_iter().chain(own).map(|origin| (origin.stage.replace('-', "_"), origin)).collect()
}

/// Values that differ, by stage and path. Lists, which are long, and stages that only one model has are left out.
fn differing(
    before: &BTreeMap<String, &Origin>,
    after: &BTreeMap<String, &Origin>,
    values_of: fn(&Origin) -> &Value,
) -> BTreeMap<String, [Value; 2]> {
    let mut differing: BTreeMap<String, [Value; 2]> = BTreeMap::new();
    for (stage, before) in before {
        let Some(after) = after.get(stage) else { continue };
        for (side, origin) in [before, after].into_iter().enumerate() {
            add_leaves(values_of(origin), stage, side, &mut differing);
        }
    }
    differing.retain(|_, [before, after]| before != after);
    differing
}

/// Enters the leaves of a value on one side, by their paths; the other side has null where it lacks one.
fn add_leaves(value: &Value, path: &str, side: usize, values: &mut BTreeMap<String, [Value; 2]>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                add_leaves(value, &format!("{path}.{name}"), side, values);
            }
        }
        Value::Array(_) | Value::Null => {}
        value => values.entry(path.to_owned()).or_default()[side] = value.clone(),
    }
}
