//! The order in which a part learns its rows.

use super::blocks::Blocks;
use super::rows::TrainingRow;
use crate::pipeline::StageError;
use crate::random::{RandomStream, Stream, stream};
use std::convert::Infallible;
use std::ops::RangeInclusive;

/// Blocks are read together until they have this many rows, which are then shuffled with each
/// other.
const GROUP_ROWS: usize = 1 << 17;

/// The order of one epoch: groups of blocks, of which the rows with these numbers of empty squares
/// are learned.
pub struct Order<'a> {
    rows: &'a Blocks<TrainingRow>,
    empties: &'a RangeInclusive<u8>,
    pub groups: Vec<Vec<usize>>,
    shuffle: Option<Shuffle>,
}

/// What determines a random order.
#[derive(Clone, Copy, Debug)]
pub struct Shuffle {
    /// The run's seed.
    pub seed: u64,
    /// The number of the part.
    pub part: u32,
    /// Counted from 0.
    pub epoch: u32,
}

impl Shuffle {
    /// The stream of a group of blocks, counted from 1; group 0 is the order of the blocks.
    fn stream(self, group: usize) -> RandomStream {
        let group = u32::try_from(group).expect("a dataset has fewer than 2^32 blocks");
        stream(self.seed, Stream::Shuffle(self.part, self.epoch, group))
    }
}

impl<'a> Order<'a> {
    /// Blocks in random order; without `shuffle` in the order of the dataset, one by one.
    pub fn new(
        rows: &'a Blocks<TrainingRow>,
        empties: &'a RangeInclusive<u8>,
        shuffle: Option<Shuffle>,
    ) -> Self {
        let mut numbers: Vec<usize> = (0..rows.block_count())
            .filter(|&block| 0 < rows.count(block, empties))
            .collect();
        let Some(random) = shuffle else {
            let groups = numbers.into_iter().map(|block| vec![block]).collect();
            return Self {
                rows,
                empties,
                groups,
                shuffle,
            };
        };
        random
            .stream(0)
            .shuffle(&mut numbers, || Ok::<(), Infallible>(()))
            .unwrap_or_else(|never| match never {});
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut count = GROUP_ROWS;
        for block in numbers {
            if GROUP_ROWS <= count {
                groups.push(Vec::new());
                count = 0;
            }
            groups.last_mut().expect("one was just added").push(block);
            count += rows.count(block, empties);
        }
        Self {
            rows,
            empties,
            groups,
            shuffle,
        }
    }

