//! The loop, generation after generation: generate, train, fit-mpc, gate, promote. Nothing else describes it.
//!
//! The stages themselves know nothing of each other. Here the result of each is the input of the next:
//!
//! champion ─ generate ─▶ dataset ─ train ─▶ draft ─ fit-mpc ─▶ candidate ─ gate ─▶ verdict ─ promote ─▶ champion

mod journal;
pub mod plan;
mod stages;

use crate::artifact::model::reference::load_model;
use crate::artifact::publish::is_folder;
use crate::artifact::{ArtifactError, FolderLock, LoadedModel, Registry, Verdict, VerdictFile};
use crate::cluster::elsewhere::Elsewhere;
use crate::config::LoadedConfig;
use crate::exit_code;
use crate::pipeline::gate::task::{GateReport, GateTask};
use crate::pipeline::parts::MadeAgain;
use crate::pipeline::promote::{PromoteReport, promote};
use crate::pipeline::stage_task::{StageReport, StageTask};
use crate::pipeline::train::repeated_games::refuse_repeated_games;
use crate::pipeline::{Context, StageError};
use crate::report::invocation::Invocation;
use crate::run::claim::make_way;
use crate::run::folders::{DatasetFolder, generation_folder};
use crate::run::forecast::{Forecast, recent_seconds};
use crate::run::gc::{GcPlan, collect};
use crate::run::lineage::{Change, Lineage};
use crate::run::log::read_calls;
use crate::run::loss::Loss;
use crate::run::next::{Generations, Next};
use journal::{CallEnd, Journal};
use std::path::Path;
use std::time::Duration;

/// The lock of a run, in its registry.
const RUN_LOCK_NAME: &str = ".run.lock";

/// The pairs of a drift match.
const DRIFT_PAIRS: u64 = 100;

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
        seconds_left: f64,
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
    /// What the run was expected to take, in seconds.
    seconds: f64,
}

/// Makes the generations that a run lacks; gives the verdict of the last one.
///
/// # Errors
///
/// A run that cannot continue with its config, a run at work, and the errors of the stages. What was finished is kept, and the same
/// call resumes.
pub fn run(task: RunTask<'_>, tell: &dyn Fn(Event<'_>), context: Context<'_>) -> Result<Option<Verdict>, StageError> {
    let forecast = plan::forecast(&task, context).and_then(|forecast| {
        if 0 < forecast.generations {
            tell(Event::Forecast(&forecast));
        }
        forecast.check_disk(task.datasets)?;
        Ok(forecast)
    });
    let registry = task.registry.folder();
    if forecast.is_err() && !is_folder(registry)? {
        return forecast.map(|_| None);
    }
    let _lock = match FolderLock::take_named(registry, RUN_LOCK_NAME) {
        // Without room for a lock the forecast says more.
        Err(ArtifactError::Io { .. }) if forecast.is_err() => return forecast.map(|_| None),
        lock => lock?,
    };
    let journal = Journal::new(&task, context);
    let result =
        journal.keep(|| Run { task, context, journal: &journal, tell, seconds: forecast?.seconds }.generations());
    journal.end(match &result {
        Ok(verdict) => code_of(*verdict),
        Err(error) => error.exit_code(),
    });
    result
}

impl Run<'_> {
    fn generations(&self) -> Result<Option<Verdict>, StageError> {
        let mut lineage = self.lineage()?;
        if !lineage.moved_defaults.is_empty() {
            (self.tell)(Event::MovedDefaults(&lineage.moved_defaults));
        }
        let mut next = self.begin(&mut lineage, self.task.change, self.task.generations)?;
        drop(lineage);
        let last = next.last;
        loop {
            match self.drift(&next) {
                // All candidates have their verdicts: it is left to the next call.
                Err(StageError::BudgetSpent) if last < next.generation => {}
                other => other?,
            }
            if last < next.generation {
                // The removal of an earlier call may have failed.
                self.collect(&next)?;
                return Ok(next.verdict);
            }
            self.generation(&next)?;
            self.collect(&next)?;
            next = self.begin(&mut self.lineage()?, Change::Refuse, Generations::Last(last))?;
        }
    }

    fn generation(&self, next: &Next) -> Result<(), StageError> {
        refuse_repeated_games(&next.tasks.datasets, self.context)?;
        let champion = self.load(&next.champion)?;
        self.make(&StageTask::Generate(next.tasks.generate(&champion)), next)?;
        let draft = self.make_version(&StageTask::Train(next.tasks.train(&champion)), next)?;
        let candidate = self.make_version(&StageTask::FitMpc(next.tasks.fit_mpc(&draft)), next)?;
        let report = self.make(&StageTask::Gate(next.tasks.gate(&candidate, &champion)), next)?;
        match report.verdict() {
            Some(file) if file.verdict == Verdict::Accepted => self.promote(&candidate, file),
            _ => Ok(()),
        }
    }

    /// Makes a stage that makes a version, and loads that.
    fn make_version(&self, task: &StageTask<'_>, next: &Next) -> Result<LoadedModel, StageError> {
        self.load(self.make(task, next)?.version().expect("the stage makes a version"))
    }

    /// Makes an accepted candidate champion.
    fn promote(&self, candidate: &LoadedModel, verdict: &VerdictFile) -> Result<(), StageError> {
        let work = || promote(candidate, self.task.registry, Some(verdict));
        let report = self.journal.call(("promote", false), None, work, |report| CallEnd {
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
        let (champion, veteran) = (self.load(&next.champion)?, self.load(veteran)?);
        let generation = next.generation - 1;
        let output = generation_folder(self.task.datasets, DatasetFolder::Drift, generation);
        let config = next.tasks.config.config.gate.of_pairs(DRIFT_PAIRS).map_err(StageError::from)?;
        let gate_task = next.tasks.gate(&champion, &veteran);
        let task = StageTask::Gate(GateTask { config: &config, generation, avoid: &[], output: &output, ..gate_task });
        make_way(&task, true, self.context)?;
        // It is too short to be worth shards.
        if let StageReport::Gate(report) = self.make_here(&task, generation)? {
            (self.tell)(Event::Drifted(&report));
        }
        Ok(())
    }

    /// Removes what no later generation needs.
    fn collect(&self, next: &Next) -> Result<(), StageError> {
        if next.keep == 0 {
            return Ok(());
        }
        let plan = collect(self.lineage()?)?;
        if !plan.removals.is_empty() {
            (self.tell)(Event::Collected(&plan));
        }
        Ok(())
    }

    /// Begins the next generation, which fixes its config and who plays it.
    fn begin(&self, lineage: &mut Lineage<'_>, change: Change, generations: Generations) -> Result<Next, StageError> {
        let next = lineage.begin_next(change, generations, |loss| (self.tell)(Event::Restart(loss)))?;
        if next.generation <= next.last {
            let calls = read_calls(self.task.registry.folder())?;
            let left = f64::from(next.last + 1 - next.generation);
            let recent = recent_seconds(&calls, next.generation).map(|seconds| seconds * left);
            (self.tell)(Event::Generation { next: &next, seconds_left: recent.unwrap_or(self.seconds) });
            self.journal.begin()?;
        }
        Ok(next)
    }

    fn lineage(&self) -> Result<Lineage<'_>, StageError> {
        Lineage::read(self.task.config, self.task.registry, self.task.datasets)
    }

    fn load(&self, name: &str) -> Result<LoadedModel, StageError> {
        Ok(load_model(name, self.task.registry.folder())?)
    }
}
