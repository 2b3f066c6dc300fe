//! The searcher: an evaluation, MPC statistics and a table, ready to search one position after
//! another.

use super::depth::Depth;
use super::endgame::local::LocalTable;
use super::limits::Limits;
use super::membership::{Marked, Membership};
use super::mpc::MpcTable;
use super::mpc_level::{Margin, MpcLevel};
use super::node::PLIES;
use super::result::{SearchResult, Stopped};
use super::root::{iterate, solve, value_at_depth};
use super::run::{Plain, SearchRun, WithExtras};
use super::sampling::{NodeRequest, NodeSampler, SampledNode};
use super::selective::Selective;
use super::table::{Sureness, TranspositionTable};
use super::window::OpenWindow;
use crate::engine::board::kernel::{KernelChoice, with_kernel};
use crate::engine::board::position::Position;
use crate::engine::eval::evaluation::Evaluation;
use crate::engine::eval::incremental::Accumulator;
use crate::engine::score::Score;
use arrayvec::ArrayVec;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The stop flag of searchers that were given none: nothing raises it.
static NEVER: AtomicBool = AtomicBool::new(false);

/// Searches positions with one model; its table is kept from one search to the next until it is
/// cleared.
///
/// ```
/// use renma::engine::eval::builtin::square_weights;
/// use renma::engine::{Depth, Limits, MpcTable, Position, Searcher};
///
/// let (evaluation, mpc) = (square_weights(), MpcTable::empty());
/// let mut searcher = Searcher::new(&evaluation, &mpc, 16);
/// let result = searcher.search(Position::START, Limits::full_width(Depth(6)));
/// assert!(result.complete && !result.exact);
/// assert_eq!(result.line.first().copied(), result.best_move);
/// println!("{:+.2} discs after {} nodes", result.score.discs(), result.nodes);
/// ```
#[must_use]
pub struct Searcher<'m> {
    pub(super) evaluation: &'m Evaluation,
    mpc: &'m MpcTable,
    kernel: KernelChoice,
    pub(super) table: Arc<TranspositionTable>,
    /// What is not shared with a team.
    pub(super) local: LocalTable,
    accumulators: Box<[Accumulator; PLIES]>,
    stop: &'m AtomicBool,
    alarm: Arc<AtomicBool>,
    pub(super) membership: Option<Membership>,
}

/// From this depth on a selective search to the end is one to final scores; nearer to the end cuts
/// save nothing.
const END_DEPTH_MIN: Depth = Depth(12);

impl<'m> Searcher<'m> {
    /// A searcher with an empty table of 2^`table_bits` entries, 16 bytes each.
    pub fn new(evaluation: &'m Evaluation, mpc: &'m MpcTable, table_bits: u8) -> Self {
        Self::with_kernel(evaluation, mpc, table_bits, KernelChoice::detect())
    }

    /// [`Searcher::new`], with the given kernel; results and node counts do not depend on it.
    pub fn with_kernel(
        evaluation: &'m Evaluation,
        mpc: &'m MpcTable,
        table_bits: u8,
        kernel: KernelChoice,
    ) -> Self {
        Self {
            evaluation,
            mpc,
            kernel,
            table: Arc::new(TranspositionTable::new(table_bits)),
            local: LocalTable::new(),
            accumulators: Box::new([Accumulator::ZERO; PLIES]),
            stop: &NEVER,
            alarm: Arc::default(),
            membership: None,
        }
    }

    /// Another searcher with the same table, as a member of a team.
    pub(super) fn member(&self, membership: Membership) -> Self {
        Self {
            table: Arc::clone(&self.table),
            local: LocalTable::new(),
            accumulators: Box::new([Accumulator::ZERO; PLIES]),
            alarm: Arc::clone(&self.alarm),
            membership: Some(membership),
            ..*self
        }
    }

    /// The same searcher, whose searches end soon after `stop` is raised: they check it every few
    /// thousand nodes. A flag that is not raised changes nothing.
    pub const fn stopped_by(mut self, stop: &'m AtomicBool) -> Self {
        self.stop = stop;
        self
    }

    /// The same searcher, whose searches end soon after either flag is raised: that of
    /// [`Searcher::stopped_by`], or this one.
    pub fn alarmed_by(mut self, alarm: &Arc<AtomicBool>) -> Self {
        self.alarm = Arc::clone(alarm);
        self
    }

    /// Forgets all earlier searches, so that results are those of a new searcher.
    pub fn clear(&mut self) {
        self.table.clear();
        self.local.clear();
    }

