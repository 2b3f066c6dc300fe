//! The gate: a paired match between a candidate and a baseline, and a verdict.

mod avoided;
pub mod batches;
mod contest;
pub mod judgment;
pub mod looks;
mod openings;
mod play;
pub mod recipe;
mod remake;
mod rule;
pub mod run;
mod score;
pub mod task;
mod verdict;
