//! Positions and games outside a run: nothing here writes a dataset or a model.

pub mod analysis;
pub mod clock;
pub mod exact_scores;
pub mod gtp;
pub mod levels;
pub mod lines;
pub mod nboard;
pub mod picture;
pub mod random_positions;
pub mod session;
pub mod signals;
pub mod teamwork;
pub mod terminal;
