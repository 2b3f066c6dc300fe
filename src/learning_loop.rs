//! The loop, generation after generation: generate, train, fit-mpc, gate, promote. Nothing else describes it.
//!
//! The stages themselves know nothing of each other. Here the result of each is the input of the next:
//!
//! champion ─ generate ─▶ dataset ─ train ─▶ draft ─ fit-mpc ─▶ candidate ─ gate ─▶ verdict ─ promote ─▶ champion

mod journal;
pub mod plan;
mod stages;

use crate::artifact::model::reference::load_model;
use crate::artifact::{FolderLock, LoadedModel, Registry, Verdict, VerdictFile};
use crate::cluster::elsewhere::Elsewhere;
use crate::config::LoadedConfig;
use crate::exit_code;
use crate::pipeline::fit_mpc::task::FitMpcTask;
use crate::pipeline::gate::task::{GateReport, GateTask};
use crate::pipeline::generate::task::GenerateTask;
use crate::pipeline::parts::MadeAgain;
use crate::pipeline::promote::{PromoteReport, promote};
use crate::pipeline::stage::Stage;
use crate::pipeline::stage_task::{StageReport, StageTask};
use crate::pipeline::train::task::TrainTask;
use crate::pipeline::{Context, StageError};
use crate::report::invocation::Invocation;
use crate::run::claim::make_way;
use crate::run::folders::{DatasetFolder, generation_folder};
use crate::run::forecast::{Forecast, recent_seconds};
use crate::run::gc::{GcPlan, collect};
use crate::run::lineage::{Change, Lineage};
use crate::run::log::{RUN_LOG_NAME, read_calls};
use crate::run::next::{Generations, Next};
use crate::run::restart::Loss;
use journal::{CallEnd, Journal};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The lock of a run, in its registry.
const RUN_LOCK_NAME: &str = ".run.lock";

/// The pairs of a drift match.
const DRIFT_PAIRS: u64 = 100;

/// Bytes of memory for the rows of a training; beyond them they go to a scratch file.
const TRAIN_MEMORY: u64 = 4 << 30;

/// A run, and what is to be done to it.
#[derive(Clone, Copy, Debug)]
pub struct RunTask<'a> {
    /// The user's config.
    pub config: &'a LoadedConfig,
    /// The models of the run.
    pub registry: &'a Registry,
    /// The datasets of the run.
    pub datasets: &'a Path,
    /// Which generations to make.
    pub generations: Generations,
    /// What to do about a changed config.
    pub change: Change,
    /// The time limit, for run.json; the context ends the run.
    pub budget: Option<Duration>,
    /// Where the stages run that can be cut into shards; `None`: here.
    pub elsewhere: Option<&'a Elsewhere>,
    /// How people call the run, for its report.
    pub invocation: &'a Invocation,
}

