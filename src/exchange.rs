//! Other programs' files, one file a format.

pub mod es_cube_eval;
pub mod mpc_dat;
pub mod obf;
