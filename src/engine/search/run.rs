//! The state of one search.

use super::mpc::{Margin, MpcLevel, MpcTable};
use super::selective::Extras;
use super::table::{Known, Sureness, Table};
use crate::engine::board::square::Square;
use crate::engine::eval::evaluation::SCORE_MAX;
use crate::engine::eval::incremental::{Accumulator, Incremental};
use std::sync::atomic::{AtomicBool, Ordering};

/// Plies of the longest line: 60 moves, each followed by a pass at most, and the root.
pub(super) const PLIES: usize = 128;

/// Nodes between two looks at the stop flag.
const STOP_INTERVAL: u64 = 4096;

/// Which depths of the table answer a search.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Hits {
    /// A deeper result is a better answer.
    AtLeast,
    /// Only the depth asked for, so that the value does not depend on what the table holds.
    Exactly,
}

/// Where a search stands and what it may use.
pub(super) struct Run<'r> {
    pub(super) incremental: &'r Incremental,
    pub(super) mpc: &'r MpcTable,
    pub(super) table: &'r mut Table,
    pub(super) local: &'r mut Table,
    pub(super) accumulators: &'r mut [Accumulator; PLIES], // [ply]
    pub(super) hits: Hits,
    pub(super) nodes: u64,
    pub(super) stopped: bool,
    level: MpcLevel,
    pub(super) margin: Margin,
    pub(super) sureness: Sureness,
    nodes_max: u64,
    next_check: u64,
    stop: &'r AtomicBool,
    /// What a search beyond the plain one needs; `None` in a plain one.
    pub(super) extras: Option<&'r mut Extras>,
}

impl<'r> Run<'r> {
    pub(super) fn new(
        incremental: &'r Incremental,
        mpc: &'r MpcTable,
        [table, local]: [&'r mut Table; 2],
        accumulators: &'r mut [Accumulator; PLIES],
        stop: &'r AtomicBool,
    ) -> Self {
        Self {
            incremental,
            mpc,
            table,
            local,
            accumulators,
            hits: Hits::AtLeast,
            nodes: 0,
            stopped: false,
            level: MpcLevel::FullWidth,
            margin: Margin::new(MpcLevel::FullWidth),
            sureness: Sureness::FULL,
            nodes_max: u64::MAX,
            next_check: u64::MAX,
            stop,
            extras: None,
        }
    }

    pub(super) const fn level(&self) -> MpcLevel {
        self.level
    }

    pub(super) fn set_level(&mut self, level: MpcLevel) {
        self.level = if self.mpc.is_empty() { MpcLevel::FullWidth } else { level };
        self.margin = Margin::new(self.level);
        self.sureness = Sureness::new(self.level);
    }

    /// From now on the search prunes and extends as `extras` say.
    pub(super) fn use_extras(&mut self, extras: &'r mut Extras) {
        self.extras = Some(extras);
        self.sureness = Sureness::PRUNED;
    }

    /// From now on the search stops at `nodes_max` nodes or when the flag is raised.
    pub(super) fn allow_stop(&mut self, nodes_max: Option<u64>) {
        self.nodes_max = nodes_max.unwrap_or(u64::MAX);
        self.next_check = self.nodes;
    }

    /// Whether the search must unwind; called at inner nodes.
    #[inline(always)]
    pub(super) fn must_stop(&mut self) -> bool {
        if self.next_check <= self.nodes {
            self.look_at_stop();
        }
        self.stopped
    }

    #[cold]
    fn look_at_stop(&mut self) {
        self.stopped |= self.nodes_max <= self.nodes || self.stop.load(Ordering::Relaxed);
        self.next_check = self.nodes_max.min(self.nodes + STOP_INTERVAL);
    }

    /// What an entry of the table says about the window: an answer, or narrower bounds.
    #[inline(always)]
    pub(super) fn bounds(&self, known: &Known, depth: u8, alpha: i32, beta: i32) -> Bounds {
        let deep = known.depth == depth || (depth < known.depth && self.hits == Hits::AtLeast);
        if !deep || known.sureness < self.sureness {
            return Bounds::Window(alpha, beta);
        }
        if beta <= known.lower || known.lower == known.upper {
            return Bounds::Answer(known.lower);
        }
        if known.upper <= alpha {
            return Bounds::Answer(known.upper);
        }
        Bounds::Window(alpha.max(known.lower), beta.min(known.upper))
    }

    /// A fail-soft value as an entry of the table; a move that did not raise `alpha` is no better than any other.
    #[inline(always)]
    pub(super) fn known(&self, value: i32, best: Option<Square>, alpha: i32, beta: i32, depth: u8) -> Known {
        let lower = if alpha < value { value } else { -SCORE_MAX };
        let upper = if value < beta { value } else { SCORE_MAX };
        Known { lower, upper, depth, sureness: self.sureness, best: best.filter(|_| alpha < value) }
    }
}

/// What the table leaves of a window.
pub(super) enum Bounds {
    Answer(i32),
    Window(i32, i32),
}
