//! The engine and those who play with it: positions with known values, games, protocols, the page.
#![allow(
    clippy::disallowed_methods,
    reason = "a test looks at files as it likes"
)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod clock;
mod evaluation;
mod ffo;
mod gtp;
mod nboard;
mod play;
mod serve;
mod signature;

#[path = "../support"]
mod support {
    pub(crate) mod edax;
    pub(crate) mod es_cube;
    pub(crate) mod workspace;
}
