//! Searches to the end of the game: exact scores, selective ones, and proofs of who wins.

use super::depth::Depth;
use super::mpc_level::MpcLevel;
use super::result::{Iteration, SearchResult};
use super::root::{iterate, solve};
use super::run::{Plain, SearchRun};
use super::table::PositionKey;
use super::window::{Alpha, Beta, OpenWindow};
use crate::engine::board::kernel::with_kernel;
use crate::engine::board::position::Position;
use crate::engine::score::{Discs, Score};

/// The least won score: with empty squares counted for the winner, scores are even.
const WIN_MIN: Score = Score(2 * Score::DISC.0);

/// An exact search begins with one by depth that ends this many plies before the end; 8 and 12 take
/// as many nodes within 3 %, with 14 to 20 empty squares.
const PREVIEW_DISTANCE: u8 = 10;
/// From this many empty squares a selective search to the end precedes the exact one; it saves 10 %
/// of the nodes at 18 and 20 % at 20.
const SELECTIVE_EMPTIES_MIN: u8 = 16;
/// From this many empty squares the first moves are worth a surer preview: with 22, less sure ones
/// take 5 to 14 % more nodes.
const SURE_EMPTIES_MIN: u8 = 22;

/// How selective the searches before an exact one are: they may be wrong, and the exact one
/// corrects them.
const fn preview_level(empties: u8) -> MpcLevel {
    if empties < SURE_EMPTIES_MIN {
        MpcLevel::P73
    } else {
        MpcLevel::P95
    }
}

impl SearchRun<'_> {
    /// Solves a position, each search with the window and the moves that a cheaper one found.
    pub fn exact_result(&mut self, position: Position, nodes_max: Option<u64>) -> SearchResult {
        let empties = position.empties();
        self.set_level(preview_level(empties));
        let preview = self.preview(position, nodes_max);
        let mut guess = preview.value;
        if SELECTIVE_EMPTIES_MIN <= empties && self.margin.is_finite() {
            let selective = with_kernel!(
                self.kernel,
                solve(self, position, OpenWindow::full(), guess)
            );
            guess = selective.map_or(guess, |selective| selective.value);
        }
        self.set_level(MpcLevel::FullWidth);
        let found = with_kernel!(
            self.kernel,
            solve(self, position, OpenWindow::full(), guess)
        );
        self.result(position, found.unwrap_or(preview))
    }

    /// Final scores with selective cuts, which make them uncertain.
    pub fn selective_result(&mut self, position: Position, nodes_max: Option<u64>) -> SearchResult {
        let preview = self.preview(position, nodes_max);
        let found = with_kernel!(
            self.kernel,
            solve(self, position, OpenWindow::full(), preview.value)
        );
        self.result(position, found.unwrap_or(preview))
    }

    /// The search by depth before one to the end.
    fn preview(&mut self, position: Position, nodes_max: Option<u64>) -> Iteration {
        let depth = Depth(position.empties().saturating_sub(PREVIEW_DISTANCE).max(1));
        with_kernel!(
            self.kernel,
            iterate::<Plain>(self, position, depth, nodes_max)
        )
    }

    /// Gives the result of a search by depth the sign that a proof of who wins finds.
    pub fn proven_result(&mut self, position: Position, by_depth: SearchResult) -> SearchResult {
        self.set_level(MpcLevel::FullWidth);
        let draw = OpenWindow::new(Alpha(Discs(-1)), Beta(Discs(1)));
        let Some(proof) = with_kernel!(self.kernel, solve(self, position, draw, by_depth.score))
        else {
            return SearchResult {
                complete: false,
                nodes: self.nodes,
                ..by_depth
            };
        };
        let proven = self.result(position, proof);
        if proof.value == Score(0) {
            proven
        } else if Score(0) < proof.value {
            SearchResult {
                score: by_depth.score.max(WIN_MIN),
                exact: false,
                depth: by_depth.depth,
                ..proven
            }
        } else {
            SearchResult {
                score: by_depth.score.min(-WIN_MIN),
                nodes: self.nodes,
                ..by_depth
            }
        }
    }

    /// The result of a finished iteration, the last one if the search was stopped, with the line
    /// that the table holds.
    pub fn result(&self, position: Position, iteration: Iteration) -> SearchResult {
        let Iteration {
            value: score,
            best,
            depth,
        } = iteration;
        let mut line = vec![best];
        let mut current = position.play(best);
        while let Some(position) = current {
            let to_move = if position.legal_moves() == 0 {
                position.pass()
            } else {
                position
            };
            let best = self
                .table
                .get(PositionKey::new(to_move))
                .and_then(|known| known.best);
            let next = best.and_then(|best| to_move.play(best));
            line.extend(best.filter(|_| next.is_some()));
            current = next;
        }
        let exact = depth == Depth(position.empties()) && !self.margin.is_finite();
        let (best_move, nodes, complete) = (Some(best), self.nodes, !self.stopped);
        SearchResult {
            score,
            best_move,
            depth,
            exact,
            nodes,
            line,
            complete,
            stopped: false,
        }
    }
}
