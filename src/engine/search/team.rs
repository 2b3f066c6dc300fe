//! Several searchers of one position, each in its own thread.
//!
//! All members run the same search from the root at the same time. They share the transposition
//! table, so that none searches what another has finished, and mark the nodes that they work on: a
//! member puts such a move off until the others are done (ABDADA: Weill, "The ABDADA distributed
//! minimax search algorithm", 1996). A member whose node another one settles leaves it. The root
//! searches are numbered, and the result of each is that of the member that finishes first.

use super::membership::{Board, Membership};
use super::mpc::MpcTable;
use super::result::SearchResult;
use super::searcher::Searcher;
use super::table::TranspositionTable;
use crate::engine::eval::evaluation::Evaluation;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Searchers of one position with a common table.
#[must_use]
pub struct Team<'m> {
    members: Vec<Searcher<'m>>, // at least one
    board: Arc<Board>,
}

impl<'m> Team<'m> {
    /// A team of `size` searchers, at least one, with an empty table of 2^`table_bits` entries, 16
    /// bytes each.
    pub fn new(evaluation: &'m Evaluation, mpc: &'m MpcTable, table_bits: u8, size: usize) -> Self {
        let board = Arc::new(Board::new());
        let alone = Searcher::new(evaluation, mpc, table_bits);
        let member = |_| {
            alone.member(Membership {
                board: Arc::clone(&board),
                step: 0,
            })
        };
        let members = if 1 < size {
            (0..size).map(member).collect()
        } else {
            vec![alone]
        };
        Self { members, board }
    }

    /// The same team, whose searches end soon after `stop` is raised.
    pub fn stopped_by(self, stop: &'m AtomicBool) -> Self {
        Self {
            members: self
                .members
                .into_iter()
                .map(|member| member.stopped_by(stop))
                .collect(),
            ..self
        }
    }

    /// See [`Searcher::alarmed_by`].
    pub fn alarmed_by(self, alarm: &Arc<AtomicBool>) -> Self {
        Self {
            members: self
                .members
                .into_iter()
                .map(|member| member.alarmed_by(alarm))
                .collect(),
            ..self
        }
    }

    /// The first member and the others, ready for one search: each calls the same method with the
    /// same arguments in its own thread. A limit of nodes holds for each of them.
    pub fn members(&mut self) -> (&mut Searcher<'m>, &mut [Searcher<'m>]) {
        self.board.wipe();
        self.members
            .iter_mut()
            .filter_map(|member| member.membership.as_mut())
            .for_each(|member| member.step = 0);
        self.members.split_first_mut().expect("a team has a member")
    }

    /// Changes the size of the table to 2^`table_bits` entries; a table of another size is empty.
    pub fn set_table_bits(&mut self, table_bits: u8) {
        if self.members[0].table.bits() != table_bits {
            let table = Arc::new(TranspositionTable::new(table_bits));
            self.members
                .iter_mut()
                .for_each(|member| member.table = Arc::clone(&table));
        }
    }

    /// Forgets all earlier searches, so that results are those of a new team.
    pub fn clear(&mut self) {
        self.members[0].table.clear();
        self.members
            .iter_mut()
            .for_each(|member| member.local.clear());
    }
}

/// The result of the member that came farthest, with the nodes of all.
pub fn joint_result(first: SearchResult, others: Vec<SearchResult>) -> SearchResult {
    let nodes = first.nodes + others.iter().map(|result| result.nodes).sum::<u64>();
    let progress = |result: &SearchResult| (result.complete, result.exact, result.depth);
    let better = |best: SearchResult, other| {
        if progress(&best) < progress(&other) {
            other
        } else {
            best
        }
    };
    SearchResult {
        nodes,
        ..others.into_iter().fold(first, better)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::board::position::Position;
    use crate::engine::eval::builtin;
    use crate::engine::search::depth::Depth;
    use crate::engine::search::limits::Limits;

    #[test]
    fn either_flag_stops_every_member() {
        let (evaluation, mpc) = (builtin::square_weights(), MpcTable::empty());
        let (raised, alarm) = (AtomicBool::new(true), Arc::new(AtomicBool::new(true)));
        let team = || Team::new(&evaluation, &mpc, 12, 2);
        for (mut team, is_stopped) in [
            (team(), false),
            (team().stopped_by(&raised), true),
            (team().alarmed_by(&alarm), true),
        ] {
            let (first, others) = team.members();
            for member in [first].into_iter().chain(others) {
                assert_eq!(
                    member
                        .search(Position::START, Limits::full_width(Depth(12)))
                        .stopped,
                    is_stopped
                );
            }
        }
    }

    #[test]
    fn a_team_has_the_result_that_came_farthest_and_the_nodes_of_all() {
        let (evaluation, mpc) = (builtin::square_weights(), MpcTable::empty());
        let mut searcher = Searcher::new(&evaluation, &mpc, 12);
        let [far, near] =
            [4, 2].map(|depth| searcher.search(Position::START, Limits::full_width(Depth(depth))));
        let incomplete = SearchResult {
            complete: false,
            depth: Depth(9),
            ..far.clone()
        };
        let nodes = 2 * far.nodes + near.nodes;
        for [first, second, third] in [
            [&far, &near, &incomplete],
            [&near, &incomplete, &far],
            [&incomplete, &far, &near],
        ] {
            let found = joint_result(first.clone(), vec![second.clone(), third.clone()]);
            assert_eq!(
                found,
                SearchResult {
                    nodes,
                    ..far.clone()
                }
            );
        }
    }
}
