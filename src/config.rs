//! One TOML decides a run: read strictly, checked whole.

use crate::artifact::error::ArtifactError;
use crate::artifact::model::features_file::read_features;
use crate::engine::eval::pattern_set::PatternSet;
use crate::exchange::transcripts::read_transcripts;
use crate::pipeline::fit_mpc::FitMpcConfig;
use crate::pipeline::gate::GateConfig;
use crate::pipeline::generate::GenerateConfig;
use crate::pipeline::generate::openings::Book;
use crate::pipeline::search_settings::SelectiveConfig;
use crate::pipeline::train::TrainConfig;
use crate::pipeline::{StageError, check_range};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
    /// Forward pruning and extensions in [generate] and [gate]; most configs have none.
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

/// Why a file is no config.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It is not there, or cannot be read.
    #[error("cannot read config {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's own words.
        source: std::io::Error,
    },
    /// Its text is not a config.
    #[error("cannot use config {}: {reason}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Line, key and remedy.
        reason: String,
    },
    /// A file that it names cannot be used.
    #[error("cannot use config {}: {key}", path.display())]
    Named {
        /// The config file.
        path: PathBuf,
        /// What names the file.
        key: &'static str,
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
            let reason = "selective: it is a table of its own, for self-play and gates together\nwrite [selective]";
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
    let text =
        std::fs::read_to_string(path).map_err(|source| ConfigError::Unreadable { path: path.to_owned(), source })?;
    let invalid = |reason: String| ConfigError::Invalid { path: path.to_owned(), reason };
    let mut config: Config = toml::from_str(&text).map_err(|error| invalid(error.to_string().trim_end().to_owned()))?;
    config.share_selective().map_err(|error| invalid(error.to_string()))?;
    config.check().map_err(|error| invalid(error.to_string()))?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let named = |key| move |source| ConfigError::Named { path: path.to_owned(), key, source };
    let features = read_features(&folder.join(&config.run.features)).map_err(named("run.features"))?;
    let book = match config.generate.book.as_str() {
        "" => None,
        book => Some(Arc::new(read_book(&folder.join(book)).map_err(named("generate.book"))?)),
    };
    let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    if name == "shipped" {
        return Err(invalid(
            "no run may be called `shipped`: models/shipped is the model that ships\nrename the file".into(),
        ));
    }
    Ok(LoadedConfig { name, config, features: Arc::new(features), book })
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
            ("epochs", "# epochs", "missing field `epochs`"),
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
