//! Search by depth: principal variation search over the evaluation, with selective cuts.

use super::candidates::{CORNERS, Candidate, Candidates, UNKNOWN, weighted_mobility};
use super::mpc::{MpcEntry, PROBE_MARGIN, STATIC_MARGIN};
use super::run::{Bounds, Run};
use super::selective::{EXTENSION_PLIES, Moves, Plain, Policy, begin_extension, end_extension};
use super::table::Key;
use crate::engine::board::kernel::{Kernel, kernel_entry};
use crate::engine::board::position::Position;
use crate::engine::board::square::{Square, Squares};
use crate::engine::eval::evaluation::{DISC, SCORE_MAX};

/// From this depth on results are worth a place in the table.
const TABLE_DEPTH_MIN: u8 = 2;
/// From this depth on children are looked up before any is searched.
const TRANSPOSITION_DEPTH_MIN: u8 = 4;
/// From this depth on moves are ordered by a search one ply deep instead of the static value.
const PLY_ORDER_DEPTH_MIN: u8 = 9;
/// Order millidiscs for each move that the opponent is left with.
const MOBILITY_ORDER: i32 = 1000;
/// Corners, squares apart from them, and squares next to them: how often each sort is the best move.
const SQUARE_CLASSES: [u64; 3] = [CORNERS, !(CORNERS | NEXT_TO_CORNERS), NEXT_TO_CORNERS];
const NEXT_TO_CORNERS: u64 = 0x42C3_0000_0000_C342;
/// Above every order value: the move that the table remembers.
const FIRST: i32 = i32::MAX;

