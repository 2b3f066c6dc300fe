//! Step ids: what a stage would do, as one hash, so that it can tell that it has done it.

use super::hash::{ContentHash, FieldHasher};
use serde::Serialize;

/// The id of one run of a stage: the contents of its inputs, its config table and the version of its algorithm.
///
/// # Panics
///
/// If the config has no JSON form, which would be our own mistake.
#[must_use]
pub fn step_id(stage: &str, algorithm: u32, config: &impl Serialize, inputs: &[(&str, String)]) -> ContentHash {
    let config = serde_json::to_value(config).expect("a config is plain data");
    let mut hasher = FieldHasher::new("step");
    hasher.field("stage", stage.as_bytes());
    hasher.field("algorithm", &algorithm.to_le_bytes());
    hasher.field("config", config.to_string().as_bytes());
    for (name, value) in inputs {
        hasher.field(name, value.as_bytes());
    }
    hasher.finish()
}
