//! A config as a run records it: with everything else that determines what the stages make of it. A
//! run keeps the values of the keys that its config does not name.

use super::order::GENERATION;
use crate::artifact::line::visible;
use crate::artifact::model::features_file::read_features;
use crate::artifact::model::version::pattern_set_hash;
use crate::artifact::step::table_settings;
use crate::artifact::{ArtifactError, ContentHash};
use crate::config::{Config, LoadedConfig, TABLES, read_book};
use crate::generation::Generation;
use crate::pipeline::book::Book;
use serde::de::IgnoredAny;
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
    pub from: Generation,
    /// Its tables, as the snapshot has them.
    pub config: Value,
    /// The hash of its patterns and phases.
    pub features: ContentHash,
    /// The hash of its opening book, if it names one.
    pub book: Option<ContentHash>,
    /// The versions of the stages' algorithms, by table.
    pub algorithms: BTreeMap<String, u32>,
    /// Format 1 lists the keys that the user's file did not name.
    #[serde(default, skip_serializing)]
    pub(super) defaults: IgnoredAny,
}

impl ConfigEntry {
    /// The entry of a config, in the form of its snapshot.
    pub fn new(from: Generation, loaded: &LoadedConfig) -> Self {
        let mut config = Value::Object(loaded.config.tables());
        // What it names lies beside the snapshot.
        config["run"]["features"] = FEATURES.into();
        if loaded.book.is_some() {
            config["generate"]["book"] = BOOK.into();
        }
        Self {
            from,
            config,
            features: pattern_set_hash(&loaded.features),
            book: loaded.book.as_ref().map(Book::content),
            algorithms: algorithms(),
            defaults: IgnoredAny,
        }
    }

    /// The entry of another config in place of this one, with the same algorithms.
    pub fn of(&self, loaded: &LoadedConfig) -> Self {
        Self {
            algorithms: self.algorithms.clone(),
            ..Self::new(self.from, loaded)
        }
    }

    /// Whether the patterns and the book of a config are those of this entry.
    pub fn names_the_files_of(&self, loaded: &LoadedConfig) -> bool {
        self.features == pattern_set_hash(&loaded.features)
            && self.book == loaded.book.as_ref().map(Book::content)
    }

    /// Whether this program still computes the step ids of this entry: a newer algorithm has
    /// others.
    pub fn has_algorithms_of_today(&self) -> bool {
        let today = algorithms();
        self.algorithms
            .iter()
            .all(|(table, version)| today.get(table) == Some(version))
    }

    /// Every key on which a step depends, with its value.
    fn settings(&self) -> BTreeMap<String, String> {
        let mut settings: BTreeMap<String, String> = all_keys(&self.config).collect();
        settings.retain(|name, _| !FREE_KEYS.contains(&name.as_str()));
        for (name, content) in [
            ("run.features", Some(self.features)),
            ("generate.book", self.book),
        ] {
            if let Some(value) = settings.get_mut(name) {
                *value = content.map_or_else(|| "none".to_owned(), ContentHash::short);
            }
        }
        let algorithms = self.algorithms.iter();
        settings.extend(
            algorithms
                .map(|(table, version)| (format!("{ALGORITHM_OF}{table}"), version.to_string())),
        );
        settings
    }

    /// The keys in which a run's record differs from another config, with both values.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let (ours, theirs) = (self.settings(), other.settings());
        let names: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
        let changed = names
            .into_iter()
            .filter(|name| ours.get(*name) != theirs.get(*name));
        let line = |name: &String| {
            let [ours, theirs] = [&ours, &theirs]
                .map(|settings| settings.get(name).map_or("nothing", String::as_str));
            let place = if name.starts_with(ALGORITHM_OF) {
                "this renma"
            } else {
                "the config"
            };
            visible(&format!(
                "{name} is {ours} in the run and {theirs} in {place}"
            ))
        };
        changed.map(line).collect()
    }
}

/// The version of each stage's algorithm, by config table.
fn algorithms() -> BTreeMap<String, u32> {
    let facts = GENERATION.iter().map(|link| link.stage.facts());
    facts
        .map(|facts| (facts.config_table.to_owned(), facts.algorithm))
        .collect()
}

/// Every key of a config with its value.
fn all_keys(config: &Value) -> impl Iterator<Item = (String, String)> + '_ {
    let tables = config.as_object().into_iter().flatten();
    tables.flat_map(|(table, keys)| table_settings(table, keys))
}

