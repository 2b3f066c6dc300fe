//! The parts that a number of items is cut into: a part is the same whoever makes it, and whatever else there is.

use super::manifest::Part;
use crate::artifact::table::FileEntry;
use std::collections::BTreeMap;
use std::ops::Range;

/// The items of a part: games or pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartRange {
    /// The number of the part.
    pub index: usize,
    /// Its first item.
    pub first: u64,
    /// How many there are.
    pub count: u64,
}

impl PartRange {
    /// `items` cut into parts of `part_items`; the last may be short.
    #[must_use]
    pub fn all(items: u64, part_items: u64) -> Vec<Self> {
        let firsts = (0..items.div_ceil(part_items)).map(|index| index * part_items);
        let range = |(index, first): (usize, u64)| Self { index, first, count: part_items.min(items - first) };
        firsts.enumerate().map(range).collect()
    }

    /// Its items.
    #[must_use]
    pub const fn ids(&self) -> Range<u64> {
        self.first..self.first + self.count
    }

    /// How a manifest lists it.
    #[must_use]
    pub const fn part(&self, files: BTreeMap<String, FileEntry>) -> Part {
        Part { first: self.first, count: self.count, files }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_each_other_and_the_last_may_be_short() {
        let edges =
            |items, part_items| PartRange::all(items, part_items).iter().map(PartRange::ids).collect::<Vec<_>>();
        assert_eq!(edges(7, 3), [0..3, 3..6, 6..7]);
        assert_eq!(edges(6, 3), [0..3, 3..6]);
        assert!(edges(2, 9).into_iter().eq(std::iter::once(0..2)));
    }
}
