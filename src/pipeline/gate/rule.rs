//! The rule by which a gate's games become a verdict.

use super::task::{GateConfig, GateMode, RISK};
use crate::artifact::dataset::verdict::Verdict;
use crate::statistics::elo::{INTERVAL, interval_of};
use crate::statistics::sprt::{Decision, Hypotheses, SequentialTest};

/// When a gate ends, and how.
pub(super) enum Rule {
    /// As soon as the test is decided.
    Sequential(Hypotheses),
    /// After all games, by where the Elo interval of this many standard errors lies.
    Interval(f64),
}

impl Rule {
    pub(super) const fn new(config: &GateConfig) -> Self {
        match config.mode {
            GateMode::Sprt { nelo0, nelo1 } => Self::Sequential(Hypotheses { nelo0, nelo1, alpha: RISK, beta: RISK }),
            GateMode::Games {} => Self::Interval(INTERVAL),
        }
    }

    pub(super) const fn is_sequential(&self) -> bool {
        matches!(self, Self::Sequential(_))
    }

    /// What a look at these pairs decides.
    pub(super) fn decide(&self, pairs: [u64; 5]) -> Option<Verdict> {
        match self {
            Self::Sequential(test) => test.decide(pairs).map(|decision| match decision {
                Decision::Accepted => Verdict::Accepted,
                Decision::Rejected => Verdict::Rejected,
            }),
            Self::Interval(_) => None,
        }
    }

    /// The verdict on the pairs of a match that is over without a decision.
    pub(super) fn last_word(&self, pairs: [u64; 5]) -> Verdict {
        let Self::Interval(errors) = self else { return Verdict::Inconclusive };
        let [_, low, high] = interval_of(pairs, *errors);
        if 0.0 < low {
            Verdict::Accepted
        } else if high < 0.0 {
            Verdict::Rejected
        } else {
            Verdict::Inconclusive
        }
    }

    /// The state of the test; none where there is no test.
    pub(super) fn test(&self, pairs: [u64; 5]) -> Option<SequentialTest> {
        match self {
            Self::Sequential(test) => Some(test.state(pairs)),
            Self::Interval(_) => None,
        }
    }

    /// Where the match stands, for who watches.
    pub(super) fn note(&self, pairs: [u64; 5]) -> String {
        match self {
            Self::Sequential(test) => {
                let [low, high] = test.bounds();
                format!("LLR {:+.2} between {low:+.2} and {high:+.2}", test.llr(pairs))
            }
            Self::Interval(errors) => {
                let [elo, low, high] = interval_of(pairs, *errors);
                format!("Elo {elo:+.0} [{low:+.0}, {high:+.0}]")
            }
        }
    }
}
