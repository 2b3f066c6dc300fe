//! A book of openings.

use crate::artifact::{ContentHash, FieldHasher};
use crate::engine::board::notation::moves_text;
use crate::engine::{Game, Square};

/// How one game begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Opening {
    pub(super) moves: Vec<Square>,
    /// Half-moves that these are, passes included.
    pub(super) plies: u8,
}

impl Opening {
    pub(super) fn of(game: &Game) -> Self {
        Self { moves: game.moves().collect(), plies: game.ply().0 }
    }
}

/// Chosen openings, from which games continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Book {
    pub(super) openings: Vec<Opening>,
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
            openings.push(Opening::of(&game));
        }
        Ok(Self { openings, content: hasher.finish() })
    }

    /// Its lines, moves `f5d6c3…`.
    pub fn lines(&self) -> Vec<String> {
        self.openings.iter().map(|opening| moves_text(opening.moves.iter().copied())).collect()
    }

    /// The hash of its lines in their order.
    pub const fn content(&self) -> ContentHash {
        self.content
    }
}
