//! A config as a run records it: with everything else that determines what the stages make of it. If a default has moved since,
//! the run keeps the value that it began with.

use super::requests::GENERATION;
use crate::artifact::line::visible;
use crate::artifact::model::features_file::read_features;
use crate::artifact::model::version::pattern_set_hash;
use crate::artifact::step::table_settings;
use crate::artifact::{ArtifactError, ContentHash};
use crate::config::{Config, LoadedConfig};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// The files beside the config, by their names in it.
pub(super) const FEATURES: &str = "features.toml";
pub(super) const BOOK: &str = "book.txt";

/// The prefix of the version of a stage's algorithm among the keys.
const ALGORITHM_OF: &str = "the algorithm of ";

/// Keys on which no finished step depends.
pub(super) const FREE_KEYS: [&str; 2] = ["run.generations", "run.keep_generations"];

/// A config with everything else that determines what the stages make of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfigEntry {
    /// The first generation that it makes.
    pub from: u32,
    /// Its tables, as the snapshot has them.
    pub config: Value,
    /// The hash of its patterns and phases.
    pub features: ContentHash,
    /// The hash of its opening book, if it names one.
    pub book: Option<ContentHash>,
    /// The versions of the stages' algorithms, by table.
    pub algorithms: BTreeMap<String, u32>,
    /// The keys, as `table.key`, that the user's file did not name: their values were the defaults.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub defaults: Vec<String>,
}

impl ConfigEntry {
    /// The entry of a config, in the form of its snapshot.
    pub fn new(from: u32, loaded: &LoadedConfig) -> Self {
        let mut config = Value::Object(loaded.config.tables());
        // What it names lies beside the snapshot.
        config["run"]["features"] = FEATURES.into();
        if loaded.book.is_some() {
            config["generate"]["book"] = BOOK.into();
        }
        let defaults =
            all_keys(&config).map(|(name, _)| name).filter(|name| !loaded.origins.contains_key(name)).collect();
        Self {
            from,
            config,
            defaults,
            features: pattern_set_hash(&loaded.features),
            book: loaded.book.as_ref().map(|book| book.content()),
            algorithms: algorithms(),
        }
    }

    /// The entry of another config in place of this one, with the same algorithms.
    pub fn of(&self, loaded: &LoadedConfig) -> Self {
        Self { algorithms: self.algorithms.clone(), ..Self::new(self.from, loaded) }
    }

    /// Whether the patterns and the book of a config are those of this entry.
    pub fn names_the_files_of(&self, loaded: &LoadedConfig) -> bool {
        self.features == pattern_set_hash(&loaded.features)
            && self.book == loaded.book.as_ref().map(|book| book.content())
    }

    /// Whether this program still computes the step ids of this entry: a newer algorithm has others.
    pub fn has_algorithms_of_today(&self) -> bool {
        let today = algorithms();
        self.algorithms.iter().all(|(table, version)| today.get(table) == Some(version))
    }

    /// Every key on which a step depends, with its value.
    fn settings(&self) -> BTreeMap<String, String> {
        let mut settings: BTreeMap<String, String> = all_keys(&self.config).collect();
        settings.retain(|name, _| !FREE_KEYS.contains(&name.as_str()));
        for (name, content) in [("run.features", Some(self.features)), ("generate.book", self.book)] {
            if let Some(value) = settings.get_mut(name) {
                *value = content.map_or_else(|| "none".to_owned(), ContentHash::short);
            }
        }
        let algorithms = self.algorithms.iter();
        settings.extend(algorithms.map(|(table, version)| (format!("{ALGORITHM_OF}{table}"), version.to_string())));
        settings
    }

    /// The keys in which a run's record differs from another config, with both values.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let (ours, theirs) = (self.settings(), other.settings());
        let names: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
        let changed = names.into_iter().filter(|name| ours.get(*name) != theirs.get(*name));
        let line = |name: &String| {
            let [ours, theirs] = [&ours, &theirs].map(|settings| settings.get(name).map_or("nothing", String::as_str));
            let place = if name.starts_with(ALGORITHM_OF) { "this renma" } else { "the config" };
            visible(&format!("{name} is {ours} in the run and {theirs} in {place}"))
        };
        changed.map(line).collect()
    }
}

/// The version of each stage's algorithm, by config table.
fn algorithms() -> BTreeMap<String, u32> {
    let facts = GENERATION.iter().map(|link| link.stage.facts());
    facts.map(|facts| (facts.config_table.to_owned(), facts.algorithm)).collect()
}

/// Every key of a config with its value.
fn all_keys(config: &Value) -> impl Iterator<Item = (String, String)> + '_ {
    let tables = config.as_object().into_iter().flatten();
    tables.flat_map(|(table, keys)| table_settings(table, keys))
}

/// A config with the run's own values for keys that its file left to the default, then and now; and what has moved since. The run
/// keeps its features in the file of that name.
///
/// # Errors
///
/// Features that the run keeps and that cannot be read.
pub(super) fn keep_defaults(
    last: &ConfigEntry,
    given: &LoadedConfig,
    features: &Path,
) -> Result<(LoadedConfig, Vec<String>), ArtifactError> {
    let (mut kept, mut moved) = (given.clone(), Vec::new());
    let mut tables = given.config.tables();
    let by_default = |name: &&String| !given.origins.contains_key(*name) && !FREE_KEYS.contains(&name.as_str());
    for name in last.defaults.iter().filter(by_default) {
        if name == "run.features" {
            if pattern_set_hash(&given.features) != last.features {
                kept.features = Arc::new(read_features(features)?);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::default_config;
    use crate::pipeline::book::Book;

    #[test]
    fn an_entry_names_its_own_patterns_and_book_alone() {
        let plain = default_config();
        let mut other_features = plain.clone();
        other_features.features = Arc::new(read_features(Path::new("configs/features/edax.toml")).unwrap());
        let mut with_book = plain.clone();
        with_book.book = Some(Book::new(&["f5d6".to_owned()]).unwrap());
        let all = [&plain, &other_features, &with_book];
        for (of, entry) in all.map(|config| ConfigEntry::new(1, config)).iter().enumerate() {
            for (place, config) in all.into_iter().enumerate() {
                assert_eq!(entry.names_the_files_of(config), of == place, "{of} {place}");
            }
        }
    }
}
