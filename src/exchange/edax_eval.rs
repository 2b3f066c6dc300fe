//! Edax's `eval.dat`: its patterns' weights for each of the 61 plies, i16 little endian in 1/128
//! disc, one per group of mirrors.

use crate::artifact::FileKind;
use crate::artifact::model::features_file::parse_features;
use crate::artifact::output::first_bytes;
use crate::engine::{EMPTIES_MAX, Evaluation, PatternKind, PatternSet};
use std::mem;

/// The words EDAX and EVAL, then three of a version and a date in eight bytes. Edax prints the
/// version and skips the date.
const HEADER: [u8; 28] = *b"XADELAVE\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

const WEIGHTS_PER_PLY: usize = 114_364;

const SIZE: usize = HEADER.len() + (EMPTIES_MAX as usize + 1) * WEIGHTS_PER_PLY * size_of::<i16>();

const FEATURES: &str = include_str!("../../configs/features/edax.toml");

/// A file with our header, which no `eval.dat` of Edax's author has.
pub const EDAX_EVAL_FILE: FileKind = FileKind {
    name: "an eval.dat for Edax that renma wrote",
    matches: |path| {
        let bytes = first_bytes(path, SIZE as u64 + 1)?;
        Ok(bytes.len() == SIZE && bytes.starts_with(&HEADER))
    },
};

/// The bytes of Edax's `eval.dat` for a model with Edax's patterns in any phases.
///
/// # Errors
///
/// Why the model cannot be written: it has vectors, or other patterns.
pub fn edax_eval_bytes(evaluation: &Evaluation) -> Result<Vec<u8>, String> {
    let set = evaluation.set();
    if 0 < set.vector_size() {
        return Err("the model has vectors: Edax has weights alone\ntrain one on configs/features/edax.toml".to_owned());
    }
    check_patterns(set)?;
    let packed = packed_features(set);
    let mut bytes = Vec::with_capacity(SIZE);
    bytes.extend(HEADER);
    for empties in (0..=EMPTIES_MAX).rev() {
        let weights = evaluation.phase_weights(empties);
        // A ply has one parity, so its weight is Edax's constant.
        let constant = set
            .numbers()
            .iter()
            .map(|&(_, even)| even + usize::from(empties % 2));
        let features = packed.iter().copied().chain(constant);
        bytes.extend(features.flat_map(|feature| edax_weight(weights[feature]).to_le_bytes()));
    }
    Ok(bytes)
}

/// Names the first pattern that differs from Edax's. Only the kinds count, not the names.
fn check_patterns(set: &PatternSet) -> Result<(), String> {
    let edax = parse_features(FEATURES).expect("the shipped features file is sound");
    let (own, expected) = (set.patterns(), edax.patterns());
    let same = own
        .iter()
        .zip(expected)
        .take_while(|(own, expected)| own.kind == expected.kind)
        .count();
    let difference = match (own.get(same), expected.get(same)) {
        (None, None) => return Ok(()),
        (Some(own), Some(expected)) => {
            format!("its `{}` is not Edax's `{}`", own.name, expected.name)
        }
        (Some(own), None) => format!("Edax has no `{}`", own.name),
        (None, Some(expected)) => format!("it lacks Edax's `{}`", expected.name),
    };
    let name = set.name();
    Err(format!(
        "the model has the patterns `{name}`: {difference}\ntrain one on configs/features/edax.toml"
    ))
}

/// The features of squares in the order of the file: those that share a weight count once, at the
/// first in Edax's numbering.
fn packed_features(set: &PatternSet) -> Vec<usize> {
    let mut packed = Vec::new();
    let mut known = vec![false; set.feature_count()];
    for (index, pattern) in set.patterns().iter().enumerate() {
        let PatternKind::Squares(squares) = &pattern.kind else {
            continue;
        };
        for edax in 0..pattern.configuration_count() {
            let feature = set.canonical()
                [set.offset(index) + own_configuration(edax, squares.len())]
                as usize;
            if !mem::replace(&mut known[feature], true) {
                packed.push(feature);
            }
        }
    }
    packed
}

