//! What a stage that makes versions reports of one.

use super::StageError;
use super::work::Report;
use crate::artifact::line::visible;
use crate::artifact::{ArtifactError, ContentHash, KnownModel};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fmt::Debug;

/// The version that a stage has made, with its figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VersionReport<M> {
    /// Whether the version was there already.
    pub skipped: bool,
    /// The version's id.
    pub id: String,
    /// The hash of its content.
    pub content: ContentHash,
    /// Its figures.
    pub metrics: M,
}

impl<M: Serialize + Debug + 'static> Report for VersionReport<M> {
    fn is_skipped(&self) -> bool {
        self.skipped
    }

    fn version(&self) -> Option<&str> {
        Some(&self.id)
    }

    fn json(&self) -> Value {
        json!(self)
    }
}

impl<M: DeserializeOwned> VersionReport<M> {
    /// That of a version that was made before.
    pub(super) fn skipped(made: KnownModel) -> Result<Self, StageError> {
        let path = made.place_name().join("model.json");
        let document = made.document.expect("a version has a document");
        let metrics = M::deserialize(&document.origin.metrics).map_err(|error| {
            let reason = visible(&error.to_string());
            ArtifactError::unfit(
                &path,
                format!("its figures are not those of this renma: {reason}"),
            )
        })?;
        Ok(Self {
            skipped: true,
            id: made.id.to_string(),
            content: made.content,
            metrics,
        })
    }
}
