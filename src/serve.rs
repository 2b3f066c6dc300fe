//! A page to play and analyze with a model, for browsers of this machine alone. It keeps no games: every request brings its own.

pub mod game;
pub mod guard;
pub mod pool;
pub mod server;

mod answer;
