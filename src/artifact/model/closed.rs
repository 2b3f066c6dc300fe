//! `closed.json`: up to which generation a run is closed, and which model plays the next one.
//!
//! A closed generation is finished, and what is no longer needed of it may be removed.

use super::document::ModelReference;
use super::name::VersionId;
use crate::artifact::error::ArtifactError;
use crate::artifact::format::FormatVersion;
use crate::artifact::seal::{read_versioned_or_default, write_sealed};
use crate::generation::Generation;
use crate::statistics::sprt::Verdict;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::path::{Path, PathBuf};

type ClosedFormat = FormatVersion<1>;

/// What stays of a closed generation: its line of the table that `renma status` prints.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GenerationLine {
    /// The generation.
    pub generation: Generation,
    /// Games of self-play.
    pub games: Option<u64>,
    /// Positions of self-play.
    pub positions: Option<u64>,
    /// The mean absolute error on held-out games before training, in discs; none if no games were
    /// held out.
    pub mae_before: Option<f64>,
    /// The same after training.
    pub mae_after: Option<f64>,
    /// The mean absolute error of the candidate on the yardstick, in discs, if it was measured.
    pub exact_mae: Option<f64>,
    /// The model that was champion.
    pub baseline: Option<String>,
    /// The version that challenged the champion.
    pub candidate: Option<String>,
    /// What the gate decided.
    pub verdict: Option<Verdict>,
    /// Points per game of the candidate.
    pub points: Option<f64>,
    /// The Elo difference, and both ends of its interval.
    pub elo: Option<[f64; 3]>,
}

/// The content of `closed.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClosedFile {
    format: ClosedFormat,
    /// The last closed generation: no stage works on it or on earlier ones again. It is never the
    /// largest number there is.
    #[serde(deserialize_with = "read_generation")]
    pub generation: Generation,
    /// The model that plays the next generation; none if that is the run's start.
    pub champion: Option<ModelReference>,
    /// The highest version there ever was, so that no number is used twice; in the file its number,
    /// or 0.
    #[serde(serialize_with = "write_number", deserialize_with = "read_number")]
    pub version_last: Option<VersionId>,
    /// The lines of the closed generations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub generations: Vec<GenerationLine>,
}

impl ClosedFile {
    /// The file of a registry, whether or not it exists.
    pub fn path(registry: &Path) -> PathBuf {
        registry.join("closed.json")
    }

    /// Reads the file of a registry; without one, no generation is closed.
    ///
    /// # Errors
    ///
    /// A damaged file, or one of another format.
    pub fn read(registry: &Path) -> Result<Self, ArtifactError> {
        read_versioned_or_default::<ClosedFormat, _>(&Self::path(registry))
    }

    /// Replaces the file of a registry, atomically.
    pub fn write(&self, registry: &Path) -> Result<(), ArtifactError> {
        write_sealed(&Self::path(registry), self)
    }
}

fn read_generation<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Generation, D::Error> {
    let generation = Generation::deserialize(deserializer)?;
    let is_last = || D::Error::custom(format!("generation {generation} has none after it"));
    if generation.0 == u32::MAX {
        return Err(is_last());
    }
    Ok(generation)
}

fn write_number<S: Serializer>(id: &Option<VersionId>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(id.map_or(0, VersionId::number))
}

fn read_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<VersionId>, D::Error> {
    let number = u64::deserialize(deserializer)?;
    let id = VersionId::from_number(number);
    if number != 0 && id.is_none() {
        return Err(D::Error::custom(format!(
            "{number} is not the number of a version"
        )));
    }
    Ok(id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn numbers_are_written_as_numbers_and_those_beyond_the_last_are_refused() {
        let file = |generation: Value, number: Value| json!({"format": ClosedFormat::CURRENT, "generation": generation, "champion": null, "version_last": number});
        for (number, id) in [
            (0, None),
            (9, Some("v0009")),
            (999_999_999, Some("v999999999")),
        ] {
            let value = file(3.into(), number.into());
            let read: ClosedFile = serde_json::from_value(value.clone()).unwrap();
            assert_eq!(read.version_last.map(|id| id.to_string()).as_deref(), id);
            assert_eq!(serde_json::to_value(&read).unwrap(), value);
        }
        for (generation, number) in [
            (u64::from(u32::MAX), 1),
            (1 << 32, 1),
            (1, 1_000_000_000),
            (1, u64::MAX),
        ] {
            let value = file(generation.into(), number.into());
            assert!(
                serde_json::from_value::<ClosedFile>(value.clone()).is_err(),
                "{value}"
            );
        }
    }
}
