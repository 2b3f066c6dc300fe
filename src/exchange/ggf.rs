//! GGF: a game `(;GM[Othello]…BO[8 … *]B[F5/1.20/0.50]W[F6]…;)`, as Othello servers and the NBoard
//! protocol write it.

use crate::artifact::line::visible;
use crate::engine::board::notation::{move_text, parse_board, parse_move};
use crate::engine::{ColoredPosition, Game, IllegalMove, NotationError};

/// A longer text has no game's end: one with all its comments is shorter.
const GAME_SIZE_MAX: usize = 1 << 16;

/// The names of this game: on Othello servers, and its number in SGF.
const GAME_NAMES: [&str; 3] = ["Othello", "Reversi", "2"];

/// Properties of free text, which may hold brackets.
const COMMENTS: [&str; 3] = ["C", "CO", "GC"];

/// A property in a text, or what stands between games.
enum Token<'a> {
    Property {
        /// In capital letters.
        name: String,
        value: &'a str,
        /// Where the value begins.
        byte: usize,
    },
    /// With its place.
    Open(usize),
    /// With its place.
    Close(usize),
}

/// Reads one game; before it may be a count of games. Properties other than the game, its type, the
/// board and the moves are skipped, and so is what stands between properties. A forced pass may be
/// written or left out.
///
/// # Errors
///
/// The byte and the reason, where the text is not one game of Othello on a board of 64 squares.
pub fn parse_ggf(text: &str) -> Result<Game, NotationError> {
    let error = |byte: usize, reason: String| NotationError { byte, reason };
    let no_property = "a game has properties such as BO[…] and B[F5]";
    let (mut game, mut has_board, mut number, mut is_empty) = (Game::default(), false, 0, true);
    let (mut begin, mut is_open) = (0, false);
    while let Some(token) = next_token(text, begin)? {
        let (name, value, byte) = match token {
            Token::Open(byte) if is_open => {
                return Err(error(byte, "a game begins within another one".to_owned()));
            }
            Token::Open(byte) => {
                is_open = true;
                begin = byte + 1;
                continue;
            }
            Token::Close(byte) if is_empty => return Err(error(byte, no_property.to_owned())),
            Token::Close(byte) => {
                check_end(text, byte + 1)?;
                return Ok(game);
            }
            Token::Property { name, value, byte } => (name, value, byte),
        };
        (begin, is_empty) = (byte + value.len() + 1, false);
        match name.as_str() {
            "GM" => check_game(value).map_err(|reason| error(byte, reason))?,
            "TY" => check_type(value).map_err(|reason| error(byte, reason))?,
            "BO" if has_board || 0 < number => {
                let reason = "a second board, or one after moves: each game has its own `(;…;)`";
                return Err(error(byte, reason.to_owned()));
            }
            "BO" => {
                has_board = true;
                game = Game::new(parse_start(value).map_err(|reason| error(byte, reason))?);
            }
            "B" | "W" => {
                number += 1;
                let square = parse_move(value).map_err(|reason| error(byte, reason.to_string()))?;
                let played = game.play_as(name == "B", square);
                played.map_err(|reason| error(byte, IllegalMove { number, reason }.to_string()))?;
            }
            _ => {}
        }
    }
    if is_empty {
        return Err(error(0, no_property.to_owned()));
    }
    Err(error(
        text.len(),
        "the game is cut: it has no `;)`".to_owned(),
    ))
}

/// The count of games before `(`, and the bytes up to there.
pub(super) fn game_count(text: &str) -> Option<(usize, usize)> {
    let end = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let count = text[..text.len() - end.len()].parse().ok()?;
    let game = end.trim_start_matches([' ', '\t']);
    game.starts_with('(')
        .then_some((count, text.len() - game.len()))
}

/// The bytes of the game that a text begins with, on however many lines; `None` without its end.
pub(super) fn game_length(text: &str) -> Option<usize> {
    let text = &text[..text.floor_char_boundary(GAME_SIZE_MAX)];
    let mut begin = text.strip_prefix('(').map(|_| 1)?;
    loop {
        match next_token(text, begin).ok()?? {
            Token::Property { value, byte, .. } => begin = byte + value.len() + 1,
            Token::Open(_) => return None,
            Token::Close(byte) => return Some(byte + 1),
        }
    }
}

