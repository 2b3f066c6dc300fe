//! What the members of a team tell each other besides their table, and what each keeps of it.

use super::depth::Depth;
use super::result::Iteration;
use super::table::PositionKey;
use crate::engine::score::Score;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Members mark nodes from this depth on, and in searches to the end from this many empty squares.
/// Four threads take 19 % more nodes than one on FFO 40-44, and 6 % more on FFO 45-47; one ply more
/// or less changes that by 1 to 3 %.
const MARKED_DEPTH_MIN: Depth = Depth(5);
const MARKED_EMPTIES_MIN: Depth = Depth(13);

/// Room for marks: the nodes that all members work on at one time are a few hundred.
const MARKS: usize = 1 << 12;

/// Spreads the depths of one position over different marks.
const DEPTH_MIX: u64 = 0x9E37_79B9_7F4A_7C15;

/// The state that all members read and write.
pub struct Board {
    marks: Box<[AtomicU64]>,
    found_count: AtomicUsize,
    found: Mutex<Vec<Iteration>>, // [step]
}

impl Board {
    pub fn new() -> Self {
        let marks = std::iter::repeat_with(AtomicU64::default)
            .take(MARKS)
            .collect();
        Self {
            marks,
            found_count: AtomicUsize::new(0),
            found: Mutex::new(Vec::new()),
        }
    }

    /// Forgets the last search.
    pub fn wipe(&self) {
        self.marks
            .iter()
            .for_each(|mark| mark.store(0, Ordering::Relaxed));
        self.found
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
        self.found_count.store(0, Ordering::Relaxed);
    }

    fn place(&self, key: PositionKey, depth: Depth) -> (&AtomicU64, u64) {
        let mark = key.0 ^ DEPTH_MIX.wrapping_mul(u64::from(depth.0));
        (&self.marks[mark as usize % MARKS], mark)
    }
}

/// What one member knows of its team.
pub struct Membership {
    pub board: Arc<Board>,
    /// The root searches of this search that are over.
    pub step: usize,
}

impl Membership {
    pub fn mark(&self, key: PositionKey, depth: Depth) {
        let (place, mark) = self.board.place(key, depth);
        place.store(mark, Ordering::Relaxed);
    }

    pub fn unmark(&self, key: PositionKey, depth: Depth) {
        let (place, mark) = self.board.place(key, depth);
        if place.load(Ordering::Relaxed) == mark {
            place.store(0, Ordering::Relaxed);
        }
    }

    /// Whether a member works on a node.
    pub fn is_marked(&self, key: PositionKey, depth: Depth) -> bool {
        let (place, mark) = self.board.place(key, depth);
        place.load(Ordering::Relaxed) == mark
    }

    /// Whether a member has finished the root search that this one is at.
    pub fn is_step_over(&self) -> bool {
        self.step < self.board.found_count.load(Ordering::Acquire)
    }

    /// Ends the root search with the result of the member that was first, this one if it `found`
    /// one; `None` if there is none.
    pub fn end_step(&mut self, found: Option<Iteration>) -> Option<Iteration> {
        let mut all = self
            .board
            .found
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if all.len() == self.step {
            all.push(found?);
            self.board.found_count.store(all.len(), Ordering::Release);
        }
        self.step += 1;
        Some(all[self.step - 1])
    }
}

/// The least depths of marked nodes in the two kinds of searches.
#[derive(Clone, Copy)]
pub struct Marked {
    pub by_depth: Depth,
    pub to_end: Depth,
}

impl Marked {
    /// One searcher alone.
    pub const NONE: Self = Self {
        by_depth: Depth(u8::MAX),
        to_end: Depth(u8::MAX),
    };
    pub const OF_TEAM: Self = Self {
        by_depth: MARKED_DEPTH_MIN,
        to_end: MARKED_EMPTIES_MIN,
    };
}

/// A marked node on the way to the current one.
#[derive(Clone, Copy)]
pub struct OpenNode {
    pub key: PositionKey,
    pub depth: Depth,
    /// `None` in an open window.
    pub null_alpha: Option<Score>,
    /// Whether one good move is expected to be enough; otherwise all moves are expected to fail.
    pub expects_cut: bool,
}
