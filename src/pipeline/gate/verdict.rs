//! The verdict of a match.

use super::contest::Outcome;
use super::recipe::Recipe;
use super::rule::Rule;
use super::score::score;
use super::task::GateTask;
use crate::artifact::dataset::manifest::{DatasetKind, FORMAT, Manifest, RULES, content_of};
use crate::artifact::dataset::verdict::{VerdictFile, VerdictFormat};
use crate::artifact::error::ArtifactError;
use crate::artifact::seal::write_sealed;

pub(super) fn verdict_of(task: &GateTask<'_>, recipe: &Recipe, outcome: &Outcome) -> VerdictFile {
    let rule = Rule::new(task.config);
    VerdictFile {
        format: VerdictFormat::CURRENT,
        verdict: outcome.decision.unwrap_or_else(|| rule.last_word(outcome.pairs)),
        step: recipe.step,
        games_content: content_of(&outcome.parts),
        candidate: task.candidate.as_reference(),
        baseline: task.baseline.as_reference(),
        pairs_asked: recipe.pairs,
        pairs_done: outcome.pairs.iter().sum(),
        score: score(&outcome.rows, task.config.interval),
        test: rule.test(outcome.pairs),
        openings: outcome.openings,
        avoided: recipe.avoided.clone(),
        config: recipe.config.clone(),
    }
}

/// Publishes the manifest and, last, the verdict.
pub(super) fn publish_verdict(
    task: &GateTask<'_>,
    recipe: &Recipe,
    outcome: &Outcome,
    verdict: &VerdictFile,
) -> Result<(), ArtifactError> {
    let models = [("candidate", task.candidate), ("baseline", task.baseline)];
    let manifest = Manifest {
        format: FORMAT,
        kind: DatasetKind::Gate,
        rules: RULES.to_owned(),
        recipe: recipe.hash,
        seed: task.seed,
        generation: task.generation,
        models: models.map(|(role, model)| (role.to_owned(), model.content)).into(),
        config: recipe.config.clone(),
        asked: verdict.pairs_asked,
        done: verdict.pairs_done,
        parents: Vec::new(),
        content: verdict.games_content,
        parts: outcome.parts.clone(),
    };
    manifest.write(task.output)?;
    write_sealed(&task.output.join("verdict.json"), verdict)
}
