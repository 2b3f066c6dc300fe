//! `features.toml`: a pattern set as people write it.

use crate::artifact::error::ArtifactError;
use crate::artifact::line::visible;
use crate::artifact::publish::read_bounded;
use crate::engine::{
    Counted, Number, Pattern, PatternKind, PatternSet, Side, Square, SquareError, VectorShape,
};
use serde::{Deserialize, Serialize};
use std::path::Path;

const SIZE_MAX: u64 = 1 << 20;

/// The `cap` of a count whose entry has none.
const CAP_DEFAULT: u8 = 31;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FeaturesFile {
    name: String,
    phase_empties_max: Vec<u8>,
    vectors: Option<u8>,
    negative: Option<u8>,
    vector_empties_max: Option<Vec<u8>>,
    pattern: Vec<PatternEntry>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PatternEntry {
    name: String,
    squares: Option<String>,
    kind: Option<EntryKind>,
    side: Option<EntrySide>,
    cap: Option<u8>,
}

/// A pattern without squares.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum EntryKind {
    Mobility,
    Potential,
    Discs,
    Parity,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum EntrySide {
    Own,
    Opponent,
}

/// What the words of a file stand for.
const COUNTED: [(EntryKind, Counted); 3] = [
    (EntryKind::Mobility, Counted::Mobility),
    (EntryKind::Potential, Counted::Potential),
    (EntryKind::Discs, Counted::Discs),
];
const SIDES: [(EntrySide, Side); 2] = [
    (EntrySide::Own, Side::Own),
    (EntrySide::Opponent, Side::Opponent),
];

/// Reads a features file.
///
/// # Errors
///
/// A missing file, or one that is not a pattern set, with the place and the reason.
pub fn read_features(path: &Path) -> Result<PatternSet, ArtifactError> {
    let bytes = read_bounded(path, SIZE_MAX)?;
    let text =
        String::from_utf8(bytes).map_err(|error| ArtifactError::unfit(path, error.to_string()))?;
    parse_features(&text).map_err(|reason| ArtifactError::unfit(path, reason))
}

/// Reads the text of a features file.
///
/// # Errors
///
/// The place and the reason why it is not a pattern set.
pub fn parse_features(text: &str) -> Result<PatternSet, String> {
    parse(text).map_err(|reason| visible(&reason))
}

fn parse(text: &str) -> Result<PatternSet, String> {
    let file: FeaturesFile = toml::from_str(text).map_err(|error| reason(text, &error))?;
    let patterns = file
        .pattern
        .into_iter()
        .map(pattern)
        .collect::<Result<Vec<_>, _>>()?;
    let set = PatternSet::new(&file.name, patterns, file.phase_empties_max)
        .map_err(|error| error.to_string())?;
    let Some(size) = file.vectors.filter(|size| 0 < *size) else {
        if file.vector_empties_max.is_some() {
            return Err("`vector_empties_max` groups the phases that share vectors: it needs `vectors`, at least 1".to_owned());
        }
        if file.negative.is_some() {
            return Err(
                "`negative` counts components of vectors: it needs `vectors`, at least 1"
                    .to_owned(),
            );
        }
        return Ok(set);
    };
    let empties_max = file
        .vector_empties_max
        .unwrap_or_else(|| VectorShape::none().empties_max);
    set.with_vectors(VectorShape {
        size,
        negative: file.negative.unwrap_or(0),
        empties_max,
    })
    .map_err(|error| error.to_string())
}

/// What the parser says, on one line and in words.
fn reason(text: &str, error: &toml::de::Error) -> String {
    let message = error.message().replace('\n', ", ");
    let words = match message.split_once(" field ") {
        Some(("missing", name)) => format!("{name} is missing"),
        Some(("unknown", name)) => format!("unknown key {name}"),
        _ => message,
    };
    let line = error
        .span()
        .map(|span| 1 + text[..span.start.min(text.len())].matches('\n').count());
    line.map_or_else(|| words.clone(), |line| format!("line {line}: {words}"))
}

fn pattern(entry: PatternEntry) -> Result<Pattern, String> {
    let PatternEntry {
        name,
        squares,
        kind,
        side,
        cap,
    } = entry;
    let kind = match (squares, kind) {
        (Some(squares), None) => {
            let squares: Result<Vec<Square>, SquareError> =
                squares.split_whitespace().map(str::parse).collect();
            PatternKind::Squares(squares.map_err(|error| format!("pattern `{name}`: {error}"))?)
        }
        (None, Some(kind)) => PatternKind::Number(number(&name, kind, side, cap)?),
        _ => return Err(format!("pattern `{name}` needs either `squares` or `kind`")),
    };
    if !matches!(kind, PatternKind::Number(Number::Count { .. }))
        && (side.is_some() || cap.is_some())
    {
        return Err(format!(
            "pattern `{name}` counts nothing: it cannot have `side` or `cap`"
        ));
    }
    Ok(Pattern { name, kind })
}

fn number(
    name: &str,
    kind: EntryKind,
    side: Option<EntrySide>,
    cap: Option<u8>,
) -> Result<Number, String> {
    let counted = COUNTED.into_iter().find(|(entry, _)| *entry == kind);
    let Some((_, counted)) = counted else {
        return Ok(Number::Parity);
    };
    let Some((_, side)) = SIDES.into_iter().find(|(entry, _)| Some(*entry) == side) else {
        return Err(format!(
            "pattern `{name}` needs `side = \"own\"` or `side = \"opponent\"`"
        ));
    };
    Ok(Number::Count {
        counted,
        side,
        cap: cap.unwrap_or(CAP_DEFAULT),
    })
}

fn entry(pattern: &Pattern) -> PatternEntry {
    let mut entry = PatternEntry {
        name: pattern.name.clone(),
        squares: None,
        kind: None,
        side: None,
        cap: None,
    };
    match &pattern.kind {
        PatternKind::Squares(squares) => {
            let names: Vec<String> = squares.iter().map(ToString::to_string).collect();
            entry.squares = Some(names.join(" "));
        }
        PatternKind::Number(Number::Parity) => entry.kind = Some(EntryKind::Parity),
        PatternKind::Number(Number::Count { counted, side, cap }) => {
            entry.kind = COUNTED
                .into_iter()
                .find(|(_, other)| other == counted)
                .map(|(kind, _)| kind);
            entry.side = SIDES
                .into_iter()
                .find(|(_, other)| other == side)
                .map(|(side, _)| side);
            entry.cap = Some(*cap);
        }
    }
    entry
}

/// The text of a features file.
pub fn features_text(set: &PatternSet) -> String {
    let shape = Some(set.vectors()).filter(|shape| 0 < shape.size);
    let file = FeaturesFile {
        name: set.name().to_owned(),
        phase_empties_max: set.phase_empties_max().to_vec(),
        vectors: shape.map(|shape| shape.size),
        negative: shape
            .map(|shape| shape.negative)
            .filter(|negative| 0 < *negative),
        vector_empties_max: shape.map(|shape| shape.empties_max.clone()),
        pattern: set.patterns().iter().map(entry).collect(),
    };
    toml::to_string(&file).expect("a pattern set is plain data")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_told_on_one_line_with_its_number() {
        let text =
            "name = \"a\"\nphase_empties_max = [60]\n[[pattern]]\nname = \"b\"\nsqares = \"a1\"\n";
        for (from, to, expected) in [
            (
                "",
                "",
                "line 5: unknown key `sqares`, expected one of `name`, `squares`, `kind`, `side`, `cap`",
            ),
            ("name = \"a\"\n", "", "line 1: `name` is missing"),
            (
                "\"a\"\n",
                "\"a\n",
                "line 1: invalid basic string, expected `\"`",
            ),
        ] {
            let text = if from.is_empty() {
                text.to_owned()
            } else {
                text.replace("sqares", "squares").replacen(from, to, 1)
            };
            assert_eq!(parse_features(&text).unwrap_err(), expected);
        }
    }

    const ES_CUBE: &str = include_str!("../../../configs/features/es-cube.toml");

    #[test]
    fn es_cube_has_the_instances_and_weights_of_the_source() {
        let set = parse_features(ES_CUBE).unwrap();
        assert_eq!(set.feature_count(), 42_608);
        let count = |pattern| {
            set.instances()
                .iter()
                .filter(|instance| instance.pattern == pattern)
                .count()
        };
        let counts: Vec<usize> = (0..set.patterns().len()).map(count).collect();
        assert_eq!(counts, [4, 4, 4, 2, 4, 4, 4, 4, 8, 4, 0]);
        assert_eq!(set.instances().len(), 42);
        assert_eq!(set.numbers(), [(Number::Parity, 42_606)]);
    }

    #[test]
    fn a_features_file_survives_writing() {
        let counts = ["mobility", "potential", "discs"].map(|kind| {
            ["own", "opponent"].map(|side| {
                format!("[[pattern]]\nname = \"{kind} {side}\"\nkind = \"{kind}\"\nside = \"{side}\"\ncap = 20\n")
            })
        });
        let set = parse_features(&[ES_CUBE, &counts.concat().concat()].concat()).unwrap();
        assert_eq!(set.feature_count(), 42_608 + 6 * 21);
        let again = parse_features(&features_text(&set)).unwrap();
        assert_eq!(again.patterns(), set.patterns());
        assert_eq!(again.phase_empties_max(), set.phase_empties_max());
    }

    /// es-cube in three phases, with these keys.
    fn with_keys(keys: &str) -> String {
        ES_CUBE.replacen(
            "phase_empties_max = [60]",
            &format!("phase_empties_max = [60, 44, 20]\n{keys}"),
            1,
        )
    }

    #[test]
    fn vectors_survive_writing_and_a_set_without_them_does_not_mention_them() {
        let shape = |size, negative, empties_max: &[u8]| VectorShape {
            size,
            negative,
            empties_max: empties_max.to_vec(),
        };
        for (keys, expected) in [
            ("", VectorShape::none()),
            ("vectors = 0", VectorShape::none()),
            ("vectors = 1", shape(1, 0, &[60])),
            ("vectors = 1\nnegative = 0", shape(1, 0, &[60])),
            ("vectors = 16\nnegative = 6", shape(16, 6, &[60])),
            (
                "vectors = 16\nvector_empties_max = [60]",
                shape(16, 0, &[60]),
            ),
            (
                "vectors = 32\nvector_empties_max = [60, 20]",
                shape(32, 0, &[60, 20]),
            ),
        ] {
            let set = parse_features(&with_keys(keys)).unwrap();
            assert_eq!(*set.vectors(), expected, "{keys}");
            let text = features_text(&set);
            assert_eq!(
                *parse_features(&text).unwrap().vectors(),
                expected,
                "{keys}"
            );
            assert_eq!(text.contains("vector"), 0 < expected.size, "{text}");
            assert_eq!(text.contains("negative"), 0 < expected.negative, "{text}");
        }
    }

    #[test]
    fn bad_vectors_are_refused_with_the_reason() {
        let groups = "the first group of phases that share vectors must begin with 60 empty squares, and each other group \
            later in the game, where a phase begins";
        let signs = "`negative` counts components of vectors: it needs `vectors`, at least 1";
        let alone = "`vector_empties_max` groups the phases that share vectors: it needs `vectors`, at least 1";
        for (keys, expected) in [
            ("vectors = 33", "vectors of 33 components: at most 32"),
            (
                "vectors = -1",
                "line 6: invalid value: integer `-1`, expected u8",
            ),
            ("vector_empties_max = [60]", alone),
            ("negative = 1", signs),
            ("vectors = 0\nnegative = 0", signs),
            (
                "vectors = 8\nnegative = 9",
                "9 negative components: the vectors have 8",
            ),
            ("vectors = 0\nvector_empties_max = [60, 44]", alone),
            ("vectors = 8\nvector_empties_max = []", groups),
            ("vectors = 8\nvector_empties_max = [44]", groups),
            ("vectors = 8\nvector_empties_max = [60, 30]", groups),
            ("vectors = 8\nvector_empties_max = [60, 20, 44]", groups),
            ("vectors = 8\nvector_empties_max = [60, 44, 44]", groups),
        ] {
            assert_eq!(
                parse_features(&with_keys(keys)).unwrap_err(),
                expected,
                "{keys}"
            );
        }
    }

    #[test]
    fn a_count_has_cap_31_unless_it_says_otherwise() {
        let text = ES_CUBE.replacen("\"parity\"", "\"mobility\"\nside = \"opponent\"", 1);
        let expected = Number::Count {
            counted: Counted::Mobility,
            side: Side::Opponent,
            cap: 31,
        };
        assert_eq!(
            parse_features(&text).unwrap().numbers(),
            [(expected, 42_606)]
        );
    }

    const EDAX: &str = include_str!("../../../configs/features/edax.toml");

    #[test]
    fn edax_has_the_instances_and_weights_of_its_source() {
        let set = parse_features(EDAX).unwrap();
        let count = |pattern| {
            set.instances()
                .iter()
                .filter(|instance| instance.pattern == pattern)
                .count()
        };
        let counts: Vec<usize> = (0..set.patterns().len()).map(count).collect();
        assert_eq!(counts, [4, 4, 4, 4, 4, 4, 4, 2, 4, 4, 4, 4, 0]);
        let canonical = |pattern: usize| {
            let features = set.offset(pattern)
                ..set.offset(pattern) + set.patterns()[pattern].configuration_count();
            features
                .filter(|&feature| set.canonical()[feature] as usize == feature)
                .count()
        };
        let packed: Vec<usize> = (0..12).map(canonical).collect();
        assert_eq!(
            packed,
            [
                10_206, 29_889, 29_646, 29_646, 3321, 3321, 3321, 3321, 1134, 378, 135, 45
            ]
        );
        assert_eq!(set.phase_count(), 61);
    }

    #[test]
    fn a_bad_features_file_says_where_and_why() {
        for (change, reason) in [
            (("a4 b4", "a4 i9"), "`i9` is not a square"),
            (("kind = \"parity\"", ""), "needs either"),
            (
                ("kind = \"parity\"", "kind = \"party\""),
                "line 49: unknown variant `party`, expected one of `mobility`",
            ),
            (
                ("\"parity\"", "\"parity\"\nside = \"own\""),
                "pattern `PARITY` counts nothing: it cannot have `side`",
            ),
            (
                ("LINE4\"", "LINE4\"\ncap = 3"),
                "pattern `LINE4` counts nothing: it cannot have `side` or `cap`",
            ),
            (
                ("\"parity\"", "\"discs\""),
                "pattern `PARITY` needs `side = \"own\"` or",
            ),
            (
                ("\"parity\"", "\"discs\"\nside = \"black\""),
                "line 50: unknown variant `black`, expected `own` or",
            ),
            (
                ("\"parity\"", "\"discs\"\nside = \"own\"\ncap = 0"),
                "pattern `PARITY` has cap 0: 1 to 64 expected",
            ),
            (
                ("\"parity\"", "\"discs\"\nside = \"own\"\ncap = 65"),
                "pattern `PARITY` has cap 65: 1 to 64 expected",
            ),
            (
                ("phase_empties_max = [60]", ""),
                "`phase_empties_max` is missing",
            ),
            (
                ("squares = \"a4", "square = \"a4"),
                "line 9: unknown key `square`, expected one of `name`, `squares`",
            ),
        ] {
            let error = parse_features(&ES_CUBE.replacen(change.0, change.1, 1)).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn the_default_patterns_ship_with_few_and_with_many_phases() {
        let few =
            parse_features(include_str!("../../../configs/features/edge-corner.toml")).unwrap();
        let many = parse_features(include_str!(
            "../../../configs/features/edge-corner-30.toml"
        ))
        .unwrap();
        assert_eq!(few.patterns(), many.patterns());
        assert_eq!((few.phase_count(), many.phase_count()), (6, 30));
    }
}
