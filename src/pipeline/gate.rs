//! The gate: a paired match between a candidate and a baseline, and a verdict.

mod avoided;
pub mod batches;
mod contest;
pub mod decider;
mod openings;
mod play;
pub mod proof;
pub mod recipe;
pub mod remake;
pub mod run;
pub mod score;
pub mod task;
mod work;
