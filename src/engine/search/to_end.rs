//! Searches to the end of the game: exact scores, selective ones, and proofs of who wins.

use super::depth::Depth;
use super::mpc_level::MpcLevel;
use super::result::{Iteration, SearchResult};
use super::root::{iterate, solve};
use super::run::{Plain, Run};
use super::table::Key;
use super::window::{Alpha, Beta, OpenWindow};
use crate::engine::board::kernel::{KernelChoice, with_kernel};
use crate::engine::board::position::Position;
use crate::engine::score::{Discs, Score};

/// The least won score: with empty squares counted for the winner, scores are even.
const WIN_MIN: Score = Score(2 * Score::DISC.0);

/// An exact search begins with one by depth that ends this many plies before the end; 7 to 12 take equally many nodes, on
/// FFO 40-44.
const PREVIEW_DISTANCE: u8 = 10;
/// From this many empty squares a selective search to the end precedes the exact one; it saves 10 % of the nodes at 18
/// and 20 % at 20.
const SELECTIVE_EMPTIES_MIN: u8 = 16;
/// From this many empty squares the first moves are worth a surer preview: FFO 45-49 take 454 M nodes instead of 574 M.
const SURE_EMPTIES_MIN: u8 = 22;

/// How selective the searches before an exact one are: they may be wrong, and the exact one corrects them.
const fn preview_level(empties: u8) -> MpcLevel {
    if empties < SURE_EMPTIES_MIN { MpcLevel::P73 } else { MpcLevel::P95 }
}

/// The depth of the search before one to the end.
fn preview_depth(empties: u8) -> Depth {
    Depth(empties.saturating_sub(PREVIEW_DISTANCE).max(1))
}

/// Solves a position, each search with the window and the moves that a cheaper one found.
pub(super) fn exact_result(
    run: &mut Run<'_>,
    kernel: KernelChoice,
    position: Position,
    nodes_max: Option<u64>,
) -> SearchResult {
    let empties = position.empties();
    run.set_level(preview_level(empties));
    let preview = with_kernel!(kernel, iterate::<Plain>(run, position, preview_depth(empties), nodes_max));
    let mut guess = preview.value;
    if SELECTIVE_EMPTIES_MIN <= empties && run.level() != MpcLevel::FullWidth {
        let selective = with_kernel!(kernel, solve(run, position, OpenWindow::full(), guess));
        guess = selective.map_or(guess, |selective| selective.value);
    }
    run.set_level(MpcLevel::FullWidth);
    match with_kernel!(kernel, solve(run, position, OpenWindow::full(), guess)) {
        Some(solved) => result(run, position, solved),
        None => SearchResult { complete: false, exact: false, ..result(run, position, preview) },
    }
}

/// Final scores with selective cuts, which make them uncertain.
pub(super) fn selective_result(
    run: &mut Run<'_>,
    kernel: KernelChoice,
    position: Position,
    nodes_max: Option<u64>,
) -> SearchResult {
    let depth = preview_depth(position.empties());
    let preview = with_kernel!(kernel, iterate::<Plain>(run, position, depth, nodes_max));
    match with_kernel!(kernel, solve(run, position, OpenWindow::full(), preview.value)) {
        Some(found) => result(run, position, found),
        None => SearchResult { complete: false, ..result(run, position, preview) },
    }
}

/// Gives the result of a search by depth the sign that a proof of who wins finds.
pub(super) fn proven_result(
    run: &mut Run<'_>,
    kernel: KernelChoice,
    position: Position,
    by_depth: SearchResult,
) -> SearchResult {
    run.set_level(MpcLevel::FullWidth);
    let draw = OpenWindow::new(Alpha(Discs(-1)), Beta(Discs(1)));
    let Some(proof) = with_kernel!(kernel, solve(run, position, draw, by_depth.score)) else {
        return SearchResult { complete: false, nodes: run.nodes, ..by_depth };
    };
    let proven = result(run, position, proof);
    if proof.value == Score(0) {
        proven
    } else if Score(0) < proof.value {
        SearchResult { score: by_depth.score.max(WIN_MIN), exact: false, depth: by_depth.depth, ..proven }
    } else {
        SearchResult { score: by_depth.score.min(-WIN_MIN), nodes: run.nodes, ..by_depth }
    }
}

/// The result of a finished iteration, with the line that the table holds.
pub(super) fn result(run: &Run<'_>, position: Position, iteration: Iteration) -> SearchResult {
    let Iteration { value: score, best, depth } = iteration;
    let mut line = vec![best];
    let mut current = position.play(best);
    while let Some(position) = current {
        let to_move = if position.legal_moves() == 0 { position.pass() } else { position };
        let best = run.table.get(Key::new(to_move)).and_then(|known| known.best);
        let next = best.and_then(|best| to_move.play(best));
        line.extend(best.filter(|_| next.is_some()));
        current = next;
    }
    let exact = depth == Depth(position.empties()) && run.level() == MpcLevel::FullWidth;
    let (best_move, nodes) = (Some(best), run.nodes);
    SearchResult { score, best_move, depth, exact, nodes, line, complete: true, stopped: false }
}