    /// Searches a position within `limits`.
    ///
    /// Depth counts moves: a pass is free. When the root has few enough empty squares for
    /// `exact_empties` the score is exact. When it has few enough for `wld_empties` only, the sign
    /// of the score is proven and its size comes from the depth search, at least two discs from
    /// zero; a proven draw is exact. A selective search whose depth reaches the end of the game
    /// cuts on the way to final scores: its score is even and not exact. A search that prunes or
    /// extends never has an exact score.
    ///
    /// The first iteration is always finished, so there is a move whenever there is a legal one,
    /// even if the stop flag is raised. If an exact search is stopped, the result is that of the
    /// selective search by depth before it.
    pub fn search(&mut self, position: Position, limits: Limits) -> SearchResult {
        if position.legal_moves() == 0 {
            let passed = position.pass();
            if passed.legal_moves() == 0 {
                let (score, depth) = (position.final_discs().into(), Depth(position.empties()));
                return SearchResult::finished(score, None, depth, true, 1);
            }
            let result = self.search(passed, limits);
            return SearchResult {
                score: -result.score,
                best_move: None,
                nodes: result.nodes + 1,
                ..result
            };
        }
        let mut result = self.search_moves(position, limits);
        // A node limit may have ended the search just before; a caller that stops need not know.
        let is_raised = [self.stop, &self.alarm]
            .iter()
            .any(|flag| flag.load(Ordering::Relaxed));
        result.stopped = !result.complete && is_raised;
        result
    }

    /// Searches a position with a legal move.
    fn search_moves(&mut self, position: Position, limits: Limits) -> SearchResult {
        let mut run = self.run();
        if position.empties() <= limits.exact_empties {
            return run.exact_result(position, limits.nodes);
        }
        run.set_level(limits.mpc);
        let end = Depth(position.empties());
        let depth = limits.depth.min(end);
        let to_end = depth == end && END_DEPTH_MIN <= depth && run.margin.is_finite();
        let found = if limits.selective != Selective::NONE {
            run.set_selective(limits.selective);
            let iteration = with_kernel!(
                run.kernel,
                iterate::<WithExtras>(&mut run, position, depth, limits.nodes)
            );
            SearchResult {
                exact: false,
                ..run.result(position, iteration)
            }
        } else if to_end {
            run.selective_result(position, limits.nodes)
        } else {
            let iteration = with_kernel!(
                run.kernel,
                iterate::<Plain>(&mut run, position, depth, limits.nodes)
            );
            run.result(position, iteration)
        };
        if run.stopped || found.exact || limits.wld_empties < position.empties() {
            return found;
        }
        run.proven_result(position, found)
    }

    /// The value of a full-window search of exactly this depth, and its nodes; never switches to
    /// the endgame solver.
    ///
    /// With [`MpcLevel::FullWidth`] it is the minimax value of the static values `depth` moves
    /// ahead, clamped to ±64,000, or of the final results of games that end sooner. A search takes
    /// the part that vectors have in a static value within the range that it usually has.
    pub fn score_at_depth(
        &mut self,
        position: Position,
        depth: Depth,
        mpc: MpcLevel,
    ) -> Result<(Score, u64), Stopped> {
        let mut run = self.run();
        run.set_level(mpc);
        run.exact_depth = true;
        let value = with_kernel!(
            run.kernel,
            value_at_depth::<Plain>(&mut run, position, depth)
        );
        value.map(|value| (value, run.nodes)).ok_or(Stopped)
    }

    /// A null-window node of the tree that a full-width search of this depth visits; `None` if no
    /// such node has the depth asked for. It depends on the arguments and the model alone if the
    /// table is cleared before.
    pub fn sample_node(
        &mut self,
        position: Position,
        depth: Depth,
        request: NodeRequest,
    ) -> Result<Option<SampledNode>, Stopped> {
        let mut run = self.run();
        run.sampler = Some(NodeSampler {
            request,
            least: None,
        });
        run.exact_depth = true;
        let value = with_kernel!(
            run.kernel,
            value_at_depth::<WithExtras>(&mut run, position, depth)
        );
        let _ = value.ok_or(Stopped)?;
        Ok(run.sampler.and_then(|sampler| Some(sampler.least?.1)))
    }

