//! Files of other programs, one file per format.

pub mod board_text;
mod columns;
pub mod edax_eval;
pub mod es_cube_eval;
pub mod game_text;
pub mod ggf;
pub mod models;
pub mod mpc_dat;
pub mod obf;
mod packed;
pub mod parquet;
mod pgn;
pub mod positions;
pub mod records;
pub mod text;
pub mod tokens;
pub mod transcripts;
pub mod wthor;
