//! The searcher: an evaluation, MPC statistics and a table, ready to search one position after another.

use super::limits::{DEPTH_MAX, Limits};
use super::mpc::{MpcEntry, MpcLevel, MpcTable};
use super::table::{Key, Known, Sureness, Table};
use crate::engine::board::position::Position;
use crate::engine::board::square::Square;
use crate::engine::eval::evaluation::{DISC, Evaluation, SCORE_MAX};
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
    /// Whether the search reached its limits rather than being stopped.
    pub complete: bool,
}

/// Searches positions with one model; its table carries over from one search to the next until it is cleared.
pub struct Searcher<'m> {
    evaluation: &'m Evaluation,
    mpc: &'m MpcTable,
    table: Table,
}

impl<'m> Searcher<'m> {
    /// A searcher with an empty table of 2^`table_bits` entries, 16 bytes each.
    #[must_use]
    pub fn new(evaluation: &'m Evaluation, mpc: &'m MpcTable, table_bits: u8) -> Self {
        Self { evaluation, mpc, table: Table::new(table_bits) }
    }

    /// Forgets all earlier searches: results are then those of a new searcher.
    pub fn clear(&mut self) {
        self.table.clear();
    }

    /// Searches a position within `limits`.
    ///
    /// Depth counts moves: a pass is free. When the root has few enough empty squares for `exact_empties` the score is
    /// exact. When it has few enough for `wld_empties` only, the sign of the score is proven and its size comes from the
    /// depth search, at least two discs from zero; a proven draw is exact.
    pub fn search(&mut self, position: Position, limits: Limits) -> SearchResult {
        self.search_until(position, limits, &AtomicBool::new(false))
    }

    /// As [`Searcher::search`], but gives up soon after `stop` is raised and returns what it knew by then.
    ///
    /// A first iteration is always finished, so there is a move whenever there is a legal one.
    pub fn search_until(&mut self, position: Position, limits: Limits, stop: &AtomicBool) -> SearchResult {
        if position.legal_moves() == 0 {
            let passed = position.pass();
            if passed.legal_moves() == 0 {
                return finished(position);
            }
            let result = self.search_until(passed, limits, stop);
            return SearchResult { score: -result.score, best_move: None, nodes: result.nodes + 1, ..result };
        }
        let empties = position.empties();
        let mut run = self.run(limits.mpc, Hits::AtLeast, limits.nodes, stop);
        let exact = empties <= limits.exact_empties.max(limits.depth);
        if exact
            && limits.nodes.is_none()
            && let Some(result) = run.solve(position, -SCORE_MAX, SCORE_MAX)
        {
            return result;
        }
        let depth = limits.depth.min(DEPTH_MAX);
        let mut result = run.iterate(position, depth);
        if exact && result.complete {
            match run.solve(position, -SCORE_MAX, SCORE_MAX) {
                Some(exact) => return exact,
                None => result.complete = false,
            }
        } else if empties <= limits.wld_empties && result.complete {
            match run.solve(position, -DISC, DISC) {
                Some(wld) if 0 < wld.score => {
                    result = SearchResult { score: result.score.max(WIN_MIN), exact: false, depth, ..wld };
                }
                Some(wld) if wld.score == 0 => return wld,
                Some(_) => result.score = result.score.min(-WIN_MIN),
                None => result.complete = false,
            }
        }
        result.nodes = run.nodes;
        result
    }

    /// The value of a full-window search of exactly this depth, and its nodes; never switches to the endgame solver.
    ///
    /// With [`MpcLevel::FullWidth`] it is the minimax value of the static values `depth` moves ahead, clamped to
    /// ±64,000, or of the final results of games that end sooner.
    pub fn score_at_depth(&mut self, position: Position, depth: u8, mpc: MpcLevel) -> (i32, u64) {
        let stop = AtomicBool::new(false);
        let mut run = self.run(mpc, Hits::Exactly, None, &stop);
        let depth = depth.min(DEPTH_MAX);
        (run.node(position, -SCORE_MAX, SCORE_MAX, depth), run.nodes)
    }

    /// The exact score with the best move and line.
    pub fn solve(&mut self, position: Position) -> SearchResult {
        let limits = Limits { exact_empties: DEPTH_MAX, ..Limits::full_width(1) };
        self.search(position, limits)
    }

    fn run<'r>(&'r mut self, level: MpcLevel, hits: Hits, nodes_max: Option<u64>, stop: &'r AtomicBool) -> Run<'r> {
        let nodes_max = nodes_max.unwrap_or(u64::MAX);
        Run {
            evaluation: self.evaluation,
            mpc: self.mpc,
            table: &mut self.table,
            sureness: Sureness::new(level),
            level,
            hits,
            nodes: 0,
            nodes_max,
            stop,
            stopped: false,
        }
    }
}

fn finished(position: Position) -> SearchResult {
    let score = position.final_discs() * DISC;
    let depth = position.empties();
    SearchResult { score, best_move: None, depth, exact: true, nodes: 1, line: Vec::new(), complete: true }
}

/// Which depths of the table answer a search.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hits {
    AtLeast,
    Exactly,
}

struct Run<'r> {
    evaluation: &'r Evaluation,
    mpc: &'r MpcTable,
    table: &'r mut Table,
    level: MpcLevel,
    sureness: Sureness,
    hits: Hits,
    nodes: u64,
    nodes_max: u64,
    stop: &'r AtomicBool,
    stopped: bool,
}

