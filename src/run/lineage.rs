//! `lineage.json` of a registry: the config and the player of each generation of a run.
//!
//! A config is recorded with the first generation it makes, a player when its generation begins. So
//! a rerun makes the same generations, even if the config file or the champion has changed in the
//! meantime.

use super::config_entry::{ConfigEntry, continued};
use super::error::RunError;
use super::folders::{
    DatasetFolder, GENERATIONS_MAX, RunGate, gates, generation_folder, generations,
};
use super::loss::Loss;
use super::snapshot;
use crate::artifact::publish::exists;
use crate::artifact::seal::{read_versioned_or_default, write_sealed};
use crate::artifact::{
    ArtifactError, ChampionFile, ClosedFile, ContentHash, FormatVersion, ModelRef, Registry,
    Verdict, VerdictFile, Versions,
};
use crate::config::LoadedConfig;
use crate::generation::Generation;
use crate::pipeline::StageError;
use crate::pipeline::stage::Stage;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

type LineageFormat = FormatVersion<2>;

/// The record's name in the folder of the registry.
const NAME: &str = "lineage.json";

/// A model as given to a stage: a version id of the registry, or the name in `run.start`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GenerationPlayer {
    /// The name under which the stages find it.
    pub name: ModelRef,
    /// The hash of its content.
    pub content: ContentHash,
}

/// A generation that has begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GenerationEntry {
    /// Its number.
    pub generation: Generation,
    /// The model that plays it, and the one that its candidate challenges.
    pub player: GenerationPlayer,
}

/// The content of `lineage.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LineageFile {
    format: LineageFormat,
    /// The configs, by their first generation, ascending.
    pub configs: Vec<ConfigEntry>,
    /// The generations that have begun, ascending.
    pub generations: Vec<GenerationEntry>,
    /// A restart that was interrupted: everything from this generation on is to be removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart: Option<Generation>,
}

/// What to do with a config that differs from that of the finished generations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Refuse it.
    Refuse,
    /// Use it from the next generation that has not begun.
    FromNext,
    /// Remove everything from this generation on, and use it from there.
    Restart(Generation),
}

/// A run with its record.
#[derive(Clone, Debug)]
pub struct Lineage<'a> {
    /// The user's config, with the run's own values of the keys that it does not name.
    pub config: LoadedConfig,
    /// The keys that the user's config does not name, and whose default is not the run's value.
    pub moved_defaults: Vec<String>,
    /// The run's models.
    pub registry: &'a Registry,
    /// The run's datasets.
    pub datasets: &'a Path,
    /// The record.
    pub file: LineageFile,
    /// The generations that gc has closed.
    pub closed: ClosedFile,
    /// Promotions.
    pub champions: ChampionFile,
    /// The finished gates, by generation.
    pub gates: Vec<RunGate>,
    /// The versions of the registry.
    pub versions: Versions,
    /// The last finished generation: its verdict exists, and its promotion too if it accepted.
    finished: Generation,
}

impl LineageFile {
    /// The config that makes a generation.
    pub fn config_of(&self, generation: Generation) -> Option<&ConfigEntry> {
        self.configs.iter().rfind(|entry| entry.from <= generation)
    }

    /// The player of a generation that has begun.
    pub fn player_of(&self, generation: Generation) -> Option<&GenerationPlayer> {
        let index = self
            .generations
            .binary_search_by_key(&generation, |entry| entry.generation)
            .ok()?;
        Some(&self.generations[index].player)
    }
}

impl<'a> Lineage<'a> {
    /// Reads the record of a run.
    ///
    /// # Errors
    ///
    /// A damaged document.
    pub fn read(
        given: &LoadedConfig,
        registry: &'a Registry,
        datasets: &'a Path,
    ) -> Result<Self, StageError> {
        let folder = registry.folder();
        let file: LineageFile = read_versioned_or_default::<LineageFormat, _>(&folder.join(NAME))?;
        let (config, moved_defaults) = match file.configs.last() {
            Some(last) => continued(last, given, &snapshot::path(folder, &given.name, last.from))?,
            None => (given.clone(), Vec::new()),
        };
        let mut lineage = Self {
            config,
            moved_defaults,
            registry,
            datasets,
            file,
            closed: ClosedFile::read(folder)?,
            champions: ChampionFile::read(folder)?,
            gates: gates(datasets)?,
            versions: Versions::read(registry)?,
            finished: Generation::NONE,
        };
        lineage.find_finished();
        Ok(lineage)
    }

    /// Reads again what others may have changed since: promotions, closed generations and gates.
    pub(super) fn read_again(&mut self) -> Result<(), ArtifactError> {
        self.champions = ChampionFile::read(self.registry.folder())?;
        self.closed = ClosedFile::read(self.registry.folder())?;
        self.gates = gates(self.datasets)?;
        self.find_finished();
        Ok(())
    }

