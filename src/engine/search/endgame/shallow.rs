//! A few empty squares: no table and no ordering but parity.

use super::super::run::Run;
use super::DISCS_MAX;
use super::last::last_four;
use super::node::Parity;
use crate::engine::board::kernel::{Kernel, kernel_entry};
use crate::engine::board::position::Position;

/// With this many empty squares or fewer a table costs more than it saves.
pub(super) const SHALLOW_EMPTIES_MAX: u32 = 5;

kernel_entry! {
    /// The fail-soft value against `alpha`, `alpha + 1` with at most [`SHALLOW_EMPTIES_MAX`] empty squares.
    pub(super) fn value(run: &mut Run<'_>, player: u64, opponent: u64, alpha: i32, parity: Parity) -> i32 = value_body
}

#[inline(always)]
fn value_body<K: Kernel>(run: &mut Run<'_>, player: u64, opponent: u64, alpha: i32, parity: Parity) -> i32 {
    let empty = !(player | opponent);
    if empty.count_ones() <= 4 {
        return last_four::<K>(run, player, opponent, alpha, parity);
    }
    run.nodes += 1;
    let moves = K::legal_moves(player, opponent);
    if moves == 0 {
        if K::legal_moves(opponent, player) == 0 {
            return Position::new_unchecked(player, opponent).final_discs();
        }
        return -value::<K>(run, opponent, player, -alpha - 1, parity);
    }
    let mut best = -DISCS_MAX - 1;
    let odd = moves & parity.odd_squares();
    for mut rest in [odd, moves & !odd] {
        while rest != 0 {
            let square = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let flips = K::flips(player, opponent, square);
            let (next_player, next_opponent) = (opponent ^ flips, player ^ flips ^ 1 << square);
            let score = if empty.count_ones() == 5 {
                -last_four::<K>(run, next_player, next_opponent, -alpha - 1, parity.toggled(square))
            } else {
                -value::<K>(run, next_player, next_opponent, -alpha - 1, parity.toggled(square))
            };
            if best < score {
                best = score;
                if alpha < score {
                    return best;
                }
            }
        }
    }
    best
}