impl Run<'_> {
    fn check_stop(&mut self) {
        self.stopped |= self.nodes_max <= self.nodes || (self.nodes & 0xFFF == 0 && self.stop.load(Ordering::Relaxed));
    }

    fn result(&self, position: Position, score: i32, depth: u8, exact: bool) -> SearchResult {
        let mut line = Vec::new();
        let mut current = position;
        while let Some(best) = self.table.get(Key::new(current)).and_then(|known| known.best) {
            let Some(next) = current.play(best) else { break };
            line.push(best);
            current = if next.legal_moves() == 0 { next.pass() } else { next };
        }
        let best_move = line.first().copied();
        SearchResult { score, best_move, depth, exact, nodes: self.nodes, line, complete: true }
    }

    fn solve(&mut self, position: Position, alpha: i32, beta: i32) -> Option<SearchResult> {
        let (level, sureness) = (self.level, self.sureness);
        (self.level, self.sureness) = (MpcLevel::FullWidth, Sureness::FULL);
        let empties = position.empties();
        let score = self.node(position, alpha, beta, empties);
        (self.level, self.sureness) = (level, sureness);
        (!self.stopped).then(|| self.result(position, score, empties, true))
    }

    fn iterate(&mut self, position: Position, depth: u8) -> SearchResult {
        let static_value = self.evaluation.static_value(position).clamp(-SCORE_MAX, SCORE_MAX);
        let nodes_max = std::mem::replace(&mut self.nodes_max, u64::MAX);
        let score = self.node(position, -SCORE_MAX, SCORE_MAX, 1);
        let mut result = self.result(position, score, 1.min(depth), false);
        if depth == 0 {
            result.score = static_value;
        }
        self.stopped = false;
        self.nodes_max = nodes_max;
        for depth in 2..=depth {
            let score = self.node(position, -SCORE_MAX, SCORE_MAX, depth);
            if self.stopped {
                return SearchResult { complete: false, ..result };
            }
            result =
                self.result(position, score, depth, depth == position.empties() && self.sureness == Sureness::FULL);
        }
        result
    }

    /// The value of a position, fail-soft.
    fn node(&mut self, position: Position, mut alpha: i32, mut beta: i32, depth: u8) -> i32 {
        self.nodes += 1;
        self.check_stop();
        if self.stopped {
            return 0;
        }
        let moves = position.legal_moves();
        if moves == 0 {
            let passed = position.pass();
            if passed.legal_moves() == 0 {
                return position.final_discs() * DISC;
            }
            return -self.node(passed, -beta, -alpha, depth);
        }
        if depth == 0 {
            return self.evaluation.static_value(position).clamp(-SCORE_MAX, SCORE_MAX);
        }
        let key = Key::new(position);
        let known = self.table.get(key);
        if let Some(known) = known {
            let deep = known.depth == depth || (self.hits == Hits::AtLeast && depth < known.depth);
            if deep && self.sureness <= known.sureness {
                if beta <= known.lower || known.lower == known.upper {
                    return known.lower;
                }
                if known.upper <= alpha {
                    return known.upper;
                }
                alpha = alpha.max(known.lower);
                beta = beta.min(known.upper);
            }
        }
        if beta - alpha == 1
            && let Some(value) = self.probe(position, alpha, beta, depth)
        {
            return value;
        }
        let (best_value, best) = self.best_child(position, alpha, beta, depth, known.and_then(|known| known.best));
        if !self.stopped {
            let lower = if alpha < best_value { best_value } else { -SCORE_MAX };
            let upper = if best_value < beta { best_value } else { SCORE_MAX };
            self.table.put(key, &Known { lower, upper, depth, sureness: self.sureness, best });
        }
        best_value
    }

    fn best_child(
        &mut self,
        position: Position,
        alpha: i32,
        beta: i32,
        depth: u8,
        first: Option<Square>,
    ) -> (i32, Option<Square>) {
        let mut children: Vec<(Square, Position)> = position.children().collect();
        if 1 < depth {
            children.sort_by_cached_key(|&(square, next)| (first != Some(square), next.legal_moves().count_ones()));
        }
        let (mut best_value, mut best) = (i32::MIN, None);
        for (square, next) in children {
            let low = alpha.max(best_value);
            let mut value = low + 1;
            if best.is_some() {
                value = -self.node(next, -low - 1, -low, depth - 1);
            }
            if best.is_none() || (low < value && value < beta) {
                value = -self.node(next, -beta, -low, depth - 1);
            }
            if self.stopped {
                return (0, None);
            }
            if best_value < value {
                (best_value, best) = (value, Some(square));
                if beta <= value {
                    break;
                }
            }
        }
        (best_value, best)
    }

    /// Bets that a shallow search far outside the window foretells the deep one.
    fn probe(&mut self, position: Position, alpha: i32, beta: i32, depth: u8) -> Option<i32> {
        if self.level == MpcLevel::FullWidth {
            return None;
        }
        let mpc = self.mpc;
        for &MpcEntry { shallow, slope, offset, sigma, .. } in mpc.probes(position.empties(), depth) {
            let margin = self.level.t() * f64::from(sigma);
            let high = ((f64::from(beta - offset) + margin) / slope).floor() + 1.0;
            if high <= f64::from(SCORE_MAX) {
                let high = high as i32;
                if high <= self.node(position, high - 1, high, shallow) {
                    return Some(beta);
                }
            }
            let low = ((f64::from(alpha - offset) - margin) / slope).ceil() - 1.0;
            if f64::from(-SCORE_MAX) <= low {
                let low = low as i32;
                if self.node(position, low, low + 1, shallow) <= low {
                    return Some(alpha);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
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
                assert_eq!(searcher.score_at_depth(position, depth, MpcLevel::FullWidth).0, expected, "{position:?}");
                assert_eq!(searcher.search(position, Limits::full_width(depth)).score, expected, "{position:?}");
            }
            turn += 1;
            let count = position.children().count();
            position = position.children().nth(turn % count).unwrap().1;
        }
    }
}
