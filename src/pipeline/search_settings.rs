//! What configs say of a search beyond its depth: how sure a selective cut must be, forward pruning and extensions.

use super::{StageError, check_range};
use crate::engine::score::Score;
use crate::engine::search::mpc_level::MpcLevel;
use crate::engine::search::selective::{Extension, Selective};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Unexpected, Visitor};
use serde::{Deserialize as DeriveDeserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The greatest margin in sigmas: wider ones cut nothing.
const SIGMAS_MAX: f64 = 10.0;

/// No position has more legal moves.
const MOVES_MAX: u8 = 36;

/// How sure a selective cut must be: a percentage, `87`, or a margin in sigmas, `{ t = 1.4 }`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum LevelSetting {
    /// The share of positions within the margin; 100 is full width.
    Percent(u8),
    /// A margin.
    Sigmas {
        /// In sigmas.
        t: f64,
    },
}

/// What is expected where a level has another form.
const EXPECTED: &str = "a percentage or { t = SIGMAS }";

impl LevelSetting {
    /// The level that the search knows.
    ///
    /// # Errors
    ///
    /// The key with its value and its range.
    pub fn level(self, key: &str) -> Result<MpcLevel, StageError> {
        match self {
            Self::Percent(percent) => MpcLevel::from_percent(percent).ok_or_else(|| {
                StageError::Setting(format!("{key} = {percent}: expected 50 to 99, or 100 (full width)"))
            }),
            Self::Sigmas { t } => check_range(&format!("{key}.t"), t, 0.0, SIGMAS_MAX).map(|()| MpcLevel::Sigmas(t)),
        }
    }

    /// The level of a config that was checked.
    pub(crate) fn checked(self) -> MpcLevel {
        self.level("").expect("the config was checked")
    }
}

impl fmt::Display for LevelSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Percent(percent) => write!(f, "{percent} %"),
            Self::Sigmas { t } => write!(f, "{t} sigmas"),
        }
    }
}

impl FromStr for LevelSetting {
    type Err = String;

    /// As the command line has it: `87` or `t=1.4`.
    fn from_str(text: &str) -> Result<Self, String> {
        let setting = match text.split_once('=') {
            Some((key, t)) if key.trim() == "t" => t.trim().parse().ok().map(|t| Self::Sigmas { t }),
            Some(_) => None,
            None => text.parse().ok().map(Self::Percent),
        };
        setting.ok_or_else(|| "expected a percentage or t=SIGMAS".to_owned())
    }
}

impl<'de> Deserialize<'de> for LevelSetting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LevelVisitor)
    }
}

struct LevelVisitor;

impl<'de> Visitor<'de> for LevelVisitor {
    type Value = LevelSetting;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(EXPECTED)
    }

    fn visit_i64<E: Error>(self, percent: i64) -> Result<LevelSetting, E> {
        let unexpected = || E::invalid_value(Unexpected::Signed(percent), &self);
        u8::try_from(percent).map(LevelSetting::Percent).map_err(|_| unexpected())
    }

    fn visit_u64<E: Error>(self, percent: u64) -> Result<LevelSetting, E> {
        let unexpected = || E::invalid_value(Unexpected::Unsigned(percent), &self);
        u8::try_from(percent).map(LevelSetting::Percent).map_err(|_| unexpected())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<LevelSetting, A::Error> {
        let mut t = None;
        while let Some(key) = map.next_key::<String>()? {
            if key != "t" {
                return Err(A::Error::unknown_field(&key, &["t"]));
            }
            t = Some(map.next_value()?);
        }
        t.map(|t| LevelSetting::Sigmas { t }).ok_or_else(|| A::Error::missing_field("t"))
    }
}

/// Where a search looks two plies further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, DeriveDeserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExtensionSetting {
    /// Where one ply is left.
    Horizon,
    /// At every remaining depth.
    EveryDepth,
}