/// Where a node stands: the discs of the side to move, its legal moves, which are not empty, and its accumulator's ply.
#[derive(Clone, Copy)]
pub(super) struct Node {
    pub(super) player: u64,
    pub(super) opponent: u64,
    pub(super) moves: u64,
    pub(super) ply: usize,
    /// Its static value, if an ordering computed it, else [`UNKNOWN`].
    pub(super) value: i32,
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
    pub(super) fn null_window<P: Policy>(run: &mut Run<'_>, node: &Node, alpha: i32, depth: u8) -> i32 = null_window_body
}

kernel_entry! {
    /// The fail-soft value of a node against a window of any width.
    pub(super) fn open_window<P: Policy>(run: &mut Run<'_>, node: &Node, alpha: i32, beta: i32, depth: u8) -> i32 = open_window_body
}

#[inline(always)]
fn null_window_body<K: Kernel, P: Policy>(run: &mut Run<'_>, node: &Node, alpha: i32, depth: u8) -> i32 {
    inner::<K, NullWindow, P>(run, node, alpha, alpha + 1, depth)
}

#[inline(always)]
fn open_window_body<K: Kernel, P: Policy>(run: &mut Run<'_>, node: &Node, alpha: i32, beta: i32, depth: u8) -> i32 {
    inner::<K, OpenWindow, P>(run, node, alpha, beta, depth)
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
fn inner<K: Kernel, W: Window, P: Policy>(run: &mut Run<'_>, node: &Node, alpha: i32, beta: i32, depth: u8) -> i32 {
    if depth == 0 {
        run.nodes += 1;
        return static_value::<K>(run, node);
    }
    if depth == 1 {
        if !W::OPEN
            && let Some(value) = probe::<K, P>(run, node, alpha, depth)
        {
            run.nodes += 1;
            return value;
        }
        return frontier::<K, P>(run, node, beta);
    }
    run.nodes += 1;
    if run.must_stop() {
        return alpha;
    }
    if P::ON
        && !W::OPEN
        && let Some(extras) = run.extras.as_mut()
    {
        extras.look_at(node, alpha, depth);
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
        && let Some(value) = probe::<K, P>(run, node, alpha, depth)
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
    if order::<K, W>(run, node, &mut candidates, first, alpha, depth) {
        return alpha + 1;
    }
    let (value, best) = best_child::<K, W, P>(run, node, &mut candidates, low, high, depth);
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
pub(super) fn best_child<K: Kernel, W: Window, P: Policy>(
    run: &mut Run<'_>,
    node: &Node,
    candidates: &mut Candidates,
    alpha: i32,
    beta: i32,
    depth: u8,
) -> (i32, Option<Square>) {
    let (mut best_value, mut best) = (-SCORE_MAX - 1, None);
    let moves = P::ON.then(|| Moves::of(run, static_value::<K>(run, node)));
    for turn in 0..candidates.len() {
        let candidate = candidates.pick(turn);
        if moves.as_ref().is_some_and(|moves| moves.skip::<K>(run, node, &candidate, turn)) {
            continue;
        }
        let low = alpha.max(best_value);
        if TABLE_DEPTH_MIN < depth {
            let (player, opponent) = candidate.play(node.player, node.opponent);
            run.table.prefetch(Key::new(Position::new_unchecked(player, opponent)));
        }
        play::<K>(run, node, &candidate);
        let mut value = reply::<K, W, P>(run, node, &candidate, (low, beta), depth - 1, turn == 0);
        if P::ON && begin_extension(run, node, candidate.flips, value, beta, depth) {
            value = reply::<K, W, P>(run, node, &candidate, (low, beta), depth - 1 + EXTENSION_PLIES, turn == 0);
            end_extension(run);
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

/// What a move that was played is worth to the mover: the first one in the whole window, another if it beats `low`.
#[inline(always)]
fn reply<K: Kernel, W: Window, P: Policy>(
    run: &mut Run<'_>,
    node: &Node,
    candidate: &Candidate,
    (low, beta): (i32, i32),
    depth: u8,
    is_first: bool,
) -> i32 {
    let mut value = low + 1;
    if !W::OPEN || !is_first {
        value = -child::<K, NullWindow, P>(run, node, candidate, -low - 1, -low, depth);
    }
    if W::OPEN && (is_first || (low < value && value < beta)) {
        value = -child::<K, OpenWindow, P>(run, node, candidate, -beta, -low, depth);
    }
    value
}

/// What a move is worth to the mover by a full-window search of `depth` plies after it.
#[inline(always)]
pub(super) fn value_after<K: Kernel>(run: &mut Run<'_>, node: &Node, candidate: &Candidate, depth: u8) -> i32 {
    play::<K>(run, node, candidate);
    -child::<K, OpenWindow, Plain>(run, node, candidate, -SCORE_MAX, SCORE_MAX, depth)
}

/// The same without a search, remembered in the candidate.
#[inline(always)]
pub(super) fn static_after<K: Kernel>(run: &mut Run<'_>, node: &Node, candidate: &mut Candidate) -> i32 {
    let value = value_after::<K>(run, node, candidate, 0);
    if candidate.replies != 0 {
        candidate.value = -value;
    }
    value
}

/// Brings the accumulator of the next ply up to date.
#[inline(always)]
pub(super) fn play<K: Kernel>(run: &mut Run<'_>, node: &Node, candidate: &Candidate) {
    let (before, after) = run.accumulators.split_at_mut(node.ply + 1);
    run.incremental.play::<K>(&before[node.ply], candidate.index(), candidate.flips, &mut after[0]);
}

/// The value of the position after a move that was played, from its side to move; passes there are free.
#[inline(always)]
fn child<K: Kernel, W: Window, P: Policy>(
    run: &mut Run<'_>,
    node: &Node,
    candidate: &Candidate,
    alpha: i32,
    beta: i32,
    depth: u8,
) -> i32 {
    let (player, opponent) = candidate.play(node.player, node.opponent);
    let next = Node { player, opponent, moves: candidate.replies, ply: node.ply + 1, value: candidate.value };
    if next.moves == 0 {
        return passed::<K, P>(run, &next, alpha, beta, depth);
    }
    if W::OPEN {
        open_window::<K, P>(run, &next, alpha, beta, depth)
    } else {
        null_window::<K, P>(run, &next, alpha, depth)
    }
}

kernel_entry! {
    /// The value of a node whose side to move has no move.
    pub(super) fn passed<P: Policy>(run: &mut Run<'_>, node: &Node, alpha: i32, beta: i32, depth: u8) -> i32 = passed_body
}

#[inline(always)]
fn passed_body<K: Kernel, P: Policy>(run: &mut Run<'_>, node: &Node, alpha: i32, beta: i32, depth: u8) -> i32 {
    run.nodes += 1;
    let moves = K::legal_moves(node.opponent, node.player);
    if moves == 0 {
        return node.position().final_discs() * DISC;
    }
    let (before, after) = run.accumulators.split_at_mut(node.ply + 1);
    run.incremental.pass(&before[node.ply], &mut after[0]);
    if P::ON
        && let Some(extras) = run.extras.as_mut()
    {
        extras.forget_last_move(node.ply + 1);
    }
    let next = Node { player: node.opponent, opponent: node.player, moves, ply: node.ply + 1, value: UNKNOWN };
    -open_window::<K, P>(run, &next, -beta, -alpha, depth)
}

/// Depth 1: the static value after every move, by the class of its square.
#[inline(always)]
fn frontier<K: Kernel, P: Policy>(run: &mut Run<'_>, node: &Node, beta: i32) -> i32 {
    run.nodes += 1;
    let mut best_value = -SCORE_MAX - 1;
    for class in SQUARE_CLASSES {
        for square in Squares(node.moves & class) {
            let candidate = Candidate::new::<K>(node.player, node.opponent, square.index());
            let mut value = value_after::<K>(run, node, &candidate, 0);
            if P::ON && begin_extension(run, node, candidate.flips, value, beta, 1) {
                value = -child::<K, OpenWindow, P>(run, node, &candidate, -beta, SCORE_MAX, EXTENSION_PLIES);
                end_extension(run);
            }
            if best_value < value {
                best_value = value;
                if beta <= value {
                    return value;
                }
            }
        }
    }
    best_value
}

#[inline(always)]
pub(super) fn static_value<K: Kernel>(run: &Run<'_>, node: &Node) -> i32 {
    if node.value != UNKNOWN {
        return node.value;
    }
    run.incremental.value::<K>(&run.accumulators[node.ply], node.empties()).clamp(-SCORE_MAX, SCORE_MAX)
}

/// Orders moves by what a shallow look at them says, the opponent's mobility against them; whether the static value after
/// one of them foretells a cut, which ends a null window at once.
#[inline(always)]
pub(super) fn order<K: Kernel, W: Window>(
    run: &mut Run<'_>,
    node: &Node,
    candidates: &mut Candidates,
    first: Option<Square>,
    alpha: i32,
    depth: u8,
) -> bool {
    let cut = if W::OPEN { None } else { static_cut_after(run, node, alpha, depth) };
    for candidate in candidates.as_mut_slice() {
        if first.is_some_and(|first| first.number() == candidate.square) {
            candidate.order = FIRST;
            continue;
        }
        let value = if PLY_ORDER_DEPTH_MIN <= depth {
            value_after::<K>(run, node, candidate, 1)
        } else {
            static_after::<K>(run, node, candidate)
        };
        if cut.is_some_and(|cut| candidate.value != UNKNOWN && candidate.value <= cut) {
            return true;
        }
        candidate.order = value - weighted_mobility(candidate.replies) * MOBILITY_ORDER;
    }
    false
}

/// The static value, from the side to move after a move, at which or below the move is foretold to cut.
#[inline(always)]
fn static_cut_after(run: &Run<'_>, node: &Node, alpha: i32, depth: u8) -> Option<i32> {
    if !run.margin.is_finite() {
        return None;
    }
    let entry = run.mpc.probes(node.empties() as u8 - 1, depth - 1).next().filter(|entry| entry.shallow == 0)?;
    Some(entry.bounds(-alpha - 1, -alpha, STATIC_MARGIN * run.margin.sigmas(entry)).0)
}

/// Multi-ProbCut: bets that a shallow value far outside the window foretells the deep one.
#[inline(always)]
fn probe<K: Kernel, P: Policy>(run: &mut Run<'_>, node: &Node, alpha: i32, depth: u8) -> Option<i32> {
    if !run.margin.is_finite() {
        return None;
    }
    let mpc = run.mpc;
    probe_all::<K, P>(run, node, alpha, alpha + 1, mpc.probes(node.empties() as u8, depth))
}

/// Probes for a window in millidiscs: `Some(beta)` or `Some(alpha)` if one foretells a value outside.
///
/// A static probe costs next to nothing, and what it foretells decides which sides are worth a search.
#[inline(always)]
pub(super) fn probe_all<'m, K: Kernel, P: Policy>(
    run: &mut Run<'_>,
    node: &Node,
    alpha: i32,
    beta: i32,
    entries: impl Iterator<Item = &'m MpcEntry>,
) -> Option<i32> {
    let (mut try_low, mut try_high) = (true, true);
    for entry in entries {
        if entry.shallow == 0 {
            let value = static_value::<K>(run, node);
            let (low, high) = entry.bounds(alpha, beta, STATIC_MARGIN * run.margin.sigmas(entry));
            if high <= value {
                return Some(beta);
            }
            if value <= low {
                return Some(alpha);
            }
            (try_low, try_high) = entry.may_foretell(value, alpha, beta, PROBE_MARGIN);
            continue;
        }
        let (low, high) = entry.bounds(alpha, beta, run.margin.sigmas(entry));
        if try_high && high <= SCORE_MAX && high <= null_window::<K, P>(run, node, high - 1, entry.shallow) {
            return Some(beta);
        }
        if try_low && -SCORE_MAX <= low && null_window::<K, P>(run, node, low, entry.shallow) <= low {
            return Some(alpha);
        }
    }
    None
}
