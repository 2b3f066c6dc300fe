//! A model in memory, and a version of it as a folder.

use super::document::{
    ModelDocument, ModelFile, ModelFormat, ModelKind, VECTORS_FILE, VersionOrigin,
};
use super::features_file::features_text;
use super::mpc_file::{self, MPC};
use super::name::VersionId;
use super::vectors_file::{self, vectors_table};
use super::weights_file::{self, WEIGHTS};
use crate::artifact::error::ArtifactError;
use crate::artifact::hash::{ContentHash, FieldHasher};
use crate::artifact::publish::{check_folder, exists, publish_bytes, read_bounded};
use crate::artifact::seal::{read_versioned, write_sealed};
use crate::artifact::table::Footer;
use crate::engine::{
    Counted, Evaluation, MpcTable, NORMAL_QUANTILES, Number, PatternKind, PatternSet, Side,
};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// A larger file of a version is not read.
pub(super) const SIZE_MAX: u64 = 4 << 30;

/// Weights, how often training reached each, and MPC statistics.
#[derive(Clone, Debug)]
pub struct Model {
    /// Patterns and weights.
    pub evaluation: Evaluation,
    /// Training updates that reached each weight, `[phase][feature]`; zero for mirrors that are not
    /// canonical.
    pub visits: Vec<u32>,
    /// MPC statistics; empty for a draft.
    pub mpc: MpcTable,
    /// The number of samples behind each MPC entry.
    pub mpc_samples: Vec<u64>,
    /// The weights to which the MPC statistics were fitted.
    pub mpc_weights: Option<ContentHash>,
}

impl Model {
    /// A model without MPC statistics.
    pub fn draft(evaluation: Evaluation, visits: Vec<u32>) -> Self {
        Self {
            evaluation,
            visits,
            mpc: MpcTable::empty(),
            mpc_samples: Vec::new(),
            mpc_weights: None,
        }
    }

    /// The hash of patterns, weights and vectors.
    pub fn weights_hash(&self) -> ContentHash {
        let set = self.evaluation.set();
        let weights = self.evaluation.weights();
        let bytes = |some: &[i16]| {
            some.iter()
                .map(|weight| weight.to_le_bytes())
                .collect::<Vec<_>>()
                .into_flattened()
        };
        let mut hasher = FieldHasher::new("weights");
        hasher.field("patterns", pattern_set_hash(set).to_string().as_bytes());
        hasher.field_in_parts(
            "weights",
            size_of_val(weights) as u64,
            weights.chunks(1 << 16).map(bytes),
        );
        if 0 < set.vector_size() {
            let vectors = self.evaluation.vectors();
            let bytes = |some: &[i8]| {
                some.iter()
                    .map(|component| *component as u8)
                    .collect::<Vec<_>>()
            };
            hasher.field_in_parts(
                "vectors",
                vectors.len() as u64,
                vectors.chunks(1 << 16).map(bytes),
            );
        }
        hasher.finish()
    }

    /// The hash of everything that determines how the model plays.
    pub fn content_hash(&self) -> ContentHash {
        self.content_hash_with(self.weights_hash())
    }

    /// The same, where the hash of its weights is known.
    fn content_hash_with(&self, weights: ContentHash) -> ContentHash {
        let mut hasher = FieldHasher::new("model");
        hasher.field("weights", weights.to_string().as_bytes());
        for entry in self.mpc.entries() {
            hasher.field(
                "depths",
                &[
                    entry.empties_min,
                    entry.empties_max,
                    entry.deep.0,
                    entry.shallow.0,
                ],
            );
            hasher.field("slope", &entry.slope.to_bits().to_le_bytes());
            hasher.field("offset", &entry.offset.0.to_le_bytes());
            hasher.field("sigma", &entry.sigma.0.to_le_bytes());
            // Statistics of the source's form are normal and do not grow: they count by what that
            // form has.
            if entry.growth != 0.0 || entry.quantiles != NORMAL_QUANTILES {
                hasher.field("growth", &entry.growth.to_bits().to_le_bytes());
                let quantiles = entry
                    .quantiles
                    .iter()
                    .flat_map(|quantile| quantile.to_bits().to_le_bytes());
                hasher.field("quantiles", &quantiles.collect::<Vec<u8>>());
            }
        }
        hasher.finish()
    }

