//! The state of every stage of a run, from the step ids that the stages compute.

use super::config_entry::ConfigEntry;
use super::folders::generation_folder;
use super::lineage::Lineage;
use super::order::{GENERATION, Link, Source};
use super::requests::Requests;
use crate::artifact::dataset::folder::recipe_of;
use crate::artifact::{ArtifactError, ContentHash, Dataset, FolderLock, KnownModel, ModelRef};
use crate::generation::Generation;
use crate::pipeline::StageError;
use crate::pipeline::request::{Models, RequestModel};
use crate::pipeline::stage::Stage;
use crate::pipeline::work::{DatasetState, PartCount, Product, Records, TaskState};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A stage of a generation.
#[derive(Clone, Debug, Serialize)]
pub struct StageState {
    /// The generation.
    pub generation: Generation,
    /// The stage.
    pub stage: Stage,
    /// Its state.
    pub state: TaskState,
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

/// The stages of a run.
#[derive(Debug)]
pub struct RunSteps {
    /// By generation, in the order of the loop.
    pub stages: Vec<StageState>,
    /// The first generation that is not closed.
    pub first: Generation,
    /// The first generation that is not done.
    pub next: Generation,
}

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
    requests: Requests,
    seen: &'a mut Seen,
    /// The models that are known so far.
    models: BTreeMap<Source, KnownModel>,
    /// The stages that are done.
    done: BTreeSet<Stage>,
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
    let asked = Generation(lineage.config.config.run.generations);
    let last = begun.max(asked.min(begun.max(closed) + 1));
    let (mut seen, mut next) = (Seen::default(), first);
    for generation in first.to(last) {
        let done = if generation <= finished && !seen.can_be_computed(lineage, generation)? {
            seen.stages.extend(recorded(lineage, generation));
            true
        } else {
            let blocked =
                (next < generation).then(|| format!("generation {} is not done", generation - 1));
            let requests = lineage.requests(generation)?;
            let (models, done) = (BTreeMap::new(), BTreeSet::new());
            let is_done = Walk {
                lineage,
                requests,
                seen: &mut seen,
                models,
                done,
                blocked,
            }
            .generation()?;
            let awaits = lineage
                .verdict(generation)
                .is_some_and(|verdict| lineage.awaits_promotion(verdict));
            is_done && (generation <= finished || !awaits)
        };
        if done && next == generation {
            next += 1;
        }
    }
    Ok(RunSteps {
        stages: seen.stages,
        first,
        next,
    })
}

impl Seen {
    /// A player of the run.
    fn player(
        &mut self,
        lineage: &Lineage<'_>,
        name: &ModelRef,
    ) -> Result<KnownModel, ArtifactError> {
        let version = if let ModelRef::Version(id) = name {
            lineage.versions.with_id(*id)
        } else {
            None
        };
        if let Some(known) = version.or_else(|| self.players.get(&name.to_string()).cloned()) {
            return Ok(known);
        }
        let known = name.find(lineage.registry.folder())?;
        self.players.insert(name.to_string(), known.clone());
        Ok(known)
    }

