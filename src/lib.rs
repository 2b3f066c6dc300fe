//! renma makes Othello evaluation models by self-play: it generates games, trains, fits MPC statistics, gates and promotes.

pub mod engine;
