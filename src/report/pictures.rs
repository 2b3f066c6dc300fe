//! The pictures of a report, by subject.

pub(super) mod errors;
pub(super) mod mpc;
pub(super) mod strength;
pub(super) mod training;
pub(super) mod work;
