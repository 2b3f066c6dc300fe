//! The models that are part of the program.
//!
//! Half of a weights file is visits, which only the coverage of trainings reads: the one that ships
//! has zeros for them. `RENMA_WRITE_SHIPPED=1 cargo test --release --lib shipped` writes it that
//! way after its files were replaced.

use super::archive::Archive;
use super::builtin::Builtin;
use super::document::{ModelDocument, ModelFormat, VECTORS_FILE};
use super::features_file::parse_features;
use super::mpc_file;
use super::vectors_file::{self, vectors_table};
use super::version::Model;
use super::weights_file::{self, WEIGHTS};
use crate::artifact::error::ArtifactError;
use crate::artifact::seal::parse_versioned;
use crate::engine::eval::builtin;
use crate::engine::eval::tables::TableSource;
use crate::engine::{Evaluation, PatternSet};
use bytes::Bytes;
use std::path::Path;
use std::sync::Arc;

const SOUND: &str = "the shipped model is sound";

/// The files of the shipped model.
const SHIPPED: [(&str, &[u8]); 5] = [
    (
        "model.json",
        include_bytes!("../../../models/shipped/model.json"),
    ),
    (
        "features.toml",
        include_bytes!("../../../models/shipped/features.toml"),
    ),
    (
        "weights.parquet",
        include_bytes!("../../../models/shipped/weights.parquet"),
    ),
    (
        "vectors.parquet",
        include_bytes!("../../../models/shipped/vectors.parquet"),
    ),
    (
        "mpc.parquet",
        include_bytes!("../../../models/shipped/mpc.parquet"),
    ),
];

impl Builtin {
    /// The model.
    ///
    /// # Panics
    ///
    /// If the shipped model is damaged, which a test rules out.
    pub fn model(self) -> Model {
        match self {
            Self::DiscCount => untrained(builtin::disc_count()),
            Self::SquareWeights => untrained(builtin::square_weights()),
            Self::Champion => shipped(),
        }
    }

    /// All files of the model.
    ///
    /// # Errors
    ///
    /// A model that was not trained: it has no files.
    pub fn archive(self) -> Result<Archive, ArtifactError> {
        let place = Path::new(self.name());
        match self {
            Self::DiscCount | Self::SquareWeights => Err(ArtifactError::unfit(
                place,
                "it is a part of the program and has no files\nname a trained model",
            )),
            Self::Champion => Archive::collect(place, |name| {
                let file = SHIPPED.iter().find(|(other, _)| *other == name);
                file.map(|(_, bytes)| bytes.to_vec())
                    .ok_or_else(|| ArtifactError::Missing {
                        path: place.join(name),
                    })
            }),
        }
    }

    /// Its document, if it was trained.
    ///
    /// # Panics
    ///
    /// If the shipped model is damaged, which a test rules out.
    pub fn document(self) -> Option<ModelDocument> {
        match self {
            Self::DiscCount | Self::SquareWeights => None,
            Self::Champion => {
                let place = Path::new(self.name()).join("model.json");
                Some(parse_versioned::<ModelFormat, _>(&place, SHIPPED[0].1).expect(SOUND))
            }
        }
    }
}

/// The bytes of a file of the shipped model.
fn file(name: &str) -> &'static [u8] {
    let file = SHIPPED.iter().find(|(other, _)| *other == name);
    file.expect(SOUND).1
}

/// The shipped model, whose weights and vectors are decoded when they are first used. A test has
/// checked its files, so that nobody waits for that when a command starts.
fn shipped() -> Model {
    let features = String::from_utf8_lossy(file("features.toml"));
    let set = Arc::new(parse_features(&features).expect(SOUND));
    let source = Shipped(Arc::clone(&set));
    let visits = vec![0; set.weight_count()];
    let mut model = Model::draft(Evaluation::on_use(set, Box::new(source)), visits);
    let mpc = Bytes::from_static(file("mpc.parquet"));
    (model.mpc, model.mpc_samples) = mpc_file::decode(Path::new("mpc.parquet"), mpc).expect(SOUND);
    model.mpc_weights = Builtin::Champion.document().expect(SOUND).mpc_weights;
    model
}

/// The weights and vectors of the shipped model.
struct Shipped(Arc<PatternSet>);

impl TableSource for Shipped {
    fn weights(&self, phase: usize) -> Vec<i16> {
        let path = Path::new("weights.parquet");
        let bytes = Bytes::from_static(file("weights.parquet"));
        let batches = WEIGHTS
            .decode_range(path, bytes, phase as i16)
            .expect(SOUND);
        let rows = batches.into_iter().map(Ok);
        let decoded = weights_file::from_batches(path, &self.0, phase..phase + 1, rows);
        decoded.expect(SOUND).0
    }

    fn vectors(&self, group: usize) -> Vec<i8> {
        let path = Path::new(VECTORS_FILE);
        let bytes = Bytes::from_static(file(VECTORS_FILE));
        let table = vectors_table(self.0.vector_size());
        let batches = table.decode_range(path, bytes, group as i16).expect(SOUND);
        let rows = batches.into_iter().map(Ok);
        vectors_file::from_batches(path, &self.0, group..group + 1, rows).expect(SOUND)
    }
}

/// A model without MPC statistics, which searches full width.
fn untrained(evaluation: Evaluation) -> Model {
    let visits = vec![0; evaluation.set().weight_count()];
    Model::draft(evaluation, visits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_model_is_sound_and_has_its_own_statistics() {
        let (model, document) = (Builtin::Champion.model(), Builtin::Champion.document());
        assert_eq!(model.mpc_weights, Some(model.weights_hash()));
        assert_eq!(document.unwrap().content, model.content_hash());
        let checked = Builtin::Champion
            .archive()
            .unwrap()
            .model(Path::new("x"))
            .unwrap();
        assert_eq!(checked.content_hash(), model.content_hash());
        assert_eq!(checked.mpc_samples, model.mpc_samples);
        let size: usize = SHIPPED.iter().map(|(_, bytes)| bytes.len()).sum();
        assert!(size <= 9 << 20, "{size} bytes");
    }

    #[test]
    fn the_shipped_model_has_no_visits() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/shipped");
        let read = || Archive::of_folder(&folder).unwrap().model(&folder).unwrap();
        if std::env::var_os("RENMA_WRITE_SHIPPED").is_some() {
            let Archive { document, .. } = Archive::of_folder(&folder).unwrap();
            let mut model = read();
            model.visits.fill(0);
            model.write(&folder, document.id, &document.origin).unwrap();
        }
        assert!(
            read().visits.iter().all(|&count| count == 0),
            "write them as zeros with RENMA_WRITE_SHIPPED=1 cargo test --release --lib shipped"
        );
    }
}
