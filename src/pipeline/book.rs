//! A book of openings.

use crate::artifact::{ContentHash, FieldHasher};
use crate::engine::Game;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Chosen openings, from which games continue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct Book {
    /// The openings; copies share them.
    pub openings: Arc<[Game]>,
    content: ContentHash,
}

impl Book {
    /// A book of lines of legal moves, passes left out.
    ///
    /// # Errors
    ///
    /// An invalid line, one that ends the game, or an empty book.
    pub fn new(lines: &[String]) -> Result<Self, String> {
        if lines.is_empty() {
            return Err("it has no opening".into());
        }
        let mut hasher = FieldHasher::new("book");
        let mut openings = Vec::with_capacity(lines.len());
        for (number, line) in (1..).zip(lines) {
            let bad = |reason: String| format!("opening {number}: {reason}");
            let game = Game::from_transcript(line).map_err(|error| bad(error.to_string()))?;
            if game.is_over() {
                return Err(bad("it is a whole game".into()));
            }
            hasher.field("opening", game.transcript().as_bytes());
            openings.push(game);
        }
        Ok(Self { openings: openings.into(), content: hasher.finish() })
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
        Self::new(&lines)
    }
}

impl From<Book> for Vec<String> {
    fn from(book: Book) -> Self {
        book.lines()
    }
}
