//! MPC statistics: full-width searches of sampled positions, fitted depth by depth, as a new model
//! version.

mod choice;
pub mod compare;
pub mod held_out;
mod line;
pub mod metrics;
pub mod parts;
pub mod proof;
pub mod recipe;
pub mod run;
pub mod sample;
mod source;
mod sums;
pub mod task;
mod work;
