//! How fast the stages of a run have been, from its log.

use super::log::{CallOutcome, CallRecord};
use crate::pipeline::stage::Stage;
use serde::Serialize;

/// The speed of self-play in one generation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PlaySpeed {
    /// The generation.
    pub generation: u32,
    /// Seconds of the calls that played its games.
    pub seconds: f64,
    /// Games per second.
    pub games_per_second: f64,
}

impl PlaySpeed {
    /// That of a generation with this number of games; `None` if the log does not say when they were finished.
    pub fn of(calls: &[CallRecord], generation: u32, games: u64) -> Option<Self> {
        let is_its = |call: &&CallRecord| call.stage == Stage::Generate.name() && call.generation == Some(generation);
        let calls: Vec<&CallRecord> =
            calls.iter().filter(is_its).filter(|call| call.outcome != CallOutcome::Skipped).collect();
        // A generation that was made again has several finished calls: the last finished the games that exist.
        let mut tries = calls.split_inclusive(|call| call.outcome == CallOutcome::Done);
        let last = tries.rfind(|calls| calls.last().is_some_and(|call| call.outcome == CallOutcome::Done))?;
        let seconds: f64 = last.iter().map(|call| call.seconds).sum();
        (0.0 < seconds).then(|| Self { generation, seconds, games_per_second: games as f64 / seconds })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(stage: &str, generation: u32, outcome: CallOutcome, seconds: f64) -> CallRecord {
        let stage = stage.to_owned();
        let (generation, threads) = (Some(generation), Some(2));
        CallRecord {
            stage,
            generation,
            outcome,
            code: 0,
            began: 0,
            seconds,
            cpu_seconds: 0.0,
            threads,
            id: None,
            error: None,
        }
    }

    #[test]
    fn the_calls_that_made_the_games_count_and_no_others() {
        use CallOutcome::{Done, Failed, Skipped, Stopped};
        let mut calls = vec![
            call("generate", 1, Done, 50.0), // before a restart
            call("generate", 1, Stopped, 3.0),
            call("generate", 2, Done, 70.0),
            call("train", 1, Done, 90.0),
            call("generate", 1, Failed, 1.0),
            call("generate", 1, Done, 6.0),
            call("generate", 1, Skipped, 0.5),
        ];
        let speed = PlaySpeed::of(&calls, 1, 200).unwrap();
        assert_eq!((speed.generation, speed.seconds, speed.games_per_second), (1, 10.0, 20.0));
        assert_eq!(PlaySpeed::of(&calls, 3, 200), None);
        calls.push(call("generate", 1, Stopped, 4.0));
        assert_eq!(PlaySpeed::of(&calls, 1, 200), Some(speed), "a call that finished nothing since");
    }
}
