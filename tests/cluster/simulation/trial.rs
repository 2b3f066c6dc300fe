//! One simulation: the real driver with the real look at a folder, among simulated workers; and
//! what must hold.

use super::schedule::{Kind, Raised, Schedule};
use super::world::{Content, DEATH, Machine, Piece, ROUND_PIECES, Simulated, World, round_of};
use crate::support::workspace::check_same;
use renma::artifact::LoadedModel;
use renma::cluster::drive::{DriveReport, drive};
use renma::cluster::plan::LoadedPlan;
use renma::cluster::progress::PlanProgress;
use renma::pipeline::request::{Models, Request};
use renma::pipeline::stage::Stage;
use renma::pipeline::work::Work;
use renma::pipeline::{Context, StageError};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A drive may end after this many failed runs of a shard.
const FAILURES_MAX: usize = 4;

/// A stage with real parts.
pub(crate) struct Parts {
    pub(crate) loaded: LoadedPlan,
    pub(crate) models: Models<LoadedModel>,
    pub(crate) pieces: Vec<Piece>,
    /// What one machine makes.
    pub(crate) whole: PathBuf,
}

/// What all simulations share.
pub(crate) struct Cluster {
    pub(crate) selfplay: Parts,
    pub(crate) games: Parts,
    pub(crate) rounds: Vec<Piece>,
    /// Where simulations have their folders.
    pub(crate) scratch: PathBuf,
}

/// What a simulation did.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) drives: usize,
    pub(crate) looks: usize,
    pub(crate) runs: usize,
    pub(crate) calls: usize,
    pub(crate) milliseconds: u64,
    pub(crate) errors: usize,
    pub(crate) lies: usize,
    pub(crate) finished: usize,
}

impl Tally {
    /// Adds another one.
    pub(crate) fn add(&mut self, other: Self) {
        self.drives += other.drives;
        self.looks += other.looks;
        self.runs += other.runs;
        self.calls += other.calls;
        self.milliseconds += other.milliseconds;
        self.errors += other.errors;
        self.lies += other.lies;
        self.finished += other.finished;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            drives,
            looks,
            runs,
            calls,
            milliseconds,
            errors,
            lies,
            finished,
        } = self;
        let days = *milliseconds as f64 / 86_400_000.0;
        write!(
            formatter,
            "{drives} drives, {errors} ended with an error, {runs} runs, {calls} calls, {looks} looks, "
        )?;
        write!(
            formatter,
            "{days:.1} days; {lies} with false parts, {finished} finished"
        )
    }
}

struct Trial<'t, 'w> {
    schedule: &'t Schedule,
    /// `None`: a stage of rounds.
    parts: Option<(&'t Parts, &'t LoadedPlan)>,
    path: &'t Path,
    world: RefCell<World<'w>>,
    machine: &'t Machine,
    looks: Cell<usize>,
    tally: Cell<Tally>,
}

/// Runs a simulation. It panics at the first thing that must not be, with what happened before if
/// that is wanted.
pub(crate) fn run(cluster: &Cluster, schedule: &Schedule, is_told: bool) -> Tally {
    let folder = tempfile::tempdir_in(&cluster.scratch).unwrap();
    let (output, path) = (
        folder.path().join("output"),
        folder.path().join("plan.json"),
    );
    for table in ["games", "positions"] {
        std::fs::create_dir_all(output.join(table)).unwrap();
    }
    let machine = Machine::default();
    let (parts, pieces) = match schedule.kind {
        Kind::Selfplay => (Some(&cluster.selfplay), &cluster.selfplay.pieces),
        Kind::Match => (Some(&cluster.games), &cluster.games.pieces),
        Kind::Rounds => (None, &cluster.rounds),
    };
    let loaded = parts.map(|parts| {
        let (plan, work) = (parts.loaded.plan.clone(), writing_to(parts, &output));
        LoadedPlan {
            path: path.clone(),
            plan: plan.cut(&work.rounds(), schedule.shards),
            work,
        }
    });
    let shards = loaded.as_ref().map_or_else(
        || shards_of_rounds(schedule.shards),
        |loaded| loaded.plan.shards.clone(),
    );
    let world = RefCell::new(World::new(
        schedule,
        (shards, pieces, output.clone()),
        &machine,
        is_told,
    ));
    let (looks, tally) = Default::default();
    let parts = parts.zip(loaded.as_ref());
    let trial = Trial {
        schedule,
        parts,
        path: &path,
        world,
        machine: &machine,
        looks,
        tally,
    };
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| trial.run(&output)));
    if let Some(story) = trial
        .world
        .try_borrow()
        .ok()
        .and_then(|world| world.story.clone())
    {
        println!("{schedule:#?}\n{}", story.join("\n"));
    }
    if let Err(panic) = outcome {
        std::panic::resume_unwind(panic);
    }
    let world = trial.world.borrow();
    let runs = world
        .drivers
        .iter()
        .map(|driver| driver.ran + driver.failed.len())
        .sum();
    Tally {
        looks: trial.looks.get(),
        runs,
        calls: world.calls,
        milliseconds: world.now,
        ..trial.tally.get()
    }
}

