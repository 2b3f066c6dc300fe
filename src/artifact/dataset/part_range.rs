//! The parts into which items are divided: the edges of a part depend on its number and on nothing
//! else.

use super::game_id::GameId;
use super::manifest::Part;
use crate::artifact::table::FileEntry;
use std::collections::BTreeMap;
use std::ops::Range;

/// The items of a part: games or pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartRange {
    /// The number of the part, from 0.
    pub index: usize,
    /// The number of the first item.
    pub first: u64,
    /// The number of items.
    pub count: u64,
}

impl PartRange {
    /// `items` cut into parts of `part_items`; the last may be short. No dataset has more than
    /// [`PARTS_MAX`] of them.
    ///
    /// [`PARTS_MAX`]: super::bounds::PARTS_MAX
    pub fn all(items: u64, part_items: u64) -> Vec<Self> {
        Self::some(items, part_items, 0..items.div_ceil(part_items) as usize)
    }

    /// The parts of [`PartRange::all`] with the `wanted` numbers.
    pub fn some(items: u64, part_items: u64, wanted: Range<usize>) -> Vec<Self> {
        let range = |index: usize| {
            let first = index as u64 * part_items;
            Self {
                index,
                first,
                count: part_items.min(items - first),
            }
        };
        wanted.map(range).collect()
    }

    /// The numbers of its items.
    pub const fn ids(&self) -> Range<u64> {
        self.first..self.first + self.count
    }

    /// The games, where these are the items.
    pub const fn games(&self) -> Range<GameId> {
        GameId(self.first)..GameId(self.first + self.count)
    }

    /// How a manifest lists it.
    pub const fn part(&self, files: BTreeMap<String, FileEntry>) -> Part {
        Part {
            first: self.first,
            count: self.count,
            files,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_each_other_and_the_last_may_be_short() {
        let edges = |items, part_items| {
            PartRange::all(items, part_items)
                .iter()
                .map(PartRange::ids)
                .collect::<Vec<_>>()
        };
        assert_eq!(edges(7, 3), [0..3, 3..6, 6..7]);
        assert_eq!(edges(6, 3), [0..3, 3..6]);
        assert!(edges(2, 9).into_iter().eq(std::iter::once(0..2)));
    }

    #[test]
    fn some_parts_are_those_of_all_parts() {
        let all = PartRange::all(1_000, 7);
        assert_eq!(PartRange::some(1_000, 7, 3..9), all[3..9]);
        assert_eq!(PartRange::some(1_000, 7, 142..143), all[142..]);
        assert_eq!(PartRange::some(u64::MAX, 1 << 40, 5..5), []);
    }
}