    /// The exact score with the best move and a line to the end of the game, unless the stop flag
    /// is raised.
    pub fn solve(&mut self, position: Position) -> SearchResult {
        let mut result = self.search(
            position,
            Limits {
                exact_empties: u8::MAX,
                ..Limits::full_width(Depth(1))
            },
        );
        if result.stopped {
            return result;
        }
        let mut run = self.run();
        run.allow_stop(None);
        result.line.clear();
        let mut current = if result.best_move.is_none() {
            position.pass()
        } else {
            position
        };
        let mut score = if result.best_move.is_none() {
            -result.score
        } else {
            result.score
        };
        while current.legal_moves() != 0 {
            let solved = with_kernel!(
                run.kernel,
                solve(&mut run, current, OpenWindow::full(), score)
            );
            let Some((best, next)) =
                solved.and_then(|solved| Some((solved.best, current.play(solved.best)?)))
            else {
                break;
            };
            result.line.push(best);
            let passes = next.legal_moves() == 0;
            (current, score) = if passes {
                (next.pass(), score)
            } else {
                (next, -score)
            };
        }
        result.nodes += run.nodes;
        (result.complete, result.stopped) = (result.complete && !run.stopped, run.stopped);
        result
    }

    pub(super) fn run(&mut self) -> SearchRun<'_> {
        SearchRun {
            kernel: self.kernel,
            incremental: &self.evaluation.incremental,
            mpc: self.mpc,
            table: &self.table,
            local: &mut self.local,
            accumulators: &mut self.accumulators,
            exact_depth: false,
            nodes: 0,
            stopped: false,
            margin: Margin::new(MpcLevel::FullWidth),
            sureness: Sureness::FULL,
            nodes_max: u64::MAX,
            next_check: u64::MAX,
            stops: [self.stop, &self.alarm],
            marked: if self.membership.is_some() {
                Marked::OF_TEAM
            } else {
                Marked::NONE
            },
            member: self.membership.as_mut(),
            open_nodes: ArrayVec::new(),
            settled: None,
            selective: Selective::NONE,
            lost_value: [0; PLIES],
            extending: false,
            sampler: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::mpc::MpcEntry;
    use super::super::selective::Extension;
    use super::*;
    use crate::engine::eval::builtin;
    use crate::engine::eval::pattern_set::VectorShape;
    use std::sync::Arc;

    fn minimax(evaluation: &Evaluation, position: Position, depth: Depth) -> Score {
        if position.legal_moves() == 0 {
            let passed = position.pass();
            return if passed.legal_moves() == 0 {
                position.final_discs().into()
            } else {
                -minimax(evaluation, passed, depth)
            };
        }
        if depth == Depth(0) {
            let (linear, square) = evaluation.parts(position);
            let (least, most) = evaluation.incremental.square_range(position.empties());
            return (linear + square.clamp(least, most)).clamp(Score::MIN, Score::MAX);
        }
        position
            .children()
            .map(|(_, next)| -minimax(evaluation, next, depth - 1))
            .max()
            .unwrap()
    }

    /// Square weights with vectors, the square of whose sum is about 5 discs and at times far more
    /// where no component is negative.
    fn with_vectors(negative: u8) -> Evaluation {
        let plain = builtin::square_weights();
        let shape = VectorShape {
            size: 8,
            negative,
            ..VectorShape::none()
        };
        let set = (**plain.set()).clone().with_vectors(shape).unwrap();
        let mut state = 1_u64;
        let mut component = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as i32 % 32 - 16 + (state >> 50) as i32 % 31 - 15
        };
        let vectors: Vec<[i8; 8]> = (0..set.feature_count())
            .map(|_| std::array::from_fn(|_| component() as i8))
            .collect();
        let vectors = set
            .canonical()
            .iter()
            .flat_map(|&canonical| vectors[canonical as usize])
            .collect();
        Evaluation::with_vectors(Arc::new(set), plain.weights().to_vec(), vectors).unwrap()
    }

