//! A book of openings.

use crate::artifact::{ContentHash, FieldHasher};
use crate::engine::{ColoredPosition, Game, Squares};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::sync::Arc;

/// The search for moves that lead to a board gives up after this many positions. It finds all of 40
/// boards after 14 random plies, 35 of 40 after 16, and 15 of 40 after 18.
const TRIED_MAX: usize = 1 << 16;

/// Chosen openings, from which games continue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct Book {
    /// The openings; copies share them.
    pub openings: Arc<[Game]>,
    content: ContentHash,
}

impl Book {
    /// A book of games that are not over. One that begins from another board than the usual start
    /// gets moves that lead there, for a dataset keeps the moves of its games from the start.
    ///
    /// # Errors
    ///
    /// A game that is over, a board to which no moves are found, or an empty book.
    pub fn new(games: impl IntoIterator<Item = Game>) -> Result<Self, String> {
        let mut hasher = FieldHasher::new("book");
        let mut openings = Vec::new();
        for (number, mut game) in (1..).zip(games) {
            let bad = |reason: &str| Err(format!("opening {number}: {reason}"));
            if game.is_over() {
                return bad("it is a whole game");
            }
            if game.start() != ColoredPosition::START {
                let Some(longer) = way_to(game.to_move()) else {
                    return bad(
                        "no moves were found that lead from the start to its board\nwrite the moves instead",
                    );
                };
                game = longer;
            }
            hasher.field("opening", game.transcript().as_bytes());
            openings.push(game);
        }
        if openings.is_empty() {
            return Err("it has no opening".into());
        }
        Ok(Self {
            openings: openings.into(),
            content: hasher.finish(),
        })
    }

    /// A book of lines of legal moves, passes left out.
    ///
    /// # Errors
    ///
    /// An invalid line, or as [`Book::new`].
    pub fn of_lines(lines: &[String]) -> Result<Self, String> {
        let mut games = Vec::new();
        for (number, line) in (1..).zip(lines) {
            games.push(
                Game::from_transcript(line)
                    .map_err(|error| format!("opening {number}: {error}"))?,
            );
        }
        Self::new(games)
    }

    /// Its lines, moves `f5d6c3…`.
    pub fn lines(&self) -> Vec<String> {
        self.openings.iter().map(Game::transcript).collect()
    }

    /// The hash of its lines in their order.
    pub const fn content(&self) -> ContentHash {
        self.content
    }
}

impl TryFrom<Vec<String>> for Book {
    type Error = String;

    fn try_from(lines: Vec<String>) -> Result<Self, String> {
        Self::of_lines(&lines)
    }
}

impl From<Book> for Vec<String> {
    fn from(book: Book) -> Self {
        book.lines()
    }
}

/// Moves from the start to a board, always the same ones; `None` if there are none, or too many to
/// try.
fn way_to(board: ColoredPosition) -> Option<Game> {
    let occupied = board.position.player() | board.position.opponent();
    let (mut seen, mut open) = (HashSet::new(), vec![Game::default()]);
    while let Some(game) = open.pop() {
        let current = game.to_move();
        if current == board {
            return Some(game);
        }
        for square in Squares(current.position.legal_moves() & occupied) {
            let mut longer = game.clone();
            longer.play(square).expect("the move is legal");
            let reached = longer.to_move();
            if seen.len() < TRIED_MAX && seen.insert((reached.position, reached.black_to_move)) {
                open.push(longer);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Ply;
    use crate::random::{Stream, stream};

    fn book(lines: &[&str]) -> Result<Book, String> {
        Book::of_lines(
            &lines
                .iter()
                .map(|&line| line.to_owned())
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn a_book_has_beginnings_only() {
        let sound = book(&["f5d6c3", "f5f6"]).unwrap();
        assert_eq!(
            sound.openings.iter().map(Game::ply).collect::<Vec<_>>(),
            [Ply(3), Ply(2)]
        );
        assert_eq!(sound.lines(), ["f5d6c3", "f5f6"]);
        assert_ne!(
            sound.content(),
            book(&["f5f6", "f5d6c3"]).unwrap().content()
        );
        for (lines, reason) in [
            (&[][..], "no opening"),
            (&["f5d6", "f5f5"][..], "opening 2"),
            (&["e6f4e3f6g5d6e7f5c5"][..], "a whole game"),
        ] {
            assert!(book(lines).unwrap_err().contains(reason), "{lines:?}");
        }
    }

    #[test]
    fn moves_lead_to_the_board_of_an_opening() {
        for number in 0..100 {
            let mut rng = stream(1, Stream::Game(1, number));
            let mut game = Game::default();
            for _ in 0..4 + number % 9 {
                game.play(
                    rng.pick(Squares(game.to_move().position.legal_moves()))
                        .unwrap(),
                )
                .unwrap();
            }
            let board = game.to_move();
            let found = Book::new([Game::new(board)]).unwrap().openings[0].clone();
            assert_eq!(
                (found.start(), found.to_move()),
                (ColoredPosition::START, board),
                "{}",
                game.transcript()
            );
        }
        // A disc in a corner of the start belongs to no game.
        let text = format!("X{}", &ColoredPosition::START.board_text()[1..]);
        let lonely = crate::engine::board::notation::parse_board(&format!("{text} X")).unwrap();
        assert!(
            Book::new([Game::new(lonely)])
                .unwrap_err()
                .contains("opening 1: no moves were found")
        );
    }
}
