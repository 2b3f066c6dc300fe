//! One TOML decides a run: it names what differs from the default config, and is read strictly and
//! checked whole.

pub mod builtin;
pub mod nearest;
mod resolve;
pub mod setting;

use crate::artifact::line::is_line;
use crate::artifact::model::features_file::{parse_features, read_features};
use crate::artifact::publish::{exists, read_bounded, read_file_or_pipe};
use crate::artifact::{ArtifactError, ModelRef};
use crate::engine::PatternSet;
use crate::exchange::positions::{POSITIONS_SIZE_MAX, read_positions};
use crate::exit_code;
use crate::generation::Generation;
use crate::pipeline::book::Book;
use crate::pipeline::fit_mpc::task::FitMpcConfig;
use crate::pipeline::gate::task::GateConfig;
use crate::pipeline::generate::task::GenerateConfig;
use crate::pipeline::keys::{Checked, ConfigTable, Key, KeyFault, Takes};
use crate::pipeline::request::Request;
use crate::pipeline::selective::SelectiveConfig;
use crate::pipeline::stage::Stage;
use crate::pipeline::train::task::{MEMORY, TrainConfig};
use nearest::{nearest, nearest_config};
use resolve::{Fault, Resolved, resolve};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use setting::Setting;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// A larger file is not a config.
const SIZE_MAX: u64 = 1 << 20;

/// The default config, with every key that a config may have.
pub const DEFAULT: &str = include_str!("../configs/default.toml");

/// The `[run]` table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "configs/default.toml says what each key means")]
pub struct RunConfig {
    pub seed: u64,
    pub generations: u32,
    pub start: ModelRef,
    pub features: String,
    pub window: u32,
    pub keep_generations: u32,
}

impl ConfigTable for RunConfig {
    const NAME: &'static str = "run";

    const KEYS: &'static [Key] = &[
        Key::new("seed", Takes::Whole(0, i64::MAX)),
        Key::new("generations", Takes::Whole(1, 100_000)).unit("generations"),
        Key::new("start", Takes::Text),
        Key::new("features", Takes::Text),
        Key::new("window", Takes::Whole(1, 100_000)).unit("generations"),
        Key::new("keep_generations", Takes::Whole(0, 100_000)).unit("generations"),
    ];
}

/// Every table with its keys, in the order of the default.
pub const TABLES: [(&str, &[Key]); 6] = [
    (RunConfig::NAME, RunConfig::KEYS),
    (GenerateConfig::NAME, GenerateConfig::KEYS),
    (TrainConfig::NAME, TrainConfig::KEYS),
    (FitMpcConfig::NAME, FitMpcConfig::KEYS),
    (GateConfig::NAME, GateConfig::KEYS),
    (SelectiveConfig::NAME, SelectiveConfig::KEYS),
];

/// The stages that play games search as `[selective]` says: it is a part of their tables, and so of
/// their recipes.
const SELECTIVE_IN: [&str; 2] = [GenerateConfig::NAME, GateConfig::NAME];

/// A whole config, with a value for every key.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "one table per stage")]
pub struct Config {
    pub run: Checked<RunConfig>,
    pub generate: Checked<GenerateConfig>,
    pub train: Checked<TrainConfig>,
    pub fit_mpc: Checked<FitMpcConfig>,
    pub gate: Checked<GateConfig>,
}

/// A config with what it names.
#[derive(Clone, Debug)]
pub struct LoadedConfig {
    /// The name of the run: the file's stem, or the name of a built-in config.
    pub name: String,
    /// The tables.
    pub config: Config,
    /// The patterns and phases to train.
    pub features: Arc<PatternSet>,
    /// The openings that `generate.book` names.
    pub book: Option<Book>,
    /// Where the keys come from that the file or a setting names, as `table.key`; every other value
    /// is that of the default.
    pub origins: BTreeMap<String, ValueOrigin>,
}