    /// Writes the record and the snapshots of its configs. The caller holds the lock of the run.
    pub fn write(&self) -> Result<(), StageError> {
        let folder = self.registry.folder();
        for entry in &self.file.configs {
            snapshot::write(folder, &self.config, entry)?;
        }
        let path = folder.join(NAME);
        let known: LineageFile = read_versioned_or_default::<LineageFormat, _>(&path)?;
        if known != self.file || !exists(&path)? {
            write_sealed(&path, &self.file)?;
        }
        let froms: Vec<Generation> = self.file.configs.iter().map(|entry| entry.from).collect();
        Ok(snapshot::keep_only(folder, &froms)?)
    }

    /// The verdict of a generation's gate, if that is finished.
    pub fn verdict(&self, generation: Generation) -> Option<&VerdictFile> {
        let index = self
            .gates
            .binary_search_by_key(&generation, |gate| gate.generation)
            .ok()?;
        Some(&self.gates[index].verdict)
    }

    /// Whether a gate accepted its candidate, which is not yet promoted.
    pub(super) fn awaits_promotion(&self, verdict: &VerdictFile) -> bool {
        verdict.verdict == Verdict::Accepted && !self.champions.acted.contains(&verdict.step)
    }

    /// The last generation of an unbroken chain of finished ones.
    pub const fn finished(&self) -> Generation {
        self.finished
    }

    /// The last generation that is or was finished, even if its verdict is gone: one begins only
    /// after the one before it has ended, and the first verdict that promotes is that of the first.
    pub fn settled(&self) -> Generation {
        let begun = self
            .file
            .generations
            .last()
            .map_or(Generation::NONE, |entry| entry.generation);
        let promoted = Generation(u32::from(!self.champions.acted.is_empty())).min(begun);
        self.finished.max(begun.back(1)).max(promoted)
    }

    /// Refuses a run that lacks champion.json although closed generations promoted a version: gc
    /// could not tell what led to champions from what nothing needs.
    pub(super) fn check_promotions(&self) -> Result<(), ArtifactError> {
        let path = self.registry.folder().join("champion.json");
        match &self.closed.champion {
            Some(champion) if !exists(&path)? => {
                let id = champion.id;
                let reason = format!(
                    "it is missing, and {id} was champion when generation {} was closed\n\
                     restore it; renma promote {id} begins another one",
                    self.closed.generation
                );
                Err(ArtifactError::conflict(&path, reason))
            }
            _ => Ok(()),
        }
    }

    /// Finds the last finished generation, after anything that it depends on has changed.
    pub(super) fn find_finished(&mut self) {
        let acted: BTreeSet<ContentHash> = self.champions.acted.iter().copied().collect();
        let is_finished = |generation: &Generation| {
            self.verdict(*generation).is_some_and(|verdict| {
                let player = self.file.player_of(*generation);
                let is_promoted =
                    verdict.verdict != Verdict::Accepted || acted.contains(&verdict.step);
                player.is_some_and(|player| player.content == verdict.baseline.content)
                    && is_promoted
            })
        };
        let closed = self.closed.generation;
        self.finished = (closed + 1)
            .to(Generation(GENERATIONS_MAX))
            .take_while(is_finished)
            .last()
            .unwrap_or(closed);
    }

    /// The player of a generation: the recorded one, or before it begins the champion, else the
    /// start in the config.
    ///
    /// # Errors
    ///
    /// A start that cannot be loaded.
    pub fn player(&self, generation: Generation) -> Result<GenerationPlayer, ArtifactError> {
        if let Some(player) = self
            .file
            .player_of(generation)
            .filter(|_| self.keeps_record())
        {
            return Ok(player.clone());
        }
        if let Some(champion) = self.champions.champion() {
            return Ok(GenerationPlayer {
                name: ModelRef::Version(champion.id),
                content: champion.content,
            });
        }
        let name = &self.config.config.run.start;
        let content = name.find(self.registry.folder())?.content;
        Ok(GenerationPlayer {
            name: name.clone(),
            content,
        })
    }

    /// Whether the record is binding: before a generation is finished, a different config starts
    /// the run over.
    fn keeps_record(&self) -> bool {
        let first = self.file.configs.first();
        Generation::NONE < self.settled()
            || first.is_some_and(|first| {
                first
                    .differences(&ConfigEntry::new(Generation::FIRST, &self.config))
                    .is_empty()
            })
    }

    /// The last generation that any stage has worked on.
    pub fn begun(&self) -> Result<Generation, ArtifactError> {
        let mut begun = self.finished();
        for kind in DatasetFolder::all() {
            begun = begun.max(
                generations(self.datasets, kind)?
                    .last()
                    .copied()
                    .unwrap_or(Generation::NONE),
            );
        }
        Ok(begun)
    }

