//! The best moves of a position with what they are worth.

use super::GameSession;
use crate::engine::{Depth, Limits, MoveValue, Score, Square, Stopped};

/// The best moves, best first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hints {
    #[expect(missing_docs, reason = "the name says it")]
    pub hints: Vec<Hint>,
    /// How far the search looked ahead.
    pub depth: Depth,
    /// Whether the scores are the results of best play to the end.
    pub exact: bool,
    /// The positions visited.
    pub nodes: u64,
}

/// A move, or a pass where there is none, and what it is worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    /// `None` is a pass.
    pub square: Option<Square>,
    /// The best moves after it as far as they are known, without passes.
    pub line: Vec<Square>,
    /// From the side to move.
    pub score: Score,
}

impl GameSession<'_> {
    /// The best moves, at most `count`. Only a single one has a line, and may end at a node limit.
    pub fn hints(&mut self, count: usize, limits: Limits) -> Result<Hints, Stopped> {
        let position = self.game().latest().position;
        if count <= 1 || position.legal_moves() == 0 {
            let result = self.search_within(limits).unless_stopped()?;
            let line = result
                .line
                .iter()
                .copied()
                .skip_while(|&square| Some(square) == result.best_move)
                .collect();
            let hint = Hint {
                square: result.best_move,
                line,
                score: result.score,
            };
            return Ok(Hints {
                hints: vec![hint],
                depth: result.depth,
                exact: result.exact,
                nodes: result.nodes,
            });
        }
        let (values, nodes) = self.move_values(limits)?;
        let hint = |value: &MoveValue| Hint {
            square: Some(value.square),
            line: Vec::new(),
            score: value.score,
        };
        let hints = values.iter().take(count).map(hint).collect();
        Ok(Hints {
            hints,
            depth: limits.depth,
            exact: position.empties() <= limits.exact_empties,
            nodes,
        })
    }
}
