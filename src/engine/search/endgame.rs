//! Exact search to the end of the game, in discs; with few empty squares it needs no evaluation.

mod last;
mod shallow;

use super::candidates::{CORNERS, Candidate, Candidates, potential_moves, weighted_mobility};
use super::midgame::{self, Node, NullWindow, OpenWindow, Window};
use super::run::{Bounds, Run};
use super::table::{Key, Known, Sureness, Table};
use crate::engine::board::kernel::{Kernel, kernel_entry};
use crate::engine::board::position::Position;
use crate::engine::board::square::Square;
use crate::engine::board::stability::stable_discs;
use crate::engine::eval::evaluation::DISC;
use shallow::SHALLOW_EMPTIES_MAX;

/// The greatest final difference.
pub(super) const DISCS_MAX: i32 = 64;

/// With this many empty squares or more, moves are ordered by the evaluation.
const GUIDED_EMPTIES_MIN: u32 = 13;
/// The empty squares from which the guiding search looks 0, 1, 2, … plies ahead.
const GUIDE_DEPTH_EMPTIES: [u32; 4] = [GUIDED_EMPTIES_MIN, 17, 20, 23];
/// Open windows become a staircase of null windows at this many empty squares.
const STAIRCASE_EMPTIES_MAX: u32 = 8;
/// Enhanced transposition cutoffs pay from here.
const TRANSPOSITION_EMPTIES_MIN: u32 = 10;
/// Stable discs are counted when a cut needs at most this many: 64 − alpha over 2.
const STABILITY_ALPHA_MIN: [i32; 33] = [
    64, 64, 64, 64, 64, 6, 8, 10, 12, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 40, 42, 42, 44, 44,
    46, 46, 48, 48,
];

/// With this many empty squares or fewer the small table serves.
const LOCAL_EMPTIES_MAX: u32 = 10;
/// A move that leaves at most this many weighted replies is searched at once.
const FORCED_REPLIES: i32 = 1;

/// Order points for each weighted reply, each potential reply, a move into an odd region, and a corner.
const REPLY_ORDER: i32 = 64;
const POTENTIAL_ORDER: i32 = 20;
const PARITY_ORDER: i32 = 24;
const CORNER_ORDER: i32 = 32;
/// Order millidiscs for each weighted reply where the evaluation guides.
const GUIDED_REPLY_ORDER: i32 = 2500;
/// Above every order value: the move that the table remembers.
const FIRST: i32 = i32::MAX;

/// A node of the exact search; `moves` may be empty.
#[derive(Clone, Copy)]
pub(super) struct EndNode {
    pub(super) player: u64,
    pub(super) opponent: u64,
    pub(super) moves: u64,
    pub(super) empties: u32,
    pub(super) parity: Parity,
    pub(super) ply: usize,
}

/// Which of the four quarters of the board have an odd number of empty squares.
#[derive(Clone, Copy)]
pub(super) struct Parity(u32);

const QUARTER: u64 = 0x0000_0000_0F0F_0F0F;
const QUARTERS: [u64; 4] = [QUARTER, QUARTER << 4, QUARTER << 32, QUARTER << 36];

/// The squares of the odd quarters.
static ODD_SQUARES: [u64; 16] = {
    let mut table = [0; 16];
    let mut parity = 0;
    while parity < 16 {
        let mut quarter = 0;
        while quarter < 4 {
            if parity >> quarter & 1 != 0 {
                table[parity] |= QUARTERS[quarter];
            }
            quarter += 1;
        }
        parity += 1;
    }
    table
};

impl Parity {
    pub(super) fn new(empty: u64) -> Self {
        let odd = |quarter: usize| (empty & QUARTERS[quarter]).count_ones() & 1;
        Self(odd(0) | odd(1) << 1 | odd(2) << 2 | odd(3) << 3)
    }

    /// After a disc was placed on `square`.
    #[inline(always)]
    pub(super) const fn toggled(self, square: usize) -> Self {
        Self(self.0 ^ 1 << (square >> 2 & 1 | square >> 4 & 2))
    }

    #[inline(always)]
    pub(super) fn odd_squares(self) -> u64 {
        ODD_SQUARES[self.0 as usize & 15]
    }
}

impl EndNode {
    pub(super) fn root<K: Kernel>(position: Position) -> Self {
        let (player, opponent) = (position.player(), position.opponent());
        let moves = K::legal_moves(player, opponent);
        let empties = u32::from(position.empties());
        Self { player, opponent, moves, empties, parity: Parity::new(position.empty()), ply: 0 }
    }

    #[inline(always)]
    const fn position(&self) -> Position {
        Position::new_unchecked(self.player, self.opponent)
    }

    #[inline(always)]
    const fn after(&self, candidate: &Candidate) -> Self {
        let (player, opponent) = candidate.play(self.player, self.opponent);
        Self {
            player,
            opponent,
            moves: candidate.replies,
            empties: self.empties - 1,
            parity: self.parity.toggled(candidate.index()),
            ply: self.ply + 1,
        }
    }

