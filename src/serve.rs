//! Pages to play and analyze with a model and to watch a run, for browsers of this machine alone. They keep no games: every request brings
//! its own.

pub mod answer;
pub mod game;
pub mod guard;
pub mod pool;
pub mod server;
