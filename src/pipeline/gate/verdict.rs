//! The verdict of a match.

use super::batches::Batches;
use super::contest::Outcome;
use super::decider::Decider;
use super::score::score;
use crate::artifact::dataset::manifest::{Part, content_of};
use crate::artifact::dataset::verdict::{VerdictFile, VerdictFormat};
use crate::artifact::error::ArtifactError;
use crate::artifact::seal::write_sealed;
use crate::pipeline::parts::Parts;
use crate::statistics::elo::INTERVAL;

/// The verdict that an outcome leads to, in a dataset of these parts.
pub(super) fn verdict_of(parts: &Parts<'_, Batches<'_>>, outcome: &Outcome, entries: &[Part]) -> VerdictFile {
    let Batches { task, step, contents, .. } = &parts.kind;
    let mut decider = Decider::new(task.config);
    decider.look(&outcome.rows);
    VerdictFile {
        format: VerdictFormat::CURRENT,
        verdict: decider.verdict(),
        step: step.id,
        games_content: content_of(entries),
        candidate: task.candidate.as_reference(),
        baseline: task.baseline.as_reference(),
        pairs_asked: parts.items,
        pairs_done: outcome.rows.len() as u64 / 2,
        score: score(&outcome.rows, INTERVAL),
        test: decider.test(),
        openings: outcome.openings,
        avoided: contents.clone(),
        config: parts.recipe.origin.config.clone(),
    }
}

/// Publishes the manifest and, last, the verdict.
pub(super) fn publish_verdict(
    parts: &Parts<'_, Batches<'_>>,
    entries: Vec<Part>,
    verdict: &VerdictFile,
) -> Result<(), ArtifactError> {
    parts.finish(entries)?;
    write_sealed(&parts.folder.join("verdict.json"), verdict)
}