impl LoadedConfig {
    /// What is asked of a stage of the first generation, without models, datasets and output.
    ///
    /// # Panics
    ///
    /// If the stage has no table.
    pub fn request(&self, stage: Stage, registry: &Path) -> Request {
        let tables = serde_json::to_value(&self.config).expect("a config is plain data");
        Request {
            stage,
            config: tables[stage.facts().config_table].clone(),
            features: (stage == Stage::Train).then(|| Arc::clone(&self.features)),
            book: self.book.clone().filter(|_| stage == Stage::Generate),
            seed: self.config.run.seed,
            generation: Generation::FIRST,
            models: BTreeMap::new(),
            datasets: Vec::new(),
            output: None,
            registry: registry.to_owned(),
            memory: (stage == Stage::Train).then_some(MEMORY),
        }
    }
}

/// Where a value that is not the default's comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ValueOrigin {
    /// A line of the file, counted from 1.
    Line(usize),
    /// The command line.
    Setting,
}

/// Why a file is not a config.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It cannot be read.
    #[error(transparent)]
    Unreadable(ArtifactError),
    /// Its text is not a config.
    #[error("{place}: {reason}")]
    Invalid {
        /// The file and, if there is one to blame, the line.
        place: String,
        /// The key, what is expected, and the remedy.
        reason: String,
    },
    /// A file that it names cannot be used.
    #[error("{place}: {setting}")]
    Named {
        /// The file and, if there is one to blame, the line.
        place: String,
        /// The key and its value.
        setting: String,
        /// Why.
        source: ArtifactError,
    },
}

impl ConfigError {
    /// The exit code that says so.
    pub fn exit_code(&self) -> u8 {
        let (Self::Unreadable(source) | Self::Named { source, .. }) = self else {
            return exit_code::USAGE;
        };
        match source.exit_code() {
            // A config and the files it names are arguments rather than input.
            exit_code::BAD_INPUT => exit_code::USAGE,
            code => code,
        }
    }
}

impl Config {
    /// A config of tables as a file has them, with every key.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong with them.
    pub fn from_tables(mut tables: Map<String, Value>) -> Result<Self, KeyFault> {
        if let Some(selective) = tables.remove(SelectiveConfig::NAME) {
            Checked::<SelectiveConfig>::read(selective.clone())?;
            for table in SELECTIVE_IN {
                if let Some(keys) = tables.get_mut(table).and_then(Value::as_object_mut) {
                    keys.insert(SelectiveConfig::NAME.to_owned(), selective.clone());
                }
            }
        }
        let config = Self {
            run: taken(&mut tables)?,
            generate: taken(&mut tables)?,
            train: taken(&mut tables)?,
            fit_mpc: taken(&mut tables)?,
            gate: taken(&mut tables)?,
        };
        let unknown = |table: &String| KeyFault {
            key: table.clone(),
            reason: format!("[{table}]: unknown table"),
        };
        tables
            .keys()
            .next()
            .map_or(Ok(config), |table| Err(unknown(table)))
    }

    /// Its tables as a file has them.
    pub fn tables(&self) -> Map<String, Value> {
        let tables = serde_json::to_value(self).expect("a config is plain data");
        let mut tables: Map<String, Value> =
            serde_json::from_value(tables).expect("its tables have names");
        for table in SELECTIVE_IN {
            if let Some(selective) = tables[table]
                .as_object_mut()
                .and_then(|keys| keys.remove(SelectiveConfig::NAME))
            {
                tables.insert(SelectiveConfig::NAME.to_owned(), selective);
            }
        }
        tables
    }
}

fn taken<T: ConfigTable>(tables: &mut Map<String, Value>) -> Result<Checked<T>, KeyFault> {
    Checked::read(tables.remove(T::NAME).unwrap_or_default())
}

/// The keys of a table, if there is one of this name.
fn keys_of(table: &str) -> Option<&'static [Key]> {
    TABLES
        .iter()
        .find(|(name, _)| *name == table)
        .map(|(_, keys)| *keys)
}

