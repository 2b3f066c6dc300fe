//! Restart: everything of a run from a generation on is removed, after it has been announced.

use super::folders::{DatasetFolder, generation_folder, generation_of, generations};
use super::gc::{check_idle, closed_text};
use super::lineage::Lineage;
use super::log::{calls_by_generation, read_calls, versions_made};
use crate::artifact::publish::{check_removable, remove_folder};
use crate::artifact::{ChampionFile, ClosedFile, ContentHash, FolderLock, Manifest};
use crate::pipeline::StageError;
use crate::pipeline::stage::Stage;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What a restart removes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Loss {
    /// The first generation removed.
    pub from: u32,
    /// The last generation removed.
    pub to: u32,
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
    folders: Vec<PathBuf>,
}

impl Lineage<'_> {
    /// What a restart from a generation would remove; `None` if there is nothing.
    ///
    /// # Errors
    ///
    /// A closed generation, whose successors cannot be made again without it, or a damaged document.
    pub fn loss(&self, from: u32) -> Result<Option<Loss>, StageError> {
        let closed = self.closed.generation;
        if from <= closed {
            let first = closed + 1;
            let closed = closed_text(closed).unwrap_or_default();
            let reason = format!("--restart {from}: {closed}, and what a restart there needs is gone");
            return Err(StageError::Setting(format!("{reason}\nrestart from generation {first} or later")));
        }
        let mut loss = Loss { from, to: 0, games: 0, gate_games: 0, versions: 0, cpu_hours: 0.0, folders: Vec::new() };
        let mut played = BTreeMap::new();
        for kind in DatasetFolder::all() {
            for generation in generations(self.datasets, kind)?.into_iter().filter(|generation| from <= *generation) {
                let folder = generation_folder(self.datasets, kind, generation);
                if let Some(Manifest { done, content, .. }) = Manifest::find_any(&folder)? {
                    match kind {
                        DatasetFolder::Stage(Stage::Generate) => {
                            loss.games += done;
                            played.insert(generation, content);
                        }
                        DatasetFolder::Stage(Stage::Gate) | DatasetFolder::Drift => loss.gate_games += 2 * done,
                        DatasetFolder::Stage(_) => {}
                    }
                }
                loss.to = loss.to.max(generation);
                loss.folders.push(folder);
            }
        }
        let calls = read_calls(self.registry.folder())?;
        let logged = versions_made(&calls);
        let documents = self.registry.documents()?.into_iter();
        let made = documents
            .filter(|document| generation_of(document, &played, &logged).is_some_and(|generation| from <= generation));
        let versions: Vec<PathBuf> = made.map(|document| self.registry.folder_of(document.id)).collect();
        loss.versions = versions.len() as u64;
        // Before the games, by which they are known.
        loss.folders.splice(0..0, versions);
        let calls = calls_by_generation(&calls);
        let lost = calls.range(from..).flat_map(|(_, calls)| calls);
        loss.cpu_hours = lost.map(|call| call.cpu_seconds).sum::<f64>() / 3600.0;
        Ok((!loss.folders.is_empty()).then_some(loss))
    }

    /// Removes everything from a generation on, which is this loss: first from the records, so that nothing names what no longer
    /// exists.
    ///
    /// # Errors
    ///
    /// A stage at work, or a system error; the next call resumes where this one stopped.
    pub(super) fn restart(&mut self, from: u32, loss: Option<Loss>) -> Result<(), StageError> {
        check_idle(self.registry, self.datasets)?;
        let _lock = FolderLock::take(self.registry.folder())?;
        // It may have been promoted or collected by hand since the run was read.
        self.champions = ChampionFile::read(self.registry.folder())?;
        self.closed = ClosedFile::read(self.registry.folder())?;
        if from <= self.closed.generation {
            self.loss(from)?;
        }
        let folders = loss.as_ref().map(|loss| loss.folders.as_slice()).unwrap_or_default();
        folders.iter().try_for_each(|folder| check_removable(folder))?;
        self.file.restart = Some(from);
        let champions = self.champions.clone();
        self.forget(from, loss.as_ref());
        self.write()?;
        let version_last = self.registry.version_last()?;
        if champions != self.champions {
            self.champions.write(self.registry.folder())?;
        }
        if self.closed.version_last < version_last {
            self.closed.version_last = version_last;
            self.closed.write(self.registry.folder())?;
        }
        let folders = loss.map(|loss| loss.folders).unwrap_or_default();
        folders.iter().try_for_each(|folder| remove_folder(folder))?;
        self.file.restart = None;
        self.write()
    }

    /// Forgets a generation and all after it, in memory only.
    pub fn forget(&mut self, from: u32, loss: Option<&Loss>) {
        self.file.generations.retain(|entry| entry.generation < from);
        let first_config = self.file.configs.first().cloned();
        self.file.configs.retain(|entry| entry.from < from);
        if self.file.configs.is_empty() {
            self.file.configs.extend(first_config);
        }
        let gone: Vec<ContentHash> =
            self.gates.iter().filter(|gate| from <= gate.generation).map(|gate| gate.verdict.step).collect();
        let folders = loss.map(|loss| loss.folders.as_slice()).unwrap_or_default();
        self.champions.history.retain(|promotion| {
            let is_gone = folders.contains(&self.registry.folder_of(promotion.id));
            promotion.gate.is_none_or(|gate| !gone.contains(&gate)) && !is_gone
        });
        self.champions.acted.retain(|gate| !gone.contains(gate));
        self.gates.retain(|gate| gate.generation < from);
    }
}