    #[test]
    fn limits_tell_the_depth_of_a_result_and_whether_it_is_exact() {
        let evaluation = builtin::square_weights();
        let mpc = MpcTable::empty();
        let mut searcher = Searcher::new(&evaluation, &mpc, 16);
        let pruned = Selective {
            rank: Some(3),
            ..Selective::NONE
        };
        for position in positions(1..=18)
            .into_iter()
            .filter(|position| position.legal_moves() != 0)
        {
            for (depth, exact_empties) in [(1, 0), (5, 4), (12, 0), (20, 6)] {
                if 13 < position.empties() && 5 < depth {
                    continue;
                }
                for (mpc, selective) in [
                    (MpcLevel::FullWidth, Selective::NONE),
                    (MpcLevel::P73, Selective::NONE),
                    (MpcLevel::FullWidth, pruned),
                ] {
                    let limits = Limits {
                        exact_empties,
                        mpc,
                        selective,
                        ..Limits::full_width(Depth(depth))
                    };
                    let result = searcher.search(position, limits);
                    let (depth, exact) = limits.outcome(position.empties());
                    // There are no statistics.
                    let expected = (depth, exact.unwrap_or(true));
                    assert_eq!(
                        (result.depth, result.exact),
                        expected,
                        "{position:?} {limits:?}"
                    );
                    assert!(!result.exact || result.score.is_final(), "{position:?}");
                }
            }
        }
    }

    #[test]
    fn a_full_width_search_is_minimax() {
        compare_with_minimax(&builtin::square_weights());
        compare_with_minimax(&with_vectors(0));
        compare_with_minimax(&with_vectors(3));
        compare_with_minimax(&with_vectors(8));
    }

    fn compare_with_minimax(evaluation: &Evaluation) {
        let mpc = MpcTable::empty();
        let mut searcher = Searcher::new(evaluation, &mpc, 16);
        let mut position = Position::START;
        let mut turn = 0;
        while position.legal_moves() != 0 {
            for depth in (0..5).map(Depth) {
                let expected = minimax(evaluation, position, depth);
                assert_eq!(
                    searcher
                        .score_at_depth(position, depth, MpcLevel::FullWidth)
                        .unwrap()
                        .0,
                    expected,
                    "{position:?}"
                );
                let result = searcher.search(position, Limits::full_width(depth));
                assert_eq!(
                    (result.score, result.depth),
                    (expected, depth.min(Depth(position.empties()))),
                    "{position:?}"
                );
            }
            turn += 1;
            let count = position.children().count();
            position = position.children().nth(turn % count).unwrap().1;
        }
    }

    /// Positions with their number of empty squares, one in three of a few games.
    fn positions(empties: std::ops::RangeInclusive<u8>) -> Vec<Position> {
        let mut found = Vec::new();
        for game in 0..8_usize {
            let mut position = Position::START;
            while !position.is_over() {
                let moves = position.children().count();
                let turn = game * 13 + usize::from(position.empties()) * 7;
                position = match moves {
                    0 => position.pass(),
                    _ => position.children().nth(turn % moves).unwrap().1,
                };
                if empties.contains(&position.empties()) && turn % 3 == 0 {
                    found.push(position);
                }
            }
        }
        assert!(5 < found.len());
        found
    }

    #[test]
    fn kernels_symmetries_and_cleared_tables_change_nothing() {
        let evaluation = builtin::square_weights();
        let entry = |deep, shallow| MpcEntry {
            empties_min: 0,
            ..MpcEntry::source(Depth(deep), Depth(shallow), Score(0), Score(3_000))
        };
        let mpc = MpcTable::new(vec![entry(3, 1), entry(4, 2), entry(5, 1), entry(6, 2)]).unwrap();
        let mut used = Searcher::new(&evaluation, &mpc, 12);
        for position in positions(0..=60) {
            let limits = Limits {
                exact_empties: 10,
                wld_empties: 12,
                mpc: MpcLevel::P87,
                ..Limits::full_width(Depth(6))
            };
            let expected = Searcher::new(&evaluation, &mpc, 12).search(position, limits);
            if position.legal_moves() == 0 && !position.is_over() {
                let passed = Searcher::new(&evaluation, &mpc, 12).search(position.pass(), limits);
                assert_eq!(expected.nodes, passed.nodes + 1, "{position:?}");
            }
            used.clear();
            assert_eq!(used.search(position, limits), expected, "{position:?}");
            for kernel in KernelChoice::all() {
                let mut other = Searcher::with_kernel(&evaluation, &mpc, 12, kernel);
                assert_eq!(
                    other.search(position, limits),
                    expected,
                    "{position:?} {kernel:?}"
                );
            }
            for symmetry in crate::engine::board::symmetry::Symmetry::all() {
                let full = Limits {
                    mpc: MpcLevel::FullWidth,
                    depth: Depth(4),
                    ..limits
                };
                let image = position.transform(symmetry);
                let score = Searcher::new(&evaluation, &mpc, 12)
                    .search(image, full)
                    .score;
                assert_eq!(
                    score,
                    Searcher::new(&evaluation, &mpc, 12)
                        .search(position, full)
                        .score,
                    "{position:?}"
                );
            }
        }
    }

