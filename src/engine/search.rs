//! Search: depth-limited with selective cuts, and exact in the endgame.
//!
//! A search depends on its position, limits, model and the prior content of its table alone.

pub mod depth;
pub mod limits;
pub mod move_values;
pub mod mpc;
pub mod mpc_level;
pub mod result;
pub mod sampling;
pub mod searcher;
pub mod selective;
pub mod team;
pub mod window;

mod candidates;
mod division;
mod endgame;
mod membership;
mod midgame;
mod node;
mod root;
mod run;
mod table;
mod to_end;
