//! The stages one by one: what each writes, whoever makes it and however often it is stopped.
#![allow(
    clippy::disallowed_methods,
    reason = "a test looks at files as it likes"
)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod gate;
mod generate;
mod ids;
mod mpc;
mod selective;
mod train_parts;
mod yardstick;

#[path = "../support"]
mod support {
    pub(crate) mod workspace;
}