    #[test]
    fn exact_and_won_scores_are_those_of_minimax() {
        let (evaluation, mpc) = (builtin::square_weights(), MpcTable::empty());
        let mut searcher = Searcher::new(&evaluation, &mpc, 12);
        for position in positions(0..=8) {
            let expected = minimax(&evaluation, position, Depth::MAX);
            let result = searcher.solve(position);
            assert_eq!(result.score, expected, "{position:?}");
            assert!(result.exact && result.complete);
            assert_eq!(result.best_move.is_some(), position.legal_moves() != 0);
            if let Some(next) = result.best_move.and_then(|best| position.play(best)) {
                assert_eq!(
                    -minimax(&evaluation, next, Depth::MAX),
                    expected,
                    "{position:?} {result:?}"
                );
            }
            let wld = searcher.search(
                position,
                Limits {
                    wld_empties: 60,
                    ..Limits::full_width(Depth(2))
                },
            );
            assert_eq!(
                wld.score.0.signum(),
                expected.0.signum(),
                "{position:?} {wld:?}"
            );
        }
    }

    #[test]
    fn a_proof_of_who_wins_gives_the_depth_search_its_sign() {
        let (evaluation, mpc) = (builtin::square_weights(), MpcTable::empty());
        let mut searcher = Searcher::new(&evaluation, &mpc, 14);
        let limits = Limits::full_width(Depth(2));
        let win = Score(2_000);
        let mut signs = [0; 3];
        for position in positions(3..=12)
            .into_iter()
            .filter(|position| position.legal_moves() != 0)
        {
            searcher.clear();
            let by_depth = searcher.search(position, limits);
            let exact = searcher.solve(position).score;
            searcher.clear();
            let found = searcher.search(
                position,
                Limits {
                    wld_empties: 60,
                    ..limits
                },
            );
            assert!(
                found.complete && !found.stopped && by_depth.nodes < found.nodes,
                "{found:?} {by_depth:?}"
            );
            let (score, depth) = match exact.0.signum() {
                0 => (Score(0), Depth(position.empties())),
                1 => (by_depth.score.max(win), by_depth.depth),
                _ => (by_depth.score.min(-win), by_depth.depth),
            };
            assert_eq!(
                (found.score, found.depth, found.exact),
                (score, depth, exact == Score(0)),
                "{position:?}"
            );
            signs[(exact.0.signum() + 1) as usize] += 1;
        }
        assert!(signs.iter().all(|count| 0 < *count), "{signs:?}");
        // The first depth is always finished; the proof is what the flag ends.
        let raised = AtomicBool::new(true);
        let mut stopped = Searcher::new(&evaluation, &mpc, 14).stopped_by(&raised);
        for position in positions(28..=32)
            .into_iter()
            .filter(|position| position.legal_moves() != 0)
        {
            let shallow = Limits::full_width(Depth(1));
            let (by_depth, found) = (
                searcher.search(position, shallow),
                stopped.search(
                    position,
                    Limits {
                        wld_empties: 60,
                        ..shallow
                    },
                ),
            );
            assert!(
                !found.complete && found.stopped && by_depth.nodes < found.nodes,
                "{found:?}"
            );
            assert_eq!(
                (found.score, found.best_move, found.exact),
                (by_depth.score, by_depth.best_move, false)
            );
        }
    }

    #[test]
    fn a_selective_search_to_the_end_is_cheaper_and_not_exact() {
        let evaluation = builtin::square_weights();
        let entry =
            |deep, shallow| MpcEntry::source(Depth(deep), Depth(shallow), Score(0), Score(9_000));
        let entries = (12..=16).flat_map(|deep| [0, 4].map(|shallow| entry(deep, shallow)));
        let mpc = MpcTable::new(entries.collect()).unwrap();
        let mut searcher = Searcher::new(&evaluation, &mpc, 16);
        let (mut nodes, mut near) = ([0, 0], 0);
        let positions = positions(12..=16);
        for &position in &positions {
            searcher.clear();
            let exact = searcher.solve(position);
            searcher.clear();
            let found = searcher.search(
                position,
                Limits {
                    mpc: MpcLevel::P73,
                    ..Limits::full_width(Depth::MAX)
                },
            );
            if position.legal_moves() != 0 {
                assert!(
                    !found.exact && found.complete && found.depth == Depth(position.empties()),
                    "{found:?}"
                );
            }
            assert_eq!(found.score.0 % 2_000, 0, "{position:?}");
            near += usize::from((found.score - exact.score).abs() <= Score(8_000));
            nodes = [nodes[0] + found.nodes, nodes[1] + exact.nodes];
        }
        assert!(nodes[0] < nodes[1], "{nodes:?}");
        assert!(
            3 * positions.len() < 4 * near,
            "{near} of {}",
            positions.len()
        );
    }

