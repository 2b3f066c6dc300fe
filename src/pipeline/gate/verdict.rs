//! The verdict of a match.

use super::batches::Batches;
use super::contest::Outcome;
use super::decider::Decider;
use super::score::score;
use crate::artifact::dataset::manifest::content_of;
use crate::artifact::dataset::verdict::VerdictFormat;
use crate::artifact::{Part, VerdictFile};
use crate::pipeline::parts::Parts;

/// The verdict that an outcome leads to, in a dataset of these parts.
pub(super) fn verdict_of(parts: &Parts<'_, Batches<'_>>, outcome: &Outcome, entries: &[Part]) -> VerdictFile {
    let Batches { task, step, avoided } = &parts.kind;
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
        score: score(&outcome.rows),
        test: decider.test(),
        openings: outcome.openings,
        avoided: avoided.contents(),
        config: parts.recipe.origin.config.clone(),
    }
}
