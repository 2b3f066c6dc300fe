//! The searcher: an evaluation, MPC statistics and a table, ready to search one position after another.

use super::limits::{DEPTH_MAX, Limits};
use super::mpc::{MpcLevel, MpcTable};
use super::root::{Iteration, iterate, root_orders, solve, value_at_depth};
use super::run::{Hits, PLIES, Run};
use super::selective::{Extras, Met, Plain, Selective, Wanted, WithExtras};
use super::table::{Key, Table};
use crate::engine::board::kernel::{KernelChoice, with_kernel};
use crate::engine::board::position::Position;
use crate::engine::board::square::Square;
use crate::engine::eval::evaluation::{DISC, Evaluation, SCORE_MAX};
use crate::engine::eval::incremental::Accumulator;
use std::sync::atomic::{AtomicBool, Ordering};

/// The least won score: with empties counted for the winner, scores are even.
const WIN_MIN: i32 = 2 * DISC;

/// What a search found out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchResult {
    /// In millidiscs, from the side to move, within ±64,000.
    pub score: i32,
    /// The best move; `None` if the side to move must pass or the game is over.
    pub best_move: Option<Square>,
    /// The depth of the score; the number of empty squares if it is exact.
    pub depth: u8,
    /// Whether the score is the result of best play to the end.
    pub exact: bool,
    /// The positions visited, the root and every leaf included.
    pub nodes: u64,
    /// Best play from here as far as it is known, passes left out.
    pub line: Vec<Square>,
    /// Whether the search got as far as it was to, rather than being ended by its node limit or the stop flag.
    pub complete: bool,
    /// Whether the stop flag ended it.
    pub stopped: bool,
}

impl SearchResult {
    /// The result, unless the stop flag ended the search: what it knew by then depends on the hour.
    ///
    /// # Errors
    ///
    /// [`Stopped`].
    pub fn unless_stopped(self) -> Result<Self, Stopped> {
        if self.stopped { Err(Stopped) } else { Ok(self) }
    }
}

/// A search was ended by its stop flag, so it has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the search was stopped")]
pub struct Stopped;

/// The stop flag of searchers that have none of their own: nothing raises it.
static NEVER: AtomicBool = AtomicBool::new(false);

/// Searches positions with one model; its table carries over from one search to the next until it is cleared.
pub struct Searcher<'m> {
    evaluation: &'m Evaluation,
    mpc: &'m MpcTable,
    kernel: KernelChoice,
    table: Table,
    local: Table,
    accumulators: Box<[Accumulator; PLIES]>,
    stop: &'m AtomicBool,
}

/// An exact search begins with one by depth that ends this far before the end; 7 to 12 are alike, on FFO 40-44.
const PREVIEW_DISTANCE: u8 = 10;
/// From this many empty squares a selective search to the end precedes the exact one; it saves 10 % of the nodes at 18
/// and 20 % at 20.
const SELECTIVE_EMPTIES_MIN: u8 = 16;
/// From this many empty squares it pays to be surer of the first moves: FFO 45-49 take 454 M nodes instead of 574 M.
const SURE_EMPTIES_MIN: u8 = 22;

/// From this many empty squares a selective search to the end is one to final scores; nearer to it cuts save nothing.
const END_EMPTIES_MIN: u8 = 12;

/// How selective the searches before an exact one are: they may be wrong, the exact one repairs it.
const fn preview_level(empties: u8) -> MpcLevel {
    if empties < SURE_EMPTIES_MIN { MpcLevel::P73 } else { MpcLevel::P95 }
}

/// The size of the table for nodes near the end: 128 KiB, so that it stays in the second cache.
const LOCAL_TABLE_BITS: u8 = 13;

/// The final difference that nothing exceeds, in discs.
const DISCS_MAX: i32 = SCORE_MAX / DISC;

