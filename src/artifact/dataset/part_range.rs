//! The parts into which items are divided: the edges of a part depend on its number and on nothing else.

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
    /// `items` cut into parts of `part_items`; the last may be short. No dataset has more than [`PARTS_MAX`] of them.
    ///
    /// [`PARTS_MAX`]: super::bounds::PARTS_MAX
    pub fn all(items: u64, part_items: u64) -> Vec<Self> {
        Self::some(items, part_items, 0..items.div_ceil(part_items) as usize)
    }

    /// The parts of [`PartRange::all`] with the `wanted` numbers.
    pub fn some(items: u64, part_items: u64, wanted: Range<usize>) -> Vec<Self> {
        let range = |index: usize| {
            let first = index as u64 * part_items;
            Self { index, first, count: part_items.min(items - first) }
        };
        wanted.map(range).collect()
    }

    /// The numbers of its items.
    pub const fn ids(&self) -> Range<u64> {
        self.first..self.first + self.count
    }

    /// How a manifest lists it.
    pub const fn part(&self, files: BTreeMap<String, FileEntry>) -> Part {
        Part { first: self.first, count: self.count, files }
    }
}

/// The items of some parts, numbered from 0 in the order of the parts, without a list of them.
#[derive(Clone, Debug)]
pub struct PartItems<'a> {
    parts: &'a [PartRange],
    /// The number of the first item of each part.
    begins: Vec<u64>,
    /// The number of items.
    pub count: u64,
}

impl<'a> PartItems<'a> {
    /// The items of `parts`.
    pub fn new(parts: &'a [PartRange]) -> Self {
        let (mut begins, mut count) = (Vec::new(), 0);
        for part in parts {
            begins.push(count);
            count += part.count;
        }
        Self { parts, begins, count }
    }

    /// The place of the part that has the item with this number, and the item.
    pub fn get(&self, number: u64) -> Option<(usize, u64)> {
        if self.count <= number {
            return None;
        }
        let part = self.begins.partition_point(|&begin| begin <= number).checked_sub(1)?;
        Some((part, self.parts[part].first + number - self.begins[part]))
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

    #[test]
    fn some_parts_are_those_of_all_parts() {
        let all = PartRange::all(1_000, 7);
        assert_eq!(PartRange::some(1_000, 7, 3..9), all[3..9]);
        assert_eq!(PartRange::some(1_000, 7, 142..143), all[142..]);
        assert_eq!(PartRange::some(u64::MAX, 1 << 40, 5..5), []);
    }

    #[test]
    fn items_are_numbered_in_the_order_of_their_parts() {
        let mut parts = PartRange::all(25, 4);
        for kept in [0b111_1111, 0b010_1101, 0b100_0000, 0] {
            parts.retain(|part| kept >> part.index & 1 == 1);
            let items = PartItems::new(&parts);
            let of_part =
                |(place, part): (usize, &PartRange)| part.ids().map(move |id| (place, id)).collect::<Vec<_>>();
            let listed: Vec<(usize, u64)> = parts.iter().enumerate().flat_map(of_part).collect();
            assert_eq!(items.count, listed.len() as u64);
            assert_eq!((0..items.count).map_while(|number| items.get(number)).collect::<Vec<_>>(), listed);
            assert_eq!(items.get(items.count), None);
            assert_eq!(items.get(u64::MAX), None);
        }
    }
}
