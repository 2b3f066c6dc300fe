//! What the next generation of a run needs: its number, its config, who plays it, and the datasets
//! it trains on.

use super::error::RunError;
use super::folders::{DatasetFolder, GENERATIONS_MAX, generation_folder};
use super::lineage::{Change, GenerationEntry, GenerationPlayer, Lineage};
use super::loss::Loss;
use super::requests::Requests;
use super::standings::standings;
use super::state::{StageState, run_steps};
use crate::artifact::publish::exists;
use crate::artifact::{ArtifactError, ModelRef, Verdict, VersionId};
use crate::generation::Generation;
use crate::pipeline::StageError;
use crate::pipeline::work::{DatasetState, TaskState};

/// The generations that one call of `renma run` makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generations {
    /// Up to `run.generations`.
    Configured,
    /// Up to this one.
    Last(u32),
    /// This number of new ones.
    More(u32),
}

impl std::str::FromStr for Generations {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.strip_prefix('+').unwrap_or(text).parse::<u32>();
        match number.ok().filter(|number| *number <= GENERATIONS_MAX) {
            Some(number) if text.starts_with('+') => Ok(Self::More(number)),
            Some(number) => Ok(Self::Last(number)),
            None => Err(format!(
                "expected a number of generations up to {GENERATIONS_MAX}, or + and a number"
            )),
        }
    }
}

/// What the next generation needs.
#[derive(Clone, Debug)]
pub struct Next {
    /// Its number.
    pub generation: Generation,
    /// The last generation of this call; there is nothing to do if it comes before `generation`.
    pub last: Generation,
    /// What it asks of its stages.
    pub requests: Requests,
    /// The model that plays its games, and that its candidate challenges.
    pub champion: ModelRef,
    /// The number of finished generations that gc keeps; 0: all.
    pub keep: u32,
    /// The verdict of the last finished generation, if there is one.
    pub verdict: Option<Verdict>,
    /// A former champion that the champion is to play before, so that the ladder does not drift.
    pub veteran: Option<ModelRef>,
}

/// After this number of generations the champion plays a former one.
const DRIFT_GENERATIONS: u32 = 5;
/// It plays the oldest one within this distance on the ladder: matches of players further apart say
/// little.
const DRIFT_ELO_MAX: f64 = 300.0;