impl<'m> Searcher<'m> {
    /// A searcher with an empty table of 2^`table_bits` entries, 16 bytes each.
    #[must_use]
    pub fn new(evaluation: &'m Evaluation, mpc: &'m MpcTable, table_bits: u8) -> Self {
        Self::with_kernel(evaluation, mpc, table_bits, KernelChoice::detect())
    }

    /// As [`Searcher::new`], with a kernel of the caller's choice; results and node counts do not depend on it.
    #[must_use]
    pub fn with_kernel(evaluation: &'m Evaluation, mpc: &'m MpcTable, table_bits: u8, kernel: KernelChoice) -> Self {
        let accumulators = Box::new([Accumulator::ZERO; PLIES]);
        Self {
            evaluation,
            mpc,
            kernel,
            table: Table::new(table_bits),
            local: Table::new(LOCAL_TABLE_BITS),
            accumulators,
            stop: &NEVER,
        }
    }

    /// The same searcher, whose searches end soon after `stop` is raised: they look at it every few thousand nodes. A flag
    /// that is not raised changes nothing.
    #[must_use]
    pub const fn stopped_by(mut self, stop: &'m AtomicBool) -> Self {
        self.stop = stop;
        self
    }

    /// Forgets all earlier searches: results are then those of a new searcher.
    pub fn clear(&mut self) {
        self.table.clear();
        self.local.clear();
    }

    /// Searches a position within `limits`.
    ///
    /// Depth counts moves: a pass is free. When the root has few enough empty squares for `exact_empties` the score is
    /// exact. When it has few enough for `wld_empties` only, the sign of the score is proven and its size comes from the
    /// depth search, at least two discs from zero; a proven draw is exact. A selective search whose depth reaches the end
    /// of the game cuts on the way to final scores: its score is even, and not exact. One that prunes or extends never is.
    ///
    /// The first iteration is always finished, so there is a move whenever there is a legal one, even if the stop flag is
    /// raised. Stopped on the way to an exact score, the result is that of the selective search by depth which precedes it.
    pub fn search(&mut self, position: Position, limits: Limits) -> SearchResult {
        if position.legal_moves() == 0 {
            let passed = position.pass();
            if passed.legal_moves() == 0 {
                return finished(position);
            }
            let result = self.search(passed, limits);
            return SearchResult { score: -result.score, best_move: None, nodes: result.nodes + 1, ..result };
        }
        let mut result = self.search_moves(position, limits);
        // A node limit may have ended the search just before: it makes no difference to those who are to stop.
        result.stopped = !result.complete && self.stop.load(Ordering::Relaxed);
        result
    }

    /// Searches a position with a legal move.
    fn search_moves(&mut self, position: Position, limits: Limits) -> SearchResult {
        let kernel = self.kernel;
        let mut extras = (limits.selective != Selective::NONE).then(|| Extras::new(limits.selective, None));
        let mut run = self.run();
        if position.empties() <= limits.exact_empties {
            return run.exact_result(kernel, position, limits.nodes);
        }
        run.set_level(limits.mpc);
        let depth = limits.depth.min(position.empties());
        let to_end = depth == position.empties() && END_EMPTIES_MIN <= depth && run.level() != MpcLevel::FullWidth;
        let result = if let Some(extras) = &mut extras {
            run.use_extras(extras);
            let iteration = with_kernel!(kernel, iterate::<WithExtras>(&mut run, position, depth, limits.nodes));
            SearchResult { complete: !run.stopped, exact: false, ..run.result(position, iteration) }
        } else if to_end {
            run.selective_end(kernel, position, limits.nodes)
        } else {
            let iteration = with_kernel!(kernel, iterate::<Plain>(&mut run, position, depth, limits.nodes));
            SearchResult { complete: !run.stopped, ..run.result(position, iteration) }
        };
        if run.stopped || result.exact || limits.wld_empties < position.empties() {
            return result;
        }
        run.proven_result(kernel, position, result)
    }

