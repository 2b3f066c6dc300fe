//! Exact search to the end of the game, in discs; with few empty squares it needs no evaluation.

mod cuts;
mod fast;
mod last;
pub(super) mod node;
mod order;
mod shallow;

use super::candidates::Candidates;
use super::midgame::{self, NullWindow, OpenWindow, Window};
use super::run::{Bounds, Run};
use super::table::Key;
use crate::engine::board::kernel::{Kernel, kernel_entry};
use crate::engine::board::square::Square;
use crate::engine::eval::evaluation::DISC;
use cuts::{probe, stability_cut, transposition_cut};
use fast::null_window;
use node::EndNode;
use order::{guided_order, order};
use shallow::SHALLOW_EMPTIES_MAX;

/// The greatest final difference.
pub(super) const DISCS_MAX: i32 = 64;

/// With this many empty squares or more, moves are ordered by the evaluation.
const GUIDED_EMPTIES_MIN: u32 = 12;
/// Open windows become a staircase of null windows at this many empty squares.
const STAIRCASE_EMPTIES_MAX: u32 = 8;
/// Children are looked up before any is searched from this many empty squares.
const TRANSPOSITION_EMPTIES_MIN: u32 = 10;

kernel_entry! {
    /// As `null_window`, with accumulators kept for an ordering by the evaluation.
    fn guided_null_window(run: &mut Run<'_>, node: &EndNode, alpha: i32) -> i32 = guided_null_window_body
}

kernel_entry! {
    /// The fail-soft value against a window of any width.
    fn open_window(run: &mut Run<'_>, node: &EndNode, alpha: i32, beta: i32) -> i32 = open_window_body
}

#[inline(always)]
fn guided_null_window_body<K: Kernel>(run: &mut Run<'_>, node: &EndNode, alpha: i32) -> i32 {
    inner::<K, NullWindow, true>(run, node, alpha, alpha + 1)
}

#[inline(always)]
fn open_window_body<K: Kernel>(run: &mut Run<'_>, node: &EndNode, alpha: i32, beta: i32) -> i32 {
    if STAIRCASE_EMPTIES_MAX < node.empties {
        return inner::<K, OpenWindow, true>(run, node, alpha, beta);
    }
    let mut low = alpha;
    loop {
        let value = against::<K, NullWindow>(run, node, low, low + 1);
        if value <= low || beta <= value {
            return value;
        }
        low = value;
    }
}

/// A node without the answers of the table: its value and the move that has it.
#[inline(always)]
pub(super) fn root_window<K: Kernel>(
    run: &mut Run<'_>,
    node: &EndNode,
    alpha: i32,
    beta: i32,
    first: Option<Square>,
) -> (i32, Option<Square>) {
    run.nodes += 1;
    let mut candidates = Candidates::new::<K>(node.player, node.opponent, node.moves);
    root_order::<K>(run, node, &mut candidates, first);
    let (value, best) = best_child::<K, OpenWindow, true>(run, node, &mut candidates, alpha, beta);
    if !run.stopped {
        let known = run.known(value * DISC, best, alpha * DISC, beta * DISC, node.empties as u8);
        run.table.put(Key::new(node.position()), &known);
    }
    (value, best)
}

/// Orders the moves of a root.
#[inline(always)]
pub(super) fn root_order<K: Kernel>(
    run: &mut Run<'_>,
    node: &EndNode,
    candidates: &mut Candidates,
    first: Option<Square>,
) {
    if GUIDED_EMPTIES_MIN <= node.empties {
        guided_order::<K>(run, node, candidates, first);
    } else {
        order(node, candidates, first);
    }
}

/// Searches a node by the means that its number of empty squares calls for.
#[inline(always)]
fn against<K: Kernel, W: Window>(run: &mut Run<'_>, node: &EndNode, alpha: i32, beta: i32) -> i32 {
    if W::OPEN {
        open_window::<K>(run, node, alpha, beta)
    } else if node.empties <= SHALLOW_EMPTIES_MAX {
        shallow::value::<K>(run, node.player, node.opponent, alpha, node.parity)
    } else if node.empties < GUIDED_EMPTIES_MIN {
        null_window::<K>(run, node, alpha)
    } else {
        guided_null_window::<K>(run, node, alpha)
    }
}

#[inline(always)]
fn inner<K: Kernel, W: Window, const GUIDED: bool>(run: &mut Run<'_>, node: &EndNode, alpha: i32, beta: i32) -> i32 {
    if node.moves == 0 {
        return passed::<K, W, GUIDED>(run, node, alpha, beta);
    }
    run.nodes += 1;
    if run.must_stop() {
        return alpha;
    }
    if !W::OPEN
        && let Some(value) = stability_cut::<K>(node, alpha)
    {
        return value;
    }
    let depth = node.empties as u8;
    let key = Key::new(node.position());
    let (mut low, mut high, mut first) = (alpha, beta, None);
    if let Some(known) = run.table.get(key) {
        match run.bounds(&known, depth, alpha * DISC, beta * DISC) {
            Bounds::Answer(value) => return value / DISC,
            Bounds::Window(alpha, beta) => (low, high) = (alpha / DISC, beta / DISC),
        }
        first = known.best.filter(|_| known.depth == depth);
    }
    if !W::OPEN
        && GUIDED
        && let Some(value) = probe::<K>(run, node, alpha)
    {
        return value;
    }
    let mut candidates = Candidates::new::<K>(node.player, node.opponent, node.moves);
    if !W::OPEN
        && TRANSPOSITION_EMPTIES_MIN <= node.empties
        && let Some(value) = transposition_cut(run, node, &candidates, alpha)
    {
        return value;
    }
    if GUIDED && GUIDED_EMPTIES_MIN <= node.empties {
        guided_order::<K>(run, node, &mut candidates, first);
    } else {
        order(node, &mut candidates, first);
    }
    let (value, best) = best_child::<K, W, GUIDED>(run, node, &mut candidates, low, high);
    if !run.stopped {
        let known = run.known(value * DISC, best, low * DISC, high * DISC, depth);
        run.table.put(key, &known);
    }
    value
}

#[inline(always)]
fn best_child<K: Kernel, W: Window, const GUIDED: bool>(
    run: &mut Run<'_>,
    node: &EndNode,
    candidates: &mut Candidates,
    alpha: i32,
    beta: i32,
) -> (i32, Option<Square>) {
    let (mut best_value, mut best) = (-DISCS_MAX - 1, None);
    for turn in 0..candidates.len() {
        let candidate = candidates.pick(turn);
        let low = alpha.max(best_value);
        let next = node.after(&candidate);
        if GUIDED {
            run.table.prefetch(Key::new(next.position()));
            midgame::play::<K>(run, &node.midgame(), &candidate);
        }
        let mut value = low + 1;
        if !W::OPEN || turn != 0 {
            value = -against::<K, NullWindow>(run, &next, -low - 1, -low);
        }
        if W::OPEN && (turn == 0 || (low < value && value < beta)) {
            value = -against::<K, OpenWindow>(run, &next, -beta, -low);
        }
        if run.stopped {
            return (alpha, None);
        }
        if best_value < value {
            (best_value, best) = (value, Square::new(candidate.square));
            if beta <= value {
                break;
            }
        }
    }
    (best_value, best)
}

#[inline(always)]
fn passed<K: Kernel, W: Window, const GUIDED: bool>(run: &mut Run<'_>, node: &EndNode, alpha: i32, beta: i32) -> i32 {
    run.nodes += 1;
    let moves = K::legal_moves(node.opponent, node.player);
    if moves == 0 {
        return node.position().final_discs();
    }
    let ply = if GUIDED {
        let (before, after) = run.accumulators.split_at_mut(node.ply + 1);
        run.incremental.pass(&before[node.ply], &mut after[0]);
        node.ply + 1
    } else {
        node.ply
    };
    let next = EndNode { player: node.opponent, opponent: node.player, moves, ply, ..*node };
    -against::<K, W>(run, &next, -beta, -alpha)
}
