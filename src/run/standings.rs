//! The ladder of a run: Elo of all versions and built-ins that played in its gates and drift matches.

use super::folders::{DatasetFolder, matches};
use crate::artifact::{ArtifactError, Builtin, ContentHash, ModelName};
use crate::pipeline::stage::Stage;
use crate::statistics::ladder::{Match, Rating, ladder};
use serde::Serialize;
use std::collections::BTreeMap;
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
        let Rating { elo, elo_low, elo_high } = self.rating;
        format!("{elo:+.0} [{elo_low:+.0}, {elo_high:+.0}]")
    }
}

/// The ladder of all finished gates and drift matches, best first. Square weights have 0 Elo; without them, the first gate's baseline.
///
/// # Errors
///
/// A damaged gate.
pub fn standings(datasets: &Path) -> Result<Vec<Standing>, ArtifactError> {
    let mut gates = matches(datasets, Stage::Gate)?;
    gates.extend(matches(datasets, DatasetFolder::Drift)?);
    let Some(first) = gates.first() else { return Ok(Vec::new()) };
    let players = || gates.iter().flat_map(|gate| [&gate.verdict.baseline, &gate.verdict.candidate]);
    let anchor = players().find(|player| player.id == ModelName::Builtin(Builtin::SquareWeights));
    let anchor = anchor.unwrap_or(&first.verdict.baseline).content;
    let matches: Vec<Match<ContentHash>> = gates
        .iter()
        .map(|gate| Match {
            first: gate.verdict.candidate.content,
            second: gate.verdict.baseline.content,
            pairs: gate.verdict.score.pairs,
        })
        .collect();
    // Of several names the first stays.
    let names: BTreeMap<ContentHash, ModelName> = players().rev().map(|player| (player.content, player.id)).collect();
    let rated = ladder(&matches, anchor).into_iter();
    let mut standings: Vec<Standing> =
        rated.map(|(content, rating)| Standing { id: names[&content], content, rating }).collect();
    standings.sort_by(|left, right| right.rating.elo.total_cmp(&left.rating.elo));
    Ok(standings)
}