    /// Writes the files of a version into an empty folder.
    pub fn write(
        &self,
        folder: &Path,
        id: VersionId,
        origin: &VersionOrigin,
    ) -> Result<(), ArtifactError> {
        let set = self.evaluation.set();
        publish_bytes(&folder.join("features.toml"), features_text(set).as_bytes())?;
        let batches = || weights_file::to_batches(&self.evaluation, &self.visits);
        WEIGHTS.write_batches(&folder.join("weights.parquet"), batches, &Footer::new())?;
        let vector_size = set.vector_size();
        if 0 < vector_size {
            let batches = || vectors_file::to_batches(&self.evaluation);
            vectors_table(vector_size).write_batches(
                &folder.join(VECTORS_FILE),
                batches,
                &Footer::new(),
            )?;
        }
        if origin.kind == ModelKind::Model {
            let rows = mpc_file::to_rows(&self.mpc, &self.mpc_samples);
            MPC.write_rows(&folder.join("mpc.parquet"), &rows, &Footer::new())?;
        }
        let mut files = BTreeMap::new();
        for name in origin.kind.files(0 < vector_size) {
            let bytes = read_bounded(&folder.join(name), SIZE_MAX)?;
            files.insert(
                name.to_owned(),
                ModelFile {
                    bytes: bytes.len() as u64,
                    hash: ContentHash::of(&bytes),
                },
            );
        }
        let document = ModelDocument {
            format: ModelFormat::CURRENT,
            id,
            origin: origin.clone(),
            content: self.content_hash(),
            weights: self.weights_hash(),
            mpc_weights: self.mpc_weights,
            files,
        };
        write_sealed(&folder.join("model.json"), &document)
    }

    /// The model of a document, its patterns and the bytes of its other files; `folder` names them
    /// in errors.
    ///
    /// # Errors
    ///
    /// Files that do not make a model, or not that of the document.
    pub(super) fn decode(
        folder: &Path,
        document: &ModelDocument,
        set: Arc<PatternSet>,
        file: impl Fn(&str) -> Bytes,
    ) -> Result<Self, ArtifactError> {
        let path = folder.join("weights.parquet");
        let rows_max = set.weight_count() as u64;
        let batches = WEIGHTS.decode_batches(&path, file("weights.parquet"), rows_max)?;
        let (weights, visits) =
            weights_file::from_batches(&path, &set, 0..set.phase_count(), batches)?;
        let vectors = match set.vector_size() {
            0 => Vec::new(),
            size => {
                let path = folder.join(VECTORS_FILE);
                let rows_max = (set.group_count() * set.feature_count()) as u64;
                let batches =
                    vectors_table(size).decode_batches(&path, file(VECTORS_FILE), rows_max)?;
                vectors_file::from_batches(&path, &set, 0..set.group_count(), batches)?
            }
        };
        let evaluation = Evaluation::with_vectors(set, weights, vectors)
            .map_err(|error| ArtifactError::damaged(folder, error.to_string()))?;
        let mut model = Self::draft(evaluation, visits);
        if document.origin.kind == ModelKind::Model {
            let path = folder.join("mpc.parquet");
            (model.mpc, model.mpc_samples) = mpc_file::decode(&path, file("mpc.parquet"))?;
            model.mpc_weights = document.mpc_weights;
        }
        let weights = model.weights_hash();
        if (weights, model.content_hash_with(weights)) != (document.weights, document.content) {
            let reason =
                "its content hash is not that of its patterns, weights, vectors and statistics";
            return Err(ArtifactError::damaged(&folder.join("model.json"), reason));
        }
        Ok(model)
    }
}

/// Reads `model.json` alone. If the name of the folder is a version id, it must be the one in the
/// file; a copy of a version may have any other name.
///
/// # Errors
///
/// A missing or damaged file, one of another format, or one of a version other than that of the
/// folder.
pub fn read_document(folder: &Path) -> Result<ModelDocument, ArtifactError> {
    check_folder(folder)?;
    let path = folder.join("model.json");
    if !exists(&path)? {
        return Err(ArtifactError::unfit(
            folder,
            "it has no model.json: it is not a model",
        ));
    }
    let document: ModelDocument = read_versioned::<ModelFormat, _>(&path)?;
    let found = document.id;
    if let Some(id) = VersionId::of_folder(folder).filter(|id| *id != found) {
        let reason = format!(
            "it is {found} in a folder named {id}\n\
             rename the folder back to {found}, or give a copy a name that is not a version id"
        );
        return Err(ArtifactError::damaged(&path, reason));
    }
    Ok(document)
}