    /// The value of a full-window search of exactly this depth, and its nodes; never switches to the endgame solver.
    ///
    /// With [`MpcLevel::FullWidth`] it is the minimax value of the static values `depth` moves ahead, clamped to
    /// ±64,000, or of the final results of games that end sooner.
    ///
    /// # Errors
    ///
    /// [`Stopped`].
    pub fn score_at_depth(&mut self, position: Position, depth: u8, mpc: MpcLevel) -> Result<(i32, u64), Stopped> {
        let kernel = self.kernel;
        let mut run = self.run();
        run.set_level(mpc);
        run.hits = Hits::Exactly;
        let value = with_kernel!(kernel, value_at_depth::<Plain>(&mut run, position, depth));
        value.map(|value| (value, run.nodes)).ok_or(Stopped)
    }

    /// As [`Searcher::score_at_depth`], with forward pruning and extensions.
    ///
    /// # Errors
    ///
    /// [`Stopped`].
    pub fn selective_score_at_depth(
        &mut self,
        position: Position,
        depth: u8,
        mpc: MpcLevel,
        selective: Selective,
    ) -> Result<(i32, u64), Stopped> {
        if selective == Selective::NONE {
            return self.score_at_depth(position, depth, mpc);
        }
        let kernel = self.kernel;
        let mut extras = Extras::new(selective, None);
        let mut run = self.run();
        run.set_level(mpc);
        run.use_extras(&mut extras);
        run.hits = Hits::Exactly;
        let value = with_kernel!(kernel, value_at_depth::<WithExtras>(&mut run, position, depth));
        value.map(|value| (value, run.nodes)).ok_or(Stopped)
    }

    /// A null-window node of the tree that a full-width search of this depth visits; `None` if it has none of the depth
    /// wanted. It depends on the position, the depth, the model and what is wanted alone if the table is cleared before.
    ///
    /// # Errors
    ///
    /// [`Stopped`].
    pub fn meet(&mut self, position: Position, depth: u8, wanted: Wanted) -> Result<Option<Met>, Stopped> {
        let kernel = self.kernel;
        let mut extras = Extras::new(Selective::NONE, Some(wanted));
        let mut run = self.run();
        run.extras = Some(&mut extras);
        run.hits = Hits::Exactly;
        let value = with_kernel!(kernel, value_at_depth::<WithExtras>(&mut run, position, depth));
        value.map(|_| extras.met()).ok_or(Stopped)
    }

    /// The exact score with the best move and a line that reaches the end of the game; less if the stop flag is raised.
    pub fn solve(&mut self, position: Position) -> SearchResult {
        let mut result = self.search(position, Limits { exact_empties: DEPTH_MAX, ..Limits::full_width(1) });
        if result.stopped {
            return result;
        }
        let kernel = self.kernel;
        let mut run = self.run();
        run.allow_stop(None);
        result.line.clear();
        let mut current = if result.best_move.is_none() { position.pass() } else { position };
        let mut score = if result.best_move.is_none() { -result.score } else { result.score };
        while current.legal_moves() != 0 {
            let solved = with_kernel!(kernel, solve(&mut run, current, -DISCS_MAX, DISCS_MAX, score));
            let Some((best, next)) = solved.and_then(|solved| Some((solved.best, current.play(solved.best)?))) else {
                break;
            };
            result.line.push(best);
            let passes = next.legal_moves() == 0;
            (current, score) = if passes { (next.pass(), score) } else { (next, -score) };
        }
        result.nodes += run.nodes;
        (result.complete, result.stopped) = (result.complete && !run.stopped, run.stopped);
        result
    }

    pub(super) const fn evaluation(&self) -> &Evaluation {
        self.evaluation
    }

    /// The legal moves with their order in a search of this depth or an exact one, and the nodes that ordering took.
    pub(super) fn move_orders(&mut self, position: Position, depth: u8, is_exact: bool) -> (Vec<(Square, i32)>, u64) {
        let kernel = self.kernel;
        let mut run = self.run();
        let depth = depth.min(position.empties());
        let orders = with_kernel!(kernel, root_orders(&mut run, position, depth, is_exact));
        (orders, run.nodes)
    }

