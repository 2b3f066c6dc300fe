//! Features that are numbers of a position: mobility, potential mobility, discs, parity.

use crate::engine::board::position::Position;

/// The largest `cap` of a count: no side has more discs or moves.
pub const CAP_MAX: u8 = 64;

/// A number of a position; it is the configuration index of its pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// Whether the number of empty squares is odd (1) or even (0).
    Parity,
    /// A count for one side, or `cap` if the count is larger.
    #[expect(missing_docs, reason = "the types say it")]
    Count {
        counted: Counted,
        side: Side,
        /// From 1 to [`CAP_MAX`].
        cap: u8,
    },
}

/// What is counted for a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Legal moves; for the side that is not to move, those that it would have after a pass.
    Mobility,
    /// Potential mobility: the empty squares next to a disc of the other side, in any of the eight
    /// directions.
    Potential,
    #[expect(missing_docs, reason = "the name says it")]
    Discs,
}

/// A side, seen by the side to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The side to move.
    Own,
    #[expect(missing_docs, reason = "the name says it")]
    Opponent,
}

impl Number {
    /// The largest index.
    pub const fn index_max(self) -> u8 {
        match self {
            Self::Parity => 1,
            Self::Count { cap, .. } => cap,
        }
    }

    /// The index of a position; `legal_moves` gives the moves of each side.
    #[inline(always)]
    pub(in crate::engine) fn index(
        self,
        position: Position,
        legal_moves: impl FnOnce(Side) -> u64,
    ) -> usize {
        let Self::Count { counted, side, cap } = self else {
            return usize::from(position.empties() & 1);
        };
        let seen = match side {
            Side::Own => position,
            Side::Opponent => position.pass(),
        };
        let counted = match counted {
            Counted::Mobility => legal_moves(side),
            Counted::Potential => next_to(seen.opponent()) & seen.empty(),
            Counted::Discs => seen.player(),
        };
        counted.count_ones().min(u32::from(cap)) as usize
    }
}

/// The squares of a set and those next to them.
#[inline(always)]
const fn next_to(squares: u64) -> u64 {
    const A: u64 = 0x0101_0101_0101_0101;
    const H: u64 = A << 7;
    let rows = squares | (squares & !H) << 1 | (squares & !A) >> 1;
    rows | rows << 8 | rows >> 8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::board::position::{Opponent, Player};
    use crate::engine::board::square::Square;

    fn set(names: &str) -> u64 {
        names
            .split_whitespace()
            .map(|name| name.parse::<Square>().unwrap().bit())
            .sum()
    }

    #[test]
    fn each_number_is_counted_for_its_side() {
        // Discs on both edges, so that a wrap would show.
        let position = Position::new(Player(set("h1 g4")), Opponent(set("a4 h4 g5 f4"))).unwrap();
        let check = |counted, side, expected: &str| {
            let index = |cap| {
                Number::Count { counted, side, cap }.index(position, |side| match side {
                    Side::Own => position.legal_moves(),
                    Side::Opponent => position.pass().legal_moves(),
                })
            };
            assert_eq!(
                index(64),
                set(expected).count_ones() as usize,
                "{counted:?} {side:?}"
            );
            assert_eq!(index(1), 1, "{counted:?} {side:?}");
        };
        check(Counted::Discs, Side::Own, "h1 g4");
        check(Counted::Discs, Side::Opponent, "a4 h4 g5 f4");
        check(Counted::Mobility, Side::Own, "e4 g6");
        check(Counted::Mobility, Side::Opponent, "g3");
        check(
            Counted::Potential,
            Side::Own,
            "a3 b3 b4 a5 b5 e3 f3 g3 h3 e4 e5 f5 h5 f6 g6 h6",
        );
        check(
            Counted::Potential,
            Side::Opponent,
            "g1 g2 h2 f3 g3 h3 f5 h5",
        );
        assert_eq!(Number::Parity.index(position, |_| 0), 0);
        assert_eq!(
            Number::Parity.index(Position::new(Player(1), Opponent(0)).unwrap(), |_| 0),
            1
        );
    }
}
