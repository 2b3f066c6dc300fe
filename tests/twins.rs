//! Each stage a second time, straight and slow: what it wrote is recomputed from the definitions in docs/. The twins share
//! no code with renma, except its selective search: nobody else knows the nodes that probes cost.
#![allow(clippy::disallowed_methods, reason = "a test looks at files as it likes")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "support/plain.rs"]
mod plain;
#[path = "support/tables.rs"]
mod tables;
#[path = "support/workspace.rs"]
mod workspace;

#[path = "twins/fit_mpc.rs"]
mod fit_mpc;
#[path = "twins/gate.rs"]
mod gate;
#[path = "twins/generate.rs"]
mod generate;
#[path = "twins/mpc_line.rs"]
mod mpc_line;
#[path = "twins/promote.rs"]
mod promote;
#[path = "twins/rules.rs"]
mod rules;
#[path = "twins/train.rs"]
mod train;
