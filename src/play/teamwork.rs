//! One position searched by several threads.

use crate::engine::search::team::joint_result;
use crate::engine::{SearchResult, Searcher, Team};
use std::panic::resume_unwind;
use std::thread;

/// The result of one search by all members of a team, each in its own thread.
///
/// Exact scores are those of one thread. Other scores, nodes, and the choice among equal moves vary
/// from run to run, so that no stage of a run searches like this.
pub fn search_together<'m>(
    team: &mut Team<'m>,
    search: impl Fn(&mut Searcher<'m>) -> SearchResult + Sync,
) -> SearchResult {
    let (first, others) = team.members();
    let search = &search;
    let results = thread::scope(|scope| {
        let handles: Vec<_> = others
            .iter_mut()
            .map(|member| scope.spawn(move || search(member)))
            .collect();
        let first = search(first);
        let others = handles
            .into_iter()
            .map(|handle| handle.join().unwrap_or_else(|panic| resume_unwind(panic)));
        (first, others.collect::<Vec<_>>())
    });
    joint_result(results.0, results.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::eval::builtin;
    use crate::engine::{Depth, Limits, MpcEntry, MpcLevel, MpcTable, Position, Score};
    use crate::play::random_positions::game_positions;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Statistics under which selective searches cut often, and are often wrong.
    fn bold_mpc() -> MpcTable {
        let entry = |deep, shallow| MpcEntry {
            empties_min: 0,
            ..MpcEntry::source(Depth(deep), Depth(shallow), Score(0), Score(4_000))
        };
        MpcTable::new(
            (3..=16)
                .flat_map(|deep| [0, deep / 2].map(|shallow| entry(deep, shallow)))
                .collect(),
        )
        .unwrap()
    }

    #[test]
    fn four_threads_solve_as_one_does_with_any_table() {
        let (evaluation, mpc) = (builtin::square_weights(), bold_mpc());
        let mut alone = Searcher::new(&evaluation, &mpc, 18);
        for bits in [4, 10, 18] {
            let mut team = Team::new(&evaluation, &mpc, bits, 4);
            for empties in [1, 8, 14, 15, 16, 18] {
                for position in game_positions(4, empties, 1) {
                    alone.clear();
                    let expected = alone.solve(position);
                    team.clear();
                    let found = search_together(&mut team, |member| member.solve(position));
                    assert_eq!(
                        found.score, expected.score,
                        "{position:?} with a table of 2^{bits}"
                    );
                    assert!(found.exact && found.complete && !found.stopped, "{found:?}");
                    let Some(next) = found.best_move.and_then(|best| position.play(best)) else {
                        continue;
                    };
                    alone.clear();
                    assert_eq!(
                        -alone.solve(next).score,
                        expected.score,
                        "{position:?}: {found:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_a_stopped_team_leaves_in_its_table_is_true() {
        let (evaluation, mpc) = (builtin::square_weights(), bold_mpc());
        let mut alone = Searcher::new(&evaluation, &mpc, 18);
        let stop = AtomicBool::new(false);
        let mut team = Team::new(&evaluation, &mpc, 14, 4).stopped_by(&stop);
        let mut stopped = 0;
        for (number, position) in (0..).zip(game_positions(12, 17, 1)) {
            alone.clear();
            let expected = alone.solve(position).score;
            team.clear();
            let limits = Limits {
                exact_empties: 60,
                ..Limits::full_width(Depth(1))
            };
            // A limit of nodes ends the members at places that differ, as a stop does.
            let limited = Limits {
                nodes: Some(1_000 << number),
                ..limits
            };
            let first = search_together(&mut team, |member| member.search(position, limited));
            assert!(
                first.best_move.is_some() && (!first.exact || first.score == expected),
                "{first:?}"
            );
            stopped += u32::from(!first.complete);
            let found = search_together(&mut team, |member| member.search(position, limits));
            assert!(
                found.exact && found.score == expected,
                "{position:?}: {found:?} after {first:?}"
            );
        }
        assert!(3 <= stopped, "{stopped} searches ended early");
        stop.store(true, Ordering::Relaxed);
        team.clear();
        let found = search_together(&mut team, |member| member.solve(Position::START));
        assert!(
            found.stopped && found.best_move.is_some() && !found.exact,
            "{found:?}"
        );
    }

    #[test]
    fn a_team_searches_by_depth_and_plays_a_legal_move() {
        let (evaluation, mpc) = (builtin::square_weights(), bold_mpc());
        let mut team = Team::new(&evaluation, &mpc, 16, 4);
        for position in game_positions(6, 36, 1) {
            for mpc in [MpcLevel::FullWidth, MpcLevel::P87] {
                team.clear();
                let limits = Limits {
                    mpc,
                    ..Limits::full_width(Depth(8))
                };
                let found = search_together(&mut team, |member| member.search(position, limits));
                assert!(found.complete && found.depth == Depth(8), "{found:?}");
                assert!(
                    found
                        .best_move
                        .is_some_and(|best| position.play(best).is_some()),
                    "{found:?}"
                );
            }
        }
    }

    #[test]
    fn one_member_is_a_searcher_alone() {
        let (evaluation, mpc) = (builtin::square_weights(), bold_mpc());
        let mut team = Team::new(&evaluation, &mpc, 14, 1);
        let mut alone = Searcher::new(&evaluation, &mpc, 14);
        for position in game_positions(6, 16, 1) {
            team.clear();
            alone.clear();
            assert_eq!(
                search_together(&mut team, |member| member.solve(position)),
                alone.solve(position)
            );
        }
    }
}
