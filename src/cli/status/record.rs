//! `run.json`: one call of the pipeline for machines. It holds times, so it is no artifact.

use crate::artifact::format::FormatVersion;
use crate::artifact::publish::publish_bytes;
use crate::cli::arguments::PipelineArguments;
use crate::cli::failure::exit_code;
use crate::cli::work::{unix_seconds, utc};
use crate::run::log::{CallRecord, RUN_LOG_NAME, read_calls};
use crate::run::summary::RunStatus;
use serde::Serialize;
use std::path::Path;

/// Its format version; nothing of renma reads it.
type RunFormat = FormatVersion<2, 2>;

/// The budget of a call.
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
    /// The pipeline's exit code, as with `--exit-verdict`; none while it is running.
    code: Option<u8>,
    /// `running`, `accepted`, `rejected`, `inconclusive`, `budget`, `damaged`, `interrupted` or `failed`.
    outcome: &'static str,
    budget: Option<BudgetState>,
    /// The calls of the stages, in order.
    stages: Vec<CallRecord>,
    #[serde(flatten)]
    status: &'a RunStatus,
}

/// Replaces the record of a run.
pub(super) fn write(
    path: &Path,
    arguments: &PipelineArguments,
    registry: &Path,
    status: &RunStatus,
) -> anyhow::Result<()> {
    let now = unix_seconds();
    let since = arguments.since.unwrap_or(now);
    let seconds = now.saturating_sub(since);
    let code = arguments.code;
    let calls = read_calls(&registry.join(RUN_LOG_NAME))?;
    let record = RunRecord {
        format: RunFormat::CURRENT,
        began: utc(since),
        ended: utc(now),
        seconds,
        code,
        outcome: outcome(code),
        budget: arguments.budget.map(|budget| BudgetState {
            seconds: budget.as_secs(),
            seconds_left: budget.as_secs().saturating_sub(seconds),
            spent: code == Some(exit_code::BUDGET_SPENT),
        }),
        stages: calls.into_iter().filter(|call| since <= call.began).collect(),
        status,
    };
    let mut text = serde_json::to_string_pretty(&record)?;
    text.push('\n');
    Ok(publish_bytes(path, text.as_bytes())?)
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
