//! Search by depth: principal variation search over the evaluation, with selective cuts.

use super::candidates::{
    CORNERS, Candidate, Candidates, Linear, NEXT_TO_CORNERS, add_unordered, pick, pick_free,
    put_first, weighted_mobility,
};
use super::depth::Depth;
use super::mpc::{Cuts, MpcEntry, PROBE_MARGIN, STATIC_MARGIN};
use super::node::Node;
use super::run::{Plain, Policy, SearchRun};
use super::selective::{EXTENSION_PLIES, Extension, Selective};
use super::table::PositionKey;
use super::window::{Alpha, Beta, NullWindow, OpenWindow, Unit, Window};
use crate::engine::board::kernel::{Kernel, kernel_entry};
use crate::engine::board::position::Position;
use crate::engine::board::square::{Square, Squares};
use crate::engine::score::Score;
use std::ops::ControlFlow;

/// From this depth on results are worth a place in the table.
const TABLE_DEPTH_MIN: Depth = Depth(2);
/// From this depth on children are looked up before any is searched.
const TRANSPOSITION_DEPTH_MIN: Depth = Depth(4);
/// Up to this depth moves are ordered without the evaluation, by full width and with selective
/// cuts: a static value costs about as much as the search that it would save.
const FAST_ORDER_DEPTH_MAX: Depth = Depth(3);
const SELECTIVE_FAST_ORDER_DEPTH_MAX: Depth = Depth(2);
/// Order millidiscs per move that the opponent has left.
const MOBILITY_ORDER: i32 = 1000;
/// Corners, squares apart from them, and squares next to them: how often each sort is the best
/// move.
const SQUARE_CLASSES: [u64; 3] = [CORNERS, !(CORNERS | NEXT_TO_CORNERS), NEXT_TO_CORNERS];
/// From this depth on probes search: below it they cost more than the cuts save.
const PROBE_DEPTH_MIN: Depth = Depth(3);

