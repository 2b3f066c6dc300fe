//! The keys of a config. Each is declared once, in the table of its stage: its name, what it takes,
//! in which unit, and beside which words of another key. `configs/default.toml` has its default and
//! its effect; a test holds the two together.
//!
//! A [`Checked`] table keeps what its keys declare, whichever way it was read, so no later code
//! checks it again.

use super::StageError;
use crate::artifact::dataset::bounds::PART_ITEMS_MAX;
use crate::artifact::line::{is_line, visible};
use crate::artifact::{ArtifactError, Dataset, PARTS_MAX};
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::fmt::Display;
use std::ops::Deref;

/// One key of a config table.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "their names say it")]
pub struct Key {
    pub name: &'static str,
    pub takes: Takes,
    /// What it counts or measures; empty for shares, words and the like.
    pub unit: &'static str,
    /// The key that decides whether this one has a meaning, and the words with which it has.
    pub only: Option<(&'static str, &'static [&'static str])>,
    /// Whether a config may leave it without a value.
    pub is_optional: bool,
}

/// The values that a key takes; ranges include both ends.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "their names say it")]
pub enum Takes {
    Whole(i64, i64),
    Number(f64, f64),
    Words(&'static [&'static str]),
    Flag,
    Text,
    /// Anything else: what is expected, and whether a value is that.
    Form(&'static str, fn(&Value) -> bool),
}

/// Why a table is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct KeyFault {
    /// The key to blame, as `table.key`, or the table.
    pub key: String,
    /// The key with its value, and what is expected; the remedy on a second line.
    pub reason: String,
}

/// A table of a config.
pub trait ConfigTable: Serialize + DeserializeOwned {
    /// Its name in a config.
    const NAME: &'static str;

    /// Its keys, in the order of the default config.
    const KEYS: &'static [Key];

    /// Checks that the keys, each within its range, are consistent.
    ///
    /// # Errors
    ///
    /// The first key that does not go with the others.
    fn check(&self) -> Result<(), KeyFault> {
        Ok(())
    }
}

/// A table whose keys are in their ranges and go together.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Checked<T>(T);

/// The size of a part.
pub const PART_ITEMS: Takes = Takes::Whole(1, PART_ITEMS_MAX as i64);

impl Key {
    /// A key that every config has a value for.
    pub const fn new(name: &'static str, takes: Takes) -> Self {
        Self {
            name,
            takes,
            unit: "",
            only: None,
            is_optional: false,
        }
    }

    /// The same key with a unit.
    pub const fn unit(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }

    /// The same key, only where another one has one of these words.
    pub const fn only(self, decider: &'static str, words: &'static [&'static str]) -> Self {
        Self {
            only: Some((decider, words)),
            ..self
        }
    }

    /// The same key, without which a config is whole.
    pub const fn optional(self) -> Self {
        Self {
            is_optional: true,
            ..self
        }
    }

    /// What it takes, in words.
    pub fn expected(&self) -> String {
        let unit = if self.unit.is_empty() {
            String::new()
        } else {
            format!(" ({})", self.unit)
        };
        match self.takes {
            Takes::Whole(min, i64::MAX) => format!("a whole number from {min}"),
            Takes::Whole(min, max) => format!("a whole number from {min} to {max}{unit}"),
            Takes::Number(min, max) => format!("a number from {min} to {max}{unit}"),
            Takes::Words(words) => any_of(words),
            Takes::Flag => "true or false".to_owned(),
            Takes::Text => "a text in quotes, on one line".to_owned(),
            Takes::Form(expected, _) => expected.to_owned(),
        }
    }

    /// Whether it has a meaning beside the other keys of a table.
    pub fn belongs_in(&self, table: &Value) -> bool {
        self.only
            .is_none_or(|(decider, words)| words.iter().any(|word| table[decider] == *word))
    }
}

impl Takes {
    /// Whether a value is one of these.
    pub fn holds(&self, value: &Value) -> bool {
        match *self {
            Self::Whole(min, max) => value
                .as_i64()
                .is_some_and(|number| min <= number && number <= max),
            Self::Number(min, max) => value
                .as_f64()
                .is_some_and(|number| min <= number && number <= max),
            Self::Words(words) => words.iter().any(|word| value == word),
            Self::Flag => value.is_boolean(),
            Self::Text => value.as_str().is_some_and(is_line),
            Self::Form(_, holds) => holds(value),
        }
    }
}

/// Words as a config has them: `"a", "b" or "c"`.
pub fn any_of(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    match quoted.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => quoted.concat(),
    }
}

impl KeyFault {
    /// A key, as `table.key`, with a value that it may not have.
    pub fn new(key: &str, value: impl Display, expected: impl Display) -> Self {
        Self {
            key: key.to_owned(),
            reason: format!("{key} = {value}: {expected}"),
        }
    }
}

impl From<KeyFault> for StageError {
    fn from(fault: KeyFault) -> Self {
        Self::Setting(fault.reason)
    }
}

impl<T: ConfigTable> Checked<T> {
    /// A table as the program makes one.
    ///
    /// # Errors
    ///
    /// The first key that is out of range, or does not go with the others.
    pub fn new(table: T) -> Result<Self, KeyFault> {
        Self::read(serde_json::to_value(table).expect("a config is plain data"))
    }

