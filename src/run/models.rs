//! What the records of a run say about its models: a list, one model with its relatives, a check.
//! They are only read.

pub mod list;
pub mod show;
pub mod verify;
