//! `eval.dat`: 42,608 weights of the es-cube patterns, i32 little endian, mirrors included.

use crate::artifact::model::features_file::parse_features;
use crate::artifact::model::version::pattern_set_hash;
use crate::artifact::model::weights_file::{spread, weight_of};
use crate::artifact::output::first_bytes;
use crate::artifact::publish::read_bounded;
use crate::artifact::{ArtifactError, FileKind};
use crate::engine::{Evaluation, PatternSet};
use std::path::Path;
use std::sync::{Arc, LazyLock};

const FEATURES: &str = include_str!("../../configs/features/es-cube.toml");

static ES_CUBE: LazyLock<Arc<PatternSet>> = LazyLock::new(|| {
    Arc::new(parse_features(FEATURES).expect("the shipped features file is sound"))
});

/// A file of the size of `eval.dat`.
pub const ES_CUBE_EVAL_FILE: FileKind = FileKind {
    name: "an eval.dat of 42,608 weights",
    matches: |path| {
        let size = ES_CUBE.feature_count() as u64 * 4;
        Ok(first_bytes(path, size + 1)?.len() as u64 == size)
    },
};

/// The bytes of `eval.dat` for a model whose patterns and phase are those of es-cube.
///
/// # Errors
///
/// Why the model cannot be written: it has vectors, or other patterns.
pub fn es_cube_eval_bytes(evaluation: &Evaluation) -> Result<Vec<u8>, String> {
    if 0 < evaluation.set().vector_size() {
        let reason = "the model has vectors: eval.dat holds weights alone\ntrain one on configs/features/es-cube.toml";
        return Err(reason.to_owned());
    }
    if pattern_set_hash(evaluation.set()) != pattern_set_hash(&ES_CUBE) {
        let name = evaluation.set().name();
        return Err(format!(
            "the model has the patterns `{name}`: eval.dat holds es-cube in one phase"
        ));
    }
    Ok(evaluation
        .weights()
        .iter()
        .flat_map(|&weight| i32::from(weight).to_le_bytes())
        .collect())
}

/// Mirrors in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MirrorCounts {
    /// Those whose weight was not that of the smallest index.
    pub differing: u64,
    /// All of them.
    pub all: u64,
}

/// Reads weights, and counts the mirrors. A configuration and its mirrors share the weight of the
/// smallest index.
///
/// The published C program writes files whose mirrors differ. It learns at the smallest index and
/// then copies the weight to the index that it visited, so the other mirrors keep the weight of
/// their last visit. Its table of the mirrors of short diagonals also lists configurations that are
/// not mirrors.
///
/// # Errors
///
/// A missing file, one of another size, or weights beyond 16 bits.
pub fn import_es_cube_eval(path: &Path) -> Result<(Evaluation, MirrorCounts), ArtifactError> {
    let set = &*ES_CUBE;
    let expected = set.feature_count() * 4;
    let bytes = read_bounded(path, 1 << 30)?;
    if bytes.len() != expected {
        let reason = format!("it has {} bytes, eval.dat has {expected}", bytes.len());
        return Err(ArtifactError::damaged(path, reason));
    }
    let weight = |(index, word): (usize, &[u8; 4])| {
        let weight = i32::from_le_bytes(*word);
        let reason = || format!("byte {}: weight {weight} is beyond ±32767", index * 4);
        weight_of(weight).ok_or_else(|| ArtifactError::damaged(path, reason()))
    };
    let written = bytes
        .as_chunks()
        .0
        .iter()
        .enumerate()
        .map(weight)
        .collect::<Result<Vec<_>, _>>()?;
    let mut weights = written.clone();
    spread(set, &mut weights, 1);
    let mirrors = MirrorCounts {
        differing: weights
            .iter()
            .zip(&written)
            .filter(|(weight, written)| weight != written)
            .count() as u64,
        all: (0..)
            .zip(set.canonical())
            .filter(|(feature, canonical)| feature != *canonical)
            .count() as u64,
    };
    let evaluation = Evaluation::new(set.clone(), weights)
        .map_err(|error| ArtifactError::unfit(path, error.to_string()))?;
    Ok((evaluation, mirrors))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::publish::publish_bytes;

    #[test]
    fn weights_survive_the_file_and_other_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("eval.dat");
        let set = ES_CUBE.clone();
        let weights = set
            .canonical()
            .iter()
            .map(|&canonical| ((canonical % 65_535) as i32 - 32_767) as i16)
            .collect();
        let evaluation = Evaluation::new(set, weights).unwrap();
        publish_bytes(&path, &es_cube_eval_bytes(&evaluation).unwrap()).unwrap();
        let mobile = FEATURES
            .replace("es-cube", "mobile")
            .replace("\"parity\"", "\"mobility\"\nside = \"own\"\ncap = 1");
        let mobile = Evaluation::zero(Arc::new(parse_features(&mobile).unwrap()));
        assert!(
            es_cube_eval_bytes(&mobile)
                .unwrap_err()
                .contains("`mobile`"),
            "as many weights as es-cube"
        );
        let paired = parse_features(&FEATURES.replace("[60]", "[60]\nvectors = 8")).unwrap();
        let refusal = es_cube_eval_bytes(&Evaluation::zero(Arc::new(paired))).unwrap_err();
        let expected = "the model has vectors: eval.dat holds weights alone\ntrain one on configs/features/es-cube.toml";
        assert_eq!(refusal, expected);
        assert!((ES_CUBE_EVAL_FILE.matches)(&path).unwrap());
        let (imported, mirrors) = import_es_cube_eval(&path).unwrap();
        assert_eq!(
            (imported.weights(), mirrors.differing),
            (evaluation.weights(), 0)
        );
        let mut bytes = std::fs::read(&path).unwrap();
        publish_bytes(&path, &bytes[1..]).unwrap();
        assert!(import_es_cube_eval(&path).is_err());
        assert!(!(ES_CUBE_EVAL_FILE.matches)(&path).unwrap());
        bytes[2] = 1;
        publish_bytes(&path, &bytes).unwrap();
        assert!(
            import_es_cube_eval(&path)
                .unwrap_err()
                .to_string()
                .contains("beyond")
        );
    }

    #[test]
    fn the_weight_at_the_smallest_index_counts_where_mirrors_differ() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("eval.dat");
        let set = &*ES_CUBE;
        // LINE4: b4 or g4 alone is ours, b4 being the second of eight squares; the smaller index
        // has g4.
        let [smaller, larger] = [3, 3_usize.pow(6)];
        assert_eq!(set.canonical()[larger], smaller as u32);
        let mut words = vec![0_i32; set.feature_count()];
        (words[smaller], words[larger]) = (120, 117);
        let write = |words: &[i32]| {
            publish_bytes(
                &path,
                &words
                    .iter()
                    .flat_map(|word| word.to_le_bytes())
                    .collect::<Vec<_>>(),
            )
            .unwrap();
            import_es_cube_eval(&path).unwrap()
        };
        let (imported, mirrors) = write(&words);
        assert_eq!(mirrors.differing, 1);
        assert_eq!(
            mirrors.all,
            set.canonical()
                .iter()
                .zip(0..)
                .filter(|(canonical, feature)| *canonical < feature)
                .count() as u64
        );
        let weights = imported.weights();
        assert_eq!((weights[smaller], weights[larger]), (120, 120));
        assert_eq!(weights.iter().filter(|&&weight| weight != 0).count(), 2);
        words[larger] = 120;
        let (same, mirrors) = write(&words);
        assert_eq!((mirrors.differing, same.weights()), (0, weights));
    }
}
