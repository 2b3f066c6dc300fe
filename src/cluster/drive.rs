//! Runs the shards of a plan, wherever a runner takes them, until the plan needs no more.

use super::plan::name_of;
use super::progress::PlanProgress;
use super::runs::{Ended, log};
use crate::artifact::publish::parent;
use crate::artifact::{ArtifactError, FolderLock};
use crate::exit_code;
use crate::pipeline::{Amount, Context, StageError};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

/// How long a runner is waited for at a time.
const TICK: Duration = Duration::from_millis(50);

/// How long a shard waits before each retry, in seconds. After the last retry it has failed.
const RETRY_AFTER: &[f64] = &[1.0, 4.0, 16.0];

/// The same of a shard that ended well while its files are not seen: NFS shows a new name after a
/// minute at the latest.
const SEEN_AFTER: &[f64] = &[1.0, 4.0, 16.0, 60.0];

/// How long the last shards may take to end after their pieces are there, in ticks.
const SETTLE_TICKS: u64 = 20;

/// Of a match, how many batches beyond the last look at the score are wanted at once, at least.
pub(super) const AHEAD_MIN: usize = 32;

/// What a runner reports.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum RunnerEvent {
    /// A shard has ended.
    Ended(Ended),
    /// A shard runs again elsewhere, because its worker was lost.
    Moved {
        /// The shard.
        shard: usize,
        /// The worker that was lost.
        worker: String,
    },
    /// The shards that can run at once, and those that do.
    Workers {
        /// How many can run.
        count: usize,
        /// How many do.
        running: usize,
    },
    /// Something to tell the user.
    Note {
        /// One line.
        text: String,
    },
}

/// Where shards run. Dropping a runner ends what it started on this machine.
pub trait Runner {
    /// Runs a shard as soon as there is room.
    ///
    /// # Errors
    ///
    /// A runner that has ended.
    fn submit(&mut self, shard: usize) -> Result<(), StageError>;

    /// What has happened since the last call; waits as long as this if nothing has.
    ///
    /// # Errors
    ///
    /// A command that cannot be started, or a runner that has ended.
    fn wait(&mut self, longest: Duration) -> Result<Vec<RunnerEvent>, StageError>;
}

/// What a drive has done.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DriveReport {
    /// The shards of the plan.
    pub shards: usize,
    /// Runs of shards that ended well.
    pub ran: usize,
    /// Runs that were lost or failed, and were repeated.
    pub retried: usize,
    /// The largest number of shards that could run at once.
    pub workers: usize,
    /// Processor seconds of the runs that ended well; `None` if one of them did not say.
    pub cpu_seconds: Option<f64>,
}

impl Default for DriveReport {
    fn default() -> Self {
        Self {
            shards: 0,
            ran: 0,
            retried: 0,
            workers: 0,
            cpu_seconds: Some(0.0),
        }
    }
}

/// Held while a plan is driven.
///
/// # Errors
///
/// [`ArtifactError::Busy`] with the lock and its owner, or a system error.
pub fn lock_plan(plan: &Path) -> Result<FolderLock, ArtifactError> {
    let (folder, name) = (parent(plan), format!(".{}.lock", name_of(plan)));
    FolderLock::take_named(folder, &name).map_err(|error| match error {
        ArtifactError::Busy { owner, .. } => ArtifactError::Busy {
            path: folder.join(name),
            owner,
        },
        error => error,
    })
}

/// Runs shards, each of so much work, until nothing more is needed. `progress` looks at the plan's
/// files, and of a match wants that many undecided batches.
///
/// # Errors
///
/// A shard that failed for good, a runner that ended, an interruption, a spent budget, or a system
/// error. Shards that are done stay.
pub fn drive(
    plan: &Path,
    work: &[u64],
    runner: &mut dyn Runner,
    mut progress: impl FnMut(usize) -> Result<PlanProgress, StageError>,
    context: Context<'_>,
) -> Result<DriveReport, StageError> {
    let first = progress(AHEAD_MIN)?;
    let (stage, counted) = (first.stage, first.done.iter().copied().collect());
    let done = first.done.iter().map(|&shard| work[shard]).sum();
    let amount = Amount {
        total: work.iter().sum(),
        done,
    };
    let mut drive = Drive {
        plan,
        work,
        runner,
        context,
        state: DriveState {
            counted,
            ..DriveState::default()
        },
    };
    context.observe(stage.name(), amount, stage.facts().unit, || {
        drive.run(first, &mut progress)
    })
}

