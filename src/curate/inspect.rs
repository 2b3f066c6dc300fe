//! Summarizes a dataset: counts, histograms, duplicates, variety, errors, and the size of each column.

pub mod positions;

use self::positions::{Inspector, Summary};
use crate::artifact::dataset::folder::{Dataset, part_path};
use crate::artifact::dataset::games::GAMES;
use crate::artifact::dataset::positions::POSITIONS;
use crate::pipeline::{Context, StageError};
use std::collections::BTreeMap;
use std::path::Path;

/// Summarizes a dataset.
///
/// # Errors
///
/// Damage of any kind, or an interruption.
pub fn inspect(folder: &Path, context: Context<'_>) -> Result<Summary, StageError> {
    let dataset = Dataset::open(folder)?;
    let mut inspector = Inspector::default();
    let mut column_bytes = BTreeMap::new();
    context.progress.begin("inspect", dataset.part_count() as u64, "parts");
    for index in 0..dataset.part_count() {
        context.check()?;
        inspector.add_part(&dataset, index, context.stop)?;
        context.check()?;
        let files = &dataset.manifest().parts[index].files;
        for table in [&GAMES, &POSITIONS].into_iter().filter(|table| files.contains_key(table.name)) {
            for (column, bytes) in table.column_bytes(&part_path(dataset.folder(), table, index))? {
                *column_bytes.entry(format!("{}.{column}", table.name)).or_insert(0) += bytes;
            }
        }
        context.progress.advance(1, 0);
    }
    context.progress.end();
    let manifest = dataset.manifest();
    let bytes = manifest.bytes(GAMES.name) + manifest.bytes(POSITIONS.name);
    Ok(inspector.finish(bytes, column_bytes))
}
