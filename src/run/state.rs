//! The state of every stage of a run, from the step ids that the stages compute.

use super::config_entry::ConfigEntry;
use super::folders::{generation_folder, recipe_of};
use super::lineage::{Lineage, Player};
use super::tasks::GenerationTasks;
use crate::artifact::dataset::folder::part_indices;
use crate::artifact::model::reference::load_model;
use crate::artifact::{
    ArtifactError, ContentHash, Dataset, DatasetKind, FolderLock, LoadedModel, Manifest, ModelDocument, Step,
};
use crate::pipeline::StageError;
use crate::pipeline::fit_mpc;
use crate::pipeline::gate;
use crate::pipeline::generate;
use crate::pipeline::stage::Stage;
use crate::pipeline::stage_task::StageTask;
use crate::pipeline::train;
use serde::Serialize;
use std::path::PathBuf;

/// The state of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Its result exists, made from the current inputs.
    Done,
    /// It is running.
    Running,
    /// Its result exists, made from other inputs.
    Stale,
    /// Its result does not exist.
    Missing,
}

impl State {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Running => "running",
            Self::Stale => "stale",
            Self::Missing => "missing",
        }
    }
}

/// How much of a stage is done: parts of games or samples, epochs of phases, or batches of pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PartCount {
    /// Those that are done.
    pub done: u64,
    /// Those that the stage needs; for a gate, at most.
    pub asked: u64,
}

/// A stage of a generation.
#[derive(Clone, Debug, Serialize)]
pub struct StageState {
    /// The generation.
    pub generation: u32,
    /// The stage.
    pub stage: Stage,
    /// Its state.
    pub state: State,
    /// Why it is stale.
    pub because: Option<String>,
    /// How much of it is done, if it has begun and is not finished.
    pub parts: Option<PartCount>,
    /// Its step; none while its inputs are unknown.
    pub step: Option<ContentHash>,
    /// The version that it made.
    pub version: Option<String>,
}

/// The stages of a run.
#[derive(Debug)]
pub struct RunSteps {
    /// By generation, in the order of the loop.
    pub stages: Vec<StageState>,
    /// The first generation that is not closed.
    pub first: u32,
    /// The first generation that is not done.
    pub next: u32,
}

/// The state of a stage, and what it passes on once it is done.
type Found<T> = (StageState, Option<T>);

/// The stages of a generation, one after another.
struct Walk<'a> {
    lineage: &'a Lineage<'a>,
    documents: &'a [ModelDocument],
    tasks: GenerationTasks,
    stages: &'a mut Vec<StageState>,
    /// Why the next stage has no inputs.
    blocked: Option<String>,
}

/// The stages of every generation that has begun and is not closed, and of the next one.
///
/// # Errors
///
/// A damaged document.
pub fn run_steps(lineage: &Lineage<'_>) -> Result<RunSteps, StageError> {
    let (closed, finished) = (lineage.closed.generation, lineage.finished());
    let first = closed + 1;
    let begun = lineage.begun()?;
    let last = begun.max(lineage.config.config.run.generations.min(begun.max(closed) + 1));
    let documents = lineage.registry.documents()?;
    let (mut stages, mut next) = (Vec::new(), first);
    for generation in first..=last {
        let done = if generation <= finished && !can_be_computed(lineage, generation)? {
            stages.extend(recorded(lineage, &documents, generation));
            true
        } else {
            let blocked = (next < generation).then(|| format!("generation {} is not done", generation - 1));
            let tasks = lineage.tasks(generation)?;
            let walk = Walk { lineage, documents: &documents, tasks, stages: &mut stages, blocked };
            let awaits = lineage.verdict(generation).is_some_and(|verdict| lineage.awaits_promotion(verdict));
            walk.generation()? && (generation <= finished || !awaits)
        };
        if done && next == generation {
            next += 1;
        }
    }
    Ok(RunSteps { stages, first, next })
}

/// Whether this program makes a generation's steps: it has the algorithms and the player that made it.
fn can_be_computed(lineage: &Lineage<'_>, generation: u32) -> Result<bool, StageError> {
    let entry = lineage.file.config_of(generation);
    let player = lineage.player(generation)?;
    let loaded = load_model(&player.name, lineage.registry.folder())?;
    // A built-in model may differ between releases.
    Ok(entry.is_none_or(ConfigEntry::has_algorithms_of_today) && loaded.content == player.content)
}

