//! How well the calls of a run use their threads.

use super::log::{CallOutcome, CallRecord};
use serde::Serialize;
use std::collections::BTreeMap;

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
        (0.0 < thread_seconds).then(|| Self { cpu_seconds, thread_seconds, efficiency: cpu_seconds / thread_seconds })
    }
}

impl RunEfficiency {
    /// That of the calls which did work and recorded their threads; `None` if there are none.
    pub fn of(calls: &[CallRecord]) -> Option<Self> {
        let worked = |call: &&CallRecord| call.threads.is_some() && call.outcome != CallOutcome::Skipped;
        let calls: Vec<&CallRecord> = calls.iter().filter(worked).collect();
        let mut by_stage: BTreeMap<String, Vec<&CallRecord>> = BTreeMap::new();
        calls.iter().for_each(|call| by_stage.entry(call.stage.clone()).or_default().push(call));
        let stages = by_stage.into_iter().filter_map(|(stage, calls)| Some((stage, Efficiency::of(&calls)?)));
        Some(Self { all: Efficiency::of(&calls)?, stages: stages.collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(stage: &str, outcome: CallOutcome, [seconds, cpu_seconds]: [f64; 2], threads: Option<usize>) -> CallRecord {
        let (stage, id, error) = (stage.to_owned(), None, None);
        CallRecord { stage, generation: None, outcome, code: 0, began: 0, seconds, cpu_seconds, threads, id, error }
    }

    #[test]
    fn calls_weigh_by_the_time_of_their_threads() {
        let calls = [
            call("generate", CallOutcome::Done, [10.0, 38.0], Some(4)),
            call("generate", CallOutcome::Stopped, [5.0, 2.0], Some(4)),
            call("train", CallOutcome::Failed, [10.0, 5.0], Some(1)),
            call("train", CallOutcome::Skipped, [100.0, 1.0], Some(4)),
            call("gate", CallOutcome::Done, [100.0, 1.0], None),
        ];
        let run = RunEfficiency::of(&calls).unwrap();
        assert_eq!((run.all.cpu_seconds, run.all.thread_seconds), (45.0, 70.0));
        let stages: Vec<_> = run.stages.iter().map(|(stage, found)| (stage.as_str(), found.efficiency)).collect();
        assert_eq!(stages, [("generate", 40.0 / 60.0), ("train", 0.5)]);
        assert_eq!(RunEfficiency::of(&calls[3..]), None);
    }
}
