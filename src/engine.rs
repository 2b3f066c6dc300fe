//! Plays Othello: rules, evaluation and search.
//!
//! Nothing here touches files, threads, the clock or randomness, so every result depends on its arguments alone.

pub mod score;

pub mod board;
pub mod eval;
pub mod search;

pub mod game;