kernel_entry! {
    /// The fail-soft value of a node with a legal move.
    pub fn search<W: Window<Unit = Score>, P: Policy>(run: &mut SearchRun<'_>, node: &Node, window: W, depth: Depth) -> Score = search_body;

    /// The value of a node whose side to move has no move.
    pub fn passed<P: Policy>(run: &mut SearchRun<'_>, node: &Node, window: OpenWindow, depth: Depth) -> Score = passed_body;
}

#[inline(always)]
fn search_body<K: Kernel, W: Window<Unit = Score>, P: Policy>(
    run: &mut SearchRun<'_>,
    node: &Node,
    window: W,
    depth: Depth,
) -> Score {
    if depth == Depth(0) {
        run.nodes += 1;
        return static_value_within::<K>(run, node, window.alpha(), window.beta());
    }
    if depth == Depth(1) {
        if !W::OPEN
            && let Some(value) = probe::<K, P>(run, node, window.null(), depth)
        {
            run.nodes += 1;
            return value;
        }
        return frontier::<K, W, P>(run, node, window);
    }
    run.nodes += 1;
    if run.must_stop() {
        return window.alpha();
    }
    if P::HAS_EXTRAS
        && !W::OPEN
        && let Some(sampler) = &mut run.sampler
    {
        sampler.visit(node, window.alpha(), depth);
    }
    let mut rest = window;
    let key = PositionKey::new(node.position);
    let mut first = None;
    if TABLE_DEPTH_MIN <= depth
        && let Some(known) = run.table.get(key)
    {
        match run.look_up(&known, depth, window) {
            ControlFlow::Break(value) => return value,
            ControlFlow::Continue(narrower) => rest = narrower,
        }
        first = known.best;
    }
    let is_marked = !P::HAS_EXTRAS && run.marked.by_depth <= depth;
    if is_marked {
        run.enter(key, depth, (!W::OPEN).then(|| window.alpha()));
    }
    let value = searched::<K, W, P>(run, node, key, first, window, rest, depth);
    if is_marked {
        run.leave().unwrap_or(value)
    } else {
        value
    }
}

/// The value of a node that the table does not answer; `first` is its best move so far, and `rest`
/// is left of the window.
#[inline(always)]
fn searched<K: Kernel, W: Window<Unit = Score>, P: Policy>(
    run: &mut SearchRun<'_>,
    node: &Node,
    key: PositionKey,
    first: Option<Square>,
    window: W,
    rest: W,
    depth: Depth,
) -> Score {
    if !W::OPEN
        && let Some(value) = probe::<K, P>(run, node, window.null(), depth)
    {
        return value;
    }
    let mut candidates = Candidates::new_const();
    add_unordered::<K>(&mut candidates, node.position, node.moves);
    if TABLE_DEPTH_MIN < depth {
        prefetch_children(run, node.position, &candidates);
    }
    // A move to a position whose value the table bounds well enough needs no search.
    if !W::OPEN && TRANSPOSITION_DEPTH_MIN <= depth {
        let window = window.null().for_opponent();
        for candidate in &candidates {
            let Some(known) = run
                .table
                .get(PositionKey::new(candidate.play(node.position)))
            else {
                continue;
            };
            if let ControlFlow::Break(value) = run.look_up(&known, depth - 1, window)
                && value <= window.alpha()
            {
                return -value;
            }
        }
    }
    let (value, best) = best_child::<K, W, P>(run, node, &mut candidates, first, rest, depth);
    if !run.stopped && TABLE_DEPTH_MIN <= depth {
        let known = run.known(value, best, rest, depth);
        run.table.put(key, &known);
    }
    value
}

/// The first move gets the whole window; the others must first beat it in a null window. They are
/// ordered only when the move from the table, `first`, has not cut.
#[inline(always)]
pub fn best_child<K: Kernel, W: Window<Unit = Score>, P: Policy>(
    run: &mut SearchRun<'_>,
    node: &Node,
    candidates: &mut [Candidate],
    first: Option<Square>,
    window: W,
    depth: Depth,
) -> (Score, Option<Square>) {
    let (mut best_value, mut best) = (Score::NOTHING, None);
    let node_value = P::HAS_EXTRAS.then(|| static_value::<K>(run, node));
    let mut ordered = put_first(candidates, first);
    let divided_from = if P::HAS_EXTRAS {
        usize::MAX
    } else {
        run.divided_from(depth, run.marked.by_depth)
    };
    if divided_from < ordered && is_busy(run, node, &pick(candidates, 0), depth) {
        ordered = 0;
    }
    for turn in 0..candidates.len() {
        if turn == ordered && order::<K, W>(run, node, &mut candidates[turn..], window, depth) {
            return (window.beta(), None);
        }
        let candidate = if divided_from <= turn {
            pick_free(candidates, turn, |candidate| {
                is_busy(run, node, candidate, depth)
            })
        } else {
            pick(candidates, turn)
        };
        if node_value.is_some_and(|value| is_pruned::<K>(run, node, &candidate, turn, value)) {
            continue;
        }
        let rest = window.raised_to(best_value);
        play::<K>(run, node, &candidate);
        let mut value = reply::<K, W, P>(run, node, &candidate, rest, depth - 1, turn == 0);
        if P::HAS_EXTRAS && begin_extension(run, node, candidate.flips, value, window.beta(), depth)
        {
            value = reply::<K, W, P>(
                run,
                node,
                &candidate,
                rest,
                depth - 1 + EXTENSION_PLIES,
                turn == 0,
            );
            run.extending = false;
        }
        if run.stopped {
            return (window.alpha(), None);
        }
        if best_value < value {
            (best_value, best) = (value, Some(candidate.square));
            if window.beta() <= value {
                break;
            }
        }
        if divided_from != usize::MAX {
            run.check_soon();
        }
    }
    (best_value, best)
}

/// Asks for the places of the table that searches of these moves will look at, all at once, so that
/// they wait for memory together.
#[inline(always)]
pub fn prefetch_children(run: &SearchRun<'_>, position: Position, candidates: &[Candidate]) {
    for candidate in candidates {
        run.table
            .prefetch(PositionKey::new(candidate.play(position)));
    }
}

/// Whether another member of the team searches a move of a node with this depth.
fn is_busy(run: &SearchRun<'_>, node: &Node, candidate: &Candidate, depth: Depth) -> bool {
    run.is_busy(PositionKey::new(candidate.play(node.position)), depth - 1)
}

/// Whether forward pruning skips the move searched as number `turn`, from 0, of a node with this
/// static value; otherwise it is recorded as played.
#[inline(always)]
fn is_pruned<K: Kernel>(
    run: &mut SearchRun<'_>,
    node: &Node,
    candidate: &Candidate,
    turn: usize,
    node_value: Score,
) -> bool {
    let Selective {
        threshold,
        rank,
        extension,
    } = run.selective;
    if turn != 0 && rank.is_some_and(|rank| usize::from(rank) <= turn) {
        return true;
    }
    if threshold.is_none() && extension.is_none() {
        return false;
    }
    let value = value_after::<K>(run, node, candidate, Depth(0));
    if turn != 0 && threshold.is_some_and(|threshold| value < node_value - threshold) {
        return true;
    }
    run.lost_value[node.ply + 1] = if value < node_value {
        candidate.square.bit()
    } else {
        0
    };
    false
}

/// Whether a reply with this value in a node with `depth` plies left calls for an extension, which
/// then lasts as long as `run.extending`.
#[inline(always)]
fn begin_extension(
    run: &mut SearchRun<'_>,
    node: &Node,
    flips: u64,
    value: Score,
    beta: Score,
    depth: Depth,
) -> bool {
    let here = match run.selective.extension {
        None => false,
        Some(Extension::Horizon) => depth == Depth(1),
        Some(Extension::EveryDepth) => true,
    };
    let begins = here
        && !run.extending
        && flips & run.lost_value[node.ply] != 0
        && value <= beta
        && depth + EXTENSION_PLIES <= Depth(node.position.empties());
    run.extending |= begins;
    begins
}

/// What a move that was played is worth to the mover: the first one in the whole window, another if
/// it beats alpha.
#[inline(always)]
fn reply<K: Kernel, W: Window<Unit = Score>, P: Policy>(
    run: &mut SearchRun<'_>,
    node: &Node,
    candidate: &Candidate,
    window: W,
    depth: Depth,
    is_first: bool,
) -> Score {
    let null = window.null();
    let mut value = null.beta();
    if !W::OPEN || !is_first {
        value = -child::<K, NullWindow, P>(run, node, candidate, null.for_opponent(), depth);
    }
    if W::OPEN && (is_first || window.contains(value)) {
        value =
            -child::<K, OpenWindow, P>(run, node, candidate, window.open().for_opponent(), depth);
    }
    value
}

/// What a move is worth to the mover by a full-window search of `depth` plies after it.
#[inline(always)]
pub fn value_after<K: Kernel>(
    run: &mut SearchRun<'_>,
    node: &Node,
    candidate: &Candidate,
    depth: Depth,
) -> Score {
    play::<K>(run, node, candidate);
    -child::<K, OpenWindow, Plain>(run, node, candidate, OpenWindow::full(), depth)
}

/// Brings the accumulator of the next ply up to date.
#[inline(always)]
pub fn play<K: Kernel>(run: &mut SearchRun<'_>, node: &Node, candidate: &Candidate) {
    let (before, after) = run.accumulators.split_at_mut(node.ply + 1);
    run.incremental.play::<K>(
        &before[node.ply],
        candidate.square,
        candidate.flips,
        &mut after[0],
    );
}

/// The value of the position after a move that was played, from its side to move; passes there are
/// free.
#[inline(always)]
fn child<K: Kernel, W: Window<Unit = Score>, P: Policy>(
    run: &mut SearchRun<'_>,
    node: &Node,
    candidate: &Candidate,
    window: W,
    depth: Depth,
) -> Score {
    let next = node.after(candidate);
    if next.moves == 0 {
        return passed::<K, P>(run, &next, window.open(), depth);
    }
    search::<K, W, P>(run, &next, window, depth)
}

#[inline(always)]
fn passed_body<K: Kernel, P: Policy>(
    run: &mut SearchRun<'_>,
    node: &Node,
    window: OpenWindow,
    depth: Depth,
) -> Score {
    run.nodes += 1;
    let position = node.position.pass();
    let moves = position.legal_moves_by::<K>();
    if moves == 0 {
        return node.position.final_discs().into();
    }
    let (before, after) = run.accumulators.split_at_mut(node.ply + 1);
    run.incremental.pass(&before[node.ply], &mut after[0]);
    if P::HAS_EXTRAS {
        run.lost_value[node.ply + 1] = 0;
    }
    let next = Node {
        position,
        moves,
        ply: node.ply + 1,
        linear: Linear::UNKNOWN,
    };
    -search::<K, OpenWindow, P>(run, &next, window.for_opponent(), depth)
}

/// Depth 1: the static value after every move, by the class of its square.
#[inline(always)]
fn frontier<K: Kernel, W: Window<Unit = Score>, P: Policy>(
    run: &mut SearchRun<'_>,
    node: &Node,
    window: W,
) -> Score {
    run.nodes += 1;
    let (mut best_value, beta) = (Score::NOTHING, window.beta());
    for class in SQUARE_CLASSES {
        for square in Squares(node.moves & class) {
            let candidate = Candidate::new::<K>(node.position, square);
            play::<K>(run, node, &candidate);
            let rest = if P::HAS_EXTRAS {
                OpenWindow::full()
            } else {
                window.raised_to(best_value).open()
            };
            let mut value = -child::<K, OpenWindow, Plain>(
                run,
                node,
                &candidate,
                rest.for_opponent(),
                Depth(0),
            );
            if P::HAS_EXTRAS && begin_extension(run, node, candidate.flips, value, beta, Depth(1)) {
                let window = OpenWindow::new(Alpha(-beta), Beta(Score::MAX.max(Score(1) - beta)));
                value = -child::<K, OpenWindow, P>(
                    run,
                    node,
                    &candidate,
                    window,
                    Depth(EXTENSION_PLIES),
                );
                run.extending = false;
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
pub fn static_value<K: Kernel>(run: &SearchRun<'_>, node: &Node) -> Score {
    StaticValue::new::<K>(run, node).exactly::<K>(run, node)
}

/// The static value, perhaps only a bound of it where that is at most `low` or at least `high`.
#[inline(always)]
fn static_value_within<K: Kernel>(
    run: &SearchRun<'_>,
    node: &Node,
    low: Score,
    high: Score,
) -> Score {
    let value = StaticValue::new::<K>(run, node);
    if high <= value.least {
        value.least
    } else if value.most <= low {
        value.most
    } else {
        value.exactly::<K>(run, node)
    }
}

/// Bounds of the static value of a node, which read no vector.
#[derive(Clone, Copy)]
struct StaticValue {
    linear: Score,
    least: Score,
    most: Score,
}

impl StaticValue {
    #[inline(always)]
    fn new<K: Kernel>(run: &SearchRun<'_>, node: &Node) -> Self {
        let accumulator = &run.accumulators[node.ply];
        let linear = node.linear.get().unwrap_or_else(|| {
            run.incremental
                .linear::<K>(accumulator, node.position, node.moves)
        });
        let (least, most) = run.incremental.square_range(node.position.empties());
        let value = |square: Score| (linear + square).clamp(Score::MIN, Score::MAX);
        Self {
            linear,
            least: value(least),
            most: value(most),
        }
    }

    #[inline(always)]
    fn exactly<K: Kernel>(self, run: &SearchRun<'_>, node: &Node) -> Score {
        if self.least == self.most {
            return self.least;
        }
        let square =
            run.incremental
                .square::<K>(&run.accumulators[node.ply], node.position, node.moves);
        (self.linear + square).clamp(Score::MIN, Score::MAX)
    }
}

/// Orders moves by the linear part of their static values, less the opponent's mobility; in null
/// windows near the leaves without the evaluation. Returns true as soon as the static value after a
/// move predicts a cut of a null window.
#[inline(always)]
pub fn order<K: Kernel, W: Window<Unit = Score>>(
    run: &mut SearchRun<'_>,
    node: &Node,
    candidates: &mut [Candidate],
    window: W,
    depth: Depth,
) -> bool {
    let is_selective = run.margin.is_finite();
    let fast_depth_max = if is_selective {
        SELECTIVE_FAST_ORDER_DEPTH_MAX
    } else {
        FAST_ORDER_DEPTH_MAX
    };
    if !W::OPEN && depth <= fast_depth_max {
        candidates
            .iter_mut()
            .for_each(|candidate| candidate.order = candidate.fast_order());
        return false;
    }
    let cut = if W::OPEN {
        None
    } else {
        static_cut_after(run, node, window.null(), depth)
    };
    // What is not at most this can't predict a cut, whatever the vectors add.
    let (least, _) = run.incremental.square_range(node.position.empties() - 1);
    for candidate in candidates {
        let linear = linear_after::<K>(run, node, candidate);
        if let Some(cut) = cut
            && linear + least <= cut
            && candidate.replies != 0
            && static_value_within::<K>(
                run,
                &node.after(candidate),
                cut,
                cut.min(Score::MAX).successor(),
            ) <= cut
        {
            return true;
        }
        candidate.order = -linear.0 - weighted_mobility(candidate.replies) * MOBILITY_ORDER;
    }
    false
}

/// The linear part of the static value after a move, from the side to move there.
#[inline(always)]
fn linear_after<K: Kernel>(
    run: &mut SearchRun<'_>,
    node: &Node,
    candidate: &mut Candidate,
) -> Score {
    play::<K>(run, node, candidate);
    let next = node.after(candidate);
    if next.moves == 0 {
        return passed::<K, Plain>(run, &next, OpenWindow::full(), Depth(0));
    }
    run.nodes += 1;
    candidate.linear = Linear(run.incremental.linear::<K>(
        &run.accumulators[next.ply],
        next.position,
        next.moves,
    ));
    candidate.linear.0.clamp(Score::MIN, Score::MAX)
}

/// The greatest static value after a move, from the side to move there, that predicts a cut.
#[inline(always)]
fn static_cut_after(
    run: &SearchRun<'_>,
    node: &Node,
    window: NullWindow,
    depth: Depth,
) -> Option<Score> {
    if !run.margin.is_finite() {
        return None;
    }
    let entry = run
        .mpc
        .probes(node.position.empties() - 1, depth - 1)
        .next()
        .filter(|entry| entry.shallow == Depth(0))?;
    Some(
        entry
            .cuts(
                window.for_opponent(),
                STATIC_MARGIN * run.margin.sigmas(&entry.quantiles),
            )
            .low,
    )
}

/// Multi-ProbCut: bets that a shallow value far outside the window predicts the deep one.
#[inline(always)]
fn probe<K: Kernel, P: Policy>(
    run: &mut SearchRun<'_>,
    node: &Node,
    window: NullWindow,
    depth: Depth,
) -> Option<Score> {
    if !run.margin.is_finite() {
        return None;
    }
    let mpc = run.mpc;
    probe_all::<K, P>(
        run,
        node,
        window,
        mpc.probes(node.position.empties(), depth),
    )
}

/// The bound, alpha or beta, beyond which a probe predicts the value.
///
/// A static probe costs next to nothing, and what it predicts decides which sides are worth a
/// search.
#[inline(always)]
pub fn probe_all<'m, K: Kernel, P: Policy>(
    run: &mut SearchRun<'_>,
    node: &Node,
    window: impl Window<Unit = Score>,
    entries: impl Iterator<Item = &'m MpcEntry>,
) -> Option<Score> {
    let (mut try_low, mut try_high) = (true, true);
    for entry in entries {
        if entry.shallow == Depth(0) {
            let Cuts { low, high } =
                entry.cuts(window, STATIC_MARGIN * run.margin.sigmas(&entry.quantiles));
            // The bound, or whether a search may find the value below the window, and above it.
            let judge = |value| {
                if high <= value {
                    Err(window.beta())
                } else if value <= low {
                    Err(window.alpha())
                } else if entry.deep < PROBE_DEPTH_MIN {
                    Ok((false, false))
                } else {
                    Ok(entry.may_cut(value, window, PROBE_MARGIN))
                }
            };
            // The value itself is computed only where its bounds are judged differently.
            let value = StaticValue::new::<K>(run, node);
            let least = judge(value.least);
            let is_decided = value.least == value.most || least == judge(value.most);
            let judged = if is_decided {
                least
            } else {
                judge(value.exactly::<K>(run, node))
            };
            match judged {
                Err(bound) => return Some(bound),
                Ok(tries) => (try_low, try_high) = tries,
            }
            continue;
        }
        if entry.deep < PROBE_DEPTH_MIN {
            continue;
        }
        let Cuts { low, high } = entry.cuts(window, run.margin.sigmas(&entry.quantiles));
        let below_high = NullWindow::above(high - Score(1));
        if try_high
            && high <= Score::MAX
            && high <= search::<K, NullWindow, P>(run, node, below_high, entry.shallow)
        {
            return Some(window.beta());
        }
        let above_low = NullWindow::above(low);
        if try_low
            && Score::MIN <= low
            && search::<K, NullWindow, P>(run, node, above_low, entry.shallow) <= low
        {
            return Some(window.alpha());
        }
    }
    None
}
