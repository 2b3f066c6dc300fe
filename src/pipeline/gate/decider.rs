//! The decider of a match: it looks at the score after each batch until the rule of the gate is
//! satisfied.

use super::score::pair_counts;
use super::task::{GateConfig, GateMode, RISK};
use crate::artifact::{GateGameRow, Verdict};
use crate::statistics::elo::{INTERVAL, interval_of};
use crate::statistics::pairs::PairCounts;
use crate::statistics::sprt::{Hypotheses, SequentialTest};
use serde::Serialize;

/// A look of a sequential test at the score.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Look {
    /// Pairs played until then.
    pub pairs: u64,
    /// The log-likelihood ratio of the test.
    pub llr: f64,
}

/// The batches of a match so far, in order, and what they decide.
#[derive(Clone, Debug, Default)]
pub struct Decider {
    /// The match ends as soon as it is decided; without a test after all games, by where the Elo
    /// interval lies.
    test: Option<Hypotheses>,
    pairs: PairCounts,
    decision: Option<Verdict>,
    /// The looks so far, if the match is a sequential test.
    pub looks: Vec<Look>,
}

impl Decider {
    /// That of a gate before its first batch.
    pub fn new(config: &GateConfig) -> Self {
        let test = match config.mode {
            GateMode::Sprt { nelo0, nelo1 } => Some(Hypotheses {
                nelo0,
                nelo1,
                alpha: RISK,
                beta: RISK,
            }),
            GateMode::Games {} => None,
        };
        Self {
            test,
            ..Self::default()
        }
    }

    /// That of a test that a verdict records.
    pub fn of_test(
        &SequentialTest {
            nelo0,
            nelo1,
            alpha,
            beta,
            ..
        }: &SequentialTest,
    ) -> Self {
        Self {
            test: Some(Hypotheses {
                nelo0,
                nelo1,
                alpha,
                beta,
            }),
            ..Self::default()
        }
    }

    pub(super) const fn is_sequential(&self) -> bool {
        self.test.is_some()
    }

    /// Whether no further batch is needed.
    pub const fn is_decided(&self) -> bool {
        self.decision.is_some()
    }

    /// Looks at the score after another batch.
    pub fn look(&mut self, batch: &[GateGameRow]) {
        self.look_at(pair_counts(batch));
    }

    /// [`Decider::look`], at the pairs of a batch.
    pub(super) fn look_at(&mut self, batch: PairCounts) {
        self.pairs = std::array::from_fn(|class| self.pairs[class] + batch[class]);
        if let Some(test) = &self.test {
            self.looks.push(Look {
                pairs: self.pairs.iter().sum(),
                llr: test.llr(self.pairs),
            });
            self.decision = self.decision.or_else(|| test.decide(self.pairs));
        }
    }

    /// The verdict on a match that is over.
    pub fn verdict(&self) -> Verdict {
        match interval_of(self.pairs, INTERVAL) {
            _ if self.is_sequential() => self.decision.unwrap_or(Verdict::Inconclusive),
            [_, low, _] if 0.0 < low => Verdict::Accepted,
            [_, _, high] if high < 0.0 => Verdict::Rejected,
            _ => Verdict::Inconclusive,
        }
    }

    /// The state of the test; none where there is no test.
    pub fn test(&self) -> Option<SequentialTest> {
        self.test.map(|test| test.state(self.pairs))
    }

    /// The state of the match, for the progress display.
    pub(super) fn note(&self) -> String {
        if let Some(test) = &self.test {
            let [low, high] = test.bounds();
            return format!(
                "LLR {:+.2} between {low:+.2} and {high:+.2}",
                test.llr(self.pairs)
            );
        }
        let [elo, low, high] = interval_of(self.pairs, INTERVAL);
        format!("Elo {elo:+.0} [{low:+.0}, {high:+.0}]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::fixtures::default_table;

    fn decider(mode: GateMode) -> Decider {
        Decider::new(
            &default_table::<GateConfig>()
                .with(|config| config.mode = mode)
                .unwrap(),
        )
    }

    #[test]
    fn without_a_test_the_interval_of_all_games_decides() {
        for (batches, expected) in [
            (&[[5, 5, 20, 30, 40]][..], Verdict::Accepted),
            (&[[40, 30, 20, 5, 5]], Verdict::Rejected),
            (&[[20, 20, 20, 20, 20]], Verdict::Inconclusive),
            // All drawn: a narrow interval about zero.
            (&[[0, 0, 100, 0, 0]], Verdict::Inconclusive),
            // The first batch alone would be accepted.
            (
                &[[5, 5, 20, 30, 40], [40, 30, 20, 5, 5], [9, 0, 0, 0, 0]],
                Verdict::Inconclusive,
            ),
        ] {
            let mut decider = decider(GateMode::Games {});
            for &batch in batches {
                decider.look_at(batch);
                assert!(!decider.is_decided());
            }
            assert_eq!(
                (decider.verdict(), decider.looks.len()),
                (expected, 0),
                "{batches:?}"
            );
        }
    }

    #[test]
    fn a_test_keeps_its_first_decision_and_the_interval_decides_nothing() {
        let mut decider = decider(GateMode::Sprt {
            nelo0: 0.0,
            nelo1: 40.0,
        });
        decider.look_at([0, 0, 2, 2, 4]);
        let [_, low, _] = interval_of(decider.pairs, INTERVAL);
        assert!(0.0 < low && !decider.is_decided() && decider.verdict() == Verdict::Inconclusive);
        decider.look_at([0, 0, 100, 100, 200]);
        assert!(decider.is_decided() && decider.verdict() == Verdict::Accepted);
        decider.look_at([2000, 100, 100, 0, 0]);
        assert_eq!(decider.verdict(), Verdict::Accepted);
        assert_eq!(
            decider
                .looks
                .iter()
                .map(|look| look.pairs)
                .collect::<Vec<_>>(),
            [8, 408, 2608]
        );
    }
}
