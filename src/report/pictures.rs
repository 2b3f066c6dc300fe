//! The pictures of a report, by subject.

pub mod errors;
pub mod mpc;
pub mod strength;
pub mod training;
pub mod work;
