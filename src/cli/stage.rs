//! What the stages of a run share: a time limit, a line in the run's log, and making way for a new result.

use super::arguments::stage::WorkArguments;
use super::failure::code_of;
use super::output::{detail, say};
use super::session::{Session, Stopwatch};
use crate::artifact::error::ArtifactError;
use crate::exit_code;
use crate::run::claim::{Claim, Cleared, check_folder, clear_folder};
use crate::run::log::{CallOutcome, CallRecord, append_call};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How a stage without an error ended.
pub(super) struct StageEnd {
    /// The version that it made or found.
    pub(super) id: Option<String>,
    /// Whether its work had been done before.
    pub(super) skipped: bool,
    pub(super) code: u8,
}

impl StageEnd {
    /// A stage that ends with 0.
    pub(super) fn done(id: Option<&str>, skipped: bool) -> Self {
        Self { id: id.map(str::to_owned), skipped, code: exit_code::DONE }
    }
}

/// Says in one line what a stage did, with its name in the column of all stages. The lines of a run stand below the heading of
/// their generation.
pub(super) fn summarize(stage: &str, arguments: &WorkArguments, text: &str) {
    let indent = if arguments.log.is_some() { "  " } else { "" };
    say(&format!("{indent}{stage:<9} {text}"));
}

/// Runs a stage under its budget and notes the call in the run's log.
pub(super) fn run_stage(
    session: &Session,
    stage: &str,
    generation: Option<u32>,
    arguments: &WorkArguments,
    act: impl FnOnce() -> anyhow::Result<StageEnd>,
) -> anyhow::Result<ExitCode> {
    limit(session, arguments);
    let call = Call::begin(stage, generation, arguments.log.as_deref());
    let result = act();
    let (seconds, threads) = (call.stopwatch.processor_seconds(), session.threads);
    call.end(result.as_ref(), Some((seconds, threads)));
    result.map(|end| ExitCode::from(end.code))
}

/// A call of a stage, which is noted in the run's log when it ends.
pub(super) struct Call<'a> {
    stage: &'a str,
    generation: Option<u32>,
    log: Option<&'a Path>,
    began: u64,
    pub(super) stopwatch: Stopwatch,
}

impl<'a> Call<'a> {
    pub(super) fn begin(stage: &'a str, generation: Option<u32>, log: Option<&'a Path>) -> Self {
        Self { stage, generation, log, began: unix_seconds(), stopwatch: Stopwatch::start() }
    }

    /// `work`: its processor seconds, and on how many threads, if both are known.
    pub(super) fn end(self, result: Result<&StageEnd, &anyhow::Error>, work: Option<(f64, usize)>) {
        let Some(log) = self.log else { return };
        let (outcome, code) = match result {
            Ok(end) if end.skipped => (CallOutcome::Skipped, end.code),
            Ok(end) => (CallOutcome::Done, end.code),
            Err(error) => match code_of(error) {
                code @ (exit_code::BUDGET_SPENT | exit_code::INTERRUPTED) => (CallOutcome::Stopped, code),
                code => (CallOutcome::Failed, code),
            },
        };
        let record = CallRecord {
            stage: self.stage.to_owned(),
            generation: self.generation,
            outcome,
            code,
            began: self.began,
            seconds: self.stopwatch.seconds(),
            cpu_seconds: work.map_or(0.0, |(seconds, _)| seconds),
            threads: work.map(|(_, threads)| threads),
            id: result.ok().and_then(|end| end.id.clone()),
            error: result.err().map(|error| format!("{error:#}")),
        };
        if let Err(error) = append_call(log, &record) {
            say(&format!("{}: cannot log this call: {error}", self.stage));
        }
    }
}

/// Ends the work when its budget is spent, which counts from a moment or from now, and tells the progress when the run will end.
pub(super) fn limit(session: &Session, arguments: &WorkArguments) {
    let now = unix_seconds();
    let left = arguments.budget.map(|budget| {
        let spent = Duration::from_secs(now.saturating_sub(arguments.since.unwrap_or(now)));
        budget.saturating_sub(spent)
    });
    let until = arguments.until.map(|until| Duration::from_secs(until.saturating_sub(now)));
    session.in_run(arguments.log.is_some(), until, left);
}

/// Checks the dataset folder of a stage before its work; with `replace`, also clears it.
pub(super) fn claim_folder(claim: &Claim<'_>, replace: bool) -> Result<(), ArtifactError> {
    if !replace {
        return check_folder(claim.folder).map(|_| ());
    }
    let what = match clear_folder(claim)? {
        Some(Cleared::OtherInputs) => "was made from other inputs; rebuilding it",
        Some(Cleared::Surplus) => "held more than the config asks for; removed the rest",
        None => return Ok(()),
    };
    detail(&format!("{}: {} {what}", claim.stage, claim.folder.display()));
    Ok(())
}

/// Seconds since 1970, UTC.
pub(super) fn unix_seconds() -> u64 {
    // A clock before 1970 is not set; no result depends on it.
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
