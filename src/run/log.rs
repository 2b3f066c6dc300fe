//! `run.log`: one line per call of a stage, with its times; how fast self-play was, and how busy
//! the threads were. A side file: no result depends on it.

use crate::artifact::ArtifactError;
use crate::artifact::publish::{append_line, read_bounded};
use crate::generation::Generation;
use crate::pipeline::stage::Stage;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

/// Its name in a registry's folder.
const RUN_LOG_NAME: &str = "run.log";

/// Longer files are not read: this is enough for many years.
pub(super) const SIZE_MAX: u64 = 256 << 20;

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
    pub generation: Option<Generation>,
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
    /// The number of its threads; 0 or none if their processor seconds are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
    /// Whether it ran shards elsewhere; the call that checks what they made comes after it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shards: bool,
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
pub fn append_call(registry: &Path, record: &CallRecord) -> Result<(), ArtifactError> {
    append_line(
        &registry.join(RUN_LOG_NAME),
        &serde_json::to_string(record).expect("a record is plain data"),
    )
}

/// The calls of the log of a registry, oldest first; none if there is no log. Lines that are not
/// records are skipped.
pub fn read_calls(registry: &Path) -> Result<Vec<CallRecord>, ArtifactError> {
    let bytes = match read_bounded(&registry.join(RUN_LOG_NAME), SIZE_MAX) {
        Err(ArtifactError::Missing { .. }) => return Ok(Vec::new()),
        other => other?,
    };
    let text = String::from_utf8_lossy(&bytes);
    // A loss of power may leave a torn line.
    Ok(text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect())
}

/// The versions that calls made, with their generations.
pub fn versions_made(calls: &[CallRecord]) -> BTreeSet<(Generation, String)> {
    calls
        .iter()
        .filter_map(|call| Some((call.generation?, call.id.clone()?)))
        .collect()
}

/// The calls that did work, by generation; of a generation that was made again, those of its last
/// try.
pub fn calls_by_generation<'c>(
    calls: impl IntoIterator<Item = &'c CallRecord>,
) -> BTreeMap<Generation, Vec<&'c CallRecord>> {
    let mut found: BTreeMap<Generation, Vec<&CallRecord>> = BTreeMap::new();
    for call in calls
        .into_iter()
        .filter(|call| call.outcome != CallOutcome::Skipped)
    {
        let Some(generation) = call.generation else {
            continue;
        };
        let made = found.entry(generation).or_default();
        // Self-play that comes after another stage, or after it was finished, makes the generation
        // again.
        let is_over = |last: &&CallRecord| {
            last.stage != call.stage || (last.outcome == CallOutcome::Done && !last.shards)
        };
        if call.stage == Stage::Generate.name() && made.last().is_some_and(is_over) {
            made.clear();
        }
        made.push(call);
    }
    found
}

/// The speed of self-play in one generation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PlaySpeed {
    /// The generation.
    pub generation: Generation,
    /// Seconds of the calls that played its games.
    pub seconds: f64,
    /// Games per second.
    pub games_per_second: f64,
}

impl PlaySpeed {
    /// That of a generation with this number of games; `None` if the log does not say when they
    /// were finished.
    pub fn of(calls: &[CallRecord], generation: Generation, games: u64) -> Option<Self> {
        let mut plays = calls_by_generation(calls).remove(&generation)?;
        plays.retain(|call| call.stage == Stage::Generate.name());
        // Games that shards made have two finished calls: one ran the shards, and one checked what
        // they made.
        let is_finished = plays
            .iter()
            .any(|call| call.outcome == CallOutcome::Done && !call.shards);
        let seconds: f64 = plays.iter().map(|call| call.seconds).sum();
        (is_finished && 0.0 < seconds).then(|| Self {
            generation,
            seconds,
            games_per_second: games as f64 / seconds,
        })
    }
}

/// The processor time of calls that did work, beside the time that their threads had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Efficiency {
    /// Processor seconds of all threads.
    pub cpu_seconds: f64,
    /// Seconds, each as often as the call had threads.
    pub thread_seconds: f64,
    /// The first over the second: 1 if every thread was busy all the time.
    pub efficiency: f64,
}

/// The efficiency of a run and of each of its stages.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunEfficiency {
    /// Of all stages.
    #[serde(flatten)]
    pub all: Efficiency,
    /// By stage.
    pub stages: BTreeMap<String, Efficiency>,
}

impl Efficiency {
    fn of(calls: &[&CallRecord]) -> Option<Self> {
        let cpu_seconds = calls.iter().map(|call| call.cpu_seconds).sum();
        let threads = |call: &CallRecord| call.threads.unwrap_or(0) as f64;
        let thread_seconds = calls.iter().map(|call| call.seconds * threads(call)).sum();
        (0.0 < thread_seconds).then(|| Self {
            cpu_seconds,
            thread_seconds,
            efficiency: cpu_seconds / thread_seconds,
        })
    }
}