/// Tables as a file has them: each key that has a value, in the order of the default.
pub fn tables_text(tables: &Map<String, Value>) -> String {
    let text_of_table = |(table, keys): &(&str, &[Key])| {
        let found = tables.get(*table)?;
        let lines = keys.iter().filter_map(|key| {
            Some(format!(
                "{} = {}\n",
                key.name,
                toml_text(found.get(key.name)?)
            ))
        });
        Some(format!("[{table}]\n{}", lines.collect::<String>()))
    };
    TABLES
        .iter()
        .filter_map(text_of_table)
        .collect::<Vec<_>>()
        .join("\n")
}

/// A value as a config has it.
fn toml_text(value: &Value) -> String {
    toml::Value::try_from(value).map_or_else(|_| value.to_string(), |value| value.to_string())
}

/// Reads and checks a config and the files it names, which lie relative to it. `builtin:smoke` and
/// the like are part of the program, with the patterns that they name; what else is named then lies
/// relative to the current folder.
///
/// # Errors
///
/// The first thing that is wrong with it, with its place.
pub fn load_config(path: &Path) -> Result<LoadedConfig, ConfigError> {
    load_config_with(path, &[])
}

/// [`load_config`], with other values for some keys.
pub fn load_config_with(path: &Path, settings: &[Setting]) -> Result<LoadedConfig, ConfigError> {
    load_text(path, &read_text(path)?, settings)
}

/// The default config, as an empty file would be read.
pub fn default_config() -> LoadedConfig {
    load_text(Path::new("default.toml"), "", &[]).expect("the embedded config is sound")
}

fn load_text(path: &Path, text: &str, settings: &[Setting]) -> Result<LoadedConfig, ConfigError> {
    let invalid = |origin, reason| ConfigError::Invalid {
        place: place(path, origin),
        reason,
    };
    // The file of the default names nothing that differs from it but what lies beside it.
    let is_copy = text == DEFAULT;
    let text = if is_copy { "" } else { text };
    let settings: String = settings
        .iter()
        .map(|setting| format!("{}\n", setting.line()))
        .collect();
    let Resolved { config, origins } = resolve(text, &settings, DEFAULT)
        .map_err(|Fault { origin, reason }| invalid(origin, reason))?;
    let builtin = builtin::name_of(path);
    let folder = if builtin.is_some() {
        Path::new("")
    } else {
        path.parent().unwrap_or(Path::new("."))
    };
    let named = |key: &'static str, value: &str| {
        let (place, setting) = (
            place(path, origins.get(key).copied()),
            format!("{key} = \"{value}\""),
        );
        move |source| ConfigError::Named {
            place,
            setting,
            source,
        }
    };
    let features = config.run.features.as_str();
    let is_beside = origins.contains_key("run.features")
        || (is_copy && exists(&folder.join(features)).unwrap_or(true));
    let is_embedded = builtin.is_some() || !is_beside;
    let features = match builtin::text_of(&builtin::FEATURES, features).filter(|_| is_embedded) {
        Some(text) => parse_features(text).expect("the embedded features are sound"),
        None => read_features(&folder.join(features)).map_err(named("run.features", features))?,
    };
    let book = config.generate.openings.book();
    let read = |book| read_book(&folder.join(book)).map_err(named("generate.book", book));
    let book = book.map(read).transpose()?;
    let stem = || {
        path.file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
            .unwrap_or_default()
    };
    let name = builtin.map_or_else(stem, str::to_owned);
    // It becomes the name of folders.
    let reason = match &*name {
        "shipped" => ": models/shipped is the model that ships",
        "sample" | "yardstick" => ": its datasets are part of the project",
        sound if is_line(sound) && ![".", ".."].contains(&sound) => {
            return Ok(LoadedConfig {
                name,
                config,
                features: Arc::new(features),
                book,
                origins,
            });
        }
        _ => "",
    };
    Err(invalid(
        None,
        format!("no run may be called {name:?}{reason}\nrename the file"),
    ))
}

/// Where a value comes from, as messages name it.
pub fn place(path: &Path, origin: Option<ValueOrigin>) -> String {
    match origin {
        Some(ValueOrigin::Line(line)) => format!("{}:{line}", path.display()),
        Some(ValueOrigin::Setting) => "--set".to_owned(),
        None => path.display().to_string(),
    }
}

