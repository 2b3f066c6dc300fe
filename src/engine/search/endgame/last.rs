//! The last four empty squares, each depth its own code.

use super::super::run::Run;
use super::DISCS_MAX;
use super::node::Parity;
use crate::engine::board::kernel::{Kernel, kernel_entry};
use crate::engine::board::position::Position;

/// Below every score: no move was found.
const NO_MOVE: i32 = -DISCS_MAX - 1;

kernel_entry! {
    /// The fail-soft value against `alpha`, `alpha + 1` with at most four empty squares.
    pub(super) fn last_four(run: &mut Run<'_>, player: u64, opponent: u64, alpha: i32, parity: Parity) -> i32 = last_four_body
}

kernel_entry! {
    fn last_three(run: &mut Run<'_>, player: u64, opponent: u64, alpha: i32, squares: [u8; 3]) -> i32 = last_three_body
}

kernel_entry! {
    fn last_two(run: &mut Run<'_>, player: u64, opponent: u64, alpha: i32, squares: [u8; 2]) -> i32 = last_two_body
}

#[inline(always)]
fn last_four_body<K: Kernel>(run: &mut Run<'_>, player: u64, opponent: u64, alpha: i32, parity: Parity) -> i32 {
    let empty = !(player | opponent);
    let odd = empty & parity.odd_squares();
    let squares = if odd.count_ones() == 2 { join(odd, empty & !odd) } else { join(empty, 0) };
    match empty.count_ones() {
        4 => {}
        3 => return last_three::<K>(run, player, opponent, alpha, [squares[0], squares[1], squares[2]]),
        2 => return last_two::<K>(run, player, opponent, alpha, [squares[0], squares[1]]),
        1 => return last_one::<K>(run, player, usize::from(squares[0])),
        _ => return Position::new_unchecked(player, opponent).final_discs(),
    }
    run.nodes += 1;
    let [a, b, c, d] = squares;
    let turns = [[a, b, c, d], [b, a, c, d], [c, a, b, d], [d, a, b, c]];
    let mut best = NO_MOVE;
    for [square, rest @ ..] in turns {
        let flips = K::flips(player, opponent, usize::from(square));
        if flips != 0 {
            let (next_player, next_opponent) = (opponent ^ flips, player ^ flips ^ 1 << square);
            best = best.max(-last_three::<K>(run, next_player, next_opponent, -alpha - 1, rest));
            if alpha < best {
                return best;
            }
        }
    }
    if best != NO_MOVE {
        return best;
    }
    if K::legal_moves(opponent, player) == 0 {
        return Position::new_unchecked(player, opponent).final_discs();
    }
    -last_four::<K>(run, opponent, player, -alpha - 1, parity)
}

/// The squares of the first set, then those of the second, of at most four.
#[inline(always)]
fn join(first: u64, second: u64) -> [u8; 4] {
    let mut squares = [0; 4];
    let (mut rest, mut then) = (first, second);
    for square in &mut squares {
        if rest == 0 {
            (rest, then) = (then, 0);
        }
        *square = (rest.trailing_zeros() & 63) as u8;
        rest &= rest.wrapping_sub(1);
    }
    squares
}

/// The quarter of the board that a square lies in.
#[inline(always)]
const fn quarter(square: u8) -> u8 {
    square & 0b10_0100
}

#[inline(always)]
fn last_three_body<K: Kernel>(run: &mut Run<'_>, player: u64, opponent: u64, alpha: i32, squares: [u8; 3]) -> i32 {
    run.nodes += 1;
    let [mut a, mut b, mut c] = squares;
    // A square alone in its quarter goes first.
    if quarter(a) == quarter(b) {
        (a, c) = (c, a);
    } else if quarter(a) == quarter(c) {
        (a, b) = (b, a);
    }
    let mut best = NO_MOVE;
    for [square, rest @ ..] in [[a, b, c], [b, a, c], [c, a, b]] {
        let flips = K::flips(player, opponent, usize::from(square));
        if flips != 0 {
            let (next_player, next_opponent) = (opponent ^ flips, player ^ flips ^ 1 << square);
            best = best.max(-last_two::<K>(run, next_player, next_opponent, -alpha - 1, rest));
            if alpha < best {
                return best;
            }
        }
    }
    if best != NO_MOVE {
        return best;
    }
    if K::legal_moves(opponent, player) == 0 {
        return Position::new_unchecked(player, opponent).final_discs();
    }
    -last_three::<K>(run, opponent, player, -alpha - 1, [a, b, c])
}

#[inline(always)]
fn last_two_body<K: Kernel>(run: &mut Run<'_>, player: u64, opponent: u64, alpha: i32, squares: [u8; 2]) -> i32 {
    run.nodes += 1;
    let [a, b] = squares.map(usize::from);
    let mut best = NO_MOVE;
    for (square, rest) in [(a, b), (b, a)] {
        let flips = K::flips(player, opponent, square);
        if flips != 0 {
            best = best.max(-last_one::<K>(run, opponent ^ flips, rest));
            if alpha < best {
                return best;
            }
        }
    }
    if best != NO_MOVE {
        return best;
    }
    // A pass: the opponent takes the better of its moves.
    let mut worst = -NO_MOVE;
    for (square, rest) in [(a, b), (b, a)] {
        let flips = K::flips(opponent, player, square);
        if flips != 0 {
            worst = worst.min(last_one::<K>(run, player ^ flips, rest));
            if worst <= alpha {
                return worst;
            }
        }
    }
    if worst != -NO_MOVE { worst } else { Position::new_unchecked(player, opponent).final_discs() }
}

/// The result with one empty square, `player` to move; every other square holds a disc.
#[inline(always)]
fn last_one<K: Kernel>(run: &mut Run<'_>, player: u64, square: usize) -> i32 {
    run.nodes += 1;
    // Without a move the empty square counts for whoever has more of the 63 discs.
    let discs = 2 * player.count_ones() as i32;
    let flips = K::last_flip_count(player, square) as i32;
    if flips != 0 {
        return discs + 2 * flips - 62;
    }
    let opponent = !(player | 1 << square);
    let flips = K::last_flip_count(opponent, square) as i32;
    if flips != 0 {
        return discs - 2 * flips - 64;
    }
    if DISCS_MAX <= discs { discs - 62 } else { discs - 64 }
}