    #[test]
    fn pruning_searches_fewer_nodes_and_nothing_to_prune_is_the_plain_search() {
        let (evaluation, mpc) = (builtin::square_weights(), MpcTable::empty());
        let mut searcher = Searcher::new(&evaluation, &mpc, 14);
        let plain = Selective::NONE;
        let mut nodes = [0; 6];
        for position in positions(20..=50) {
            let forms = [
                plain,
                Selective {
                    rank: Some(36),
                    ..plain
                },
                Selective {
                    threshold: Some(Score(-4_000)),
                    ..plain
                },
                Selective {
                    rank: Some(3),
                    ..plain
                },
                Selective {
                    extension: Some(Extension::Horizon),
                    ..plain
                },
                Selective {
                    extension: Some(Extension::EveryDepth),
                    ..plain
                },
            ];
            let results = forms.map(|selective| {
                searcher.clear();
                searcher.search(
                    position,
                    Limits {
                        selective,
                        ..Limits::full_width(Depth(5))
                    },
                )
            });
            nodes
                .iter_mut()
                .zip(&results)
                .for_each(|(nodes, result)| *nodes += result.nodes);
            assert_eq!(results[0], results[1], "{position:?}");
        }
        let [plain, _, threshold, rank, horizon, every_depth] = nodes;
        assert!(threshold < plain && rank < plain, "{nodes:?}");
        assert!(
            plain < horizon && horizon < every_depth && every_depth < 40 * plain,
            "{nodes:?}"
        );
    }

    #[test]
    fn pruned_scores_are_not_exact_and_leave_exact_ones_as_they_are() {
        let (evaluation, mpc) = (builtin::square_weights(), MpcTable::empty());
        let mut searcher = Searcher::new(&evaluation, &mpc, 14);
        let selective = Selective {
            rank: Some(2),
            extension: Some(Extension::EveryDepth),
            ..Selective::NONE
        };
        let mut differences = 0;
        for position in positions(4..=10) {
            searcher.clear();
            let expected = searcher.solve(position).score;
            searcher.clear();
            let to_end = Limits {
                selective,
                ..Limits::full_width(Depth::MAX)
            };
            let pruned = searcher.search(position, to_end);
            assert!(
                !pruned.exact || position.legal_moves() == 0 && position.is_over(),
                "{pruned:?}"
            );
            differences += usize::from(pruned.score != expected);
            // The table is full of pruned results of the depth that an exact one has.
            let exact = searcher.search(
                position,
                Limits {
                    exact_empties: 10,
                    ..to_end
                },
            );
            assert!(
                exact.exact && exact.score == expected,
                "{position:?} {exact:?}"
            );
        }
        assert!(0 < differences, "nothing was pruned that mattered");
    }

    #[test]
    fn a_node_limit_gives_the_last_finished_iteration() {
        let (evaluation, mpc) = (builtin::square_weights(), MpcTable::empty());
        let mut searcher = Searcher::new(&evaluation, &mpc, 16);
        let whole = searcher.search(Position::START, Limits::full_width(Depth(8)));
        assert!(whole.complete && whole.depth == Depth(8));
        for nodes in [0, 1, 100, 3_000] {
            searcher.clear();
            let limited = searcher.search(
                Position::START,
                Limits {
                    nodes: Some(nodes),
                    ..Limits::full_width(Depth(8))
                },
            );
            assert!(
                !limited.complete && limited.depth < Depth(8) && limited.best_move.is_some(),
                "{limited:?}"
            );
            searcher.clear();
            let again = searcher.search(Position::START, Limits::full_width(limited.depth));
            assert_eq!(
                (limited.score, limited.best_move),
                (again.score, again.best_move)
            );
        }
        searcher.clear();
        let raised = AtomicBool::new(true);
        let stopped = searcher
            .stopped_by(&raised)
            .search(Position::START, Limits::full_width(Depth(8)));
        assert!(!stopped.complete && stopped.stopped && stopped.depth == Depth(1));
    }
}
