//! The moves of a node, ordered by how soon they promise a cutoff.

use crate::engine::board::kernel::Kernel;
use arrayvec::ArrayVec;

/// No position has more legal moves than this (33 are known).
pub(super) const CANDIDATES_MAX: usize = 36;

/// No static value.
pub(super) const UNKNOWN: i32 = i32::MIN;

/// A move with what the ordering found out about it.
#[derive(Clone, Copy)]
pub(super) struct Candidate {
    pub(super) flips: u64,
    /// The opponent's legal moves after it.
    pub(super) replies: u64,
    pub(super) order: i32,
    /// The static value after it, from the side to move there; [`UNKNOWN`] until an ordering computes it.
    pub(super) value: i32,
    pub(super) square: u8,
}

impl Candidate {
    /// A legal move on `square`.
    #[inline(always)]
    pub(super) fn new<K: Kernel>(player: u64, opponent: u64, square: usize) -> Self {
        let flips = K::flips(player, opponent, square);
        let mut candidate = Self { flips, replies: 0, order: 0, value: UNKNOWN, square: square as u8 };
        let (next_player, next_opponent) = candidate.play(player, opponent);
        candidate.replies = K::legal_moves(next_player, next_opponent);
        candidate
    }

    #[inline(always)]
    pub(super) const fn index(&self) -> usize {
        self.square as usize & 63
    }

    /// The boards after the move: the opponent's, who is to move, and the mover's.
    #[inline(always)]
    pub(super) const fn play(&self, player: u64, opponent: u64) -> (u64, u64) {
        (opponent ^ self.flips, player ^ self.flips ^ 1 << self.index())
    }
}

/// The moves of a node, at most `ROOM`.
pub(super) struct Candidates<const ROOM: usize = CANDIDATES_MAX>(ArrayVec<Candidate, ROOM>);

impl<const ROOM: usize> Candidates<ROOM> {
    /// No move yet.
    #[inline(always)]
    pub(super) const fn empty() -> Self {
        Self(ArrayVec::new_const())
    }

    /// The moves in `moves`, not ordered yet.
    #[inline(always)]
    pub(super) fn new<K: Kernel>(player: u64, opponent: u64, mut moves: u64) -> Self {
        let mut this = Self::empty();
        while moves != 0 {
            this.push(Candidate::new::<K>(player, opponent, moves.trailing_zeros() as usize));
            moves &= moves - 1;
        }
        this
    }

    /// Adds a move; there is room for every legal one.
    #[inline(always)]
    pub(super) fn push(&mut self, candidate: Candidate) {
        self.0.push(candidate);
    }

    #[inline(always)]
    pub(super) fn as_slice(&self) -> &[Candidate] {
        &self.0
    }

    #[inline(always)]
    pub(super) fn as_mut_slice(&mut self) -> &mut [Candidate] {
        &mut self.0
    }

    /// Moves the candidate of the highest order at or after `from` to `from` and returns it; ties go to the lower square.
    #[inline(always)]
    pub(super) fn pick(&mut self, from: usize) -> Candidate {
        let mut best = from;
        for index in from + 1..self.0.len() {
            let (candidate, leader) = (&self.0[index], &self.0[best]);
            if (leader.order, candidate.square) < (candidate.order, leader.square) {
                best = index;
            }
        }
        self.0.swap(from, best);
        self.0[from]
    }

    #[inline(always)]
    pub(super) const fn len(&self) -> usize {
        self.0.len()
    }
}

/// The corner squares.
pub(super) const CORNERS: u64 = 0x8100_0000_0000_0081;

/// The number of moves in a set, a corner counted twice.
#[inline(always)]
pub(super) const fn weighted_mobility(moves: u64) -> i32 {
    (moves.count_ones() + (moves & CORNERS).count_ones()) as i32
}

/// Empty squares next to a disc of `discs`: where the other side may get moves.
#[inline(always)]
pub(super) const fn potential_moves(discs: u64, empty: u64) -> u64 {
    const INNER_COLUMNS: u64 = 0x7E7E_7E7E_7E7E_7E7E;
    let inner = discs & INNER_COLUMNS;
    let sides = inner << 1 | inner >> 1;
    let rows = discs | sides;
    (sides | rows << 8 | rows >> 8) & empty
}
