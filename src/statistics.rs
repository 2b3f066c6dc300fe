//! Statistics of matches: pair counts, Elo, likelihood, the sequential test and the ladder; and
//! sums over points, for lines and errors. Numbers only: nothing here knows a file, a model or a
//! game.

pub mod elo;
pub mod ladder;
mod likelihood;
pub mod pairs;
pub mod point_sums;
pub mod sprt;
