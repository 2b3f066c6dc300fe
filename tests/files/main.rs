//! Files: datasets, models and games of other programs, sound, damaged and lying.
#![allow(
    clippy::disallowed_methods,
    reason = "a test looks at files as it likes"
)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod archive;
mod cases;
mod curate;
mod datasets;
mod exchange;
mod faults;
mod golden;
mod lies;

#[path = "../support"]
mod support {
    pub(crate) mod context;
    pub(crate) mod refusal;
    pub(crate) mod workspace;
}