    /// The rows of a group, in the order in which they are learned; none after the last group.
    ///
    /// # Errors
    ///
    /// A system error, or that of `check`.
    pub fn read(
        &self,
        group: usize,
        rows: &mut Vec<TrainingRow>,
        check: impl Fn() -> Result<(), StageError>,
    ) -> Result<(), StageError> {
        rows.clear();
        let mut numbers = self.groups.get(group).into_iter().flatten();
        numbers.try_for_each(|&block| self.rows.read(block, self.empties, rows))?;
        if let Some(random) = self.shuffle {
            return random.stream(group + 1).shuffle(rows, check);
        }
        // They are those of one block.
        rows.sort_by_key(|row| row.place);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{EMPTIES_MAX, Opponent, Player, Position, Score};

    /// Rows with 30 to 60 empty squares; the target is the number of the row.
    fn rows(count: i32) -> impl Iterator<Item = TrainingRow> {
        (0..count).map(|number| {
            let discs = (1_u64 << (4 + number % 31)) - 1;
            TrainingRow::new(
                Position::new(Player(discs), Opponent(1 << 63)).unwrap(),
                Score(number),
            )
        })
    }

    fn blocks(count: i32, memory: u64) -> Blocks<TrainingRow> {
        let mut blocks = Blocks::new(std::env::temp_dir(), memory);
        blocks.extend(&rows(count).collect::<Vec<_>>()).unwrap();
        blocks.finish().unwrap();
        blocks
    }

    fn read(
        blocks: &Blocks<TrainingRow>,
        empties: &RangeInclusive<u8>,
        shuffle: Option<Shuffle>,
    ) -> Vec<Vec<i32>> {
        let order = Order::new(blocks, empties, shuffle);
        let mut group_rows = Vec::new();
        let group = |group| {
            order.read(group, &mut group_rows, || Ok(())).unwrap();
            group_rows.iter().map(|row| row.target.0).collect()
        };
        (0..order.groups.len()).map(group).collect()
    }

    #[test]
    fn rows_come_in_their_order_or_in_random_groups_and_memory_does_not_matter() {
        const COUNT: i32 = 300_000;
        let shuffle = |epoch| {
            Some(Shuffle {
                seed: 1,
                part: 3,
                epoch,
            })
        };
        for empties in [0..=EMPTIES_MAX, 40..=44] {
            let expected: Vec<i32> = rows(COUNT)
                .filter(|row| empties.contains(&row.position.empties()))
                .map(|row| row.target.0)
                .collect();
            let memory = blocks(COUNT, u64::MAX);
            assert_eq!(memory.block_count(), 5);
            assert_eq!(memory.row_count(&empties), expected.len() as u64);
            assert_eq!(read(&memory, &empties, None).concat(), expected);
            let first = read(&memory, &empties, shuffle(0));
            let (last, groups) = first.split_last().unwrap();
            assert!(
                groups.iter().all(|group| GROUP_ROWS <= group.len()),
                "{}",
                last.len()
            );
            assert_ne!(first, read(&memory, &empties, shuffle(1)));
            let mut sorted = first.concat();
            assert!(
                sorted.windows(2).filter(|pair| pair[0] < pair[1]).count()
                    < sorted.len() * 51 / 100
            );
            sorted.sort_unstable();
            assert_eq!(sorted, expected, "each row comes once");
            for bytes in [0, 3 << 20] {
                let scratch = blocks(COUNT, bytes);
                assert_eq!(read(&scratch, &empties, None).concat(), expected);
                assert_eq!(read(&scratch, &empties, shuffle(0)), first);
            }
        }
    }

    #[test]
    fn rows_that_are_kept_come_as_among_all_rows() {
        const COUNT: i32 = 300_000;
        let all = blocks(COUNT, u64::MAX);
        let ranges = [36..=37, 40..=44, 60..=60];
        let shuffle = Some(Shuffle {
            seed: 1,
            part: 3,
            epoch: 0,
        });
        let keeping = |memory, ranges: &[RangeInclusive<u8>]| {
            let mut blocks = Blocks::keeping(std::env::temp_dir(), memory, ranges.to_vec());
            blocks.extend(&rows(COUNT).collect::<Vec<_>>()).unwrap();
            blocks.finish().unwrap();
            blocks
        };
        assert_eq!(
            keeping(u64::MAX, &[]).block_count(),
            all.block_count(),
            "blocks without rows count"
        );
        for memory in [0, u64::MAX] {
            let some = keeping(memory, &ranges);
            assert_eq!(
                some.row_count(&(0..=EMPTIES_MAX)),
                ranges.iter().map(|range| all.row_count(range)).sum::<u64>()
            );
            for range in &ranges {
                assert!(
                    range.clone().all(|empties| some.keeps(empties))
                        && !some.keeps(*range.start() - 1)
                );
                assert_eq!(read(&some, range, None), read(&all, range, None));
                assert_eq!(read(&some, range, shuffle), read(&all, range, shuffle));
            }
        }
    }

    #[test]
    fn rows_beyond_the_game_s_start_belong_to_it() {
        let empty = TrainingRow::new(Position::new(Player(1), Opponent(2)).unwrap(), Score(7));
        let mut blocks = Blocks::new(std::env::temp_dir(), u64::MAX);
        blocks.extend(&[empty]).unwrap();
        blocks.finish().unwrap();
        assert_eq!(
            [blocks.row_count(&(60..=60)), blocks.row_count(&(0..=59))],
            [1, 0]
        );
    }
}