impl RunEfficiency {
    /// That of the calls which did work and recorded their threads; `None` if there are none.
    pub fn of(calls: &[CallRecord]) -> Option<Self> {
        let worked =
            |call: &&CallRecord| call.threads.is_some() && call.outcome != CallOutcome::Skipped;
        let calls: Vec<&CallRecord> = calls.iter().filter(worked).collect();
        let mut by_stage: BTreeMap<String, Vec<&CallRecord>> = BTreeMap::new();
        calls
            .iter()
            .for_each(|call| by_stage.entry(call.stage.clone()).or_default().push(call));
        let stages = by_stage
            .into_iter()
            .filter_map(|(stage, calls)| Some((stage, Efficiency::of(&calls)?)));
        Some(Self {
            all: Efficiency::of(&calls)?,
            stages: stages.collect(),
        })
    }
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
            generation: Some(Generation::FIRST),
            outcome: CallOutcome::Done,
            code,
            began: 1_800_000_000,
            seconds: 1.5,
            cpu_seconds: 2.5,
            threads: Some(4),
            shards: false,
            id: None,
            error: None,
        };
        append_call(folder.path(), &record("generate", 0)).unwrap();
        append_line(&path, "{\"stage\":\"tra").unwrap();
        append_call(folder.path(), &record("gate", 11)).unwrap();
        assert_eq!(
            read_calls(folder.path()).unwrap(),
            [record("generate", 0), record("gate", 11)]
        );
        // A line without an end does not spoil the next record.
        let mut file = std::fs::File::options().append(true).open(&path).unwrap();
        file.write_all(b"{\"stage\":\"tra").unwrap();
        append_call(folder.path(), &record("promote", 0)).unwrap();
        append_call(folder.path(), &record("generate", 12)).unwrap();
        let expected = [
            ("generate", 0),
            ("gate", 11),
            ("promote", 0),
            ("generate", 12),
        ];
        assert_eq!(
            read_calls(folder.path()).unwrap(),
            expected.map(|(stage, code)| record(stage, code))
        );
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.lines().all(|line| !line.is_empty()), "{text}");
    }

    fn call(
        stage: &str,
        outcome: CallOutcome,
        seconds: f64,
        cpu_seconds: f64,
        threads: Option<usize>,
    ) -> CallRecord {
        let (stage, id, error) = (stage.to_owned(), None, None);
        let (generation, code, began, shards) = (None, 0, 0, false);
        CallRecord {
            stage,
            generation,
            outcome,
            code,
            began,
            seconds,
            cpu_seconds,
            threads,
            shards,
            id,
            error,
        }
    }

    #[test]
    fn the_calls_that_made_a_generation_as_it_is_count_and_no_others() {
        use CallOutcome::{Done, Failed, Skipped, Stopped};
        let call = |stage: &str, generation, outcome, seconds| CallRecord {
            generation: Some(Generation(generation)),
            ..call(stage, outcome, seconds, 0.0, Some(2))
        };
        let mut calls = vec![
            call("generate", 1, Done, 50.0), // before a restart
            call("generate", 2, Done, 70.0),
            call("generate", 1, Failed, 1.0),
            call("generate", 1, Stopped, 3.0),
            CallRecord {
                shards: true,
                ..call("generate", 1, Done, 4.0)
            },
            call("generate", 1, Skipped, 0.5),
            call("generate", 1, Done, 2.0),
            call("train", 1, Done, 90.0),
        ];
        let speed = PlaySpeed::of(&calls, Generation(1), 200).unwrap();
        assert_eq!(
            (speed.generation, speed.seconds, speed.games_per_second),
            (Generation::FIRST, 10.0, 20.0)
        );
        assert_eq!(PlaySpeed::of(&calls, Generation(3), 200), None);
        let seconds: f64 = calls_by_generation(&calls)[&Generation::FIRST]
            .iter()
            .map(|call| call.seconds)
            .sum();
        assert_eq!(seconds, 100.0);
        calls.push(call("generate", 1, Stopped, 4.0));
        assert_eq!(
            PlaySpeed::of(&calls, Generation(1), 200),
            None,
            "games that are being made again"
        );
        assert_eq!(
            PlaySpeed::of(&[call("generate", 4, Done, 0.0)], Generation(4), 200),
            None,
            "games in no time"
        );
    }

    #[test]
    fn calls_weigh_by_the_time_of_their_threads() {
        let calls = [
            call("generate", CallOutcome::Done, 10.0, 38.0, Some(4)),
            call("generate", CallOutcome::Stopped, 5.0, 2.0, Some(4)),
            call("train", CallOutcome::Failed, 10.0, 5.0, Some(1)),
            call("train", CallOutcome::Skipped, 100.0, 1.0, Some(4)),
            call("gate", CallOutcome::Done, 100.0, 1.0, None),
            call("gate", CallOutcome::Done, 100.0, 0.0, Some(0)),
        ];
        let run = RunEfficiency::of(&calls).unwrap();
        assert_eq!((run.all.cpu_seconds, run.all.thread_seconds), (45.0, 70.0));
        let stages: Vec<_> = run
            .stages
            .iter()
            .map(|(stage, found)| (stage.as_str(), found.efficiency))
            .collect();
        assert_eq!(stages, [("generate", 40.0 / 60.0), ("train", 0.5)]);
        assert_eq!(RunEfficiency::of(&calls[3..]), None);
    }
}
