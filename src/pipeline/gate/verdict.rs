//! The verdict of a match.

use super::contest::Outcome;
use super::recipe::GateIdentity;
use super::rule::Rule;
use super::score::score;
use super::task::GateTask;
use crate::artifact::dataset::manifest::content_of;
use crate::artifact::dataset::recipe::Recipe;
use crate::artifact::dataset::verdict::{VerdictFile, VerdictFormat};
use crate::artifact::error::ArtifactError;
use crate::artifact::seal::write_sealed;
use crate::statistics::elo::INTERVAL;

pub(super) fn verdict_of(task: &GateTask<'_>, identity: &GateIdentity, outcome: &Outcome) -> VerdictFile {
    let rule = Rule::new(task.config);
    VerdictFile {
        format: VerdictFormat::CURRENT,
        verdict: outcome.decision.unwrap_or_else(|| rule.last_word(outcome.pairs)),
        step: identity.step.id,
        games_content: content_of(&outcome.parts),
        candidate: task.candidate.as_reference(),
        baseline: task.baseline.as_reference(),
        pairs_asked: task.config.games / 2,
        pairs_done: outcome.pairs.iter().sum(),
        score: score(&outcome.rows, INTERVAL),
        test: rule.test(outcome.pairs),
        openings: outcome.openings,
        avoided: identity.avoided.clone(),
        config: identity.recipe.origin.config.clone(),
    }
}

/// Publishes the manifest and, last, the verdict.
pub(super) fn publish_verdict(
    task: &GateTask<'_>,
    recipe: &Recipe,
    outcome: &Outcome,
    verdict: &VerdictFile,
) -> Result<(), ArtifactError> {
    recipe.manifest(verdict.pairs_asked, outcome.parts.clone()).write(task.output)?;
    write_sealed(&task.output.join("verdict.json"), verdict)
}
