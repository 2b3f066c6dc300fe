//! Which parts of a dataset are there: finished work is a set, found by looking.

use super::task::GenerateConfig;
use crate::artifact::dataset::bounds::GAME_ROWS_MAX;
use crate::artifact::dataset::games::GAMES;
use crate::artifact::dataset::manifest::Part;
use crate::artifact::dataset::part_range::PartRange;
use crate::artifact::dataset::positions::POSITIONS;
use crate::artifact::dataset::recipe::Recipe;
use crate::artifact::error::ArtifactError;
use crate::pipeline::{Context, StageError};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

/// Parts of a dataset, with those that are done.
#[derive(Debug)]
pub(super) struct Parts {
    ranges: Vec<PartRange>,
    done: BTreeMap<usize, Part>,
}

impl Parts {
    /// Looks which of the `wanted` parts a folder holds. One that is damaged or shorter than asked is made again.
    pub(super) fn find(
        folder: &Path,
        (recipe, config): (&Recipe, &GenerateConfig),
        wanted: Range<usize>,
        context: Context<'_>,
    ) -> Result<Self, StageError> {
        let ranges = PartRange::some(config.games, config.part_games, wanted);
        let mut done = BTreeMap::new();
        for range in &ranges {
            context.check()?;
            if let Some(part) = find_part(folder, recipe, range, context)? {
                done.insert(range.index, part);
            }
        }
        Ok(Self { ranges, done })
    }

    /// Games of all wanted parts.
    pub(super) fn games(&self) -> u64 {
        self.ranges.iter().map(|range| range.count).sum()
    }

    pub(super) fn missing(&self) -> Vec<PartRange> {
        self.ranges.iter().filter(|range| !self.done.contains_key(&range.index)).copied().collect()
    }

    /// All parts in order, once the missing ones are written.
    pub(super) fn complete(mut self, written: BTreeMap<usize, Part>) -> Result<Vec<Part>, StageError> {
        self.done.extend(written);
        if self.done.len() != self.ranges.len() {
            return Err(StageError::Interrupted);
        }
        Ok(self.done.into_values().collect())
    }
}

fn find_part(
    folder: &Path,
    recipe: &Recipe,
    range: &PartRange,
    context: Context<'_>,
) -> Result<Option<Part>, ArtifactError> {
    let tables = [(&GAMES, range.count), (&POSITIONS, range.count * GAME_ROWS_MAX)];
    let found = recipe.find(folder, range, &tables, context.stop)?.map(|found| found.part);
    Ok(found.filter(|part| part.files[GAMES.name].rows == range.count))
}
