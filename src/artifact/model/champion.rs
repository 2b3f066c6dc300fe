//! `champion.json`: the best version of a registry, and the promotions before it.

use super::name::VersionId;
use crate::artifact::error::ArtifactError;
use crate::artifact::format::FormatVersion;
use crate::artifact::hash::ContentHash;
use crate::artifact::seal::{read_versioned_or_default, write_sealed};
use serde::{Deserialize, Serialize};
use std::path::Path;

type ChampionFormat = FormatVersion<1>;

/// A promotion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Promotion {
    /// The version that became champion.
    pub id: VersionId,
    /// The hash of its content.
    pub content: ContentHash,
    /// The step id of the gate that accepted it; none for a promotion by hand.
    pub gate: Option<ContentHash>,
}

/// The content of `champion.json`: promotions, the latest last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChampionFile {
    format: ChampionFormat,
    /// The promotions in effect.
    pub history: Vec<Promotion>,
    /// The step ids of the gates whose verdict has promoted a version or found it champion,
    /// including those rolled back.
    pub acted: Vec<ContentHash>,
}

impl ChampionFile {
    /// Reads the file of a registry; one without it has no champion.
    ///
    /// # Errors
    ///
    /// A damaged file, or one of another format.
    pub fn read(registry: &Path) -> Result<Self, ArtifactError> {
        read_versioned_or_default::<ChampionFormat, _>(&registry.join("champion.json"))
    }

    /// Replaces the file of a registry, atomically.
    pub fn write(&self, registry: &Path) -> Result<(), ArtifactError> {
        write_sealed(&registry.join("champion.json"), self)
    }

    /// The champion.
    pub fn champion(&self) -> Option<&Promotion> {
        self.history.last()
    }
}
