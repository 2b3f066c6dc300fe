//! What the games of a match lead to, recomputed from them.

use super::rule::Rule;
use super::score::{pair_counts, score};
use super::task::GateConfig;
use crate::artifact::dataset::gate_games::GateGameRow;
use crate::artifact::dataset::verdict::{Score, Verdict};
use crate::statistics::elo::INTERVAL;
use crate::statistics::sprt::SequentialTest;

/// The verdict on a match, and what it rests on.
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
        score: score(&rows, INTERVAL),
        test: rule.test(pairs),
    }
}
