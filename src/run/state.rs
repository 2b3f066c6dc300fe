//! The state of every stage of a run, from the step ids that the stages compute.

use super::entry::ConfigEntry;
use super::folders::{DatasetFolder, generation_folder, generations, recipe_of};
use super::lineage::{Lineage, Player};
use crate::artifact::dataset::folder::part_path;
use crate::artifact::dataset::verdict::read_verdict;
use crate::artifact::model::reference::load_model;
use crate::artifact::publish::exists;
use crate::artifact::{
    ArtifactError, ContentHash, Dataset, DatasetKind, FolderLock, GATE_GAMES, LoadedModel, MPC_SAMPLES, Manifest,
    ModelDocument, POSITIONS, Settings, Step, Table, Verdict,
};
use crate::config::LoadedConfig;
use crate::pipeline::StageError;
use crate::pipeline::fit_mpc;
use crate::pipeline::fit_mpc::task::FitMpcTask;
use crate::pipeline::gate;
use crate::pipeline::gate::task::{BATCH_PAIRS, GateTask};
use crate::pipeline::generate;
use crate::pipeline::generate::task::GenerateTask;
use crate::pipeline::stage::Stage;
use crate::pipeline::train;
use crate::pipeline::train::task::TrainTask;
use serde::Serialize;
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
    #[must_use]
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

/// What a later stage needs: a value, or the reason why there is none.
type Input<T> = Result<T, String>;

/// The state of a stage, and what it passes on.
type Found<T> = (StageState, Input<T>);

struct Walk<'a> {
    lineage: &'a Lineage<'a>,
    documents: &'a [ModelDocument],
    generation: u32,
    /// The config that makes the generation.
    config: LoadedConfig,
}

