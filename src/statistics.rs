//! Statistics of matches: pair counts, Elo, likelihood, the sequential test and the ladder. Numbers only: nothing here
//! knows a file, a model or a game.

pub mod elo;
pub mod ladder;
mod likelihood;
pub mod pairs;
pub mod sprt;
