//! One self-play game, a pure function of seed, generation, game id, config and model.

use super::GenerateConfig;
use crate::artifact::dataset::games::GameRow;
use crate::artifact::dataset::positions::PositionRow;
use crate::artifact::model::version::Model;
use crate::engine::board::notation::ColoredPosition;
use crate::engine::board::position::Position;
use crate::engine::board::square::{Square, Squares};
use crate::engine::game::Game;
use crate::engine::search::limits::Limits;
use crate::engine::search::mpc::MpcLevel;
use crate::engine::search::searcher::{SearchResult, Searcher};
use crate::random::{RandomStream, Stream, stream};

/// A game with its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SelfplayGame {
    pub(super) game: GameRow,
    pub(super) positions: Vec<PositionRow>,
}

/// Plays games, one after another, with one search table.
pub(super) struct Player<'a> {
    config: &'a GenerateConfig,
    seed: u64,
    generation: u32,
    model: &'a Model,
    searcher: Searcher<'a>,
}

/// A move with why it is played.
struct Choice {
    square: Square,
    random: bool,
}

impl<'a> Player<'a> {
    pub(super) fn new(config: &'a GenerateConfig, seed: u64, generation: u32, model: &'a Model) -> Self {
        let searcher = Searcher::new(&model.evaluation, &model.mpc, config.table_bits);
        Self { config, seed, generation, model, searcher }
    }

    pub(super) fn play(&mut self, game_id: u64) -> SelfplayGame {
        let mut rng = stream(self.seed, Stream::Game(self.generation, game_id));
        let mut game = Game::new();
        let mut positions = Vec::with_capacity(60);
        self.searcher.clear();
        while !game.is_over() {
            let current = game.current();
            let labeled = self.config.label_from_ply <= game.ply();
            let label = labeled.then(|| self.search(current.position, self.config.label_depth));
            let choice = self.choose(&game, label.as_ref(), &mut rng);
            if let Some(label) = label {
                positions.push(self.row(game_id, game.ply(), current, &label, &choice));
            }
            game.play(choice.square).expect("the search and the stream choose legal moves");
        }
        let black_discs = game.black_discs() as i8;
        for row in &mut positions {
            row.result = if row.black_to_move { black_discs } else { -black_discs };
        }
        let game = GameRow {
            game_id,
            moves: game.transcript(),
            random_plies: self.config.random_plies.min(game.ply()),
            result: black_discs,
            positions: positions.len() as u8,
        };
        SelfplayGame { game, positions }
    }

    fn choose(&mut self, game: &Game, label: Option<&SearchResult>, rng: &mut RandomStream) -> Choice {
        let position = game.current().position;
        let opening = game.ply() < self.config.random_plies;
        let exploring = self.config.exploration_empties < position.empties();
        if opening || (exploring && rng.chance(self.config.exploration)) {
            let square = rng.pick(Squares(position.legal_moves())).expect("the side to move has a move");
            return Choice { square, random: true };
        }
        let best_move = match label {
            Some(label) if label.exact || self.config.play_depth == self.config.label_depth => label.best_move,
            _ => self.search(position, self.config.play_depth).best_move,
        };
        Choice { square: best_move.expect("the side to move has a move"), random: false }
    }

    fn search(&mut self, position: Position, depth: u8) -> SearchResult {
        let mpc = MpcLevel::from_percent(self.config.mpc_level).expect("the config was checked");
        // At depth 0 there is no move to find, so the shortest search looks one ply ahead.
        let depth = depth.max(1);
        let exact_empties = self.config.exact_empties;
        self.searcher.search(position, Limits { depth, exact_empties, wld_empties: 0, nodes: None, mpc })
    }

    fn row(
        &self,
        game_id: u64,
        ply: u8,
        current: ColoredPosition,
        label: &SearchResult,
        choice: &Choice,
    ) -> PositionRow {
        let (black, white) = current.boards();
        PositionRow {
            game_id,
            ply,
            empties: current.position.empties(),
            black,
            white,
            black_to_move: current.black_to_move,
            score: label.score,
            static_score: self.model.evaluation.static_value(current.position),
            depth: label.depth,
            exact: label.exact,
            best_move: label.best_move.expect("the side to move has a move").number(),
            played_move: choice.square.number(),
            random_move: choice.random,
            result: 0,
        }
    }
}
