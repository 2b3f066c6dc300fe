//! Evaluation: pattern sets, the walk over the features of a position, and weights.

pub mod builtin;
pub mod evaluation;
pub mod features;
pub(in crate::engine) mod incremental;
pub mod number;
pub mod pairs;
pub mod pattern_set;
mod square_range;
pub mod tables;
