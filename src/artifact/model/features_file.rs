//! `features.toml`: a pattern set as people write it.

use crate::artifact::error::ArtifactError;
use crate::artifact::publish::read_bounded;
use crate::engine::board::square::{Square, SquareError};
use crate::engine::eval::pattern_set::{Pattern, PatternKind, PatternSet};
use serde::{Deserialize, Serialize};
use std::path::Path;

const SIZE_MAX: u64 = 1 << 20;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FeaturesFile {
    name: String,
    phase_starts: Vec<u8>,
    pattern: Vec<PatternEntry>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PatternEntry {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    squares: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parity: Option<bool>,
}

/// Reads a features file.
///
/// # Errors
///
/// A missing file, or one that is no pattern set, with the place and the reason.
pub fn read_features(path: &Path) -> Result<PatternSet, ArtifactError> {
    let bytes = read_bounded(path, SIZE_MAX)?;
    let text = String::from_utf8(bytes).map_err(|error| ArtifactError::unfit(path, error.to_string()))?;
    parse_features(&text).map_err(|reason| ArtifactError::unfit(path, reason))
}

/// Reads the text of a features file.
///
/// # Errors
///
/// The place and the reason why it is no pattern set.
pub fn parse_features(text: &str) -> Result<PatternSet, String> {
    let file: FeaturesFile = toml::from_str(text).map_err(|error| reason(text, &error))?;
    let patterns = file.pattern.into_iter().map(pattern).collect::<Result<Vec<_>, _>>()?;
    PatternSet::new(&file.name, patterns, file.phase_starts).map_err(|error| error.to_string())
}

/// What the parser says, on one line and in words.
fn reason(text: &str, error: &toml::de::Error) -> String {
    let message = error.message().replace('\n', ", ");
    let words = match message.split_once(" field ") {
        Some(("missing", name)) => format!("{name} is missing"),
        Some(("unknown", name)) => format!("there is no key {name}"),
        _ => message,
    };
    let line = error.span().map(|span| 1 + text[..span.start.min(text.len())].matches('\n').count());
    line.map_or_else(|| words.clone(), |line| format!("line {line}: {words}"))
}

fn pattern(entry: PatternEntry) -> Result<Pattern, String> {
    let PatternEntry { name, squares, parity } = entry;
    let kind = match (squares, parity) {
        (Some(squares), None) => {
            let squares: Result<Vec<Square>, SquareError> = squares.split_whitespace().map(str::parse).collect();
            PatternKind::Squares(squares.map_err(|error| format!("pattern `{name}`: {error}"))?)
        }
        (None, Some(true)) => PatternKind::Parity,
        _ => return Err(format!("pattern `{name}` needs either `squares` or `parity = true`")),
    };
    Ok(Pattern { name, kind })
}

/// The text of a features file.
///
/// # Panics
///
/// If the set has no TOML form, which would be our own mistake.
#[must_use]
pub fn features_text(set: &PatternSet) -> String {
    let entry = |pattern: &Pattern| match &pattern.kind {
        PatternKind::Squares(squares) => {
            let names: Vec<String> = squares.iter().map(ToString::to_string).collect();
            PatternEntry { name: pattern.name.clone(), squares: Some(names.join(" ")), parity: None }
        }
        PatternKind::Parity => PatternEntry { name: pattern.name.clone(), squares: None, parity: Some(true) },
    };
    let file = FeaturesFile {
        name: set.name().to_owned(),
        phase_starts: set.phase_starts().to_vec(),
        pattern: set.patterns().iter().map(entry).collect(),
    };
    toml::to_string(&file).expect("a pattern set is plain data")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_told_on_one_line_with_its_number() {
        let text = "name = \"a\"\nphase_starts = [4]\n[[pattern]]\nname = \"b\"\nsqares = \"a1\"\n";
        for (from, to, expected) in [
            ("", "", "line 5: there is no key `sqares`, expected one of `name`, `squares`, `parity`"),
            ("name = \"a\"\n", "", "line 1: `name` is missing"),
            ("\"a\"\n", "\"a\n", "line 1: invalid basic string, expected `\"`"),
        ] {
            let text =
                if from.is_empty() { text.to_owned() } else { text.replace("sqares", "squares").replacen(from, to, 1) };
            assert_eq!(parse_features(&text).unwrap_err(), expected);
        }
    }

    const ES_CUBE: &str = include_str!("../../../configs/features/es-cube.toml");

    #[test]
    fn es_cube_has_the_instances_and_weights_of_the_source() {
        let set = parse_features(ES_CUBE).unwrap();
        assert_eq!(set.feature_count(), 42_608);
        let count = |pattern| set.instances().iter().filter(|instance| instance.pattern == pattern).count();
        let counts: Vec<usize> = (0..set.patterns().len()).map(count).collect();
        assert_eq!(counts, [4, 4, 4, 2, 4, 4, 4, 4, 8, 4, 0]);
        assert_eq!(set.instances().len(), 42);
        assert_eq!(set.parity_offsets(), [42_606]);
    }

    #[test]
    fn a_features_file_survives_writing() {
        let set = parse_features(ES_CUBE).unwrap();
        let again = parse_features(&features_text(&set)).unwrap();
        assert_eq!(again.patterns(), set.patterns());
        assert_eq!(again.phase_starts(), set.phase_starts());
    }

    #[test]
    fn a_bad_features_file_says_where_and_why() {
        for (change, reason) in [
            (("a4 b4", "a4 i9"), "`i9` is not a square"),
            (("parity = true", "parity = false"), "needs either"),
            (
                ("squares = \"a4", "square = \"a4"),
                "line 8: there is no key `square`, expected one of `name`, `squares`",
            ),
        ] {
            let error = parse_features(&ES_CUBE.replacen(change.0, change.1, 1)).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
    }
}
