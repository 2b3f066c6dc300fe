//! The state of one search.

use super::depth::Depth;
use super::endgame::local::LocalTable;
use super::membership::{Marked, Membership, OpenNode};
use super::mpc::MpcTable;
use super::mpc_level::{Margin, MpcLevel};
use super::node::PLIES;
use super::sampling::NodeSampler;
use super::selective::Selective;
use super::table::{Known, Sureness, TranspositionTable};
use super::window::Window;
use crate::engine::board::kernel::KernelChoice;
use crate::engine::board::square::Square;
use crate::engine::eval::incremental::{Accumulator, Incremental};
use crate::engine::score::Score;
use arrayvec::ArrayVec;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

/// Nodes between two checks of the stop flag.
const STOP_INTERVAL: u64 = 4096;

/// What is compiled into a search.
pub trait Policy {
    const HAS_EXTRAS: bool;
}

/// The plain search.
pub struct Plain;

impl Policy for Plain {
    const HAS_EXTRAS: bool = false;
}

/// A search that may prune and extend, or samples its nodes.
pub struct WithExtras;

impl Policy for WithExtras {
    const HAS_EXTRAS: bool = true;
}

/// The state of a search and what it may use.
pub struct SearchRun<'r> {
    pub kernel: KernelChoice,
    pub incremental: &'r Incremental,
    pub mpc: &'r MpcTable,
    pub table: &'r TranspositionTable,
    pub local: &'r mut LocalTable,
    pub accumulators: &'r mut [Accumulator; PLIES], // [ply]
    /// Whether only results of the depth asked for answer, so that a value does not depend on what
    /// the table holds; otherwise deeper ones, which are better answers, do too.
    pub exact_depth: bool,
    pub nodes: u64,
    pub stopped: bool,
    pub margin: Margin,
    pub sureness: Sureness,
    pub nodes_max: u64,
    pub next_check: u64,
    pub stops: [&'r AtomicBool; 2],
    /// `None` if the searcher is alone.
    pub member: Option<&'r mut Membership>,
    pub marked: Marked,
    pub open_nodes: ArrayVec<OpenNode, PLIES>,
    /// A marked node that another member has settled: its place among the open ones, and its value.
    pub settled: Option<(usize, Score)>,
    pub selective: Selective,
    /// The disc of the move that led to each ply, if it lost static value.
    pub lost_value: [u64; PLIES], // [ply]
    pub extending: bool,
    pub sampler: Option<NodeSampler>,
}

impl SearchRun<'_> {
    pub fn set_level(&mut self, level: MpcLevel) {
        let level = if self.mpc.is_empty() {
            MpcLevel::FullWidth
        } else {
            level
        };
        self.margin = Margin::new(level);
        self.sureness = Sureness::new(level);
    }

    /// From now on the search prunes and extends, so that its results answer no other search.
    pub fn set_selective(&mut self, selective: Selective) {
        self.selective = selective;
        self.sureness = Sureness::PRUNED;
    }

    /// From now on the search stops at `nodes_max` nodes or when the flag is raised.
    pub fn allow_stop(&mut self, nodes_max: Option<u64>) {
        self.nodes_max = nodes_max.unwrap_or(u64::MAX);
        self.next_check = self.nodes;
    }

    /// Whether the search must unwind; called at inner nodes.
    #[inline(always)]
    pub fn must_stop(&mut self) -> bool {
        if self.next_check <= self.nodes {
            self.check_stop();
        }
        self.stopped
    }

    /// Whether the limit of nodes is reached or the stop flag raised.
    pub fn check_limits(&mut self) -> bool {
        self.stopped |= self.nodes_max <= self.nodes
            || self.stops.iter().any(|stop| stop.load(Ordering::Relaxed));
        self.stopped
    }

    #[cold]
    fn check_stop(&mut self) {
        self.check_limits();
        self.next_check = self.nodes_max.min(self.nodes + STOP_INTERVAL);
        if !self.stopped {
            self.check_team();
        }
    }

    /// What an entry of the table leaves of a window: nothing but the answer (`Break`), or a
    /// narrower one.
    #[inline(always)]
    pub fn look_up<W: Window<Unit = Score>>(
        &self,
        known: &Known,
        depth: Depth,
        window: W,
    ) -> ControlFlow<Score, W> {
        let deep = known.depth == depth || (depth < known.depth && !self.exact_depth);
        if !deep || known.sureness < self.sureness {
            return ControlFlow::Continue(window);
        }
        if window.beta() <= known.lower || known.lower == known.upper {
            return ControlFlow::Break(known.lower);
        }
        if known.upper <= window.alpha() {
            return ControlFlow::Break(known.upper);
        }
        ControlFlow::Continue(window.narrowed_to(known.lower, known.upper))
    }

    /// A fail-soft value as an entry of the table; a move that did not raise alpha is not better
    /// than any other.
    #[inline(always)]
    pub fn known(
        &self,
        value: Score,
        best: Option<Square>,
        window: impl Window<Unit = Score>,
        depth: Depth,
    ) -> Known {
        let lower = if window.alpha() < value {
            value
        } else {
            Score::MIN
        };
        let upper = if value < window.beta() {
            value
        } else {
            Score::MAX
        };
        Known {
            lower,
            upper,
            depth,
            sureness: self.sureness,
            best: best.filter(|_| window.alpha() < value),
        }
    }
}