    /// The datasets that the training of a generation reads, oldest first: its own and those before
    /// it, `window` in all.
    pub fn training_folders(
        &self,
        generation: Generation,
        window: u32,
    ) -> Result<Vec<PathBuf>, ArtifactError> {
        let mut folders = Vec::new();
        let oldest = (generation + 1).back(window).max(Generation::FIRST);
        for older in oldest.to(generation) {
            let folder = generation_folder(self.datasets, Stage::Generate, older);
            // Of closed generations only those inside the old window are still there; a larger
            // window finds no more.
            if self.closed.generation < older || exists(&folder.join("manifest.json"))? {
                folders.push(folder);
            }
        }
        Ok(folders)
    }

    /// What the config changes for generations that are finished.
    pub fn changes(&self) -> Vec<String> {
        match self.file.configs.last() {
            Some(last) if Generation::NONE < self.settled() => {
                last.differences(&ConfigEntry::new(last.from, &self.config))
            }
            _ => Vec::new(),
        }
    }

    /// The config of a generation that the loop would use now: the recorded one once a generation
    /// is finished.
    ///
    /// # Errors
    ///
    /// A snapshot that is missing or was edited.
    pub fn config_of(&self, generation: Generation) -> Result<LoadedConfig, StageError> {
        match self.file.config_of(generation) {
            Some(entry)
                if Generation::NONE < self.settled()
                    && !entry.differences(&entry.of(&self.config)).is_empty() =>
            {
                snapshot::load(self.registry.folder(), &self.config.name, entry)
            }
            _ => Ok(self.config.clone()),
        }
    }

    /// Records the config, or refuses it; finished generations keep theirs. Returns what the
    /// generation that has begun loses by it.
    ///
    /// # Errors
    ///
    /// A change that finished generations forbid, datasets that are not the run's to replace, or a
    /// system error.
    pub fn take_config(&mut self, change: Change) -> Result<Option<Loss>, StageError> {
        let settled = self.settled();
        let recorded = self.file.config_of(settled + 1).cloned();
        self.record_config(change)?;
        let taken = self.file.config_of(settled + 1);
        match recorded {
            Some(recorded)
                if taken.is_some_and(|taken| !recorded.differences(taken).is_empty()) =>
            {
                self.superseded(&recorded)
            }
            _ => Ok(None),
        }
    }

    fn record_config(&mut self, change: Change) -> Result<(), StageError> {
        let settled = self.settled();
        let ours = ConfigEntry::new(Generation::FIRST, &self.config);
        if settled == Generation::NONE {
            if !self.keeps_record() || 1 < self.file.configs.len() {
                self.file.configs = vec![ours];
                self.file.generations.clear();
            }
        } else if self
            .file
            .configs
            .last()
            .is_none_or(|last| !last.differences(&ours).is_empty())
        {
            self.change_config(change, settled + 1)?;
        }
        let run = &self.config.config.run;
        for entry in &mut self.file.configs {
            entry.config["run"]["generations"] = json!(run.generations);
            entry.config["run"]["keep_generations"] = json!(run.keep_generations);
        }
        Ok(())
    }

    /// Uses a different config from the next generation on; one that has begun keeps its config.
    fn change_config(&mut self, change: Change, next: Generation) -> Result<(), StageError> {
        let ours = ConfigEntry::new(next, &self.config);
        // What a restart removes has not begun, even in a preview, where it is still there.
        let is_kept = self.restart_from(change).is_none_or(|from| next < from);
        let has_begun = self.file.player_of(next).is_some() || (is_kept && next <= self.begun()?);
        let begun = has_begun
            && self
                .file
                .config_of(next)
                .is_some_and(ConfigEntry::has_algorithms_of_today);
        let from = if begun { next + 1 } else { next };
        let before = self.file.config_of(from - 1);
        // A change with which no generation has begun can be undone.
        let same = before.is_some_and(|before| before.differences(&ours).is_empty());
        if change == Change::Refuse && !same {
            let (run, changes) = (self.config.name.clone(), self.changes().join("\n"));
            return Err(RunError::ChangedConfig {
                run,
                finished: next - 1,
                changes,
            }
            .into());
        }
        self.file.configs.retain(|entry| entry.from < from);
        if !same {
            self.file.configs.push(ConfigEntry { from, ..ours });
        }
        Ok(())
    }

    /// Where a restart begins, if one is asked for or was interrupted.
    pub fn restart_from(&self, change: Change) -> Option<Generation> {
        let asked = if let Change::Restart(from) = change {
            Some(from)
        } else {
            None
        };
        asked.into_iter().chain(self.file.restart).min()
    }
}
