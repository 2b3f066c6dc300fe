//! Positions to evaluate, one per line: in OBF, or as the moves that lead there.

use super::obf::parse_line;
use super::transcripts::read_game;
use crate::artifact::error::ArtifactError;
use crate::engine::board::notation::ColoredPosition;
use crate::engine::board::square::Square;
use std::path::Path;

/// A longer text is refused.
pub const POSITIONS_SIZE_MAX: u64 = 1 << 30;

/// A line of such a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PositionLine {
    #[expect(missing_docs, reason = "the type says it")]
    pub colored: ColoredPosition,
    /// The moves that lead there, if the line has them.
    pub moves: Vec<Square>,
}

/// Reads the positions of a text, in order; errors call it `name`.
///
/// # Errors
///
/// The first line that is neither a position nor a game, or a text without positions.
pub fn read_positions(name: &Path, bytes: &[u8]) -> Result<Vec<PositionLine>, ArtifactError> {
    let mut positions = Vec::new();
    for (number, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
        let bad = |byte: usize, reason: String| {
            ArtifactError::damaged(name, format!("line {}, byte {byte}: {reason}", number + 1))
        };
        let line = std::str::from_utf8(line).map_err(|error| bad(error.valid_up_to(), "not text".to_owned()))?;
        let position = if is_transcript(line) {
            read_game(line)
                .map(|game| game.map(|game| PositionLine { colored: game.current(), moves: game.moves().to_vec() }))
        } else {
            parse_line(line).map(|line| line.map(|line| PositionLine { colored: line.colored, moves: Vec::new() }))
        };
        positions.extend(position.map_err(|(byte, reason)| bad(byte, reason))?);
    }
    if positions.is_empty() {
        return Err(ArtifactError::unfit(name, "it holds no position"));
    }
    Ok(positions)
}

/// Whether a line begins with a move: no board begins with a letter and a digit from 1 to 8.
#[must_use]
pub fn is_transcript(line: &str) -> bool {
    let mut letters = line.trim_start().bytes();
    letters.next().is_some_and(|column| matches!(column, b'a'..=b'h' | b'A'..=b'H'))
        && letters.next().is_some_and(|row| matches!(row, b'1'..=b'8'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_position_or_the_moves_that_lead_to_it() {
        let board = "---------------------------OX------XO---------------------------";
        let text = format!("% two forms\n{board} X; d3:0;\n\n f5D6 c3 # a game\nbW{} O;\nf5\r\n", &board[2..]);
        let positions = read_positions(Path::new("a"), text.as_bytes()).unwrap();
        let boards: Vec<_> =
            positions.iter().map(|line| (line.colored.board_text(), line.colored.side_text())).collect();
        let moves = |text: &str| {
            let mut game = crate::engine::game::Game::new();
            text.split(' ').for_each(|square| game.play(square.parse().unwrap()).unwrap());
            (game.current().board_text(), game.current().side_text())
        };
        let colors = format!("XO{}", &board[2..]);
        let moves_of = |line: &PositionLine| line.moves.iter().map(ToString::to_string).collect::<String>();
        assert_eq!(positions.iter().map(moves_of).collect::<Vec<_>>(), ["", "f5d6c3", "", "f5"]);
        assert_eq!(boards, [(board.to_owned(), "X"), moves("f5 d6 c3"), (colors, "O"), moves("f5")]);
    }

    #[test]
    fn a_bad_line_is_named_with_its_byte() {
        for (line, words) in [
            ("f5d6a1", "byte 4: "),
            ("f5d6 won", "byte 5: "),
            ("f5d6c3f", "byte 6: "),
            ("f9", "byte 2: the board has 2 characters, 64 expected"),
            ("\u{e9}", "byte 2: the board has 2 characters"),
        ] {
            let text = format!("f5\n{line}\n");
            let error = read_positions(Path::new("a"), text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(&format!("a: line 2, {words}")), "{line}: {error}");
        }
    }
}
