//! Defaults that have moved since a run recorded its config: the run keeps the values that it began with.

use super::config_entry::{ConfigEntry, FEATURES, FREE_KEYS};
use super::snapshot;
use crate::artifact::ArtifactError;
use crate::artifact::model::features_file::read_features;
use crate::artifact::model::version::pattern_set_hash;
use crate::config::{Config, LoadedConfig};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// A config with the run's own values for keys that its file left to the default, then and now; and what has moved since.
///
/// # Errors
///
/// Features that the run keeps and that cannot be read.
pub(super) fn keep_defaults(
    last: &ConfigEntry,
    given: &LoadedConfig,
    registry: &Path,
) -> Result<(LoadedConfig, Vec<String>), ArtifactError> {
    let (mut kept, mut moved) = (given.clone(), Vec::new());
    let mut tables = given.config.tables();
    let by_default = |name: &&String| !given.origins.contains_key(*name) && !FREE_KEYS.contains(&name.as_str());
    for name in last.defaults.iter().filter(by_default) {
        if name == "run.features" {
            if pattern_set_hash(&given.features) != last.features {
                let folder = snapshot::path(registry, &given.name, last.from).with_file_name(FEATURES);
                kept.features = Arc::new(read_features(&folder)?);
                moved.push(format!("{name} has other patterns by default now"));
            }
            continue;
        }
        let Some((table, key)) = name.split_once('.') else { continue };
        let (theirs, ours) = (last.config[table].get(key), tables.get(table).and_then(|keys| keys.get(key)));
        if theirs == ours {
            continue;
        }
        let text = |value: Option<&Value>| value.map_or_else(|| "nothing".to_owned(), Value::to_string);
        moved.push(format!("{name} is {} in the run and {} by default now", text(theirs), text(ours)));
        match (theirs.cloned(), tables.get_mut(table).and_then(Value::as_object_mut)) {
            (Some(theirs), Some(keys)) => drop(keys.insert(key.to_owned(), theirs)),
            (None, Some(keys)) => drop(keys.remove(key)),
            (_, None) => {}
        }
    }
    // A file that names keys of another alternative than the run began with has changed more than a default.
    match Config::from_tables(tables) {
        Ok(config) => kept.config = config,
        Err(_) => return Ok((given.clone(), Vec::new())),
    }
    Ok((kept, moved))
}
