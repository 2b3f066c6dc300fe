//! The board: squares, symmetries, positions, legal moves and notation.

pub mod kernel;
pub mod moves;
pub mod notation;
pub mod perft;
pub mod position;
pub mod square;
pub(in crate::engine) mod stability;
pub mod symmetry;
