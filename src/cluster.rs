//! A stage cut into shards that any machines make in any order; the output is identical to that of
//! a single machine. Only the runners know which machines they are, and nothing but the numbers of
//! shards travels to them.

pub mod command;
pub mod dask;
pub mod divide;
pub mod drive;
pub mod elsewhere;
pub mod error;
mod outputs;
pub mod plan;
pub mod progress;
pub mod runs;