    /// Whether this program makes a generation's steps: it has the algorithms and the player that
    /// made it.
    fn can_be_computed(
        &mut self,
        lineage: &Lineage<'_>,
        generation: Generation,
    ) -> Result<bool, StageError> {
        let entry = lineage.file.config_of(generation);
        let player = lineage.player(generation)?;
        let known = self.player(lineage, &player.name)?;
        // A built-in model may differ between releases.
        Ok(entry.is_none_or(ConfigEntry::has_algorithms_of_today)
            && known.content == player.content)
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

/// The stages of a finished generation whose steps this program can no longer compute, by their
/// recorded ids.
fn recorded(lineage: &Lineage<'_>, generation: Generation) -> impl Iterator<Item = StageState> {
    let (verdict, versions) = (lineage.verdict(generation), &lineage.versions);
    let candidate = verdict.and_then(|verdict| versions.with_content(verdict.candidate.content));
    let draft = candidate
        .and_then(|candidate| versions.with_content(candidate.origin.parent.as_ref()?.content));
    GENERATION.iter().map(move |link| {
        let stage = link.stage;
        let made = match stage {
            Stage::Train => draft,
            Stage::FitMpc => candidate,
            _ => None,
        };
        let verdict_step = verdict
            .filter(|_| stage == Stage::Gate)
            .map(|verdict| verdict.step);
        StageState {
            step: made.map(|document| document.origin.step).or(verdict_step),
            version: made.map(|document| document.id.to_string()),
            ..StageState::new(generation, stage, TaskState::Done, None)
        }
    })
}

impl StageState {
    /// Whether what is in the folder of its dataset was made with this config. With algorithms of
    /// the past only these may differ.
    pub(super) fn is_as_recorded(&self, entry: &ConfigEntry) -> bool {
        let only_algorithm = |because: &String| {
            because.starts_with("algorithm is") || because == "another algorithm"
        };
        match self.dataset {
            DatasetState::Nothing | DatasetState::Asked => true,
            DatasetState::Other => {
                !entry.has_algorithms_of_today()
                    && self.because.as_ref().is_some_and(only_algorithm)
            }
            DatasetState::Unknown => false,
        }
    }

    const fn new(
        generation: Generation,
        stage: Stage,
        state: TaskState,
        because: Option<String>,
    ) -> Self {
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
    /// The stages of the generation; whether all are done. Its player is known once the previous
    /// one is done.
    fn generation(mut self) -> Result<bool, StageError> {
        if self.blocked.is_none() {
            let player = self.player()?;
            self.models.insert(Source::Champion, player);
        }
        let mut is_done = true;
        for link in &GENERATION {
            is_done = self.stage(link)?;
        }
        Ok(is_done)
    }

    /// Adds a stage as far as its inputs are known; if they are not, an earlier result of it is
    /// stale. Whether it is done.
    fn stage(&mut self, link: &Link) -> Result<bool, StageError> {
        let (stage, generation) = (link.stage, self.requests.generation);
        let is_known = link
            .models
            .iter()
            .all(|(_, source)| self.models.contains_key(source))
            && link
                .dataset
                .is_none_or(|dataset| self.done.contains(&dataset));
        if !is_known {
            let state = self.without_inputs(stage)?;
            self.seen.stages.push(state);
            return Ok(false);
        }
        let (step, product) = self.product(link)?;
        if let Some(content) = product.content {
            self.seen.contents.insert(self.folder(stage), content);
        }
        let is_done = product.state == TaskState::Done;
        if is_done {
            self.done.insert(stage);
            self.models.extend(
                product
                    .version
                    .clone()
                    .map(|version| (Source::Made(stage), version)),
            );
        } else {
            self.blocked = Some(format!(
                "{stage} of generation {generation} is {}",
                product.state.name()
            ));
        }
        let registry = self.lineage.registry.folder();
        let folder = if stage.facts().makes_versions() {
            registry.to_owned()
        } else {
            self.folder(stage)
        };
        // A registry's lock does not name its generation: it is the one whose inputs are known and
        // whose result is not.
        let is_running = !is_done && FolderLock::is_held(&folder, stage.facts().lock())?;
        self.seen.stages.push(StageState {
            parts: product.parts,
            step: Some(step),
            version: product.version.map(|version| version.id.to_string()),
            dataset: product.dataset,
            ..StageState::new(
                generation,
                stage,
                if is_running {
                    TaskState::Running
                } else {
                    product.state
                },
                product.because,
            )
        });
        Ok(is_done)
    }

    /// The step that a stage is, and what there is of it.
    fn product(&mut self, link: &Link) -> Result<(ContentHash, Product), StageError> {
        let known: Models<KnownModel> = link
            .models
            .iter()
            .map(|(role, source)| (*role, self.models[source].clone()))
            .collect();
        let registry = self.lineage.registry.folder();
        let mut request = self.requests.of(link, |source| {
            RequestModel::of(&self.models[&source], registry)
        });
        for dataset in &mut request.datasets {
            dataset.content = Some(self.seen.content(&dataset.folder)?);
        }
        let asked = request.asked(&known)?;
        let step = asked.step()?;
        let verdict = self.lineage.verdict(self.requests.generation);
        let product = asked.product(
            &step,
            Records {
                versions: &self.lineage.versions,
                verdict,
            },
        )?;
        Ok((step.id, product))
    }

    /// A stage that lacks its inputs.
    fn without_inputs(&self, stage: Stage) -> Result<StageState, ArtifactError> {
        let generation = self.requests.generation;
        let is_there = stage.facts().dataset.is_some() && recipe_of(&self.folder(stage))?.is_some();
        let has_result = if stage.facts().makes_versions() {
            self.lineage
                .versions
                .latest(stage.name(), generation)
                .is_some()
        } else {
            is_there
        };
        let state = if has_result {
            TaskState::Stale
        } else {
            TaskState::Missing
        };
        let dataset = if is_there {
            DatasetState::Unknown
        } else {
            DatasetState::Nothing
        };
        Ok(StageState {
            dataset,
            ..StageState::new(generation, stage, state, self.blocked.clone())
        })
    }

    fn player(&mut self) -> Result<KnownModel, ArtifactError> {
        let player = self.lineage.player(self.requests.generation)?;
        let known = self.seen.player(self.lineage, &player.name)?;
        if known.content != player.content {
            let (found, expected) = (known.content.short(), player.content.short());
            let reason = format!(
                "{} is model {found} now, and generation {generation} began with {expected}\nmake it again with --restart {generation}",
                player.name,
                generation = self.requests.generation
            );
            return Err(ArtifactError::unfit(
                &self.lineage.registry.folder().join("lineage.json"),
                reason,
            ));
        }
        Ok(known)
    }

    fn folder(&self, stage: Stage) -> PathBuf {
        generation_folder(self.lineage.datasets, stage, self.requests.generation)
    }
}
