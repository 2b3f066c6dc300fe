//! Promotion: the champion of a registry moves.

use super::StageError;
use crate::artifact::dataset::verdict::{Verdict, VerdictFile};
use crate::artifact::error::ArtifactError;
use crate::artifact::lock::FolderLock;
use crate::artifact::model::champion::{ChampionFile, Promotion};
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
    pub before: Option<String>,
    /// The champion now, if there is one.
    pub champion: Option<String>,
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
    if model.folder.as_deref().and_then(|path| path.parent()) != Some(folder) {
        let reason = format!("{} is not one of its versions", model.id);
        return Err(ArtifactError::unfit(folder, reason).into());
    }
    if let Some(verdict) = verdict {
        if verdict.candidate.content != model.content {
            let reason = format!("the verdict is on {}, not on {}", verdict.candidate.id, model.id);
            return Err(StageError::Setting(reason));
        }
        if verdict.verdict != Verdict::Accepted {
            let reason = format!("{} was not accepted by its gate: the champion stays", model.id);
            return Err(StageError::Setting(reason));
        }
    }
    let _lock = FolderLock::take(folder)?;
    let mut file = ChampionFile::read(folder)?;
    let before = file.champion().map(|promotion| promotion.id.clone());
    let gate = verdict.map(|verdict| verdict.step);
    let acted = gate.is_some_and(|gate| file.acted.contains(&gate));
    let unchanged = before.as_ref() == Some(&model.id);
    if acted || unchanged {
        return Ok(PromoteReport { skipped: true, champion: before.clone(), before });
    }
    file.history.push(Promotion { id: model.id.clone(), content: model.content, gate });
    file.acted.extend(gate);
    file.write(folder)?;
    Ok(PromoteReport { skipped: false, before, champion: Some(model.id.clone()) })
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
    let champion = file.champion().map(|promotion| promotion.id.clone());
    Ok(PromoteReport { skipped: false, before, champion })
}
