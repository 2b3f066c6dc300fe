//! What a run records about itself: `run.log`, a line per call of a stage, and `run.json`, how far
//! it is. No result depends on them.

use super::RunTask;
use crate::artifact::publish::{publish_bytes, remove_file};
use crate::artifact::{ArtifactError, ChampionFile, FormatVersion};
use crate::exit_code;
use crate::generation::Generation;
use crate::pipeline::{Context, StageError};
use crate::report::{remove_live_report, write_report};
use crate::run::log::{CallOutcome, CallRecord, RunEfficiency, append_call, read_calls, utc};
use crate::run::record::{LastCall, RUN_RECORD_NAME};
use crate::run::status::RunStatus;
use crate::watcher::watched;
use crossbeam::channel::{Receiver, RecvTimeoutError};
use serde::Serialize;
use serde_json::{Value, json};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often run.json says how far the run is.
const RECORD_EVERY: Duration = Duration::from_secs(10);
/// The share of a thread's time that it may take at most: a run of many generations says it less
/// often.
const RECORD_SHARE: f64 = 0.02;

/// The format version of run.json. The page shows it, and the report takes three values from it; no
/// stage reads it.
type RunFormat = FormatVersion<1>;

/// One call of the pipeline for machines, the content of `run.json`. It holds times, so it is not
/// an artifact.
#[derive(Debug, Serialize)]
struct RunRecord<'a> {
    format: RunFormat,
    began: String,
    ended: String,
    seconds: u64,
    code: Option<u8>,
    /// `running`, `accepted`, `rejected`, `inconclusive`, `budget`, `damaged`, `interrupted` or
    /// `failed`.
    outcome: &'static str,
    budget: Option<Value>,
    /// The config file as the call named it, and the keys that it set over it.
    config: String,
    settings: &'a [String],
    /// The calls of the stages, in order.
    stages: Vec<CallRecord>,
    /// How busy their threads were.
    efficiency: Option<RunEfficiency>,
    #[serde(flatten)]
    status: &'a RunStatus,
}

/// The notes of one call of a run.
pub struct Journal<'a> {
    task: RunTask<'a>,
    context: Context<'a>,
    began: u64,
    /// Whether there was anything to do: a call that finds all work done changes no byte, unless
    /// run.json says that the run ended otherwise.
    is_at_work: AtomicBool,
}

/// A call of a stage.
pub struct Call {
    pub stage: &'static str,
    /// Whether it runs as shards elsewhere.
    pub shards: bool,
    pub generation: Option<Generation>,
}

/// How a call of a stage ended.
#[derive(Default)]
pub struct CallEnd {
    pub id: Option<String>,
    pub is_skipped: bool,
    pub code: u8,
    /// Of shards: processor seconds and workers, if they are known.
    pub work: Option<(f64, usize)>,
}

impl<'a> Journal<'a> {
    pub fn new(task: &RunTask<'a>, context: Context<'a>) -> Self {
        Self {
            task: *task,
            context,
            began: context.host.unix_seconds(),
            is_at_work: AtomicBool::new(false),
        }
    }

