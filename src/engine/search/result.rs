//! What a search found.

use super::depth::Depth;
use crate::engine::board::square::Square;
use crate::engine::score::Score;

/// What a search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchResult {
    /// From the side to move, between [`Score::MIN`] and [`Score::MAX`].
    pub score: Score,
    /// The best move; `None` if the side to move must pass or the game is over.
    pub best_move: Option<Square>,
    /// The depth of the score; the number of empty squares if it is exact.
    pub depth: Depth,
    /// Whether the score is the result of best play to the end.
    pub exact: bool,
    /// The positions visited, including the root and every leaf.
    pub nodes: u64,
    /// Best play from here as far as it is known, without passes.
    pub line: Vec<Square>,
    /// Whether the search was finished, rather than ended by its node limit or the stop flag.
    pub complete: bool,
    /// Whether the stop flag ended it.
    pub stopped: bool,
}

/// A finished search of the root.
#[derive(Clone, Copy)]
pub(super) struct Iteration {
    pub(super) value: Score,
    pub(super) best: Square,
    pub(super) depth: Depth,
}

impl SearchResult {
    /// A complete result, whose line is the best move alone.
    pub fn finished(
        score: Score,
        best_move: Option<Square>,
        depth: Depth,
        exact: bool,
        nodes: u64,
    ) -> Self {
        let line = best_move.into_iter().collect();
        Self {
            score,
            best_move,
            depth,
            exact,
            nodes,
            line,
            complete: true,
            stopped: false,
        }
    }

    /// The result, unless the stop flag ended the search: how far it got by then depends on the
    /// time.
    pub fn unless_stopped(self) -> Result<Self, Stopped> {
        if self.stopped { Err(Stopped) } else { Ok(self) }
    }
}

/// The stop flag ended a search, so it has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the search was stopped")]
pub struct Stopped;
