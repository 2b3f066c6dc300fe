//! Promotion: the champion of a registry moves.

use super::StageError;
use crate::artifact::dataset::verdict::{Verdict, VerdictFile};
use crate::artifact::error::ArtifactError;
use crate::artifact::lock::FolderLock;
use crate::artifact::model::champion::{ChampionFile, Promotion};
use crate::artifact::model::name::VersionId;
use crate::artifact::model::reference::LoadedModel;
use crate::artifact::model::registry::Registry;
use crate::artifact::publish::exists;
use serde::Serialize;

/// What the stage did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PromoteReport {
    /// Whether the promotion had been made already.
    pub skipped: bool,
    /// The champion before, if there was one.
    pub before: Option<VersionId>,
    /// The champion now, if there is one.
    pub champion: Option<VersionId>,
}

/// Makes a version of the registry its champion: on a gate's verdict, or by hand.
///
/// A verdict acts once: repeating it later does not bring an old champion back, nor undo a rollback.
///
/// # Errors
///
/// A model from elsewhere, a verdict on another model, or whatever the system refuses.
pub fn promote(
    model: &LoadedModel,
    registry: &Registry,
    verdict: Option<&VerdictFile>,
) -> Result<PromoteReport, StageError> {
    let folder = registry.folder();
    let id = version_in(registry, model)?;
    if let Some(verdict) = verdict {
        if verdict.candidate.content != model.content {
            let reason = format!("the verdict is on {}, not on {id}", verdict.candidate.id);
            return Err(StageError::Setting(reason));
        }
        if verdict.verdict != Verdict::Accepted {
            let reason = format!("{id} was not accepted by its gate: the champion stays");
            return Err(StageError::Setting(reason));
        }
    }
    let _lock = FolderLock::take(folder)?;
    let mut file = ChampionFile::read(folder)?;
    let before = file.champion().map(|promotion| promotion.id);
    let gate = verdict.map(|verdict| verdict.step);
    let acted = gate.is_some_and(|gate| file.acted.contains(&gate));
    if acted || before == Some(id) {
        return Ok(PromoteReport { skipped: true, before, champion: before });
    }
    file.history.push(Promotion { id, content: model.content, gate });
    file.acted.extend(gate);
    file.write(folder)?;
    Ok(PromoteReport { skipped: false, before, champion: Some(id) })
}

/// Which version of a registry a model is, by the folder that it was read from.
fn version_in(registry: &Registry, model: &LoadedModel) -> Result<VersionId, ArtifactError> {
    let folder = model.folder.as_deref().filter(|folder| folder.parent() == Some(registry.folder()));
    folder.and_then(VersionId::of_folder).ok_or_else(|| {
        let name = folder.map_or(model.id.to_string(), |folder| folder.display().to_string());
        ArtifactError::unfit(registry.folder(), format!("{name} is not one of its versions"))
    })
}

/// Takes the last promotion back.
///
/// # Errors
///
/// A registry without a champion, or whatever the system refuses.
pub fn rollback(registry: &Registry) -> Result<PromoteReport, StageError> {
    let folder = registry.folder();
    let path = folder.join("champion.json");
    if !exists(&path)? {
        return Err(ArtifactError::Missing { path }.into());
    }
    let _lock = FolderLock::take(folder)?;
    let mut file = ChampionFile::read(folder)?;
    if file.history.is_empty() {
        return Err(ArtifactError::unfit(&path, "it names no champion to take back").into());
    }
    let before = file.history.pop().map(|promotion| promotion.id);
    file.write(folder)?;
    let champion = file.champion().map(|promotion| promotion.id);
    Ok(PromoteReport { skipped: false, before, champion })
}
