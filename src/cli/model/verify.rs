//! `renma model verify`: every version of a registry, its champions, and the datasets and gates that they name.

use super::show::folder_of;
use crate::artifact::dataset::folder::{Dataset, file_entry, part_path};
use crate::artifact::dataset::gate_games::GATE_GAMES;
use crate::artifact::dataset::manifest::{DatasetKind, Manifest};
use crate::artifact::dataset::recipe::check_footers;
use crate::artifact::dataset::verify::verify_part;
use crate::artifact::error::ArtifactError;
use crate::artifact::hash::ContentHash;
use crate::artifact::model::champion::ChampionFile;
use crate::artifact::model::collected::CollectedFile;
use crate::artifact::model::document::{ModelDocument, ParentEntry};
use crate::artifact::model::name::{ModelName, VersionId};
use crate::artifact::model::reference::{LoadedModel, load_champion};
use crate::artifact::model::registry::Registry;
use crate::cli::output::{print_json, say};
use crate::cli::session::Session;
use crate::pipeline::StageError;
use crate::pipeline::generate::recipe::origin_of;
use crate::run::folders::{RunGate, gates};
use rayon::prelude::{IntoParallelIterator, ParallelIterator};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub(super) fn verify(session: &Session, models: &Path, datasets: &Path) -> anyhow::Result<()> {
    let registry = Registry::new(models);
    let ids = registry.ids()?;
    let context = session.context();
    let read = |&id: &VersionId| {
        context.check()?;
        let loaded = LoadedModel::read(&registry.folder_of(id))?;
        Ok::<ModelDocument, StageError>(loaded.document.expect("a version has a document"))
    };
    let documents: Vec<ModelDocument> = ids.iter().map(read).collect::<Result<_, _>>()?;
    let champion = load_champion(models)?.map(|champion| champion.id);
    check_champions(models, &documents)?;
    for document in &documents {
        let path = registry.folder_of(document.id).join("model.json");
        document.origin.parent.iter().try_for_each(|parent| check_player(&path, "parent", parent, &documents))?;
    }
    let gates = gates(datasets)?;
    gates.iter().try_for_each(|gate| verify_gate(gate, &documents))?;
    let (folders, gone) = named_datasets(&documents, datasets)?;
    let mut positions = 0;
    for folder in &folders {
        positions += verify_dataset(session, folder)?;
    }
    say(&format!(
        "model verify: {} versions of {} are sound, with {} datasets of {positions} positions and {} gates; {} datasets are gone",
        ids.len(),
        models.display(),
        folders.len(),
        gates.len(),
        gone.len()
    ));
    if !session.json {
        return Ok(());
    }
    let folders: Vec<_> = folders.iter().map(|folder| folder.to_string_lossy()).collect();
    let gates: Vec<_> = gates.iter().map(|gate| gate.folder.to_string_lossy()).collect();
    print_json(
        &json!({"versions": ids, "champion": champion, "datasets": folders, "datasets_gone": gone, "gates": gates}),
    )
}

/// Every champion, of now and before, must be there, since a rollback brings it back, and so must be who plays the first
/// generation that is not closed.
fn check_champions(models: &Path, documents: &[ModelDocument]) -> Result<(), ArtifactError> {
    let path = models.join("champion.json");
    for promotion in ChampionFile::read(models)?.history {
        check_is_there(&path, promotion.id, promotion.content, documents)?;
    }
    let player = CollectedFile::read(models)?.champion;
    match player.as_ref().and_then(|player| Some((player.id.version()?, player.content))) {
        Some((id, content)) => check_is_there(&models.join("collected.json"), id, content, documents),
        None => Ok(()),
    }
}

fn check_is_there(
    path: &Path,
    id: VersionId,
    content: ContentHash,
    documents: &[ModelDocument],
) -> Result<(), ArtifactError> {
    match documents.iter().find(|document| document.id == id) {
        None => Err(ArtifactError::damaged(path, format!("it names {id}, which is gone"))),
        Some(document) if document.content != content => {
            Err(ArtifactError::damaged(path, format!("it names {id} with another content than that version has")))
        }
        Some(_) => Ok(()),
    }
}

/// A version that is named must be the one of that name, if it is still there.
fn check_player(
    path: &Path,
    role: &str,
    player: &ParentEntry,
    documents: &[ModelDocument],
) -> Result<(), ArtifactError> {
    let named = documents.iter().find(|document| ModelName::Version(document.id) == player.id);
    match named {
        Some(document) if document.content != player.content => {
            let reason = format!("its {role} {} has another content than the version of that name", player.id);
            Err(ArtifactError::damaged(path, reason))
        }
        _ => Ok(()),
    }
}

fn verify_gate(gate: &RunGate, documents: &[ModelDocument]) -> Result<(), ArtifactError> {
    let path = gate.folder.join("verdict.json");
    let verdict = &gate.verdict;
    for (role, player) in [("candidate", &verdict.candidate), ("baseline", &verdict.baseline)] {
        check_player(&path, role, player, documents)?;
    }
    let manifest = Manifest::read(&gate.folder, DatasetKind::Gate)?;
    let mut games = 0;
    for (index, part) in manifest.parts.iter().enumerate() {
        let batch = GATE_GAMES
            .read(&part_path(&gate.folder, &GATE_GAMES, index), file_entry(&gate.folder, part, &GATE_GAMES)?)?;
        games += batch.num_rows() as u64;
    }
    let counted = 2 * verdict.score.pairs.iter().sum::<u64>();
    if games != counted {
        return Err(ArtifactError::damaged(&path, format!("it counts {counted} games, and there are {games}")));
    }
    Ok(())
}

/// The folders of the datasets behind the versions, and those that are no longer there.
fn named_datasets(documents: &[ModelDocument], datasets: &Path) -> anyhow::Result<(Vec<PathBuf>, Vec<ContentHash>)> {
    let entries = documents.iter().flat_map(|document| &document.origin.datasets);
    let entries: BTreeMap<ContentHash, _> = entries.map(|entry| (entry.content, entry)).collect();
    let (mut folders, mut gone) = (Vec::new(), Vec::new());
    for (content, entry) in entries {
        match folder_of(entry, datasets)? {
            Some(folder) => folders.push(folder),
            None => gone.push(content),
        }
    }
    folders.sort();
    Ok((folders, gone))
}

/// Checks hashes and rows of every part; gives the positions.
fn verify_dataset(session: &Session, folder: &Path) -> Result<u64, StageError> {
    let context = session.context();
    let dataset = Dataset::open(folder)?;
    let settings = origin_of(&dataset)?.map(|(_, settings)| settings).unwrap_or_default();
    let check = |index| {
        context.check()?;
        check_footers(&dataset, index, &settings)?;
        let verified = verify_part(&dataset, index, true, context.stop)?;
        context.check()?;
        Ok(verified.positions)
    };
    context.pool()?.install(|| (0..dataset.part_count()).into_par_iter().map(check).sum::<Result<u64, StageError>>())
}
