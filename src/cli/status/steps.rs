//! The state of every stage of a run, by the step ids that the stages themselves compute.

use super::state_word;
use crate::artifact::dataset::folder::{Dataset, part_path};
use crate::artifact::dataset::manifest::{DatasetKind, Manifest};
use crate::artifact::dataset::positions::POSITIONS;
use crate::artifact::dataset::verdict::{Verdict, read_verdict};
use crate::artifact::error::ArtifactError;
use crate::artifact::hash::ContentHash;
use crate::artifact::lock::{FIT_MPC_LOCK_NAME, FolderLock, LOCK_NAME, TRAIN_LOCK_NAME};
use crate::artifact::model::collected::CollectedFile;
use crate::artifact::model::document::ModelDocument;
use crate::artifact::model::reference::{LoadedModel, load_model};
use crate::artifact::model::registry::Registry;
use crate::artifact::publish::exists;
use crate::artifact::run::{STAGE_FOLDERS, generation_folder, generations, recipe_of};
use crate::artifact::step::{Settings, Step};
use crate::cli::arguments::StageName;
use crate::config::LoadedConfig;
use crate::pipeline::fit_mpc::{self, FitMpcTask};
use crate::pipeline::gate::{self, GateTask};
use crate::pipeline::generate::{self, GenerateTask};
use crate::pipeline::train::{self, TrainTask};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How far a stage is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    /// Its result is there, made from the inputs of now.
    Done,
    /// It is at work.
    Running,
    /// Its result is there, made from other inputs.
    Stale,
    /// Its result is not there.
    Missing,
}

/// A stage of a generation.
#[derive(Clone, Debug, Serialize)]
pub(super) struct StageState {
    pub(super) generation: u32,
    pub(super) stage: StageName,
    pub(super) state: State,
    /// Why it is stale, or how much of it is there.
    pub(super) because: Option<String>,
    /// What it would do; none while its inputs are not known.
    pub(super) step: Option<ContentHash>,
    /// The version that it made.
    pub(super) version: Option<String>,
}

/// A run as its stages see it.
#[derive(Debug)]
pub(super) struct RunSteps {
    /// By generation, in the order of the loop.
    pub(super) stages: Vec<StageState>,
    /// The first generation that is not closed.
    pub(super) first: u32,
    /// Who plays it.
    pub(super) player: String,
    /// The first generation that is not done.
    pub(super) next: u32,
}

/// What a later stage needs: a value, or why there is none.
type Input<T> = Result<T, String>;

/// What a stage found: its state, and what it hands on.
type Found<T> = (StageState, Input<T>);

struct Walk<'a> {
    config: &'a LoadedConfig,
    registry: &'a Registry,
    datasets: &'a Path,
    documents: Vec<ModelDocument>,
    /// Generations up to this one are closed.
    closed: u32,
    generation: u32,
}

/// Follows the verdicts of a run from its first open generation on.
pub(super) fn run_steps(config: &LoadedConfig, registry: &Registry, datasets: &Path) -> anyhow::Result<RunSteps> {
    let collected = CollectedFile::read(registry.folder())?;
    let player =
        collected.champion.as_ref().map_or(config.config.run.start.clone(), |champion| champion.id.to_string());
    let first = collected.generation + 1;
    let mut there: Vec<u32> = Vec::new();
    for stage in STAGE_FOLDERS {
        there.extend(generations(datasets, stage)?);
    }
    let begun = there.into_iter().max().unwrap_or(0);
    let last = begun.max(config.config.run.generations.min(begun.max(collected.generation) + 1));
    let documents = registry.documents()?;
    let mut walk = Walk { config, registry, datasets, documents, closed: collected.generation, generation: first };
    let mut champion: Input<Arc<LoadedModel>> = Ok(Arc::new(load_model(&player, registry.folder())?));
    let (mut stages, mut next) = (Vec::new(), first);
    for generation in first..=last {
        walk.generation = generation;
        champion = walk.generation(&champion, &mut stages)?;
        if champion.is_ok() && next == generation {
            next += 1;
        }
    }
    Ok(RunSteps { stages, first, player, next })
}

