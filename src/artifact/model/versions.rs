//! Versions of a registry by the steps that made them: one, or all of them, read once for whoever
//! asks about many.

use super::document::ModelDocument;
use super::name::VersionId;
use super::reference::KnownModel;
use super::registry::Registry;
use super::version::SIZE_MAX;
use crate::artifact::error::ArtifactError;
use crate::artifact::hash::ContentHash;
use crate::artifact::publish::read_bounded;
use crate::generation::Generation;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The `model.json` of every version of a registry.
#[derive(Clone, Debug)]
pub struct Versions {
    registry: Registry,
    /// Oldest first.
    pub documents: Vec<Arc<ModelDocument>>,
    by_step: BTreeMap<ContentHash, usize>,
    by_content: BTreeMap<ContentHash, usize>,
}

impl Registry {
    /// The version that this step made, if there is one.
    ///
    /// # Errors
    ///
    /// A damaged `model.json`.
    pub fn made_by(&self, step: ContentHash) -> Result<Option<KnownModel>, ArtifactError> {
        let name = step.to_string();
        for id in self.ids()? {
            let folder = self.folder_of(id);
            // Only a document that has the step in its text is worth parsing.
            let bytes = read_bounded(&folder.join("model.json"), SIZE_MAX)?;
            if !bytes
                .windows(name.len())
                .any(|window| window == name.as_bytes())
            {
                continue;
            }
            let known = KnownModel::read(&folder)?;
            if known
                .document
                .as_ref()
                .is_some_and(|document| document.origin.step == step)
            {
                return Ok(Some(known));
            }
        }
        Ok(None)
    }
}

impl Versions {
    /// Reads the documents of a registry; one that does not exist has none.
    ///
    /// # Errors
    ///
    /// A damaged document.
    pub fn read(registry: &Registry) -> Result<Self, ArtifactError> {
        let documents: Vec<Arc<ModelDocument>> =
            registry.documents()?.into_iter().map(Arc::new).collect();
        // Of several the oldest stays.
        let indexed = || documents.iter().enumerate().rev();
        let by_step = indexed()
            .map(|(index, document)| (document.origin.step, index))
            .collect();
        let by_content = indexed()
            .map(|(index, document)| (document.content, index))
            .collect();
        Ok(Self {
            registry: registry.clone(),
            documents,
            by_step,
            by_content,
        })
    }

    /// The registry.
    pub const fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The version that a step made, if there is one.
    pub fn made_by(&self, step: ContentHash) -> Option<KnownModel> {
        let document = &self.documents[*self.by_step.get(&step)?];
        Some(self.known(document))
    }

    /// The newest version that a stage made in a generation, if there is one.
    pub fn latest(&self, stage: &str, generation: Generation) -> Option<&Arc<ModelDocument>> {
        let is_of_this = |document: &&Arc<ModelDocument>| {
            document.origin.stage == stage && document.origin.generation() == Some(generation)
        };
        self.documents.iter().rev().find(is_of_this)
    }

    /// The version with this number, if there is one.
    pub fn with_id(&self, id: VersionId) -> Option<KnownModel> {
        let index = self
            .documents
            .binary_search_by_key(&id, |document| document.id)
            .ok()?;
        Some(self.known(&self.documents[index]))
    }

    /// The document of a version with this content, if there is one.
    pub fn with_content(&self, content: ContentHash) -> Option<&Arc<ModelDocument>> {
        Some(&self.documents[*self.by_content.get(&content)?])
    }

    fn known(&self, document: &Arc<ModelDocument>) -> KnownModel {
        KnownModel::of_version(Arc::clone(document), self.registry.folder_of(document.id))
    }
}
