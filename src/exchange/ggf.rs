//! GGF: one game on one line, `(;GM[Othello]…BO[8 … *]B[F5/1.20/0.50]W[F6]…;)`, as Othello servers
//! and the NBoard protocol write it.

use crate::engine::board::notation::{move_text, parse_board, parse_move};
use crate::engine::{ColoredPosition, Game, IllegalMove, NotationError};

/// Reads a game. Properties other than the board and the moves are skipped, and so is what stands
/// between properties. A forced pass may be written or left out.
///
/// # Errors
///
/// The byte and the reason, where the text is not a game on a board of 64 squares.
pub fn parse_ggf(text: &str) -> Result<Game, NotationError> {
    let (mut game, mut number) = (Game::default(), 0);
    let mut rest = text;
    while let Some(open) = rest.find('[') {
        let (name, value_begin) = (
            property_name(&rest[..open]),
            text.len() - rest.len() + open + 1,
        );
        let error = |reason: String| NotationError {
            byte: value_begin,
            reason,
        };
        let length = text[value_begin..]
            .find(']')
            .ok_or_else(|| error(format!("{name}[ has no `]`")))?;
        let value = &text[value_begin..value_begin + length];
        match name {
            "BO" => game = Game::new(parse_start(value).map_err(error)?),
            "B" | "W" => {
                number += 1;
                let square = parse_move(value).map_err(|reason| error(reason.to_string()))?;
                let played = game.play_as(name == "B", square);
                played.map_err(|reason| error(IllegalMove { number, reason }.to_string()))?;
            }
            _ => {}
        }
        rest = &text[value_begin + length + 1..];
    }
    if rest.len() == text.len() {
        return Err(NotationError {
            byte: 0,
            reason: "a game has properties such as BO[…] and B[F5]".to_owned(),
        });
    }
    Ok(game)
}

/// The letters before a bracket.
fn property_name(before: &str) -> &str {
    &before[before
        .trim_end_matches(|letter: char| letter.is_ascii_alphabetic())
        .len()..]
}

/// The size of the board, its squares from a1, and the side to move; blanks may stand anywhere.
fn parse_start(value: &str) -> Result<ColoredPosition, String> {
    let text: String = value.split_whitespace().collect();
    let board = text
        .strip_prefix('8')
        .ok_or_else(|| "only boards of 8 by 8 squares are known".to_owned())?;
    parse_board(board).map_err(|error| error.reason)
}

/// A game as [`parse_ggf`] reads it.
pub fn write_ggf(game: &Game) -> String {
    let (board, side) = (game.start().board_text(), game.start().side_text());
    let moves = game
        .positions()
        .iter()
        .zip(game.plies())
        .map(|(colored, &square)| {
            let color = if colored.black_to_move { 'B' } else { 'W' };
            format!("{color}[{}]", move_text(square, "pa").to_uppercase())
        });
    let start = format!("{board} {side}").replace('X', "*");
    format!(
        "(;GM[Othello]TY[8]BO[8 {start}]{};)",
        moves.collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "(;GM[Othello]PC[NBoard]DT[2014-02-21 20:52:27 GMT]PB[a]PW[B (x)]RE[?]TI[15:00]CO[]TY[8]";

    #[test]
    fn a_game_is_a_board_and_moves_with_or_without_evaluation_and_time() {
        let board = "---------------------------O*------*O---------------------------";
        // White moves after the pass of black, which may be left out.
        let moves = "B[D3]W[c3/1.20/0.50]B[E6//6]W[D2]B[D1]W[E1]B[B2]W[C1]";
        for pass in ["", "B[pass/]"] {
            let text = format!("{HEAD}BO[8 {board} *]{moves}{pass}W[B4];)");
            let game = parse_ggf(&text).unwrap();
            assert_eq!(
                (game.start(), game.plies()[8]),
                (ColoredPosition::START, None)
            );
            assert_eq!(game.transcript(), "d3c3e6d2d1e1b2c1b4");
            let written = write_ggf(&game);
            let expected = "B[D3]W[C3]B[E6]W[D2]B[D1]W[E1]B[B2]W[C1]B[PA]W[B4]";
            assert_eq!(
                written,
                format!("(;GM[Othello]TY[8]BO[8 {board} *]{expected};)")
            );
            assert_eq!(parse_ggf(&written).unwrap(), game);
        }
    }

    #[test]
    fn the_board_may_have_blanks_and_either_side_to_move() {
        let rows = "-------- -------- -------- ---*O--- ---O*--- -------- -------- --------";
        let game = parse_ggf(&format!("(;BO[8 {rows} O];)")).unwrap();
        assert_eq!((game.start().black_to_move, game.plies().len()), (false, 0));
        assert_eq!(game.start().board_text().find("XO"), Some(27));
        assert_eq!(
            parse_ggf("(;GM[Othello];)").unwrap().start(),
            ColoredPosition::START
        );
    }

    #[test]
    fn what_is_not_a_game_is_an_error_at_a_byte() {
        for (text, byte, words) in [
            ("", 0, "a game has properties"),
            ("f5d6", 0, "a game has properties"),
            ("(;GM[Othello", 5, "GM[ has no `]`"),
            ("(;BO[10 ---- *];)", 5, "8 by 8"),
            ("(;BO[8 --- *];)", 5, "64 expected"),
            ("(;B[I9];)", 4, "`I9` is not a square"),
            ("(;B[];)", 4, "is not a square"),
            ("(;B[f5]B[f4];)", 9, "move 2: it is the other side's turn"),
            ("(;W[f5];)", 4, "move 1: it is the other side's turn"),
            ("(;B[PA];)", 4, "move 1: a pass is illegal"),
            ("(;B[\u{e9}];)", 4, "is not a square"),
        ] {
            let error = parse_ggf(text).unwrap_err();
            assert!(
                error.byte == byte && error.reason.contains(words),
                "{text}: {error}"
            );
        }
    }
}