    /// Does the work of the run, and meanwhile says every few seconds how far it is.
    pub fn keep<T>(&self, work: impl FnOnce() -> Result<T, StageError>) -> Result<T, StageError> {
        let record = |ended: Receiver<()>| {
            let mut pause = RECORD_EVERY;
            while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                if self.is_at_work.load(Ordering::Relaxed) {
                    let began = self.context.host.seconds();
                    // The run need not stop for it; its end is recorded too.
                    self.record(None).unwrap_or_default();
                    let seconds = self.context.host.seconds() - began;
                    pause = RECORD_EVERY.max(Duration::from_secs_f64(seconds / RECORD_SHARE));
                }
            }
        };
        watched(record, || unless_it_panics("run", work))
    }

    /// A generation begins: there is something to do. The report shows what was done before.
    pub fn begin(&self) -> Result<(), ArtifactError> {
        if !self.is_at_work.swap(true, Ordering::Relaxed) {
            self.record(None)?;
        }
        // A page to look at never stops the run.
        self.report().unwrap_or_default();
        Ok(())
    }

    /// The run has ended with an exit code.
    pub fn end(&self, code: u8) {
        let is_at_work = self.is_at_work.load(Ordering::Relaxed);
        let is_verdict = matches!(
            code,
            exit_code::DONE | exit_code::REJECTED | exit_code::INCONCLUSIVE
        );
        // A record that cannot be read is written again.
        let recorded = LastCall::read(self.task.registry.folder()).ok().flatten();
        let is_recorded =
            recorded.is_some_and(|call| call.code == Some(code) && self.is_champion(&call));
        if is_at_work || !is_verdict || !is_recorded {
            if let Err(error) = self.record(Some(code)) {
                self.record_briefly(code, &error);
            }
            if let Err(error) = self.report() {
                self.withdraw_report(&error);
            }
        }
    }

    /// Whether a record names the champion, who may have been promoted by hand since.
    fn is_champion(&self, call: &LastCall) -> bool {
        let champions = ChampionFile::read(self.task.registry.folder());
        let champion = champions
            .ok()
            .and_then(|file| file.champion().map(|promotion| promotion.id.to_string()));
        call.champion == champion
    }

    /// Where the record does not fit, the one of before makes room for a short one: better none
    /// than one that is not true.
    fn record_briefly(&self, code: u8, error: &ArtifactError) {
        let path = self.task.registry.folder().join(RUN_RECORD_NAME);
        let status = RunStatus {
            run: self.task.config.name.clone(),
            ..RunStatus::default()
        };
        let text = self.text(Some(code), &status, Vec::new());
        let written = remove_file(&path).and_then(|()| publish_bytes(&path, text.as_bytes()));
        let outcome = match written {
            Ok(()) => "it says only how the run ended",
            Err(_) => "the one of the call before is removed as far as that was possible",
        };
        self.context.host.say(&format!("run: {error}; {outcome}"));
    }

    /// A report that says that the run is at work would renew itself for ever.
    fn withdraw_report(&self, error: &StageError) {
        if remove_live_report(self.task.registry.folder()).unwrap_or(true) {
            let again = self.task.invocation.config_options();
            self.context.host.say(&format!(
                "run: no report: {error}\nrenma report {again} writes it"
            ));
        }
    }

    /// Runs a stage, here or its shards elsewhere, and notes how that ended.
    pub fn call<T>(
        &self,
        call: Call,
        work: impl FnOnce() -> Result<T, StageError>,
        end: impl FnOnce(&T) -> CallEnd,
    ) -> Result<T, StageError> {
        let Call {
            stage,
            shards,
            generation,
        } = call;
        let host = self.context.host;
        let (began, since, cpu_since) = (host.unix_seconds(), host.seconds(), host.cpu_seconds());
        let result = unless_it_panics(stage, work);
        let end = result.as_ref().map(end);
        let (outcome, code) = match &end {
            Ok(end) if end.is_skipped => (CallOutcome::Skipped, end.code),
            Ok(end) => (CallOutcome::Done, end.code),
            Err(error) => match error.exit_code() {
                code @ (exit_code::BUDGET_SPENT | exit_code::INTERRUPTED) => {
                    (CallOutcome::Stopped, code)
                }
                code => (CallOutcome::Failed, code),
            },
        };
        // Where nobody says what shards took, no thread counts.
        let usual = if shards {
            (0.0, 0)
        } else {
            (host.cpu_seconds() - cpu_since, self.context.threads)
        };
        let (cpu_seconds, threads) = end.as_ref().ok().and_then(|end| end.work).unwrap_or(usual);
        let record = CallRecord {
            stage: stage.to_owned(),
            generation,
            outcome,
            code,
            began,
            seconds: host.seconds() - since,
            cpu_seconds,
            threads: Some(threads),
            shards,
            error: end.as_ref().err().map(ToString::to_string),
            id: end.ok().and_then(|end| end.id),
        };
        if let Err(error) = append_call(self.task.registry.folder(), &record) {
            host.say(&format!("{stage}: cannot log this call: {error}"));
        }
        result
    }

    fn record(&self, code: Option<u8>) -> Result<(), ArtifactError> {
        let RunTask {
            config,
            registry,
            datasets,
            ..
        } = self.task;
        // A damaged run has no summary, but the record of the call is needed all the more.
        let status = RunStatus::read(config, registry, datasets).unwrap_or_else(|_| RunStatus {
            run: config.name.clone(),
            ..RunStatus::default()
        });
        let mut calls = read_calls(registry.folder())?;
        calls.retain(|call| self.began <= call.began);
        publish_bytes(
            &registry.folder().join(RUN_RECORD_NAME),
            self.text(code, &status, calls).as_bytes(),
        )
    }

    /// The text of a record.
    fn text(&self, code: Option<u8>, status: &RunStatus, stages: Vec<CallRecord>) -> String {
        let RunTask {
            budget, invocation, ..
        } = self.task;
        let now = self.context.host.unix_seconds();
        let seconds = now.saturating_sub(self.began);
        let record = RunRecord {
            format: RunFormat::CURRENT,
            began: utc(self.began),
            ended: utc(now),
            seconds,
            code,
            outcome: match code {
                None => "running",
                Some(exit_code::DONE) => "accepted",
                Some(exit_code::REJECTED) => "rejected",
                Some(exit_code::INCONCLUSIVE) => "inconclusive",
                Some(exit_code::BUDGET_SPENT) => "budget",
                Some(exit_code::BAD_INPUT) => "damaged",
                Some(exit_code::INTERRUPTED) => "interrupted",
                Some(_) => "failed",
            },
            budget: budget.map(|budget| {
                let left = budget.as_secs().saturating_sub(seconds);
                let spent = code == Some(exit_code::BUDGET_SPENT);
                json!({"seconds": budget.as_secs(), "seconds_left": left, "spent": spent})
            }),
            config: invocation.config.to_string_lossy().into_owned(),
            settings: &invocation.settings,
            efficiency: RunEfficiency::of(&stages),
            stages,
            status,
        };
        serde_json::to_string_pretty(&record).expect("a record is plain data") + "\n"
    }

    /// Draws the run as a page.
    fn report(&self) -> Result<(), StageError> {
        let draw = || {
            let page = || write_report(self.task.config, self.task.invocation).map(drop);
            self.context.pool()?.install(page)
        };
        unless_it_panics("report", draw)
    }
}

