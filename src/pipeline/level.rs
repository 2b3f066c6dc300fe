//! How sure a selective cut must be, as configs and commands say it: a percentage, `87`, or a
//! margin in standard deviations, `{ t = 1.4 }`. For fields that are `#[serde(with = "level")]`.

use super::keys::Takes;
use crate::engine::MpcLevel;
use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};

/// The greatest margin: wider ones cut nothing.
const SIGMAS_MAX: f64 = 10.0;

/// What a key with a level takes.
pub const LEVEL: Takes = Takes::Form(EXPECTED, |value| deserialize(value).is_ok());

const EXPECTED: &str =
    "a whole number from 50 to 99 (percent), 100 (full width), or { t = SIGMAS } with 0 to 10";

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Form {
    Percent(u8),
    Sigmas { t: f64 },
}

impl Form {
    fn level(self) -> Option<MpcLevel> {
        match self {
            Self::Percent(percent) => MpcLevel::from_percent(percent),
            Self::Sigmas { t } => (0.0..=SIGMAS_MAX)
                .contains(&t)
                .then_some(MpcLevel::Sigmas(t)),
        }
    }
}

/// Writes a level.
pub fn serialize<S: Serializer>(level: &MpcLevel, serializer: S) -> Result<S::Ok, S::Error> {
    level
        .percent()
        .map_or_else(|| Form::Sigmas { t: level.t() }, Form::Percent)
        .serialize(serializer)
}

/// Reads a level.
///
/// # Errors
///
/// Another form, or a number out of its range.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<MpcLevel, D::Error> {
    let form = Form::deserialize(deserializer).ok();
    form.and_then(Form::level)
        .ok_or_else(|| D::Error::custom(format!("expected {EXPECTED}")))
}

/// A level on the command line: `87` or `t=1.4`.
pub fn parse(text: &str) -> Result<MpcLevel, String> {
    let form = match text.split_once('=') {
        Some((key, t)) if key.trim() == "t" => t.trim().parse().ok().map(|t| Form::Sigmas { t }),
        Some(_) => None,
        None => text.parse().ok().map(Form::Percent),
    };
    let expected = || {
        "expected a percentage from 50 to 99, 100 (full width), or t=SIGMAS with 0 to 10".to_owned()
    };
    form.and_then(Form::level).ok_or_else(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_a_percentage_or_a_margin_and_stays_what_it_was() {
        for (json, expected) in [
            ("87", MpcLevel::P87),
            ("50", MpcLevel::Percent(50)),
            ("100", MpcLevel::FullWidth),
            ("{\"t\":1.4}", MpcLevel::Sigmas(1.4)),
            ("{\"t\":0.0}", MpcLevel::Sigmas(0.0)),
            ("{\"t\":10.0}", MpcLevel::Sigmas(10.0)),
        ] {
            let found = deserialize(&mut serde_json::Deserializer::from_str(json)).unwrap();
            assert_eq!(found, expected);
            let mut written = Vec::new();
            serialize(&found, &mut serde_json::Serializer::new(&mut written)).unwrap();
            assert_eq!(String::from_utf8(written).unwrap(), json);
        }
        assert_eq!(
            deserialize(&serde_json::json!({"t": 2})).unwrap(),
            MpcLevel::Sigmas(2.0)
        );
        assert_eq!(parse("t=1.4"), Ok(MpcLevel::Sigmas(1.4)));
        assert_eq!(parse("73"), Ok(MpcLevel::P73));
    }

    #[test]
    fn another_form_of_a_level_is_an_error() {
        for json in [
            "300",
            "49",
            "101",
            "-1",
            "87.5",
            "\"87\"",
            "{\"s\":1.4}",
            "{}",
            "{\"t\":-1}",
            "{\"t\":10.1}",
            "null",
        ] {
            let error = deserialize(&mut serde_json::Deserializer::from_str(json)).unwrap_err();
            assert!(error.to_string().contains("50 to 99"), "{json}: {error}");
        }
        for text in [
            "", "t", "t=", "s=1", "1.4", "t=x", "t=-1", "t=nan", "42", "256",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
