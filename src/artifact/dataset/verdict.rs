//! The verdict of a gate: who played whom, the score and what follows from it.

use super::manifest::{DatasetKind, Manifest};
use crate::artifact::error::ArtifactError;
use crate::artifact::hash::ContentHash;
use crate::artifact::model::document::ParentEntry;
use crate::artifact::seal::read_sealed;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What the gate decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The candidate is stronger.
    Accepted,
    /// The candidate is weaker.
    Rejected,
    /// The games do not tell.
    Inconclusive,
}

/// The content of `verdict.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerdictFile {
    /// The verdict.
    pub verdict: Verdict,
    /// The step id of the gate.
    pub step: ContentHash,
    /// Who wants to be champion.
    pub candidate: ParentEntry,
    /// Whom it played.
    pub baseline: ParentEntry,
    /// The match, from the candidate's side.
    pub score: Score,
    /// The gate's config table.
    pub config: serde_json::Value,
}

/// A match from the candidate's side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Score {
    /// Games won.
    pub wins: u64,
    /// Games drawn.
    pub draws: u64,
    /// Games lost.
    pub losses: u64,
    /// Pairs by points, from none to two in halves: LL, LD, DD or WL, WD, WW.
    pub pairs: [u64; 5],
    /// Points a game, a draw being half a point.
    pub points: f64,
    /// The mean disc difference of a game, in discs.
    pub discs_mean: f64,
    /// The Elo difference that `points` stands for.
    pub elo: f64,
    /// The low end of its interval.
    pub elo_low: f64,
    /// The high end of its interval.
    pub elo_high: f64,
}

/// Reads the verdict of a gate's folder, which must be that of the games beside it.
///
/// # Errors
///
/// A missing or damaged verdict.
pub fn read_verdict(folder: &Path) -> Result<VerdictFile, ArtifactError> {
    let manifest = Manifest::read(folder, DatasetKind::Gate)?;
    let path = folder.join("verdict.json");
    let verdict: VerdictFile = read_sealed(&path)?;
    if manifest.recipe != verdict.step {
        return Err(ArtifactError::damaged(&path, "it is not the verdict on the games beside it"));
    }
    Ok(verdict)
}
