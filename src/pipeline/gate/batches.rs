//! Batches: the pairs between two looks at the score, one Parquet part each; finished work is found by looking.

use super::recipe::Recipe;
use super::task::GateTask;
use crate::artifact::dataset::folder::part_path;
use crate::artifact::dataset::gate_games::{GATE_GAMES, GateGameRow, from_batch};
use crate::artifact::dataset::manifest::Part;
use crate::artifact::dataset::part_range::PartRange;
use crate::artifact::dataset::verdict::OpeningCounts;
use crate::artifact::error::ArtifactError;
use crate::artifact::table::{FileEntry, Footer};
use std::collections::BTreeMap;

/// A batch on disk.
#[derive(Clone, Debug)]
pub(super) struct Batch {
    pub(super) part: Part,
    pub(super) rows: Vec<GateGameRow>,
    /// What became of all openings drawn up to its last pair.
    pub(super) openings: OpeningCounts,
}

/// The games of a batch: two for each pair.
pub(super) const fn games_of(pairs: &PartRange) -> PartRange {
    PartRange { index: pairs.index, first: 2 * pairs.first, count: 2 * pairs.count }
}

/// How a manifest lists a batch.
pub(super) fn part_of(pairs: &PartRange, entry: FileEntry) -> Part {
    pairs.part(BTreeMap::from([(GATE_GAMES.name.to_owned(), entry)]))
}

/// A sound file of a batch of this gate, if there is one; one of another gate is a conflict.
pub(super) fn find_file(
    task: &GateTask<'_>,
    recipe: &Recipe,
    index: usize,
) -> Result<Option<(FileEntry, Footer, Vec<GateGameRow>)>, ArtifactError> {
    let of_recipe = |footer: &Footer| match footer.get("renma.recipe") == Some(&recipe.hash.to_string()) {
        true => Ok(2 * task.config.batch_pairs),
        false => Err(recipe.conflict(task, Some(footer))),
    };
    match GATE_GAMES.read_unlisted(&part_path(task.output, &GATE_GAMES, index), of_recipe) {
        Ok((entry, footer, rows)) => Ok(Some((entry, footer, from_batch(&rows).collect()))),
        Err(ArtifactError::Missing { .. } | ArtifactError::Damaged { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