    #[inline(always)]
    const fn midgame(&self) -> Node {
        Node { player: self.player, opponent: self.opponent, moves: self.moves, ply: self.ply }
    }
}

kernel_entry! {
    /// The fail-soft value against `alpha`, `alpha + 1`, without the evaluation.
    fn null_window(run: &mut Run<'_>, node: &EndNode, alpha: i32) -> i32 = null_window_body
}

kernel_entry! {
    /// As `null_window`, with accumulators kept for an ordering by the evaluation.
    fn guided_null_window(run: &mut Run<'_>, node: &EndNode, alpha: i32) -> i32 = guided_null_window_body
}

kernel_entry! {
    /// The fail-soft value against a window of any width.
    fn open_window(run: &mut Run<'_>, node: &EndNode, alpha: i32, beta: i32) -> i32 = open_window_body
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
        let known = run.known(value * DISC, alpha * DISC, (alpha + 1) * DISC, depth);
        // Nothing below is selective.
        table(run, local).put(key, &Known { best, sureness: Sureness::FULL, ..known });
    }
    value
}

/// The table for a node: a small one that stays in the cache for the many nodes near the end.
#[inline(always)]
const fn table<'t>(run: &'t mut Run<'_>, local: bool) -> &'t mut Table {
    if local { run.local } else { run.table }
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
    let mut candidates = Candidates::empty();
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

/// What the table already proves about a move, if that settles it against `alpha`.
#[inline(always)]
fn bound_after(run: &mut Run<'_>, next: &EndNode, alpha: i32) -> Option<i32> {
    if next.empties <= SHALLOW_EMPTIES_MAX {
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

#[inline(always)]
fn guided_null_window_body<K: Kernel>(run: &mut Run<'_>, node: &EndNode, alpha: i32) -> i32 {
    inner::<K, NullWindow, true>(run, node, alpha, alpha + 1)
}

#[inline(always)]
fn open_window_body<K: Kernel>(run: &mut Run<'_>, node: &EndNode, alpha: i32, beta: i32) -> i32 {
    if STAIRCASE_EMPTIES_MAX < node.empties {
        return inner::<K, OpenWindow, true>(run, node, alpha, beta);
    }
    let mut low = alpha;
    loop {
        let value = against::<K, NullWindow>(run, node, low, low + 1);
        if value <= low || beta <= value {
            return value;
        }
        low = value;
    }
}

/// A node without the answers of the table: its value and the move that has it.
#[inline(always)]
pub(super) fn root_window<K: Kernel>(
    run: &mut Run<'_>,
    node: &EndNode,
    alpha: i32,
    beta: i32,
    first: Option<Square>,
) -> (i32, Option<Square>) {
    run.nodes += 1;
    let mut candidates = Candidates::new::<K>(node.player, node.opponent, node.moves);
    if GUIDED_EMPTIES_MIN <= node.empties {
        guided_order::<K>(run, node, &mut candidates, first);
    } else {
        order(node, &mut candidates, first);
    }
    let (value, best) = best_child::<K, OpenWindow, true>(run, node, &mut candidates, alpha, beta);
    if !run.stopped {
        let known = run.known(value * DISC, alpha * DISC, beta * DISC, node.empties as u8);
        run.table.put(Key::new(node.position()), &Known { best, ..known });
    }
    (value, best)
}

/// Searches a node by the means that its number of empty squares calls for.
#[inline(always)]
fn against<K: Kernel, W: Window>(run: &mut Run<'_>, node: &EndNode, alpha: i32, beta: i32) -> i32 {
    if W::OPEN {
        open_window::<K>(run, node, alpha, beta)
    } else if node.empties <= SHALLOW_EMPTIES_MAX {
        shallow::value::<K>(run, node.player, node.opponent, alpha, node.parity)
    } else if node.empties < GUIDED_EMPTIES_MIN {
        null_window::<K>(run, node, alpha)
    } else {
        guided_null_window::<K>(run, node, alpha)
    }
}

#[inline(always)]
fn inner<K: Kernel, W: Window, const GUIDED: bool>(run: &mut Run<'_>, node: &EndNode, alpha: i32, beta: i32) -> i32 {
    if node.moves == 0 {
        return passed::<K, W, GUIDED>(run, node, alpha, beta);
    }
    run.nodes += 1;
    if run.must_stop() {
        return alpha;
    }
    if !W::OPEN
        && let Some(value) = stability_cut::<K>(node, alpha)
    {
        return value;
    }
    let depth = node.empties as u8;
    let key = Key::new(node.position());
    let (mut low, mut high, mut first) = (alpha, beta, None);
    if let Some(known) = run.table.get(key) {
        match run.bounds(&known, depth, alpha * DISC, beta * DISC) {
            Bounds::Answer(value) => return value / DISC,
            Bounds::Window(alpha, beta) => (low, high) = (alpha / DISC, beta / DISC),
        }
        first = known.best;
    }
    if !W::OPEN
        && GUIDED
        && let Some(value) = probe::<K>(run, node, alpha)
    {
        return value;
    }
    let mut candidates = Candidates::new::<K>(node.player, node.opponent, node.moves);
    if !W::OPEN
        && TRANSPOSITION_EMPTIES_MIN <= node.empties
        && let Some(value) = transposition_cut(run, node, &candidates, alpha)
    {
        return value;
    }
    if GUIDED && GUIDED_EMPTIES_MIN <= node.empties {
        guided_order::<K>(run, node, &mut candidates, first);
    } else {
        order(node, &mut candidates, first);
    }
    let (value, best) = best_child::<K, W, GUIDED>(run, node, &mut candidates, low, high);
    if !run.stopped {
        let known = run.known(value * DISC, low * DISC, high * DISC, depth);
        run.table.put(key, &Known { best, ..known });
    }
    value
}

#[inline(always)]
fn best_child<K: Kernel, W: Window, const GUIDED: bool>(
    run: &mut Run<'_>,
    node: &EndNode,
    candidates: &mut Candidates,
    alpha: i32,
    beta: i32,
) -> (i32, Option<Square>) {
    let (mut best_value, mut best) = (-DISCS_MAX - 1, None);
    for turn in 0..candidates.len() {
        let candidate = candidates.pick(turn);
        let low = alpha.max(best_value);
        let next = node.after(&candidate);
        if GUIDED {
            run.table.prefetch(Key::new(next.position()));
            midgame::play(run, &node.midgame(), &candidate);
        }
        let mut value = low + 1;
        if !W::OPEN || turn != 0 {
            value = -against::<K, NullWindow>(run, &next, -low - 1, -low);
        }
        if W::OPEN && (turn == 0 || (low < value && value < beta)) {
            value = -against::<K, OpenWindow>(run, &next, -beta, -low);
        }
        if run.stopped {
            return (alpha, None);
        }
        if best_value < value {
            (best_value, best) = (value, Square::new(candidate.square));
            if beta <= value {
                break;
            }
        }
    }
    (best_value, best)
}

#[inline(always)]
fn passed<K: Kernel, W: Window, const GUIDED: bool>(run: &mut Run<'_>, node: &EndNode, alpha: i32, beta: i32) -> i32 {
    run.nodes += 1;
    let moves = K::legal_moves(node.opponent, node.player);
    if moves == 0 {
        return node.position().final_discs();
    }
    let ply = if GUIDED {
        let (before, after) = run.accumulators.split_at_mut(node.ply + 1);
        run.incremental.pass(&before[node.ply], &mut after[0]);
        node.ply + 1
    } else {
        node.ply
    };
    let next = EndNode { player: node.opponent, opponent: node.player, moves, ply, ..*node };
    -against::<K, W>(run, &next, -beta, -alpha)
}

/// The opponent keeps its stable discs, so it loses by no more than the rest.
#[inline(always)]
fn stability_cut<K: Kernel>(node: &EndNode, alpha: i32) -> Option<i32> {
    let alpha_min = STABILITY_ALPHA_MIN.get(node.empties as usize).copied().unwrap_or(DISCS_MAX);
    if alpha < alpha_min {
        return None;
    }
    let upper = DISCS_MAX - 2 * stable_discs::<K>(node.opponent, node.player).count_ones() as i32;
    (upper <= alpha).then_some(upper)
}

/// Multi-ProbCut to the end of the game; only in searches that prepare an exact one.
#[inline(always)]
fn probe<K: Kernel>(run: &mut Run<'_>, node: &EndNode, alpha: i32) -> Option<i32> {
    if !run.sigmas.is_finite() || node.empties < GUIDED_EMPTIES_MIN {
        return None;
    }
    let mpc = run.mpc;
    for entry in mpc.end_probes(node.empties as u8) {
        let found = midgame::probe_once::<K>(run, &node.midgame(), alpha * DISC, (alpha + 1) * DISC, entry);
        if let Some(value) = found {
            return Some(value / DISC);
        }
    }
    None
}

/// A move to a position whose value the table bounds well enough needs no search.
#[inline(always)]
fn transposition_cut(run: &Run<'_>, node: &EndNode, candidates: &Candidates, alpha: i32) -> Option<i32> {
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

/// Orders without the evaluation.
#[inline(always)]
fn order(node: &EndNode, candidates: &mut Candidates, first: Option<Square>) {
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
fn fast_order(next: &EndNode, candidate: &Candidate, odd: u64, mobility: i32) -> i32 {
    let bit = 1 << candidate.index();
    let prospects = potential_moves(next.opponent, !(next.player | next.opponent)).count_ones() as i32;
    let parity = if odd & bit != 0 { PARITY_ORDER } else { 0 };
    let corner = if CORNERS & bit != 0 { CORNER_ORDER } else { 0 };
    parity + corner - mobility * REPLY_ORDER - prospects * POTENTIAL_ORDER
}

/// Orders by a shallow search, replies against it.
#[inline(always)]
fn guided_order<K: Kernel>(run: &mut Run<'_>, node: &EndNode, candidates: &mut Candidates, first: Option<Square>) {
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