fn read_text(path: &Path) -> Result<String, ConfigError> {
    if let Some(name) = builtin::name_of(path) {
        let text = builtin::text_of(&builtin::CONFIGS, name).map(str::to_owned);
        return text.ok_or_else(|| {
            let names = builtin::CONFIGS.map(|(name, _)| name);
            let remedy = nearest(name, names.into_iter()).map_or_else(
                || format!("choose one of {}", builtin::names()),
                |near| format!("did you mean builtin:{near}?"),
            );
            let reason = format!("unknown built-in config\n{remedy}");
            ConfigError::Invalid {
                place: place(path, None),
                reason,
            }
        });
    }
    let bytes = read_file_or_pipe(path, SIZE_MAX).map_err(|error| match error {
        ArtifactError::Missing { path } => {
            let remedy = nearest_config(&path).map_or_else(
                || format!("write it, or name a built-in config: {}", builtin::names()),
                |near| format!("did you mean {}?", near.display()),
            );
            ConfigError::Unreadable(ArtifactError::refused(
                "read",
                &path,
                format!("it does not exist\n{remedy}"),
            ))
        }
        error => ConfigError::Unreadable(error),
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let sound = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + sound.iter().filter(|&&byte| byte == b'\n').count();
        ConfigError::Invalid {
            place: place(path, Some(ValueOrigin::Line(line))),
            reason: "it is not text: UTF-8 is expected".to_owned(),
        }
    })
}

