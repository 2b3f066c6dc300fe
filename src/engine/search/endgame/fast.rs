//! Exact null windows without the evaluation: fastest first.

use super::super::candidates::{Candidate, Candidates, weighted_mobility};
use super::super::midgame::NullWindow;
use super::super::run::{Bounds, Run};
use super::super::table::{Key, Known, Sureness};
use super::cuts::{LOCAL_EMPTIES_MAX, bound_after, stability_cut, table};
use super::node::EndNode;
use super::order::fast_order;
use super::{DISCS_MAX, GUIDED_EMPTIES_MIN, against, passed};
use crate::engine::board::kernel::{Kernel, kernel_entry};
use crate::engine::board::square::Square;
use crate::engine::eval::evaluation::DISC;

/// A move that leaves at most this many weighted replies is searched at once.
const FORCED_REPLIES: i32 = 1;

/// The moves that a node without guidance may have: one for each empty square.
const FAST_ROOM: usize = GUIDED_EMPTIES_MIN as usize;

kernel_entry! {
    /// The fail-soft value against `alpha`, `alpha + 1`, without the evaluation.
    pub(super) fn null_window(run: &mut Run<'_>, node: &EndNode, alpha: i32) -> i32 = null_window_body
}

#[inline(always)]
fn null_window_body<K: Kernel>(run: &mut Run<'_>, node: &EndNode, alpha: i32) -> i32 {
    if node.moves == 0 {
        return passed::<K, NullWindow, false>(run, node, alpha, alpha + 1);
    }
    run.nodes += 1;
    if run.must_stop() {
        return alpha;
    }
    if let Some(value) = stability_cut::<K>(node, alpha) {
        return value;
    }
    let depth = node.empties as u8;
    let local = node.empties <= LOCAL_EMPTIES_MAX;
    let key = Key::new(node.position());
    let mut first = None;
    if let Some(known) = table(run, local).get(key) {
        match run.bounds(&known, depth, alpha * DISC, (alpha + 1) * DISC) {
            Bounds::Answer(value) => return value / DISC,
            Bounds::Window(..) => first = known.best,
        }
    }
    let (value, best) = fastest_first::<K>(run, node, alpha, first);
    if !run.stopped {
        let known = run.known(value * DISC, best, alpha * DISC, (alpha + 1) * DISC, depth);
        // Nothing below is selective.
        table(run, local).put(key, &Known { sureness: Sureness::FULL, ..known });
    }
    value
}

/// Tries the remembered move before it looks at the others, and moves that leave one reply as soon as it sees them.
#[inline(always)]
fn fastest_first<K: Kernel>(
    run: &mut Run<'_>,
    node: &EndNode,
    alpha: i32,
    first: Option<Square>,
) -> (i32, Option<Square>) {
    let (mut best_value, mut best) = (-DISCS_MAX - 1, None);
    let mut rest = node.moves;
    let mut candidates = Candidates::<FAST_ROOM>::empty();
    if let Some(square) = first {
        let candidate = Candidate::new::<K>(node.player, node.opponent, square.index());
        (best_value, best) = (-against::<K, NullWindow>(run, &node.after(&candidate), -alpha - 1, -alpha), first);
        if alpha < best_value || run.stopped {
            return (best_value, best);
        }
        rest &= !square.bit();
    }
    let odd = node.parity.odd_squares();
    while rest != 0 {
        let square = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        let mut candidate = Candidate::new::<K>(node.player, node.opponent, square);
        if candidate.flips == node.opponent {
            return (DISCS_MAX, Square::new(candidate.square));
        }
        let next = node.after(&candidate);
        let mobility = weighted_mobility(candidate.replies);
        if mobility <= FORCED_REPLIES {
            let value = -against::<K, NullWindow>(run, &next, -alpha - 1, -alpha);
            if run.stopped {
                return (alpha, None);
            }
            if best_value < value {
                (best_value, best) = (value, Square::new(candidate.square));
                if alpha < value {
                    return (best_value, best);
                }
            }
            continue;
        }
        if let Some(bound) = bound_after(run, &next, alpha) {
            if alpha < bound {
                return (bound, Square::new(candidate.square));
            }
            if best_value < bound {
                (best_value, best) = (bound, Square::new(candidate.square));
            }
            continue;
        }
        candidate.order = fast_order(&next, &candidate, odd, mobility);
        candidates.push(candidate);
    }
    for turn in 0..candidates.len() {
        let candidate = candidates.pick(turn);
        let value = -against::<K, NullWindow>(run, &node.after(&candidate), -alpha - 1, -alpha);
        if run.stopped {
            return (alpha, None);
        }
        if best_value < value {
            (best_value, best) = (value, Square::new(candidate.square));
            if alpha < value {
                break;
            }
        }
    }
    (best_value, best)
}