/// Our number of a configuration. Edax's digits are 0 for the side to move, 1 for the opponent and
/// 2 for an empty square.
fn own_configuration(edax: usize, square_count: usize) -> usize {
    let values = (0..square_count as u32).map(|place| 3_usize.pow(place));
    values.map(|value| (edax / value + 1) % 3 * value).sum()
}

/// Millidiscs in units of 1/128 disc, which is 16/125 of the number, rounded to the nearest; 125 is
/// odd, so ties cannot occur.
fn edax_weight(weight: i16) -> i16 {
    let product = 16 * i32::from(weight);
    ((product + 125 / 2 * product.signum()) / 125) as i16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::publish::publish_bytes;
    use crate::engine::{Pattern, VectorShape};
    use std::sync::Arc;

    /// The shipped set with other phases.
    fn edax_of(phase_empties_max: &[u8]) -> PatternSet {
        let edax = parse_features(FEATURES).unwrap();
        PatternSet::new("mine", edax.patterns().to_vec(), phase_empties_max.to_vec()).unwrap()
    }

    /// The file of a model whose weights are zero but for these and their mirrors: phase, pattern,
    /// index, weight.
    fn written(set: PatternSet, nonzero: &[(usize, usize, usize, i16)]) -> Vec<u8> {
        let mut weights = vec![0; set.weight_count()];
        for &(phase, pattern, index, weight) in nonzero {
            let first = set.offset(pattern);
            let shared = set.canonical()[first + index];
            for (feature, _) in set
                .canonical()
                .iter()
                .enumerate()
                .filter(|&(_, &canonical)| canonical == shared)
            {
                weights[phase * set.feature_count() + feature] = weight;
            }
        }
        edax_eval_bytes(&Evaluation::new(Arc::new(set), weights).unwrap()).unwrap()
    }

    /// The words that are not zero: ply, place in the ply, value.
    fn words(bytes: &[u8]) -> Vec<(usize, usize, i16)> {
        let words = bytes[28..]
            .chunks_exact(2)
            .map(|word| i16::from_le_bytes([word[0], word[1]]))
            .enumerate();
        words
            .filter(|&(_, value)| value != 0)
            .map(|(place, value)| (place / WEIGHTS_PER_PLY, place % WEIGHTS_PER_PLY, value))
            .collect()
    }

    #[test]
    fn the_file_is_a_header_and_sixty_one_plies() {
        let bytes = written(edax_of(&[60, 0]), &[]);
        assert_eq!((bytes.len(), SIZE), (13_952_436, 13_952_436));
        // The words EDAX and EVAL as a little-endian Edax compares them.
        assert_eq!(bytes[..4], 0x4544_4158_u32.to_le_bytes());
        assert_eq!(bytes[4..8], 0x4556_414c_u32.to_le_bytes());
        assert!(bytes[8..].iter().all(|&byte| byte == 0));
    }

    #[test]
    fn the_patterns_have_the_packed_sizes_of_edax() {
        let set = edax_of(&[60]);
        let packed = packed_features(&set);
        let of_pattern = |pattern: usize| {
            let features = set.offset(pattern)..set.offset(pattern + 1);
            packed
                .iter()
                .filter(|feature| features.contains(feature))
                .count()
        };
        let counts: Vec<usize> = (0..12).map(of_pattern).collect();
        assert_eq!(
            counts,
            [
                10_206, 29_889, 29_646, 29_646, 3321, 3321, 3321, 3321, 1134, 378, 135, 45
            ]
        );
        assert_eq!(packed.len(), 114_363);
    }

    #[test]
    fn weights_have_the_ply_place_and_unit_of_edax() {
        const LAST_PHASE: usize = 1;
        let (corner9, diag4, parity) = (0, 11, 12);
        // d1 ours and c2 theirs: 1200 in our digits, 0122 in Edax's, which is 17. Before it come
        // 0000 to 0121 except 0100, whose mirror 0010 is smaller.
        let (ours, place) = (27 + 2 * 9, 114_318 + 16);
        for (nonzero, expected) in [
            // An empty corner has only twos in Edax's digits, and is its own mirror.
            ((LAST_PHASE, corner9, 0, 125), vec![(60, 10_205, 16)]),
            ((LAST_PHASE, corner9, 0, -32_767), vec![(60, 10_205, -4194)]),
            ((LAST_PHASE, corner9, 0, 32_767), vec![(60, 10_205, 4194)]),
            ((LAST_PHASE, corner9, 0, 3), vec![]),
            ((LAST_PHASE, corner9, 0, 4), vec![(60, 10_205, 1)]),
            ((LAST_PHASE, corner9, 0, -4), vec![(60, 10_205, -1)]),
            ((LAST_PHASE, diag4, ours, 1000), vec![(60, place, 128)]),
            ((LAST_PHASE, diag4, 2 * 3 + 1, 1000), vec![(60, place, 128)]),
            (
                (0, diag4, ours, 1000),
                (0..60).map(|ply| (ply, place, 128)).collect(),
            ),
            (
                (0, parity, 0, 1000),
                (0..60).step_by(2).map(|ply| (ply, 114_363, 128)).collect(),
            ),
            (
                (0, parity, 1, 1000),
                (1..60).step_by(2).map(|ply| (ply, 114_363, 128)).collect(),
            ),
        ] {
            assert_eq!(
                words(&written(edax_of(&[60, 0]), &[nonzero])),
                expected,
                "{nonzero:?}"
            );
        }
    }

    #[test]
    fn another_set_is_refused_with_its_name_and_the_first_pattern_that_differs() {
        let refusal = |patterns: Vec<Pattern>| {
            let set = PatternSet::new("mine", patterns, vec![60]).unwrap();
            edax_eval_bytes(&Evaluation::zero(Arc::new(set))).unwrap_err()
        };
        let edax = parse_features(FEATURES).unwrap().patterns().to_vec();
        let counts = "name = \"x\"\nphase_empties_max = [60]\n[[pattern]]\nname = \"MOBILITY\"\nkind = \"mobility\"\nside = \"own\"";
        let mobility = parse_features(counts).unwrap().patterns().to_vec();
        let swapped: Vec<Pattern> = [&edax[1..2], &edax[..1], &edax[2..]].concat();
        for (patterns, difference) in [
            ([&edax[..], &mobility].concat(), "Edax has no `MOBILITY`"),
            (
                [&edax[..12], &mobility].concat(),
                "its `MOBILITY` is not Edax's `PARITY`",
            ),
            (edax[..12].to_vec(), "it lacks Edax's `PARITY`"),
            (swapped, "its `CORNER10` is not Edax's `CORNER9`"),
        ] {
            let expected = format!(
                "the model has the patterns `mine`: {difference}\ntrain one on configs/features/edax.toml"
            );
            assert_eq!(refusal(patterns), expected);
        }
    }

    #[test]
    fn a_model_with_vectors_is_refused() {
        let vectors = VectorShape {
            size: 8,
            ..VectorShape::none()
        };
        let set = edax_of(&[60]).with_vectors(vectors).unwrap();
        let expected = "the model has vectors: Edax has weights alone\ntrain one on configs/features/edax.toml";
        assert_eq!(
            edax_eval_bytes(&Evaluation::zero(Arc::new(set))).unwrap_err(),
            expected
        );
    }

    #[test]
    fn only_a_file_with_our_header_is_recognized() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("eval.dat");
        let matches = |bytes: &[u8]| {
            publish_bytes(&path, bytes).unwrap();
            (EDAX_EVAL_FILE.matches)(&path).unwrap()
        };
        let mut bytes = written(edax_of(&[60]), &[(0, 0, 0, 125)]);
        assert!(matches(&bytes));
        assert!(!matches(&bytes[1..]));
        // The version of Edax's own file.
        bytes[8] = 3;
        assert!(!matches(&bytes));
        bytes[8] = 0;
        bytes.push(0);
        assert!(!matches(&bytes));
    }
}
