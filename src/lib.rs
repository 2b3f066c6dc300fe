//! renma makes Othello evaluation models by self-play: it generates games, trains, fits MPC statistics, gates and
//! promotes. docs/ARCHITECTURE.md is the map.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests look at files as they like"))]

pub mod artifact;
pub mod cli;
pub mod cluster;
pub mod config;
pub mod curate;
pub mod engine;
pub mod exchange;
pub mod exit_code;
pub mod learning_loop;
pub mod pipeline;
pub mod play;
pub mod random;
pub mod report;
pub mod run;
pub mod serve;
pub mod statistics;
pub mod watcher;