    fn run(&mut self) -> Run<'_> {
        Run::new(
            self.evaluation.incremental(),
            self.mpc,
            [&mut self.table, &mut self.local],
            &mut self.accumulators,
            self.stop,
        )
    }
}

fn finished(position: Position) -> SearchResult {
    let score = position.final_discs() * DISC;
    let depth = position.empties();
    SearchResult {
        score,
        best_move: None,
        depth,
        exact: true,
        nodes: 1,
        line: Vec::new(),
        complete: true,
        stopped: false,
    }
}

impl Run<'_> {
    /// Solves a position, each search with the window and the moves that a cheaper one found.
    fn exact_result(&mut self, kernel: KernelChoice, position: Position, nodes_max: Option<u64>) -> SearchResult {
        let empties = position.empties();
        self.set_level(preview_level(empties));
        let depth = empties.saturating_sub(PREVIEW_DISTANCE).max(1);
        let preview = with_kernel!(kernel, iterate::<Plain>(self, position, depth, nodes_max));
        let mut guess = preview.value;
        if SELECTIVE_EMPTIES_MIN <= empties && self.level() != MpcLevel::FullWidth {
            let selective = with_kernel!(kernel, solve(self, position, -DISCS_MAX, DISCS_MAX, guess));
            guess = selective.map_or(guess, |selective| selective.value);
        }
        self.set_level(MpcLevel::FullWidth);
        match with_kernel!(kernel, solve(self, position, -DISCS_MAX, DISCS_MAX, guess)) {
            Some(solved) => self.result(position, solved),
            None => SearchResult { complete: false, exact: false, ..self.result(position, preview) },
        }
    }

    /// Final scores with selective cuts, which make them uncertain.
    fn selective_end(&mut self, kernel: KernelChoice, position: Position, nodes_max: Option<u64>) -> SearchResult {
        let depth = position.empties().saturating_sub(PREVIEW_DISTANCE).max(1);
        let preview = with_kernel!(kernel, iterate::<Plain>(self, position, depth, nodes_max));
        match with_kernel!(kernel, solve(self, position, -DISCS_MAX, DISCS_MAX, preview.value)) {
            Some(found) => self.result(position, found),
            None => SearchResult { complete: false, ..self.result(position, preview) },
        }
    }

    /// Gives the result of a search by depth the sign that a proof of who wins finds.
    fn proven_result(&mut self, kernel: KernelChoice, position: Position, result: SearchResult) -> SearchResult {
        self.set_level(MpcLevel::FullWidth);
        let Some(proof) = with_kernel!(kernel, solve(self, position, -1, 1, result.score)) else {
            return SearchResult { complete: false, nodes: self.nodes, ..result };
        };
        let proven = self.result(position, proof);
        if proof.value == 0 {
            proven
        } else if 0 < proof.value {
            SearchResult { score: result.score.max(WIN_MIN), exact: false, depth: result.depth, ..proven }
        } else {
            SearchResult { score: result.score.min(-WIN_MIN), nodes: self.nodes, ..result }
        }
    }

    fn result(&self, position: Position, iteration: Iteration) -> SearchResult {
        let Iteration { value: score, best, depth } = iteration;
        let mut line = vec![best];
        let mut current = position.play(best);
        while let Some(position) = current {
            let to_move = if position.legal_moves() == 0 { position.pass() } else { position };
            let best = self.table.get(Key::new(to_move)).and_then(|known| known.best);
            let next = best.and_then(|best| to_move.play(best));
            line.extend(best.filter(|_| next.is_some()));
            current = next;
        }
        let exact = depth == position.empties() && self.level() == MpcLevel::FullWidth;
        let (best_move, nodes) = (Some(best), self.nodes);
        SearchResult { score, best_move, depth, exact, nodes, line, complete: true, stopped: false }
    }
}

#[cfg(test)]
mod tests {
    use super::super::mpc::MpcEntry;
    use super::super::selective::Extension;
    use super::*;
    use crate::engine::eval::builtin;

