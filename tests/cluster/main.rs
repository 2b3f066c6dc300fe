//! Clusters: shards, the driver and its workers, real and simulated.
#![allow(
    clippy::disallowed_methods,
    reason = "a test looks at files as it likes"
)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod dask;
mod driver;
mod shards;
mod simulation;

#[path = "../support"]
mod support {
    pub(crate) mod workspace;
}