/// The work of a plan with another output.
fn writing_to(parts: &Parts, output: &Path) -> Box<dyn Work> {
    let request = Request {
        output: Some(output.to_owned()),
        ..parts.loaded.plan.request.clone()
    };
    request.work(&parts.models).unwrap()
}

fn shards_of_rounds(count: usize) -> Vec<Range<usize>> {
    let size = (3 * ROUND_PIECES).div_ceil(count);
    let cut = |begin: usize| {
        (begin..begin + ROUND_PIECES)
            .step_by(size)
            .map(move |first| first..(first + size).min(begin + ROUND_PIECES))
    };
    (0..3).flat_map(|round| cut(round * ROUND_PIECES)).collect()
}

impl Trial<'_, '_> {
    fn context(&self) -> Context<'_> {
        let Machine {
            stop, budget_spent, ..
        } = self.machine;
        Context {
            threads: 1,
            stop,
            budget_spent,
            progress: self.machine,
            host: self.machine,
        }
    }

    fn count(&self, change: impl FnOnce(&mut Tally)) {
        let mut tally = self.tally.get();
        change(&mut tally);
        self.tally.set(tally);
    }

    fn run(&self, output: &Path) {
        self.drive_to_the_end();
        if self.check_ready(output) {
            self.count(|tally| tally.lies += 1);
            self.world.borrow_mut().heal();
            self.drive_to_the_end();
            assert!(!self.check_ready(output), "false parts are there again");
        } else if !self
            .schedule
            .id
            .is_multiple_of(if self.schedule.id < 20_000 { 8 } else { 64 })
        {
            // To check and to publish takes longer than to drive; a night runs the first 20,000.
            return;
        }
        let Some((parts, loaded)) = self.parts else {
            return;
        };
        loaded
            .check(Some(self.schedule.id), self.context())
            .unwrap_or_else(|error| panic!("true parts: {error}"));
        loaded.work.make(self.context()).unwrap();
        check_same(output, &parts.whole, "a simulated cluster and one machine");
        self.count(|tally| tally.finished += 1);
    }

    /// Repeats the command after each end of the driver, until the plan is ready.
    fn drive_to_the_end(&self) {
        let mut deaths = self.schedule.deaths.iter().copied();
        for _ in 0..20 {
            let is_healed = self.world.borrow().is_healed;
            let dies_at = if is_healed { None } else { deaths.next() };
            let second = self
                .schedule
                .second
                .filter(|_| !is_healed && self.tally.get().drives == 0);
            let Err((code, text)) = self.drive_once(dies_at, second) else {
                // What comes next is another command, which nobody has stopped.
                self.machine.lower_flags();
                return;
            };
            assert!(
                !is_healed,
                "all machines are well, and the drive ends with {code}: {text}"
            );
            if code != DEATH {
                self.count(|tally| tally.errors += 1);
                self.world.borrow_mut().heal();
            }
        }
        panic!("the command is repeated and repeated");
    }

    /// Drives the plan once; an error is one that must be.
    fn drive_once(
        &self,
        dies_at: Option<usize>,
        second: Option<usize>,
    ) -> Result<DriveReport, (u8, String)> {
        self.count(|tally| tally.drives += 1);
        let mut runner = Simulated::new(&self.world, dies_at);
        let driver = runner.driver;
        let other = || drop(self.drive_once(None, None));
        runner.meanwhile = second.map(|at| (at, &other as &dyn Fn()));
        let work = vec![1; self.world.borrow().shards.len()];
        let driven = drive(
            self.path,
            &work,
            &mut runner,
            |ahead| self.look(ahead),
            self.context(),
        );
        let mut world = self.world.borrow_mut();
        world.bury(driver);
        let told = &world.drivers[driver];
        match driven {
            Ok(report) => {
                assert_eq!(report.shards, world.shards.len());
                assert_eq!(report.ran, told.ran, "runs that ended well");
                Ok(report)
            }
            Err(error) => {
                let (code, text) = (error.exit_code(), error.to_string());
                let allowed = codes_allowed(&world, driver, dies_at.is_some(), self.schedule);
                assert!(
                    allowed.contains(&code),
                    "the drive ends with {code}, and only {allowed:?} may be: {text}"
                );
                Err((code, text))
            }
        }
    }

    fn look(&self, ahead: usize) -> Result<PlanProgress, StageError> {
        self.looks.set(self.looks.get() + 1);
        if let Some((_, loaded)) = self.parts {
            return loaded.progress(ahead, self.context());
        }
        let world = self.world.borrow();
        let is_done = |piece: usize| {
            world
                .seen(piece)
                .is_some_and(|content| content != Content::Torn)
        };
        let first = (0..3 * ROUND_PIECES).find(|&piece| !is_done(piece));
        let wanted = 0..first.map_or(3 * ROUND_PIECES, |piece| round_of(piece).end);
        let shards = || (0..).zip(&world.shards);
        let done = shards()
            .filter(|(_, pieces)| (*pieces).clone().all(is_done))
            .map(|(shard, _)| shard)
            .collect();
        let lacks = |pieces: &Range<usize>| {
            pieces
                .clone()
                .any(|piece| wanted.contains(&piece) && !is_done(piece))
        };
        let needed: Vec<usize> = shards()
            .filter(|(_, pieces)| lacks(pieces))
            .map(|(shard, _)| shard)
            .collect();
        let complete = needed.is_empty();
        Ok(PlanProgress {
            stage: Stage::Train,
            shards: world.shards.len(),
            done,
            needed,
            complete,
        })
    }

    /// Fails unless all parts are there that the result needs, each as it must be. Whether some of
    /// them are false, and said so.
    fn check_ready(&self, output: &Path) -> bool {
        let wanted = match self.wanted() {
            Ok(wanted) => wanted,
            Err(error) => {
                // Seen after the last look of the driver, and refused by the next one.
                let world = self.world.borrow();
                let is_foreign = world
                    .shown
                    .iter()
                    .flatten()
                    .any(|content| *content == Some(Content::Foreign));
                assert!(is_foreign && error.exit_code() == 2, "{error}");
                return true;
            }
        };
        let world = self.world.borrow();
        let mut lies = Vec::new();
        for piece in wanted {
            let content = world.seen(piece);
            assert!(
                matches!(content, Some(Content::True | Content::False)),
                "ready, and part {piece} is {content:?}"
            );
            let Some((parts, _)) = self.parts else {
                continue;
            };
            if content == Some(Content::False) {
                lies.push(piece);
                continue;
            }
            for name in &parts.pieces[piece].names {
                let source = parts.pieces[piece].sources[&Content::True].join(name);
                let [is, should] =
                    [output.join(name), source].map(|path| std::fs::metadata(path).unwrap().ino());
                assert!(is == should, "ready, and {name} is not the true one");
            }
        }
        drop(world);
        if let Some((parts, loaded)) = self.parts.filter(|_| !lies.is_empty()) {
            self.check_told(&lies, &parts.pieces, loaded);
        }
        !lies.is_empty()
    }

    /// The pieces that the result needs.
    fn wanted(&self) -> Result<Range<usize>, StageError> {
        let Some((_, loaded)) = self.parts else {
            return Ok(0..3 * ROUND_PIECES);
        };
        Ok(loaded.work.shards()?.progress(1, self.context())?.wanted)
    }

    /// False parts are named, no others, and nothing is published.
    fn check_told(&self, lies: &[usize], pieces: &[Piece], loaded: &LoadedPlan) {
        let checked = loaded.check(Some(self.schedule.id), self.context());
        let Err(StageError::FalseParts { parts, .. }) = checked else {
            panic!("parts {lies:?} are false: {checked:?}")
        };
        let named: Vec<String> = parts
            .iter()
            .map(|(path, _)| path.to_str().unwrap().to_owned())
            .collect();
        let is_of = |piece: usize| pieces[piece].names.iter().any(|name| named.contains(name));
        assert!(
            lies.iter().all(|&piece| is_of(piece)) && named.len() == lies.len(),
            "{lies:?} lie, {named:?} are named"
        );
    }
}

/// The exit codes with which a driver may end.
fn codes_allowed(world: &World<'_>, driver: usize, dies: bool, schedule: &Schedule) -> Vec<u8> {
    let mut codes = Vec::new();
    if dies {
        codes.push(DEATH);
    }
    if let Some((_, raised)) = schedule
        .raised
        .filter(|(time, _)| !world.is_healed && *time <= world.now)
    {
        codes.push(if raised == Raised::Budget { 12 } else { 130 });
    }
    let mut failures: BTreeMap<usize, usize> = BTreeMap::new();
    for &(shard, code) in &world.drivers[driver].failed {
        match code {
            Some(code @ (65 | 2)) => codes.push(code as u8),
            Some(1 | 12) => codes.push(1),
            _ => *failures.entry(shard).or_default() += 1,
        }
    }
    if failures.values().any(|&count| FAILURES_MAX <= count) {
        codes.extend([75, 65]);
    }
    if world
        .shown
        .iter()
        .flatten()
        .any(|content| *content == Some(Content::Foreign))
    {
        codes.extend([2, 65]);
    }
    codes
}