impl Lineage<'_> {
    /// Takes the config into the run and begins the next generation, which fixes its config and who
    /// plays it.
    ///
    /// The caller holds the lock of the run. `announce` is called before a restart removes
    /// anything.
    ///
    /// # Errors
    ///
    /// A config that conflicts with finished generations, a finished stage with other inputs, or a
    /// system error.
    pub fn begin_next(
        &mut self,
        change: Change,
        generations: Generations,
        announce: impl Fn(&Loss),
    ) -> Result<Next, StageError> {
        self.check_record(change)?;
        let begun = self.begun_before(change)?;
        if let Some(from) = self.restart_from(change) {
            let loss = self.loss(from)?;
            loss.iter().for_each(&announce);
            self.restart(from, loss)?;
        }
        let superseded = self.take_config(change)?;
        // A run that is refused has written nothing.
        let next = self.coming(superseded.as_ref())?;
        if let Some(loss) = superseded {
            announce(&loss);
            self.remove_superseded(&loss)?;
        }
        self.write()?;
        let last = self.last(generations, begun, next);
        if next <= last && self.file.player_of(next).is_none() {
            let player = self.player(next)?;
            self.file.generations.push(GenerationEntry {
                generation: next,
                player,
            });
            self.file.generations.sort_by_key(|entry| entry.generation);
            self.write()?;
        }
        self.next(next, last)
    }

    /// What [`Lineage::begin_next`] would do, and what a restart would remove first; nothing is
    /// written.
    pub fn preview_next(
        &mut self,
        change: Change,
        generations: Generations,
    ) -> Result<(Next, Option<Loss>), StageError> {
        self.check_record(change)?;
        let begun = self.begun_before(change)?;
        let restart = self.restart_from(change);
        let loss = restart.map(|from| self.loss(from)).transpose()?.flatten();
        if let Some(from) = restart {
            self.forget(from, loss.as_ref());
        }
        let superseded = self.take_config(change)?;
        let next = match restart {
            Some(from) => from.min(self.finished() + 1),
            None => self.coming(superseded.as_ref())?,
        };
        Ok((
            self.next(next, self.last(generations, begun, next))?,
            loss.or(superseded),
        ))
    }

    /// Refuses a registry with versions or promotions and no record of how they came about, unless
    /// all of it is to be made again.
    fn check_record(&self, change: Change) -> Result<(), StageError> {
        self.check_promotions()?;
        if !self.file.configs.is_empty() || self.restart_from(change) == Some(Generation::FIRST) {
            return Ok(());
        }
        let folder = self.registry.folder();
        let ids: Vec<VersionId> = self
            .versions
            .documents
            .iter()
            .map(|document| document.id)
            .collect();
        let mut found = match ids[..] {
            [] => Vec::new(),
            [id] => vec![id.to_string()],
            [first, .., last] => vec![format!("{first} to {last}")],
        };
        for name in ["champion.json", "closed.json"] {
            found.extend(exists(&folder.join(name))?.then(|| name.to_owned()));
        }
        if found.is_empty() {
            return Ok(());
        }
        let reason = format!(
            "it has {} and no lineage.json, which says how they were made\n\
             restore lineage.json, or begin another run with a config of another name; --restart 1 removes what this run made",
            found.join(" and ")
        );
        Err(ArtifactError::conflict(folder, reason).into())
    }

    /// The generations that a restart makes again, if they are not named: those that had begun; 0
    /// without a restart.
    ///
    /// # Errors
    ///
    /// A restart from a generation that is not there.
    pub fn begun_before(&self, change: Change) -> Result<Generation, StageError> {
        let Change::Restart(from) = change else {
            return Ok(Generation::NONE);
        };
        let begun = self
            .file
            .generations
            .last()
            .map_or(Generation::NONE, |entry| entry.generation);
        if begun + 1 < from {
            return Err(RunError::NotBegun {
                from,
                run: self.config.name.clone(),
                begun,
            }
            .into());
        }
        Ok(begun)
    }

    /// The last generation of a call of which `next` is the first.
    pub fn last(
        &self,
        generations: Generations,
        begun: Generation,
        next: Generation,
    ) -> Generation {
        let last = match generations {
            Generations::Configured => self.config.config.run.generations.max(begun.0),
            Generations::Last(last) => last,
            Generations::More(more) => next.back(1).0.saturating_add(more),
        };
        Generation(last.min(GENERATIONS_MAX))
    }

    /// The next generation, unless what is there was made from other inputs than the record says;
    /// of the generation that has begun, what a changed config has `superseded` does not count.
    fn coming(&self, superseded: Option<&Loss>) -> Result<Generation, StageError> {
        let steps = run_steps(self)?;
        let settled = self.settled();
        // A stage without a step waits for those before it.
        let is_stale = |state: &&StageState| {
            state.generation <= settled && state.state == TaskState::Stale && state.step.is_some()
        };
        if let Some(state) = steps.stages.iter().find(is_stale) {
            let because = state
                .because
                .as_deref()
                .unwrap_or("which ones is not known")
                .to_owned();
            let (run, stage, generation) =
                (self.config.name.clone(), state.stage, state.generation);
            return Err(RunError::StaleStage {
                run,
                stage,
                generation,
                because,
            }
            .into());
        }
        let is_other = |state: &&StageState| {
            state.dataset == DatasetState::Other
                && superseded.is_none_or(|loss| loss.from != state.generation)
        };
        match steps.stages.iter().find(is_other) {
            Some(state) => Err(self.other_origin(state)),
            None => Ok(steps.next),
        }
    }

    /// What a generation needs.
    fn next(&self, generation: Generation, last: Generation) -> Result<Next, StageError> {
        let finished = self.finished();
        let verdict = self.verdict(finished).map(|file| file.verdict);
        let closed = self
            .closed
            .generations
            .iter()
            .find(|line| line.generation == finished);
        Ok(Next {
            generation,
            last,
            requests: self.requests(generation)?,
            champion: self.player(generation)?.name,
            keep: self.config.config.run.keep_generations,
            verdict: verdict.or_else(|| closed.and_then(|line| line.verdict)),
            veteran: self.veteran(finished)?,
        })
    }

    /// The opponent of the drift match that is due after the last finished generation.
    fn veteran(&self, finished: Generation) -> Result<Option<ModelRef>, StageError> {
        let folder = generation_folder(self.datasets, DatasetFolder::Drift, finished);
        if finished == Generation::NONE
            || !finished.0.is_multiple_of(DRIFT_GENERATIONS)
            || exists(&folder.join("verdict.json"))?
        {
            return Ok(None);
        }
        let standings = standings(&self.gates, self.datasets, &self.versions)?;
        let elo = |player: &GenerationPlayer| {
            let standing = standings
                .iter()
                .find(|standing| standing.content == player.content);
            standing.map(|standing| standing.rating.elo)
        };
        let champion = self.player(finished + 1)?;
        let Some(best) = elo(&champion) else {
            return Ok(None);
        };
        let is_near =
            |player: &&GenerationPlayer| elo(player).is_some_and(|elo| best - elo <= DRIFT_ELO_MAX);
        // gc may have removed a version whose promotion was taken back.
        let near = self
            .file
            .generations
            .iter()
            .map(|entry| &entry.player)
            .filter(is_near);
        for oldest in near.take_while(|player| player.content != champion.content) {
            let is_there = match oldest.name {
                ModelRef::Version(id) => exists(&self.registry.folder_of(id))?,
                ModelRef::Builtin(_) | ModelRef::Champion | ModelRef::Path(_) => true,
            };
            if is_there {
                return Ok(Some(oldest.name.clone()));
            }
        }
        Ok(None)
    }
}
