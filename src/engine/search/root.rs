//! The root: one iteration after another, and the moves to choose from.

use super::candidates::{Candidates, Linear, add_unordered};
use super::depth::Depth;
use super::endgame;
use super::endgame::node::EndNode;
use super::midgame::{best_child, order, passed, search, static_value};
use super::node::Node;
use super::result::Iteration;
use super::run::{Policy, SearchRun};
use super::table::PositionKey;
use super::window::{Alpha, Beta, OpenWindow, Window};
use crate::engine::board::kernel::{Kernel, kernel_entry};
use crate::engine::board::position::Position;
use crate::engine::board::square::Square;
use crate::engine::score::{Discs, Score};

/// Half the width of the first window around the value of the last iteration but one; positions
/// swing less than this from one even depth to the next in about nine of ten cases.
const ASPIRATION: Score = Score(3_000);

/// From this depth on iterations deepen by two plies.
const STEP_DEPTH_MIN: Depth = Depth(5);

/// From this depth on the first window is a narrow one.
const ASPIRATION_DEPTH_MIN: Depth = Depth(4);

/// Half the width of the first exact window; odd, so that no score lies on its edge.
const SOLVE_ASPIRATION: Discs = Discs(3);

/// The width of the exact windows after it.
const SOLVE_WIDTH: Discs = Discs(6);

/// Selective searches with different windows may contradict each other. If the value has changed
/// sides more often than this, the whole window is searched.
const SIDE_CHANGES_MAX: u32 = 8;

