//! Search: depth-limited with selective cuts, and exact in the endgame.
//!
//! A search depends on its position, limits, model and the prior content of its table alone. Scores are millidiscs from the side to move.

pub mod limits;
pub mod move_values;
pub mod mpc;
pub mod searcher;
pub mod selective;

mod candidates;
mod endgame;
mod midgame;
mod root;
mod run;
mod table;
