//! The loop, generation after generation: generate, train, fit-mpc, gate, promote. Nothing else
//! describes it.
//!
//! The stages themselves know nothing of each other. Here the result of each is the input of the
//! next:
//!
//! champion ─ generate ─▶ dataset ─ train ─▶ draft ─ fit-mpc ─▶ candidate ─ gate ─▶ verdict ─
//! promote ─▶ champion

mod journal;
pub mod plan;
mod stages;

use crate::artifact::publish::is_folder;
use crate::artifact::{
    ArtifactError, FolderLock, LoadedModel, ModelRef, Registry, Verdict, VerdictFile,
};
use crate::cluster::elsewhere::Elsewhere;
use crate::config::LoadedConfig;
use crate::exit_code;
use crate::pipeline::parts::MadeAgain;
use crate::pipeline::promote::{PromoteReport, promote};
use crate::pipeline::request::{Request, RequestModel, Role};
use crate::pipeline::stage::Stage;
use crate::pipeline::train::repeated_games::refuse_repeated_games;
use crate::pipeline::work::{Report, Work};
use crate::pipeline::{Context, StageError};
use crate::run::claim::make_way;
use crate::run::folders::{DatasetFolder, generation_folder};
use crate::run::forecast::{Forecast, recent_seconds};
use crate::run::gc::{GcPlan, collect};
use crate::run::invocation::Invocation;
use crate::run::lineage::{Change, Lineage};
use crate::run::log::read_calls;
use crate::run::loss::Loss;
use crate::run::next::{Generations, Next};
use crate::run::order::{GENERATION, Link, Source};
use journal::{Call, CallEnd, Journal};
use serde_json::json;
use std::collections::BTreeMap;
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
        request: &'a Request,
        report: &'a dyn Report,
        seconds: f64,
    },
    /// A match that only keeps the ladder true.
    Drifted(&'a dyn Report),
    Promoted(&'a PromoteReport),
    Collected(&'a GcPlan),
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
/// A run that cannot continue with its config, a run at work, and the errors of the stages. What
/// was finished is kept, and the same call resumes.
pub fn run(
    task: RunTask<'_>,
    tell: &dyn Fn(Event<'_>),
    context: Context<'_>,
) -> Result<Option<Verdict>, StageError> {
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
    let result = journal.keep(|| {
        Run {
            task,
            context,
            journal: &journal,
            tell,
            seconds: forecast?.seconds,
        }
        .generations()
    });
    journal.end(match &result {
        Ok(verdict) => verdict.map_or(exit_code::DONE, Verdict::exit_code),
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
            next = self.begin(
                &mut self.lineage()?,
                Change::Refuse,
                Generations::Last(last.0),
            )?;
        }
    }

    fn generation(&self, next: &Next) -> Result<(), StageError> {
        refuse_repeated_games(&next.requests.datasets, self.context)?;
        let mut models = BTreeMap::from([(Source::Champion, self.load(&next.champion)?)]);
        let mut verdict = None;
        for link in &GENERATION {
            let (request, work) = self.asked(next, link, &models)?;
            let report = self.make(&request, &*work)?;
            if let Some(version) = report.version() {
                let made = version.parse().expect("it is the id of a version");
                models.insert(
                    Source::Made(link.stage),
                    self.load(&ModelRef::Version(made))?,
                );
            }
            verdict = report.verdict().cloned();
        }
        match verdict {
            Some(file) if file.verdict == Verdict::Accepted => {
                self.promote(&models[&Source::Made(Stage::FitMpc)], &file)
            }
            _ => Ok(()),
        }
    }

    /// What the next generation asks of a stage, and the work that it is.
    fn asked(
        &self,
        next: &Next,
        link: &Link,
        models: &BTreeMap<Source, LoadedModel>,
    ) -> Result<(Request, Box<dyn Work>), StageError> {
        let registry = self.task.registry.folder();
        let mut request = next
            .requests
            .of(link, |source| RequestModel::of(&models[&source], registry));
        request.find_datasets()?;
        let work = request.work(
            &link
                .models
                .iter()
                .map(|(role, source)| (*role, models[source].clone()))
                .collect(),
        )?;
        Ok((request, work))
    }

    /// Makes an accepted candidate champion.
    fn promote(&self, candidate: &LoadedModel, verdict: &VerdictFile) -> Result<(), StageError> {
        let work = || promote(candidate, self.task.registry, Some(verdict));
        let call = Call {
            stage: "promote",
            shards: false,
            generation: None,
        };
        let report = self.journal.call(call, work, |report| CallEnd {
            id: report.champion.map(|id| id.to_string()),
            is_skipped: report.skipped,
            ..CallEnd::default()
        })?;
        (self.tell)(Event::Promoted(&report));
        Ok(())
    }

    /// After some generations the champion plays a former one, so that the ladder does not drift.
    /// Whoever wins, it stays champion.
    fn drift(&self, next: &Next) -> Result<(), StageError> {
        let Some(veteran) = &next.veteran else {
            return Ok(());
        };
        let (champion, veteran) = (self.load(&next.champion)?, self.load(veteran)?);
        let generation = next.generation - 1;
        let registry = self.task.registry.folder();
        let config = &next.requests.config;
        let models = [(Role::Candidate, champion), (Role::Baseline, veteran)];
        let request = Request {
            config: json!(
                config
                    .config
                    .gate
                    .of_pairs(DRIFT_PAIRS)
                    .map_err(StageError::from)?
            ),
            generation,
            models: models
                .iter()
                .map(|(role, model)| (*role, RequestModel::of(model, registry)))
                .collect(),
            output: Some(generation_folder(
                self.task.datasets,
                DatasetFolder::Drift,
                generation,
            )),
            ..config.request(Stage::Gate, registry)
        };
        let work = request.work(&models.into_iter().collect())?;
        make_way(request.stage, &*work, true, self.context)?;
        // It is too short to be worth shards.
        (self.tell)(Event::Drifted(&*self.make_here(&request, &*work)?));
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
    fn begin(
        &self,
        lineage: &mut Lineage<'_>,
        change: Change,
        generations: Generations,
    ) -> Result<Next, StageError> {
        let next = lineage.begin_next(change, generations, |loss| {
            (self.tell)(Event::Restart(loss));
        })?;
        if next.generation <= next.last {
            let calls = read_calls(self.task.registry.folder())?;
            let left = f64::from(next.last - next.generation + 1);
            let recent = recent_seconds(&calls, next.generation).map(|seconds| seconds * left);
            (self.tell)(Event::Generation {
                next: &next,
                seconds_left: recent.unwrap_or(self.seconds),
            });
            self.journal.begin()?;
        }
        Ok(next)
    }

    fn lineage(&self) -> Result<Lineage<'_>, StageError> {
        Lineage::read(self.task.config, self.task.registry, self.task.datasets)
    }

    fn load(&self, name: &ModelRef) -> Result<LoadedModel, StageError> {
        Ok(name.load(self.task.registry.folder())?)
    }
}
