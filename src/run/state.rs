//! The state of every stage of a run, from the step ids that the stages compute.

use super::config_entry::ConfigEntry;
use super::folders::{generation_folder, recipe_of, recipe_of_parts};
use super::lineage::Lineage;
use super::tasks::GenerationTasks;
use crate::artifact::dataset::folder::part_indices;
use crate::artifact::model::reference::find_model;
use crate::artifact::{
    ArtifactError, ContentHash, Dataset, DatasetKind, FolderLock, KnownModel, Manifest, ModelDocument, Step,
};
use crate::pipeline::StageError;
use crate::pipeline::fit_mpc;
use crate::pipeline::gate;
use crate::pipeline::generate;
use crate::pipeline::stage::Stage;
use crate::pipeline::stage_task::StageTask;
use crate::pipeline::train;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
    /// What is in the folder of its dataset.
    #[serde(skip)]
    pub dataset: DatasetState,
}

/// What is in the folder of a stage's dataset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DatasetState {
    /// Nothing, or the stage makes none.
    #[default]
    Nothing,
    /// What the stage was asked for, or a part of it.
    Asked,
    /// Something that was made from other inputs, or more than the stage was asked for.
    Other,
    /// Something of which nobody can tell before the stages before it are done.
    Unknown,
}

impl DatasetState {
    const fn of(is_there: bool, is_asked: bool) -> Self {
        match (is_there, is_asked) {
            (false, _) => Self::Nothing,
            (true, true) => Self::Asked,
            (true, false) => Self::Other,
        }
    }
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

/// What the walk over the generations has read so far.
#[derive(Default)]
struct Seen {
    stages: Vec<StageState>,
    /// The contents of self-play, by folder.
    contents: BTreeMap<PathBuf, ContentHash>,
    /// Players that are not versions of the registry, by name.
    players: BTreeMap<String, KnownModel>,
}

/// The stages of a generation, one after another.
struct Walk<'a> {
    lineage: &'a Lineage<'a>,
    tasks: GenerationTasks,
    seen: &'a mut Seen,
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
    let (mut seen, mut next) = (Seen::default(), first);
    for generation in first..=last {
        let done = if generation <= finished && !seen.can_be_computed(lineage, generation)? {
            seen.stages.extend(recorded(lineage, generation));
            true
        } else {
            let blocked = (next < generation).then(|| format!("generation {} is not done", generation - 1));
            let tasks = lineage.tasks(generation)?;
            let is_done = Walk { lineage, tasks, seen: &mut seen, blocked }.generation()?;
            let awaits = lineage.verdict(generation).is_some_and(|verdict| lineage.awaits_promotion(verdict));
            is_done && (generation <= finished || !awaits)
        };
        if done && next == generation {
            next += 1;
        }
    }
    Ok(RunSteps { stages: seen.stages, first, next })
}

impl Seen {
    /// A player of the run.
    fn player(&mut self, lineage: &Lineage<'_>, name: &str) -> Result<KnownModel, ArtifactError> {
        let version = name.parse().ok().and_then(|id| lineage.versions.with_id(id));
        if let Some(known) = version.as_ref().or(self.players.get(name)) {
            return Ok(known.clone());
        }
        let known = find_model(name, lineage.registry.folder())?;
        self.players.insert(name.to_owned(), known.clone());
        Ok(known)
    }

    /// Whether this program makes a generation's steps: it has the algorithms and the player that made it.
    fn can_be_computed(&mut self, lineage: &Lineage<'_>, generation: u32) -> Result<bool, StageError> {
        let entry = lineage.file.config_of(generation);
        let player = lineage.player(generation)?;
        let known = self.player(lineage, &player.name)?;
        // A built-in model may differ between releases.
        Ok(entry.is_none_or(ConfigEntry::has_algorithms_of_today) && known.content == player.content)
    }

    /// The content of a dataset of self-play.
    fn content(&mut self, folder: &Path) -> Result<ContentHash, ArtifactError> {
        if let Some(content) = self.contents.get(folder) {
            return Ok(*content);
        }
        let content = Dataset::open(folder)?.manifest().content;
        self.contents.insert(folder.to_owned(), content);
        Ok(content)
    }
}

/// The stages of a finished generation whose steps this program can no longer compute, by their recorded ids.
fn recorded(lineage: &Lineage<'_>, generation: u32) -> [StageState; 4] {
    let (verdict, versions) = (lineage.verdict(generation), &lineage.versions);
    let candidate = verdict.and_then(|verdict| versions.with_content(verdict.candidate.content));
    let draft = candidate.and_then(|candidate| versions.with_content(candidate.origin.parent.as_ref()?.content));
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
    /// Whether what is in the folder of its dataset was made with this config. With algorithms of the past only these may differ.
    pub(super) fn is_as_recorded(&self, entry: &ConfigEntry) -> bool {
        let only_algorithm = |because: &String| because.starts_with("algorithm is") || because == "another algorithm";
        match self.dataset {
            DatasetState::Nothing | DatasetState::Asked => true,
            DatasetState::Other => {
                !entry.has_algorithms_of_today() && self.because.as_ref().is_some_and(only_algorithm)
            }
            DatasetState::Unknown => false,
        }
    }

    const fn new(generation: u32, stage: Stage, state: State, because: Option<String>) -> Self {
        Self {
            generation,
            stage,
            state,
            because,
            parts: None,
            step: None,
            version: None,
            dataset: DatasetState::Nothing,
        }
    }
}

