//! A page to play and analyze with a model, and the report of a run, for browsers of this machine
//! alone. The page keeps no games: every request brings its own.

pub mod answer;
pub mod game;
pub mod guard;
pub mod pool;
pub mod server;
