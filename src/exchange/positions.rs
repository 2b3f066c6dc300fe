//! Positions to evaluate, one per record of a text, as games that lead there.

use super::game_text::{ScoredGame, parse_scored_game};
use super::text::TextRecords;
use crate::artifact::ArtifactError;
use crate::engine::Game;
use std::path::Path;

/// A longer text is refused.
pub const POSITIONS_SIZE_MAX: u64 = 1 << 30;

/// Reads the games of a text whose latest positions are to be evaluated, in order, with the scores
/// that it lists for the moves there; errors call it `name`.
///
/// # Errors
///
/// The first record that is neither a position nor a game, or a text without positions.
pub fn read_positions(name: &Path, bytes: Vec<u8>) -> Result<Vec<ScoredGame>, ArtifactError> {
    let mut games: Vec<ScoredGame> = Vec::new();
    for record in TextRecords::new(name, bytes)? {
        let game = record.and_then(|record| {
            parse_scored_game(&record.text).map_err(|error| record.bad(error.byte, &error.reason))
        });
        games.extend(game.map_err(|reason| ArtifactError::damaged(name, reason))?);
    }
    if games.is_empty() {
        return Err(ArtifactError::unfit(name, "it holds no position"));
    }
    // Moves lead to a position of the side that moves next; a board is evaluated as it is.
    let games_of_moves = games
        .iter_mut()
        .map(|scored| &mut scored.game)
        .filter(|game| !game.plies().is_empty());
    games_of_moves.for_each(Game::pass_if_forced);
    Ok(games)
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: &str = "---------------------------OX------XO---------------------------";

    #[test]
    fn a_line_is_a_position_or_the_moves_that_lead_to_it() {
        let board = START;
        let text = format!(
            "% two forms\n{board} X; d3:0;\n\n f5D6 c3 # a game\nbW{} O;\nf5\r\n",
            &board[2..]
        );
        let positions = read_positions(Path::new("a"), text.into_bytes()).unwrap();
        assert_eq!(
            positions
                .iter()
                .map(|scored| scored.scores.len())
                .collect::<Vec<_>>(),
            [1, 0, 0, 0]
        );
        let games: Vec<Game> = positions.into_iter().map(|scored| scored.game).collect();
        let boards: Vec<_> = games
            .iter()
            .map(|game| (game.latest().board_text(), game.latest().side_text()))
            .collect();
        let moves = |text: &str| {
            let game = Game::from_transcript(text).unwrap();
            (game.latest().board_text(), game.latest().side_text())
        };
        let colors = format!("XO{}", &board[2..]);
        assert_eq!(
            games.iter().map(Game::transcript).collect::<Vec<_>>(),
            ["", "f5d6c3", "", "f5"]
        );
        assert_eq!(
            boards,
            [
                (board.to_owned(), "X"),
                moves("f5 d6 c3"),
                (colors, "O"),
                moves("f5")
            ]
        );
    }

    #[test]
    fn a_bad_line_is_named_with_its_byte() {
        for (line, words) in [
            ("f5d6a1", "byte 4: "),
            ("f5d6 won", "byte 5: "),
            ("f5d6c3f", "byte 6: "),
            (&format!("{START} X; d3:0; a1:2;"), "byte 73: a1 is illegal"),
            ("f9", "byte 2: the board has 2 characters, 64 expected"),
            ("\u{e9}", "byte 2: the board has 2 characters"),
        ] {
            let text = format!("f5\n{line}\n");
            let error = read_positions(Path::new("a"), text.into_bytes())
                .unwrap_err()
                .to_string();
            assert!(
                error.contains(&format!("a: line 2, {words}")),
                "{line}: {error}"
            );
        }
    }
}
