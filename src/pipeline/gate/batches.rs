//! Batches: the pairs between two looks at the score, one Parquet part each; finished work is found by looking.

use super::recipe::GateIdentity;
use super::task::{BATCH_PAIRS, GateTask};
use crate::artifact::dataset::folder::part_path;
use crate::artifact::dataset::gate_games::{GATE_GAMES, GateGameRow};
use crate::artifact::dataset::manifest::Part;
use crate::artifact::dataset::part_range::PartRange;
use crate::artifact::dataset::recipe::Recipe;
use crate::artifact::dataset::verdict::{OpeningCounts, VerdictFile, read_verdict};
use crate::artifact::error::ArtifactError;
use crate::artifact::publish::{exists, remove_file};
use crate::artifact::table::row::TableRow;
use crate::pipeline::{Context, StageError};
use std::collections::BTreeMap;
use std::path::Path;

/// The key of a footer with what became of all openings drawn up to the last pair of the file.
const OPENINGS_KEY: &str = "renma.openings";

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

/// The verdict in the folder, if it is that of this step. One on fewer games than may be played now is not.
pub(super) fn finished(task: &GateTask<'_>, identity: &GateIdentity) -> Result<Option<VerdictFile>, ArtifactError> {
    check_models(task)?;
    let manifest = identity.recipe.manifest_in(task.output, task.config.games / 2)?;
    if manifest.is_none() || !exists(&task.output.join("verdict.json"))? {
        return Ok(None);
    }
    Ok(Some(read_verdict(task.output)?).filter(|verdict| verdict.step == identity.step.id))
}

/// Refuses the match of other models by their names, which a recipe does not have.
fn check_models(task: &GateTask<'_>) -> Result<(), ArtifactError> {
    // Without a sound verdict the recipe names their hashes.
    let Ok(verdict) = read_verdict(task.output) else { return Ok(()) };
    for (role, theirs, ours) in
        [("candidate", &verdict.candidate, task.candidate), ("baseline", &verdict.baseline, task.baseline)]
    {
        if theirs.content != ours.content {
            let reason = format!("{role} is {} there and {} here", theirs.id, ours.id);
            let reason = format!("{reason}\nchoose another --output, or remove the folder");
            return Err(ArtifactError::Conflict { path: task.output.to_owned(), reason });
        }
    }
    Ok(())
}

/// The batches that are there, of a gate that was stopped or may now play more games.
pub(super) fn find_batches(
    task: &GateTask<'_>,
    recipe: &Recipe,
    ranges: &[PartRange],
    context: Context<'_>,
) -> Result<BTreeMap<usize, Batch>, StageError> {
    let mut found = BTreeMap::new();
    for range in ranges {
        context.check()?;
        if let Some(batch) = find_batch(task, recipe, range, context)? {
            found.insert(range.index, batch);
        }
    }
    let beyond = part_path(task.output, &GATE_GAMES, ranges.len());
    match GATE_GAMES.read_unlisted(&beyond, |_| Ok(2 * BATCH_PAIRS)) {
        Err(ArtifactError::Missing { .. } | ArtifactError::Damaged { .. }) => Ok(found),
        Err(error) => Err(error.into()),
        Ok((entry, ..)) => {
            let pairs = task.config.games / 2;
            recipe.check_count(task.output, pairs + entry.rows / 2, pairs)?;
            Ok(found)
        }
    }
}

/// A batch that is there already; none that is damaged or has another number of pairs.
pub(super) fn find_batch(
    task: &GateTask<'_>,
    recipe: &Recipe,
    range: &PartRange,
    context: Context<'_>,
) -> Result<Option<Batch>, ArtifactError> {
    let games = games_of(range);
    let tables = [(&GATE_GAMES, games.count)];
    let Some(mut found) = recipe.find(task.output, range, &tables, context.stop)? else { return Ok(None) };
    let Some((footer, rows)) = found.files.pop() else { return Ok(None) };
    let Ok(rows) = GateGameRow::from_batch(&rows) else { return Ok(None) };
    if !rows.iter().map(|row| row.game_id).eq(games.ids()) {
        return Ok(None);
    }
    let counts = footer.get(OPENINGS_KEY).and_then(|counts| serde_json::from_str(counts).ok());
    Ok(counts.map(|openings| Batch { part: found.part, rows, openings }))
}

/// Publishes a batch that was played.
pub(super) fn write_batch(
    task: &GateTask<'_>,
    recipe: &Recipe,
    range: &PartRange,
    (rows, openings): (&[GateGameRow], &OpeningCounts),
) -> Result<Part, ArtifactError> {
    let mut footer = recipe.footer(range);
    footer.insert(OPENINGS_KEY.into(), serde_json::to_string(openings).expect("counts are plain data"));
    let path = part_path(task.output, &GATE_GAMES, range.index);
    let entry = GATE_GAMES.write_rows(&path, rows, &footer)?;
    Ok(range.part(BTreeMap::from([(GATE_GAMES.name.to_owned(), entry)])))
}

/// Withdraws a verdict that more games may change, with its manifest.
pub(super) fn withdraw(folder: &Path) -> Result<(), ArtifactError> {
    ["verdict.json", "manifest.json"].iter().try_for_each(|name| remove_file(&folder.join(name)))
}
