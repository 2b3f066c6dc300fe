//! Games under headers, as PlayOK and PGN have them: lines `[Black "name"]`, then the moves,
//! perhaps with comments, on as many lines as they need, and the result. The headers and the result
//! are not used.

use crate::engine::{Game, NotationError};

/// Headers by which a game is another one than Othello from the usual start.
const START_HEADERS: [&str; 2] = ["[FEN ", "[SetUp "];

/// Reads the moves of a game; passes may be left out.
///
/// # Errors
///
/// The byte and the reason, where the text is not a game from the usual start.
pub fn parse_pgn(text: &str) -> Result<Game, NotationError> {
    let mut moves = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let content = line.trim_start();
        if START_HEADERS.iter().any(|name| content.starts_with(name)) {
            let reason = "only games from the usual start are read".to_owned();
            let byte = moves.len();
            return Err(NotationError { byte, reason });
        }
        if content.starts_with(['[', '%']) {
            moves += &blanks(line);
        } else {
            moves += line;
        }
    }
    let moves = without_result(without_remarks(&moves)?);
    if moves.trim().is_empty() {
        return Err(NotationError {
            byte: 0,
            reason: "it has no moves".to_owned(),
        });
    }
    Game::from_transcript(&moves)
}

/// The bytes of the game that a text begins with: its headers, and the lines up to an empty one or
/// the next header.
pub(super) fn headed_length(text: &str) -> usize {
    let (mut length, mut has_moves) = (0, false);
    for line in text.split_inclusive('\n') {
        let content = line.trim();
        let is_move = !content.is_empty() && !content.starts_with('[');
        if has_moves && !is_move {
            break;
        }
        has_moves |= is_move;
        length += line.len();
    }
    length
}

/// Blanks that take the same bytes.
fn blanks(text: &str) -> String {
    " ".repeat(text.len())
}

/// Moves with blanks in the place of comments (`{…}`, `;…`), other lines of play (`(…)`) and marks
/// (`$1`).
fn without_remarks(text: &str) -> Result<String, NotationError> {
    let (mut moves, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(begin) = rest.find(['{', ';', '(', '$']) {
        let (before, remark) = rest.split_at(begin);
        let length = match remark.as_bytes()[0] {
            b'{' => remark.find('}').map(|end| end + 1),
            b'(' => closing(remark),
            b';' => Some(remark.find('\n').unwrap_or(remark.len())),
            _ => Some(
                1 + remark[1..]
                    .find(|letter: char| !letter.is_ascii_digit())
                    .unwrap_or(remark.len() - 1),
            ),
        };
        let Some(length) = length else {
            return Err(NotationError {
                byte: text.len() - remark.len(),
                reason: format!("the `{}` is not closed", &remark[..1]),
            });
        };
        moves += before;
        moves += &blanks(&remark[..length]);
        rest = &remark[length..];
    }
    Ok(moves + rest)
}

/// The length of a text in parentheses, which may hold others.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    let end = text.bytes().position(|byte| {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    end.map(|end| end + 1)
}

/// Moves with blanks in the place of a result, such as `1-0`, `38-26` or `*`, at their end.
fn without_result(moves: String) -> String {
    let text = moves.trim_end();
    let begin = text.rfind(char::is_whitespace).map_or(0, |blank| blank + 1);
    let word = &text[begin..];
    let is_result = word == "*"
        || word.contains('-')
            && word.starts_with(|letter: char| letter.is_ascii_digit())
            && word
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'/'));
    if is_result {
        text[..begin].to_owned()
    } else {
        moves
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_remarks_and_results_are_skipped() {
        for text in [
            "[Site \"PlayOK\"]\n[Black \"[a]\"]\n\n1. f5 d6\n2. c3 d3 38-26\n",
            "[Event \"?\"]\n1. f5 {best (so far)} d6 $14 (1... f6 (1... f4) 2. e6) ; a\n% b\n2. c3 d3 1/2-1/2",
            "[Event \"?\"]\r\n\r\n1. f5 d6\r\n2. c3 d3 *\r\n",
            "[Event \"?\"]\n1.f5,d6,2.c3,d3",
        ] {
            assert_eq!(parse_pgn(text).unwrap().transcript(), "f5d6c3d3", "{text}");
            let followed = format!("{}\n\nf5", text.trim_end());
            assert_eq!(
                headed_length(&followed),
                text.trim_end().len() + 1,
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_not_a_game_is_an_error_at_a_byte() {
        for (text, byte, words) in [
            ("[Event \"?\"]\n\n", 0, "it has no moves"),
            ("[Event \"?\"]\n*", 0, "it has no moves"),
            ("[Event \"?\"]\n1. f5 a1", 18, "a1 is illegal"),
            ("[Event \"?\"]\nf5 {d6", 15, "the `{` is not closed"),
            ("[Event \"?\"]\nf5 (d6", 15, "the `(` is not closed"),
            ("[Event \"?\"]\n[FEN \"8/8\"]\nf5", 12, "usual start"),
            ("[Event \"?\"]\nf5 33", 15, "is not a square"),
        ] {
            let error = parse_pgn(text).unwrap_err();
            assert!(
                error.byte == byte && error.reason.contains(words),
                "{text}: {error}"
            );
        }
    }
}
