//! One TOML decides a run: it names what differs from the default config, and is read strictly and checked whole.

pub mod builtin;
mod nearest;
mod resolve;
pub mod setting;

use crate::artifact::error::ArtifactError;
use crate::artifact::model::features_file::{parse_features, read_features};
use crate::artifact::publish::read_stream;
use crate::engine::eval::pattern_set::PatternSet;
use crate::exchange::transcripts::read_transcripts;
use crate::exit_code;
use crate::pipeline::fit_mpc::task::FitMpcConfig;
use crate::pipeline::gate::task::GateConfig;
use crate::pipeline::generate::book::Book;
use crate::pipeline::generate::task::GenerateConfig;
use crate::pipeline::search_settings::SelectiveConfig;
use crate::pipeline::train::task::TrainConfig;
use crate::pipeline::{StageError, check_range};
use resolve::{Fault, Resolved, lines_of, resolve};
use serde::{Deserialize, Serialize};
use setting::Setting;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A larger file is not a config.
const SIZE_MAX: u64 = 1 << 20;

/// The default config, with every key that a config may have.
pub const DEFAULT: &str = include_str!("../configs/default.toml");

/// What its `run.features` names.
const DEFAULT_FEATURES: &str = include_str!("../configs/features/edge-corner.toml");

/// The `[run]` table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "configs/default.toml says what each key means")]
pub struct RunConfig {
    pub seed: u64,
    pub generations: u32,
    pub start: String,
    pub features: String,
    pub window: u32,
    pub keep_generations: u32,
}

/// A whole config, with a value for every key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "one table per stage")]
pub struct Config {
    pub run: RunConfig,
    pub generate: GenerateConfig,
    pub train: TrainConfig,
    pub fit_mpc: FitMpcConfig,
    pub gate: GateConfig,
    /// Forward pruning and extensions in `[generate]` and `[gate]`; most configs have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selective: Option<SelectiveConfig>,
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
    pub book: Option<Arc<Book>>,
    /// Where the keys come from that the file or a setting names, as `table.key`; every other value is that of the default.
    pub origins: BTreeMap<String, Origin>,
}

/// Where a value that is not the default's comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
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
    /// It does not exist.
    #[error("cannot read {}: it does not exist\nwrite it, or name a config of the program: {}", path.display(), builtin::names())]
    Missing {
        /// The file.
        path: PathBuf,
    },
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
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Unreadable(source) | Self::Named { source, .. } => match source.exit_code() {
                // A config and the files it names are arguments rather than input.
                exit_code::BAD_INPUT => exit_code::USAGE,
                code => code,
            },
            Self::Invalid { .. } | Self::Missing { .. } => exit_code::USAGE,
        }
    }
}

impl Config {
    fn check(&self) -> Result<(), StageError> {
        check_range("run.generations", self.run.generations, 1, 100_000)?;
        check_range("run.window", self.run.window, 1, 100_000)?;
        check_range("run.keep_generations", self.run.keep_generations, 0, 100_000)?;
        self.generate.check()?;
        self.train.check()?;
        self.fit_mpc.check()?;
        self.gate.check()
    }

    /// Both stages that play games search as `[selective]` says, which is a part of their recipes.
    fn share_selective(&mut self) {
        self.generate.selective.clone_from(&self.selective);
        self.gate.selective.clone_from(&self.selective);
    }
}

impl Config {
    /// The same config with `[selective]` in its own table alone, as a file has it.
    #[must_use]
    pub fn shared_once(&self) -> Self {
        let mut config = self.clone();
        (config.generate.selective, config.gate.selective) = (None, None);
        config
    }
}

impl LoadedConfig {
    /// Every key, as `table.key`, with its value as TOML, in the order of the default.
    ///
    /// # Panics
    ///
    /// If a config had no TOML form, which would be our own mistake.
    #[must_use]
    pub fn keys(&self) -> Vec<(String, String)> {
        let tables = toml::Table::try_from(self.config.shared_once()).expect("a config is plain data");
        let order = lines_of(DEFAULT);
        let of_table = |(table, keys): (&String, &toml::Value)| {
            let keys = keys.as_table().into_iter().flatten();
            keys.map(|(key, value)| (format!("{table}.{key}"), value.to_string())).collect::<Vec<_>>()
        };
        let mut keys: Vec<(String, String)> = tables.iter().flat_map(of_table).collect();
        // What the default does not have comes last in its table, and a table that it does not have last of all.
        let place = |name: &str| order.get(name).copied().unwrap_or(usize::MAX);
        let table = |name: &str| name.split_once('.').map(|(table, _)| table.to_owned());
        let table_place =
            |name: &str| order.iter().find(|(key, _)| table(key) == table(name)).map_or(usize::MAX, |key| *key.1);
        keys.sort_by_key(|(name, _)| (table_place(name), place(name)));
        keys
    }
}