/// The stages of a finished generation whose steps this program can no longer compute, by their recorded ids.
fn recorded(lineage: &Lineage<'_>, documents: &[ModelDocument], generation: u32) -> [StageState; 4] {
    let verdict = lineage.verdict(generation);
    let of_content = |content| documents.iter().find(|document| document.content == content);
    let candidate = verdict.and_then(|verdict| of_content(verdict.candidate.content));
    let draft = candidate.and_then(|candidate| of_content(candidate.origin.parent.as_ref()?.content));
    Stage::ALL.map(|stage| {
        let made = match stage {
            Stage::Train => draft,
            Stage::FitMpc => candidate,
            Stage::Generate | Stage::Gate => None,
        };
        let verdict_step = verdict.filter(|_| stage == Stage::Gate).map(|verdict| verdict.step);
        StageState {
            step: made.map(|document| document.origin.step).or(verdict_step),
            version: made.map(|document| document.id.to_string()),
            ..StageState::new(generation, stage, State::Done, None)
        }
    })
}

impl StageState {
    const fn new(generation: u32, stage: Stage, state: State, because: Option<String>) -> Self {
        Self { generation, stage, state, because, parts: None, step: None, version: None }
    }
}

impl Walk<'_> {
    /// The four stages of the generation; whether all are done. Its player is known once the previous one is done.
    fn generation(mut self) -> Result<bool, StageError> {
        let champion = match self.blocked {
            None => Some(self.load(&self.lineage.player(self.tasks.generation)?)?),
            Some(_) => None,
        };
        let champion = champion.as_ref();
        let dataset = self.stage(Stage::Generate, champion, Self::generate)?;
        let draft = self.stage(Stage::Train, dataset.and(champion), Self::train)?;
        let candidate = self.stage(Stage::FitMpc, draft.as_ref(), Self::fit_mpc)?;
        let verdict = self.stage(Stage::Gate, candidate.as_ref().zip(champion), Self::gate)?;
        Ok(verdict.is_some())
    }

    /// Adds a stage as far as its inputs are known; if they are not, an earlier result of it is stale.
    fn stage<I, T>(
        &mut self,
        stage: Stage,
        inputs: Option<I>,
        find: impl FnOnce(&Self, I) -> Result<Found<T>, ArtifactError>,
    ) -> Result<Option<T>, ArtifactError> {
        let generation = self.tasks.generation;
        let Some(inputs) = inputs else {
            let has_result =
                if stage.makes_versions() { self.latest(stage).is_some() } else { self.manifest(stage)?.is_some() };
            let state = if has_result { State::Stale } else { State::Missing };
            self.stages.push(StageState::new(generation, stage, state, self.blocked.clone()));
            return Ok(None);
        };
        let (mut state, made) = find(self, inputs)?;
        if made.is_none() {
            self.blocked = Some(format!("{stage} of generation {generation} is {}", state.state.name()));
        }
        let registry = self.lineage.registry.folder();
        let folder = if stage.makes_versions() { registry.to_owned() } else { self.folder(stage) };
        // A registry's lock does not name its generation: it is the one whose inputs are known and whose result is not.
        if state.state != State::Done && FolderLock::is_held(&folder, stage.lock())? {
            state.state = State::Running;
        }
        self.stages.push(state);
        Ok(made)
    }

    fn load(&self, player: &Player) -> Result<LoadedModel, ArtifactError> {
        let registry = self.lineage.registry.folder();
        let loaded = load_model(&player.name, registry)?;
        if loaded.content != player.content {
            let (found, known) = (loaded.content.short(), player.content.short());
            let reason = format!(
                "{} is model {found} now, and generation {generation} began with {known}\nmake it again with --restart {generation}",
                player.name,
                generation = self.tasks.generation
            );
            return Err(ArtifactError::unfit(&registry.join("lineage.json"), reason));
        }
        Ok(loaded)
    }

    fn folder(&self, stage: Stage) -> PathBuf {
        generation_folder(self.lineage.datasets, stage, self.tasks.generation)
    }

    fn manifest(&self, stage: Stage) -> Result<Option<Manifest>, ArtifactError> {
        stage.dataset().map_or(Ok(None), |kind| Manifest::find(&self.folder(stage), kind))
    }

    fn generate(&self, model: &LoadedModel) -> Result<Found<()>, ArtifactError> {
        let task = self.tasks.generate(model);
        let (step, made_by) = (generate::recipe::step(&task), generate::recipe::recipe(&task).hash);
        let (games, manifest) = (task.config.games, self.manifest(Stage::Generate)?);
        let because = match (&manifest, recipe_of(task.output)?) {
            (Some(manifest), Some(recipe)) if recipe != made_by => {
                let mut settings = manifest.settings(Stage::Generate.facts().config_table);
                settings.iter_mut().filter(|(name, _)| name == "player").for_each(|(name, _)| *name = "model".into());
                Some(step.difference(&settings))
            }
            (None, Some(recipe)) if recipe != made_by => Some("its parts are of another recipe".into()),
            (Some(manifest), _) if manifest.done != games => {
                Some(format!("generate.games is {} there and {games} here", manifest.done))
            }
            _ => None,
        };
        let (mut state, made) = self.found(Stage::Generate, &step, because, manifest.map(drop));
        if state.state == State::Missing {
            state.parts = Self::parts(&StageTask::Generate(task))?;
        }
        Ok((state, made))
    }

    fn train(&self, parent: &LoadedModel) -> Result<Found<LoadedModel>, ArtifactError> {
        let task = self.tasks.train(parent);
        let datasets = task.datasets.iter().map(|folder| Dataset::open(folder)).collect::<Result<Vec<_>, _>>()?;
        let step = train::recipe::step(&task, &datasets);
        let (mut state, made) = self.version(Stage::Train, &step)?;
        if state.state != State::Done {
            let epochs = train::run::epochs_done(&task, step.id)?;
            state.parts = epochs.map(|[done, asked]| PartCount { done, asked });
        }
        Ok((state, made))
    }

    fn fit_mpc(&self, draft: &LoadedModel) -> Result<Found<LoadedModel>, ArtifactError> {
        let task = self.tasks.fit_mpc(draft);
        let (mut state, made) = self.version(Stage::FitMpc, &fit_mpc::recipe::step(&task))?;
        let has_samples = self.manifest(Stage::FitMpc)?.is_some_and(|samples| {
            samples.recipe == fit_mpc::recipe::recipe(&task).hash && samples.done == task.config.games
        });
        if state.state != State::Done {
            state.parts = Self::parts(&StageTask::FitMpc(task))?;
        } else if !has_samples {
            state.state = State::Missing;
            state.because = Some(format!("its samples are not in {}", self.folder(Stage::FitMpc).display()));
            return Ok((state, None));
        }
        Ok((state, made))
    }

    fn gate(&self, (candidate, champion): (&LoadedModel, &LoadedModel)) -> Result<Found<()>, ArtifactError> {
        let task = self.tasks.gate(candidate, champion);
        let step = gate::recipe::step(&task)?;
        let verdict = self.lineage.verdict(self.tasks.generation);
        let mut because = None;
        if let Some(verdict) = verdict.filter(|verdict| verdict.step != step.id) {
            let mut settings =
                Manifest::read(task.output, DatasetKind::Gate)?.settings(Stage::Gate.facts().config_table);
            let avoided: Vec<String> = verdict.avoided.iter().map(ToString::to_string).collect();
            settings
                .push(("avoid".to_owned(), if avoided.is_empty() { "nothing".to_owned() } else { avoided.join(" ") }));
            because = Some(step.difference(&settings));
        }
        let (mut state, made) = self.found(Stage::Gate, &step, because, verdict.map(|_| ()));
        if state.state == State::Missing {
            state.parts = Self::parts(&StageTask::Gate(task))?;
        }
        Ok((state, made))
    }

    /// How many parts of its dataset a stage has made, if there are any.
    fn parts(task: &StageTask<'_>) -> Result<Option<PartCount>, ArtifactError> {
        let Some((table, dataset)) = task.stage().tables().last().zip(task.dataset()) else { return Ok(None) };
        let parts = part_indices(dataset.folder, table)?.into_iter();
        let done = parts.filter(|&part| (part as u64) < dataset.parts).count() as u64;
        Ok((0 < done).then_some(PartCount { done, asked: dataset.parts }))
    }

    /// The newest version that a stage made in this generation.
    fn latest(&self, stage: Stage) -> Option<&ModelDocument> {
        let of_this = |document: &&ModelDocument| {
            document.origin.stage == stage.name() && document.origin.generation() == Some(self.tasks.generation)
        };
        self.documents.iter().rev().find(of_this)
    }

    /// The state of a stage that makes a version, and the version.
    fn version(&self, stage: Stage, step: &Step) -> Result<Found<LoadedModel>, ArtifactError> {
        let made = self.lineage.registry.made_by(step.id)?;
        let version = made.as_ref().map(|made| made.id.to_string());
        let latest = self.latest(stage).filter(|_| made.is_none());
        let because = latest.map(|latest| {
            let mut settings = latest.origin.settings();
            // For MPC statistics with the weights they were fitted to.
            settings.extend(latest.mpc_weights.map(|weights| ("weights".to_owned(), weights.to_string())));
            step.difference(&settings)
        });
        let (state, made) = self.found(stage, step, because, made);
        Ok((StageState { version, ..state }, made))
    }

    /// A stage that is stale for a reason, or has made something, or neither.
    fn found<T>(&self, stage: Stage, step: &Step, because: Option<String>, made: Option<T>) -> Found<T> {
        let state = match (&because, &made) {
            (Some(_), _) => State::Stale,
            (None, Some(_)) => State::Done,
            (None, None) => State::Missing,
        };
        let state = StageState { step: Some(step.id), ..StageState::new(self.tasks.generation, stage, state, because) };
        let made = made.filter(|_| state.state == State::Done);
        (state, made)
    }
}
