//! The order in which the exact search tries moves. The constants are from node counts on FFO 40-44
//! and on random positions with 14 and 18 empty squares; halving or doubling one changes them by 1
//! to 4 %.

use super::node::{EndNode, GUIDED_EMPTIES_MIN};
use crate::engine::board::kernel::Kernel;
use crate::engine::search::candidates::{CORNERS, Candidate, potential_moves, weighted_mobility};
use crate::engine::search::depth::Depth;
use crate::engine::search::midgame;
use crate::engine::search::run::SearchRun;

/// The empty squares from which the guiding search looks 0, 1, 2, … plies ahead.
const GUIDE_DEPTH_EMPTIES: [u32; 4] = [GUIDED_EMPTIES_MIN, 17, 20, 23];
/// From this many where all moves are expected to fail: there order saves only what a wrong
/// expectation costs.
const GUIDED_FAIL_LOW_EMPTIES_MIN: u32 = 17;
/// Order points per weighted reply and per potential reply, for a move into an odd region, and for
/// a corner.
const REPLY_ORDER: i32 = 64;
const POTENTIAL_ORDER: i32 = 20;
const PARITY_ORDER: i32 = 24;
const CORNER_ORDER: i32 = 32;
/// Order millidiscs per weighted reply where the evaluation guides.
const GUIDED_REPLY_ORDER: i32 = 2_500;

/// Orders moves by a shallow search, replies against it; without the evaluation where that would
/// cost more than it saves.
#[inline(always)]
pub fn order<K: Kernel>(run: &mut SearchRun<'_>, node: &EndNode, candidates: &mut [Candidate]) {
    let guided_from = if node.fails_low {
        GUIDED_FAIL_LOW_EMPTIES_MIN
    } else {
        GUIDED_EMPTIES_MIN
    };
    if node.empties < guided_from {
        let odd = node.parity.odd_squares();
        for candidate in candidates {
            candidate.order = fast_order(&node.after(candidate, false), candidate, odd);
        }
        return;
    }
    let steps = GUIDE_DEPTH_EMPTIES
        .iter()
        .filter(|&&empties| empties <= node.empties)
        .count();
    let depth = Depth((steps - 1) as u8);
    let parent = node.midgame();
    for candidate in candidates {
        let value = midgame::value_after::<K>(run, &parent, candidate, depth);
        candidate.order = value.0 - weighted_mobility(candidate.replies) * GUIDED_REPLY_ORDER;
    }
}

/// Fastest first: few replies, then few prospects of replies, odd regions, corners.
#[inline(always)]
pub fn fast_order(next: &EndNode, candidate: &Candidate, odd: u64) -> i32 {
    let bit = candidate.square.bit();
    let mobility = weighted_mobility(candidate.replies);
    let prospects = potential_moves(next.position).count_ones() as i32;
    let parity = if odd & bit != 0 { PARITY_ORDER } else { 0 };
    let corner = if CORNERS & bit != 0 { CORNER_ORDER } else { 0 };
    parity + corner - mobility * REPLY_ORDER - prospects * POTENTIAL_ORDER
}
