//! Batches: the pairs between two looks at the score, one Parquet part each; finished work is found by looking.

use crate::artifact::dataset::folder::part_path;
use crate::artifact::dataset::gate_games::{GATE_GAMES, GateGameRow, from_batch};
use crate::artifact::dataset::manifest::Part;
use crate::artifact::dataset::verdict::OpeningCounts;
use crate::artifact::error::ArtifactError;
use crate::artifact::table::{FileEntry, Footer};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

/// The pairs of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BatchRange {
    pub(super) index: usize,
    pub(super) first: u64,
    pub(super) count: u64,
}

/// A batch on disk.
#[derive(Clone, Debug)]
pub(super) struct Batch {
    pub(super) part: Part,
    pub(super) rows: Vec<GateGameRow>,
    /// What became of all openings drawn up to its last pair.
    pub(super) openings: OpeningCounts,
}

impl BatchRange {
    /// `pairs` cut into batches; the last may be short.
    pub(super) fn all(pairs: u64, batch_pairs: u64) -> Vec<Self> {
        let firsts = (0..pairs.div_ceil(batch_pairs)).map(|index| index * batch_pairs);
        let range = |(index, first): (usize, u64)| Self { index, first, count: batch_pairs.min(pairs - first) };
        firsts.enumerate().map(range).collect()
    }

    /// The ids of its games.
    pub(super) fn games(&self) -> Range<u64> {
        2 * self.first..2 * (self.first + self.count)
    }

    /// How a manifest lists it.
    pub(super) fn part(&self, entry: FileEntry) -> Part {
        let files = BTreeMap::from([(GATE_GAMES.name.to_owned(), entry)]);
        Part { first: self.first, count: self.count, files }
    }
}

/// A sound file of a batch, if there is one.
pub(super) fn find_file(
    folder: &Path,
    index: usize,
) -> Result<Option<(FileEntry, Footer, Vec<GateGameRow>)>, ArtifactError> {
    match GATE_GAMES.read_unlisted(&part_path(folder, &GATE_GAMES, index)) {
        Ok((entry, footer, rows)) => Ok(Some((entry, footer, from_batch(&rows).collect()))),
        Err(ArtifactError::Missing { .. } | ArtifactError::Damaged { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
