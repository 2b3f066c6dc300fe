//! Exact search to the end of the game, in discs; with few empty squares it needs no evaluation.

mod cuts;
mod last;
pub mod local;
pub mod node;
pub mod order;

use super::candidates::{Candidate, Candidates, add_unordered, pick, pick_free, put_first};
use super::midgame::{self, prefetch_children};
use super::result::Iteration;
use super::run::SearchRun;
use super::table::PositionKey;
use super::window::{NullWindow, OpenWindow, Unit, Window};
use crate::engine::board::kernel::{Kernel, kernel_entry};
use crate::engine::board::square::{Square, Squares};
use crate::engine::score::Discs;
use cuts::{bound_after, in_discs, in_millidiscs, probe, stability_cut};
use last::{SHALLOW_EMPTIES_MAX, shallow};
use node::{EndNode, GUIDED_EMPTIES_MIN};
use order::{fast_order, order};
use std::ops::ControlFlow;

/// The moves that a node without guidance may have: one per empty square.
const FAST_ROOM: usize = GUIDED_EMPTIES_MIN as usize;

kernel_entry! {
    /// The fail-soft value, with moves ordered by the evaluation.
    fn guided<W: Window<Unit = Discs>>(run: &mut SearchRun<'_>, node: &EndNode, window: W) -> Discs = guided_body;

    /// The fail-soft value without the evaluation: fastest first.
    fn fast_null_window(run: &mut SearchRun<'_>, node: &EndNode, window: NullWindow<Discs>) -> Discs = fast_null_window_body;
}

/// The value of the root within a window, without the answers of the table; `None` if it was
/// stopped.
#[inline(always)]
pub fn root_window<K: Kernel>(
    run: &mut SearchRun<'_>,
    node: &EndNode,
    window: OpenWindow<Discs>,
    first: Option<Square>,
) -> Option<Iteration> {
    run.nodes += 1;
    let mut candidates = Candidates::new_const();
    add_unordered::<K>(&mut candidates, node.position, node.moves);
    let (value, best) =
        best_child::<K, OpenWindow<Discs>>(run, node, &mut candidates, first, window);
    if run.stopped {
        return None;
    }
    let (value, depth) = (value.into(), node.depth());
    run.table.put(
        PositionKey::new(node.position),
        &run.known(value, best, in_millidiscs(window), depth),
    );
    best.map(|best| Iteration { value, best, depth })
}

/// Searches a node by the means that its window and its number of empty squares call for.
#[inline(always)]
fn search<K: Kernel, W: Window<Unit = Discs>>(
    run: &mut SearchRun<'_>,
    node: &EndNode,
    window: W,
) -> Discs {
    if W::OPEN && node.empties < GUIDED_EMPTIES_MIN {
        staircase::<K>(run, node, window.open())
    } else if !W::OPEN && node.empties <= SHALLOW_EMPTIES_MAX {
        shallow::<K>(run, node.position, node.moves, window.null(), node.parity)
    } else if !W::OPEN && node.empties < GUIDED_EMPTIES_MIN {
        fast_null_window::<K>(run, node, window.null())
    } else {
        guided::<K, W>(run, node, window)
    }
}

#[inline(always)]
fn staircase<K: Kernel>(
    run: &mut SearchRun<'_>,
    node: &EndNode,
    window: OpenWindow<Discs>,
) -> Discs {
    let mut rest = window;
    loop {
        let value = search::<K, NullWindow<Discs>>(run, node, rest.null());
        if !rest.contains(value) {
            return value;
        }
        rest = rest.raised_to(value);
    }
}

/// A node with accumulators kept for an ordering by the evaluation.
#[inline(always)]
fn guided_body<K: Kernel, W: Window<Unit = Discs>>(
    run: &mut SearchRun<'_>,
    node: &EndNode,
    window: W,
) -> Discs {
    if node.moves == 0 {
        return passed::<K, W, true>(run, node, window);
    }
    run.nodes += 1;
    if run.must_stop() {
        return window.alpha();
    }
    if !W::OPEN
        && let Some(value) = stability_cut(node.position, node.empties, window.null())
    {
        return value;
    }
    let key = PositionKey::new(node.position);
    let (mut rest, mut first) = (window, None);
    if let Some(known) = run.table.get(key) {
        match run.look_up(&known, node.depth(), in_millidiscs(window)) {
            ControlFlow::Break(value) => return Discs::truncated(value),
            ControlFlow::Continue(narrower) => {
                let narrower = in_discs(narrower);
                rest = window.narrowed_to(narrower.alpha(), narrower.beta());
            }
        }
        first = known.best.filter(|_| known.depth == node.depth());
    }
    let is_marked = run.marked.to_end <= node.depth();
    if is_marked {
        run.enter(key, node.depth(), (!W::OPEN).then(|| window.alpha().into()));
    }
    let value = searched::<K, W>(run, node, key, first, window, rest);
    if is_marked {
        run.leave().map_or(value, Discs::truncated)
    } else {
        value
    }
}

/// As in the search by depth.
#[inline(always)]
fn searched<K: Kernel, W: Window<Unit = Discs>>(
    run: &mut SearchRun<'_>,
    node: &EndNode,
    key: PositionKey,
    first: Option<Square>,
    window: W,
    rest: W,
) -> Discs {
    if !W::OPEN
        && let Some(value) = probe::<K>(run, node, window.null())
    {
        return value;
    }
    let mut candidates = Candidates::new_const();
    add_unordered::<K>(&mut candidates, node.position, node.moves);
    if GUIDED_EMPTIES_MIN < node.empties {
        prefetch_children(run, node.position, &candidates);
    }
    if !W::OPEN && !node.fails_low {
        let upper =
            |candidate: &Candidate| bound_after(run, &node.after(candidate, true), window.null());
        if let Some(value) = candidates
            .iter()
            .filter_map(upper)
            .find(|&value| window.alpha() < value)
        {
            return value;
        }
    }
    let (value, best) = best_child::<K, W>(run, node, &mut candidates, first, rest);
    if !run.stopped {
        let known = run.known(value.into(), best, in_millidiscs(rest), node.depth());
        run.table.put(key, &known);
    }
    value
}

/// See [`midgame::best_child`].
#[inline(always)]
fn best_child<K: Kernel, W: Window<Unit = Discs>>(
    run: &mut SearchRun<'_>,
    node: &EndNode,
    candidates: &mut [Candidate],
    first: Option<Square>,
    window: W,
) -> (Discs, Option<Square>) {
    let (mut best_value, mut best) = (Discs::NOTHING, None);
    let mut ordered = put_first(candidates, first);
    let divided_from = run.divided_from(node.depth(), run.marked.to_end);
    if divided_from < ordered && is_busy(run, node, &pick(candidates, 0)) {
        ordered = 0;
    }
    for turn in 0..candidates.len() {
        if turn == ordered {
            order::<K>(run, node, &mut candidates[turn..]);
        }
        let candidate = if divided_from <= turn {
            pick_free(candidates, turn, |candidate| is_busy(run, node, candidate))
        } else {
            pick(candidates, turn)
        };
        let rest = window.raised_to(best_value);
        let next = node.after(&candidate, !W::OPEN && !node.fails_low && turn == 0);
        if GUIDED_EMPTIES_MIN <= next.empties {
            midgame::play::<K>(run, &node.midgame(), &candidate);
        }
        let null = rest.null();
        let mut value = null.beta();
        if !W::OPEN || turn != 0 {
            value = -search::<K, NullWindow<Discs>>(run, &next, null.for_opponent());
        }
        if W::OPEN && (turn == 0 || rest.contains(value)) {
            value = -search::<K, OpenWindow<Discs>>(run, &next, rest.open().for_opponent());
        }
        if run.stopped {
            return (window.alpha(), None);
        }
        if best_value < value {
            (best_value, best) = (value, Some(candidate.square));
            if window.beta() <= value {
                break;
            }
        }
        if divided_from != usize::MAX {
            run.check_soon();
        }
    }
    (best_value, best)
}

/// Whether another member of the team searches a move.
fn is_busy(run: &SearchRun<'_>, node: &EndNode, candidate: &Candidate) -> bool {
    let next = node.after(candidate, false);
    run.is_busy(PositionKey::new(next.position), next.depth())
}

/// A node whose side to move has no move.
#[inline(always)]
fn passed<K: Kernel, W: Window<Unit = Discs>, const GUIDED: bool>(
    run: &mut SearchRun<'_>,
    node: &EndNode,
    window: W,
) -> Discs {
    run.nodes += 1;
    let position = node.position.pass();
    let moves = position.legal_moves_by::<K>();
    if moves == 0 {
        return node.position.final_discs();
    }
    let ply = if GUIDED {
        let (before, after) = run.accumulators.split_at_mut(node.ply + 1);
        run.incremental.pass(&before[node.ply], &mut after[0]);
        node.ply + 1
    } else {
        node.ply
    };
    -search::<K, W>(
        run,
        &EndNode {
            position,
            moves,
            ply,
            fails_low: !node.fails_low,
            ..*node
        },
        window.for_opponent(),
    )
}

#[inline(always)]
fn fast_null_window_body<K: Kernel>(
    run: &mut SearchRun<'_>,
    node: &EndNode,
    window: NullWindow<Discs>,
) -> Discs {
    if node.moves == 0 {
        return passed::<K, NullWindow<Discs>, false>(run, node, window);
    }
    run.nodes += 1;
    if run.must_stop() {
        return window.alpha();
    }
    if let Some(value) = stability_cut(node.position, node.empties, window) {
        return value;
    }
    let bounds = run.local.get(node.position);
    if let Some(value) = bounds.answer(window) {
        return value;
    }
    let (value, best) = fastest_first::<K>(run, node, window, bounds.best);
    if !run.stopped {
        run.local
            .put(node.position, bounds.narrowed(value, best, window));
    }
    value
}

/// Tries the move from the table before it looks at the others.
#[inline(always)]
fn fastest_first<K: Kernel>(
    run: &mut SearchRun<'_>,
    node: &EndNode,
    window: NullWindow<Discs>,
    first: Option<Square>,
) -> (Discs, Option<Square>) {
    let (mut best_value, mut best) = (Discs::NOTHING, None);
    let mut rest = node.moves;
    if let Some(square) = first {
        let candidate = Candidate::new::<K>(node.position, square);
        let next = node.after(&candidate, !node.fails_low);
        (best_value, best) = (
            -search::<K, NullWindow<Discs>>(run, &next, window.for_opponent()),
            first,
        );
        if window.alpha() < best_value || run.stopped {
            return (best_value, best);
        }
        rest &= !square.bit();
    }
    let mut candidates = Candidates::<FAST_ROOM>::new_const();
    let odd = node.parity.odd_squares();
    for square in Squares(rest) {
        let mut candidate = Candidate::new::<K>(node.position, square);
        if candidate.flips == node.position.opponent() {
            return (Discs::MAX, Some(square));
        }
        let next = node.after(&candidate, !node.fails_low);
        if !node.fails_low
            && let Some(value) = bound_after(run, &next, window)
        {
            if window.alpha() < value {
                return (value, Some(square));
            }
            best_value = best_value.max(value);
            continue;
        }
        candidate.order = fast_order(&next, &candidate, odd);
        candidates.push(candidate);
    }
    for turn in 0..candidates.len() {
        let candidate = pick(&mut candidates, turn);
        let next = node.after(&candidate, !node.fails_low && turn == 0 && first.is_none());
        let value = -search::<K, NullWindow<Discs>>(run, &next, window.for_opponent());
        if run.stopped {
            return (window.alpha(), None);
        }
        if best_value < value {
            (best_value, best) = (value, Some(candidate.square));
            if window.alpha() < value {
                break;
            }
        }
    }
    (best_value, best)
}