/// The result of some work, or what it said when it panicked.
fn unless_it_panics<T>(
    stage: &'static str,
    work: impl FnOnce() -> Result<T, StageError>,
) -> Result<T, StageError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied());
        Err(StageError::Panic {
            stage,
            message: text.unwrap_or("without a message").to_owned(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::Registry;
    use crate::config::default_config;
    use crate::pipeline::fixtures::context;
    use crate::run::invocation::Invocation;
    use crate::run::lineage::Change;
    use crate::run::next::Generations;

    #[test]
    fn a_stage_that_panics_is_recorded_with_code_1() {
        let folder = tempfile::tempdir().unwrap();
        let (config, models, datasets) = (
            default_config(),
            folder.path().join("m"),
            folder.path().join("d"),
        );
        let registry = Registry::new(&models);
        let invocation = Invocation {
            config: "configs/default.toml".into(),
            settings: Vec::new(),
            models: models.clone(),
            datasets: datasets.clone(),
        };
        let task = RunTask {
            config: &config,
            registry: &registry,
            datasets: &datasets,
            generations: Generations::Configured,
            change: Change::Refuse,
            budget: None,
            elsewhere: None,
            invocation: &invocation,
        };
        let flag = AtomicBool::new(false);
        let journal = Journal::new(&task, context(&flag));
        let panics = || -> Result<(), StageError> {
            journal.begin()?;
            let call = Call {
                stage: "train",
                shards: false,
                generation: Some(Generation(3)),
            };
            journal.call(
                call,
                || panic!("no {} there", "weight"),
                |()| CallEnd::default(),
            )
        };
        let error = journal.keep(panics).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("train stopped at an error in renma: no weight there"),
            "{error}"
        );
        journal.end(error.exit_code());
        let calls = read_calls(&models).unwrap();
        assert_eq!(
            (calls.len(), calls[0].code, calls[0].outcome),
            (1, 1, CallOutcome::Failed)
        );
        let record: Value =
            serde_json::from_slice(&std::fs::read(models.join(RUN_RECORD_NAME)).unwrap()).unwrap();
        assert_eq!(
            (&record["code"], &record["outcome"]),
            (&1.into(), &"failed".into())
        );
    }
}
