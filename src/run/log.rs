//! `run.log`: one line per call of a stage, with its times. A side file: no result depends on it.

use crate::artifact::ArtifactError;
use crate::artifact::publish::{append_line, read_bounded};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

/// Its name in a registry's folder.
const RUN_LOG_NAME: &str = "run.log";

/// A longer log is not read: this is enough for many years.
const SIZE_MAX: u64 = 256 << 20;

/// How a call of a stage ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallOutcome {
    /// It did its work.
    Done,
    /// Its work had been done before.
    Skipped,
    /// It was interrupted, or its budget was spent.
    Stopped,
    /// It met an error.
    Failed,
}

/// One call of a stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallRecord {
    /// The stage: `generate`, `train`, `fit-mpc`, `gate` or `promote`.
    pub stage: String,
    /// The generation, where the call names one.
    pub generation: Option<u32>,
    /// How it ended.
    pub outcome: CallOutcome,
    /// Its exit code.
    pub code: u8,
    /// When it began, in seconds since 1970, UTC.
    pub began: u64,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// Processor seconds of all its threads.
    pub cpu_seconds: f64,
    /// The number of its threads, if it has any to itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
    /// The version that it made or found, if it is a stage that makes one.
    pub id: Option<String>,
    /// The error it met, if any.
    pub error: Option<String>,
}

/// A time as `2026-11-21T17:00:00Z`; after the year 9999, the last second of that year.
pub fn utc(unix_seconds: u64) -> String {
    const YEAR_9999_END: u64 = 253_402_300_799;
    let since = Duration::from_secs(unix_seconds.min(YEAR_9999_END));
    humantime::format_rfc3339_seconds(UNIX_EPOCH + since).to_string()
}

/// Adds a call to the log of a registry.
///
/// # Panics
///
/// If the record has no JSON form, which would be our own mistake.
pub fn append_call(registry: &Path, record: &CallRecord) -> Result<(), ArtifactError> {
    append_line(&registry.join(RUN_LOG_NAME), &serde_json::to_string(record).expect("a record is plain data"))
}

/// The calls of the log of a registry, oldest first; none if there is no log. Lines that are not records are skipped.
pub fn read_calls(registry: &Path) -> Result<Vec<CallRecord>, ArtifactError> {
    let bytes = match read_bounded(&registry.join(RUN_LOG_NAME), SIZE_MAX) {
        Err(ArtifactError::Missing { .. }) => return Ok(Vec::new()),
        other => other?,
    };
    let text = String::from_utf8_lossy(&bytes);
    // A loss of power may leave a torn line.
    Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn times_are_days_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_795_280_400, "2026-11-21T17:00:00Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
            (u64::MAX, "9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(utc(seconds), expected);
        }
    }

    #[test]
    fn calls_are_read_back_in_order_and_torn_lines_are_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(RUN_LOG_NAME);
        assert_eq!(read_calls(folder.path()).unwrap(), []);
        let record = |stage: &str, code| CallRecord {
            stage: stage.into(),
            generation: Some(1),
            outcome: CallOutcome::Done,
            code,
            began: 1_800_000_000,
            seconds: 1.5,
            cpu_seconds: 2.5,
            threads: Some(4),
            id: None,
            error: None,
        };
        append_call(folder.path(), &record("generate", 0)).unwrap();
        append_line(&path, "{\"stage\":\"tra").unwrap();
        append_call(folder.path(), &record("gate", 11)).unwrap();
        assert_eq!(read_calls(folder.path()).unwrap(), [record("generate", 0), record("gate", 11)]);
        // A line without an end does not spoil the next record.
        let mut file = std::fs::File::options().append(true).open(&path).unwrap();
        file.write_all(b"{\"stage\":\"tra").unwrap();
        append_call(folder.path(), &record("promote", 0)).unwrap();
        append_call(folder.path(), &record("generate", 12)).unwrap();
        let expected = [("generate", 0), ("gate", 11), ("promote", 0), ("generate", 12)];
        assert_eq!(read_calls(folder.path()).unwrap(), expected.map(|(stage, code)| record(stage, code)));
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.lines().all(|line| !line.is_empty()), "{text}");
    }
}
