//! Games as a line of text: an OBF position, a transcript `f5d6c3…` without passes, or GGF.

use super::history::{Forbidden, History};
use crate::engine::board::notation::{ColoredPosition, parse_moves, parse_obf};
use crate::exchange::ggf::{GgfGame, GgfMove, parse_ggf, write_ggf};
use crate::exchange::positions::is_transcript;

/// A text that is no game: what it lacks, or which move the rules forbid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct GameTextError(String);

/// Reads a game in any of the forms. A `#` begins a comment; a text of nothing else is no game.
///
/// # Errors
///
/// A text that is none of them.
pub fn parse_game(text: &str) -> Result<History, GameTextError> {
    let failed = |reason: String| GameTextError(reason);
    let text = text.trim();
    if text.starts_with('(') {
        let game = parse_ggf(text).map_err(|error| failed(error.to_string()))?;
        return replay(&game);
    }
    let text = text.split('#').next().unwrap_or_default();
    if is_transcript(text) {
        let squares = parse_moves(text).map_err(|error| failed(error.to_string()))?;
        return History::from_moves(&squares).map_err(|(number, error)| failed(forbidden(number, error)));
    }
    let line = parse_obf(text).map_err(|error| failed(error.to_string()))?;
    let line = line.ok_or_else(|| failed("it holds no moves and no position".to_owned()))?;
    Ok(History::new(line.colored))
}

/// Plays the moves of a game. A forced pass may be written or left out.
///
/// # Errors
///
/// The number of the first move that the rules forbid, and why.
pub fn replay(game: &GgfGame) -> Result<History, GameTextError> {
    let mut history = History::new(game.start);
    for (number, played) in (1..).zip(&game.moves) {
        let played = history.play_as(played.black, played.square);
        played.map_err(|error| GameTextError(forbidden(number, error)))?;
    }
    Ok(history)
}

fn forbidden(number: usize, error: Forbidden) -> String {
    format!("move {number}: {error}")
}

/// A game as [`parse_game`] reads it: a transcript if it begins as games do, else GGF, which holds the position.
#[must_use]
pub fn game_text(history: &History) -> String {
    if history.start() == ColoredPosition::START {
        return history.plies().iter().flatten().map(ToString::to_string).collect();
    }
    let colors = history.positions().iter().map(|colored| colored.black_to_move);
    let moves = colors.zip(history.plies()).map(|(black, &square)| GgfMove { black, square });
    write_ggf(&GgfGame { start: history.start(), moves: moves.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOARD: &str = "---------------------------XO------OX---------------------------";

    #[test]
    fn a_game_survives_text() {
        // White moves after the pass of black.
        let moves = "d3c3e6d2d1e1b2c1b4";
        assert_eq!(game_text(&parse_game(moves).unwrap()), moves);
        let mut history = parse_game(&format!("{BOARD} O;")).unwrap();
        assert!(!history.current().black_to_move);
        assert_eq!(parse_game(&game_text(&history)).unwrap(), history);
        while !history.is_over() {
            let square = history.to_move().position.children().last().unwrap().0;
            history.play(Some(square)).unwrap();
            let text = game_text(&history);
            assert_eq!(parse_game(&text).unwrap(), history, "{text}");
        }
        assert!(history.plies().contains(&None), "{history:?}");
    }

    #[test]
    fn the_forms_may_be_mixed_with_blanks_and_comments() {
        let expected = parse_game("f5d6").unwrap();
        for text in [" F5 d6 # a game\n", "(;GM[Othello]B[F5/1.2/3]W[d6];)"] {
            assert_eq!(parse_game(text).unwrap(), expected, "{text}");
        }
        assert_eq!(parse_game(&format!("{BOARD} X; d3:+2;")).unwrap().plies(), []);
    }

    #[test]
    fn what_is_no_game_is_an_error() {
        for (text, words) in [
            ("", "no moves and no position"),
            ("# f5", "no moves and no position"),
            ("f5a1", "move 2: a1 is illegal"),
            ("f5x1", "`x1` is not a square"),
            ("hello", "the board has 5 characters"),
            ("(;B[f5]B[f4];)", "move 2: it is the other side's turn"),
            ("(;W[f5];)", "move 1: it is the other side's turn"),
            ("(;B[PA];)", "move 1: a pass is illegal"),
        ] {
            let error = parse_game(text).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
