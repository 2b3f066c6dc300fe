//! `collected.json`: up to which generation a run was cleared away, and who plays the next one.

use super::document::ParentEntry;
use crate::artifact::dataset::verdict::Verdict;
use crate::artifact::error::ArtifactError;
use crate::artifact::seal::{read_sealed_or_default, write_sealed};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The version of the file; 1, without the lines of generations, is still read.
const FORMAT: u32 = 2;

/// What stays of a closed generation: its line of the table that `renma status` prints.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GenerationLine {
    /// The generation.
    pub generation: u32,
    /// Games of self-play.
    pub games: Option<u64>,
    /// Positions of self-play.
    pub positions: Option<u64>,
    /// The mean absolute error before training, in discs.
    pub mae_before: Option<f64>,
    /// The mean absolute error after training, in discs.
    pub mae_after: Option<f64>,
    /// The version that challenged the champion.
    pub candidate: Option<String>,
    /// What the gate decided.
    pub verdict: Option<Verdict>,
    /// Points per game of the candidate.
    pub points: Option<f64>,
    /// The Elo difference, and both ends of its interval.
    pub elo: Option<[f64; 3]>,
}

/// The content of `collected.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// The lines of the closed generations, as far as they were kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub generations: Vec<GenerationLine>,
}

impl Default for CollectedFile {
    fn default() -> Self {
        Self { format: FORMAT, generation: 0, champion: None, version_last: 0, generations: Vec::new() }
    }
}

impl CollectedFile {
    /// Reads the file of a registry; one without it has lost nothing.
    ///
    /// # Errors
    ///
    /// A damaged file, or one of another format.
    pub fn read(registry: &Path) -> Result<Self, ArtifactError> {
        read_sealed_or_default(&registry.join("collected.json"), FORMAT, |file: &Self| {
            if file.format == 1 { FORMAT } else { file.format }
        })
    }

    /// Replaces the file of a registry, atomically.
    ///
    /// # Errors
    ///
    /// Whatever the system refuses.
    pub fn write(&self, registry: &Path) -> Result<(), ArtifactError> {
        write_sealed(&registry.join("collected.json"), &Self { format: FORMAT, ..self.clone() })
    }
}
