//! Training: weights fitted to the labels of datasets, as a new model version.

mod checkpoint;
mod delta;
pub mod metrics;
pub mod rows;
pub mod run;
pub mod task;
