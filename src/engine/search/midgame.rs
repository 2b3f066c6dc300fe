//! Search by depth: principal variation search over the evaluation, with selective cuts.

use super::candidates::{Candidate, Candidates, weighted_mobility};
use super::mpc::MpcEntry;
use super::run::{Bounds, Run};
use super::table::Key;
use crate::engine::board::kernel::{Kernel, kernel_entry};
use crate::engine::board::position::Position;
use crate::engine::board::square::Square;
use crate::engine::eval::evaluation::{DISC, SCORE_MAX};

/// From this depth on results are worth a place in the table.
const TABLE_DEPTH_MIN: u8 = 2;
/// From this depth on children are looked up before any is searched.
const TRANSPOSITION_DEPTH_MIN: u8 = 3;
/// From this depth on moves are ordered by a search one ply deep instead of the static value.
const PLY_ORDER_DEPTH_MIN: u8 = 9;
/// Order millidiscs for each move that the opponent is left with.
const MOBILITY_ORDER: i32 = 2000;
/// Above every order value: the move that the table remembers.
const FIRST: i32 = i32::MAX;

/// Where a node stands: the discs of the side to move, its legal moves, which are not empty, and its accumulator's ply.
#[derive(Clone, Copy)]
pub(super) struct Node {
    pub(super) player: u64,
    pub(super) opponent: u64,
    pub(super) moves: u64,
    pub(super) ply: usize,
}

impl Node {
    #[inline(always)]
    pub(super) const fn position(&self) -> Position {
        Position::new_unchecked(self.player, self.opponent)
    }

    #[inline(always)]
    pub(super) const fn empties(&self) -> u32 {
        (self.player | self.opponent).count_zeros()
    }
}