/// The first property or parenthesis from a byte on.
fn next_token(text: &str, begin: usize) -> Result<Option<Token<'_>>, NotationError> {
    let rest = &text[begin..];
    let Some(place) = rest.find(['[', '(', ')']) else {
        return Ok(None);
    };
    let byte = begin + place;
    match rest.as_bytes()[place] {
        b'(' => return Ok(Some(Token::Open(byte))),
        b')' => return Ok(Some(Token::Close(byte))),
        _ => {}
    }
    let name = property_name(&rest[..place]).to_ascii_uppercase();
    let value = &text[byte + 1..];
    let is_comment = COMMENTS.contains(&name.as_str());
    let length = is_comment.then(|| comment_length(value)).flatten();
    let Some(length) = length.or_else(|| value.find(']')) else {
        return Err(NotationError {
            byte: byte + 1,
            reason: format!("{name}[ has no `]`"),
        });
    };
    Ok(Some(Token::Property {
        name,
        value: &value[..length],
        byte: byte + 1,
    }))
}

/// The letters before a bracket.
fn property_name(before: &str) -> &str {
    &before[before
        .trim_end_matches(|letter: char| letter.is_ascii_alphabetic())
        .len()..]
}

/// The length of a comment up to its `]`: brackets within it come in pairs, or after a `\`.
fn comment_length(text: &str) -> Option<usize> {
    let (mut depth, mut is_escaped) = (0, false);
    text.bytes().position(|byte| {
        match byte {
            _ if is_escaped => {
                is_escaped = false;
                return false;
            }
            b'\\' => is_escaped = true,
            b'[' => depth += 1,
            b']' if depth == 0 => return true,
            b']' => depth -= 1,
            _ => {}
        }
        false
    })
}

/// An error unless only blanks and a comment follow a game.
fn check_end(text: &str, end: usize) -> Result<(), NotationError> {
    let rest = text[end..].trim_start();
    if rest.is_empty() || rest.starts_with('#') {
        return Ok(());
    }
    let reason = if rest.starts_with('(') {
        "a second game follows: one is expected"
    } else {
        "a text follows the end of the game"
    };
    Err(NotationError {
        byte: text.len() - rest.len(),
        reason: reason.to_owned(),
    })
}

fn check_game(value: &str) -> Result<(), String> {
    let name = value.trim();
    let is_known = |known: &str| known.eq_ignore_ascii_case(name);
    if name.is_empty() || GAME_NAMES.iter().any(|known| is_known(known)) {
        return Ok(());
    }
    Err(format!("the game is {}, not Othello", visible(name)))
}

/// The type of a match: the size of the board, before it an `s` if two games are played at once,
/// and after it `r` with the discs of a random start, `k` for a komi, `b` or `w` for a color that is
/// preferred. With an `a` the fewest discs win.
fn check_type(value: &str) -> Result<(), String> {
    let kind = value.trim().to_ascii_lowercase();
    let options = kind
        .strip_prefix('s')
        .unwrap_or(&kind)
        .strip_prefix('8')
        .filter(|options| !options.starts_with(|letter: char| letter.is_ascii_digit()));
    let is_known = |letter: u8| letter.is_ascii_digit() || b"rkbw".contains(&letter);
    if kind.is_empty() || options.is_some_and(|options| options.bytes().all(is_known)) {
        return Ok(());
    }
    let kind = visible(&kind);
    Err(format!(
        "the type of the game is {kind}: only 8 by 8 squares are read, where the most discs win"
    ))
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
    fn comments_may_hold_brackets_and_names_any_case() {
        let expected = parse_ggf("(;B[f5]W[d6];)").unwrap();
        for text in [
            "(;C[as in [1]: B[f4]]B[f5]W[d6];)",
            "(;b[f5]CO[a \\] b]w[D6];)",
            "(;C[[]B[f5]W[d6];)",
            "1 (;gm[othello]ty[S8R20]b[f5]W[d6];) # one",
            "(;GM[Reversi]TY[8k]PB[a (b)]B[f5]\nW[d6]\n;)",
        ] {
            assert_eq!(parse_ggf(text), Ok(expected.clone()), "{text}");
        }
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
            ("(;)", 2, "a game has properties"),
            ("(;GM[Checkers]B[f5];)", 5, "the game is Checkers"),
            ("(;TY[10]B[f5];)", 5, "the type of the game is 10"),
            ("(;TY[8a]B[f5];)", 5, "the most discs win"),
            ("(;TY[88]B[f5];)", 5, "8 by 8"),
            ("(;B[f5]", 7, "the game is cut"),
            ("(;B[f5](;B[d3];)", 7, "a game begins within another one"),
            ("(;B[f5];)(;B[d3];)", 9, "a second game follows"),
            ("(;B[f5];) f5", 10, "a text follows"),
            (
                "(;B[f5]BO[8 ---------------------------O*------*O--------------------------- *];)",
                10,
                "a second board",
            ),
        ] {
            let error = parse_ggf(text).unwrap_err();
            assert!(
                error.byte == byte && error.reason.contains(words),
                "{text}: {error}"
            );
        }
    }
}