impl Walk<'_> {
    /// The four stages of the current generation; gives who plays the next one.
    fn generation(
        &self,
        champion: &Input<Arc<LoadedModel>>,
        stages: &mut Vec<StageState>,
    ) -> Result<Input<Arc<LoadedModel>>, ArtifactError> {
        let (mut generate, dataset) = self.generate(champion)?;
        let (mut train, draft) = self.train(champion, &dataset)?;
        let (mut fit_mpc, candidate) = self.fit_mpc(&draft)?;
        let (mut gate, next) = self.gate(&candidate, champion)?;
        for (state, folder, lock) in [
            (&mut generate, self.folder("selfplay"), LOCK_NAME),
            (&mut train, self.registry.folder().to_owned(), TRAIN_LOCK_NAME),
            (&mut fit_mpc, self.registry.folder().to_owned(), FIT_MPC_LOCK_NAME),
            (&mut gate, self.folder("gate"), LOCK_NAME),
        ] {
            // A registry's lock does not name its generation: it is the one whose inputs are known and whose result is not.
            if state.state != State::Done && state.step.is_some() && FolderLock::is_held(&folder, lock)? {
                state.state = State::Running;
            }
        }
        stages.extend([generate, train, fit_mpc, gate]);
        Ok(next)
    }

    fn folder(&self, stage: &str) -> PathBuf {
        generation_folder(self.datasets, stage, self.generation)
    }

    fn generate(&self, champion: &Input<Arc<LoadedModel>>) -> Result<Found<()>, ArtifactError> {
        let output = self.folder("selfplay");
        let manifest = self.manifest("selfplay", DatasetKind::Selfplay)?;
        let Ok(model) = champion else {
            return Ok(self.unknown(StageName::Generate, manifest.is_some(), champion));
        };
        let config = &self.config.config.generate;
        let seed = self.config.config.run.seed;
        let step = generate::step(&GenerateTask {
            config,
            book: self.config.book.as_deref(),
            seed,
            generation: self.generation,
            model,
            output: &output,
        });
        let stale = |because: String| self.found(StageName::Generate, State::Stale, Some(because), Some(&step), None);
        let (state, because) = match (&manifest, recipe_of(&output)?) {
            (Some(manifest), Some(recipe)) if recipe != step.id => {
                let mut settings = manifest.settings("generate");
                settings.iter_mut().filter(|(name, _)| name == "player").for_each(|(name, _)| *name = "model".into());
                return Ok(stale(step.difference(&settings)));
            }
            (None, Some(recipe)) if recipe != step.id => return Ok(stale("its parts are of another recipe".into())),
            (Some(manifest), _) if manifest.done != config.games => {
                return Ok(stale(format!("generate.games is {} there and {} here", manifest.done, config.games)));
            }
            (Some(_), _) => (State::Done, None),
            (None, _) => {
                let parts = config.games.div_ceil(config.part_games);
                let mut done = 0;
                for part in 0..parts as usize {
                    done += usize::from(exists(&part_path(&output, &POSITIONS, part))?);
                }
                (State::Missing, (0 < done).then(|| format!("{done} of {parts} parts are there")))
            }
        };
        Ok(self.found(StageName::Generate, state, because, Some(&step), Some(())))
    }

    fn train(
        &self,
        champion: &Input<Arc<LoadedModel>>,
        dataset: &Input<()>,
    ) -> Result<Found<Arc<LoadedModel>>, ArtifactError> {
        let latest = self.latest("train");
        let (parent, ()) = match (champion, dataset) {
            (Ok(parent), Ok(())) => (parent, ()),
            (Err(why), _) | (_, Err(why)) => {
                return Ok(self.unknown(StageName::Train, latest.is_some(), &Err::<(), _>(why.clone())));
            }
        };
        let folders = self.training_folders()?;
        let datasets = folders.iter().map(|folder| Dataset::open(folder)).collect::<Result<Vec<_>, _>>()?;
        let task = TrainTask {
            config: &self.config.config.train,
            seed: self.config.config.run.seed,
            features: Arc::clone(&self.config.features),
            datasets: folders.iter().map(PathBuf::as_path).collect(),
            parent: Some(parent),
            registry: self.registry,
        };
        self.version(StageName::Train, &train::step(&task, &datasets), latest)
    }

    /// The datasets that a training of the current generation reads.
    fn training_folders(&self) -> Result<Vec<PathBuf>, ArtifactError> {
        let oldest = (self.generation + 1).saturating_sub(self.config.config.run.window).max(1);
        let mut folders = Vec::new();
        for generation in oldest..=self.generation {
            let folder = generation_folder(self.datasets, "selfplay", generation);
            if self.closed < generation || exists(&folder.join("manifest.json"))? {
                folders.push(folder);
            }
        }
        Ok(folders)
    }

    fn fit_mpc(&self, draft: &Input<Arc<LoadedModel>>) -> Result<Found<Arc<LoadedModel>>, ArtifactError> {
        let latest = self.latest("fit-mpc");
        let Ok(model) = draft else { return Ok(self.unknown(StageName::FitMpc, latest.is_some(), draft)) };
        let output = self.folder("mpc");
        let task = FitMpcTask {
            config: &self.config.config.fit_mpc,
            seed: self.config.config.run.seed,
            generation: self.generation,
            model,
            registry: self.registry,
            output: Some(&output),
            report: None,
        };
        let step = fit_mpc::step(&task);
        let (mut state, made) = self.version(StageName::FitMpc, &step, latest)?;
        let samples = self.manifest("mpc", DatasetKind::Mpc)?.filter(|manifest| {
            manifest.recipe == fit_mpc::samples_step(&task).id && manifest.done == task.config.games
        });
        if state.state == State::Done && samples.is_none() {
            state.state = State::Missing;
            state.because = Some(format!("its samples are not in {}", output.display()));
            let why = describe(&state);
            return Ok((state, Err(why)));
        }
        Ok((state, made))
    }

    fn gate(
        &self,
        candidate: &Input<Arc<LoadedModel>>,
        champion: &Input<Arc<LoadedModel>>,
    ) -> Result<Found<Arc<LoadedModel>>, ArtifactError> {
        let output = self.folder("gate");
        let verdict = exists(&output.join("verdict.json"))?.then(|| read_verdict(&output)).transpose()?;
        let (Ok(challenger), Ok(baseline)) = (candidate, champion) else {
            let why = if champion.is_err() { champion } else { candidate };
            return Ok(self.unknown(StageName::Gate, verdict.is_some(), why));
        };
        let avoid = self.training_folders()?;
        let step = gate::step(&GateTask {
            config: &self.config.config.gate,
            seed: self.config.config.run.seed,
            generation: self.generation,
            candidate: challenger,
            baseline,
            avoid: &avoid,
            output: &output,
            recheck: false,
        })?;
        let Some(verdict) = verdict else {
            return Ok(self.found(StageName::Gate, State::Missing, None, Some(&step), None));
        };
        let stale = |because: String| self.found(StageName::Gate, State::Stale, Some(because), Some(&step), None);
        let manifest = Manifest::read(&output, DatasetKind::Gate)?;
        if manifest.recipe != step.id {
            let mut settings = manifest.settings("gate");
            let avoided: Vec<String> = verdict.avoided.iter().map(ToString::to_string).collect();
            settings
                .push(("avoid".to_owned(), if avoided.is_empty() { "nothing".to_owned() } else { avoided.join(" ") }));
            return Ok(stale(step.difference(&settings)));
        }
        let (asked, games) = (2 * verdict.pairs_asked, self.config.config.gate.games);
        if asked != games {
            return Ok(stale(format!("gate.games is {asked} there and {games} here")));
        }
        let next = if verdict.verdict == Verdict::Accepted { challenger } else { baseline };
        Ok(self.found(StageName::Gate, State::Done, None, Some(&step), Some(Arc::clone(next))))
    }

    fn manifest(&self, stage: &str, kind: DatasetKind) -> Result<Option<Manifest>, ArtifactError> {
        let folder = self.folder(stage);
        exists(&folder.join("manifest.json"))?.then(|| Manifest::read(&folder, kind)).transpose()
    }

    /// The newest version that a stage made of this generation.
    fn latest(&self, stage: &str) -> Option<&ModelDocument> {
        let of_this = |document: &&ModelDocument| {
            document.origin.stage == stage && document.origin.generation() == Some(self.generation)
        };
        self.documents.iter().rev().find(of_this)
    }

    /// The state of a stage that makes a version, and the version.
    fn version(
        &self,
        stage: StageName,
        step: &Step,
        latest: Option<&ModelDocument>,
    ) -> Result<Found<Arc<LoadedModel>>, ArtifactError> {
        let Some(made) = self.registry.made_by(step.id)? else {
            let because = latest.map(|latest| step.difference(&settings_of(latest)));
            let state = if latest.is_some() { State::Stale } else { State::Missing };
            return Ok(self.found(stage, state, because, Some(step), None));
        };
        let id = made.id.to_string();
        let (mut state, made) = self.found(stage, State::Done, None, Some(step), Some(Arc::new(made)));
        state.version = Some(id);
        Ok((state, made))
    }

    /// A stage whose inputs are not known; what it made before is stale.
    fn unknown<T, U>(&self, stage: StageName, is_there: bool, why: &Input<U>) -> Found<T> {
        let why = why.as_ref().err().cloned();
        let state = if is_there { State::Stale } else { State::Missing };
        let state =
            StageState { generation: self.generation, stage, state, because: why.clone(), step: None, version: None };
        (state, Err(why.unwrap_or_default()))
    }

    fn found<T>(
        &self,
        stage: StageName,
        state: State,
        because: Option<String>,
        step: Option<&Step>,
        made: Option<T>,
    ) -> Found<T> {
        let step = step.map(|step| step.id);
        let state = StageState { generation: self.generation, stage, state, because, step, version: None };
        let made = made.filter(|_| state.state == State::Done).ok_or_else(|| describe(&state));
        (state, made)
    }
}

/// What a version says of how it was made; statistics name the weights that they were fitted to.
fn settings_of(document: &ModelDocument) -> Settings {
    let mut settings = document.origin.settings();
    settings.extend(document.mpc_weights.map(|weights| ("weights".to_owned(), weights.to_string())));
    settings
}

/// Why what comes after a stage cannot be told yet.
fn describe(state: &StageState) -> String {
    format!("{} of generation {} is {}", stage_word(state.stage), state.generation, state_word(state.state))
}

/// A stage as people name it.
pub(super) const fn stage_word(stage: StageName) -> &'static str {
    match stage {
        StageName::Generate => "generate",
        StageName::Train => "train",
        StageName::FitMpc => "fit-mpc",
        StageName::Gate => "gate",
    }
}
