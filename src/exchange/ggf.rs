//! GGF: one game on one line, `(;GM[Othello]…BO[8 … *]B[F5/1.20/0.50]W[F6]…;)`, as Othello servers and the NBoard protocol
//! write it.

use crate::engine::board::notation::{ColoredPosition, NotationError, parse_board};
use crate::engine::board::square::{Square, SquareError};

/// A game as it is written: the rules are not checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GgfGame {
    /// The position in which it begins.
    pub start: ColoredPosition,
    #[expect(missing_docs, reason = "the name says it")]
    pub moves: Vec<GgfMove>,
}

/// A move, or a pass, of one color.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GgfMove {
    /// Whether black moves.
    pub black: bool,
    /// `None` for a pass.
    pub square: Option<Square>,
}

/// Reads a game. Properties other than the board and the moves are skipped, and so is what stands between properties.
///
/// # Errors
///
/// The byte and the reason, where the text is not a game on a board of 64 squares.
pub fn parse_ggf(text: &str) -> Result<GgfGame, NotationError> {
    let mut game = GgfGame { start: ColoredPosition::START, moves: Vec::new() };
    let mut rest = text;
    while let Some(open) = rest.find('[') {
        let (name, value_begin) = (property_name(&rest[..open]), text.len() - rest.len() + open + 1);
        let error = |reason: String| NotationError { byte: value_begin, reason };
        let length = text[value_begin..].find(']').ok_or_else(|| error(format!("{name}[ has no `]`")))?;
        let value = &text[value_begin..value_begin + length];
        match name {
            "BO" => game.start = parse_start(value).map_err(error)?,
            "B" | "W" => {
                let square = parse_move(value).map_err(|reason| error(reason.to_string()))?;
                game.moves.push(GgfMove { black: name == "B", square });
            }
            _ => {}
        }
        rest = &text[value_begin + length + 1..];
    }
    if rest.len() == text.len() {
        return Err(NotationError { byte: 0, reason: "a game has properties such as BO[…] and B[F5]".to_owned() });
    }
    Ok(game)
}

/// The letters before a bracket.
fn property_name(before: &str) -> &str {
    &before[before.trim_end_matches(|letter: char| letter.is_ascii_alphabetic()).len()..]
}

/// The size of the board, its squares from a1, and the side to move; blanks may stand anywhere.
fn parse_start(value: &str) -> Result<ColoredPosition, String> {
    let text: String = value.split_whitespace().collect();
    let board = text.strip_prefix('8').ok_or_else(|| "only boards of 8 by 8 squares are known".to_owned())?;
    parse_board(board).map_err(|error| error.reason)
}

/// Reads a move or a pass (`PA`), which may be followed by its evaluation and its time: `F5`, `f5/1.20/0.50`, `F5//6`.
///
/// # Errors
///
/// A text that names neither.
pub fn parse_move(text: &str) -> Result<Option<Square>, SquareError> {
    let name = text.split('/').next().unwrap_or_default().trim();
    if ["pa", "pass", "ps", "--"].iter().any(|pass| name.eq_ignore_ascii_case(pass)) {
        return Ok(None);
    }
    name.parse().map(Some)
}

/// A game as [`parse_ggf`] reads it.
#[must_use]
pub fn write_ggf(game: &GgfGame) -> String {
    let (board, side) = (game.start.board_text(), game.start.side_text());
    let moves = game.moves.iter().map(|played| {
        let color = if played.black { 'B' } else { 'W' };
        let square = played.square.map_or_else(|| "PA".to_owned(), |square| square.to_string().to_uppercase());
        format!("{color}[{square}]")
    });
    let start = format!("{board} {side}").replace('X', "*");
    format!("(;GM[Othello]TY[8]BO[8 {start}]{};)", moves.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "(;GM[Othello]PC[NBoard]DT[2014-02-21 20:52:27 GMT]PB[a]PW[B (x)]RE[?]TI[15:00]TY[8]";

    #[test]
    fn a_game_is_a_board_and_moves_with_or_without_evaluation_and_time() {
        let board = "---------------------------O*------*O---------------------------";
        let text = format!("{HEAD}BO[8 {board} *]B[F5]W[f6/1.20/0.50]B[D3//6]W[PA]B[pass/];)");
        let game = parse_ggf(&text).unwrap();
        assert_eq!(game.start, ColoredPosition::START);
        let moves: Vec<_> =
            game.moves.iter().map(|played| (played.black, played.square.map(|square| square.to_string()))).collect();
        let square = |name: &str| Some(name.to_owned());
        assert_eq!(
            moves,
            [(true, square("f5")), (false, square("f6")), (true, square("d3")), (false, None), (true, None)]
        );
        let written = write_ggf(&game);
        assert_eq!(written, format!("(;GM[Othello]TY[8]BO[8 {board} *]B[F5]W[F6]B[D3]W[PA]B[PA];)"));
        assert_eq!(parse_ggf(&written).unwrap(), game);
    }

    #[test]
    fn the_board_may_have_blanks_and_either_side_to_move() {
        let rows = "-------- -------- -------- ---*O--- ---O*--- -------- -------- --------";
        let game = parse_ggf(&format!("(;BO[8 {rows} O];)")).unwrap();
        assert_eq!((game.start.black_to_move, game.moves.len()), (false, 0));
        assert_eq!(game.start.board_text().find("XO"), Some(27));
        assert_eq!(parse_ggf("(;GM[Othello];)").unwrap().start, ColoredPosition::START);
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
            ("(;B[\u{e9}];)", 4, "is not a square"),
        ] {
            let error = parse_ggf(text).unwrap_err();
            assert!(error.byte == byte && error.reason.contains(words), "{text}: {error}");
        }
    }
}