/// A config as the run that recorded an entry continues it: a key that neither the file nor `--set`
/// names keeps the run's value, and what is kept because the default is another one now. The files
/// that the run keeps lie beside its snapshot.
///
/// # Errors
///
/// Patterns or a book that the run keeps and that cannot be read.
pub(super) fn continued(
    last: &ConfigEntry,
    given: &LoadedConfig,
    snapshot: &Path,
) -> Result<(LoadedConfig, Vec<String>), ArtifactError> {
    let (mut kept, mut moved) = (given.clone(), Vec::new());
    let mut tables = given.config.tables();
    let is_named = |name: &str| given.origins.contains_key(name) || FREE_KEYS.contains(&name);
    for (table, keys) in TABLES {
        // A key that determines which other keys exist comes before them.
        for key in keys {
            let name = format!("{table}.{}", key.name);
            // An optional key has no default: to delete it is a change.
            if key.is_optional || is_named(&name) || name == "run.features" {
                continue;
            }
            let found = &mut tables[table];
            if !key.belongs_in(found) {
                found.as_object_mut().map(|keys| keys.remove(key.name));
                continue;
            }
            let Some(theirs) = last.config[table].get(key.name) else {
                continue;
            };
            let ours = found.get(key.name);
            if ours != Some(theirs) {
                let ours = ours.map_or_else(|| "nothing".to_owned(), Value::to_string);
                moved.push(format!(
                    "{name} is {theirs} in the run and {ours} by default now"
                ));
                found[key.name] = theirs.clone();
            }
        }
    }
    let keeps_book = !is_named("generate.book") && tables["generate"].get("book").is_some();
    // A file that names keys of another alternative than the run began with has changed more than a
    // default.
    match Config::from_tables(tables) {
        Ok(config) => kept.config = config,
        Err(_) => return Ok((kept, Vec::new())),
    }
    if keeps_book {
        kept.book = Some(read_book(&snapshot.with_file_name(BOOK))?);
    }
    if !is_named("run.features") && pattern_set_hash(&given.features) != last.features {
        kept.features = Arc::new(read_features(&snapshot.with_file_name(FEATURES))?);
        moved.push("run.features has other patterns by default now".to_owned());
    }
    Ok((kept, moved))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::model::features_file::features_text;
    use crate::artifact::publish::publish_bytes;
    use crate::config::{default_config, load_config};
    use crate::pipeline::book::Book;

    #[test]
    fn a_run_keeps_the_keys_that_its_config_does_not_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.toml");
        let write = |name: &str, text: &str| {
            publish_bytes(&folder.path().join(name), text.as_bytes()).unwrap();
        };
        let load = |text: &str| {
            write("run.toml", text);
            load_config(&path).unwrap()
        };
        let edax = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/features/edax.toml");
        write(FEATURES, &features_text(&read_features(&edax).unwrap()));
        write(BOOK, "f5d6c3\n");
        let begun = load(
            "[run]\nfeatures = \"features.toml\"\nseed = 7\n[generate]\nopenings = \"book\"\nbook = \"book.txt\"\n\
             [train]\nquantum = 16\n[fit_mpc]\nmethod = \"source\"\nt = 1.4\n[selective]\nrank = 3",
        );
        let entry = ConfigEntry::new(Generation::FIRST, &begun);
        let continued = |text: &str| {
            let (kept, moved) = continued(&entry, &load(text), &path).unwrap();
            (
                entry.differences(&ConfigEntry::new(Generation::FIRST, &kept)),
                moved,
            )
        };
        let unnamed = [
            "run.seed is 7 in the run and 1 by default now",
            "generate.openings is \"book\" in the run and \"random\" by default now",
            "generate.book is \"book.txt\" in the run and nothing by default now",
            "fit_mpc.method is \"source\" in the run and \"line\" by default now",
            "fit_mpc.t is 1.4 in the run and nothing by default now",
            "run.features has other patterns by default now",
        ];
        let optional = [
            "selective.rank is 3 in the run and nothing in the config",
            "train.quantum is 16 in the run and nothing in the config",
        ];
        assert_eq!(
            continued(""),
            (
                optional.map(str::to_owned).to_vec(),
                unnamed.map(str::to_owned).to_vec()
            )
        );
        let (differences, moved) = continued(
            "[run]\nseed = 8\n[generate]\nopenings = \"random\"\n[train]\nquantum = 16\n[fit_mpc]\nmethod = \"line\"\n\
             [selective]\nrank = 3",
        );
        let named = [
            "fit_mpc.level is nothing in the run and 87 in the config",
            "fit_mpc.method is \"source\" in the run and \"line\" in the config",
            "fit_mpc.t is 1.4 in the run and nothing in the config",
            "generate.book is d13bd50fb3c3 in the run and nothing in the config",
            "generate.openings is \"book\" in the run and \"random\" in the config",
            "run.seed is 7 in the run and 8 in the config",
        ];
        assert_eq!(
            (differences, moved),
            (
                named.map(str::to_owned).to_vec(),
                vec![unnamed[5].to_owned()]
            )
        );
    }

    #[test]
    fn an_entry_names_its_own_patterns_and_book_alone() {
        let plain = default_config();
        let mut other_features = plain.clone();
        other_features.features =
            Arc::new(read_features(Path::new("configs/features/edax.toml")).unwrap());
        let mut with_book = plain.clone();
        with_book.book = Some(Book::of_lines(&["f5d6".to_owned()]).unwrap());
        let all = [&plain, &other_features, &with_book];
        for (of, entry) in all
            .map(|config| ConfigEntry::new(Generation::FIRST, config))
            .iter()
            .enumerate()
        {
            for (place, config) in all.into_iter().enumerate() {
                assert_eq!(
                    entry.names_the_files_of(config),
                    of == place,
                    "{of} {place}"
                );
            }
        }
    }
}
