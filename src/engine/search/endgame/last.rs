//! The last empty squares: no table, and no ordering but by parity; separate code for each number
//! of them up to four.

use super::cuts::stability_cut;
use super::node::Parity;
use crate::engine::board::kernel::{Kernel, kernel_entry};
use crate::engine::board::position::Position;
use crate::engine::board::square::{Square, Squares};
use crate::engine::score::Discs;
use crate::engine::search::run::SearchRun;
use crate::engine::search::window::{NullWindow, Unit, Window};

/// With this many empty squares or fewer a table costs more than it saves.
pub const SHALLOW_EMPTIES_MAX: u32 = 5;

kernel_entry! {
    /// The fail-soft value with at most [`SHALLOW_EMPTIES_MAX`] empty squares, moves ordered by
    /// parity.
    pub fn shallow(run: &mut SearchRun<'_>, position: Position, moves: u64, window: NullWindow<Discs>, parity: Parity) -> Discs = shallow_body;

    /// The fail-soft value with at most four empty squares.
    fn last_four(run: &mut SearchRun<'_>, position: Position, window: NullWindow<Discs>, parity: Parity) -> Discs = last_four_body;

    fn last_three(run: &mut SearchRun<'_>, position: Position, window: NullWindow<Discs>, squares: [Square; 3]) -> Discs = last_three_body;

    fn last_two(run: &mut SearchRun<'_>, position: Position, window: NullWindow<Discs>, squares: [Square; 2]) -> Discs = last_two_body;
}

#[inline(always)]
fn shallow_body<K: Kernel>(
    run: &mut SearchRun<'_>,
    position: Position,
    moves: u64,
    window: NullWindow<Discs>,
    parity: Parity,
) -> Discs {
    let empties = u32::from(position.empties());
    if empties < SHALLOW_EMPTIES_MAX {
        return last_four::<K>(run, position, window, parity);
    }
    run.nodes += 1;
    if moves == 0 {
        let (passed, moves) = (position.pass(), position.pass().legal_moves_by::<K>());
        if moves == 0 {
            return position.final_discs();
        }
        return -shallow::<K>(run, passed, moves, window.for_opponent(), parity);
    }
    if let Some(value) = stability_cut(position, empties, window) {
        return value;
    }
    let mut best = Discs::NOTHING;
    let odd = moves & parity.odd_squares();
    for moves in [odd, moves & !odd] {
        for square in Squares(moves) {
            let next = position.play_unchecked(square, position.flips_by::<K>(square));
            let discs = -last_four::<K>(run, next, window.for_opponent(), parity.toggled(square));
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

#[inline(always)]
fn last_four_body<K: Kernel>(
    run: &mut SearchRun<'_>,
    position: Position,
    window: NullWindow<Discs>,
    parity: Parity,
) -> Discs {
    let empty = position.empty();
    let odd = empty & parity.odd_squares();
    let [a, b, c, d] = if odd.count_ones() == 2 {
        join(odd, empty & !odd)
    } else {
        join(empty, 0)
    };
    match position.empties() {
        4 => {}
        3 => return last_three::<K>(run, position, window, [a, b, c]),
        2 => return last_two::<K>(run, position, window, [a, b]),
        1 => return last_one::<K>(run, position, a),
        _ => return position.final_discs(),
    }
    run.nodes += 1;
    let orders = [[a, b, c, d], [b, a, c, d], [c, a, b, d], [d, a, b, c]];
    let tried = orders.map(|[square, rest @ ..]| (square, rest));
    if let Some(best) = best_move::<K, _, _>(run, position, window, tried, last_three::<K>) {
        return best;
    }
    if position.pass().legal_moves_by::<K>() == 0 {
        return position.final_discs();
    }
    -last_four::<K>(run, position.pass(), window.for_opponent(), parity)
}

/// The fail-soft value of the best legal one of some moves, each with the squares that are left
/// after it; `None` if none is legal.
#[inline(always)]
fn best_move<K: Kernel, R, const N: usize>(
    run: &mut SearchRun<'_>,
    position: Position,
    window: NullWindow<Discs>,
    moves: [(Square, R); N],
    reply: impl Fn(&mut SearchRun<'_>, Position, NullWindow<Discs>, R) -> Discs,
) -> Option<Discs> {
    let mut best = None;
    for (square, rest) in moves {
        let flips = position.flips_by::<K>(square);
        if flips != 0 {
            let value = -reply(
                run,
                position.play_unchecked(square, flips),
                window.for_opponent(),
                rest,
            );
            best = best.max(Some(value));
            if window.alpha() < value {
                break;
            }
        }
    }
    best
}

/// The squares of the first set, then those of the second, of at most four; any squares where there
/// are fewer.
#[inline(always)]
fn join(first: u64, second: u64) -> [Square; 4] {
    let (mut rest, mut then) = (first, second);
    std::array::from_fn(|_| {
        if rest == 0 {
            (rest, then) = (then, 0);
        }
        let square = Square::lowest_or_a1(rest);
        rest &= rest.wrapping_sub(1);
        square
    })
}

/// The quarter of the board that a square lies in.
#[inline(always)]
const fn quarter(square: Square) -> u8 {
    square.number() & 0b10_0100
}

#[inline(always)]
fn last_three_body<K: Kernel>(
    run: &mut SearchRun<'_>,
    position: Position,
    window: NullWindow<Discs>,
    squares: [Square; 3],
) -> Discs {
    run.nodes += 1;
    let [mut a, mut b, mut c] = squares;
    // A square alone in its quarter goes first.
    if quarter(a) == quarter(b) {
        (a, c) = (c, a);
    } else if quarter(a) == quarter(c) {
        (a, b) = (b, a);
    }
    let tried = [[a, b, c], [b, a, c], [c, a, b]].map(|[square, rest @ ..]| (square, rest));
    if let Some(best) = best_move::<K, _, _>(run, position, window, tried, last_two::<K>) {
        return best;
    }
    if position.pass().legal_moves_by::<K>() == 0 {
        return position.final_discs();
    }
    -last_three::<K>(run, position.pass(), window.for_opponent(), [a, b, c])
}

#[inline(always)]
fn last_two_body<K: Kernel>(
    run: &mut SearchRun<'_>,
    position: Position,
    window: NullWindow<Discs>,
    squares: [Square; 2],
) -> Discs {
    run.nodes += 1;
    let [a, b] = squares;
    let tried = [(a, b), (b, a)];
    let result =
        |run: &mut SearchRun<'_>, position, _, square| last_one::<K>(run, position, square);
    if let Some(best) = best_move::<K, _, _>(run, position, window, tried, result) {
        return best;
    }
    let passed = position.pass();
    let worst = best_move::<K, _, _>(run, passed, window.for_opponent(), tried, result);
    worst.map_or_else(|| position.final_discs(), |worst| -worst)
}

/// The result with one empty square.
#[inline(always)]
fn last_one<K: Kernel>(run: &mut SearchRun<'_>, position: Position, square: Square) -> Discs {
    run.nodes += 1;
    // Without a move the empty square counts for the side that has more of the 63 discs.
    let discs = 2 * position.player().count_ones() as i32;
    let flips = position.last_flip_count::<K>(square);
    if flips != 0 {
        return Discs(discs + 2 * flips - 62);
    }
    let flips = position.pass().last_flip_count::<K>(square);
    if flips != 0 {
        return Discs(discs - 2 * flips - 64);
    }
    Discs(if 64 <= discs { discs - 62 } else { discs - 64 })
}
