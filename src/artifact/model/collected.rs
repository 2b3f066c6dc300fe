//! `collected.json`: up to which generation a run was cleared away, and who plays the next one.

use super::document::ParentEntry;
use super::name::VersionId;
use crate::artifact::dataset::verdict::Verdict;
use crate::artifact::error::ArtifactError;
use crate::artifact::format::{FormatVersion, Versioned};
use crate::artifact::seal::{read_versioned_or_default, write_sealed};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::path::Path;

/// Format 1 has no lines of generations.
type CollectedFormat = FormatVersion<1, 2>;

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
    format: CollectedFormat,
    /// Every generation up to this one is closed: no stage works on it again. There is always one after it.
    #[serde(deserialize_with = "read_generation")]
    pub generation: u32,
    /// Who plays the generation after it; none where that is the run's start.
    pub champion: Option<ParentEntry>,
    /// The highest version that there was, so that no number is given twice; in the file its number, or 0.
    #[serde(serialize_with = "write_number", deserialize_with = "read_number")]
    pub version_last: Option<VersionId>,
    /// The lines of the closed generations, as far as they were kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub generations: Vec<GenerationLine>,
}

impl Versioned for CollectedFile {
    type Format = CollectedFormat;
}

impl Default for CollectedFile {
    fn default() -> Self {
        Self {
            format: CollectedFormat::CURRENT,
            generation: 0,
            champion: None,
            version_last: None,
            generations: Vec::new(),
        }
    }
}

impl CollectedFile {
    /// Reads the file of a registry; one without it has lost nothing.
    ///
    /// # Errors
    ///
    /// A damaged file, or one of another format.
    pub fn read(registry: &Path) -> Result<Self, ArtifactError> {
        read_versioned_or_default(&registry.join("collected.json"))
    }

    /// Replaces the file of a registry, atomically.
    ///
    /// # Errors
    ///
    /// Whatever the system refuses.
    pub fn write(&self, registry: &Path) -> Result<(), ArtifactError> {
        write_sealed(&registry.join("collected.json"), &Self { format: CollectedFormat::CURRENT, ..self.clone() })
    }
}

fn read_generation<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let generation = u32::deserialize(deserializer)?;
    match generation.checked_add(1) {
        Some(_) => Ok(generation),
        None => Err(D::Error::custom(format!("generation {generation} has none after it"))),
    }
}

fn write_number<S: Serializer>(id: &Option<VersionId>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(id.map_or(0, VersionId::number))
}

fn read_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<VersionId>, D::Error> {
    match u64::deserialize(deserializer)? {
        0 => Ok(None),
        number => match VersionId::from_number(number) {
            Some(id) => Ok(Some(id)),
            None => Err(D::Error::custom(format!("{number} is not the number of a version"))),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn numbers_are_written_as_numbers_and_those_beyond_the_last_are_refused() {
        let file = |generation: Value, number: Value| json!({"format": 1, "generation": generation, "champion": null, "version_last": number});
        for (number, id) in [(0, None), (9, Some("v0009")), (999_999_999, Some("v999999999"))] {
            let value = file(3.into(), number.into());
            let read: CollectedFile = serde_json::from_value(value.clone()).unwrap();
            assert_eq!(read.version_last.map(|id| id.to_string()).as_deref(), id);
            assert_eq!(serde_json::to_value(&read).unwrap(), value);
        }
        for (generation, number) in [(u64::from(u32::MAX), 1), (1 << 32, 1), (1, 1_000_000_000), (1, u64::MAX)] {
            let value = file(generation.into(), number.into());
            assert!(serde_json::from_value::<CollectedFile>(value.clone()).is_err(), "{value}");
        }
    }
}
