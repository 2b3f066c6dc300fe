//! The verdict of a gate: the players, the score and what follows from it.

use super::manifest::{DatasetKind, Manifest};
use crate::artifact::error::ArtifactError;
use crate::artifact::format::FormatVersion;
use crate::artifact::hash::ContentHash;
use crate::artifact::model::document::ModelReference;
use crate::artifact::seal::read_versioned;
use crate::statistics::elo::interval_of;
use crate::statistics::pairs::{PairCounts, PairMoments};
use crate::statistics::sprt::{SequentialTest, Verdict, nelo};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;

/// The format version of `verdict.json`.
pub type VerdictFormat = FormatVersion<1>;

/// The content of `verdict.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerdictFile {
    /// The version of these fields.
    pub format: VerdictFormat,
    /// What the gate decided.
    pub verdict: Verdict,
    /// The step id of the gate.
    pub step: ContentHash,
    /// The content of the games beside it, as their manifest has it.
    pub games_content: ContentHash,
    /// The model that would be champion.
    pub candidate: ModelReference,
    /// The model that it played.
    pub baseline: ModelReference,
    /// Pairs of games that the gate would have played at most.
    pub pairs_asked: u64,
    /// Pairs of games that it played.
    pub pairs_done: u64,
    /// The match, from the candidate's side.
    pub score: MatchScore,
    /// The sequential test; `None` in mode `games`.
    pub test: Option<SequentialTest>,
    /// How its openings were found.
    pub openings: OpeningCounts,
    /// The contents of the datasets whose positions were no openings, ascending.
    pub avoided: Vec<ContentHash>,
    /// The gate's config table.
    pub config: Value,
}

/// A match from the candidate's side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MatchScore {
    /// Games won.
    pub wins: u64,
    /// Games drawn.
    pub draws: u64,
    /// Games lost.
    pub losses: u64,
    /// Pairs by points, from none to two in halves: LL, LD, DD or WL, WD, WW.
    pub pairs: PairCounts,
    /// Points per game; a draw is half a point.
    pub points: f64,
    /// The mean disc difference of a game, in discs.
    pub discs_mean: f64,
    /// The Elo difference that `points` stands for.
    pub elo: f64,
    /// The low end of its interval.
    pub elo_low: f64,
    /// The high end of its interval.
    pub elo_high: f64,
    /// Standard errors that the interval reaches each way.
    pub interval: f64,
    /// The normalized Elo difference that `pairs` show.
    pub nelo: f64,
}

impl MatchScore {
    /// What follows from the counts of a match, its games won, drawn and lost; the interval reaches
    /// `interval` standard errors of the pair mean each way.
    pub fn new(games: [u64; 3], pairs: PairCounts, discs_mean: f64, interval: f64) -> Self {
        let [wins, draws, losses] = games;
        let [elo, elo_low, elo_high] = interval_of(pairs, interval);
        let points = PairMoments::new(pairs).points;
        Self {
            wins,
            draws,
            losses,
            pairs,
            points,
            discs_mean,
            elo,
            elo_low,
            elo_high,
            interval,
            nelo: nelo(pairs),
        }
    }

    /// Checks that the counts fit each other and this number of pairs, and that the rest follows
    /// from them.
    fn check(&self, pairs_done: u64) -> Result<(), String> {
        let sum = |counts: &[u64]| {
            counts
                .iter()
                .try_fold(0, |sum: u64, &count| sum.checked_add(count))
        };
        let games = [self.wins, self.draws, self.losses];
        if sum(&self.pairs) != Some(pairs_done) || sum(&games) != pairs_done.checked_mul(2) {
            return Err(format!(
                "its pairs {:?} and games {games:?} are not those of {pairs_done} pairs",
                self.pairs
            ));
        }
        let is_mean = (-64.0..=64.0).contains(&self.discs_mean);
        if !is_mean || Self::new(games, self.pairs, self.discs_mean, self.interval) != *self {
            return Err("its score is not the one that its pairs lead to".to_owned());
        }
        Ok(())
    }
}

/// How the openings of a match were found: `drawn` is the sum of the others and of the pairs
/// played.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpeningCounts {
    /// Openings drawn at random.
    pub drawn: u64,
    /// Openings that had been drawn before, up to symmetry.
    pub repeated: u64,
    /// Openings whose position is in an avoided dataset, up to symmetry.
    pub in_training: u64,
    /// Openings that end the game or favor one side too much.
    pub unbalanced: u64,
}

/// Reads the verdict of a gate's folder, which must belong to the games beside it.
///
/// # Errors
///
/// A missing or damaged verdict, or one of another format.
pub fn read_verdict(folder: &Path) -> Result<VerdictFile, ArtifactError> {
    let manifest = Manifest::read(folder, DatasetKind::Gate)?;
    let path = folder.join("verdict.json");
    let verdict: VerdictFile = read_versioned::<VerdictFormat, _>(&path)?;
    if manifest.content != verdict.games_content {
        return Err(ArtifactError::damaged(
            &path,
            "it is not the verdict on the games beside it",
        ));
    }
    let (
        Manifest { done, asked, .. },
        VerdictFile {
            pairs_done,
            pairs_asked,
            ..
        },
    ) = (&manifest, &verdict);
    if (pairs_done, pairs_asked) != (done, asked) {
        let reason = format!(
            "it counts {pairs_done} of {pairs_asked} pairs, the manifest {done} of {asked}"
        );
        return Err(ArtifactError::damaged(&path, reason));
    }
    verdict
        .score
        .check(manifest.done)
        .map_err(|reason| ArtifactError::damaged(&path, reason))?;
    Ok(verdict)
}
