//! What matches say, in numbers alone: counts of pairs, Elo, likelihood, the sequential test and the ladder. Nothing here
//! knows a file, a model or a game.

pub mod elo;
pub mod ladder;
mod likelihood;
pub mod pairs;
pub mod sprt;
