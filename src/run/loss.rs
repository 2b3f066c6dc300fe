//! What a restart or a changed config removes from a run.

use super::folders::DatasetFolder;
use super::log::{CallRecord, calls_by_generation};
use crate::artifact::{ArtifactError, ContentHash, Manifest};
use crate::generation::Generation;
use crate::pipeline::stage::Stage;
use serde::Serialize;
use std::path::PathBuf;

/// What a restart removes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Loss {
    /// The first generation removed.
    pub from: Generation,
    /// The last generation removed.
    pub to: Generation,
    /// Games of self-play.
    pub games: u64,
    /// Games of gates.
    pub gate_games: u64,
    /// Versions of the registry.
    pub versions: u64,
    /// The time they took, as far as the run's log knows.
    pub cpu_hours: f64,
    /// The folders.
    #[serde(skip)]
    pub(super) folders: Vec<PathBuf>,
}

impl Loss {
    /// Adds a folder, and counts the games of its dataset, whose content it returns.
    pub(super) fn add(
        &mut self,
        kind: DatasetFolder,
        generation: Generation,
        folder: PathBuf,
    ) -> Result<Option<ContentHash>, ArtifactError> {
        let manifest = Manifest::find_any(&folder)?;
        let done = manifest.as_ref().map_or(0, |manifest| manifest.done);
        match kind {
            DatasetFolder::Stage(Stage::Generate) => self.games += done,
            DatasetFolder::Stage(Stage::Gate) | DatasetFolder::Drift => self.gate_games += 2 * done,
            DatasetFolder::Stage(_) => {}
        }
        self.to = self.to.max(generation);
        self.folders.push(folder);
        Ok(manifest.map(|manifest| manifest.content))
    }

    /// Adds the time that a generation took.
    pub(super) fn add_time(&mut self, calls: &[CallRecord], from: Generation) {
        let calls = calls_by_generation(calls);
        let lost = calls.range(from..).flat_map(|(_, calls)| calls);
        self.cpu_hours = lost.map(|call| call.cpu_seconds).sum::<f64>() / 3600.0;
    }
}