kernel_entry! {
    /// The fail-soft value of a node against the window `alpha`, `alpha + 1`.
    pub(super) fn null_window(run: &mut Run<'_>, node: &Node, alpha: i32, depth: u8) -> i32 = null_window_body
}

kernel_entry! {
    /// The fail-soft value of a node against a window of any width.
    pub(super) fn open_window(run: &mut Run<'_>, node: &Node, alpha: i32, beta: i32, depth: u8) -> i32 = open_window_body
}

#[inline(always)]
fn null_window_body<K: Kernel>(run: &mut Run<'_>, node: &Node, alpha: i32, depth: u8) -> i32 {
    inner::<K, NullWindow>(run, node, alpha, alpha + 1, depth)
}

#[inline(always)]
fn open_window_body<K: Kernel>(run: &mut Run<'_>, node: &Node, alpha: i32, beta: i32, depth: u8) -> i32 {
    inner::<K, OpenWindow>(run, node, alpha, beta, depth)
}

/// The kind of a node, known where it is called.
pub(super) trait Window {
    const OPEN: bool;
}
pub(super) struct NullWindow;
impl Window for NullWindow {
    const OPEN: bool = false;
}
pub(super) struct OpenWindow;
impl Window for OpenWindow {
    const OPEN: bool = true;
}

#[inline(always)]
fn inner<K: Kernel, W: Window>(run: &mut Run<'_>, node: &Node, alpha: i32, beta: i32, depth: u8) -> i32 {
    if depth == 0 {
        run.nodes += 1;
        return static_value(run, node);
    }
    if depth == 1 {
        return frontier::<K>(run, node, alpha, beta);
    }
    run.nodes += 1;
    if run.must_stop() {
        return alpha;
    }
    let (mut low, mut high) = (alpha, beta);
    let key = Key::new(node.position());
    let mut first = None;
    if TABLE_DEPTH_MIN <= depth
        && let Some(known) = run.table.get(key)
    {
        match run.bounds(&known, depth, alpha, beta) {
            Bounds::Answer(value) => return value,
            Bounds::Window(alpha, beta) => (low, high) = (alpha, beta),
        }
        first = known.best;
    }
    if !W::OPEN
        && let Some(value) = probe::<K>(run, node, alpha, depth)
    {
        return value;
    }
    let mut candidates = Candidates::new::<K>(node.player, node.opponent, node.moves);
    if !W::OPEN
        && TRANSPOSITION_DEPTH_MIN <= depth
        && let Some(value) = transposition_cut(run, node, &candidates, alpha, depth)
    {
        return value;
    }
    order::<K>(run, node, &mut candidates, first, depth);
    let (value, best) = best_child::<K, W>(run, node, &mut candidates, low, high, depth);
    if !run.stopped && TABLE_DEPTH_MIN <= depth {
        let known = run.known(value, best, low, high, depth);
        run.table.put(key, &known);
    }
    value
}

/// A move to a position whose value the table bounds well enough needs no search.
#[inline(always)]
fn transposition_cut(run: &Run<'_>, node: &Node, candidates: &Candidates, alpha: i32, depth: u8) -> Option<i32> {
    for candidate in candidates.as_slice() {
        let (player, opponent) = candidate.play(node.player, node.opponent);
        let Some(known) = run.table.get(Key::new(Position::new_unchecked(player, opponent))) else { continue };
        if let Bounds::Answer(value) = run.bounds(&known, depth - 1, -alpha - 1, -alpha)
            && value < -alpha
        {
            return Some(-value);
        }
    }
    None
}

/// The first move gets the whole window, the others must beat it in a null window first.
#[inline(always)]
pub(super) fn best_child<K: Kernel, W: Window>(
    run: &mut Run<'_>,
    node: &Node,
    candidates: &mut Candidates,
    alpha: i32,
    beta: i32,
    depth: u8,
) -> (i32, Option<Square>) {
    let (mut best_value, mut best) = (-SCORE_MAX - 1, None);
    for turn in 0..candidates.len() {
        let candidate = candidates.pick(turn);
        let low = alpha.max(best_value);
        play(run, node, &candidate);
        let mut value = low + 1;
        if !W::OPEN || turn != 0 {
            value = -child::<K, NullWindow>(run, node, &candidate, -low - 1, -low, depth - 1);
        }
        if W::OPEN && (turn == 0 || (low < value && value < beta)) {
            value = -child::<K, OpenWindow>(run, node, &candidate, -beta, -low, depth - 1);
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

/// What a move is worth to the mover by a full-window search of `depth` plies after it.
#[inline(always)]
pub(super) fn value_after<K: Kernel>(run: &mut Run<'_>, node: &Node, candidate: &Candidate, depth: u8) -> i32 {
    play(run, node, candidate);
    -child::<K, OpenWindow>(run, node, candidate, -SCORE_MAX, SCORE_MAX, depth)
}

/// Brings the accumulator of the next ply up to date.
#[inline(always)]
pub(super) fn play(run: &mut Run<'_>, node: &Node, candidate: &Candidate) {
    let (before, after) = run.accumulators.split_at_mut(node.ply + 1);
    run.incremental.play(&before[node.ply], candidate.index(), candidate.flips, &mut after[0]);
}

/// The value of the position after a move that was played, from its side to move; passes there are free.
#[inline(always)]
fn child<K: Kernel, W: Window>(
    run: &mut Run<'_>,
    node: &Node,
    candidate: &Candidate,
    alpha: i32,
    beta: i32,
    depth: u8,
) -> i32 {
    let (player, opponent) = candidate.play(node.player, node.opponent);
    let next = Node { player, opponent, moves: candidate.replies, ply: node.ply + 1 };
    if next.moves == 0 {
        return passed::<K>(run, &next, alpha, beta, depth);
    }
    if W::OPEN { open_window::<K>(run, &next, alpha, beta, depth) } else { null_window::<K>(run, &next, alpha, depth) }
}

kernel_entry! {
    /// The value of a node whose side to move has no move.
    pub(super) fn passed(run: &mut Run<'_>, node: &Node, alpha: i32, beta: i32, depth: u8) -> i32 = passed_body
}

#[inline(always)]
fn passed_body<K: Kernel>(run: &mut Run<'_>, node: &Node, alpha: i32, beta: i32, depth: u8) -> i32 {
    run.nodes += 1;
    let moves = K::legal_moves(node.opponent, node.player);
    if moves == 0 {
        return node.position().final_discs() * DISC;
    }
    let (before, after) = run.accumulators.split_at_mut(node.ply + 1);
    run.incremental.pass(&before[node.ply], &mut after[0]);
    let next = Node { player: node.opponent, opponent: node.player, moves, ply: node.ply + 1 };
    -open_window::<K>(run, &next, -beta, -alpha, depth)
}

/// Depth 1: every move's static value, in no particular order.
#[inline(always)]
fn frontier<K: Kernel>(run: &mut Run<'_>, node: &Node, alpha: i32, beta: i32) -> i32 {
    run.nodes += 1;
    let mut best_value = -SCORE_MAX - 1;
    let mut moves = node.moves;
    while moves != 0 {
        let square = moves.trailing_zeros() as usize;
        moves &= moves - 1;
        let flips = K::flips(node.player, node.opponent, square);
        let mut candidate = Candidate { flips, replies: 0, order: 0, square: square as u8 };
        let (player, opponent) = candidate.play(node.player, node.opponent);
        candidate.replies = K::legal_moves(player, opponent);
        play(run, node, &candidate);
        let next = Node { player, opponent, moves: candidate.replies, ply: node.ply + 1 };
        let value = if next.moves == 0 {
            -passed::<K>(run, &next, -beta, -alpha.max(best_value), 0)
        } else {
            run.nodes += 1;
            -static_value(run, &next)
        };
        if best_value < value {
            best_value = value;
            if beta <= value {
                break;
            }
        }
    }
    best_value
}

#[inline(always)]
pub(super) fn static_value(run: &Run<'_>, node: &Node) -> i32 {
    run.incremental.value(&run.accumulators[node.ply], node.empties()).clamp(-SCORE_MAX, SCORE_MAX)
}

/// Orders moves by what a shallow look at them says, the opponent's mobility against them.
#[inline(always)]
pub(super) fn order<K: Kernel>(
    run: &mut Run<'_>,
    node: &Node,
    candidates: &mut Candidates,
    first: Option<Square>,
    depth: u8,
) {
    for candidate in candidates.as_mut_slice() {
        if first.is_some_and(|first| first.number() == candidate.square) {
            candidate.order = FIRST;
            continue;
        }
        let depth = u8::from(PLY_ORDER_DEPTH_MIN <= depth);
        let value = value_after::<K>(run, node, candidate, depth);
        candidate.order = value - weighted_mobility(candidate.replies) * MOBILITY_ORDER;
    }
}

/// Multi-ProbCut: bets that a shallow value far outside the window foretells the deep one.
#[inline(always)]
fn probe<K: Kernel>(run: &mut Run<'_>, node: &Node, alpha: i32, depth: u8) -> Option<i32> {
    if !run.sigmas.is_finite() {
        return None;
    }
    let mpc = run.mpc;
    for entry in mpc.probes(node.empties() as u8, depth) {
        if let Some(value) = probe_once::<K>(run, node, alpha, alpha + 1, entry) {
            return Some(value);
        }
    }
    None
}

/// One probe for a window in millidiscs: `Some(beta)` or `Some(alpha)` if it foretells a value outside.
#[inline(always)]
pub(super) fn probe_once<K: Kernel>(
    run: &mut Run<'_>,
    node: &Node,
    alpha: i32,
    beta: i32,
    entry: &MpcEntry,
) -> Option<i32> {
    let &MpcEntry { shallow, slope, offset, sigma, .. } = entry;
    let margin = run.sigmas * f64::from(sigma);
    let high = ((f64::from(beta - offset) + margin) / slope).floor() + 1.0;
    if high <= f64::from(SCORE_MAX) && high as i32 <= null_window::<K>(run, node, high as i32 - 1, shallow) {
        return Some(beta);
    }
    let low = ((f64::from(alpha - offset) - margin) / slope).ceil() - 1.0;
    if f64::from(-SCORE_MAX) <= low && null_window::<K>(run, node, low as i32, shallow) <= low as i32 {
        return Some(alpha);
    }
    None
}
