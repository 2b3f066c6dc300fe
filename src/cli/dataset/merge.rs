//! `renma dataset merge`.

use crate::artifact::dataset::folder::{Dataset, part_path};
use crate::artifact::dataset::games::GAMES;
use crate::artifact::dataset::manifest::{DatasetKind, Manifest, check_part_count};
use crate::artifact::dataset::positions::POSITIONS;
use crate::artifact::dataset::writer::{DatasetWriter, Provenance, written_before};
use crate::artifact::error::ArtifactError;
use crate::artifact::hash::{ContentHash, FieldHasher};
use crate::cli::failure::UsageError;
use crate::cli::output::{print_json, say, thousands};
use crate::cli::session::Session;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Goes up when the same datasets would be merged in another way.
const ALGORITHM: u32 = 1;

pub(super) fn run(session: &Session, folders: &[PathBuf], output: &Path) -> anyhow::Result<()> {
    let datasets = folders.iter().map(|folder| Dataset::open(folder)).collect::<Result<Vec<_>, _>>()?;
    let parents: Vec<ContentHash> = datasets.iter().map(|dataset| dataset.manifest().content).collect();
    for (index, parent) in parents.iter().enumerate() {
        if let Some(first) = parents[..index].iter().position(|other| other == parent) {
            let (first, second) = (folders[first].display(), folders[index].display());
            return Err(UsageError(format!("{first} and {second} hold the same: each dataset is merged once")).into());
        }
    }
    let selfplay = datasets.iter().all(|dataset| dataset.manifest().kind == DatasetKind::Selfplay);
    let kind = if selfplay { DatasetKind::Selfplay } else { DatasetKind::Imported };
    let recipe = recipe(&parents);
    if let Some(manifest) = written_before(output, recipe)? {
        say(&format!("dataset merge: {} holds this already", output.display()));
        return report(session, output, &manifest, true);
    }
    let parts = datasets.iter().map(Dataset::part_count).sum();
    check_part_count(output, parts)?;
    let mut writer = DatasetWriter::new(output, kind, recipe)?;
    let context = session.context();
    context.progress.begin("merge", parts as u64, "parts");
    for dataset in &datasets {
        for index in 0..dataset.part_count() {
            context.check()?;
            let part = &dataset.manifest().parts[index];
            let (mut games, mut rows) = (dataset.game_rows(index)?, dataset.rows(index)?);
            let mut ids = games.iter().flatten().map(|game| game.game_id).chain(rows.iter().map(|row| row.game_id));
            if let Some(id) = ids.find(|id| *id < part.first || part.count <= *id - part.first) {
                let path = part_path(dataset.folder(), &POSITIONS, index);
                return Err(ArtifactError::damaged(&path, format!("game {id} does not belong to the part")).into());
            }
            // A part counts its games from 0; the writer raises them to follow those before it.
            games.iter_mut().flatten().for_each(|game| game.game_id -= part.first);
            rows.iter_mut().for_each(|row| row.game_id -= part.first);
            context.progress.advance(1, rows.len() as u64);
            writer.add_part(part.count, games, rows)?;
        }
    }
    context.progress.end();
    let asked = datasets.iter().map(|dataset| dataset.manifest().done).sum();
    let manifest = writer.finish(Provenance { parents, asked, config: json!({}), ..Provenance::default() })?;
    let (games, positions) = (thousands(manifest.done), thousands(manifest.rows(POSITIONS.name)));
    say(&format!("dataset merge: {games} games, {positions} positions in {}", output.display()));
    report(session, output, &manifest, false)
}

fn recipe(parents: &[ContentHash]) -> ContentHash {
    let mut hasher = FieldHasher::new("recipe");
    hasher.field("stage", b"merge").field("algorithm", &ALGORITHM.to_le_bytes());
    for parent in parents {
        hasher.field("parent", parent.to_string().as_bytes());
    }
    hasher.finish()
}

/// Checks that the recipe of a dataset that was merged is that of the datasets it names.
pub(super) fn check_recipe(dataset: &Dataset) -> Result<(), ArtifactError> {
    let manifest = dataset.manifest();
    if manifest.parents.is_empty() || manifest.recipe == recipe(&manifest.parents) {
        return Ok(());
    }
    let path = dataset.folder().join("manifest.json");
    Err(ArtifactError::damaged(&path, "its recipe is not that of the datasets it was merged from"))
}

fn report(session: &Session, output: &Path, manifest: &Manifest, skipped: bool) -> anyhow::Result<()> {
    if !session.json {
        return Ok(());
    }
    print_json(&json!({
        "skipped": skipped,
        "output": output.to_string_lossy(),
        "games": manifest.done,
        "positions": manifest.rows(POSITIONS.name),
        "bytes": manifest.bytes(GAMES.name) + manifest.bytes(POSITIONS.name),
        "parents": manifest.parents,
        "content": manifest.content,
    }))
}
