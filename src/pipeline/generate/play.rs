//! One self-play game, a pure function of seed, generation, game id, config and model.

use super::openings::Openings;
use super::task::{EXPLORATION_EMPTIES, GenerateConfig, TABLE_BITS};
use crate::artifact::GameId;
use crate::artifact::{GameRow, Model, PositionRow};
use crate::engine::{
    Depth, Game, Limits, Ply, Position, SearchResult, Searcher, Square, Squares, Stopped,
};
use crate::generation::Generation;
use crate::pipeline::keys::Checked;
use crate::pipeline::selective::selective;
use crate::random::{RandomStream, Stream, stream};
use std::sync::atomic::AtomicBool;

/// A game with its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelfplayGame {
    pub game: GameRow,
    pub positions: Vec<PositionRow>,
    /// Positions that the searches visited; unknown of a game that was read.
    pub nodes: u64,
}

impl SelfplayGame {
    /// The games of a part as its rows have them.
    pub fn of_rows(games: Vec<GameRow>, positions: &[PositionRow]) -> Vec<Self> {
        let mut rest = positions;
        let with_positions = |game: GameRow| {
            let (positions, others) = rest.split_at(usize::from(game.positions).min(rest.len()));
            rest = others;
            Self {
                game,
                positions: positions.to_vec(),
                nodes: 0,
            }
        };
        games.into_iter().map(with_positions).collect()
    }
}

/// Plays games, one after another, with one search table.
pub struct SelfplayPlayer<'a> {
    config: &'a Checked<GenerateConfig>,
    openings: &'a Openings<'a>,
    seed: u64,
    generation: Generation,
    model: &'a Model,
    searcher: Searcher<'a>,
    /// Nodes of the current game.
    nodes: u64,
}

impl<'a> SelfplayPlayer<'a> {
    pub fn new(
        config: &'a Checked<GenerateConfig>,
        openings: &'a Openings<'a>,
        seed: u64,
        generation: Generation,
        model: &'a Model,
        stop: &'a AtomicBool,
    ) -> Self {
        let searcher = Searcher::new(&model.evaluation, &model.mpc, TABLE_BITS).stopped_by(stop);
        Self {
            config,
            openings,
            seed,
            generation,
            model,
            searcher,
            nodes: 0,
        }
    }

    /// Plays a game.
    ///
    /// # Errors
    ///
    /// One of its searches was stopped.
    pub fn play(&mut self, game_id: GameId) -> Result<SelfplayGame, Stopped> {
        let mut rng = stream(self.seed, Stream::Game(self.generation.0, game_id.0));
        let mut game = Game::default();
        // Those that end the opening.
        let random_plies = between(
            self.config.random_plies_min,
            self.config.random_plies_max,
            &mut rng,
        );
        let opening = self.openings.of(game_id, random_plies);
        let opening_plies = opening.ply().0 + random_plies;
        let mut positions = Vec::new();
        self.searcher.clear();
        self.nodes = 0;
        while !game.is_over() {
            let current = game.to_move();
            let labeled = Ply(self.config.label_from_ply) <= game.ply();
            let label = labeled
                .then(|| self.search(current.position, self.config.label_depth))
                .transpose()?;
            let (square, random) = if let Some(square) = opening.moves().nth(game.moves().count()) {
                (square, true)
            } else if game.ply() < Ply(opening_plies) {
                (any_move(current.position, &mut rng), true)
            } else {
                self.choose(current.position, label.as_ref(), &mut rng)?
            };
            if let Some(label) = label {
                positions.push(PositionRow {
                    game_id,
                    score: Some(label.score),
                    static_score: Some(self.model.evaluation.static_value(current.position)),
                    depth: Some(label.depth.0),
                    exact: Some(label.exact),
                    best_move: label.best_move.map(Square::number),
                    played_move: Some(square.number()),
                    random_move: Some(random),
                    ..PositionRow::unlabeled(current, game.ply())
                });
            }
            game.play(square)
                .expect("the search and the stream choose legal moves");
        }
        let black_discs = game.black_discs().0 as i8;
        for row in &mut positions {
            row.result = Some(if row.black_to_move {
                black_discs
            } else {
                -black_discs
            });
        }
        let game = GameRow {
            game_id,
            moves: game.transcript(),
            random_plies: Some(opening_plies.min(game.ply().0)),
            result: Some(black_discs),
            positions: positions.len() as u8,
        };
        Ok(SelfplayGame {
            game,
            positions,
            nodes: self.nodes,
        })
    }

    /// A move, and whether it is a random one.
    fn choose(
        &mut self,
        position: Position,
        label: Option<&SearchResult>,
        rng: &mut RandomStream,
    ) -> Result<(Square, bool), Stopped> {
        let exploring = EXPLORATION_EMPTIES < position.empties();
        if exploring && rng.chance(self.config.exploration) {
            return Ok((any_move(position, rng), true));
        }
        let best_move = match label {
            Some(label) if label.exact || self.config.play_depth == self.config.label_depth => {
                label.best_move
            }
            _ => self.search(position, self.config.play_depth)?.best_move,
        };
        Ok((best_move.expect("the side to move has a move"), false))
    }

    fn search(&mut self, position: Position, depth: u8) -> Result<SearchResult, Stopped> {
        let result = self
            .searcher
            .search(position, limits(self.config, depth))
            .unless_stopped()?;
        self.nodes += result.nodes;
        Ok(result)
    }
}

/// The limits of a search of this depth.
pub fn limits(config: &GenerateConfig, depth: u8) -> Limits {
    let (mpc, selective) = (config.mpc_level, selective(config.selective.as_ref()));
    // At depth 0 there is no move to find, so the shortest search looks one ply ahead.
    let depth = Depth(depth.max(1));
    Limits {
        exact_empties: config.exact_empties,
        mpc,
        selective,
        ..Limits::full_width(depth)
    }
}

fn any_move(position: Position, rng: &mut RandomStream) -> Square {
    rng.pick(Squares(position.legal_moves()))
        .expect("the side to move has a move")
}

/// A number from `min` to `max`, each as likely; nothing is drawn where there is nothing to choose.
fn between(min: u8, max: u8, rng: &mut RandomStream) -> u8 {
    if min == max {
        min
    } else {
        min + rng.below(u32::from(max - min) + 1) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_random_plies_is_as_likely() {
        let mut rng = stream(1, Stream::Game(1, 1));
        let mut counts = [0_u32; 61];
        (0..7000).for_each(|_| counts[usize::from(between(8, 14, &mut rng))] += 1);
        // Five standard errors of a share of one in seven.
        assert!(
            counts[8..=14]
                .iter()
                .all(|count| count.abs_diff(1000) < 147),
            "{counts:?}"
        );
        assert_eq!(counts[8..=14].iter().sum::<u32>(), 7000, "{counts:?}");
        let mut other = rng.clone();
        assert_eq!(between(9, 9, &mut rng), 9);
        assert_eq!(rng.below(1 << 30), other.below(1 << 30));
    }
}
