//! What every legal move of a position is worth.

use super::depth::Depth;
use super::limits::Limits;
use super::result::Stopped;
use super::root::root_orders;
use super::searcher::Searcher;
use crate::engine::board::kernel::with_kernel;
use crate::engine::board::position::Position;
use crate::engine::board::square::Square;
use crate::engine::score::Score;
use std::cmp::Reverse;

/// A legal move with its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MoveValue {
    #[expect(missing_docs, reason = "the name says it")]
    pub square: Square,
    /// What it is worth to the side that plays it.
    pub score: Score,
    /// Greater for moves that a search of the position tries earlier when it knows nothing better,
    /// in millidiscs: the static value, of a model with vectors its linear part, less a disc per
    /// reply, corners counted twice. An exact search has a separate order, from 12 empty squares on
    /// in millidiscs, nearer to the end in points.
    pub order: i32,
}

impl Searcher<'_> {
    /// The values of all legal moves, best first, and the nodes that they took.
    ///
    /// Moves are searched as [`Searcher::search`] would search the position, one ply of
    /// `limits.depth` being the move itself, but none is pruned and nodes are not limited: by full
    /// width the greatest value is that of the position. At depth 0 they are static values after
    /// the moves, and not clamped.
    pub fn move_values(
        &mut self,
        position: Position,
        limits: Limits,
    ) -> Result<(Vec<MoveValue>, u64), Stopped> {
        let is_exact = position.empties() <= limits.exact_empties;
        let mut run = self.run();
        let depth = limits.depth.min(Depth(position.empties()));
        let orders = with_kernel!(run.kernel, root_orders(&mut run, position, depth, is_exact));
        let mut nodes = run.nodes;
        let mut values = Vec::with_capacity(orders.len());
        for (square, order) in orders {
            let Some(next) = position.play(square) else {
                continue;
            };
            let score = if is_exact || Depth(0) < limits.depth {
                let exact_empties = if is_exact { Depth::MAX.0 } else { 0 };
                let depth = Depth(limits.depth.0.saturating_sub(1));
                let limits = Limits {
                    depth,
                    exact_empties,
                    wld_empties: 0,
                    nodes: None,
                    ..limits
                };
                let result = self.search(next, limits).unless_stopped()?;
                nodes += result.nodes;
                -result.score
            } else {
                nodes += 1;
                -self.static_value(next)
            };
            values.push(MoveValue {
                square,
                score,
                order,
            });
        }
        values.sort_by_key(|value| (Reverse(value.score), Reverse(value.order), value.square));
        Ok((values, nodes))
    }

    /// A static value where there is a move, passes being free; else the final score.
    fn static_value(&self, position: Position) -> Score {
        if position.legal_moves() != 0 {
            self.evaluation.static_value(position)
        } else if position.pass().legal_moves() != 0 {
            -self.evaluation.static_value(position.pass())
        } else {
            position.final_discs().into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::eval::builtin;
    use crate::engine::search::mpc::MpcTable;
    use crate::engine::search::mpc_level::MpcLevel;
    use crate::engine::search::selective::Selective;

    /// Positions of a game in which every move is the first or the last legal one.
    fn positions() -> Vec<Position> {
        let mut positions = vec![Position::START];
        while let Some(&last) = positions.last().filter(|last| !last.is_over()) {
            let count = last.children().count();
            let turn = positions.len() % 2 * count.saturating_sub(1);
            positions.push(
                last.children()
                    .nth(turn)
                    .map_or_else(|| last.pass(), |(_, next)| next),
            );
        }
        positions
    }

    #[test]
    fn the_best_move_is_worth_what_the_position_is() {
        let (evaluation, mpc) = (builtin::square_weights(), MpcTable::empty());
        let mut searcher = Searcher::new(&evaluation, &mpc, 14);
        for position in positions() {
            for depth in (1..5).map(Depth) {
                let limits = Limits {
                    exact_empties: 8,
                    ..Limits::full_width(depth)
                };
                searcher.clear();
                let (values, nodes) = searcher.move_values(position, limits).unwrap();
                assert_eq!(values.len() as u32, position.legal_moves().count_ones());
                assert!(
                    values.is_sorted_by_key(|value| Reverse(value.score)),
                    "{values:?}"
                );
                let Some(best) = values.first() else { continue };
                searcher.clear();
                assert_eq!(
                    best.score,
                    searcher.search(position, limits).score,
                    "{position:?} at {depth:?}"
                );
                assert!(values.len() as u64 <= nodes);
            }
        }
    }

    #[test]
    fn neither_proofs_nor_a_node_limit_touch_the_values() {
        let (evaluation, mpc) = (builtin::square_weights(), MpcTable::empty());
        let mut searcher = Searcher::new(&evaluation, &mpc, 14);
        for position in positions().into_iter().rev().take(20) {
            let limits = Limits::full_width(Depth(3));
            let [plain, limited] = [
                limits,
                Limits {
                    wld_empties: 20,
                    nodes: Some(1),
                    ..limits
                },
            ]
            .map(|limits| {
                searcher.clear();
                searcher.move_values(position, limits).unwrap()
            });
            assert_eq!(plain, limited, "{position:?}");
        }
    }

    #[test]
    fn static_values_of_moves_are_those_of_the_positions_after_them() {
        let (evaluation, mpc) = (builtin::square_weights(), MpcTable::empty());
        let mut searcher = Searcher::new(&evaluation, &mpc, 14);
        let (values, _) = searcher
            .move_values(Position::START, Limits::full_width(Depth(0)))
            .unwrap();
        for value in values {
            let next = Position::START.play(value.square).unwrap();
            assert_eq!(value.score, -evaluation.static_value(next));
            // Three replies, none in a corner.
            assert_eq!(value.order, value.score.0 - 3_000);
        }
    }

    #[test]
    fn every_move_has_a_value_however_much_is_pruned() {
        let (evaluation, mpc) = (builtin::square_weights(), MpcTable::empty());
        let mut searcher = Searcher::new(&evaluation, &mpc, 14);
        let selective = Selective {
            rank: Some(1),
            ..Selective::NONE
        };
        let limits = Limits {
            selective,
            mpc: MpcLevel::FullWidth,
            ..Limits::full_width(Depth(4))
        };
        for position in positions() {
            searcher.clear();
            let (values, _) = searcher.move_values(position, limits).unwrap();
            assert_eq!(
                values.len() as u32,
                position.legal_moves().count_ones(),
                "{position:?}"
            );
        }
    }
}
