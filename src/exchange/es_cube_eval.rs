//! `eval.dat`: 42,608 weights of the es-cube patterns, i32 little endian, mirrors included.

use crate::artifact::error::ArtifactError;
use crate::artifact::model::features_file::parse_features;
use crate::artifact::model::version::pattern_set_hash;
use crate::artifact::output::{FileKind, first_bytes};
use crate::artifact::publish::read_bounded;
use crate::engine::eval::evaluation::Evaluation;
use crate::engine::eval::pattern_set::PatternSet;
use std::path::Path;
use std::sync::Arc;

/// Bytes of a weight.
const WEIGHT_SIZE: usize = 4;

const FEATURES: &str = include_str!("../../configs/features/es-cube.toml");

fn es_cube() -> PatternSet {
    parse_features(FEATURES).expect("the shipped features file is sound")
}

/// A file of the size of `eval.dat`.
pub const ES_CUBE_EVAL_FILE: FileKind = FileKind {
    name: "an eval.dat of 42,608 weights",
    matches: |path| {
        let size = es_cube().feature_count() as u64 * WEIGHT_SIZE as u64;
        Ok(first_bytes(path, size + 1)?.len() as u64 == size)
    },
};

/// The bytes of `eval.dat` for a model whose patterns and phase are those of es-cube.
///
/// # Errors
///
/// Why the model does not fit: it has other patterns.
pub fn es_cube_eval_bytes(evaluation: &Evaluation) -> Result<Vec<u8>, String> {
    if pattern_set_hash(evaluation.set()) != pattern_set_hash(&es_cube()) {
        return Err(format!(
            "the model has the patterns `{}`: eval.dat holds es-cube in one phase",
            evaluation.set().name()
        ));
    }
    Ok(evaluation.weights().iter().flat_map(|&weight| i32::from(weight).to_le_bytes()).collect())
}

/// Reads weights; mirrors must be equal.
///
/// # Errors
///
/// A missing file, one of another size, weights beyond 16 bits, or mirrors that differ.
pub fn import_es_cube_eval(path: &Path) -> Result<Evaluation, ArtifactError> {
    let set = es_cube();
    let expected = set.feature_count() * 4;
    let bytes = read_bounded(path, 1 << 30)?;
    if bytes.len() != expected {
        let reason = format!("it has {} bytes, eval.dat has {expected}", bytes.len());
        return Err(ArtifactError::damaged(path, reason));
    }
    let mut weights = Vec::with_capacity(set.feature_count());
    for (index, word) in bytes.chunks_exact(4).enumerate() {
        let weight = i32::from_le_bytes([word[0], word[1], word[2], word[3]]);
        weights.push(i16::try_from(weight).map_err(|_| {
            ArtifactError::damaged(path, format!("byte {}: weight {weight} is beyond ±32767", index * 4))
        })?);
    }
    Evaluation::new(Arc::new(set), weights).map_err(|error| ArtifactError::unfit(path, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::publish::publish_bytes;

    #[test]
    fn weights_survive_the_file_and_strangers_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("eval.dat");
        let set = Arc::new(es_cube());
        let weights = set.canonical().iter().map(|&canonical| (canonical % 40_001) as i16).collect();
        let evaluation = Evaluation::new(set, weights).unwrap();
        publish_bytes(&path, &es_cube_eval_bytes(&evaluation).unwrap()).unwrap();
        assert!((ES_CUBE_EVAL_FILE.matches)(&path).unwrap());
        assert_eq!(import_es_cube_eval(&path).unwrap().weights(), evaluation.weights());
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[4] ^= 1;
        publish_bytes(&path, &bytes).unwrap();
        assert!(import_es_cube_eval(&path).unwrap_err().to_string().contains("mirror"));
        publish_bytes(&path, &bytes[1..]).unwrap();
        assert!(import_es_cube_eval(&path).is_err());
        assert!(!(ES_CUBE_EVAL_FILE.matches)(&path).unwrap());
    }
}