    fn minimax(evaluation: &Evaluation, position: Position, depth: u8) -> i32 {
        if position.legal_moves() == 0 {
            let passed = position.pass();
            return if passed.legal_moves() == 0 {
                position.final_discs() * DISC
            } else {
                -minimax(evaluation, passed, depth)
            };
        }
        if depth == 0 {
            return evaluation.static_value(position).clamp(-SCORE_MAX, SCORE_MAX);
        }
        position.children().map(|(_, next)| -minimax(evaluation, next, depth - 1)).max().unwrap()
    }

    #[test]
    fn a_full_width_search_is_minimax() {
        let (evaluation, mpc) = (builtin::square_weights(), MpcTable::empty());
        let mut searcher = Searcher::new(&evaluation, &mpc, 16);
        let mut position = Position::START;
        let mut turn = 0;
        while position.legal_moves() != 0 {
            for depth in 0..5 {
                let expected = minimax(&evaluation, position, depth);
                assert_eq!(
                    searcher.score_at_depth(position, depth, MpcLevel::FullWidth).unwrap().0,
                    expected,
                    "{position:?}"
                );
                assert_eq!(searcher.search(position, Limits::full_width(depth)).score, expected, "{position:?}");
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
        let entry = |deep, shallow| MpcEntry { empties_min: 0, ..MpcEntry::source(deep, shallow, 0, 3000) };
        let mpc = MpcTable::new(vec![entry(3, 1), entry(4, 2), entry(5, 1), entry(6, 2)]).unwrap();
        let mut used = Searcher::new(&evaluation, &mpc, 12);
        for position in positions(0..=60) {
            let limits = Limits { exact_empties: 10, wld_empties: 12, mpc: MpcLevel::P87, ..Limits::full_width(6) };
            let expected = Searcher::new(&evaluation, &mpc, 12).search(position, limits);
            used.clear();
            assert_eq!(used.search(position, limits), expected, "{position:?}");
            for kernel in KernelChoice::all() {
                let mut other = Searcher::with_kernel(&evaluation, &mpc, 12, kernel);
                assert_eq!(other.search(position, limits), expected, "{position:?} {kernel:?}");
            }
            for symmetry in crate::engine::board::symmetry::Symmetry::all() {
                let full = Limits { mpc: MpcLevel::FullWidth, depth: 4, ..limits };
                let image = position.transform(symmetry);
                let score = Searcher::new(&evaluation, &mpc, 12).search(image, full).score;
                assert_eq!(score, Searcher::new(&evaluation, &mpc, 12).search(position, full).score, "{position:?}");
            }
        }
    }

    #[test]
    fn exact_and_won_scores_are_those_of_minimax() {
        let (evaluation, mpc) = (builtin::square_weights(), MpcTable::empty());
        let mut searcher = Searcher::new(&evaluation, &mpc, 12);
        for position in positions(0..=8) {
            let expected = minimax(&evaluation, position, 60);
            let result = searcher.solve(position);
            assert_eq!(result.score, expected, "{position:?}");
            assert!(result.exact && result.complete);
            assert_eq!(result.best_move.is_some(), position.legal_moves() != 0);
            if let Some(next) = result.best_move.and_then(|best| position.play(best)) {
                assert_eq!(-minimax(&evaluation, next, 60), expected, "{position:?} {result:?}");
            }
            let wld = searcher.search(position, Limits { wld_empties: 60, ..Limits::full_width(2) });
            assert_eq!(wld.score.signum(), expected.signum(), "{position:?} {wld:?}");
        }
    }

    #[test]
    fn a_selective_search_to_the_end_is_cheaper_and_not_exact() {
        let evaluation = builtin::square_weights();
        let entries = (12..=16).flat_map(|deep| [0, 4].map(|shallow| MpcEntry::source(deep, shallow, 0, 9000)));
        let mpc = MpcTable::new(entries.collect()).unwrap();
        let mut searcher = Searcher::new(&evaluation, &mpc, 16);
        let (mut nodes, mut near) = ([0, 0], 0);
        let positions = positions(12..=16);
        for &position in &positions {
            searcher.clear();
            let exact = searcher.solve(position);
            searcher.clear();
            let found = searcher.search(position, Limits { mpc: MpcLevel::P73, ..Limits::full_width(60) });
            if position.legal_moves() != 0 {
                assert!(!found.exact && found.complete && found.depth == position.empties(), "{found:?}");
            }
            assert_eq!(found.score % (2 * DISC), 0, "{position:?}");
            near += usize::from((found.score - exact.score).abs() <= 8 * DISC);
            nodes = [nodes[0] + found.nodes, nodes[1] + exact.nodes];
        }
        assert!(nodes[0] < nodes[1], "{nodes:?}");
        assert!(3 * positions.len() < 4 * near, "{near} of {}", positions.len());
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
                Selective { rank: Some(36), ..plain },
                Selective { threshold: Some(-4000), ..plain },
                Selective { rank: Some(3), ..plain },
                Selective { extension: Some(Extension::Horizon), ..plain },
                Selective { extension: Some(Extension::EveryDepth), ..plain },
            ];
            let results = forms.map(|selective| {
                searcher.clear();
                searcher.search(position, Limits { selective, ..Limits::full_width(5) })
            });
            nodes.iter_mut().zip(&results).for_each(|(nodes, result)| *nodes += result.nodes);
            assert_eq!(results[0], results[1], "{position:?}");
        }
        let [plain, _, threshold, rank, horizon, every_depth] = nodes;
        assert!(threshold < plain && rank < plain, "{nodes:?}");
        assert!(plain < horizon && horizon < every_depth && every_depth < 40 * plain, "{nodes:?}");
    }