/// The optional `[selective]` table: forward pruning and extensions of the searches by depth of self-play and gates.
#[derive(Clone, Debug, PartialEq, Serialize, DeriveDeserialize)]
#[serde(deny_unknown_fields)]
pub struct SelectiveConfig {
    /// Discs: a move whose static value is further below that of the position is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// Moves of a position that are searched, in the order of the search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u8>,
    /// Replies that are searched again, two plies deeper.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extension: Option<ExtensionSetting>,
}

impl SelectiveConfig {
    /// Checks every key against its range.
    ///
    /// # Errors
    ///
    /// The first key that is out of range, or a table without keys.
    pub fn check(&self) -> Result<(), StageError> {
        if self.search() == Selective::NONE {
            let reason = "[selective]: it has no key\nset threshold, rank or extension, or leave the table out";
            return Err(StageError::Setting(reason.into()));
        }
        check_range("selective.threshold", self.threshold.unwrap_or_default(), 0.0, 128.0)?;
        check_range("selective.rank", self.rank.unwrap_or(1), 1, MOVES_MAX)
    }

    /// What the search knows of it.
    #[must_use]
    pub fn search(&self) -> Selective {
        Selective {
            threshold: self.threshold.map(|discs| Score(Score::in_millidiscs(discs).round() as i32)),
            rank: self.rank,
            extension: self.extension.map(|extension| match extension {
                ExtensionSetting::Horizon => Extension::Horizon,
                ExtensionSetting::EveryDepth => Extension::EveryDepth,
            }),
        }
    }
}

/// The search that a table, or its absence, asks for.
#[must_use]
pub fn selective(config: Option<&SelectiveConfig>) -> Selective {
    config.map_or(Selective::NONE, SelectiveConfig::search)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize, DeriveDeserialize)]
    struct Holder {
        mpc_level: LevelSetting,
    }

    fn read(text: &str) -> Result<LevelSetting, String> {
        toml::from_str(&format!("mpc_level = {text}")).map(|holder: Holder| holder.mpc_level).map_err(|e| e.to_string())
    }

    #[test]
    fn a_level_is_a_percentage_or_a_margin_and_stays_what_it_was() {
        for (text, expected, json) in [
            ("87", LevelSetting::Percent(87), "87"),
            ("{ t = 1.4 }", LevelSetting::Sigmas { t: 1.4 }, "{\"t\":1.4}"),
            ("{ t = 2 }", LevelSetting::Sigmas { t: 2.0 }, "{\"t\":2.0}"),
        ] {
            let found = read(text).unwrap();
            assert_eq!(found, expected);
            assert_eq!(serde_json::to_string(&found).unwrap(), json);
            assert_eq!(serde_json::from_str::<LevelSetting>(json).unwrap(), expected);
        }
        assert_eq!(read("{ t = 1.4 }").unwrap().level("x").unwrap(), MpcLevel::Sigmas(1.4));
        assert_eq!(read("87").unwrap().level("x").unwrap(), MpcLevel::P87);
        assert_eq!("t=1.4".parse(), Ok(LevelSetting::Sigmas { t: 1.4 }));
        assert_eq!("73".parse(), Ok(LevelSetting::Percent(73)));
    }

    #[test]
    fn another_form_of_a_level_is_an_error_that_says_what_is_expected() {
        for (text, expected) in [
            ("300", "a percentage or { t = SIGMAS }"),
            ("\"87\"", "a percentage or { t = SIGMAS }"),
            ("{ s = 1.4 }", "unknown field `s`, expected `t`"),
            ("{ }", "missing field `t`"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
        for (text, expected) in [
            ("42", "gate.mpc_level = 42: expected 50 to 99, or 100 (full width)"),
            ("{ t = -1.0 }", "gate.mpc_level.t = -1: expected 0 to 10"),
            ("{ t = nan }", "gate.mpc_level.t = NaN: expected 0 to 10"),
        ] {
            assert_eq!(read(text).unwrap().level("gate.mpc_level").unwrap_err().to_string(), expected);
        }
        for text in ["", "t", "t=", "s=1", "1.4", "t=x", "256"] {
            assert!(text.parse::<LevelSetting>().is_err(), "{text}");
        }
    }
}
