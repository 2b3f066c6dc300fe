//! Training: weights fitted to the labels of datasets, as a new model version.

mod blocks;
pub mod checkpoint;
mod delta;
mod learner;
mod metrics;
mod order;
mod parts;
pub mod recipe;
pub mod repeated_games;
pub mod rows;
pub mod run;
pub mod shards;
mod slots;
mod targets;
pub mod task;
mod vectors;
mod work;
