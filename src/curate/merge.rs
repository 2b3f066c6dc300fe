//! Makes one dataset of several, whose games keep their order.

use crate::artifact::dataset::manifest::check_part_count;
use crate::artifact::dataset::writer::written_before;
use crate::artifact::{
    ArtifactError, ContentHash, Dataset, DatasetKind, DatasetWriter, FieldHasher, GAMES, Manifest, POSITIONS,
    Provenance,
};
use crate::pipeline::{Context, StageError};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Goes up when the same datasets would be merged in another way.
const ALGORITHM: u32 = 1;

/// Merges datasets of positions in the order given, unless that was done before; returns the manifest, and whether the dataset
/// was there already.
///
/// # Errors
///
/// A dataset that is given twice or is damaged, too many parts, or an output that holds anything else; no
/// dataset is left behind.
pub fn merge(folders: &[PathBuf], output: &Path, context: Context<'_>) -> Result<(Manifest, bool), StageError> {
    let datasets = folders.iter().map(|folder| Dataset::open(folder)).collect::<Result<Vec<_>, _>>()?;
    let parents: Vec<ContentHash> = datasets.iter().map(|dataset| dataset.manifest().content).collect();
    // Each with the datasets of which it was merged.
    let held = datasets.iter().map(Dataset::manifest);
    let contents: Vec<Vec<ContentHash>> =
        held.map(|manifest| [&[manifest.content], manifest.parents.as_slice()].concat()).collect();
    for (index, content) in contents.iter().enumerate() {
        let has_same = |other: &Vec<ContentHash>| other.iter().any(|part| content.contains(part));
        if let Some(first) = contents[..index].iter().position(has_same) {
            let (first, second) = (folders[first].display(), folders[index].display());
            let reason = format!("{first} and {second} hold the same dataset: each is merged once");
            return Err(StageError::Setting(reason));
        }
    }
    let selfplay = datasets.iter().all(|dataset| dataset.manifest().kind == DatasetKind::Selfplay);
    let kind = if selfplay { DatasetKind::Selfplay } else { DatasetKind::Imported };
    let recipe = recipe(&parents);
    if let Some(manifest) = written_before(output, recipe)? {
        return Ok((manifest, true));
    }
    let parts = datasets.iter().map(Dataset::part_count).sum();
    check_part_count(output, parts)?;
    let mut writer = DatasetWriter::new(output, kind, recipe)?;
    context.progress.begin("merge", parts as u64, "parts");
    for dataset in &datasets {
        for index in 0..dataset.part_count() {
            context.check()?;
            let part = &dataset.manifest().parts[index];
            let (mut games, mut rows) = (dataset.game_rows(index)?, dataset.rows(index, context.stop)?);
            let of_games = games.iter().flatten().map(|game| (&GAMES, game.game_id));
            let mut ids = of_games.chain(rows.iter().map(|row| (&POSITIONS, row.game_id)));
            if let Some((table, id)) = ids.find(|(_, id)| *id < part.first || part.count <= *id - part.first) {
                return Err(dataset.damaged(table, index, format!("game {id} does not belong to the part")).into());
            }
            // The writer expects ids from 0 and raises them to follow the games before them.
            games.iter_mut().flatten().for_each(|game| game.game_id -= part.first);
            rows.iter_mut().for_each(|row| row.game_id -= part.first);
            writer.add_part(part.count, games, rows)?;
            context.progress.advance(1);
        }
    }
    context.progress.end();
    let asked = datasets.iter().map(|dataset| dataset.manifest().done).sum();
    let manifest = writer.finish(Provenance { parents, asked, config: json!({}), ..Provenance::default() })?;
    Ok((manifest, false))
}

fn recipe(parents: &[ContentHash]) -> ContentHash {
    let mut hasher = FieldHasher::new("recipe");
    hasher.field("stage", b"merge").field("algorithm", &ALGORITHM.to_le_bytes());
    for parent in parents {
        hasher.field("parent", parent.to_string().as_bytes());
    }
    hasher.finish()
}

/// Checks that the recipe of a merged dataset is that of the datasets it names.
pub(super) fn check_recipe(dataset: &Dataset) -> Result<(), ArtifactError> {
    let manifest = dataset.manifest();
    if manifest.parents.is_empty() || manifest.recipe == recipe(&manifest.parents) {
        return Ok(());
    }
    let path = dataset.folder().join("manifest.json");
    Err(ArtifactError::damaged(&path, "its recipe is not that of the datasets it was merged from"))
}
