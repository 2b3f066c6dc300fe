//! The rules of the house: the shape of the source, the words of the documents, what is shipped.
#![allow(
    clippy::disallowed_methods,
    reason = "a test looks at files as it likes"
)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod architecture;
mod documents;
mod prose;
mod sample;

#[path = "../support"]
mod support {
    pub(crate) mod workspace;
}
