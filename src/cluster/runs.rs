//! The side log of a plan, `PLAN.workers.jsonl`: one line per run of a shard, with who ran it. No
//! result depends on it.

use super::plan::{Plan, name_of};
use crate::artifact::ArtifactError;
use crate::artifact::publish::{append_line, read_bounded};
use crate::pipeline::StageError;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A longer log is not read.
const SIZE_MAX: u64 = 1 << 30;

/// A run of a shard that has ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    /// The shard.
    pub shard: usize,
    /// Who ran it, if the runner knows.
    pub worker: Option<String>,
    /// Where.
    pub host: Option<String>,
    /// How long it took.
    pub seconds: Option<f64>,
    /// Its processor seconds, if it printed its report.
    pub cpu_seconds: Option<f64>,
    /// The exit code; none if a signal ended it or its worker was lost.
    pub code: Option<i32>,
    /// The end of what it wrote to stderr.
    #[serde(skip_serializing, default)]
    pub stderr: String,
}

impl Ended {
    /// Who ran it and where, with a preposition; empty if nobody knows.
    pub fn place(&self) -> String {
        match (&self.worker, &self.host) {
            (Some(worker), Some(host)) => format!(" on {worker} ({host})"),
            (Some(worker), None) => format!(" on {worker}"),
            _ => String::new(),
        }
    }
}

/// The log beside a plan.
pub fn log_path(plan: &Path) -> PathBuf {
    plan.with_file_name(format!("{}.workers.jsonl", name_of(plan)))
}

/// Adds a run to the log of a plan.
pub(super) fn log(plan: &Path, run: &Ended) -> Result<(), ArtifactError> {
    append_line(
        &log_path(plan),
        &serde_json::to_string(run).expect("a run is plain data"),
    )
}

/// The same error; where it names files in a folder that shards of a plan made, it also says who
/// made them.
pub fn name_makers(mut error: StageError, plan: &Path, folder: &Path) -> StageError {
    let name = |path: &Path, reason: &mut String| {
        // Inputs have parts too.
        if let Some(maker) = maker_of(plan, path).filter(|_| path.starts_with(folder)) {
            // The remedy, on the second line, stays last.
            reason.insert_str(
                reason.find('\n').unwrap_or(reason.len()),
                &format!("; {maker}"),
            );
        }
    };
    match &mut error {
        StageError::Artifact(ArtifactError::Damaged { path, reason }) => name(path, reason),
        StageError::FalseParts { parts, .. } => {
            parts
                .iter_mut()
                .for_each(|(path, reason)| name(&folder.join(path), reason));
        }
        _ => (),
    }
    error
}

/// The shard of a plan that makes a file, and where its last run that ended well was, in words.
/// `None` if the plan or its log cannot be read, or if the file is not from one of its shards.
fn maker_of(plan: &Path, file: &Path) -> Option<String> {
    let piece = file
        .file_stem()?
        .to_str()?
        .strip_prefix("part-")?
        .parse()
        .ok()?;
    let shard = Plan::read(plan)
        .ok()?
        .shards
        .iter()
        .position(|pieces| pieces.contains(&piece))?;
    let bytes = read_bounded(&log_path(plan), SIZE_MAX).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    // A loss of power may leave a torn line.
    let mut runs = text
        .lines()
        .rev()
        .filter_map(|line| serde_json::from_str::<Ended>(line).ok());
    let run = runs.find(|run| run.shard == shard && run.code == Some(0))?;
    Some(format!(
        "shard {shard} of {} made it{}",
        plan.display(),
        run.place()
    ))
}
