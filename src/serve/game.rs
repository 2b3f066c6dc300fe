//! What the page asks about a game, and the answers. A request holds the whole game.

use crate::artifact::Model;
use crate::engine::{ColoredPosition, Depth, Game, Limits, MoveValue, Square, Squares};
use crate::exchange::game_text::{game_text, parse_game};
use crate::play::levels::Level;
use crate::play::session::GameSession;
use crate::play::session::review::REVIEW_LIMITS;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::atomic::AtomicBool;

/// A game, and how far to look ahead.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GameRequest {
    /// A position as OBF, a transcript or GGF; empty for the usual start.
    #[serde(default)]
    start: String,
    /// The moves after it; passes may be left out.
    #[serde(default)]
    moves: String,
    /// As of `renma play`.
    #[serde(default)]
    level: Option<u8>,
}

/// A game that was checked.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "GameRequest")]
pub struct CheckedRequest {
    /// A forced pass is played.
    game: Game,
    level: Level,
}

impl TryFrom<GameRequest> for CheckedRequest {
    type Error = String;

    fn try_from(request: GameRequest) -> Result<Self, String> {
        let start = parse_game(&request.start).map_err(|error| error.to_string())?;
        let mut game = start.unwrap_or_default();
        game.play_transcript(&request.moves)
            .map_err(|error| error.to_string())?;
        game.pass_if_forced();
        let level = request
            .level
            .map_or(Ok(Level::DEFAULT), |level| level.to_string().parse())?;
        Ok(Self { game, level })
    }
}

impl CheckedRequest {
    /// The moves, and the positions before the first and after each of them. Colors are `X`, which
    /// is black, and `O`; the start is empty if it is the usual one.
    pub fn positions(&self) -> Value {
        let (game, start) = (&self.game, self.game.start());
        let is_usual = start == ColoredPosition::START;
        let is_pass = |ply: Option<usize>| ply.and_then(|ply| game.plies().get(ply)) == Some(&None);
        let position = |(ply, colored): (usize, &ColoredPosition)| {
            json!({
                // From a1 to h8.
                "board": colored.board_text(),
                "to_move": colored.side_text(),
                "legal": names(Squares(colored.position.legal_moves())),
                // Whether the other side had to pass just now.
                "passed": is_pass(ply.checked_sub(1)),
            })
        };
        let to_move = game
            .positions()
            .iter()
            .enumerate()
            .filter(|&(ply, _)| !is_pass(Some(ply)));
        json!({
            "start": if is_usual { String::new() } else { format!("{} {};", start.board_text(), start.side_text()) },
            "moves": names(game.moves()),
            // As a transcript, or as GGF if it has another start.
            "text": game_text(game),
            "positions": to_move.map(position).collect::<Value>(),
        })
    }

    /// The legal moves with their values, best first, in discs from the side to move, and best play
    /// as far as it is known, each move with its side and without passes. Looks ahead further and
    /// further, up to the level or until it is stopped: the depth is zero if the time did not
    /// suffice for any search.
    pub fn analyze(&self, model: &Model, stop: &AtomicBool) -> Value {
        let empties = self.game.latest().position.empties();
        let most = self.level.advice();
        let mut session = self.session(most, model, stop);
        let mut answer = json!({"values": [], "line": [], "depth": 0, "exact": false});
        for depth in 1..=most.depth.0 {
            let exact_empties = if depth < most.depth.0 {
                most.exact_empties.min(2 * depth)
            } else {
                most.exact_empties
            };
            let limits = Limits {
                depth: Depth(depth),
                exact_empties,
                ..most
            };
            let Ok((values, _)) = session.move_values(limits) else {
                break;
            };
            let result = session.search_within(limits);
            if result.stopped {
                break;
            }
            let value = |value: &MoveValue| json!({"square": value.square.to_string(), "value": value.score.discs()});
            let exact = empties <= limits.exact_empties;
            answer = json!({
                "values": values.iter().map(value).collect::<Value>(),
                "line": self.with_sides(&result.line),
                "depth": if exact { empties } else { limits.depth.0 },
                "exact": exact,
            });
            if exact {
                break;
            }
        }
        answer
    }

    /// The engine's move, the first legal one if it was stopped at once. There is none if the game
    /// is over.
    pub fn reply(&self, model: &Model, stop: &AtomicBool) -> Self {
        let mut session = self.session(self.level.limits(), model, stop);
        let mut next = self.clone();
        if let Some(square) = self.level.choose(&mut session).best_move {
            next.game.play(square).expect("a search finds a legal move");
            next.game.pass_if_forced();
        }
        next
    }

    /// Compares every move with the best one, as deep as every review and whatever the level, until
    /// it is stopped. Values are those before the move, in discs for black; the index counts the
    /// moves before it, passes left out.
    pub fn review(&self, model: &Model, stop: &AtomicBool) -> Value {
        let mut session = self.session(REVIEW_LIMITS, model, stop);
        let (mut moves, mut complete) = (Vec::new(), true);
        for ply in 0..self.game.plies().len() {
            let Ok(reviewed) = session.review_move(ply) else {
                complete = false;
                break;
            };
            let Some(reviewed) = reviewed else { continue };
            let black_value = if reviewed.black {
                reviewed.best_score
            } else {
                -reviewed.best_score
            };
            moves.push(json!({
                "index": moves.len(),
                "square": reviewed.square.to_string(),
                "best": reviewed.best.to_string(),
                "black_value": black_value.discs(),
                "loss": reviewed.loss().discs(),
                "exact": reviewed.exact,
                "turning_point": reviewed.is_turning_point(),
            }));
        }
        let Limits {
            depth,
            exact_empties,
            ..
        } = REVIEW_LIMITS;
        json!({"moves": moves, "complete": complete, "depth": depth.0, "exact_empties": exact_empties})
    }

    /// The moves of a line after the game, each with the side that plays it.
    fn with_sides(&self, line: &[Square]) -> Value {
        let mut game = self.game.clone();
        let step = |&square: &Square| {
            let side = game.to_move().side_text();
            game.play(square).expect("a search plays by the rules");
            json!({"square": square.to_string(), "side": side})
        };
        line.iter().map(step).collect()
    }

    fn session<'m>(
        &self,
        limits: Limits,
        model: &'m Model,
        stop: &'m AtomicBool,
    ) -> GameSession<'m> {
        let mut session = GameSession::new(model, limits, stop);
        session.set_game(self.game.clone());
        session
    }
}

fn names(squares: impl IntoIterator<Item = Square>) -> Vec<String> {
    squares
        .into_iter()
        .map(|square| square.to_string())
        .collect()
}
