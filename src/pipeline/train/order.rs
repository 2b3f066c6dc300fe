//! The order in which a part learns its rows.

use super::blocks::{BlockRow, Blocks};
use crate::pipeline::StageError;
use crate::random::{RandomStream, Stream, stream};
use std::convert::Infallible;
use std::ops::RangeInclusive;

/// Blocks are read together until they have this many rows, which are then shuffled with each other.
const GROUP_ROWS: usize = 1 << 17;

/// The order of one epoch: groups of blocks.
pub(super) struct Order {
    groups: Vec<Vec<usize>>,
    shuffle: Option<Shuffle>,
}

/// What determines a random order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shuffle {
    /// The run's seed.
    pub(super) seed: u64,
    /// The number of the part.
    pub(super) part: u32,
    /// Counted from 0.
    pub(super) epoch: u32,
}

impl Shuffle {
    /// The stream of a group of blocks, counted from 1; group 0 is the order of the blocks.
    fn stream(self, group: usize) -> RandomStream {
        let group = u32::try_from(group).expect("a dataset has fewer than 2^32 blocks");
        stream(self.seed, Stream::Shuffle(self.part, self.epoch, group))
    }
}

impl Order {
    /// Blocks in random order; without `shuffle` in the order of the dataset, one by one.
    pub(super) fn new<R: BlockRow>(blocks: &Blocks<R>, empties: &RangeInclusive<u8>, shuffle: Option<Shuffle>) -> Self {
        let mut numbers: Vec<usize> =
            (0..blocks.block_count()).filter(|&block| 0 < blocks.count(block, empties)).collect();
        let Some(random) = shuffle else {
            return Self { groups: numbers.into_iter().map(|block| vec![block]).collect(), shuffle };
        };
        random.stream(0).shuffle(&mut numbers, || Ok::<(), Infallible>(())).unwrap_or_else(|never| match never {});
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut rows = GROUP_ROWS;
        for block in numbers {
            if GROUP_ROWS <= rows {
                groups.push(Vec::new());
                rows = 0;
            }
            groups.last_mut().expect("one was just added").push(block);
            rows += blocks.count(block, empties);
        }
        Self { groups, shuffle }
    }

    /// The number of groups.
    pub(super) fn group_count(&self) -> usize {
        self.groups.len()
    }

    /// The rows of a group, in the order in which they are learned.
    ///
    /// # Errors
    ///
    /// Whatever the system refuses, or that of `check`.
    pub(super) fn read<R: BlockRow>(
        &self,
        blocks: &Blocks<R>,
        empties: &RangeInclusive<u8>,
        group: usize,
        rows: &mut Vec<R>,
        check: impl Fn() -> Result<(), StageError>,
    ) -> Result<(), StageError> {
        rows.clear();
        for &block in &self.groups[group] {
            blocks.read(block, empties, rows)?;
        }
        match self.shuffle {
            Some(random) => random.stream(group + 1).shuffle(rows, check),
            None => {
                rows.sort_by_key(BlockRow::place);
                Ok(())
            }
        }
    }
}
