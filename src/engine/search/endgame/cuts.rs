//! What decides a node of the exact search without trying its moves.

use super::node::{EndNode, GUIDED_EMPTIES_MIN};
use crate::engine::board::kernel::Kernel;
use crate::engine::board::position::Position;
use crate::engine::score::{Discs, Score};
use crate::engine::search::midgame;
use crate::engine::search::run::{Plain, SearchRun};
use crate::engine::search::table::PositionKey;
use crate::engine::search::window::{Alpha, Beta, NullWindow, OpenWindow, Window};
use std::ops::Neg;

/// The least alpha, by empty squares, at which stable discs are counted: below it they seldom
/// suffice for a cut.
const STABILITY_ALPHA_MIN: [i32; 33] = [
    64, 64, 64, 64, 64, 6, 8, 10, 12, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40,
    40, 42, 42, 44, 44, 46, 46, 48, 48,
];

/// Children are looked up from this many empty squares.
const LOOK_UP_EMPTIES_MIN: u32 = 7;

/// The same bounds in millidiscs.
#[inline(always)]
pub fn in_millidiscs(window: impl Window<Unit = Discs>) -> OpenWindow {
    OpenWindow::new(Alpha(window.alpha().into()), Beta(window.beta().into()))
}

/// The narrowest window in whole discs around a window in millidiscs.
#[inline(always)]
pub fn in_discs(window: impl Window<Unit = Score>) -> OpenWindow<Discs> {
    let floor = |score: Score| Discs(score.0.div_euclid(Score::DISC.0));
    OpenWindow::new(Alpha(floor(window.alpha())), Beta(-floor(-window.beta())))
}

/// The opponent keeps its stable discs, which bounds the value from above.
#[inline(always)]
pub fn stability_cut(position: Position, empties: u32, window: NullWindow<Discs>) -> Option<Discs> {
    let alpha_min = STABILITY_ALPHA_MIN
        .get(empties as usize)
        .copied()
        .unwrap_or(Discs::MAX.0);
    if window.alpha() < Discs(alpha_min) {
        return None;
    }
    let stable = position.pass().stable_discs().count_ones();
    let upper = Discs::MAX - Discs(2 * stable as i32);
    (upper <= window.alpha()).then_some(upper)
}

/// Multi-ProbCut to the end of the game; only in searches that prepare an exact one.
#[inline(always)]
pub fn probe<K: Kernel>(
    run: &mut SearchRun<'_>,
    node: &EndNode,
    window: NullWindow<Discs>,
) -> Option<Discs> {
    if !run.margin.is_finite() || node.empties < GUIDED_EMPTIES_MIN {
        return None;
    }
    let mpc = run.mpc;
    let entries = mpc.end_probes(node.empties as u8);
    midgame::probe_all::<K, Plain>(run, &node.midgame(), in_millidiscs(window), entries)
        .map(Discs::truncated)
}

/// What the tables already prove about the move to `next`, if that decides a window of the mover.
#[inline(always)]
pub fn bound_after(
    run: &SearchRun<'_>,
    next: &EndNode,
    window: NullWindow<Discs>,
) -> Option<Discs> {
    if next.empties < LOOK_UP_EMPTIES_MIN {
        return None;
    }
    let window = window.for_opponent();
    if next.empties < GUIDED_EMPTIES_MIN {
        return run.local.get(next.position).answer(window).map(Neg::neg);
    }
    let known = run.table.get(PositionKey::new(next.position))?;
    let answer = run
        .look_up(&known, next.depth(), in_millidiscs(window))
        .break_value();
    answer.map(|value| Discs::truncated(-value))
}
