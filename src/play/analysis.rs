//! Values of many positions at once, and of the moves of many games, one thread for each; but fewer
//! positions than threads are solved one after another, with all threads for each.

use super::session::GameSession;
use super::session::review::ReviewedMove;
use super::teamwork::search_together;
use crate::artifact::Model;
use crate::engine::{
    Depth, Game, Limits, MoveValue, Position, SearchResult, Searcher, Stopped, Team,
};
use crate::pipeline::{Context, StageError};
use rayon::prelude::{IntoParallelRefIterator, ParallelIterator};
use std::time::Instant;

/// A transposition table of 2^20 entries per thread: 16 MiB.
const TABLE_BITS: u8 = 20;

/// More threads would mostly repeat each other's work.
const TEAM_SIZE_MAX: usize = 64;

/// How positions are searched.
#[derive(Clone, Copy, Debug)]
pub enum Analysis {
    /// Within limits; depth 0 is the static value, or the result of a game
    /// that is over. `moves`: also the value of each legal move.
    Search {
        /// The limits.
        limits: Limits,
        /// Whether each legal move gets a value.
        moves: bool,
    },
    /// To the end of the game.
    Solve {
        /// Bytes of the transposition tables of all threads together; [`None`]: 16 MiB per thread.
        memory: Option<u64>,
    },
}

/// A position with its value.
#[derive(Debug)]
pub struct Analyzed {
    /// What the search found.
    pub result: SearchResult,
    /// The values of the legal moves, best first, if they were asked for.
    pub moves: Option<Vec<MoveValue>>,
    /// Wall time.
    pub seconds: f64,
}

/// The values of positions, in their order.
///
/// # Errors
///
/// [`StageError::Interrupted`], or threads that cannot be started.
pub fn analyze(
    analysis: Analysis,
    model: &Model,
    positions: &[Position],
    context: Context<'_>,
) -> Result<Vec<Analyzed>, StageError> {
    let mut table_bits = TABLE_BITS;
    if let Analysis::Solve { memory } = analysis {
        if positions.len() < context.threads {
            return solve_together(memory, model, positions, context);
        }
        table_bits = memory.map_or(table_bits, |memory| {
            bits_in(memory / context.threads as u64)
        });
    }
    let new_searcher =
        || Searcher::new(&model.evaluation, &model.mpc, table_bits).stopped_by(context.stop);
    let search = || {
        let values = positions
            .par_iter()
            .map_init(new_searcher, |searcher, &position| {
                context.check()?;
                let began = Instant::now();
                searcher.clear();
                let (result, moves) = value(analysis, model, searcher, position)?;
                context.progress.advance(1);
                Ok(Analyzed {
                    result,
                    moves,
                    seconds: began.elapsed().as_secs_f64(),
                })
            });
        context.pool()?.install(|| values.collect())
    };
    context.observe("search", positions.len() as u64, "positions", search)
}

/// The moves of games against the best ones, in their order.
///
/// # Errors
///
/// [`StageError::Interrupted`], or threads that cannot be started.
pub fn review(
    limits: Limits,
    model: &Model,
    games: &[Game],
    context: Context<'_>,
) -> Result<Vec<Vec<ReviewedMove>>, StageError> {
    let moves: u64 = games.iter().map(|game| game.plies().len() as u64).sum();
    let review = || {
        let reviews = games.par_iter().map(|game| {
            let mut session = GameSession::new(model, limits, context.stop);
            session.set_game(game.clone());
            let moves = session.review()?;
            context.progress.advance(game.plies().len() as u64);
            Ok(moves)
        });
        context.pool()?.install(|| reviews.collect())
    };
    context.observe("review", moves, "moves", review)
}

/// Solves one position after another, each with all threads, whose tables together have the room
/// that they have apart.
fn solve_together(
    memory: Option<u64>,
    model: &Model,
    positions: &[Position],
    context: Context<'_>,
) -> Result<Vec<Analyzed>, StageError> {
    let size = context.threads.min(TEAM_SIZE_MAX);
    let table_bits = memory.map_or(TABLE_BITS + size.ilog2() as u8, bits_in);
    let mut team =
        Team::new(&model.evaluation, &model.mpc, table_bits, size).stopped_by(context.stop);
    let search = |&position| {
        let began = Instant::now();
        team.clear();
        let result =
            search_together(&mut team, |member| member.solve(position)).unless_stopped()?;
        context.progress.advance(1);
        Ok(Analyzed {
            result,
            moves: None,
            seconds: began.elapsed().as_secs_f64(),
        })
    };
    let counts = positions.len() as u64;
    context.observe("search", counts, "positions", || {
        positions.iter().map(search).collect()
    })
}

/// The largest table of 16-byte entries that fits, as a power of two.
fn bits_in(memory: u64) -> u8 {
    (memory / 16).max(1).ilog2() as u8
}

fn value(
    analysis: Analysis,
    model: &Model,
    searcher: &mut Searcher<'_>,
    position: Position,
) -> Result<(SearchResult, Option<Vec<MoveValue>>), Stopped> {
    let Analysis::Search { limits, moves } = analysis else {
        return Ok((searcher.solve(position).unless_stopped()?, None));
    };
    let is_static = limits.depth == Depth(0) && limits.exact_empties < position.empties();
    let can_move = |position: Position| position.legal_moves() != 0;
    let mut result = if is_static && (can_move(position) || can_move(position.pass())) {
        // The sum of the weights as it is: only a search clamps.
        let value = if can_move(position) {
            model.evaluation.static_value(position)
        } else {
            -model.evaluation.static_value(position.pass())
        };
        SearchResult::finished(value, None, Depth(0), false, 1)
    } else {
        searcher.search(position, limits).unless_stopped()?
    };
    if !moves {
        return Ok((result, None));
    }
    let (moves, nodes) = searcher.move_values(position, limits)?;
    result.nodes += nodes;
    Ok((result, Some(moves)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::{Builtin, LoadedModel};
    use crate::engine::Score;
    use crate::engine::board::notation::parse_board;
    use std::sync::atomic::AtomicBool;

    /// The value at depth 0 of a board that begins with these discs, and whether it is exact.
    fn value_at_depth_0(discs: &str, side: &str) -> (Score, bool) {
        let never = AtomicBool::new(false);
        let context = Context {
            threads: 1,
            stop: &never,
            budget_spent: &never,
            progress: &(),
            host: &(),
        };
        let analysis = Analysis::Search {
            limits: Limits::full_width(Depth(0)),
            moves: true,
        };
        let model = LoadedModel::builtin(Builtin::SquareWeights).model;
        let board = parse_board(&format!("{discs:-<64} {side}")).unwrap();
        let found = analyze(analysis, &model, &[board.position], context).unwrap();
        let has_values = found[0]
            .moves
            .as_ref()
            .is_some_and(|moves| !moves.is_empty());
        assert_eq!(
            has_values,
            board.position.legal_moves() != 0,
            "{discs} {side}"
        );
        (found[0].result.score, found[0].result.exact)
    }

    #[test]
    fn without_a_move_depth_0_is_the_value_after_the_pass_or_the_result() {
        let (after_pass, is_exact) = value_at_depth_0("OX", "O");
        assert!(!is_exact && after_pass != Score(0));
        assert_eq!(value_at_depth_0("OX", "X"), (-after_pass, false));
        assert_eq!(value_at_depth_0("XX", "X"), (Score(64_000), true));
        assert_eq!(value_at_depth_0("XX", "O"), (Score(-64_000), true));
    }
}
