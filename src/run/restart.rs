//! Restart: everything of a run from a generation on is removed, after it has been announced.

use super::config_entry::ConfigEntry;
use super::error::RunError;
use super::folders::{DatasetFolder, generation_folder, generation_of, generations};
use super::gc::{check_idle, closed_text};
use super::lineage::Lineage;
use super::log::{read_calls, versions_made};
use super::loss::Loss;
use super::snapshot;
use super::state::{RunSteps, StageState, run_steps};
use crate::artifact::publish::{check_removable, remove_folder};
use crate::artifact::{ContentHash, FolderLock};
use crate::generation::Generation;
use crate::pipeline::StageError;
use crate::pipeline::stage::Stage;
use crate::pipeline::work::DatasetState;
use std::collections::BTreeMap;
use std::path::PathBuf;

impl Lineage<'_> {
    /// What a restart from a generation would remove; `None` if there is nothing.
    ///
    /// # Errors
    ///
    /// A closed generation, whose successors cannot be made again without it, or a damaged
    /// document.
    pub fn loss(&self, from: Generation) -> Result<Option<Loss>, StageError> {
        let closed = self.closed.generation;
        if from <= closed {
            let first = closed + 1;
            let closed = closed_text(closed).unwrap_or_default();
            return Err(RunError::Closed {
                from,
                closed,
                first,
            }
            .into());
        }
        let mut loss = Loss {
            from,
            ..Loss::default()
        };
        let mut played = BTreeMap::new();
        for kind in DatasetFolder::all() {
            for generation in generations(self.datasets, kind)?
                .into_iter()
                .filter(|generation| from <= *generation)
            {
                let content = loss.add(
                    kind,
                    generation,
                    generation_folder(self.datasets, kind, generation),
                )?;
                if kind == DatasetFolder::Stage(Stage::Generate) {
                    played.extend(content.map(|content| (generation, content)));
                }
            }
        }
        let calls = read_calls(self.registry.folder())?;
        let logged = versions_made(&calls);
        let made = self.versions.documents.iter().filter(|document| {
            generation_of(document, &played, &logged).is_some_and(|generation| from <= generation)
        });
        let versions: Vec<PathBuf> = made
            .map(|document| self.registry.folder_of(document.id))
            .collect();
        loss.versions = versions.len() as u64;
        // Before the games, by which they are known.
        loss.folders.splice(0..0, versions);
        loss.add_time(&calls, from);
        Ok((!loss.folders.is_empty()).then_some(loss))
    }

    /// What a changed config makes way for: what the generation that has begun and is not finished
    /// has made with the `recorded` config and not with this one; `None` if there is nothing.
    ///
    /// # Errors
    ///
    /// Datasets of the generation that were not made as recorded, which are not the run's to
    /// remove.
    pub(super) fn superseded(&self, recorded: &ConfigEntry) -> Result<Option<Loss>, StageError> {
        let generation = self.settled() + 1;
        let of_generation = |steps: RunSteps| -> Vec<StageState> {
            steps
                .stages
                .into_iter()
                .filter(|state| state.generation == generation)
                .collect()
        };
        let ours = of_generation(run_steps(self)?);
        let is_at_stake = |state: &StageState| {
            matches!(state.dataset, DatasetState::Other | DatasetState::Unknown)
        };
        if !ours.iter().any(is_at_stake) {
            return Ok(None);
        }
        let mut before = self.clone();
        before.config = snapshot::load(self.registry.folder(), &self.config.name, recorded)?;
        before.file.configs = vec![recorded.clone()];
        let theirs = of_generation(run_steps(&before)?);
        let mut loss = Loss {
            from: generation,
            ..Loss::default()
        };
        for (ours, theirs) in ours
            .iter()
            .zip(&theirs)
            .filter(|(ours, _)| is_at_stake(ours))
        {
            if !theirs.is_as_recorded(recorded) {
                return Err(self.other_origin(theirs));
            }
            let kind = DatasetFolder::Stage(ours.stage);
            loss.add(
                kind,
                generation,
                generation_folder(self.datasets, kind, generation),
            )?;
        }
        loss.add_time(&read_calls(self.registry.folder())?, generation);
        Ok(Some(loss))
    }

    /// Removes what a changed config makes way for, the latest first, so that what is left is
    /// always as recorded.
    pub(super) fn remove_superseded(&self, loss: &Loss) -> Result<(), StageError> {
        check_idle(self.registry, self.datasets)?;
        loss.folders
            .iter()
            .try_for_each(|folder| check_removable(folder))?;
        Ok(loss
            .folders
            .iter()
            .rev()
            .try_for_each(|folder| remove_folder(folder))?)
    }

    /// The error that a dataset among those of the run is not what its record asks for.
    pub(super) fn other_origin(&self, state: &StageState) -> StageError {
        let because = match (state.dataset, &state.because) {
            (DatasetState::Unknown, _) => "nobody can tell what it was made from",
            (_, Some(because)) => because.as_str(),
            _ => "it is of another recipe",
        };
        let (run, generation) = (self.config.name.clone(), state.generation);
        let folder = generation_folder(self.datasets, state.stage, generation);
        RunError::OtherOrigin {
            run,
            folder,
            because: because.to_owned(),
            generation,
        }
        .into()
    }

    /// Removes everything from a generation on, which is this loss: first from the records, so that
    /// nothing names what no longer exists.
    ///
    /// # Errors
    ///
    /// A stage at work, or a system error; the next call resumes where this one stopped.
    pub(super) fn restart(
        &mut self,
        from: Generation,
        loss: Option<Loss>,
    ) -> Result<(), StageError> {
        check_idle(self.registry, self.datasets)?;
        let _lock = FolderLock::take(self.registry.folder())?;
        // It may have been promoted or collected by hand since the run was read.
        self.read_again()?;
        if from <= self.closed.generation {
            self.loss(from)?;
        }
        let folders = loss
            .as_ref()
            .map(|loss| loss.folders.as_slice())
            .unwrap_or_default();
        folders
            .iter()
            .try_for_each(|folder| check_removable(folder))?;
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
        folders
            .iter()
            .try_for_each(|folder| remove_folder(folder))?;
        self.file.restart = None;
        self.write()
    }

    /// Forgets a generation and all after it, in memory only.
    pub fn forget(&mut self, from: Generation, loss: Option<&Loss>) {
        self.file
            .generations
            .retain(|entry| entry.generation < from);
        let first_config = self.file.configs.first().cloned();
        self.file.configs.retain(|entry| entry.from < from);
        if self.file.configs.is_empty() {
            self.file.configs.extend(first_config);
        }
        let gone: Vec<ContentHash> = self
            .gates
            .iter()
            .filter(|gate| from <= gate.generation)
            .map(|gate| gate.verdict.step)
            .collect();
        let folders = loss.map(|loss| loss.folders.as_slice()).unwrap_or_default();
        self.champions.history.retain(|promotion| {
            let is_gone = folders.contains(&self.registry.folder_of(promotion.id));
            promotion.gate.is_none_or(|gate| !gone.contains(&gate)) && !is_gone
        });
        self.champions.acted.retain(|gate| !gone.contains(gate));
        self.gates.retain(|gate| gate.generation < from);
        self.find_finished();
    }
}