/// Reads a file of openings, one per line: moves, or a board.
///
/// # Errors
///
/// A file that is missing, or a line that is not an opening.
pub fn read_book(path: &Path) -> Result<Book, ArtifactError> {
    let games = read_positions(path, read_bounded(path, POSITIONS_SIZE_MAX)?)?;
    Book::new(games.into_iter().map(|scored| scored.game))
        .map_err(|reason| ArtifactError::unfit(path, reason))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::publish::publish_bytes;
    use std::collections::BTreeSet;

    /// A default in which every value that a config may name is another one.
    const OTHER_DEFAULT: &str = r#"
        [run]
        seed = 99
        generations = 99
        start = "builtin:champion"
        features = "features/other.toml"
        window = 99
        keep_generations = 99

        [generate]
        games = 99
        part_games = 99
        openings = "book"
        book = "other.txt"
        random_plies_min = 1
        random_plies_max = 59
        exploration = 0.99
        play_depth = 9
        label_depth = 9
        exact_empties = 9
        mpc_level = { t = 9.9 }
        label_from_ply = 9

        [train]
        ratio = 0.99
        ratio_decay = 0.99
        clip = 99
        fraction_bits = 7
        target = "score"
        weight_scale = 9.9
        start = "zero"
        epochs = 99
        shuffle = false
        validation = 0.89
        empties_min = 9
        empties_max = 59
        overlap = 9
        wide_overlap = 9

        [fit_mpc]
        method = "source"
        t = 9.9
        depth_max = 9
        games = 99
        part_games = 99

        [gate]
        mode = "games"
        games = 98
        opening_plies = 9
        depth = 9
        nodes = 99
        exact_empties = 9
        mpc_level = 99
    "#;

    fn load(name: &str) -> LoadedConfig {
        load_config(
            &Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("configs")
                .join(name),
        )
        .unwrap()
    }

    fn resolved(text: &str, default: &str) -> Config {
        resolve(text, "", default).unwrap().config
    }

    #[test]
    fn every_shipped_config_is_sound() {
        for name in ["smoke", "seed", "nightly", "champion"] {
            assert!(
                0 < load(&format!("{name}.toml")).config.generate.games,
                "{name}"
            );
        }
        assert_eq!(load("default.toml").config, default_config().config);
        assert!(load("default.toml").origins.is_empty());
        assert!(2000 <= default_config().config.generate.games);
    }

    #[test]
    fn a_copy_of_the_default_takes_the_patterns_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("default.toml");
        publish_bytes(&path, DEFAULT.as_bytes()).unwrap();
        let features = || load_config(&path).unwrap().features;
        assert_eq!(features().name(), default_config().features.name());
        let other = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/features/es-cube.toml");
        let text = read_bounded(&other, 1 << 20).unwrap();
        publish_bytes(&folder.path().join("features/edge-corner.toml"), &text).unwrap();
        assert_eq!(features().name(), "es-cube");
    }

    #[test]
    fn the_published_config_names_every_key_on_which_its_bytes_depend() {
        let default: toml::Table = toml::from_str(DEFAULT).unwrap();
        let other: toml::Table = toml::from_str(OTHER_DEFAULT).unwrap();
        for (table, keys) in &default {
            for (key, value) in keys.as_table().unwrap() {
                assert!(
                    other[table].get(key) != Some(value),
                    "{table}.{key} is not another value"
                );
            }
        }
        let text = include_str!("../configs/seed.toml");
        let mut configs = [DEFAULT, OTHER_DEFAULT].map(|default| resolved(text, default));
        // How many generations there are, and how long they stay, changes none of them.
        for config in &mut configs {
            let same = |run: &mut RunConfig| (run.generations, run.keep_generations) = (1, 0);
            config.run = config.run.with(same).unwrap();
        }
        assert_eq!(configs[0], configs[1]);
    }

    #[test]
    fn every_key_of_the_default_is_declared_and_the_other_way_round() {
        let default: Map<String, Value> = toml::from_str(DEFAULT).unwrap();
        for (table, keys) in TABLES {
            let Some(found) = default.get(table) else {
                assert!(keys.iter().all(|key| key.is_optional), "[{table}]");
                continue;
            };
            let declared: BTreeSet<&str> = keys
                .iter()
                .filter(|key| !key.is_optional && key.belongs_in(found))
                .map(|key| key.name)
                .collect();
            assert_eq!(
                declared,
                found
                    .as_object()
                    .unwrap()
                    .keys()
                    .map(String::as_str)
                    .collect(),
                "[{table}]"
            );
        }
        assert_eq!(TABLES.iter().map(|(_, keys)| keys.len()).sum::<usize>(), 56);
    }

    #[test]
    fn a_config_is_written_as_it_is_read() {
        let lines = |text: &str| {
            let is_key = |line: &&str| !line.is_empty() && !line.starts_with('#');
            text.lines()
                .filter(is_key)
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            lines(&tables_text(&default_config().config.tables())),
            lines(DEFAULT)
        );
        let text = "[selective]\nrank = 7\n[gate]\nmpc_level = { t = 1.4 }\n[fit_mpc]\nmethod = \"source\"\nt = 2";
        let config = resolved(text, DEFAULT);
        assert_eq!(config.gate.selective, config.generate.selective);
        assert_eq!(
            resolved(&tables_text(&config.tables()), OTHER_DEFAULT),
            config
        );
        assert_eq!(Config::from_tables(config.tables()), Ok(config));
    }

    /// The tables with another value for a key, and for the key that decides whether it has a
    /// meaning.
    fn set(table: &str, key: &Key, value: Value) -> Map<String, Value> {
        let mut tables = default_config().config.tables();
        let keys = tables.entry(table).or_insert_with(|| serde_json::json!({}));
        if let Some((decider, words)) = key.only {
            keys[decider] = words[0].into();
        }
        keys[key.name] = value;
        tables
    }

    /// Reads a table as its type alone does.
    fn read_unchecked(table: &str, tables: &Map<String, Value>) -> Result<(), String> {
        fn read<T: ConfigTable>(value: Value) -> Result<(), String> {
            serde_json::from_value::<T>(value)
                .map(drop)
                .map_err(|error| error.to_string())
        }
        let mut value = tables[table].clone();
        let found = keys_of(table).unwrap();
        let stays = |name: &str| {
            found
                .iter()
                .any(|key| key.name == name && key.belongs_in(&tables[table]))
        };
        value.as_object_mut().unwrap().retain(|name, _| stays(name));
        match table {
            "run" => read::<RunConfig>(value),
            "generate" => read::<GenerateConfig>(value),
            "train" => read::<TrainConfig>(value),
            "fit_mpc" => read::<FitMpcConfig>(value),
            "gate" => read::<GateConfig>(value),
            _ => read::<SelectiveConfig>(value),
        }
    }

    #[test]
    fn the_type_of_each_key_holds_what_it_declares() {
        for (table, key) in TABLES
            .iter()
            .flat_map(|(table, keys)| keys.iter().map(move |key| (table, key)))
        {
            let ends: [Value; 2] = match key.takes {
                Takes::Whole(min, max) => [min.into(), max.into()],
                Takes::Number(min, max) => [min.into(), max.into()],
                Takes::Flag => [true.into(), false.into()],
                Takes::Text => ["a".into(), "b".into()],
                Takes::Words(words) => {
                    let error = read_unchecked(table, &set(table, key, "?".into())).unwrap_err();
                    let known: Vec<&str> = error
                        .split("expected")
                        .nth(1)
                        .unwrap()
                        .split('`')
                        .skip(1)
                        .step_by(2)
                        .collect();
                    assert_eq!(known, words, "{table}.{}", key.name);
                    continue;
                }
                Takes::Form(..) => continue,
            };
            for end in ends {
                let tables = set(table, key, end.clone());
                assert!(key.takes.holds(&end), "{table}.{}", key.name);
                assert_eq!(
                    read_unchecked(table, &tables),
                    Ok(()),
                    "{table}.{} = {end}",
                    key.name
                );
            }
        }
    }

    #[test]
    fn a_value_out_of_range_is_an_error_at_every_door() {
        for (table, key) in TABLES
            .iter()
            .flat_map(|(table, keys)| keys.iter().map(move |key| (table, key)))
        {
            let beyond: [Value; 2] = match key.takes {
                Takes::Whole(min, i64::MAX) => [(min - 1).into(), 1.5.into()],
                Takes::Whole(min, max) => [(min - 1).into(), (max + 1).into()],
                Takes::Number(min, max) => [(min - 1e-9).into(), (max + 1e-9).into()],
                _ => [7.5.into(), Value::Null],
            };
            for value in beyond {
                let fault = Config::from_tables(set(table, key, value.clone())).unwrap_err();
                assert_eq!(fault.key, format!("{table}.{}", key.name), "{value}");
                assert!(
                    fault
                        .reason
                        .ends_with(&format!("expected {}", key.expected())),
                    "{fault}"
                );
            }
        }
    }

    #[test]
    fn a_config_lies_over_the_default_and_takes_its_own_alternatives() {
        let config = resolved(
            "[train]\ntarget = \"result\"\n[fit_mpc]\nmethod = \"source\"\nt = 2\ngames = 7\n",
            DEFAULT,
        );
        let default = default_config().config;
        assert_eq!(
            config.train.target,
            crate::pipeline::train::task::Target::Result {}
        );
        assert_eq!(
            config.fit_mpc.method,
            crate::pipeline::fit_mpc::task::Method::Source { t: 2.0 }
        );
        assert_eq!(config.fit_mpc.games, 7);
        let train = config
            .train
            .with(|train| train.target.clone_from(&default.train.target))
            .unwrap();
        let like_default = |fit: &mut FitMpcConfig| {
            (fit.method, fit.games) = (default.fit_mpc.method, default.fit_mpc.games);
        };
        let fit_mpc = config.fit_mpc.with(like_default).unwrap();
        assert_eq!(
            Config {
                train,
                fit_mpc,
                ..config
            },
            default
        );
        assert_eq!(resolved("", DEFAULT), default);
    }

    #[test]
    fn a_file_that_a_config_names_and_that_is_not_there_is_an_error_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.toml");
        let text = "[run]\nfeatures = \"nowhere.toml\"\n";
        publish_bytes(&path, text.as_bytes()).unwrap();
        let error = load_config(&path).unwrap_err().to_string();
        assert!(
            error.ends_with("c.toml:2: run.features = \"nowhere.toml\""),
            "{error}"
        );
    }
}