kernel_entry! {
    /// The value of any position at exactly `depth`, searched with a full window; `None` if it was
    /// stopped.
    pub fn value_at_depth<P: Policy>(run: &mut SearchRun<'_>, position: Position, depth: Depth) -> Option<Score> = value_at_depth_body;

    /// Depths 1, 2, … `depth` of a position with a legal move; the last iteration finished before a
    /// stop or `nodes_max`. The first is never stopped.
    pub fn iterate<P: Policy>(run: &mut SearchRun<'_>, position: Position, depth: Depth, nodes_max: Option<u64>) -> Iteration = iterate_body;

    /// The legal moves of a position with the values by which a search of this depth, or an exact
    /// one, first orders them.
    pub fn root_orders(run: &mut SearchRun<'_>, position: Position, depth: Depth, is_exact: bool) -> Vec<(Square, i32)> = root_orders_body;

    /// One depth with one window; `None` if it was stopped.
    fn root_search<P: Policy>(run: &mut SearchRun<'_>, node: &Node, window: OpenWindow, depth: Depth, first: Option<Square>) -> Option<Iteration> = root_search_body;

    /// The exact value of a position with a legal move, within a window; `None` if it was stopped.
    ///
    /// The search begins with narrower windows near `guess`.
    pub fn solve(run: &mut SearchRun<'_>, position: Position, window: OpenWindow<Discs>, guess: Score) -> Option<Iteration> = solve_body;
}

#[inline(always)]
fn value_at_depth_body<K: Kernel, P: Policy>(
    run: &mut SearchRun<'_>,
    position: Position,
    depth: Depth,
) -> Option<Score> {
    let depth = depth.min(Depth(position.empties()));
    run.allow_stop(None);
    let node = root_node::<K>(run, position);
    let value = if node.moves == 0 {
        passed::<K, P>(run, &node, OpenWindow::full(), depth)
    } else {
        for depth in steps_to(depth).filter(|&step| step < depth) {
            let _ = search::<K, OpenWindow, P>(run, &node, OpenWindow::full(), depth);
        }
        search::<K, OpenWindow, P>(run, &node, OpenWindow::full(), depth)
    };
    (!run.stopped).then_some(value)
}

#[inline(always)]
fn iterate_body<K: Kernel, P: Policy>(
    run: &mut SearchRun<'_>,
    position: Position,
    depth: Depth,
    nodes_max: Option<u64>,
) -> Iteration {
    let node = root_node::<K>(run, position);
    let first = root_search::<K, P>(run, &node, OpenWindow::full(), Depth(1), None);
    let mut last = first.expect("nothing stops the first depth");
    if depth == Depth(0) {
        return Iteration {
            value: static_value::<K>(run, &node),
            depth,
            ..last
        };
    }
    // Odd and even depths differ by the value of a tempo, so a window centers on the last value of
    // its parity.
    let mut by_parity = [last.value; 2];
    run.allow_stop(nodes_max);
    for depth in steps_to(depth) {
        if run.check_limits() {
            return last;
        }
        let center = by_parity[usize::from(depth.0 % 2)];
        let (mut low, mut high) = (
            (center - ASPIRATION).max(Score::MIN),
            (center + ASPIRATION).min(Score::MAX),
        );
        if depth < ASPIRATION_DEPTH_MIN {
            (low, high) = (Score::MIN, Score::MAX);
        }
        let iteration = loop {
            let window = OpenWindow::new(Alpha(low), Beta(high));
            let search = |run: &mut SearchRun<'_>| {
                root_search::<K, P>(run, &node, window, depth, Some(last.best))
            };
            let Some(iteration) = run.root_step(search) else {
                return last;
            };
            if iteration.value <= low && Score::MIN < low {
                low = Score::MIN;
            } else if high <= iteration.value && high < Score::MAX {
                high = Score::MAX;
            } else {
                break iteration;
            }
        };
        by_parity[usize::from(depth.0 % 2)] = iteration.value;
        last = iteration;
    }
    last
}

/// The depths of the iterations from 2 on: every one while they are cheap, then those of the
/// target's parity. The others save less than they cost: without them a search of depth 11 takes 30
/// % fewer nodes.
fn steps_to(target: Depth) -> impl Iterator<Item = Depth> {
    let is_step =
        move |depth: &Depth| *depth < STEP_DEPTH_MIN || (target.0 - depth.0).is_multiple_of(2);
    (2..=target.0).map(Depth).filter(is_step)
}

#[inline(always)]
fn root_orders_body<K: Kernel>(
    run: &mut SearchRun<'_>,
    position: Position,
    depth: Depth,
    is_exact: bool,
) -> Vec<(Square, i32)> {
    let node = root_node::<K>(run, position);
    let mut candidates = Candidates::new_const();
    add_unordered::<K>(&mut candidates, node.position, node.moves);
    if is_exact {
        endgame::order::order::<K>(run, &EndNode::root::<K>(position), &mut candidates);
    } else {
        order::<K, OpenWindow>(run, &node, &mut candidates, OpenWindow::full(), depth);
    }
    candidates
        .iter()
        .map(|candidate| (candidate.square, candidate.order))
        .collect()
}

fn root_node<K: Kernel>(run: &mut SearchRun<'_>, position: Position) -> Node {
    run.accumulators[0] = run.incremental.accumulator(position);
    Node {
        position,
        moves: position.legal_moves_by::<K>(),
        ply: 0,
        linear: Linear::UNKNOWN,
    }
}

#[inline(always)]
fn root_search_body<K: Kernel, P: Policy>(
    run: &mut SearchRun<'_>,
    node: &Node,
    window: OpenWindow,
    depth: Depth,
    first: Option<Square>,
) -> Option<Iteration> {
    run.nodes += 1;
    let mut candidates = Candidates::new_const();
    add_unordered::<K>(&mut candidates, node.position, node.moves);
    let (value, best) =
        best_child::<K, OpenWindow, P>(run, node, &mut candidates, first, window, depth);
    if run.stopped {
        return None;
    }
    let known = run.known(value, best, window, depth);
    run.table.put(PositionKey::new(node.position), &known);
    best.map(|best| Iteration { value, best, depth })
}

#[inline(always)]
fn solve_body<K: Kernel>(
    run: &mut SearchRun<'_>,
    position: Position,
    window: OpenWindow<Discs>,
    guess: Score,
) -> Option<Iteration> {
    run.accumulators[0] = run.incremental.accumulator(position);
    let node = EndNode::root::<K>(position);
    let mut first = run
        .table
        .get(PositionKey::new(position))
        .and_then(|known| known.best);
    let mut aspiration = Aspiration::new(window, guess);
    loop {
        let window = aspiration.window();
        let found = run.root_step(|run| endgame::root_window::<K>(run, &node, window, first))?;
        first = Some(found.best);
        if !aspiration.moves_to(Discs::truncated(found.value)) {
            return Some(found);
        }
    }
}

/// The narrow windows of a search to the end, inside the whole one, until the value lies in one of
/// them.
struct Aspiration {
    whole: OpenWindow<Discs>,
    low: Discs,
    high: Discs,
    /// Whether the last value was below its window; otherwise it was above.
    was_below: Option<bool>,
    side_changes: u32,
}

impl Aspiration {
    /// Around a guess.
    fn new(whole: OpenWindow<Discs>, guess: Score) -> Self {
        // Scores are even, so a window around an even number has odd bounds.
        let center = Discs(Discs::truncated(guess).0 & !1);
        let low = (center - SOLVE_ASPIRATION).clamp(whole.alpha(), whole.beta() - Discs(1));
        let high = (center + SOLVE_ASPIRATION).clamp(low + Discs(1), whole.beta());
        Self {
            whole,
            low,
            high,
            was_below: None,
            side_changes: 0,
        }
    }

    fn window(&self) -> OpenWindow<Discs> {
        OpenWindow::new(Alpha(self.low), Beta(self.high))
    }

    /// Moves the window to a value outside it; false if the value is inside, or decides the whole
    /// window.
    fn moves_to(&mut self, value: Discs) -> bool {
        let (alpha, beta) = (self.whole.alpha(), self.whole.beta());
        let is_below = value <= self.low && alpha < self.low;
        let is_above = self.high <= value && self.high < beta;
        if !(alpha..=beta).contains(&value) || !(is_below || is_above) {
            return false;
        }
        self.side_changes += u32::from(self.was_below == Some(!is_below));
        self.was_below = Some(is_below);
        (self.low, self.high) = if SIDE_CHANGES_MAX < self.side_changes {
            (alpha, beta)
        } else if is_below {
            ((value - SOLVE_WIDTH).max(alpha), value + Discs(1))
        } else {
            (value - Discs(1), (value + SOLVE_WIDTH).min(beta))
        };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_that_contradict_each_other_end() {
        // Above and below the window in every order of three.
        for pattern in 0..8_u32 {
            let mut aspiration = Aspiration::new(OpenWindow::full(), Score(0));
            let mut windows = 0;
            loop {
                let is_above = pattern >> (windows % 3) & 1 == 1;
                let window = aspiration.window();
                let value = if is_above {
                    window.beta()
                } else {
                    window.alpha()
                };
                if !aspiration.moves_to(value) {
                    break;
                }
                windows += 1;
                assert!(windows < 100, "{pattern}");
            }
        }
    }

    #[test]
    fn every_value_is_found() {
        for guess in (-64_000..=64_000).step_by(7_000).map(Score) {
            for value in (-64..=64).step_by(2).map(Discs) {
                let mut aspiration = Aspiration::new(OpenWindow::full(), guess);
                let seen = |window: OpenWindow<Discs>| value.clamp(window.alpha(), window.beta());
                while aspiration.moves_to(seen(aspiration.window())) {}
                assert_eq!(seen(aspiration.window()), value);
            }
        }
    }
}
