//! `collected.json`: up to which generation a run was cleared away, and who plays the next one.

use super::document::ParentEntry;
use crate::artifact::error::ArtifactError;
use crate::artifact::seal::{read_sealed_or_default, write_sealed};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The version of the file.
const FORMAT: u32 = 1;

/// The content of `collected.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CollectedFile {
    /// Its format.
    format: u32,
    /// Every generation up to this one is closed: no stage works on it again.
    pub generation: u32,
    /// Who plays the generation after it; none where that is the run's start.
    pub champion: Option<ParentEntry>,
    /// The highest number that a version had, so that no number is given twice.
    pub version_last: u64,
}

impl Default for CollectedFile {
    fn default() -> Self {
        Self { format: FORMAT, generation: 0, champion: None, version_last: 0 }
    }
}

impl CollectedFile {
    /// Reads the file of a registry; one without it has lost nothing.
    ///
    /// # Errors
    ///
    /// A damaged file, or one of another format.
    pub fn read(registry: &Path) -> Result<Self, ArtifactError> {
        read_sealed_or_default(&registry.join("collected.json"), FORMAT, |file: &Self| file.format)
    }

    /// Replaces the file of a registry, atomically.
    ///
    /// # Errors
    ///
    /// Whatever the system refuses.
    pub fn write(&self, registry: &Path) -> Result<(), ArtifactError> {
        write_sealed(&registry.join("collected.json"), self)
    }
}
