//! What the page asks about a game, and the answers. A request holds the whole game.

use crate::artifact::Model;
use crate::engine::{ColoredPosition, Game, Score, Square, Squares};
use crate::exchange::game_text::parse_game;
use crate::play::session::Session;
use crate::play::terminal::level::Level;
use serde::{Deserialize, Serialize};
use std::sync::atomic::AtomicBool;

/// A game, and how far to look ahead.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GameRequest {
    /// A position as OBF, a transcript or GGF; empty for the usual start.
    #[serde(default)]
    pub start: String,
    /// The moves after it, without passes.
    #[serde(default)]
    pub moves: String,
    /// As of `renma play`.
    #[serde(default)]
    pub level: Option<u8>,
}

/// A request that holds no game or no level.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidRequest(String);

/// A game that was checked.
#[derive(Clone, Debug)]
pub struct CheckedRequest {
    /// A forced pass is played.
    game: Game,
    level: Level,
}

/// A position of a game. Colors are `X`, which is black, and `O`.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct PositionAnswer {
    /// Empty for the usual start.
    pub start: String,
    pub moves: Vec<String>,
    /// 64 of `X`, `O` and `-`, from a1 to h8.
    pub board: String,
    pub to_move: &'static str,
    pub legal: Vec<String>,
    /// Whether the other side had to pass just now.
    pub passed: bool,
    pub over: bool,
    pub black: u32,
    pub white: u32,
}

/// The legal moves with their values, best first, in discs from the side to move.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct AnalysisAnswer {
    pub values: Vec<ValueAnswer>,
    /// Best play from here as far as it is known, without passes.
    pub line: Vec<String>,
    /// Zero if the time did not suffice for any search.
    pub depth: u8,
    /// Whether the values are the results of best play to the end.
    pub exact: bool,
}

#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct ValueAnswer {
    pub square: String,
    pub value: f64,
}

/// The moves of a game against the best ones.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct ReviewAnswer {
    pub moves: Vec<ReviewedAnswer>,
    /// Whether the time sufficed for all of them.
    pub complete: bool,
}

#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct ReviewedAnswer {
    /// The moves before it, passes left out.
    pub index: usize,
    pub square: String,
    pub best: String,
    /// Before the move, in discs for black.
    pub black_value: f64,
    /// What the move lost, in discs.
    pub loss: f64,
    pub exact: bool,
    pub turning_point: bool,
}

impl TryFrom<GameRequest> for CheckedRequest {
    type Error = InvalidRequest;

    fn try_from(request: GameRequest) -> Result<Self, InvalidRequest> {
        let invalid = |error: &dyn std::error::Error| InvalidRequest(error.to_string());
        let start = parse_game(&request.start).map_err(|error| invalid(&error))?;
        let mut game = start.unwrap_or_default();
        game.play_transcript(&request.moves).map_err(|error| invalid(&error))?;
        game.pass_if_forced();
        let level = request.level.unwrap_or(Self::LEVEL).to_string().parse().map_err(|error| invalid(&error))?;
        Ok(Self { game, level })
    }
}

impl CheckedRequest {
    /// Of a request that names none.
    const LEVEL: u8 = 6;

    /// The position after the last move.
    #[must_use]
    pub fn position(&self) -> PositionAnswer {
        let (game, latest) = (&self.game, self.game.latest());
        let start = game.start();
        let (black, white) = latest.boards();
        let is_usual = start == ColoredPosition::START;
        PositionAnswer {
            start: if is_usual { String::new() } else { format!("{} {};", start.board_text(), start.side_text()) },
            moves: names(game.moves()),
            board: latest.board_text(),
            to_move: latest.side_text(),
            legal: names(Squares(latest.position.legal_moves())),
            passed: game.plies().last() == Some(&None),
            over: game.is_over(),
            black: black.0.count_ones(),
            white: white.0.count_ones(),
        }
    }

    /// Looks ahead further and further, up to the level or until it is stopped.
    #[must_use]
    pub fn analyze(&self, model: &Model, stop: &AtomicBool) -> AnalysisAnswer {
        let empties = self.game.latest().position.empties();
        let mut session = self.session(model, stop);
        let mut answer = AnalysisAnswer { values: Vec::new(), line: Vec::new(), depth: 0, exact: false };
        for level in self.level.up_to() {
            let limits = level.limits();
            let Ok((values, _)) = session.move_values(limits) else { break };
            let result = session.search_within(limits);
            if result.stopped {
                break;
            }
            let value = |value: &crate::engine::search::move_values::MoveValue| ValueAnswer {
                square: value.square.to_string(),
                value: value.score.discs(),
            };
            let exact = empties <= limits.exact_empties;
            answer = AnalysisAnswer {
                values: values.iter().map(value).collect(),
                line: names(result.line),
                depth: if exact { empties } else { limits.depth.0 },
                exact,
            };
            if exact {
                break;
            }
        }
        answer
    }

    /// The engine's move, the first legal one if it was stopped at once. There is none if the game is over.
    #[must_use]
    pub fn reply(&self, model: &Model, stop: &AtomicBool) -> Self {
        let mut session = self.session(model, stop);
        let mut next = self.clone();
        if let Some(square) = session.search().best_move {
            next.game.play(square).expect("a search finds a legal move");
            next.game.pass_if_forced();
        }
        next
    }

    /// Compares every move with the best one, until it is stopped.
    #[must_use]
    pub fn review(&self, model: &Model, stop: &AtomicBool) -> ReviewAnswer {
        let mut session = self.session(model, stop);
        let mut moves = Vec::new();
        for ply in 0..self.game.plies().len() {
            let Ok(reviewed) = session.review_move(ply) else { return ReviewAnswer { moves, complete: false } };
            let Some(reviewed) = reviewed else { continue };
            let black = |score: Score| if reviewed.black { score } else { -score };
            moves.push(ReviewedAnswer {
                index: moves.len(),
                square: reviewed.square.to_string(),
                best: reviewed.best.to_string(),
                black_value: black(reviewed.best_score).discs(),
                loss: reviewed.loss().discs(),
                exact: reviewed.exact,
                turning_point: reviewed.is_turning_point(),
            });
        }
        ReviewAnswer { moves, complete: true }
    }

    fn session<'m>(&self, model: &'m Model, stop: &'m AtomicBool) -> Session<'m> {
        let mut session = Session::new(model, self.level.limits(), stop);
        session.set_game(self.game.clone());
        session
    }
}

fn names(squares: impl IntoIterator<Item = Square>) -> Vec<String> {
    squares.into_iter().map(|square| square.to_string()).collect()
}
