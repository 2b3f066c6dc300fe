//! Rows in blocks of fixed size, each sorted by empty squares, so that a phase reads only its own
//! rows. Blocks lie in memory or, beyond a limit, in a scratch file; the rows and their order are
//! the same.

use crate::artifact::ArtifactError;
use crate::artifact::scratch::ScratchFile;
use crate::engine::{EMPTIES_MAX, Position};
use std::ops::{Range, RangeInclusive};
use std::path::PathBuf;

/// Rows per block; a place in a block fits 16 bits.
const BLOCK_ROWS: usize = 1 << 16;

/// A row of fixed size.
pub trait BlockRow: AsRef<Position> + Copy + Send + Sync {
    /// Bytes in a scratch file.
    const SIZE: usize;

    /// Keeps its place among the rows of its block, in the order in which they came, if anybody
    /// asks for that order.
    fn set_place(&mut self, _place: u16) {}

    /// Appends its bytes.
    fn write(&self, bytes: &mut Vec<u8>);

    /// The row with these `SIZE` bytes.
    fn read(bytes: &[u8]) -> Self;
}

/// Rows in the order in which they were added, except that each block is sorted by empty squares.
#[derive(Debug)]
pub struct Blocks<R> {
    folder: PathBuf,
    memory: u64,
    /// The numbers of empty squares of its rows.
    kept: Vec<RangeInclusive<u8>>,
    /// Rows of the last block so far, including those that are not kept.
    pending_count: usize,
    pending: Vec<R>,
    size: u64,                                    // of all finished blocks in memory
    begins: Vec<[u32; EMPTIES_MAX as usize + 2]>, // [block][empties] -> the first row with `empties` or more empty squares
    rows: Vec<Vec<R>>,                            // [block], unless they lie in `scratch`
    scratch: Option<(ScratchFile, Vec<u64>)>,     // with the place of each block
}

impl<R: BlockRow> Blocks<R> {
    /// No rows yet. More than `memory` bytes of them go to a scratch file on the disk of `folder`.
    pub fn new(folder: PathBuf, memory: u64) -> Self {
        Self::keeping(folder, memory, vec![0..=EMPTIES_MAX])
    }

    /// [`Blocks::new`], but only rows with numbers of empty squares in these ranges are kept. The
    /// others count too: the blocks and places of the rows that are kept stay the same.
    pub const fn keeping(folder: PathBuf, memory: u64, kept: Vec<RangeInclusive<u8>>) -> Self {
        Self {
            folder,
            memory,
            kept,
            pending_count: 0,
            pending: Vec::new(),
            size: 0,
            begins: Vec::new(),
            rows: Vec::new(),
            scratch: None,
        }
    }

    /// Adds rows.
    pub fn extend(&mut self, rows: &[R]) -> Result<(), ArtifactError> {
        for &(mut row) in rows {
            if self.keeps(clamped_empties(&row)) {
                row.set_place(self.pending_count as u16);
                self.pending.push(row);
            }
            self.pending_count += 1;
            if self.pending_count == BLOCK_ROWS {
                self.finish()?;
            }
        }
        Ok(())
    }

    /// Ends the last block.
    pub fn finish(&mut self) -> Result<(), ArtifactError> {
        if self.pending_count == 0 {
            return Ok(());
        }
        self.pending_count = 0;
        let mut begins = [0; EMPTIES_MAX as usize + 2];
        self.pending
            .iter()
            .for_each(|row| begins[usize::from(clamped_empties(row)) + 1] += 1);
        (1..begins.len()).for_each(|empties| begins[empties] += begins[empties - 1]);
        let (mut next, mut block) = (begins, self.pending.clone());
        for row in self.pending.drain(..) {
            let next = &mut next[usize::from(clamped_empties(&row))];
            block[*next as usize] = row;
            *next += 1;
        }
        self.size += (block.len() * size_of::<R>()) as u64;
        self.begins.push(begins);
        self.rows.push(block);
        if self.memory < self.size && self.scratch.is_none() {
            self.scratch = Some((ScratchFile::new(&self.folder)?, Vec::new()));
        }
        if let Some((scratch, places)) = &mut self.scratch {
            for block in self.rows.drain(..) {
                let mut bytes = Vec::with_capacity(block.len() * R::SIZE);
                block.iter().for_each(|row| row.write(&mut bytes));
                places.push(scratch.append(&bytes)?);
            }
        }
        Ok(())
    }

