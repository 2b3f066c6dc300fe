//! Every version of a registry, its champions, and the datasets and gates that they name, checked
//! byte by byte.

use super::show::folder_of;
use crate::artifact::model::reference::load_champion;
use crate::artifact::{
    ArtifactError, ChampionFile, ClosedFile, ContentHash, Dataset, GATE_GAMES, GateGameRow,
    LoadedModel, ModelDocument, ModelName, ModelReference, NEVER, POSITIONS, Registry, VersionId,
};
use crate::pipeline::generate::proof::GameProof;
use crate::pipeline::proof::PartProof;
use crate::pipeline::{Context, StageError};
use crate::run::folders::{RunGate, gates};
use rayon::prelude::{IntoParallelIterator, ParallelIterator};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a check found sound.
#[derive(Clone, Debug)]
pub struct VerifiedRegistry {
    /// All versions, oldest first.
    pub versions: Vec<VersionId>,
    /// The champion, if there is one.
    pub champion: Option<ModelName>,
    /// The folders of the datasets that the versions were trained on.
    pub datasets: Vec<PathBuf>,
    /// The positions in these.
    pub positions: u64,
    /// The contents of the datasets that no longer exist.
    pub datasets_gone: Vec<ContentHash>,
    /// The folders of the gates.
    pub gates: Vec<PathBuf>,
}

/// Checks a registry and everything that its versions name.
///
/// # Errors
///
/// The first file that is damaged or missing.
pub fn verify_registry(
    models: &Path,
    datasets: &Path,
    context: &Context<'_>,
) -> Result<VerifiedRegistry, StageError> {
    let registry = Registry::new(models);
    let read = |id: VersionId| {
        context.check()?;
        let loaded = LoadedModel::read(&registry.folder_of(id))?;
        Ok::<_, StageError>(loaded.known.document.expect("a version has a document"))
    };
    let documents: Vec<Arc<ModelDocument>> = registry
        .ids()?
        .into_iter()
        .map(read)
        .collect::<Result<_, _>>()?;
    let champion = load_champion(models)?.map(|champion| champion.id);
    check_champions(models, &documents)?;
    for document in &documents {
        let path = registry.folder_of(document.id).join("model.json");
        document
            .origin
            .parent
            .iter()
            .try_for_each(|parent| check_version(&path, parent, &documents, false))?;
    }
    let gates = gates(datasets)?;
    gates
        .iter()
        .try_for_each(|gate| verify_gate(gate, &documents))?;
    let named = documents
        .iter()
        .flat_map(|document| &document.origin.datasets);
    let named: BTreeMap<ContentHash, _> = named.map(|entry| (entry.content, entry)).collect();
    let (mut folders, mut datasets_gone) = (Vec::new(), Vec::new());
    for (content, entry) in named {
        match folder_of(entry, datasets)? {
            Some(folder) => folders.push(folder),
            None => datasets_gone.push(content),
        }
    }
    folders.sort();
    let positions = folders
        .iter()
        .map(|folder| verify_dataset(folder, context))
        .sum::<Result<u64, StageError>>()?;
    let versions = documents.iter().map(|document| document.id).collect();
    let gates = gates.into_iter().map(|gate| gate.folder).collect();
    Ok(VerifiedRegistry {
        versions,
        champion,
        datasets: folders,
        positions,
        datasets_gone,
        gates,
    })
}

/// Every champion in the history must exist, since a rollback brings it back, and so must the
/// player of the first generation that is not closed.
fn check_champions(models: &Path, documents: &[Arc<ModelDocument>]) -> Result<(), ArtifactError> {
    let path = models.join("champion.json");
    for promotion in ChampionFile::read(models)?.history {
        let named = ModelReference {
            id: ModelName::Version(promotion.id),
            content: promotion.content,
        };
        check_version(&path, &named, documents, true)?;
    }
    let player = ClosedFile::read(models)?.champion;
    player.map_or(Ok(()), |player| {
        check_version(&ClosedFile::path(models), &player, documents, true)
    })
}

/// A version that a file names must have the content given there, if it still exists, which it must
/// if it `is_needed`.
fn check_version(
    path: &Path,
    named: &ModelReference,
    documents: &[Arc<ModelDocument>],
    is_needed: bool,
) -> Result<(), ArtifactError> {
    let ModelReference { id, content } = named;
    let reason = match documents
        .iter()
        .find(|document| ModelName::Version(document.id) == *id)
    {
        None if is_needed && id.version().is_some() => ", which is gone",
        Some(document) if document.content != *content => {
            " with another content than that version has"
        }
        _ => return Ok(()),
    };
    Err(ArtifactError::damaged(
        path,
        format!("it names {id}{reason}"),
    ))
}

fn verify_gate(gate: &RunGate, documents: &[Arc<ModelDocument>]) -> Result<(), ArtifactError> {
    let path = gate.folder.join("verdict.json");
    let verdict = &gate.verdict;
    for player in [&verdict.candidate, &verdict.baseline] {
        check_version(&path, player, documents, false)?;
    }
    let (dataset, mut games) = (Dataset::open_any(&gate.folder)?, 0);
    for index in 0..dataset.part_count() {
        games += dataset
            .read::<GateGameRow>(&GATE_GAMES, index, &NEVER)?
            .len() as u64;
    }
    let counted = 2 * verdict.score.pairs.iter().sum::<u64>();
    if games != counted {
        return Err(ArtifactError::damaged(
            &path,
            format!("it counts {counted} games, and there are {games}"),
        ));
    }
    Ok(())
}

/// Checks the hashes and rows of every part, and counts the positions.
fn verify_dataset(folder: &Path, context: &Context<'_>) -> Result<u64, StageError> {
    let dataset = Dataset::open(folder)?;
    let proof = GameProof::of(&dataset)?;
    let check = |index| {
        context.check()?;
        proof.prove(&dataset, index, true, context.stop)?;
        context.check()
    };
    context.pool()?.install(|| {
        (0..dataset.part_count())
            .into_par_iter()
            .try_for_each(check)
    })?;
    Ok(dataset.manifest().rows(POSITIONS.name))
}
