//! A game as text: an OBF position, a transcript `f5d6c3…` without passes, GGF, or moves under
//! headers.

use super::ggf::{game_count, parse_ggf, write_ggf};
use super::pgn::parse_pgn;
use super::text::{uncommented, without_mark};
use crate::engine::board::notation::{MoveScore, ObfLine, is_transcript, parse_obf};
use crate::engine::{ColoredPosition, Game, NotationError};

/// A game, and the scores that its line lists for the moves of its position; only OBF has any.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct ScoredGame {
    pub game: Game,
    pub scores: Vec<MoveScore>,
}

/// Reads one game in any of the forms; `None` for an empty line or a comment (`%`, `#`). A `#` begins
/// a comment after a position or moves too.
///
/// # Errors
///
/// The byte and the reason, where the line is something else.
pub fn parse_game(text: &str) -> Result<Option<Game>, NotationError> {
    Ok(parse_scored_game(text)?.map(|scored| scored.game))
}

/// The same, and keeps scores.
pub fn parse_scored_game(text: &str) -> Result<Option<ScoredGame>, NotationError> {
    let record = without_mark(text).trim_start();
    let uncommented = &*uncommented(record);
    let unscored = |game| {
        Some(ScoredGame {
            game,
            scores: Vec::new(),
        })
    };
    let game = if record.starts_with('(') || game_count(record).is_some() {
        parse_ggf(record).map(unscored)
    } else if record.starts_with('[') {
        parse_pgn(record).map(unscored)
    } else if is_transcript(uncommented) {
        Game::from_transcript(uncommented).map(unscored)
    } else {
        let scored = |ObfLine { colored, scores }| ScoredGame {
            game: Game::new(colored),
            scores,
        };
        parse_obf(uncommented).map(|line| line.map(scored))
    };
    game.map_err(|error| NotationError {
        byte: text.len() - record.len() + error.byte,
        ..error
    })
}

/// A game as [`parse_game`] reads it: a transcript if it begins as games do, else GGF, which holds
/// the position.
pub fn game_text(game: &Game) -> String {
    if game.start() == ColoredPosition::START {
        game.transcript()
    } else {
        write_ggf(game)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOARD: &str = "---------------------------XO------OX---------------------------";

    fn read(text: &str) -> Game {
        parse_game(text).unwrap().unwrap()
    }

    #[test]
    fn a_game_survives_text() {
        // White moves after the pass of black.
        let moves = "d3c3e6d2d1e1b2c1b4";
        assert_eq!(game_text(&read(moves)), moves);
        let mut game = read(&format!("{BOARD} O;"));
        assert!(!game.latest().black_to_move);
        assert_eq!(read(&game_text(&game)), game);
        while !game.is_over() {
            let square = game.to_move().position.children().last().unwrap().0;
            game.play(square).unwrap();
            let text = game_text(&game);
            assert_eq!(read(&text), game, "{text}");
        }
        assert!(game.plies().contains(&None), "{game:?}");
    }

    #[test]
    fn the_forms_may_be_mixed_with_blanks_and_comments() {
        let expected = read("f5d6");
        for text in [
            " F5 d6 # a game\n",
            "1. f5 2. d6",
            "\u{feff}1. f5 # a\n2. d6",
            "1 (;B[F5]W[d6];)",
            "[Site \"PlayOK\"]\n1. f5\nd6 *",
            "(;GM[Othello]B[F5/1.2/3]W[d6];)",
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
        assert_eq!(read(&format!("{BOARD} X; e3:+2; # one move")).plies(), []);
    }

    #[test]
    fn what_is_no_game_is_an_error_at_a_byte() {
        for text in ["", "  ", "# f5", "% f5"] {
            assert_eq!(parse_game(text), Ok(None), "{text}");
        }
        for (text, byte, words) in [
            (" f5a1", 3, "move 2: a1 is illegal"),
            (" f5x1", 3, "`x1` is not a square"),
            (" hello", 6, "the board has 5 characters"),
            ("\u{feff}f5a1", 5, "move 2: a1 is illegal"),
            (" (;B[f5];)(;B[f5];)", 10, "a second game follows"),
            (" (;B[f5]B[f4];)", 10, "move 2: it is the other side's turn"),
        ] {
            let error = parse_game(text).unwrap_err();
            assert!(
                error.byte == byte && error.reason.contains(words),
                "{text}: {error}"
            );
        }
    }
}
