//! The root: one iteration after another, and the moves to choose from.

use super::candidates::{Candidates, UNKNOWN};
use super::endgame;
use super::endgame::node::EndNode;
use super::midgame::{Node, OpenWindow, best_child, open_window, order, passed, static_value};
use super::run::Run;
use super::selective::Policy;
use super::table::Key;
use crate::engine::board::kernel::{Kernel, kernel_entry};
use crate::engine::board::position::Position;
use crate::engine::board::square::Square;
use crate::engine::eval::evaluation::{DISC, SCORE_MAX};

/// Half the width of the first window around the value of the last iteration but one; positions swing less than this
/// from one even depth to the next in about nine of ten cases.
const ASPIRATION: i32 = 3000;

/// Half the width of the first exact window, in discs; odd, so that no score lies on its edge.
const SOLVE_ASPIRATION: i32 = 3;

/// A finished iteration.
#[derive(Clone, Copy)]
pub(super) struct Iteration {
    pub(super) value: i32,
    pub(super) best: Square,
    pub(super) depth: u8,
}

kernel_entry! {
    /// The value of any position at exactly `depth`, searched with a full window; `None` if it was stopped.
    pub(super) fn value_at_depth<P: Policy>(run: &mut Run<'_>, position: Position, depth: u8) -> Option<i32> = value_at_depth_body
}

#[inline(always)]
fn value_at_depth_body<K: Kernel, P: Policy>(run: &mut Run<'_>, position: Position, depth: u8) -> Option<i32> {
    let depth = depth.min(position.empties());
    run.allow_stop(None);
    let node = root_node::<K>(run, position);
    let value = if node.moves == 0 {
        passed::<K, P>(run, &node, -SCORE_MAX, SCORE_MAX, depth)
    } else {
        for depth in 2..depth {
            open_window::<K, P>(run, &node, -SCORE_MAX, SCORE_MAX, depth);
        }
        open_window::<K, P>(run, &node, -SCORE_MAX, SCORE_MAX, depth)
    };
    (!run.stopped).then_some(value)
}

kernel_entry! {
    /// Depths 1, 2, … `depth` of a position with a legal move; the last iteration finished before a stop or `nodes_max`.
    /// The first is never stopped.
    pub(super) fn iterate<P: Policy>(run: &mut Run<'_>, position: Position, depth: u8, nodes_max: Option<u64>) -> Iteration = iterate_body
}

#[inline(always)]
fn iterate_body<K: Kernel, P: Policy>(
    run: &mut Run<'_>,
    position: Position,
    depth: u8,
    nodes_max: Option<u64>,
) -> Iteration {
    let node = root_node::<K>(run, position);
    let mut values = Vec::with_capacity(usize::from(depth) + 1);
    let mut last =
        root_search::<K, P>(run, &node, -SCORE_MAX, SCORE_MAX, 1, None).expect("nothing stops the first depth");
    if depth == 0 {
        return Iteration { value: static_value::<K>(run, &node), depth: 0, ..last };
    }
    values.push(last.value);
    run.allow_stop(nodes_max);
    for depth in 2..=depth {
        if run.must_stop() {
            return last;
        }
        // Odd and even depths differ by the value of a tempo, so the window centers on the last but one.
        let center = values[values.len().saturating_sub(2)];
        let (mut low, mut high) = (center - ASPIRATION, center + ASPIRATION);
        if depth < 4 {
            (low, high) = (-SCORE_MAX, SCORE_MAX);
        }
        let iteration = loop {
            let Some(iteration) =
                root_search::<K, P>(run, &node, low.max(-SCORE_MAX), high.min(SCORE_MAX), depth, Some(last.best))
            else {
                return last;
            };
            if iteration.value <= low && -SCORE_MAX < low {
                low = -SCORE_MAX;
            } else if high <= iteration.value && high < SCORE_MAX {
                high = SCORE_MAX;
            } else {
                break iteration;
            }
        };
        values.push(iteration.value);
        last = iteration;
    }
    last
}

kernel_entry! {
    /// The legal moves of a position with the values by which a search of this depth, or an exact one, sorts them before it
    /// knows any better.
    pub(super) fn root_orders(run: &mut Run<'_>, position: Position, depth: u8, is_exact: bool) -> Vec<(Square, i32)> = root_orders_body
}

#[inline(always)]
fn root_orders_body<K: Kernel>(run: &mut Run<'_>, position: Position, depth: u8, is_exact: bool) -> Vec<(Square, i32)> {
    let node = root_node::<K>(run, position);
    let mut candidates = Candidates::new::<K>(node.player, node.opponent, node.moves);
    if is_exact {
        endgame::root_order::<K>(run, &EndNode::root::<K>(position), &mut candidates, None);
    } else {
        order::<K, OpenWindow>(run, &node, &mut candidates, None, -SCORE_MAX, depth);
    }
    let moves = candidates.as_slice().iter();
    moves.filter_map(|candidate| Some((Square::new(candidate.square)?, candidate.order))).collect()
}

fn root_node<K: Kernel>(run: &mut Run<'_>, position: Position) -> Node {
    let (player, opponent) = (position.player(), position.opponent());
    run.accumulators[0] = run.incremental.accumulator(position);
    Node { player, opponent, moves: K::legal_moves(player, opponent), ply: 0, value: UNKNOWN }
}

kernel_entry! {
    /// One depth with one window; `None` if it was stopped.
    fn root_search<P: Policy>(run: &mut Run<'_>, node: &Node, alpha: i32, beta: i32, depth: u8, first: Option<Square>) -> Option<Iteration> = root_search_body
}

#[inline(always)]
fn root_search_body<K: Kernel, P: Policy>(
    run: &mut Run<'_>,
    node: &Node,
    alpha: i32,
    beta: i32,
    depth: u8,
    first: Option<Square>,
) -> Option<Iteration> {
    run.nodes += 1;
    let mut candidates = Candidates::new::<K>(node.player, node.opponent, node.moves);
    order::<K, OpenWindow>(run, node, &mut candidates, first, alpha, depth);
    let (value, best) = best_child::<K, OpenWindow, P>(run, node, &mut candidates, alpha, beta, depth);
    if run.stopped {
        return None;
    }
    let known = run.known(value, best, alpha, beta, depth);
    run.table.put(Key::new(node.position()), &known);
    best.map(|best| Iteration { value, best, depth })
}

kernel_entry! {
    /// The exact value of a position with a legal move, within `alpha` to `beta` discs; `None` if it was stopped.
    ///
    /// `guess` is where the first window stands.
    pub(super) fn solve(run: &mut Run<'_>, position: Position, alpha: i32, beta: i32, guess: i32) -> Option<Iteration> = solve_body
}

#[inline(always)]
fn solve_body<K: Kernel>(
    run: &mut Run<'_>,
    position: Position,
    alpha: i32,
    beta: i32,
    guess: i32,
) -> Option<Iteration> {
    run.accumulators[0] = run.incremental.accumulator(position);
    let node = EndNode::root::<K>(position);
    // Scores are even: a window between two odd numbers holds one score for each two units.
    let center = (guess / DISC) & !1;
    let mut low = (center - SOLVE_ASPIRATION).clamp(alpha, beta - 1);
    let mut high = (center + SOLVE_ASPIRATION).clamp(low + 1, beta);
    let mut first = run.table.get(Key::new(position)).and_then(|known| known.best);
    loop {
        let (value, best) = endgame::root_window::<K>(run, &node, low, high, first);
        if run.stopped {
            return None;
        }
        first = best;
        // A value beyond the bounds settles the question, and nothing is left to ask.
        let is_within = alpha <= value && value <= beta;
        if is_within && value <= low && alpha < low {
            (low, high) = ((value - 2 * SOLVE_ASPIRATION).max(alpha), value + 1);
        } else if is_within && high <= value && high < beta {
            (low, high) = (value - 1, (value + 2 * SOLVE_ASPIRATION).min(beta));
        } else {
            return best.map(|best| Iteration { value: value * DISC, best, depth: node.empties as u8 });
        }
    }
}