    /// The number of blocks.
    pub const fn block_count(&self) -> usize {
        self.begins.len()
    }

    /// The number of rows of a block with a number of empty squares in a range.
    pub fn count(&self, block: usize, empties: &RangeInclusive<u8>) -> usize {
        self.places(block, empties).len()
    }

    /// The number of rows with a number of empty squares in a range.
    pub fn row_count(&self, empties: &RangeInclusive<u8>) -> u64 {
        (0..self.block_count())
            .map(|block| self.count(block, empties) as u64)
            .sum()
    }

    /// Whether rows with this number of empty squares are kept.
    pub fn keeps(&self, empties: u8) -> bool {
        self.kept.iter().any(|range| range.contains(&empties))
    }

    /// Whether no rows were added.
    pub const fn is_empty(&self) -> bool {
        self.begins.is_empty()
    }

    /// Appends the rows of a block with a number of empty squares in a range, fewest first.
    pub fn read(
        &self,
        block: usize,
        empties: &RangeInclusive<u8>,
        rows: &mut Vec<R>,
    ) -> Result<(), ArtifactError> {
        let wanted = self.places(block, empties);
        let Some((scratch, places)) = &self.scratch else {
            rows.extend_from_slice(&self.rows[block][wanted]);
            return Ok(());
        };
        let mut bytes = vec![0; wanted.len() * R::SIZE];
        scratch.read(places[block] + (wanted.start * R::SIZE) as u64, &mut bytes)?;
        rows.extend(bytes.chunks_exact(R::SIZE).map(R::read));
        Ok(())
    }

    fn places(&self, block: usize, empties: &RangeInclusive<u8>) -> Range<usize> {
        let begin_of = |empties: u8| self.begins[block][usize::from(empties)] as usize;
        begin_of(*empties.start())..begin_of(*empties.end() + 1)
    }
}

/// Boards with more empty squares than the start count as the start.
fn clamped_empties(row: &impl BlockRow) -> u8 {
    row.as_ref().empties().min(EMPTIES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Score;
    use crate::pipeline::train::rows::TrainingRow;

    #[test]
    fn rows_beyond_the_memory_lie_in_a_file_and_are_the_same() {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let rows: Vec<TrainingRow> = (0..2 * BLOCK_ROWS as i32 + 7)
            .map(|target| TrainingRow::new(Position::START, Score(target)))
            .collect();
        let block = BLOCK_ROWS as u64 * 24;
        for (memory, blocks_in_memory) in [
            (0, 0),
            (block - 1, 0),
            (block, 1),
            (2 * block, 2),
            (2 * block + 7 * 24, 3),
        ] {
            let mut blocks = Blocks::new(folder.path().to_owned(), memory);
            for (count, rows) in (1..).zip(rows.chunks(BLOCK_ROWS)) {
                blocks
                    .extend(rows)
                    .and_then(|()| blocks.finish())
                    .expect("the disk has room");
                assert_eq!(
                    blocks.scratch.is_none(),
                    count <= blocks_in_memory,
                    "{count} blocks in {memory} bytes"
                );
            }
            assert_eq!(blocks.block_count(), 3);
            let mut found = Vec::new();
            (0..3).for_each(|block| {
                blocks
                    .read(block, &(0..=EMPTIES_MAX), &mut found)
                    .expect("they were written");
            });
            assert!(
                found
                    .iter()
                    .map(|row| row.target)
                    .eq(rows.iter().map(|row| row.target)),
                "{memory}"
            );
        }
    }
}
