//! Tests that compute most of what they compare. Each stage a second time, straight and slow: what
//! it wrote is recomputed from the definitions in docs/. The twins share no code with renma, except
//! its selective search: nobody else knows the nodes that probes cost. And every parser with
//! changed inputs.
#![allow(
    clippy::disallowed_methods,
    reason = "a test looks at files as it likes"
)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod fit_mpc;
mod fuzz;
mod gate;
mod generate;
mod mpc_line;
mod promote;
mod rules;
mod tokens;
mod train;

#[path = "../support"]
mod support {
    pub(crate) mod plain;
    pub(crate) mod tables;
    pub(crate) mod workspace;
}
