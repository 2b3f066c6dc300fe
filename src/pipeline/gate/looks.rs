//! The looks that a gate took at its score: the path of its sequential test.

use super::score::pair_counts;
use crate::artifact::dataset::gate_games::GateGameRow;
use crate::statistics::pairs::PairCounts;
use crate::statistics::sprt::{Hypotheses, SequentialTest};
use serde::Serialize;

/// One look.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Look {
    /// Pairs played until then.
    pub pairs: u64,
    /// The log-likelihood ratio of the test.
    pub llr: f64,
}

/// The looks of a match, batch by batch.
#[derive(Clone, Debug)]
pub struct Looks {
    hypotheses: Hypotheses,
    counts: PairCounts,
    /// The looks so far.
    pub found: Vec<Look>,
}

impl Looks {
    /// Those of a test at its beginning.
    #[must_use]
    pub const fn new(&SequentialTest { nelo0, nelo1, alpha, beta, .. }: &SequentialTest) -> Self {
        Self { hypotheses: Hypotheses { nelo0, nelo1, alpha, beta }, counts: [0; 5], found: Vec::new() }
    }

    /// Looks at the score after another batch.
    pub fn add(&mut self, batch: &[GateGameRow]) {
        for (sum, count) in self.counts.iter_mut().zip(pair_counts(batch)) {
            *sum += count;
        }
        self.found.push(Look { pairs: self.counts.iter().sum(), llr: self.hypotheses.llr(self.counts) });
    }
}
