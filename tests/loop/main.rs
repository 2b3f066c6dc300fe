//! The loop of self-play and what it keeps: runs, nights, lineage, the registry, the report.
#![allow(
    clippy::disallowed_methods,
    reason = "a test looks at files as it likes"
)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod kept;
mod learning_loop;
mod leftovers;
mod lineage;
mod nightly;
mod pipeline;
mod registry;
mod report;
mod slow;

#[path = "../support"]
mod support {
    pub(crate) mod context;
    pub(crate) mod drawings;
    pub(crate) mod workspace;
}
