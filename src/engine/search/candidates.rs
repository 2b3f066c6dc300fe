//! The moves of a node, ordered by how soon they promise a cutoff.

use crate::engine::board::kernel::Kernel;
use crate::engine::board::position::Position;
use crate::engine::board::square::{Square, Squares};
use crate::engine::score::Score;
use arrayvec::ArrayVec;

/// No position has more legal moves than this (33 are known).
pub const CANDIDATES_MAX: usize = 36;

/// The linear part of a static value, which an ordering may have computed: 4 bytes instead of the 8
/// of an `Option`.
#[derive(Clone, Copy)]
pub struct Linear(pub Score);

impl Linear {
    pub const UNKNOWN: Self = Self(Score(i32::MIN));

    #[inline(always)]
    pub fn get(self) -> Option<Score> {
        (self.0 != Self::UNKNOWN.0).then_some(self.0)
    }
}

/// A move with what the ordering found out about it.
#[derive(Clone, Copy)]
pub struct Candidate {
    pub flips: u64,
    /// The opponent's legal moves after it.
    pub replies: u64,
    pub order: i32,
    /// From the side to move after it.
    pub linear: Linear,
    pub square: Square,
}

impl Candidate {
    /// A legal move on `square`.
    #[inline(always)]
    pub fn new<K: Kernel>(position: Position, square: Square) -> Self {
        let flips = position.flips_by::<K>(square);
        let replies = position.play_unchecked(square, flips).legal_moves_by::<K>();
        Self {
            flips,
            replies,
            order: 0,
            linear: Linear::UNKNOWN,
            square,
        }
    }

    /// An order without the evaluation: few replies, then the kind of the square.
    #[inline(always)]
    pub const fn fast_order(&self) -> i32 {
        let bit = self.square.bit();
        let kind = if CORNERS & bit != 0 {
            CORNER_ORDER
        } else if NEXT_TO_CORNERS & bit != 0 {
            NEXT_TO_CORNER_ORDER
        } else {
            0
        };
        kind - weighted_mobility(self.replies)
    }

    /// The position after the move, seen by the opponent.
    #[inline(always)]
    pub const fn play(&self, position: Position) -> Position {
        position.play_unchecked(self.square, self.flips)
    }
}

/// Above every order value: the move from the table.
const FIRST: i32 = i32::MAX;
/// Below every order value: a move that another thread searches.
const PUT_OFF: i32 = i32::MIN;

/// The moves of a node, at most `ROOM`.
pub type Candidates<const ROOM: usize = CANDIDATES_MAX> = ArrayVec<Candidate, ROOM>;

/// Adds the moves in `moves`, not ordered yet. They are written where they are read: a list that
/// is returned is copied, 1,160 bytes for each node.
#[inline(always)]
pub fn add_unordered<K: Kernel>(candidates: &mut Candidates, position: Position, moves: u64) {
    for square in Squares(moves) {
        candidates.push(Candidate::new::<K>(position, square));
    }
}

/// Puts the move on `square` before all others, if it is one of them; the number of moves whose
/// place is now known.
#[inline(always)]
pub fn put_first(candidates: &mut [Candidate], square: Option<Square>) -> usize {
    let first = candidates
        .iter_mut()
        .find(|candidate| Some(candidate.square) == square);
    first.map_or(0, |candidate| {
        candidate.order = FIRST;
        1
    })
}

/// Moves the candidate of the highest order at or after `from` to `from` and returns it; ties go to
/// the lower square.
#[inline(always)]
pub fn pick(candidates: &mut [Candidate], from: usize) -> Candidate {
    // One number to compare, so that the choice needs no branch.
    let rank = |candidate: &Candidate| {
        i64::from(candidate.order) << 6 | i64::from(63 - candidate.square.number())
    };
    let (mut best, mut best_rank) = (from, rank(&candidates[from]));
    for (index, candidate) in candidates.iter().enumerate().skip(from + 1) {
        let rank = rank(candidate);
        (best, best_rank) = if best_rank < rank {
            (index, rank)
        } else {
            (best, best_rank)
        };
    }
    candidates.swap(from, best);
    candidates[from]
}

