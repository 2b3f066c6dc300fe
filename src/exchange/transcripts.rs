//! Transcripts: one game per line, `f5d6c3…` or `1. f5 2. d6 …`, without passes; `#` begins a
//! comment, empty lines are skipped.

use super::records::{Records, imported, lines, without_comment};
use crate::artifact::ImportedGame;
use crate::engine::Game;

/// Reads the games of a file; one that does not reach its end has no result.
pub fn read_transcripts(bytes: Vec<u8>) -> Records {
    lines(bytes, read_line)
}

fn read_line(line: &str) -> Result<Option<ImportedGame>, (usize, String)> {
    let text = without_comment(line);
    if text.trim_start().is_empty() {
        return Ok(None);
    }
    let game = Game::from_transcript(text).map_err(|error| (error.byte, error.reason))?;
    imported(&game, None)
        .map(Some)
        .map_err(|reason| (0, reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_game_a_comment_or_a_mistake_at_a_byte() {
        let game = read_line("e6f4e3f6 g5d6e7f5c5  # the shortest")
            .unwrap()
            .unwrap();
        assert_eq!((game.result, game.rows.len()), (Some(64), 9));
        let unfinished = read_line("f5d6").unwrap().unwrap();
        assert_eq!((unfinished.result, unfinished.rows.len()), (None, 3));
        assert_eq!(read_line("1. f5 2. d6"), read_line("f5d6"));
        assert_eq!(read_line("  # nothing"), Ok(None));
        assert_eq!(read_line(" f5 d6 a1").unwrap_err().0, 7);
        assert_eq!(read_line("f5d6 won").unwrap_err().0, 5);
        assert_eq!(read_line("e6f4e3f6g5d6e7f5c5a1").unwrap_err().0, 18);
    }
}
