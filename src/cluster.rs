//! A stage cut into shards that any machines make in any order; the bytes are those of one machine.

pub mod plan;
pub mod progress;
pub mod stage;
