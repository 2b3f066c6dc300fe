//! One TOML decides a run: read strictly, checked whole.

mod diagnosis;

use crate::artifact::error::ArtifactError;
use crate::artifact::model::features_file::read_features;
use crate::artifact::publish::read_stream;
use crate::engine::eval::pattern_set::PatternSet;
use crate::exchange::transcripts::read_transcripts;
use crate::pipeline::fit_mpc::task::FitMpcConfig;
use crate::pipeline::gate::task::GateConfig;
use crate::pipeline::generate::book::Book;
use crate::pipeline::generate::task::GenerateConfig;
use crate::pipeline::search_settings::SelectiveConfig;
use crate::pipeline::train::task::TrainConfig;
use crate::pipeline::{StageError, check_range};
use diagnosis::{Fault, diagnose, line_of};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// A larger file is not a config.
const SIZE_MAX: u64 = 1 << 20;

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

/// A whole config; every key must be there, and none else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "one table a stage")]
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
    /// The name of the run: the file's stem.
    pub name: String,
    /// The tables.
    pub config: Config,
    /// The patterns and phases to train.
    pub features: Arc<PatternSet>,
    /// The openings that `generate.book` names.
    pub book: Option<Arc<Book>>,
}

/// Why a file is not a config.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It does not exist, or cannot be read.
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
    fn share_selective(&mut self) -> Result<(), StageError> {
        if self.generate.selective.is_some() || self.gate.selective.is_some() {
            let reason = "selective: it is a separate table, for self-play and gates together\nwrite [selective]";
            return Err(StageError::Setting(reason.into()));
        }
        self.generate.selective.clone_from(&self.selective);
        self.gate.selective.clone_from(&self.selective);
        Ok(())
    }
}

/// Reads and checks a config and the files it names, which lie relative to it.
///
/// # Errors
///
/// The first thing that is wrong with it, with its place.
pub fn load_config(path: &Path) -> Result<LoadedConfig, ConfigError> {
    let text = read_text(path)?;
    let invalid = |line, reason| ConfigError::Invalid { place: place(path, line), reason };
    let mut config: Config = toml::from_str(&text).map_err(|error| {
        let Fault { line, reason } = diagnose(&text, &error);
        invalid(line, reason)
    })?;
    config.share_selective().and_then(|()| config.check()).map_err(|error| {
        let reason = error.to_string();
        // Each range names its key first.
        let key = reason.split_once(" = ").map_or("", |(key, _)| key);
        invalid(line_of(&text, key), reason)
    })?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let named = |key: &'static str, value: &str| {
        let (place, setting) = (place(path, line_of(&text, key)), format!("{key} = \"{value}\""));
        move |source| ConfigError::Named { place, setting, source }
    };
    let features = &config.run.features;
    let features = read_features(&folder.join(features)).map_err(named("run.features", features))?;
    let book = match config.generate.book.as_str() {
        "" => None,
        book => Some(Arc::new(read_book(&folder.join(book)).map_err(named("generate.book", book))?)),
    };
    let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    if name == "shipped" {
        return Err(invalid(
            None,
            "no run may be called `shipped`: models/shipped is the model that ships\nrename the file".into(),
        ));
    }
    Ok(LoadedConfig { name, config, features: Arc::new(features), book })
}

/// A line of a file, counted from 1, as messages name it.
fn place(path: &Path, line: Option<usize>) -> String {
    let line = line.map(|line| format!(":{line}")).unwrap_or_default();
    format!("{}{line}", path.display())
}

fn read_text(path: &Path) -> Result<String, ConfigError> {
    let file = File::open(path).map_err(|source| ArtifactError::io("read", path, source));
    let bytes = file.and_then(|file| read_stream(file, path, SIZE_MAX)).map_err(ConfigError::Unreadable)?;
    String::from_utf8(bytes).map_err(|error| {
        let sound = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + sound.iter().filter(|&&byte| byte == b'\n').count();
        ConfigError::Invalid { place: place(path, Some(line)), reason: "it is not text: UTF-8 is expected".to_owned() }
    })
}

/// Reads a file of openings, a line each, as transcripts are.
fn read_book(path: &Path) -> Result<Book, ArtifactError> {
    let mut lines = Vec::new();
    for record in read_transcripts(path)?.iter {
        let record = record.map_err(|bad| ArtifactError::unfit(path, bad.to_string()))?;
        lines.extend(record.moves);
    }
    Book::new(&lines).map_err(|reason| ArtifactError::unfit(path, reason))
}

/// The text of one key, `table.key`, as a shell script reads it.
#[must_use]
pub fn config_value(config: &Config, key: &str) -> Option<String> {
    let tables = serde_json::to_value(config).ok()?;
    let (table, key) = key.split_once('.')?;
    match tables.get(table)?.get(key)? {
        serde_json::Value::String(text) => Some(text.clone()),
        value => Some(value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str) -> LoadedConfig {
        load_config(&Path::new(env!("CARGO_MANIFEST_DIR")).join("configs").join(name)).unwrap()
    }

    #[test]
    fn every_shipped_config_is_complete() {
        for name in [
            "default.toml",
            "smoke.toml",
            "seed.toml",
            "nightly.toml",
            "workstation.toml",
            "../models/shipped/first.toml",
            "../models/shipped/config.toml",
        ] {
            assert!(0 < check(name).config.generate.games, "{name}");
        }
        assert!(2000 <= check("default.toml").config.generate.games);
        assert_eq!(config_value(&check("seed.toml").config, "train.target").unwrap(), "result");
    }

    #[test]
    fn a_misspelt_missing_or_impossible_key_is_an_error_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.toml");
        let text = include_str!("../configs/smoke.toml");
        for (from, to, expected) in [
            ("part_games", "part_gamez", "part_gamez"),
            ("epochs", "# epochs", "train.epochs is missing"),
            ("\ngames =", "\ngames = 0 #", "generate.games = 0"),
            ("mpc_level = ", "mpc_level = 42 # ", "mpc_level = 42"),
            ("features/", "nowhere/", "run.features"),
        ] {
            crate::artifact::publish::publish_bytes(&path, text.replacen(from, to, 1).as_bytes()).unwrap();
            let error = load_config(&path).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
