//! Batches: the pairs between two looks at the score, one Parquet part each; finished work is found by looking.

use crate::artifact::dataset::folder::part_path;
use crate::artifact::dataset::gate_games::{GATE_GAMES, GateGameRow, from_batch};
use crate::artifact::dataset::manifest::Part;
use crate::artifact::dataset::part_range::PartRange;
use crate::artifact::dataset::verdict::OpeningCounts;
use crate::artifact::error::ArtifactError;
use crate::artifact::table::{FileEntry, Footer};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

/// A batch on disk.
#[derive(Clone, Debug)]
pub(super) struct Batch {
    pub(super) part: Part,
    pub(super) rows: Vec<GateGameRow>,
    /// What became of all openings drawn up to its last pair.
    pub(super) openings: OpeningCounts,
}

/// The ids of the games of a batch: two a pair.
pub(super) fn games_of(pairs: &PartRange) -> Range<u64> {
    2 * pairs.first..2 * (pairs.first + pairs.count)
}

/// How a manifest lists a batch.
pub(super) fn part_of(pairs: &PartRange, entry: FileEntry) -> Part {
    pairs.part(BTreeMap::from([(GATE_GAMES.name.to_owned(), entry)]))
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
