//! The models that need no registry.

use super::version::Model;
use crate::engine::eval::builtin;
use crate::engine::eval::evaluation::Evaluation;

/// A model that is part of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Builtin {
    /// The disc difference.
    DiscCount,
    /// A weight a square.
    SquareWeights,
}

impl Builtin {
    /// All of them, weakest first.
    pub const ALL: [Self; 2] = [Self::DiscCount, Self::SquareWeights];

    /// Its name, `builtin:` included.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::DiscCount => "builtin:disc-count",
            Self::SquareWeights => "builtin:square-weights",
        }
    }

    /// The model; it has no MPC statistics and searches full width.
    #[must_use]
    pub fn model(self) -> Model {
        let evaluation: Evaluation = match self {
            Self::DiscCount => builtin::disc_count(),
            Self::SquareWeights => builtin::square_weights(),
        };
        let visits = vec![0; evaluation.weights().len()];
        Model::draft(evaluation, visits)
    }
}