/// The stages of every generation that has begun and is not closed, and of the next one.
///
/// # Errors
///
/// A damaged document.
pub fn run_steps(lineage: &Lineage<'_>) -> Result<RunSteps, StageError> {
    let (closed, finished) = (lineage.closed.generation, lineage.finished());
    let first = closed + 1;
    let mut begun = finished;
    for kind in DatasetFolder::all() {
        begun = begun.max(generations(lineage.datasets, kind)?.last().copied().unwrap_or(0));
    }
    let last = begun.max(lineage.config.config.run.generations.min(begun.max(closed) + 1));
    let documents = lineage.registry.documents()?;
    let (mut stages, mut next) = (Vec::new(), first);
    for generation in first..=last {
        let done = if generation <= finished && !can_be_computed(lineage, generation)? {
            stages.extend(recorded(lineage, &documents, generation));
            true
        } else {
            let walk = Walk { lineage, documents: &documents, generation, config: lineage.config_of(generation)? };
            walk.generation(generation <= next, &mut stages)? && (generation <= finished || !walk.awaits_promotion())
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
    let gate = lineage.gates.iter().find(|gate| gate.generation == generation);
    let of_content = |content| documents.iter().find(|document| document.content == content);
    let candidate = gate.and_then(|gate| of_content(gate.verdict.candidate.content));
    let draft = candidate.and_then(|candidate| of_content(candidate.origin.parent.as_ref()?.content));
    Stage::ALL.map(|stage| {
        let made = match stage {
            Stage::Train => draft,
            Stage::FitMpc => candidate,
            Stage::Generate | Stage::Gate => None,
        };
        let verdict_step = gate.filter(|_| stage == Stage::Gate).map(|gate| gate.verdict.step);
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
    /// The four stages of the generation, and whether all are done. Its player is known once the previous one is done.
    fn generation(&self, player_known: bool, stages: &mut Vec<StageState>) -> Result<bool, StageError> {
        let champion = if player_known {
            let player = self.lineage.player(self.generation)?;
            Ok(Arc::new(self.load(&player)?))
        } else {
            Err(format!("generation {} is not done", self.generation - 1))
        };
        let (mut generate, dataset) = self.generate(&champion)?;
        let (mut train, draft) = self.train(&champion, &dataset)?;
        let (mut fit_mpc, candidate) = self.fit_mpc(&draft)?;
        let (mut gate, next) = self.gate(&candidate, &champion)?;
        let registry = self.lineage.registry.folder();
        for state in [&mut generate, &mut train, &mut fit_mpc, &mut gate] {
            let stage = state.stage;
            let folder = if stage.makes_versions() { registry.to_owned() } else { self.folder(stage) };
            // A registry's lock does not name its generation: it is the one whose inputs are known and whose result is not.
            if state.state != State::Done && state.step.is_some() && FolderLock::is_held(&folder, stage.lock())? {
                state.state = State::Running;
            }
        }
        stages.extend([generate, train, fit_mpc, gate]);
        Ok(next.is_ok())
    }

    fn load(&self, player: &Player) -> Result<LoadedModel, ArtifactError> {
        let registry = self.lineage.registry.folder();
        let loaded = load_model(&player.name, registry)?;
        if loaded.content != player.content {
            let (found, known) = (loaded.content.short(), player.content.short());
            let reason = format!(
                "{} is model {found} now, and generation {generation} began with {known}\nmake it again with --restart {generation}",
                player.name,
                generation = self.generation
            );
            return Err(ArtifactError::unfit(&registry.join("lineage.json"), reason));
        }
        Ok(loaded)
    }

    /// Whether the gate accepted and its candidate is not yet promoted.
    fn awaits_promotion(&self) -> bool {
        let gate = self.lineage.gates.iter().find(|gate| gate.generation == self.generation);
        gate.is_some_and(|gate| {
            gate.verdict.verdict == Verdict::Accepted && !self.lineage.champions.acted.contains(&gate.verdict.step)
        })
    }

    fn folder(&self, stage: Stage) -> PathBuf {
        generation_folder(self.lineage.datasets, stage, self.generation)
    }

    fn generate(&self, champion: &Input<Arc<LoadedModel>>) -> Result<Found<()>, ArtifactError> {
        let output = self.folder(Stage::Generate);
        let manifest = self.manifest(Stage::Generate, DatasetKind::Selfplay)?;
        let Ok(model) = champion else {
            return Ok(self.unknown(Stage::Generate, manifest.is_some(), champion));
        };
        let config = &self.config.config.generate;
        let seed = self.config.config.run.seed;
        let task = GenerateTask {
            config,
            book: self.config.book.as_deref(),
            seed,
            generation: self.generation,
            model,
            output: &output,
        };
        let (step, made_by) = (generate::recipe::step(&task), generate::recipe::recipe(&task).hash);
        let stale = |because: String| self.found(Stage::Generate, State::Stale, Some(because), Some(&step), None);
        Ok(match (&manifest, recipe_of(&output)?) {
            (Some(manifest), Some(recipe)) if recipe != made_by => {
                let mut settings = manifest.settings(Stage::Generate.config_table());
                settings.iter_mut().filter(|(name, _)| name == "player").for_each(|(name, _)| *name = "model".into());
                stale(step.difference(&settings))
            }
            (None, Some(recipe)) if recipe != made_by => stale("its parts are of another recipe".into()),
            (Some(manifest), _) if manifest.done != config.games => {
                stale(format!("generate.games is {} there and {} here", manifest.done, config.games))
            }
            (Some(_), _) => self.found(Stage::Generate, State::Done, None, Some(&step), Some(())),
            (None, _) => {
                let (mut state, made) = self.found(Stage::Generate, State::Missing, None, Some(&step), None);
                state.parts = self.parts(&output, &POSITIONS, config.games, config.part_games)?;
                (state, made)
            }
        })
    }

    fn train(
        &self,
        champion: &Input<Arc<LoadedModel>>,
        dataset: &Input<()>,
    ) -> Result<Found<Arc<LoadedModel>>, ArtifactError> {
        let latest = self.latest(Stage::Train);
        let (parent, ()) = match (champion, dataset) {
            (Ok(parent), Ok(())) => (parent, ()),
            (Err(why), _) | (_, Err(why)) => {
                return Ok(self.unknown(Stage::Train, latest.is_some(), &Err::<(), _>(why.clone())));
            }
        };
        let folders = self.lineage.training_folders(self.generation, self.config.config.run.window)?;
        let datasets = folders.iter().map(|folder| Dataset::open(folder)).collect::<Result<Vec<_>, _>>()?;
        let task = TrainTask {
            config: &self.config.config.train,
            seed: self.config.config.run.seed,
            features: Arc::clone(&self.config.features),
            datasets: folders.iter().map(PathBuf::as_path).collect(),
            parent: Some(parent),
            registry: self.lineage.registry,
            memory: 0,
        };
        let step = train::recipe::step(&task, &datasets);
        let (mut state, made) = self.version(Stage::Train, &step, latest)?;
        if state.state != State::Done {
            let epochs = train::run::epochs_done(&task, step.id)?;
            state.parts = epochs.map(|[done, asked]| PartCount { done, asked });
        }
        Ok((state, made))
    }

    /// The number of parts of a table in a folder, if there are any.
    fn parts(
        &self,
        folder: &Path,
        table: &Table,
        items: u64,
        part_items: u64,
    ) -> Result<Option<PartCount>, ArtifactError> {
        let asked = items.div_ceil(part_items);
        let mut done = 0;
        for part in 0..asked as usize {
            done += u64::from(exists(&part_path(folder, table, part))?);
        }
        Ok((0 < done).then_some(PartCount { done, asked }))
    }

    fn fit_mpc(&self, draft: &Input<Arc<LoadedModel>>) -> Result<Found<Arc<LoadedModel>>, ArtifactError> {
        let latest = self.latest(Stage::FitMpc);
        let Ok(model) = draft else { return Ok(self.unknown(Stage::FitMpc, latest.is_some(), draft)) };
        let output = self.folder(Stage::FitMpc);
        let task = FitMpcTask {
            config: &self.config.config.fit_mpc,
            seed: self.config.config.run.seed,
            generation: self.generation,
            model,
            registry: self.lineage.registry,
            output: Some(&output),
        };
        let step = fit_mpc::recipe::step(&task);
        let (mut state, made) = self.version(Stage::FitMpc, &step, latest)?;
        let samples = self.manifest(Stage::FitMpc, DatasetKind::Mpc)?.filter(|manifest| {
            manifest.recipe == fit_mpc::recipe::recipe(&task).hash && manifest.done == task.config.games
        });
        if state.state == State::Done && samples.is_none() {
            state.state = State::Missing;
            state.because = Some(format!("its samples are not in {}", output.display()));
            let why = describe(&state);
            return Ok((state, Err(why)));
        }
        if state.state != State::Done {
            state.parts = self.parts(&output, &MPC_SAMPLES, task.config.games, task.config.part_games)?;
        }
        Ok((state, made))
    }

    fn gate(
        &self,
        candidate: &Input<Arc<LoadedModel>>,
        champion: &Input<Arc<LoadedModel>>,
    ) -> Result<Found<Arc<LoadedModel>>, ArtifactError> {
        let output = self.folder(Stage::Gate);
        let verdict = exists(&output.join("verdict.json"))?.then(|| read_verdict(&output)).transpose()?;
        let (Ok(challenger), Ok(baseline)) = (candidate, champion) else {
            let why = if champion.is_err() { champion } else { candidate };
            return Ok(self.unknown(Stage::Gate, verdict.is_some(), why));
        };
        let avoid = self.lineage.training_folders(self.generation, self.config.config.run.window)?;
        let step = gate::recipe::step(&GateTask {
            config: &self.config.config.gate,
            seed: self.config.config.run.seed,
            generation: self.generation,
            candidate: challenger,
            baseline,
            avoid: &avoid,
            output: &output,
            remake: false,
        })?;
        let Some(verdict) = verdict else {
            let (mut state, made) = self.found(Stage::Gate, State::Missing, None, Some(&step), None);
            let config = &self.config.config.gate;
            state.parts = self.parts(&output, &GATE_GAMES, config.games / 2, BATCH_PAIRS)?;
            return Ok((state, made));
        };
        let stale = |because: String| self.found(Stage::Gate, State::Stale, Some(because), Some(&step), None);
        if verdict.step != step.id {
            let mut settings = Manifest::read(&output, DatasetKind::Gate)?.settings(Stage::Gate.config_table());
            let avoided: Vec<String> = verdict.avoided.iter().map(ToString::to_string).collect();
            settings
                .push(("avoid".to_owned(), if avoided.is_empty() { "nothing".to_owned() } else { avoided.join(" ") }));
            return Ok(stale(step.difference(&settings)));
        }
        let next = if verdict.verdict == Verdict::Accepted { challenger } else { baseline };
        Ok(self.found(Stage::Gate, State::Done, None, Some(&step), Some(Arc::clone(next))))
    }

    fn manifest(&self, stage: Stage, kind: DatasetKind) -> Result<Option<Manifest>, ArtifactError> {
        Manifest::find(&self.folder(stage), kind)
    }

    /// The newest version that a stage made in this generation.
    fn latest(&self, stage: Stage) -> Option<&ModelDocument> {
        let of_this = |document: &&ModelDocument| {
            document.origin.stage == stage.name() && document.origin.generation() == Some(self.generation)
        };
        self.documents.iter().rev().find(of_this)
    }

    /// The state of a stage that makes a version, and the version.
    fn version(
        &self,
        stage: Stage,
        step: &Step,
        latest: Option<&ModelDocument>,
    ) -> Result<Found<Arc<LoadedModel>>, ArtifactError> {
        let Some(made) = self.lineage.registry.made_by(step.id)? else {
            let because = latest.map(|latest| step.difference(&settings_of(latest)));
            let state = if latest.is_some() { State::Stale } else { State::Missing };
            return Ok(self.found(stage, state, because, Some(step), None));
        };
        let id = made.id.to_string();
        let (mut state, made) = self.found(stage, State::Done, None, Some(step), Some(Arc::new(made)));
        state.version = Some(id);
        Ok((state, made))
    }

    /// A stage whose inputs are unknown; an earlier result of it is stale.
    fn unknown<T, U>(&self, stage: Stage, is_there: bool, why: &Input<U>) -> Found<T> {
        let why = why.as_ref().err().cloned();
        let state = if is_there { State::Stale } else { State::Missing };
        (StageState::new(self.generation, stage, state, why.clone()), Err(why.unwrap_or_default()))
    }

    fn found<T>(
        &self,
        stage: Stage,
        state: State,
        because: Option<String>,
        step: Option<&Step>,
        made: Option<T>,
    ) -> Found<T> {
        let step = step.map(|step| step.id);
        let state = StageState { step, ..StageState::new(self.generation, stage, state, because) };
        let made = made.filter(|_| state.state == State::Done).ok_or_else(|| describe(&state));
        (state, made)
    }
}

/// The settings that a version was made with; for MPC statistics with the weights they were fitted to.
fn settings_of(document: &ModelDocument) -> Settings {
    let mut settings = document.origin.settings();
    settings.extend(document.mpc_weights.map(|weights| ("weights".to_owned(), weights.to_string())));
    settings
}

/// Why the stages after this one are unknown.
fn describe(state: &StageState) -> String {
    format!("{} of generation {} is {}", state.stage.name(), state.generation, state.state.name())
}
