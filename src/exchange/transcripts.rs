//! Transcripts: one game per line, `f5d6c3…` or `1. f5 2. d6 …`, without passes, or under headers as
//! in PGN; `#` begins a comment, empty lines are skipped.

use super::ggf::parse_ggf;
use super::pgn::parse_pgn;
use super::records::{Records, imported, text_records};
use super::text::uncommented;
use crate::artifact::{ArtifactError, ImportedGame};
use crate::engine::{ColoredPosition, Game};
use std::path::Path;

/// Reads the games in the bytes of a file; one that does not reach its end has no result.
///
/// # Errors
///
/// Bytes that are not a text.
pub fn read_transcripts(path: &Path, bytes: Vec<u8>) -> Result<Records, ArtifactError> {
    text_records(path, bytes, read_transcript)
}

/// [`read_transcripts`] for games of GGF.
///
/// # Errors
///
/// Bytes that are not a text.
pub fn read_ggf(path: &Path, bytes: Vec<u8>) -> Result<Records, ArtifactError> {
    text_records(path, bytes, read_ggf_game)
}

fn read_transcript(text: &str) -> Result<ImportedGame, (usize, String)> {
    if text.starts_with('(') {
        return Err((0, "it is GGF\n--format ggf reads it".to_owned()));
    }
    let game = if text.starts_with('[') {
        parse_pgn(text)
    } else {
        Game::from_transcript(&uncommented(text))
    };
    let game = game.map_err(|error| (error.byte, error.reason))?;
    imported(&game, None).map_err(|reason| (0, reason))
}

fn read_ggf_game(text: &str) -> Result<ImportedGame, (usize, String)> {
    let game = parse_ggf(text).map_err(|error| (error.byte, error.reason))?;
    if game.start() != ColoredPosition::START {
        let reason = "the game begins from another board: a dataset keeps the moves of games from the usual start";
        return Err((0, reason.to_owned()));
    }
    if game.moves().next().is_none() {
        return Err((0, "it has no moves".to_owned()));
    }
    imported(&game, None).map_err(|reason| (0, reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_game_a_comment_or_a_mistake_at_a_byte() {
        let game = read_transcript("e6f4e3f6 g5d6e7f5c5  # the shortest").unwrap();
        assert_eq!((game.result, game.rows.len()), (Some(64), 9));
        let unfinished = read_transcript("f5d6").unwrap();
        assert_eq!((unfinished.result, unfinished.rows.len()), (None, 3));
        assert_eq!(read_transcript("1. f5 2. d6"), read_transcript("f5d6"));
        assert_eq!(read_transcript(" f5 d6 a1").unwrap_err().0, 7);
        assert_eq!(read_transcript("f5d6 won").unwrap_err().0, 5);
        assert_eq!(read_transcript("e6f4e3f6g5d6e7f5c5a1").unwrap_err().0, 18);
        assert_eq!(
            read_transcript("[Site \"PlayOK\"]\n\n1. f5\nd6 1-0"),
            read_transcript("f5d6")
        );
        let (_, reason) = read_transcript("(;B[f5];)").unwrap_err();
        assert_eq!(reason, "it is GGF\n--format ggf reads it");
    }

    #[test]
    fn a_game_of_ggf_has_the_rows_of_its_transcript() {
        assert_eq!(
            read_ggf_game("1 (;GM[Othello]B[F5/1.2/3]W[d6];)"),
            read_transcript("f5d6")
        );
        let start = ColoredPosition::START.board_text();
        let other = format!("(;BO[8 {start} O]W[f4];)");
        for (text, byte, words) in [
            ("(;GM[Othello];)", 0, "it has no moves"),
            ("(;B[f5]W[a1];)", 9, "a1 is illegal"),
            ("f5d6", 0, "a game has properties"),
            (&other, 0, "begins from another board"),
        ] {
            let (place, reason) = read_ggf_game(text).unwrap_err();
            assert!(place == byte && reason.contains(words), "{text}: {reason}");
        }
    }
}