/// What a run tells as it proceeds.
#[derive(Debug)]
#[expect(missing_docs, reason = "each is the report of what has happened")]
pub enum Event<'a> {
    Forecast(&'a Forecast),
    /// Defaults that have moved since the run began, of which it keeps its own.
    MovedDefaults(&'a [String]),
    /// What a restart is about to remove.
    Restart(&'a Loss),
    /// A generation begins; the seconds are those that the run is expected to take from here.
    Generation {
        next: &'a Next,
        seconds_left: Option<f64>,
    },
    /// Parts of shards were made again.
    Checked(MadeAgain),
    Made {
        task: &'a StageTask<'a>,
        report: &'a StageReport,
        seconds: f64,
    },
    /// A match that only keeps the ladder true.
    Drifted(&'a GateReport),
    Promoted(&'a PromoteReport),
    Collected(&'a GcPlan),
}

/// What the tests of a candidate decided, as an exit code.
#[must_use]
pub const fn code_of(verdict: Option<Verdict>) -> u8 {
    match verdict {
        Some(Verdict::Rejected) => exit_code::REJECTED,
        Some(Verdict::Inconclusive) => exit_code::INCONCLUSIVE,
        Some(Verdict::Accepted) | None => exit_code::DONE,
    }
}

/// A run at work. It holds the run's lock.
struct Run<'a> {
    task: RunTask<'a>,
    context: Context<'a>,
    journal: &'a Journal<'a>,
    tell: &'a dyn Fn(Event<'_>),
    expected: Option<f64>,
}

/// Makes the generations that a run lacks; gives the verdict of the last one.
///
/// # Errors
///
/// A run that cannot continue with its config, a run at work, and the errors of the stages. What was finished is kept, and the same
/// call resumes.
pub fn run(task: RunTask<'_>, tell: &dyn Fn(Event<'_>), context: Context<'_>) -> Result<Option<Verdict>, StageError> {
    let expected = forecast(&task, tell, context)?;
    let _lock = FolderLock::take_named(task.registry.folder(), RUN_LOCK_NAME)?;
    let journal = Journal::new(&task, context);
    let result = journal.keep(|| Run { task, context, journal: &journal, tell, expected }.generations());
    journal.end(match &result {
        Ok(verdict) => code_of(*verdict),
        Err(error) => error.exit_code(),
    });
    result
}

/// Says what the run will take, and refuses one whose next generation does not fit on the disk; gives the seconds.
fn forecast(task: &RunTask<'_>, tell: &dyn Fn(Event<'_>), context: Context<'_>) -> Result<Option<f64>, StageError> {
    let forecast = plan::forecast(task, context)?;
    if 0 < forecast.generations {
        tell(Event::Forecast(&forecast));
    }
    forecast.check_disk(task.datasets)?;
    Ok(Some(forecast.seconds))
}

impl Run<'_> {
    fn generations(&self) -> Result<Option<Verdict>, StageError> {
        let moved = self.lineage()?.moved_defaults;
        if !moved.is_empty() {
            (self.tell)(Event::MovedDefaults(&moved));
        }
        let mut next = self.begin(self.task.change, self.task.generations)?;
        let last = next.last;
        loop {
            self.drift(&next)?;
            if last < next.generation {
                return Ok(next.verdict);
            }
            self.generation(&next)?;
            self.collect(&next)?;
            next = self.begin(Change::Refuse, Generations::Last(last))?;
        }
    }

    fn generation(&self, next: &Next) -> Result<(), StageError> {
        let champion = load_model(&next.champion, self.task.registry.folder())?;
        self.generate(next, &champion)?;
        let draft = self.train(next, &champion)?;
        let candidate = self.fit_mpc(next, &draft)?;
        let judged = self.gate(next, &candidate, &champion)?;
        self.promote(&candidate, judged.verdict())
    }

    fn generate(&self, next: &Next, champion: &LoadedModel) -> Result<(), StageError> {
        let output = self.folder(Stage::Generate, next.generation);
        let config = &next.config;
        let task = GenerateTask {
            config: &config.config.generate,
            book: config.book.as_deref(),
            seed: config.config.run.seed,
            generation: next.generation,
            model: champion,
            output: &output,
        };
        self.make(&StageTask::Generate(task), next).map(drop)
    }

    fn train(&self, next: &Next, champion: &LoadedModel) -> Result<LoadedModel, StageError> {
        let task = TrainTask {
            config: &next.config.config.train,
            seed: next.config.config.run.seed,
            features: Arc::clone(&next.config.features),
            datasets: next.datasets.iter().map(PathBuf::as_path).collect(),
            parent: Some(champion),
            registry: self.task.registry,
            memory: TRAIN_MEMORY,
        };
        self.version(&self.make(&StageTask::Train(task), next)?)
    }

    fn fit_mpc(&self, next: &Next, draft: &LoadedModel) -> Result<LoadedModel, StageError> {
        let output = self.folder(Stage::FitMpc, next.generation);
        let task = FitMpcTask {
            config: &next.config.config.fit_mpc,
            seed: next.config.config.run.seed,
            generation: next.generation,
            model: draft,
            registry: self.task.registry,
            output: Some(&output),
        };
        self.version(&self.make(&StageTask::FitMpc(task), next)?)
    }

    fn gate(&self, next: &Next, candidate: &LoadedModel, champion: &LoadedModel) -> Result<StageReport, StageError> {
        let output = self.folder(Stage::Gate, next.generation);
        let task = GateTask {
            config: &next.config.config.gate,
            seed: next.config.config.run.seed,
            generation: next.generation,
            candidate,
            baseline: champion,
            avoid: &next.datasets,
            output: &output,
            remake: false,
        };
        self.make(&StageTask::Gate(task), next)
    }

    /// Makes an accepted candidate champion; after any other verdict the champion stays.
    fn promote(&self, candidate: &LoadedModel, verdict: Option<&VerdictFile>) -> Result<(), StageError> {
        if verdict.is_none_or(|verdict| verdict.verdict != Verdict::Accepted) {
            return Ok(());
        }
        let work = || promote(candidate, self.task.registry, verdict);
        let report = self.journal.note("promote", None, work, |report| CallEnd {
            id: report.champion.map(|id| id.to_string()),
            is_skipped: report.skipped,
            ..CallEnd::default()
        })?;
        (self.tell)(Event::Promoted(&report));
        Ok(())
    }

    /// After some generations the champion plays a former one, so that the ladder does not drift. Whoever wins, it stays champion.
    fn drift(&self, next: &Next) -> Result<(), StageError> {
        let Some(veteran) = &next.veteran else { return Ok(()) };
        let [champion, veteran] = [&next.champion, veteran].map(|name| load_model(name, self.task.registry.folder()));
        let generation = next.generation - 1;
        let output = self.folder(DatasetFolder::Drift, generation);
        let config = next.config.config.gate.of_pairs(DRIFT_PAIRS).map_err(StageError::from)?;
        let task = GateTask {
            config: &config,
            seed: next.config.config.run.seed,
            generation,
            candidate: &champion?,
            baseline: &veteran?,
            avoid: &[],
            output: &output,
            remake: false,
        };
        let task = StageTask::Gate(task);
        make_way(&task, true, self.context)?;
        // It is too short to be worth shards.
        if let StageReport::Gate(report) = self.make_here(&task, generation)? {
            (self.tell)(Event::Drifted(&report));
        }
        Ok(())
    }

    /// Removes what no later generation needs.
    fn collect(&self, next: &Next) -> Result<(), StageError> {
        if next.keep != 0 {
            (self.tell)(Event::Collected(&collect(&self.lineage()?)?));
        }
        Ok(())
    }

    /// Begins the next generation, which fixes its config and who plays it.
    fn begin(&self, change: Change, generations: Generations) -> Result<Next, StageError> {
        let mut lineage = self.lineage()?;
        let next = lineage.begin_next(change, generations, |loss| (self.tell)(Event::Restart(loss)))?;
        if next.generation <= next.last {
            let calls = read_calls(&self.task.registry.folder().join(RUN_LOG_NAME))?;
            let left = f64::from(next.last + 1 - next.generation);
            let recent = recent_seconds(&calls, next.generation).map(|seconds| seconds * left);
            (self.tell)(Event::Generation { next: &next, seconds_left: recent.or(self.expected) });
            self.journal.begin()?;
        }
        Ok(next)
    }

    fn lineage(&self) -> Result<Lineage<'_>, StageError> {
        Lineage::read(self.task.config, self.task.registry, self.task.datasets)
    }

    fn folder(&self, folder: impl Into<DatasetFolder>, generation: u32) -> PathBuf {
        generation_folder(self.task.datasets, folder, generation)
    }

    /// The version that a stage has made.
    fn version(&self, report: &StageReport) -> Result<LoadedModel, StageError> {
        Ok(load_model(report.version().unwrap_or_default(), self.task.registry.folder())?)
    }
}
