//! renma makes Othello evaluation models by self-play: it generates games, trains, fits MPC
//! statistics, gates and promotes. docs/ARCHITECTURE.md is the map.
//!
//! The program is made of this library, which others can use too. Three steps lead through it.
//!
//! **Play.** A [`Game`](engine::Game) is a list of moves by the rules. Each
//! [`Position`](engine::Position) in it is seen by the side to move, and moves are
//! [`Square`](engine::Square)s.
//!
//! **Search.** A [`Searcher`](engine::Searcher) finds the best move of a position within
//! [`Limits`](engine::Limits). It judges by an [`Evaluation`](engine::Evaluation), the weights of a
//! [`PatternSet`](engine::PatternSet), and gives a [`Score`](engine::Score). Models are trained,
//! numbered and kept in a [`Registry`](artifact::Registry); some are [part of the
//! program](artifact::Builtin).
//!
//! **Read.** A [`Dataset`](artifact::Dataset) has games and positions with their labels, in Parquet
//! files whose columns a [`Table`](artifact::Table) lists.
//!
//! ```
//! use renma::artifact::{Builtin, Dataset, LoadedModel, NEVER};
//! use renma::engine::{Depth, Game, Limits, Searcher};
//! use std::path::Path;
//!
//! let mut game = Game::from_transcript("f5d6c3")?;
//! let model = LoadedModel::builtin(Builtin::SquareWeights).model;
//! let mut searcher = Searcher::new(&model.evaluation, &model.mpc, 16);
//! while game.ply().0 < 10 {
//!     let found = searcher.search(game.to_move().position, Limits::full_width(Depth(4)));
//!     game.play(found.best_move.expect("the game is not over"))?;
//! }
//! assert_eq!(game.moves().count(), 10);
//!
//! let dataset = Dataset::open(Path::new("datasets/sample/selfplay/generation=0001"))?;
//! let positions = dataset.positions(0, &NEVER)?;
//! let solved = positions.iter().filter(|(_, row)| row.exact == Some(true)).count();
//! println!("{solved} of {} positions have exact scores", positions.len());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        reason = "tests look at files as they like"
    )
)]

pub mod artifact;
pub mod cli;
pub mod cluster;
pub mod config;
pub mod curate;
pub mod engine;
pub mod exchange;
pub mod exit_code;
pub mod generation;
pub mod learning_loop;
pub mod pipeline;
pub mod play;
pub mod random;
pub mod report;
pub mod run;
pub mod serve;
pub mod statistics;
pub mod watcher;
