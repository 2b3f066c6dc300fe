//! `run.json`: one call of the pipeline for machines. It holds times, so it is not an artifact.

use super::log::{CallRecord, RunEfficiency, read_calls, utc};
use super::status::RunStatus;
use crate::artifact::publish::publish_bytes;
use crate::artifact::{ArtifactError, FormatVersion};
use crate::exit_code;
use serde::Serialize;
use std::path::Path;
use std::time::Duration;

/// Its name in a registry's folder.
pub const RUN_RECORD_NAME: &str = "run.json";

/// Its format version. The page shows it, and the report takes three values from it; no stage reads it.
type RunFormat = FormatVersion<1>;

/// One call of the pipeline; times are in seconds since 1970, UTC.
#[derive(Clone, Copy, Debug)]
pub struct PipelineCall {
    /// When it began.
    pub began: u64,
    /// When it ended, or the time at which it is still running.
    pub now: u64,
    /// Its exit code, as with `--exit-verdict`; none while it is running.
    pub code: Option<u8>,
    /// Its time limit.
    pub budget: Option<Duration>,
}

#[derive(Debug, Serialize)]
struct BudgetState {
    seconds: u64,
    seconds_left: u64,
    spent: bool,
}

/// The content of `run.json`.
#[derive(Debug, Serialize)]
struct RunRecord<'a> {
    format: RunFormat,
    began: String,
    ended: String,
    seconds: u64,
    code: Option<u8>,
    /// `running`, `accepted`, `rejected`, `inconclusive`, `budget`, `damaged`, `interrupted` or `failed`.
    outcome: &'static str,
    budget: Option<BudgetState>,
    /// The calls of the stages, in order.
    stages: Vec<CallRecord>,
    /// How busy their threads were.
    efficiency: Option<RunEfficiency>,
    #[serde(flatten)]
    status: &'a RunStatus,
}

/// Replaces the record in the registry of a run.
///
/// # Panics
///
/// If the record has no JSON form, which would be our own mistake.
pub fn write_record(registry: &Path, call: PipelineCall, status: &RunStatus) -> Result<(), ArtifactError> {
    let seconds = call.now.saturating_sub(call.began);
    let calls = read_calls(registry)?;
    let stages: Vec<CallRecord> = calls.into_iter().filter(|stage| call.began <= stage.began).collect();
    let record = RunRecord {
        format: RunFormat::CURRENT,
        began: utc(call.began),
        ended: utc(call.now),
        seconds,
        code: call.code,
        outcome: outcome(call.code),
        budget: call.budget.map(|budget| BudgetState {
            seconds: budget.as_secs(),
            seconds_left: budget.as_secs().saturating_sub(seconds),
            spent: call.code == Some(exit_code::BUDGET_SPENT),
        }),
        efficiency: RunEfficiency::of(&stages),
        stages,
        status,
    };
    let text = serde_json::to_string_pretty(&record).expect("a record is plain data");
    publish_bytes(&registry.join(RUN_RECORD_NAME), format!("{text}\n").as_bytes())
}

const fn outcome(code: Option<u8>) -> &'static str {
    let Some(code) = code else { return "running" };
    match code {
        exit_code::DONE => "accepted",
        exit_code::REJECTED => "rejected",
        exit_code::INCONCLUSIVE => "inconclusive",
        exit_code::BUDGET_SPENT => "budget",
        exit_code::BAD_INPUT => "damaged",
        exit_code::INTERRUPTED => "interrupted",
        _ => "failed",
    }
}
