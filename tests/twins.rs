//! Each stage a second time, straight and slow: what it wrote is recomputed from the definitions in docs/, without any
//! code of renma.

#[path = "support/plain.rs"]
mod plain;
#[path = "support/tables.rs"]
mod tables;
#[path = "support/workspace.rs"]
mod workspace;

#[path = "twins/gate.rs"]
mod gate;
#[path = "twins/generate.rs"]
mod generate;
#[path = "twins/train.rs"]
mod train;