/// Tells the user something.
pub(super) fn tell(text: &str, context: Context<'_>) {
    context.host.say(&format!("shard drive: {text}"));
}

/// The shards that are on their way.
#[derive(Debug, Default)]
struct DriveState {
    report: DriveReport,
    /// Submitted and not yet ended.
    submitted: BTreeSet<usize>,
    /// When a shard that failed is tried again, by the host's clock.
    waiting: BTreeMap<usize, f64>,
    /// The failed runs of each shard, and apart from them those that ended with 0.
    failures: BTreeMap<(usize, bool), usize>,
    /// Ended with 0; they fail if their pieces are not there.
    unconfirmed: BTreeMap<usize, Ended>,
    workers: usize,
    running: usize,
    /// Shown as done.
    counted: BTreeSet<usize>,
}

struct Drive<'a> {
    plan: &'a Path,
    work: &'a [u64],
    runner: &'a mut dyn Runner,
    context: Context<'a>,
    state: DriveState,
}

impl Drive<'_> {
    fn run(
        &mut self,
        first: PlanProgress,
        progress: &mut impl FnMut(usize) -> Result<PlanProgress, StageError>,
    ) -> Result<DriveReport, StageError> {
        let mut now = first;
        loop {
            self.state.report.shards = now.shards;
            // What others and earlier drives have done counts, too.
            now.done.iter().for_each(|&shard| self.count(shard));
            if now.complete {
                self.settle(&now)?;
                return Ok(self.state.report);
            }
            for (_, ended) in std::mem::take(&mut self.state.unconfirmed) {
                if now.needed.contains(&ended.shard) {
                    self.fail(&ended)?;
                }
            }
            for &shard in &now.needed {
                if !self.state.waiting.contains_key(&shard) && self.state.submitted.insert(shard) {
                    self.runner.submit(shard)?;
                }
            }
            if self.state.submitted.is_empty() && self.state.waiting.is_empty() {
                let text = format!(
                    "cannot drive {}: it is not complete and needs no shard",
                    self.plan.display()
                );
                return Err(StageError::Elsewhere {
                    text,
                    code: exit_code::OTHER,
                });
            }
            self.wait()?;
            now = progress(AHEAD_MIN.max(2 * self.state.workers))?;
        }
    }

    /// Waits until so few shards are left with the runner that others may be needed.
    fn wait(&mut self) -> Result<(), StageError> {
        let mut ended = false;
        loop {
            self.context.check_budget()?;
            for event in self.runner.wait(TICK)? {
                ended |= matches!(event, RunnerEvent::Ended(_));
                self.handle(event)?;
            }
            let now = self.context.host.seconds();
            for (shard, _) in self.state.waiting.extract_if(.., |_, when| *when <= now) {
                self.state.submitted.insert(shard);
                self.runner.submit(shard)?;
            }
            if ended && self.state.submitted.len() <= 2 * self.state.workers {
                return Ok(());
            }
        }
    }

    /// Waits a moment for shards whose pieces are there and whose end is about to be reported; a
    /// hanging one is not waited for.
    fn settle(&mut self, now: &PlanProgress) -> Result<(), StageError> {
        for _ in 0..SETTLE_TICKS {
            if !now
                .done
                .iter()
                .any(|shard| self.state.submitted.contains(shard))
            {
                break;
            }
            for event in self.runner.wait(TICK)? {
                if let RunnerEvent::Ended(ended) = event {
                    self.end(&ended)?;
                }
            }
        }
        Ok(())
    }

    fn handle(&mut self, event: RunnerEvent) -> Result<(), StageError> {
        match event {
            RunnerEvent::Ended(ended) => {
                if !self.end(&ended)? {
                    return Ok(());
                }
                if ended.code == Some(0) {
                    self.count(ended.shard);
                    self.state.unconfirmed.insert(ended.shard, ended);
                } else {
                    self.fail(&ended)?;
                }
            }
            RunnerEvent::Moved { shard, worker } => {
                self.state.report.retried += 1;
                log(
                    self.plan,
                    &Ended {
                        shard,
                        worker: Some(worker),
                        ..Ended::default()
                    },
                )?;
            }
            RunnerEvent::Workers { count, running } => {
                (self.state.workers, self.state.running) = (count, running);
                self.state.report.workers = self.state.report.workers.max(count);
            }
            RunnerEvent::Note { text } => tell(&text, self.context),
        }
        let DriveState {
            running,
            workers,
            report,
            counted,
            ..
        } = &self.state;
        let shards = format!("{} of {} shards", counted.len(), report.shards);
        let text = format!(
            "{shards}, {running} running, {} retried, {workers} workers",
            report.retried
        );
        self.context.progress.note(&text);
        Ok(())
    }

    /// Takes note of a shard that has ended; `false`: that was known, and only the log says it
    /// again.
    fn end(&mut self, ended: &Ended) -> Result<bool, ArtifactError> {
        let is_new = self.state.submitted.remove(&ended.shard);
        if is_new && ended.code == Some(0) {
            let report = &mut self.state.report;
            report.ran += 1;
            report.cpu_seconds = report
                .cpu_seconds
                .zip(ended.cpu_seconds)
                .map(|(sum, more)| sum + more);
        }
        log(self.plan, ended).map(|()| is_new)
    }

    /// Plans the next try of a shard that failed, if one can help.
    fn fail(&mut self, ended: &Ended) -> Result<(), StageError> {
        let is_unseen = ended.code == Some(0);
        let retries = if is_unseen { SEEN_AFTER } else { RETRY_AFTER };
        let failures = self
            .state
            .failures
            .entry((ended.shard, is_unseen))
            .or_default();
        *failures += 1;
        let with = |code: i32| format!("ended with {code}");
        let (may_pass, how, code) = match ended.code {
            None => (true, "was lost or killed".to_owned(), exit_code::TRY_AGAIN),
            Some(0) => (
                true,
                format!("{}, but its files are not in this folder", with(0)),
                exit_code::BAD_INPUT,
            ),
            // A shell reports the death of a command by a signal as 128 and more, and so does an
            // interrupted renma.
            Some(code) if code == i32::from(exit_code::TRY_AGAIN) || 128 <= code => {
                (true, with(code), exit_code::TRY_AGAIN)
            }
            Some(code) => match u8::try_from(code) {
                Ok(code @ (exit_code::USAGE | exit_code::BAD_INPUT)) => {
                    (false, with(code.into()), code)
                }
                _ => (false, with(code), exit_code::OTHER),
            },
        };
        if let (true, Some(seconds)) = (may_pass, retries.get(*failures - 1)) {
            self.state
                .waiting
                .insert(ended.shard, self.context.host.seconds() + seconds);
            self.state.report.retried += 1;
            return Ok(());
        }
        let times = if *failures == 1 {
            String::new()
        } else {
            format!(", failure {failures}")
        };
        let stderr = ended.stderr.trim_end();
        let stderr = if stderr.is_empty() {
            String::new()
        } else {
            format!(":\n{stderr}")
        };
        let who = format!(
            "shard {} of {}{}",
            ended.shard,
            self.plan.display(),
            ended.place()
        );
        Err(StageError::Elsewhere {
            text: format!("{who} {how}{times}{stderr}"),
            code,
        })
    }

    fn count(&mut self, shard: usize) {
        if self.state.counted.insert(shard) {
            self.context.progress.advance(self.work[shard]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::runs::log_path;
    use crate::pipeline::stage::Stage;
    use crate::pipeline::{Host, Progress};
    use std::cell::RefCell;
    use std::collections::VecDeque;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    struct Silent;

    impl Host for Silent {
        /// A tick later each time that it is asked.
        fn seconds(&self) -> f64 {
            static TICKS: AtomicU64 = AtomicU64::new(0);
            TICKS.fetch_add(1, Ordering::Relaxed) as f64 * TICK.as_secs_f64()
        }
    }

    /// One thread, which nothing but `stop` interrupts.
    fn alone<'a, W: Host + Progress>(stop: &'a AtomicBool, witness: &'a W) -> Context<'a> {
        Context {
            threads: 1,
            stop,
            budget_spent: stop,
            progress: witness,
            host: witness,
        }
    }

    impl Progress for Silent {
        fn begin(&self, _: &str, _: u64, _: &str) {}
        fn advance(&self, _: u64) {}
        fn end(&self) {}
    }

    /// Shards with a script of exit codes each, after which they end with 0; those with 0 are done.
    /// A code of 99 never ends.
    struct Stub<'a> {
        codes: BTreeMap<usize, VecDeque<Option<i32>>>,
        queue: VecDeque<usize>,
        runs: &'a RefCell<Vec<usize>>,
        done: &'a RefCell<BTreeSet<usize>>,
    }

    const HANGS: Option<i32> = Some(99);

    impl Runner for Stub<'_> {
        fn submit(&mut self, shard: usize) -> Result<(), StageError> {
            self.runs.borrow_mut().push(shard);
            self.queue.push_back(shard);
            Ok(())
        }

        fn wait(&mut self, _: Duration) -> Result<Vec<RunnerEvent>, StageError> {
            let Some(shard) = self.queue.pop_front() else {
                return Ok(vec![RunnerEvent::Workers {
                    count: 1,
                    running: 0,
                }]);
            };
            let script = self.codes.get_mut(&shard).and_then(VecDeque::pop_front);
            let code = script.unwrap_or_else(|| {
                self.done.borrow_mut().insert(shard);
                Some(0)
            });
            if code == HANGS {
                return Ok(Vec::new());
            }
            let (host, stderr) = (Some("host".to_owned()), "last words".to_owned());
            let (worker, seconds, cpu_seconds) = (Some("it".into()), Some(1.0), Some(0.5));
            Ok(vec![RunnerEvent::Ended(Ended {
                shard,
                worker,
                host,
                seconds,
                cpu_seconds,
                code,
                stderr,
            })])
        }
    }

    fn work(shards: usize) -> Vec<u64> {
        vec![1; shards]
    }

    /// The report of a drive by one worker at most, half a second per run.
    fn report(shards: usize, ran: usize, retried: usize, workers: usize) -> DriveReport {
        DriveReport {
            shards,
            ran,
            retried,
            workers,
            cpu_seconds: Some(ran as f64 / 2.0),
        }
    }

    /// Drives a plan whose rounds of shards follow one another; also gives the order in which
    /// shards were submitted.
    fn check(
        rounds: &[&[usize]],
        codes: &[(usize, &[Option<i32>])],
    ) -> (Result<DriveReport, StageError>, Vec<usize>) {
        let folder = tempfile::tempdir().unwrap();
        let (runs, done) = (RefCell::default(), RefCell::new(BTreeSet::new()));
        let codes = codes
            .iter()
            .map(|(shard, codes)| (*shard, codes.iter().copied().collect()))
            .collect();
        let mut stub = Stub {
            codes,
            queue: VecDeque::new(),
            runs: &runs,
            done: &done,
        };
        let look = |_| {
            let done = done.borrow();
            let open = |round: &&[usize]| {
                round
                    .iter()
                    .filter(|shard| !done.contains(shard))
                    .copied()
                    .collect()
            };
            let needed: Vec<usize> = rounds
                .iter()
                .map(open)
                .find(|open: &Vec<_>| !open.is_empty())
                .unwrap_or_default();
            let complete = needed.is_empty();
            let shards = rounds.iter().map(|round| round.len()).sum();
            Ok(PlanProgress {
                stage: Stage::Gate,
                shards,
                done: done.iter().copied().collect(),
                needed,
                complete,
            })
        };
        let stop = AtomicBool::new(false);
        let context = alone(&stop, &Silent);
        let result = drive(
            &folder.path().join("plan"),
            &work(8),
            &mut stub,
            look,
            context,
        );
        (result, runs.into_inner())
    }

    fn code_of(result: Result<DriveReport, StageError>) -> (u8, String) {
        match result.unwrap_err() {
            StageError::Elsewhere { code, text } => {
                let (_, how) = text
                    .trim_end_matches(":\nlast words")
                    .split_once(" on it (host) ")
                    .unwrap();
                (code, how.to_owned())
            }
            error => panic!("{error}"),
        }
    }

    #[test]
    fn rounds_follow_one_another_and_each_shard_runs_once() {
        let (result, runs) = check(&[&[0, 1, 2], &[3, 4]], &[]);
        assert_eq!(result.unwrap(), report(5, 5, 0, 0));
        assert_eq!(runs, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn what_may_pass_is_retried_three_times() {
        let lost = [None, Some(75), Some(137)];
        let (result, runs) = check(&[&[0, 1]], &[(0, &lost)]);
        assert_eq!(result.unwrap(), report(2, 2, 3, 1));
        assert_eq!(runs, [0, 1, 0, 0, 0]);
        let (result, runs) = check(&[&[0]], &[(0, &[Some(75); 4])]);
        assert_eq!(
            (code_of(result), runs.len()),
            ((75, "ended with 75, failure 4".into()), 4)
        );
    }

    #[test]
    fn other_codes_end_the_drive_at_once() {
        for (code, expected) in [(65, 65), (2, 2), (1, 1), (7, 1)] {
            let (result, runs) = check(&[&[0, 1]], &[(0, &[Some(code)])]);
            assert_eq!(code_of(result), (expected, format!("ended with {code}")));
            assert_eq!(runs, [0, 1]);
        }
        let (result, _) = check(&[&[0]], &[(0, &[Some(65)])]);
        let text = result.unwrap_err().to_string();
        assert!(
            text.ends_with("on it (host) ended with 65:\nlast words"),
            "{text}"
        );
    }

    #[test]
    fn success_without_files_is_a_failure() {
        let (result, runs) = check(&[&[0, 1]], &[(1, &[Some(0); 9])]);
        let how = "ended with 0, but its files are not in this folder, failure 5";
        assert_eq!(
            (code_of(result), runs),
            ((65, how.into()), vec![0, 1, 1, 1, 1, 1])
        );
    }

    #[test]
    fn a_shard_that_hangs_and_is_no_longer_needed_holds_nothing_up() {
        let folder = tempfile::tempdir().unwrap();
        let (runs, done) = (RefCell::default(), RefCell::default());
        let codes = BTreeMap::from([(0, VecDeque::from([HANGS]))]);
        let mut stub = Stub {
            codes,
            queue: VecDeque::new(),
            runs: &runs,
            done: &done,
        };
        let look = |_| {
            let complete = done.borrow().contains(&1);
            Ok(PlanProgress {
                stage: Stage::Gate,
                shards: 2,
                done: Vec::new(),
                needed: vec![0, 1],
                complete,
            })
        };
        let stop = AtomicBool::new(false);
        let context = alone(&stop, &Silent);
        // The end of a shard that is not on its way counts for nothing.
        stub.submit(2).unwrap();
        let report = drive(
            &folder.path().join("plan"),
            &work(3),
            &mut stub,
            look,
            context,
        )
        .unwrap();
        assert_eq!(report.ran, 1);
    }

    /// What is said and shown, and how far it is.
    #[derive(Default)]
    struct Witness(Mutex<Vec<String>>);

    impl Host for Witness {
        fn say(&self, text: &str) {
            self.0.lock().unwrap().push(text.to_owned());
        }
    }

    impl Progress for Witness {
        fn begin(&self, _: &str, _: u64, _: &str) {}
        fn advance(&self, work: u64) {
            self.0.lock().unwrap().push(format!("{work} more"));
        }
        fn end(&self) {}
        fn note(&self, text: &str) {
            self.0.lock().unwrap().push(text.to_owned());
        }
    }

    /// A runner with these events, the last one first.
    struct Talker(Vec<RunnerEvent>);

    impl Runner for Talker {
        fn submit(&mut self, _: usize) -> Result<(), StageError> {
            Ok(())
        }

        fn wait(&mut self, _: Duration) -> Result<Vec<RunnerEvent>, StageError> {
            Ok(self.0.pop().into_iter().collect())
        }
    }

    #[test]
    fn the_end_of_a_shard_whose_files_are_there_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let ended = |shard| {
            RunnerEvent::Ended(Ended {
                shard,
                code: Some(0),
                ..Ended::default()
            })
        };
        let mut talker = Talker(vec![
            ended(1),
            RunnerEvent::Workers {
                count: 1,
                running: 1,
            },
            ended(0),
        ]);
        let looks = RefCell::new(vec![(vec![0, 1], true), (vec![], false)]);
        let look = |_| {
            let (done, complete) = looks.borrow_mut().pop().unwrap();
            let needed = if complete { vec![] } else { vec![0, 1] };
            Ok(PlanProgress {
                stage: Stage::Gate,
                shards: 2,
                done,
                needed,
                complete,
            })
        };
        let flag = AtomicBool::new(false);
        let context = alone(&flag, &Silent);
        let report = drive(
            &folder.path().join("plan"),
            &work(2),
            &mut talker,
            look,
            context,
        )
        .unwrap();
        assert_eq!(report.ran, 2);
    }

    #[test]
    fn what_a_runner_reports_is_said_shown_and_logged() {
        let folder = tempfile::tempdir().unwrap();
        let plan = folder.path().join("plan");
        let ended = Ended {
            shard: 1,
            code: Some(0),
            ..Ended::default()
        };
        let mut talker = Talker(vec![
            RunnerEvent::Ended(ended.clone()),
            RunnerEvent::Note {
                text: "a word".to_owned(),
            },
            RunnerEvent::Workers {
                count: 40,
                running: 1,
            },
            RunnerEvent::Workers {
                count: 50,
                running: 2,
            },
            RunnerEvent::Moved {
                shard: 1,
                worker: "w".to_owned(),
            },
        ]);
        let wanted = RefCell::new(Vec::new());
        let look = |batches| {
            wanted.borrow_mut().push(batches);
            let is_done = 1 < wanted.borrow().len();
            let done = if is_done { vec![0, 1] } else { vec![0] };
            let needed = if is_done { vec![] } else { vec![1] };
            Ok(PlanProgress {
                stage: Stage::Gate,
                shards: 2,
                done,
                needed,
                complete: is_done,
            })
        };
        let (flag, witness) = (AtomicBool::new(false), Witness::default());
        let context = alone(&flag, &witness);
        let report = drive(&plan, &[3, 7], &mut talker, look, context).unwrap();
        assert_eq!(
            report,
            DriveReport {
                shards: 2,
                ran: 1,
                retried: 1,
                workers: 50,
                cpu_seconds: None
            }
        );
        assert_eq!(wanted.into_inner(), [32, 80], "two for each worker");
        let runs = std::fs::read_to_string(log_path(&plan)).unwrap();
        let runs: Vec<Ended> = runs
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(
            runs,
            [
                Ended {
                    shard: 1,
                    worker: Some("w".to_owned()),
                    ..Ended::default()
                },
                ended
            ]
        );
        let heard = witness.0.into_inner().unwrap();
        assert!(
            heard.iter().any(|text| text.ends_with("a word")),
            "{heard:?}"
        );
        assert!(
            heard
                .iter()
                .any(|text| text == "1 of 2 shards, 2 running, 1 retried, 50 workers"),
            "{heard:?}"
        );
        assert_eq!(
            heard
                .iter()
                .filter(|text| text.ends_with(" more"))
                .collect::<Vec<_>>(),
            ["7 more"]
        );
    }
}