impl Walk<'_> {
    /// The four stages of the generation; whether all are done. Its player is known once the previous one is done.
    fn generation(mut self) -> Result<bool, StageError> {
        let champion = match self.blocked {
            None => Some(self.player()?),
            Some(_) => None,
        };
        let champion = champion.as_ref();
        let dataset = self.stage(Stage::Generate, champion, Self::generate)?;
        let draft = self.stage(Stage::Train, dataset.and(champion), Self::train)?;
        let candidate = self.stage(Stage::FitMpc, draft.as_ref(), Self::fit_mpc)?;
        let players = candidate.as_ref().zip(champion).map(|(candidate, champion)| Players { candidate, champion });
        let verdict = self.stage(Stage::Gate, players, Self::gate)?;
        Ok(verdict.is_some())
    }

    /// Adds a stage as far as its inputs are known; if they are not, an earlier result of it is stale.
    fn stage<I, T>(
        &mut self,
        stage: Stage,
        inputs: Option<I>,
        find: impl FnOnce(&mut Self, I) -> Result<Found<T>, ArtifactError>,
    ) -> Result<Option<T>, ArtifactError> {
        let generation = self.tasks.generation;
        let Some(inputs) = inputs else {
            let is_there = match stage.dataset() {
                Some(_) => recipe_of(&self.folder(stage))?.is_some(),
                None => false,
            };
            let has_result = if stage.makes_versions() { self.latest(stage).is_some() } else { is_there };
            let state = if has_result { State::Stale } else { State::Missing };
            let dataset = if is_there { DatasetState::Unknown } else { DatasetState::Nothing };
            let state = StageState { dataset, ..StageState::new(generation, stage, state, self.blocked.clone()) };
            self.seen.stages.push(state);
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
        self.seen.stages.push(state);
        Ok(made)
    }

    fn player(&mut self) -> Result<KnownModel, ArtifactError> {
        let player = self.lineage.player(self.tasks.generation)?;
        let known = self.seen.player(self.lineage, &player.name)?;
        if known.content != player.content {
            let (found, expected) = (known.content.short(), player.content.short());
            let reason = format!(
                "{} is model {found} now, and generation {generation} began with {expected}\nmake it again with --restart {generation}",
                player.name,
                generation = self.tasks.generation
            );
            return Err(ArtifactError::unfit(&self.lineage.registry.folder().join("lineage.json"), reason));
        }
        Ok(known)
    }

    fn folder(&self, stage: Stage) -> PathBuf {
        generation_folder(self.lineage.datasets, stage, self.tasks.generation)
    }

    fn manifest(&self, stage: Stage) -> Result<Option<Manifest>, ArtifactError> {
        stage.dataset().map_or(Ok(None), |kind| Manifest::find(&self.folder(stage), kind))
    }

    fn generate(&mut self, model: &KnownModel) -> Result<Found<()>, ArtifactError> {
        let task = self.tasks.generate(model);
        let (step, asked) = (generate::recipe::step(&task), generate::recipe::recipe(&task).hash);
        let (games, manifest) = (task.config.games, self.manifest(Stage::Generate)?);
        let recipe = found_recipe(task.output, manifest.as_ref())?;
        let because = match (&manifest, recipe) {
            (Some(manifest), Some(recipe)) if recipe != asked => {
                let mut settings = manifest.settings(Stage::Generate.facts().config_table);
                settings.iter_mut().filter(|(name, _)| name == "player").for_each(|(name, _)| *name = "model".into());
                Some(step.difference(&settings))
            }
            (None, Some(recipe)) if recipe != asked => Some("its parts are of another recipe".into()),
            (Some(manifest), _) if manifest.done != games => {
                Some(format!("generate.games is {} there and {games} here", manifest.done))
            }
            _ => None,
        };
        if let Some(manifest) = &manifest {
            self.seen.contents.insert(task.output.to_owned(), manifest.content);
        }
        let is_more = manifest.as_ref().is_some_and(|manifest| games < manifest.done);
        let dataset = DatasetState::of(recipe.is_some(), recipe == Some(asked) && !is_more);
        let (mut state, made) = self.found(Stage::Generate, &step, because, manifest.map(drop));
        if state.state == State::Missing {
            state.parts = Self::parts(&StageTask::Generate(task))?;
        }
        Ok((StageState { dataset, ..state }, made))
    }

    fn train(&mut self, parent: &KnownModel) -> Result<Found<KnownModel>, ArtifactError> {
        let contents = self.contents()?;
        let task = self.tasks.train(parent);
        let step = train::recipe::step(&task, &contents);
        let (mut state, made) = self.version(Stage::Train, &step);
        if state.state != State::Done {
            let epochs = train::run::epochs_done(&task, step.id)?;
            state.parts = epochs.map(|[done, asked]| PartCount { done, asked });
        }
        Ok((state, made))
    }

    fn fit_mpc(&mut self, draft: &KnownModel) -> Result<Found<KnownModel>, ArtifactError> {
        let task = self.tasks.fit_mpc(draft);
        let (mut state, made) = self.version(Stage::FitMpc, &fit_mpc::recipe::step(&task));
        let (games, asked) = (task.config.games, fit_mpc::recipe::recipe(&task).hash);
        let manifest = self.manifest(Stage::FitMpc)?;
        let recipe = found_recipe(&self.folder(Stage::FitMpc), manifest.as_ref())?;
        let done = manifest.as_ref().filter(|manifest| manifest.recipe == asked).map(|manifest| manifest.done);
        let is_more = done.is_some_and(|done| games < done);
        state.dataset = DatasetState::of(recipe.is_some(), recipe == Some(asked) && !is_more);
        if state.state != State::Done {
            state.parts = Self::parts(&StageTask::FitMpc(task))?;
        } else if done != Some(games) {
            state.state = State::Missing;
            state.because = Some(format!("its samples are not in {}", self.folder(Stage::FitMpc).display()));
            return Ok((state, None));
        }
        Ok((state, made))
    }

    fn gate(&mut self, players: Players<'_>) -> Result<Found<()>, ArtifactError> {
        let mut contents = self.contents()?;
        contents.sort_unstable();
        contents.dedup();
        let task = self.tasks.gate(players.candidate, players.champion);
        let (asked, step) = gate::recipe::identity(&task, &contents);
        let verdict = self.lineage.verdict(self.tasks.generation);
        let mut because = None;
        let dataset = match verdict {
            Some(verdict) if verdict.step == step.id => DatasetState::Asked,
            Some(verdict) => {
                let mut settings =
                    Manifest::read(task.output, DatasetKind::Gate)?.settings(Stage::Gate.facts().config_table);
                let avoided: Vec<String> = verdict.avoided.iter().map(ToString::to_string).collect();
                let avoided = if avoided.is_empty() { "nothing".to_owned() } else { avoided.join(" ") };
                settings.push(("avoid".to_owned(), avoided));
                because = Some(step.difference(&settings));
                DatasetState::Other
            }
            None => {
                let recipe = recipe_of(task.output)?;
                DatasetState::of(recipe.is_some(), recipe == Some(asked.hash))
            }
        };
        let (mut state, made) = self.found(Stage::Gate, &step, because, verdict.map(|_| ()));
        if state.state == State::Missing {
            state.parts = Self::parts(&StageTask::Gate(task))?;
        }
        Ok((StageState { dataset, ..state }, made))
    }

    /// The contents of the datasets that the generation trains on.
    fn contents(&mut self) -> Result<Vec<ContentHash>, ArtifactError> {
        let folders = self.tasks.datasets.iter();
        folders.map(|folder| self.seen.content(folder)).collect()
    }

    /// How many parts of its dataset a stage has made, if there are any.
    fn parts(task: &StageTask<'_, &KnownModel>) -> Result<Option<PartCount>, ArtifactError> {
        let Some((table, dataset)) = task.stage().tables().last().zip(task.dataset()) else { return Ok(None) };
        let parts = part_indices(dataset.folder, table)?.into_iter();
        let done = parts.filter(|&part| (part as u64) < dataset.parts).count() as u64;
        Ok((0 < done).then_some(PartCount { done, asked: dataset.parts }))
    }

    /// The newest version that a stage made in this generation.
    fn latest(&self, stage: Stage) -> Option<&Arc<ModelDocument>> {
        let of_this = |document: &&Arc<ModelDocument>| {
            document.origin.stage == stage.name() && document.origin.generation() == Some(self.tasks.generation)
        };
        self.lineage.versions.documents.iter().rev().find(of_this)
    }

    /// The state of a stage that makes a version, and the version.
    fn version(&self, stage: Stage, step: &Step) -> Found<KnownModel> {
        let made = self.lineage.versions.made_by(step.id);
        let version = made.as_ref().map(|made| made.id.to_string());
        let latest = if made.is_none() { self.latest(stage) } else { None };
        let because = latest.map(|latest| {
            let mut settings = latest.origin.settings();
            // For MPC statistics with the weights they were fitted to.
            settings.extend(latest.mpc_weights.map(|weights| ("weights".to_owned(), weights.to_string())));
            step.difference(&settings)
        });
        let (state, made) = self.found(stage, step, because, made);
        (StageState { version, ..state }, made)
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

/// Both sides of a gate.
#[derive(Clone, Copy)]
struct Players<'a> {
    candidate: &'a KnownModel,
    champion: &'a KnownModel,
}

/// The recipe of a dataset folder with this manifest, or without one, of its first part.
fn found_recipe(folder: &Path, manifest: Option<&Manifest>) -> Result<Option<ContentHash>, ArtifactError> {
    manifest.map_or_else(|| recipe_of_parts(folder), |manifest| Ok(Some(manifest.recipe)))
}
