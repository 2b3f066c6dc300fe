//! `model.json`: a version's kind and origin, and a hash of each of its files.

use super::name::{ModelName, VersionId};
use crate::artifact::error::ArtifactError;
use crate::artifact::format::FormatVersion;
use crate::artifact::hash::ContentHash;
use crate::artifact::line::line;
use crate::artifact::step::{Settings, table_settings};
use crate::engine::PatternSet;
use crate::generation::Generation;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The format version of all files of a model.
pub type ModelFormat = FormatVersion<1>;

/// The file of a version whose patterns have vectors.
pub(super) const VECTORS_FILE: &str = "vectors.parquet";

/// Whether a version has MPC statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelKind {
    /// Weights without MPC statistics.
    Draft,
    /// Weights with MPC statistics fitted to them.
    Model,
}

impl ModelKind {
    /// The files of a version beside `model.json`, in the order of an archive.
    pub(super) fn files(self, has_vectors: bool) -> impl Iterator<Item = &'static str> {
        let files = [
            ("features.toml", true),
            ("weights.parquet", true),
            (VECTORS_FILE, has_vectors),
            ("mpc.parquet", self == Self::Model),
        ];
        files
            .into_iter()
            .filter(|(_, exists)| *exists)
            .map(|(name, _)| name)
    }
}

/// A model that a file names: a parent, a player, a champion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelReference {
    /// Its version id or built-in name.
    pub id: ModelName,
    /// The hash of its content.
    pub content: ContentHash,
}

/// A dataset that a model was trained on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatasetEntry {
    /// Its generation.
    pub generation: Generation,
    /// The recipe of its games.
    pub recipe: ContentHash,
    /// The hash of its values.
    pub content: ContentHash,
    /// Games it holds.
    pub games: u64,
    /// Positions it holds.
    pub positions: u64,
}

/// A file of a version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelFile {
    /// Its size.
    pub bytes: u64,
    /// The hash of its bytes.
    pub hash: ContentHash,
}

/// Where a version came from: everything except its number and its files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VersionOrigin {
    /// Draft or model.
    pub kind: ModelKind,
    /// The stage that made it: `train`, `fit-mpc` or `import`.
    #[serde(deserialize_with = "line")]
    pub stage: String,
    /// The step id of that stage.
    pub step: ContentHash,
    /// The version of the stage's algorithm.
    pub algorithm: u32,
    /// The model it started from, if any.
    pub parent: Option<ModelReference>,
    /// The datasets it was trained on, oldest first.
    pub datasets: Vec<DatasetEntry>,
    /// The stage's config table.
    pub config: serde_json::Value,
    /// The stage's figures.
    pub metrics: serde_json::Value,
}

/// The content of `model.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelDocument {
    /// The version of these fields and of the other files.
    pub format: ModelFormat,
    /// The version id, which is also the name of the folder in a registry.
    pub id: VersionId,
    /// Where it came from.
    #[serde(flatten)]
    pub origin: VersionOrigin,
    /// The hash of patterns, weights and MPC statistics.
    pub content: ContentHash,
    /// The hash of patterns, weights and vectors.
    pub weights: ContentHash,
    /// The weights to which the MPC statistics were fitted.
    pub mpc_weights: Option<ContentHash>,
    /// Its files, by name.
    pub files: BTreeMap<String, ModelFile>,
}

impl ModelDocument {
    /// The files that the version has beside `model.json`, in the order of an archive.
    pub(super) fn file_names(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.origin
            .kind
            .files(self.files.contains_key(VECTORS_FILE))
    }

    /// Checks that the version has a file of vectors if its patterns have vectors, and only then;
    /// `folder` names the model in errors.
    pub(super) fn check_vectors(
        &self,
        folder: &Path,
        set: &PatternSet,
    ) -> Result<(), ArtifactError> {
        let reason = match (self.files.contains_key(VECTORS_FILE), 0 < set.vector_size()) {
            (true, false) => "it lists vectors.parquet, and features.toml has no vectors",
            (false, true) => "it does not list vectors.parquet, and features.toml has vectors",
            _ => return Ok(()),
        };
        Err(ArtifactError::damaged(&folder.join("model.json"), reason))
    }

    /// What the document says of a file; `folder` names the model in errors.
    pub(super) fn file(&self, folder: &Path, name: &str) -> Result<&ModelFile, ArtifactError> {
        let missing = || {
            ArtifactError::damaged(
                &folder.join("model.json"),
                format!("it does not list {name}"),
            )
        };
        self.files.get(name).ok_or_else(missing)
    }
}

impl VersionOrigin {
    /// The settings that the version was made with.
    pub fn settings(&self) -> Settings {
        let mut settings = table_settings(&self.stage.replace('-', "_"), &self.config);
        let parent = self
            .parent
            .as_ref()
            .map_or("none".to_owned(), |parent| parent.content.to_string());
        settings.push(("parent".to_owned(), parent));
        settings.extend(
            (1..)
                .zip(&self.datasets)
                .map(|(number, dataset)| dataset_setting(number, dataset.content)),
        );
        settings.push(("algorithm".to_owned(), self.algorithm.to_string()));
        settings
    }

    /// The generation of the newest dataset that the version was trained on, if any.
    pub fn generation(&self) -> Option<Generation> {
        self.datasets.last().map(|dataset| dataset.generation)
    }
}

/// The setting that names a dataset of a version, counted from 1.
pub fn dataset_setting(number: usize, content: ContentHash) -> (String, String) {
    (format!("dataset {number}"), content.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn the_name_of_a_stage_is_a_line() {
        let mut value: Value =
            serde_json::from_str(include_str!("../../../tests/data/model/model.json")).unwrap();
        for (stage, is_sound) in [("train", true), ("\u{1b}[2J", false), ("", false)] {
            value["stage"] = stage.into();
            assert_eq!(
                serde_json::from_value::<ModelDocument>(value.clone()).is_ok(),
                is_sound,
                "{stage:?}"
            );
        }
    }
}