/// Reads and checks a config and the files it names, which lie relative to it. `builtin:smoke` and the like are part of the
/// program, with the patterns that they name; what else is named then lies relative to the current folder.
///
/// # Errors
///
/// The first thing that is wrong with it, with its place.
pub fn load_config(path: &Path) -> Result<LoadedConfig, ConfigError> {
    load_config_with(path, &[])
}

/// As [`load_config`], with other values for some keys.
///
/// # Errors
///
/// As [`load_config`].
pub fn load_config_with(path: &Path, settings: &[Setting]) -> Result<LoadedConfig, ConfigError> {
    load_text(path, &read_text(path)?, settings)
}

/// The default config, as an empty file would be read.
///
/// # Panics
///
/// If what is embedded is not sound, which would be our own mistake.
#[must_use]
pub fn default_config() -> LoadedConfig {
    load_text(Path::new("default.toml"), "", &[]).expect("the embedded config is sound")
}

fn load_text(path: &Path, text: &str, settings: &[Setting]) -> Result<LoadedConfig, ConfigError> {
    let invalid = |origin, reason| ConfigError::Invalid { place: place(path, origin), reason };
    // The file of the default names nothing that differs from it.
    let text = if text == DEFAULT { "" } else { text };
    let default = toml::from_str(DEFAULT).expect("the default config is TOML");
    let Resolved { config, origins } = resolve(text, &setting::text_of(settings), &default)
        .map_err(|Fault { origin, reason }| invalid(origin, reason))?;
    let builtin = builtin::name_of(path);
    let folder = if builtin.is_some() { Path::new("") } else { path.parent().unwrap_or(Path::new(".")) };
    let named = |key: &'static str, value: &str| {
        let (place, setting) = (place(path, origins.get(key).copied()), format!("{key} = \"{value}\""));
        move |source| ConfigError::Named { place, setting, source }
    };
    let features = config.run.features.as_str();
    let embedded = match builtin {
        Some(_) => builtin::text_of(&builtin::FEATURES, features),
        None => (!origins.contains_key("run.features")).then_some(DEFAULT_FEATURES),
    };
    let features = match embedded {
        Some(text) => parse_features(text).expect("the embedded features are sound"),
        None => read_features(&folder.join(features)).map_err(named("run.features", features))?,
    };
    let book = config.generate.openings.book();
    let read = |book| read_book(&folder.join(book)).map(Arc::new).map_err(named("generate.book", book));
    let book = book.map(read).transpose()?;
    let stem = || path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let name = builtin.map_or_else(stem, str::to_owned);
    let reserved =
        [("shipped", "models/shipped is the model that ships"), ("yardstick", "datasets/yardstick is not of a run")];
    if let Some((_, reason)) = reserved.iter().find(|(reserved, _)| name == *reserved) {
        return Err(invalid(None, format!("no run may be called `{name}`: {reason}\nrename the file")));
    }
    Ok(LoadedConfig { name, config, features: Arc::new(features), book, origins })
}

/// Where a value comes from, as messages name it.
fn place(path: &Path, origin: Option<Origin>) -> String {
    match origin {
        Some(Origin::Line(line)) => format!("{}:{line}", path.display()),
        Some(Origin::Setting) => "--set".to_owned(),
        None => path.display().to_string(),
    }
}

fn read_text(path: &Path) -> Result<String, ConfigError> {
    if let Some(name) = builtin::name_of(path) {
        let text = builtin::text_of(&builtin::CONFIGS, name).map(str::to_owned);
        return text.ok_or_else(|| {
            let reason = format!("there is no such config in the program\nchoose one of {}", builtin::names());
            ConfigError::Invalid { place: place(path, None), reason }
        });
    }
    let file = File::open(path).map_err(|source| ArtifactError::io("read", path, source));
    let bytes = file.and_then(|file| read_stream(file, path, SIZE_MAX)).map_err(|error| match error {
        ArtifactError::Missing { path } => ConfigError::Missing { path },
        error => ConfigError::Unreadable(error),
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let sound = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + sound.iter().filter(|&&byte| byte == b'\n').count();
        ConfigError::Invalid {
            place: place(path, Some(Origin::Line(line))),
            reason: "it is not text: UTF-8 is expected".to_owned(),
        }
    })
}

