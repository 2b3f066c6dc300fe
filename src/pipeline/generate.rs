//! Self-play: games by the current model, their positions with deep-search scores, as a dataset.

pub mod openings;
pub(super) mod parts;
mod play;
pub mod proof;
pub mod recipe;
pub mod remake;
pub mod run;
pub mod task;
mod work;
