//! The verdict of a match.

use super::contest::Outcome;
use super::recipe::Recipe;
use super::rule::Rule;
use super::score::{pair_counts, score};
use super::task::{GateConfig, GateTask};
use crate::artifact::dataset::gate_games::GateGameRow;
use crate::artifact::dataset::manifest::{DatasetKind, FORMAT, Manifest, RULES, content_of};
use crate::artifact::dataset::verdict::{Score, VERDICT_FORMAT, Verdict, VerdictFile};
use crate::artifact::error::ArtifactError;
use crate::artifact::seal::write_sealed;
use crate::statistics::sprt::SequentialTest;

/// What the games of a match lead to.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgment {
    /// Batches up to the last look.
    pub batches: usize,
    /// The verdict after it.
    pub verdict: Verdict,
    /// The match up to there.
    pub score: Score,
    /// The sequential test, if there is one.
    pub test: Option<SequentialTest>,
}

/// Looks at the batches of a match one after another until the rule of its gate is satisfied.
#[must_use]
pub fn judge(config: &GateConfig, batches: &[Vec<GateGameRow>]) -> Judgment {
    let rule = Rule::new(config);
    let (mut rows, mut count) = (Vec::new(), 0);
    let mut decision = None;
    while decision.is_none() && count < batches.len() {
        rows.extend_from_slice(&batches[count]);
        count += 1;
        decision = rule.decide(pair_counts(&rows));
    }
    let pairs = pair_counts(&rows);
    Judgment {
        batches: count,
        verdict: decision.unwrap_or_else(|| rule.last_word(pairs)),
        score: score(&rows, config.interval),
        test: rule.test(pairs),
    }
}

pub(super) fn verdict_of(task: &GateTask<'_>, recipe: &Recipe, outcome: &Outcome) -> VerdictFile {
    let rule = Rule::new(task.config);
    VerdictFile {
        format: VERDICT_FORMAT,
        verdict: outcome.decision.unwrap_or_else(|| rule.last_word(outcome.pairs)),
        step: recipe.step,
        games_content: content_of(&outcome.parts),
        candidate: task.candidate.as_parent(),
        baseline: task.baseline.as_parent(),
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
