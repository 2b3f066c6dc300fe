//! The ladder of a run: Elo of all versions and built-ins that met in matches whose verdicts lie
//! among its datasets.

use super::folders::{RunGate, other_verdicts};
use crate::artifact::{
    ArtifactError, Builtin, ContentHash, ModelName, ModelReference, VerdictFile, Versions,
};
use crate::statistics::ladder::{Match, Rating, ladder};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A player of the ladder.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Standing {
    /// Its version id or built-in name.
    pub id: ModelName,
    /// The hash of its content.
    pub content: ContentHash,
    /// Its rating.
    #[serde(flatten)]
    pub rating: Rating,
}

impl Standing {
    /// The rating with its 95 % interval.
    pub fn text(&self) -> String {
        let Rating {
            elo,
            elo_low,
            elo_high,
        } = self.rating;
        format!("{elo:+.0} [{elo_low:+.0}, {elo_high:+.0}]")
    }
}

/// The ladder of a run, best first: of all its finished gates, and of every other match of two of
/// its models whose verdict lies among its datasets. Square weights have 0 Elo; without them, the
/// first gate's baseline.
///
/// # Errors
///
/// A damaged match.
pub fn standings(
    gates: &[RunGate],
    datasets: &Path,
    versions: &Versions,
) -> Result<Vec<Standing>, ArtifactError> {
    let players_of = |verdict: &VerdictFile| [verdict.baseline.clone(), verdict.candidate.clone()];
    let mut played: Vec<VerdictFile> = gates.iter().map(|gate| gate.verdict.clone()).collect();
    let known: BTreeSet<ContentHash> = played
        .iter()
        .flat_map(players_of)
        .map(|player| player.content)
        .collect();
    let is_of_run = |player: ModelReference| {
        matches!(player.id, ModelName::Builtin(_))
            || known.contains(&player.content)
            || versions.with_content(player.content).is_some()
    };
    let others = other_verdicts(datasets)?.into_iter();
    played.extend(others.filter(|verdict| players_of(verdict).into_iter().all(is_of_run)));
    let Some(first) = played.first() else {
        return Ok(Vec::new());
    };
    let players = || {
        played
            .iter()
            .flat_map(|verdict| [&verdict.baseline, &verdict.candidate])
    };
    let anchor = players().find(|player| player.id == ModelName::Builtin(Builtin::SquareWeights));
    let anchor = anchor.unwrap_or(&first.baseline).content;
    let matches: Vec<Match<ContentHash>> = played
        .iter()
        .map(|verdict| Match {
            first: verdict.candidate.content,
            second: verdict.baseline.content,
            pairs: verdict.score.pairs,
        })
        .collect();
    // Of several names the first stays.
    let names: BTreeMap<ContentHash, ModelName> = players()
        .rev()
        .map(|player| (player.content, player.id))
        .collect();
    let rated = ladder(&matches, anchor).into_iter();
    let mut standings: Vec<Standing> = rated
        .map(|(content, rating)| Standing {
            id: names[&content],
            content,
            rating,
        })
        .collect();
    standings.sort_by(|left, right| right.rating.elo.total_cmp(&left.rating.elo));
    Ok(standings)
}
