//! Errors of models on the yardstick, which are the same for all runs.

use crate::artifact::dataset::yardstick::{content, scored_positions};
use crate::artifact::seal::{read_sealed, write_sealed};
use crate::artifact::{ArtifactError, ContentHash, GenerationLine, VersionId, Versions};
use crate::engine::{Discs, Evaluation, Position, Score};
use rayon::prelude::{IntoParallelIterator, ParallelIterator};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Positions with greater scores are decided: who wins them is no question, and how high is a matter of a few moves.
const NEAR_EVEN: Discs = Discs(20);

/// Its near-even positions with their exact scores.
static POSITIONS: LazyLock<Vec<(Position, Score)>> = LazyLock::new(|| {
    let scored = scored_positions().iter().copied();
    scored.filter(|(_, score)| score.abs() <= NEAR_EVEN.into()).collect()
});

/// The *exact MAE* of a model: the mean absolute error in discs of its static value on the near-even positions (exact score
/// within ±20 discs) of the yardstick.
pub fn exact_mae(evaluation: &Evaluation) -> f64 {
    let errors = POSITIONS.iter().map(|&(position, exact)| {
        let Score(value) = evaluation.static_value(position);
        u64::from(value.abs_diff(exact.0))
    });
    // The sum is one of integers, so its order does not matter.
    Score::in_discs(errors.sum::<u64>() as f64 / POSITIONS.len() as f64)
}

/// The candidates' errors, each measured once, since a model of millions of weights takes a fifth of a second to read. They are kept
/// by the models' content in this hidden file of the registry, a cache that is safe to delete.
const NAME: &str = ".exact-errors.json";

/// In discs; a score is a number of millidiscs with 32 bits.
const ERROR_MAX: f64 = 4e6;

/// The errors on one yardstick, in discs.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExactErrors {
    yardstick: ContentHash,
    models: BTreeMap<ContentHash, f64>,
}

impl ExactErrors {
    /// Those that are kept; none if they are missing or damaged, or of another yardstick, and no impossible ones.
    fn read(versions: &Versions) -> Self {
        let yardstick = content();
        let kept: Option<Self> = read_sealed(&versions.registry().folder().join(NAME)).ok();
        let mut kept = kept.filter(|kept| kept.yardstick == yardstick);
        if let Some(kept) = &mut kept {
            kept.models.retain(|_, error| (0.0..ERROR_MAX).contains(error));
        }
        kept.unwrap_or(Self { yardstick, models: BTreeMap::new() })
    }

    /// A line with the error of its candidate, and the candidate's content. A candidate that is gone or damaged has none.
    fn measure(&self, line: GenerationLine, versions: &Versions) -> Result<Measured, ArtifactError> {
        let id = line.candidate.as_deref().and_then(|id| id.parse::<VersionId>().ok());
        let known = id.filter(|_| line.exact_mae.is_none()).and_then(|id| versions.with_id(id));
        let Some(known) = known else { return Ok((None, line)) };
        let content = known.content;
        let exact_mae = match self.models.get(&content) {
            Some(&kept) => Some(kept),
            None => if_sound(known.load())?.map(|loaded| exact_mae(&loaded.model.evaluation)),
        };
        Ok((Some(content), GenerationLine { exact_mae, ..line }))
    }
}

/// A line, and the content of its candidate.
type Measured = (Option<ContentHash>, GenerationLine);

/// `None` if it is gone or damaged, which `model verify` reports. After a system error it may be sound.
fn if_sound<T>(read: Result<T, ArtifactError>) -> Result<Option<T>, ArtifactError> {
    match read {
        Err(error @ ArtifactError::Io { .. }) => Err(error),
        other => Ok(other.ok()),
    }
}

/// The lines of generations with the errors of their candidates on the yardstick, where they have none yet.
///
/// # Errors
///
/// A system error.
pub fn measured(lines: Vec<GenerationLine>, versions: &Versions) -> Result<Vec<GenerationLine>, ArtifactError> {
    let kept = ExactErrors::read(versions);
    lines.into_par_iter().map(|line| Ok(kept.measure(line, versions)?.1)).collect()
}

/// The same, and keeps what was measured for the next time.
pub fn measured_once(lines: Vec<GenerationLine>, versions: &Versions) -> Result<Vec<GenerationLine>, ArtifactError> {
    let kept = ExactErrors::read(versions);
    let measured = lines.into_par_iter().map(|line| kept.measure(line, versions));
    let measured: Vec<Measured> = measured.collect::<Result<_, _>>()?;
    let models = measured.iter().filter_map(|(content, line)| content.zip(line.exact_mae)).collect();
    let found = ExactErrors { models, ..kept };
    if found.models != kept.models {
        write_sealed(&versions.registry().folder().join(NAME), &found)?;
    }
    Ok(measured.into_iter().map(|(_, line)| line).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::eval::builtin;

    #[test]
    fn the_error_of_the_disc_count_is_that_of_the_discs_on_the_board() {
        let errors = POSITIONS.iter().map(|(position, exact)| {
            let discs = |set: u64| f64::from(set.count_ones());
            (discs(position.player()) - discs(position.opponent()) - exact.discs()).abs()
        });
        let expected = errors.sum::<f64>() / POSITIONS.len() as f64;
        assert!((exact_mae(&builtin::disc_count()) - expected).abs() < 1e-9);
        assert!(POSITIONS.iter().all(|(_, exact)| exact.0.abs() <= 20_000));
    }
}
