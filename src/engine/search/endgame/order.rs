//! The order in which the exact search tries moves. The constants are from node counts on FFO 40-44 and on random
//! positions with 14 and 18 empty squares; halving or doubling one changes them by 1 to 4 %.

use super::super::candidates::{CORNERS, Candidate, Candidates, potential_moves, weighted_mobility};
use super::super::midgame;
use super::super::run::Run;
use super::GUIDED_EMPTIES_MIN;
use super::node::EndNode;
use crate::engine::board::kernel::Kernel;
use crate::engine::board::square::Square;
use crate::engine::eval::evaluation::DISC;

/// The empty squares from which the guiding search looks 0, 1, 2, … plies ahead.
const GUIDE_DEPTH_EMPTIES: [u32; 4] = [GUIDED_EMPTIES_MIN, 17, 20, 23];
/// Order points for each weighted reply, each potential reply, a move into an odd region, and a corner.
const REPLY_ORDER: i32 = 64;
const POTENTIAL_ORDER: i32 = 20;
const PARITY_ORDER: i32 = 24;
const CORNER_ORDER: i32 = 32;
/// Order millidiscs for each weighted reply where the evaluation guides.
const GUIDED_REPLY_ORDER: i32 = 5 * DISC / 2;
/// Above every order value: the move that the table remembers.
const FIRST: i32 = i32::MAX;

/// Orders without the evaluation.
#[inline(always)]
pub(super) fn order(node: &EndNode, candidates: &mut Candidates, first: Option<Square>) {
    let odd = node.parity.odd_squares();
    for candidate in candidates.as_mut_slice() {
        let next = node.after(candidate);
        candidate.order = if first.is_some_and(|first| first.number() == candidate.square) {
            FIRST
        } else {
            fast_order(&next, candidate, odd, weighted_mobility(candidate.replies))
        };
    }
}

/// Fastest first: few replies, then few prospects of replies, odd regions, corners.
#[inline(always)]
pub(super) fn fast_order(next: &EndNode, candidate: &Candidate, odd: u64, mobility: i32) -> i32 {
    let bit = 1 << candidate.index();
    let prospects = potential_moves(next.opponent, !(next.player | next.opponent)).count_ones() as i32;
    let parity = if odd & bit != 0 { PARITY_ORDER } else { 0 };
    let corner = if CORNERS & bit != 0 { CORNER_ORDER } else { 0 };
    parity + corner - mobility * REPLY_ORDER - prospects * POTENTIAL_ORDER
}

/// Orders by a shallow search, replies against it.
#[inline(always)]
pub(super) fn guided_order<K: Kernel>(
    run: &mut Run<'_>,
    node: &EndNode,
    candidates: &mut Candidates,
    first: Option<Square>,
) {
    let steps = GUIDE_DEPTH_EMPTIES.iter().filter(|&&empties| empties <= node.empties).count();
    let depth = (steps - 1) as u8;
    let parent = node.midgame();
    for candidate in candidates.as_mut_slice() {
        if first.is_some_and(|first| first.number() == candidate.square) {
            candidate.order = FIRST;
            continue;
        }
        let value = midgame::value_after::<K>(run, &parent, candidate, depth);
        candidate.order = value - weighted_mobility(candidate.replies) * GUIDED_REPLY_ORDER;
    }
}