    /// A table as a file has it.
    ///
    /// # Errors
    ///
    /// The first key that is out of range, then keys that are missing or unknown, then those that
    /// do not go together.
    pub fn read(keys: Value) -> Result<Self, KeyFault> {
        for key in T::KEYS {
            if let Some(value) = keys.get(key.name).filter(|value| !key.takes.holds(value)) {
                let name = format!("{}.{}", T::NAME, key.name);
                return Err(KeyFault::new(
                    &name,
                    value,
                    format!("expected {}", key.expected()),
                ));
            }
        }
        let unfit = |error: serde_json::Error| KeyFault {
            key: T::NAME.to_owned(),
            reason: visible(&error.to_string()),
        };
        let table: T = serde_json::from_value(keys).map_err(unfit)?;
        table.check()?;
        Ok(Self(table))
    }

    /// The table in a dataset's manifest, checked as one that comes from a file.
    pub fn of_dataset(dataset: &Dataset) -> Result<Self, ArtifactError> {
        let path = dataset.folder().join("manifest.json");
        Self::read(dataset.manifest().config.clone())
            .map_err(|fault| ArtifactError::unfit(&path, format!("its config: {fault}")))
    }

    /// The same table with other values.
    pub fn with(&self, change: impl FnOnce(&mut T)) -> Result<Self, KeyFault>
    where
        T: Clone,
    {
        let mut table = self.0.clone();
        change(&mut table);
        Self::new(table)
    }
}

impl<T> Deref for Checked<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<'de, T: ConfigTable> Deserialize<'de> for Checked<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Other faults of a file are one line too.
        Self::read(Value::deserialize(deserializer)?)
            .map_err(|fault| D::Error::custom(fault.to_string().replace('\n', "; ")))
    }
}

/// An error unless the games of a table make at most [`PARTS_MAX`] parts.
///
/// # Errors
///
/// The key of the size of a part, its value, and the value that it needs.
pub fn check_parts(table: &str, items: u64, size: u64) -> Result<(), KeyFault> {
    let items_key = format!("{table}.games");
    let size_key = format!("{table}.part_games");
    let parts = items.div_ceil(size);
    if parts <= PARTS_MAX {
        return Ok(());
    }
    let needed = items.div_ceil(PARTS_MAX);
    let remedy = if needed <= PART_ITEMS_MAX {
        format!("raise {size_key} to at least {needed}")
    } else {
        let reason = format!(
            "{items_key} = {items} needs {size_key} = {needed}, and that is at most {PART_ITEMS_MAX}"
        );
        format!("{reason}: ask for {} or less", PARTS_MAX * PART_ITEMS_MAX)
    };
    let reason = format!("{items_key} = {items} makes {parts} parts, at most {PARTS_MAX} expected");
    Err(KeyFault::new(
        &size_key,
        size,
        format!("{reason}\n{remedy}"),
    ))
}