    #[test]
    fn pruned_scores_are_not_exact_and_leave_exact_ones_as_they_are() {
        let (evaluation, mpc) = (builtin::square_weights(), MpcTable::empty());
        let mut searcher = Searcher::new(&evaluation, &mpc, 14);
        let selective = Selective { rank: Some(2), extension: Some(Extension::EveryDepth), ..Selective::NONE };
        let mut differences = 0;
        for position in positions(4..=10) {
            searcher.clear();
            let expected = searcher.solve(position).score;
            searcher.clear();
            let to_end = Limits { selective, ..Limits::full_width(60) };
            let pruned = searcher.search(position, to_end);
            assert!(!pruned.exact || position.legal_moves() == 0 && position.is_over(), "{pruned:?}");
            differences += usize::from(pruned.score != expected);
            // The table is full of pruned results of the depth that an exact one has.
            let exact = searcher.search(position, Limits { exact_empties: 10, ..to_end });
            assert!(exact.exact && exact.score == expected, "{position:?} {exact:?}");
        }
        assert!(0 < differences, "nothing was pruned that mattered");
    }

    #[test]
    fn a_node_limit_gives_the_last_finished_iteration() {
        let (evaluation, mpc) = (builtin::square_weights(), MpcTable::empty());
        let mut searcher = Searcher::new(&evaluation, &mpc, 16);
        let whole = searcher.search(Position::START, Limits::full_width(8));
        assert!(whole.complete && whole.depth == 8);
        for nodes in [0, 1, 100, 3_000] {
            searcher.clear();
            let limited = searcher.search(Position::START, Limits { nodes: Some(nodes), ..Limits::full_width(8) });
            assert!(!limited.complete && limited.depth < 8 && limited.best_move.is_some(), "{limited:?}");
            searcher.clear();
            let again = searcher.search(Position::START, Limits::full_width(limited.depth));
            assert_eq!((limited.score, limited.best_move), (again.score, again.best_move));
        }
        searcher.clear();
        let raised = AtomicBool::new(true);
        let stopped = searcher.stopped_by(&raised).search(Position::START, Limits::full_width(8));
        assert!(!stopped.complete && stopped.stopped && stopped.depth == 1);
    }
}
