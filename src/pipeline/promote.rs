//! Promotion: the champion of a registry moves.

use super::StageError;
use crate::artifact::model::champion::Promotion;
use crate::artifact::model::reference::ModelPlace;
use crate::artifact::publish::{check_folder, exists};
use crate::artifact::{
    ArtifactError, ChampionFile, FolderLock, KnownModel, Registry, Verdict, VerdictFile, VersionId,
};
use serde::Serialize;
use std::path::Path;

/// What the stage did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PromoteReport {
    /// Whether the promotion had been made already.
    pub skipped: bool,
    /// The champion before, if there was one.
    pub before: Option<VersionId>,
    /// The champion now, if there is one.
    pub champion: Option<VersionId>,
    /// Whether the verdict had promoted the model before, and that was taken back: a verdict acts
    /// once.
    #[serde(skip)]
    pub is_spent: bool,
}

/// Why taking a promotion back failed.
#[derive(Debug)]
pub enum RollbackError {
    /// The champion has not changed: a retry is safe.
    Unchanged(StageError),
    /// The champion has moved, but perhaps not in a way that outlives a loss of power.
    TookEffect(PromoteReport, ArtifactError),
}

impl From<ArtifactError> for RollbackError {
    fn from(error: ArtifactError) -> Self {
        Self::Unchanged(error.into())
    }
}

/// Makes a version of the registry its champion: on a gate's verdict, or by hand.
///
/// A verdict acts once: repeating it later does not bring an old champion back, nor undo a
/// rollback.
///
/// # Errors
///
/// A model from elsewhere, a verdict on another model, or a system error.
pub fn promote(
    model: &KnownModel,
    registry: &Registry,
    verdict: Option<&VerdictFile>,
) -> Result<PromoteReport, StageError> {
    let folder = registry.folder();
    let own_folder = model
        .place
        .folder()
        .filter(|place| place.parent() == Some(folder));
    let id = own_folder.and_then(VersionId::of_folder).ok_or_else(|| {
        let mut reason = format!(
            "{} is not one of its versions",
            model.place_name().display()
        );
        if matches!(model.place, ModelPlace::Archive(_)) {
            reason += "\nimport it first, with renma model import";
        }
        ArtifactError::unfit(folder, reason)
    })?;
    if let Some(verdict) = verdict {
        if verdict.candidate.content != model.content {
            return Err(StageError::Setting(format!(
                "the verdict is on {}, not on {id}",
                verdict.candidate.id
            )));
        }
        if verdict.verdict != Verdict::Accepted {
            return Err(StageError::Setting(format!(
                "{id} was not accepted by its gate: the champion stays"
            )));
        }
    }
    let _lock = FolderLock::take(folder)?;
    // While this waited for the lock, gc may have removed it.
    check_folder(&registry.folder_of(id))?;
    let mut file = ChampionFile::read(folder)?;
    let before = file.champion().map(|promotion| promotion.id);
    let gate = verdict.map(|verdict| verdict.step);
    let acted = gate.is_some_and(|gate| file.acted.contains(&gate));
    let is_champion = before == Some(id);
    if acted || (is_champion && gate.is_none()) {
        let is_promoted = file
            .history
            .iter()
            .any(|promotion| promotion.content == model.content);
        return Ok(PromoteReport {
            skipped: true,
            before,
            champion: before,
            is_spent: !is_promoted,
        });
    }
    // A verdict has acted even if its version was promoted by hand before: its generation is
    // finished.
    if !is_champion {
        file.history.push(Promotion {
            id,
            content: model.content,
            gate,
        });
    }
    file.acted.extend(gate);
    file.write(folder)?;
    Ok(PromoteReport {
        skipped: is_champion,
        before,
        champion: Some(id),
        is_spent: false,
    })
}

/// Takes the last promotion back.
///
/// # Errors
///
/// A registry without a champion, or a system error, before or after the champion has moved.
pub fn rollback(registry: &Registry) -> Result<PromoteReport, RollbackError> {
    rollback_with(registry, ChampionFile::write)
}

fn rollback_with(
    registry: &Registry,
    write: impl FnOnce(&ChampionFile, &Path) -> Result<(), ArtifactError>,
) -> Result<PromoteReport, RollbackError> {
    let folder = registry.folder();
    let path = folder.join("champion.json");
    if !exists(&path)? {
        return Err(ArtifactError::Missing { path }.into());
    }
    let _lock = FolderLock::take(folder)?;
    let old = ChampionFile::read(folder)?;
    let mut file = old.clone();
    let Some(last) = file.history.pop() else {
        return Err(ArtifactError::unfit(&path, "it names no champion to take back").into());
    };
    let champion = file.champion().map(|promotion| promotion.id);
    let report = PromoteReport {
        skipped: false,
        before: Some(last.id),
        champion,
        is_spent: false,
    };
    match write(&file, folder) {
        Ok(()) => Ok(report),
        // The file may have its new name and only the folder not be synced: then a retry would take
        // back another promotion.
        Err(error) if ChampionFile::read(folder).is_ok_and(|found| found == old) => {
            Err(error.into())
        }
        Err(error) => Err(RollbackError::TookEffect(report, error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::ContentHash;
    use std::io;

    /// A registry with two promotions, and the champion after a rollback whose write goes like
    /// this.
    fn rolled_back(
        write: impl FnOnce(&ChampionFile, &Path) -> Result<(), ArtifactError>,
    ) -> (Result<PromoteReport, RollbackError>, Option<VersionId>) {
        let folder = tempfile::tempdir().unwrap();
        let mut file = ChampionFile::default();
        for id in ["v0002", "v0004"] {
            let content = ContentHash::of(id.as_bytes());
            file.history.push(Promotion {
                id: id.parse().unwrap(),
                content,
                gate: None,
            });
        }
        file.write(folder.path()).unwrap();
        let result = rollback_with(&Registry::new(folder.path()), write);
        (
            result,
            ChampionFile::read(folder.path())
                .unwrap()
                .champion()
                .map(|promotion| promotion.id),
        )
    }

    fn full_disk(folder: &Path) -> ArtifactError {
        ArtifactError::io("sync", folder, io::ErrorKind::StorageFull.into())
    }

    #[test]
    fn a_rollback_that_took_effect_before_an_error_is_told_from_one_that_did_not() {
        let id = |text: &str| Some(text.parse::<VersionId>().unwrap());
        let expected = PromoteReport {
            skipped: false,
            before: id("v0004"),
            champion: id("v0002"),
            is_spent: false,
        };
        let (result, champion) = rolled_back(ChampionFile::write);
        assert_eq!((result.unwrap(), champion), (expected.clone(), id("v0002")));
        let (result, champion) = rolled_back(|_, folder| Err(full_disk(folder)));
        assert!(
            matches!(result, Err(RollbackError::Unchanged(_))),
            "{result:?}"
        );
        assert_eq!(champion, id("v0004"));
        let (result, champion) =
            rolled_back(|file, folder| file.write(folder).and(Err(full_disk(folder))));
        assert!(
            matches!(&result, Err(RollbackError::TookEffect(report, _)) if *report == expected),
            "{result:?}"
        );
        assert_eq!(champion, id("v0002"));
    }
}