/// [`pick`], but moves that are busy come after all others.
pub fn pick_free(
    candidates: &mut [Candidate],
    from: usize,
    is_busy: impl Fn(&Candidate) -> bool,
) -> Candidate {
    loop {
        let candidate = pick(candidates, from);
        if candidate.order == PUT_OFF {
            let free = (from..candidates.len())
                .find(|&index| !is_busy(&candidates[index]))
                .unwrap_or(from);
            candidates.swap(from, free);
            return candidates[from];
        }
        if !is_busy(&candidate) {
            return candidate;
        }
        candidates[from].order = PUT_OFF;
    }
}

/// The corner squares.
pub const CORNERS: u64 = 0x8100_0000_0000_0081;
/// The squares next to them.
pub const NEXT_TO_CORNERS: u64 = 0x42C3_0000_0000_C342;

/// What a corner, and a square next to one, are worth to [`Candidate::fast_order`] in replies; node
/// counts change by 1 % if they are halved or doubled.
const CORNER_ORDER: i32 = 4;
const NEXT_TO_CORNER_ORDER: i32 = -2;

/// The number of moves in a set, a corner counted twice.
#[inline(always)]
pub const fn weighted_mobility(moves: u64) -> i32 {
    (moves.count_ones() + (moves & CORNERS).count_ones()) as i32
}

/// Empty squares next to a disc of the opponent: where the side to move may get moves.
#[inline(always)]
pub const fn potential_moves(position: Position) -> u64 {
    const INNER_COLUMNS: u64 = 0x7E7E_7E7E_7E7E_7E7E;
    let discs = position.opponent();
    let inner = discs & INNER_COLUMNS;
    let sides = inner << 1 | inner >> 1;
    let rows = discs | sides;
    (sides | rows << 8 | rows >> 8) & position.empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::board::kernel::Portable;

    #[test]
    fn fewer_replies_come_first_unless_the_square_counts_more() {
        let at = |square: &str, replies| {
            let (square, order, linear) = (square.parse().unwrap(), 0, Linear::UNKNOWN);
            Candidate {
                flips: 0,
                replies,
                order,
                linear,
                square,
            }
            .fast_order()
        };
        // d1 has two replies, or one in a corner, which counts as two.
        assert!(at("d1", 0b10) > at("d1", 0b110) && at("d1", 0b1) == at("d1", 0b110));
        assert!(at("a1", 0b1110) > at("d1", 0) && at("d1", 0b10) > at("b2", 0));
    }

    /// The positions of a game in which every move is the last legal one.
    fn positions() -> Vec<Position> {
        let next = |position: &Position| {
            let played = position
                .children()
                .last()
                .map_or_else(|| position.pass(), |(_, next)| next);
            (!position.is_over()).then_some(played)
        };
        std::iter::successors(Some(Position::START), next).collect()
    }

    #[test]
    fn a_known_move_is_put_first_if_it_is_legal() {
        for position in positions() {
            let moves = position.legal_moves();
            for square in Square::all() {
                let is_legal = moves & square.bit() != 0;
                let mut candidates = Candidates::new();
                add_unordered::<Portable>(&mut candidates, position, moves);
                assert_eq!(
                    put_first(&mut candidates, Some(square)),
                    usize::from(is_legal)
                );
                assert!(
                    !is_legal || pick(&mut candidates, 0).square == square,
                    "{position:?} {square}"
                );
            }
            let mut candidates = Candidates::new();
            add_unordered::<Portable>(&mut candidates, position, moves);
            assert_eq!(put_first(&mut candidates, None), 0);
        }
    }

    #[test]
    fn moves_may_arise_beside_discs_that_can_be_enclosed_from_there() {
        let column = |square: Square| square.number() % 8;
        for position in positions() {
            let enclosed = |square: Square, disc: Square| {
                let rows_apart = (square.number() / 8).abs_diff(disc.number() / 8);
                let columns_apart = column(square).abs_diff(column(disc));
                // A disc in the first or the last column can only be enclosed along it.
                rows_apart.max(columns_apart) == 1
                    && (columns_apart == 0 || (1..7).contains(&column(disc)))
            };
            let may_arise =
                |square: &Square| Squares(position.opponent()).any(|disc| enclosed(*square, disc));
            let expected: u64 = Squares(position.empty())
                .filter(may_arise)
                .map(Square::bit)
                .sum();
            assert_eq!(potential_moves(position), expected, "{position:?}");
        }
    }
}
