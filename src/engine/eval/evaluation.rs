//! A pattern set with its weights.

use super::features::features;
use super::incremental::Incremental;
use super::pattern_set::PatternSet;
use crate::engine::board::position::Position;
use crate::engine::score::Score;
use std::sync::Arc;

/// Weights for every feature of every phase, mirrors equal.
#[derive(Clone, Debug)]
#[must_use]
pub struct Evaluation {
    set: Arc<PatternSet>,
    weights: Vec<i16>, // [phase][feature]
    /// The same weights, laid out for the search.
    pub(in crate::engine) incremental: Arc<Incremental>,
}

/// Why weights do not fit a pattern set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvaluationError {
    /// There is not one weight per feature and phase.
    #[error("{found} weights for {expected} features")]
    Count {
        /// Phases times features.
        expected: usize,
        /// The number of weights.
        found: usize,
    },
    /// Two mirrors of one configuration have different weights.
    #[error("phase {phase}, feature {feature}: its mirror has another weight")]
    Mirror {
        /// Counted from 0.
        phase: usize,
        /// Counted from 0 within the phase.
        feature: usize,
    },
}

impl Evaluation {
    /// Joins weights `[phase][feature]`, in millidiscs, to their pattern set.
    ///
    /// # Errors
    ///
    /// A wrong count, or mirrors that differ.
    pub fn new(set: Arc<PatternSet>, weights: Vec<i16>) -> Result<Self, EvaluationError> {
        let expected = set.phase_count() * set.feature_count();
        if weights.len() != expected {
            return Err(EvaluationError::Count { expected, found: weights.len() });
        }
        for (phase, weights) in weights.chunks_exact(set.feature_count()).enumerate() {
            for (feature, (&weight, &canonical)) in weights.iter().zip(set.canonical()).enumerate() {
                if weight != weights[canonical as usize] {
                    return Err(EvaluationError::Mirror { phase, feature });
                }
            }
        }
        let incremental = Arc::new(Incremental::new(&set, &weights));
        Ok(Self { set, weights, incremental })
    }

    /// Every weight zero.
    pub fn zero(set: Arc<PatternSet>) -> Self {
        let weights = vec![0; set.phase_count() * set.feature_count()];
        let incremental = Arc::new(Incremental::new(&set, &weights));
        Self { set, weights, incremental }
    }

    #[expect(missing_docs, reason = "the type says it")]
    pub const fn set(&self) -> &Arc<PatternSet> {
        &self.set
    }

    /// The weights `[phase][feature]`, in millidiscs.
    pub fn weights(&self) -> &[i16] {
        &self.weights
    }

    /// The weights of the phase of a position with this many empty squares.
    #[inline]
    pub fn phase_weights(&self, empties: u8) -> &[i16] {
        let count = self.set.feature_count();
        &self.weights[self.set.phase(empties) * count..][..count]
    }

    /// The plain sum of the weights of a position's features, not clamped.
    pub fn static_value(&self, position: Position) -> Score {
        let weights = self.phase_weights(position.empties());
        Score(features(&self.set, position).map(|feature| i32::from(weights[feature])).sum())
    }
}
