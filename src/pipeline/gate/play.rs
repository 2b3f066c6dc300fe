//! Gate games: each opening is played once with each color, by the same search with two models.

use super::task::{BALANCE_DEPTH, BALANCE_DISCS, GateConfig, GateMode, TABLE_BITS};
use crate::artifact::GameId;
use crate::artifact::{GateGameRow, Model};
use crate::engine::{Depth, Game, Limits, Position, Searcher, Square, Stopped};
use crate::pipeline::selective::selective;
use std::sync::atomic::AtomicBool;

/// Both sides of a match, with what one thread needs to play them.
pub struct Players<'m> {
    mode: GateMode,
    candidate: (Searcher<'m>, Limits),
    baseline: (Searcher<'m>, Limits),
}

impl<'m> Players<'m> {
    pub fn new(
        config: &GateConfig,
        candidate: &'m Model,
        baseline: &'m Model,
        stop: &'m AtomicBool,
    ) -> Self {
        let player = |model: &'m Model, nodes| {
            let limits = Limits {
                exact_empties: config.exact_empties,
                nodes,
                mpc: config.mpc_level,
                selective: selective(config.selective.as_ref()),
                ..Limits::full_width(Depth(config.depth))
            };
            (
                Searcher::new(&model.evaluation, &model.mpc, TABLE_BITS).stopped_by(stop),
                limits,
            )
        };
        let [candidate_nodes, baseline_nodes] = config.node_limits();
        Self {
            mode: config.mode,
            candidate: player(candidate, candidate_nodes),
            baseline: player(baseline, baseline_nodes),
        }
    }

    /// Whether the mode takes a position as an opening: a sequential test needs one that favors
    /// neither side too much.
    pub fn balanced(&mut self, position: Position) -> Result<bool, Stopped> {
        if let GateMode::Games {} = self.mode {
            return Ok(true);
        }
        let (searcher, Limits { mpc, selective, .. }) = &mut self.baseline;
        let limits = Limits {
            mpc: *mpc,
            selective: *selective,
            ..Limits::full_width(Depth(BALANCE_DEPTH))
        };
        searcher.clear();
        let result = searcher.search(position, limits).unless_stopped()?;
        Ok(result.score.abs().discs() <= BALANCE_DISCS)
    }

    /// Plays a game from its opening to the end.
    ///
    /// # Errors
    ///
    /// One of its searches was stopped.
    pub fn play(&mut self, game_id: GameId, opening: &[Square]) -> Result<GateGameRow, Stopped> {
        let candidate_black = game_id.0.is_multiple_of(2);
        let mut game =
            Game::from_moves(opening.iter().copied()).expect("the opening was played by the rules");
        self.candidate.0.clear();
        self.baseline.0.clear();
        while !game.is_over() {
            let current = game.to_move();
            let (searcher, limits) = if current.black_to_move == candidate_black {
                &mut self.candidate
            } else {
                &mut self.baseline
            };
            let square = searcher
                .search(current.position, *limits)
                .unless_stopped()?
                .best_move;
            game.play(square.expect("the side to move has a move"))
                .expect("the search plays by the rules");
        }
        let black = game.black_discs().0 as i8;
        Ok(GateGameRow {
            game_id,
            pair: game_id.0 / 2,
            candidate_black,
            opening_plies: opening.len() as u8,
            moves: game.transcript(),
            result: if candidate_black { black } else { -black },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::Builtin;
    use crate::engine::{MpcLevel, Squares};
    use crate::pipeline::fixtures::default_table;
    use crate::pipeline::keys::Checked;
    use crate::pipeline::selective::SelectiveConfig;
    use crate::random::{Stream, stream};

    #[test]
    fn openings_are_judged_by_the_search_of_the_baseline() {
        let [candidate, baseline] = [Builtin::DiscCount, Builtin::Champion].map(Builtin::model);
        let lines = SelectiveConfig {
            threshold: None,
            rank: Some(2),
            extension: None,
        };
        let lines = Checked::new(lines).unwrap();
        for (mpc, table) in [
            (MpcLevel::Percent(50), None),
            (MpcLevel::FullWidth, Some(lines)),
        ] {
            let limits = Limits {
                mpc,
                selective: selective(table.as_ref()),
                ..Limits::full_width(Depth(BALANCE_DEPTH))
            };
            let changed = |config: &mut GateConfig| {
                (config.mpc_level, config.selective) = (mpc, table.clone());
            };
            let config = default_table::<GateConfig>().with(changed).unwrap();
            let never = AtomicBool::new(false);
            let mut players = Players::new(&config, &candidate, &baseline, &never);
            let mut searcher = Searcher::new(&baseline.evaluation, &baseline.mpc, TABLE_BITS);
            let mut is_balanced = |position, limits| {
                searcher.clear();
                searcher.search(position, limits).score.abs().discs() <= BALANCE_DISCS
            };
            let mut differing = 0;
            for number in 0..20 {
                let (mut rng, mut game) =
                    (stream(1, Stream::GateOpening(1, number)), Game::default());
                while !game.is_over() {
                    let position = game.to_move().position;
                    let expected = is_balanced(position, limits);
                    assert_eq!(
                        players.balanced(position).unwrap(),
                        expected,
                        "{position:?}"
                    );
                    differing += u32::from(
                        expected != is_balanced(position, Limits::full_width(limits.depth)),
                    );
                    game.play(rng.pick(Squares(position.legal_moves())).unwrap())
                        .unwrap();
                }
            }
            assert!(0 < differing, "{limits:?}");
        }
    }
}
