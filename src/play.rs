//! Positions and games outside a run: nothing here writes a dataset or a model.

pub mod analysis;
pub mod nboard;
pub mod random_positions;
