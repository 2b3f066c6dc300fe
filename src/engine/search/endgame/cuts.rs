//! What settles a node of the exact search without trying its moves.

use super::super::candidates::Candidates;
use super::super::midgame;
use super::super::run::Run;
use super::super::selective::Plain;
use super::super::table::{Key, Table};
use super::node::EndNode;
use super::{DISCS_MAX, GUIDED_EMPTIES_MIN};
use crate::engine::board::kernel::Kernel;
use crate::engine::board::position::Position;
use crate::engine::board::stability::stable_discs;
use crate::engine::eval::evaluation::DISC;

/// The least alpha, by empty squares, at which stable discs are counted: below it they seldom suffice for a cut.
const STABILITY_ALPHA_MIN: [i32; 33] = [
    64, 64, 64, 64, 64, 6, 8, 10, 12, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 40, 42, 42, 44, 44,
    46, 46, 48, 48,
];

/// With this many empty squares or fewer the small table serves.
pub(super) const LOCAL_EMPTIES_MAX: u32 = 10;
/// Children are looked up from this many empty squares.
const BOUND_EMPTIES_MIN: u32 = 7;

/// The table for a node: a small one that stays in the cache for the many nodes near the end.
#[inline(always)]
pub(super) const fn table<'t>(run: &'t mut Run<'_>, local: bool) -> &'t mut Table {
    if local { run.local } else { run.table }
}

/// The opponent keeps its stable discs, so it loses by no more than the rest.
#[inline(always)]
pub(super) fn stability_cut<K: Kernel>(node: &EndNode, alpha: i32) -> Option<i32> {
    let alpha_min = STABILITY_ALPHA_MIN.get(node.empties as usize).copied().unwrap_or(DISCS_MAX);
    if alpha < alpha_min {
        return None;
    }
    let upper = DISCS_MAX - 2 * stable_discs::<K>(node.opponent, node.player).count_ones() as i32;
    (upper <= alpha).then_some(upper)
}

/// Multi-ProbCut to the end of the game; only in searches that prepare an exact one.
#[inline(always)]
pub(super) fn probe<K: Kernel>(run: &mut Run<'_>, node: &EndNode, alpha: i32) -> Option<i32> {
    if !run.margin.is_finite() || node.empties < GUIDED_EMPTIES_MIN {
        return None;
    }
    let mpc = run.mpc;
    let entries = mpc.end_probes(node.empties as u8);
    let found = midgame::probe_all::<K, Plain>(run, &node.midgame(), alpha * DISC, (alpha + 1) * DISC, entries);
    found.map(|value| value / DISC)
}

/// A move to a position whose value the table bounds well enough needs no search.
#[inline(always)]
pub(super) fn transposition_cut(run: &Run<'_>, node: &EndNode, candidates: &Candidates, alpha: i32) -> Option<i32> {
    for candidate in candidates.as_slice() {
        let (player, opponent) = candidate.play(node.player, node.opponent);
        let Some(known) = run.table.get(Key::new(Position::new_unchecked(player, opponent))) else { continue };
        let deep = node.empties - 1 <= u32::from(known.depth) && run.sureness <= known.sureness;
        if deep && known.upper < -alpha * DISC {
            return Some(-known.upper / DISC);
        }
    }
    None
}

/// What the table already proves about a move, if that settles it against `alpha`.
#[inline(always)]
pub(super) fn bound_after(run: &mut Run<'_>, next: &EndNode, alpha: i32) -> Option<i32> {
    if next.empties < BOUND_EMPTIES_MIN {
        return None;
    }
    let known = table(run, next.empties <= LOCAL_EMPTIES_MAX).get(Key::new(next.position()))?;
    if u32::from(known.depth) < next.empties || known.sureness < run.sureness {
        return None;
    }
    if known.upper < -alpha * DISC {
        return Some(-known.upper / DISC);
    }
    (-alpha * DISC <= known.lower).then_some(-known.lower / DISC)
}
