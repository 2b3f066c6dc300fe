//! Gate games: random openings, each played once with each color, by the same search with two models.

use super::{GateConfig, GateTask};
use crate::artifact::dataset::gate_games::GateGameRow;
use crate::engine::board::square::{Square, Squares};
use crate::engine::game::Game;
use crate::engine::search::limits::Limits;
use crate::engine::search::mpc::MpcLevel;
use crate::engine::search::searcher::Searcher;
use crate::pipeline::{Context, StageError};
use crate::random::{Stream, stream};
use rayon::prelude::{IntoParallelIterator, ParallelIterator};
use std::collections::BTreeSet;

/// Openings tried for each one found; random openings repeat, and deep ones hardly ever do.
const TRIES_PER_OPENING: u64 = 1000;

/// All games of the match, in order.
pub(super) fn match_games(task: GateTask<'_>, context: Context<'_>) -> Result<Vec<GateGameRow>, StageError> {
    let openings = openings(task.config, task.seed, task.generation)?;
    let models = [task.candidate, task.baseline].map(|loaded| &loaded.model);
    let new_searchers = || models.map(|model| Searcher::new(&model.evaluation, &model.mpc, task.config.table_bits));
    let pool = context.pool()?;
    context.progress.begin("gate", task.config.games, "games");
    let games = pool.install(|| {
        (0..task.config.games)
            .into_par_iter()
            .map_init(new_searchers, |searchers, id| {
                context.check_border()?;
                let game = play(task.config, searchers, id, &openings[(id / 2) as usize]);
                context.progress.advance(1, 0);
                Ok(game)
            })
            .collect()
    });
    context.progress.end();
    games
}

/// Distinct openings up to symmetry, one a pair, by uniformly random legal moves.
fn openings(config: &GateConfig, seed: u64, generation: u32) -> Result<Vec<Vec<Square>>, StageError> {
    let pairs = config.games / 2;
    let mut seen = BTreeSet::new();
    let mut openings = Vec::new();
    for id in 0..pairs * TRIES_PER_OPENING {
        if openings.len() as u64 == pairs {
            break;
        }
        let mut rng = stream(seed, Stream::GateOpening(generation, id));
        let mut game = Game::new();
        while !game.is_over() && game.moves().len() < usize::from(config.opening_plies) {
            let square = rng.pick(Squares(game.current().position.legal_moves()));
            game.play(square.expect("the side to move has a move")).expect("the move is legal");
        }
        if !game.is_over() && seen.insert(game.current().position.canonical()) {
            openings.push(game.moves().to_vec());
        }
    }
    if openings.len() as u64 == pairs {
        return Ok(openings);
    }
    Err(StageError::Setting(format!(
        "gate.opening_plies = {}: there are not {pairs} different openings of that length\nraise it, or lower gate.games",
        config.opening_plies
    )))
}

fn play(config: &GateConfig, searchers: &mut [Searcher<'_>; 2], id: u64, opening: &[Square]) -> GateGameRow {
    let candidate_black = id.is_multiple_of(2);
    let mpc = MpcLevel::from_percent(config.mpc_level).expect("the config was checked");
    let limits = Limits { depth: config.depth, exact_empties: config.exact_empties, wld_empties: 0, nodes: None, mpc };
    let mut game = Game::from_moves(opening).expect("the opening was played by the rules");
    searchers.iter_mut().for_each(Searcher::clear);
    while !game.is_over() {
        let current = game.current();
        let side = usize::from(current.black_to_move != candidate_black);
        let square = searchers[side].search(current.position, limits).best_move;
        game.play(square.expect("the side to move has a move")).expect("the search plays by the rules");
    }
    let black = game.black_discs() as i8;
    GateGameRow {
        game_id: id,
        pair: id / 2,
        candidate_black,
        opening_plies: opening.len() as u8,
        moves: game.transcript(),
        result: if candidate_black { black } else { -black },
    }
}
