//! Lines `64 characters score`, a form in which Othello data is published: squares from a1 to h8,
//! `X` for the discs of the side to move, `O` for the other side, `-` for empty squares, then the
//! score in discs from the side to move.
//!
//! The side to move, `X` or `O`, may stand between board and score; then `X` is black, and the
//! score is that side's. A score has up to three decimals. `#` begins a comment, empty lines are
//! skipped.

use super::records::{Records, text_records};
use super::text::uncommented;
use crate::artifact::{ArtifactError, ImportedGame, PositionRow};
use crate::engine::board::notation::parse_board;
use crate::engine::{Discs, Ply, Score};
use std::path::Path;

/// Reads the positions of a file, each as a separate game; one without a legal move has no row.
///
/// # Errors
///
/// Bytes that are not a text.
pub fn read_board_text(path: &Path, bytes: Vec<u8>) -> Result<Records, ArtifactError> {
    text_records(path, bytes, read_line)
}

fn read_line(line: &str) -> Result<ImportedGame, (usize, String)> {
    let uncommented = uncommented(line);
    let text = uncommented.trim_end();
    let score_begin = text
        .rfind(|letter: char| letter.is_ascii_whitespace())
        .map_or(text.len(), |blank| blank + 1);
    let (board, score) = text.split_at(score_begin);
    let board = board.trim_end();
    let sided = board.get(64..).is_some_and(|side| !side.is_empty());
    let colored = parse_board(&if sided {
        board.to_owned()
    } else {
        format!("{board} X")
    });
    let colored = colored.map_err(|error| (error.byte.min(board.len()), error.reason))?;
    let no_score = || {
        (
            score_begin,
            format!("`{}` is not a score in discs, ±64", score.escape_debug()),
        )
    };
    let score = parse_score(score).ok_or_else(no_score)?;
    // Without a pass, plies and empty squares add up to 60; how many passes there were is not
    // known.
    let ply = Ply(60_u8.saturating_sub(colored.position.empties()));
    let row = PositionRow {
        score: Some(score),
        ..PositionRow::unlabeled(colored, ply)
    };
    let rows = if colored.position.legal_moves() == 0 {
        Vec::new()
    } else {
        vec![row]
    };
    Ok(ImportedGame {
        rows,
        ..ImportedGame::default()
    })
}

/// Discs with up to three decimals.
fn parse_score(text: &str) -> Option<Score> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (whole, decimals) = digits.split_once('.').unwrap_or((digits, "0"));
    let number = |text: &str, length: usize| {
        let sound =
            (1..=length).contains(&text.len()) && text.bytes().all(|digit| digit.is_ascii_digit());
        sound.then(|| text.parse::<i32>().ok()).flatten()
    };
    let score =
        Score::from(Discs(number(whole, 2)?)) + Score(number(&format!("{decimals:0<3}"), 3)?);
    Some(if text.starts_with('-') { -score } else { score }).filter(|score| score.is_possible())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_is_discs_from_the_side_to_move() {
        let board = "---------------------------XO------OX---------------------------";
        let row = |line: &str| read_line(line).unwrap().rows[0];
        let plain = row(&format!("{board} -3"));
        assert_eq!(
            (plain.score, plain.black_to_move, plain.ply),
            (Some(Score(-3000)), true, 0)
        );
        let white = row(&format!("{board} O +2.25 # a note\r"));
        assert_eq!(
            (white.score, white.black_to_move),
            (Some(Score(2250)), false)
        );
        assert_eq!((white.black, white.white), (plain.black, plain.white));
        for (line, byte) in [
            (format!("{board} "), 64),
            (format!("{board} 65"), 65),
            (format!("{board} 1.2345"), 65),
            (format!("{board} Q 1"), 64),
            (format!("{} 1", board.replacen('X', "?", 1)), 27),
            ("XO 1".to_owned(), 2),
        ] {
            assert_eq!(read_line(&line).unwrap_err().0, byte, "{line}");
        }
        let over = format!("{}O 64", "X".repeat(63));
        assert!(read_line(&over).unwrap().rows.is_empty());
    }
}
