//! A small table of whole positions for nodes near the end: each searcher has one, which stays in
//! its second cache.

use crate::engine::board::position::Position;
use crate::engine::board::square::Square;
use crate::engine::score::Discs;
use crate::engine::search::window::{NullWindow, Window};

/// The number of entries, as a power of two: 384 KiB.
const BITS: u32 = 14;

/// Odd constants without a pattern: the fractions of the square roots of 7 and 11.
const MIX: [u64; 2] = [0xA54F_F53A_5F1D_36F1, 0x510E_527F_ADE6_82D1];

/// What is known of a position: its exact value lies between two bounds.
#[derive(Clone, Copy)]
pub struct Bounds {
    pub lower: Discs,
    pub upper: Discs,
    /// The last move that raised the lower bound.
    pub best: Option<Square>,
}

impl Bounds {
    const NONE: Self = Self {
        lower: Discs::MIN,
        upper: Discs::MAX,
        best: None,
    };

    /// The value, if it lies on one side of a window.
    #[inline(always)]
    pub fn answer(&self, window: NullWindow<Discs>) -> Option<Discs> {
        if window.beta() <= self.lower {
            return Some(self.lower);
        }
        (self.upper <= window.alpha()).then_some(self.upper)
    }

    /// The bounds after a search with a window found a fail-soft value.
    #[inline(always)]
    pub fn narrowed(self, value: Discs, best: Option<Square>, window: NullWindow<Discs>) -> Self {
        if window.alpha() < value {
            Self {
                lower: value,
                best,
                ..self
            }
        } else {
            Self {
                upper: value,
                ..self
            }
        }
    }
}

#[derive(Clone, Copy, Default)]
struct LocalEntry {
    player: u64,
    opponent: u64,
    /// 0 marks an entry never written.
    generation: u32,
    lower: i8,
    upper: i8,
    best: u8, // 64: none
}

const _: () = assert!(size_of::<LocalEntry>() == 24);

/// One entry per hash: the last result stands.
pub struct LocalTable {
    entries: Box<[LocalEntry]>,
    generation: u32,
}

impl LocalTable {
    pub fn new() -> Self {
        Self {
            entries: vec![LocalEntry::default(); 1 << BITS].into(),
            generation: 1,
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        if self.generation == u32::MAX {
            *self = Self::new();
        } else {
            self.generation += 1;
        }
    }

    #[inline(always)]
    fn index(position: Position) -> usize {
        let hash =
            position.player().wrapping_mul(MIX[0]) ^ position.opponent().wrapping_mul(MIX[1]);
        (hash >> (u64::BITS - BITS)) as usize
    }

    #[inline(always)]
    pub fn get(&self, position: Position) -> Bounds {
        let entry = &self.entries[Self::index(position)];
        let is_same = entry.player == position.player() && entry.opponent == position.opponent();
        if !is_same || entry.generation != self.generation {
            return Bounds::NONE;
        }
        Bounds {
            lower: Discs(entry.lower.into()),
            upper: Discs(entry.upper.into()),
            best: Square::new(entry.best),
        }
    }

    #[inline(always)]
    pub fn put(&mut self, position: Position, bounds: Bounds) {
        self.entries[Self::index(position)] = LocalEntry {
            player: position.player(),
            opponent: position.opponent(),
            generation: self.generation,
            lower: bounds.lower.0 as i8,
            upper: bounds.upper.0 as i8,
            best: bounds.best.map_or(64, Square::number),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_bounds_of_a_position_stand_until_the_table_is_cleared() {
        let mut table = LocalTable::new();
        let children: Vec<_> = Position::START.children().collect();
        for (turn, &(square, position)) in children.iter().enumerate() {
            assert!(table.get(position).best.is_none());
            let discs = Discs(turn as i32);
            table.put(
                position,
                Bounds {
                    lower: -discs,
                    upper: Discs::MAX,
                    best: None,
                },
            );
            table.put(
                position,
                Bounds {
                    lower: -discs,
                    upper: discs,
                    best: Some(square),
                },
            );
            let found = table.get(position);
            assert_eq!(
                (found.lower, found.upper, found.best),
                (-discs, discs, Some(square))
            );
            assert!(
                table.get(position.pass()).best.is_none(),
                "the other side to move"
            );
        }
        table.clear();
        assert!(
            children
                .iter()
                .all(|&(_, position)| table.get(position).best.is_none())
        );
        table.generation = u32::MAX;
        table.put(
            Position::START,
            Bounds {
                lower: Discs::MAX,
                ..Bounds::NONE
            },
        );
        table.clear();
        assert_eq!(table.get(Position::START).lower, Discs::MIN);
        assert_eq!(table.generation, 1);
    }

    #[test]
    fn values_narrow_bounds_and_answer_the_windows_that_they_decide() {
        let window = |alpha| NullWindow::above(Discs(alpha));
        let move_a1 = Square::new(0);
        let bounds = Bounds::NONE
            .narrowed(Discs(4), move_a1, window(1))
            .narrowed(Discs(10), None, window(11));
        assert_eq!(
            (bounds.lower, bounds.upper, bounds.best),
            (Discs(4), Discs(10), move_a1)
        );
        let answers =
            [2, 3, 4, 9, 10, 11].map(|alpha| bounds.answer(window(alpha)).map(|value| value.0));
        assert_eq!(answers, [Some(4), Some(4), None, None, Some(10), Some(10)]);
    }
}