/// Reads a file of openings, one per line, as transcripts are.
fn read_book(path: &Path) -> Result<Book, ArtifactError> {
    let mut lines = Vec::new();
    for record in read_transcripts(path)?.iter {
        let record = record.map_err(|bad| ArtifactError::unfit(path, bad.to_string()))?;
        lines.extend(record.moves);
    }
    Book::new(&lines).map_err(|reason| ArtifactError::unfit(path, reason))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::alternatives::alternatives;
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
        exploration_discs = 9.9
        play_depth = 9
        label_depth = 9
        exact_empties = 9
        mpc_level = { t = 9.9 }
        label_from_ply = 9

        [train]
        rule = "delta" # there is no other
        ratio = 0.99
        ratio_decay = 0.99
        clip = 99
        batch = 99
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
        load_config(&Path::new(env!("CARGO_MANIFEST_DIR")).join("configs").join(name)).unwrap()
    }

    fn resolved(text: &str, default: &str) -> Config {
        resolve(text, "", &toml::from_str(default).unwrap()).unwrap().config
    }

    #[test]
    fn every_shipped_config_is_sound() {
        for name in ["smoke", "seed", "nightly", "champion"] {
            assert!(0 < load(&format!("{name}.toml")).config.generate.games, "{name}");
        }
        assert_eq!(load("default.toml").config, default_config().config);
        let features =
            std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/features/edge-corner.toml"));
        assert_eq!(
            (default_config().config.run.features.as_str(), features.unwrap().as_str()),
            ("features/edge-corner.toml", DEFAULT_FEATURES)
        );
        assert!(load("default.toml").origins.is_empty());
        assert!(2000 <= default_config().config.generate.games);
    }

    #[test]
    fn the_published_config_names_every_key_on_which_its_bytes_depend() {
        let default: toml::Table = toml::from_str(DEFAULT).unwrap();
        let other: toml::Table = toml::from_str(OTHER_DEFAULT).unwrap();
        for (table, keys) in &default {
            for (key, value) in keys.as_table().unwrap() {
                assert!(key == "rule" || other[table].get(key) != Some(value), "{table}.{key} is not another value");
            }
        }
        let text = include_str!("../configs/seed.toml");
        let mut configs = [DEFAULT, OTHER_DEFAULT].map(|default| resolved(text, default));
        // How many generations there are, and how long they stay, changes none of them.
        for config in &mut configs {
            (config.run.generations, config.run.keep_generations) = (1, 0);
        }
        assert_eq!(configs[0], configs[1]);
    }

    #[test]
    fn there_are_at_most_57_keys() {
        let mut keys: BTreeSet<String> = lines_of(DEFAULT).into_keys().collect();
        for choice in alternatives() {
            keys.extend(choice.tables.iter().flatten().map(|(key, _)| format!("{}.{key}", choice.table)));
        }
        keys.extend(["threshold", "rank", "extension"].map(|key| format!("selective.{key}")));
        keys.insert("gate.node_cost".to_owned());
        keys.extend(["quantum", "learning_curve"].map(|key| format!("train.{key}")));
        assert_eq!(keys.len(), 57, "{keys:?}");
    }

    #[test]
    fn a_config_lies_over_the_default_and_takes_its_own_alternatives() {
        let config =
            resolved("[train]\ntarget = \"result\"\n[fit_mpc]\nmethod = \"source\"\nt = 2\ngames = 7\n", DEFAULT);
        let default = default_config().config;
        let (train, fit_mpc) = (config.train.clone(), config.fit_mpc.clone());
        assert_eq!(train.target, crate::pipeline::train::task::Target::Result {});
        assert_eq!((fit_mpc.method, fit_mpc.games), (crate::pipeline::fit_mpc::task::Method::Source { t: 2.0 }, 7));
        let train = TrainConfig { target: default.train.target.clone(), ..train };
        let fit_mpc = FitMpcConfig { method: default.fit_mpc.method, games: default.fit_mpc.games, ..fit_mpc };
        assert_eq!(Config { train, fit_mpc, ..config }, default);
        assert_eq!(resolved("", DEFAULT), default);
    }

    #[test]
    fn every_key_is_shown_in_the_order_of_the_default() {
        let names: Vec<String> = default_config().keys().into_iter().map(|(name, _)| name).collect();
        let lines = lines_of(DEFAULT);
        assert_eq!(names.len(), lines.len());
        assert!(names.is_sorted_by_key(|name| lines[name]), "{names:?}");
    }

    #[test]
    fn a_file_that_a_config_names_and_that_is_not_there_is_an_error_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.toml");
        let text = "[run]\nfeatures = \"nowhere.toml\"\n";
        crate::artifact::publish::publish_bytes(&path, text.as_bytes()).unwrap();
        let error = load_config(&path).unwrap_err().to_string();
        assert!(error.ends_with("c.toml:2: run.features = \"nowhere.toml\""), "{error}");
    }
}
