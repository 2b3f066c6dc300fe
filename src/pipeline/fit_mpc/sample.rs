//! Positions to measure: one from each of many games that the model plays against itself.

use super::FitMpcTask;
use crate::engine::board::position::Position;
use crate::engine::board::square::Squares;
use crate::engine::game::Game;
use crate::engine::search::limits::Limits;
use crate::engine::search::searcher::Searcher;
use crate::pipeline::{Context, StageError};
use crate::random::{Stream, stream};
use rayon::prelude::{IntoParallelIterator, ParallelIterator};

/// One position a sample, in order, on the threads of the current pool.
pub(super) fn positions(task: FitMpcTask<'_>, context: Context<'_>) -> Result<Vec<Position>, StageError> {
    let model = &task.model.model;
    let new_searcher = || Searcher::new(&model.evaluation, &model.mpc, task.config.table_bits);
    (0..task.config.samples)
        .into_par_iter()
        .map_init(new_searcher, |searcher, id| {
            context.check()?;
            context.progress.advance(1, 0);
            Ok(position(task, searcher, id))
        })
        .collect()
}

/// Plays until the number of empty squares drawn for this sample is reached; a game that ends before is played anew.
fn position(task: FitMpcTask<'_>, searcher: &mut Searcher<'_>, id: u64) -> Position {
    let config = task.config;
    let mut rng = stream(task.seed, Stream::MpcSample(task.generation, id));
    let range = u32::from(config.empties_max - config.empties_min) + 1;
    loop {
        let empties = config.empties_min + rng.below(range) as u8;
        let exploration = config.exploration * rng.unit();
        searcher.clear();
        let mut game = Game::new();
        while !game.is_over() {
            let position = game.current().position;
            if position.empties() == empties {
                return position;
            }
            let random = game.ply() < config.random_plies || rng.chance(exploration);
            let square = if random {
                rng.pick(Squares(position.legal_moves()))
            } else {
                searcher.search(position, Limits::full_width(config.play_depth)).best_move
            };
            game.play(square.expect("the side to move has a move")).expect("both choices are legal");
        }
    }
}
