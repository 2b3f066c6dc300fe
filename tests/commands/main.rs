//! Commands: their help, arguments, output and ends.
#![allow(
    clippy::disallowed_methods,
    reason = "a test looks at files as it likes"
)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod arguments;
mod command_line;
mod installation;
mod interrupt;
mod nearest;
mod output;
mod terminal;

#[path = "../support"]
mod support {
    pub(crate) mod refusal;
    pub(crate) mod workspace;
}
