//! A few empty squares: no table, and no ordering but by parity.

use super::last::last_four;
use super::node::Parity;
use crate::engine::board::kernel::{Kernel, kernel_entry};
use crate::engine::board::position::Position;
use crate::engine::board::square::Squares;
use crate::engine::score::Discs;
use crate::engine::search::run::Run;
use crate::engine::search::window::{NullWindow, Unit, Window};

/// With this many empty squares or fewer a table costs more than it saves.
pub(super) const SHALLOW_EMPTIES_MAX: u32 = 5;

kernel_entry! {
    /// The fail-soft value with at most [`SHALLOW_EMPTIES_MAX`] empty squares.
    pub(super) fn value(run: &mut Run<'_>, position: Position, window: NullWindow<Discs>, parity: Parity) -> Discs = value_body
}

#[inline(always)]
fn value_body<K: Kernel>(run: &mut Run<'_>, position: Position, window: NullWindow<Discs>, parity: Parity) -> Discs {
    if position.empties() <= 4 {
        return last_four::<K>(run, position, window, parity);
    }
    run.nodes += 1;
    let moves = position.legal_moves_by::<K>();
    if moves == 0 {
        if position.pass().legal_moves_by::<K>() == 0 {
            return position.final_discs();
        }
        return -value::<K>(run, position.pass(), window.for_opponent(), parity);
    }
    let mut best = Discs::NOTHING;
    let odd = moves & parity.odd_squares();
    for moves in [odd, moves & !odd] {
        for square in Squares(moves) {
            let next = position.play_unchecked(square, position.flips_by::<K>(square));
            let discs = if position.empties() == 5 {
                -last_four::<K>(run, next, window.for_opponent(), parity.toggled(square))
            } else {
                -value::<K>(run, next, window.for_opponent(), parity.toggled(square))
            };
            if best < discs {
                best = discs;
                if window.alpha() < discs {
                    return best;
                }
            }
        }
    }
    best
}