/// The hash of what a pattern set computes; its names do not count. Phases count by the disc count
/// that each begins with.
pub fn pattern_set_hash(set: &PatternSet) -> ContentHash {
    let mut hasher = FieldHasher::new("pattern set");
    let starts: Vec<u8> = set
        .phase_empties_max()
        .iter()
        .map(|empties| 64 - empties)
        .collect();
    hasher.field("phase starts", &starts);
    if 0 < set.vector_size() {
        let starts: Vec<u8> = set
            .vectors()
            .empties_max
            .iter()
            .map(|empties| 64 - empties)
            .collect();
        hasher
            .field("vectors", &[set.vectors().size])
            .field("group starts", &starts);
        if 0 < set.vectors().negative {
            hasher.field("negative", &[set.vectors().negative]);
        }
    }
    for pattern in set.patterns() {
        let (name, numbers) = match &pattern.kind {
            PatternKind::Squares(squares) => (
                "squares",
                squares.iter().map(|square| square.number()).collect(),
            ),
            PatternKind::Number(Number::Parity) => ("parity", Vec::new()),
            PatternKind::Number(Number::Count { counted, side, cap }) => {
                let name = match counted {
                    Counted::Mobility => "mobility",
                    Counted::Potential => "potential",
                    Counted::Discs => "discs",
                };
                let side = match side {
                    Side::Own => 1,
                    Side::Opponent => 2,
                };
                (name, vec![side, *cap])
            }
        };
        hasher.field(name, &numbers);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::model::features_file::parse_features;
    use std::collections::BTreeSet;

    #[test]
    fn the_hash_of_a_set_covers_its_vectors() {
        let hash = |keys: &str| {
            let text = format!(
                "name = \"a\"\nphase_empties_max = [60, 30]\n{keys}\n[[pattern]]\nname = \"b\"\nkind = \"parity\""
            );
            pattern_set_hash(&parse_features(&text).unwrap()).to_string()
        };
        let hashes = [
            hash("vectors = 0"),
            hash("vectors = 1"),
            hash("vectors = 2"),
            hash("vectors = 2\nnegative = 1"),
            hash("vectors = 2\nnegative = 2"),
            hash("vectors = 2\nvector_empties_max = [60, 30]"),
        ];
        assert_eq!(BTreeSet::from(hashes.clone()).len(), hashes.len());
        assert_eq!(hashes[0], hash(""), "no vectors");
        assert_eq!(
            hashes[2],
            hash("vectors = 2\nnegative = 0\nvector_empties_max = [60]"),
            "the defaults"
        );
    }

    #[test]
    fn each_component_counts_in_the_hashes_of_a_model() {
        let text = "name = \"a\"\nphase_empties_max = [60, 30]\nvectors = 2\nvector_empties_max = [60, 30]\n\
            [[pattern]]\nname = \"b\"\nkind = \"parity\"";
        let set = Arc::new(parse_features(text).unwrap());
        let count = set.component_count();
        assert_eq!(count, 8);
        let hashes = |vectors: Vec<i8>| {
            let evaluation =
                Evaluation::with_vectors(Arc::clone(&set), vec![0; 4], vectors).unwrap();
            let model = Model::draft(evaluation, vec![0; 4]);
            [model.weights_hash(), model.content_hash()].map(|hash| hash.to_string())
        };
        let one = |place: usize| (0..count).map(|other| i8::from(other == place)).collect();
        let all: BTreeSet<String> = (0..=count).flat_map(|place| hashes(one(place))).collect();
        assert_eq!(all.len(), 2 * (count + 1));
    }

    #[test]
    fn numbers_that_differ_make_sets_that_differ() {
        let hash = |number: &str| {
            let text = format!(
                "name = \"a\"\nphase_empties_max = [60]\n[[pattern]]\nname = \"b\"\n{number}"
            );
            pattern_set_hash(&parse_features(&text).unwrap()).to_string()
        };
        let hashes = [
            hash("kind = \"parity\""),
            hash("kind = \"discs\"\nside = \"own\""),
            hash("kind = \"discs\"\nside = \"own\"\ncap = 30"),
            hash("kind = \"discs\"\nside = \"opponent\""),
            hash("kind = \"mobility\"\nside = \"own\""),
            hash("kind = \"potential\"\nside = \"own\""),
        ];
        assert_eq!(BTreeSet::from(hashes.clone()).len(), hashes.len());
        assert_eq!(
            hashes[1],
            hash("kind = \"discs\"\nside = \"own\"\ncap = 31"),
            "the default"
        );
    }
}
