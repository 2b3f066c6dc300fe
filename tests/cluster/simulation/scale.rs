//! What the driver costs with thousands of workers: the real driver, workers without files, and
//! looks that take as long as they would.

use super::schedule::{Kind, Schedule};
use super::world::{Machine, Piece, Simulated, World};
use renma::cluster::drive::{Runner, RunnerEvent, drive};
use renma::cluster::progress::PlanProgress;
use renma::pipeline::stage::Stage;
use renma::pipeline::{Context, StageError};
use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

/// A stage on a cluster.
pub(crate) struct Scale {
    pub(crate) parts: usize,
    pub(crate) shards: usize,
    pub(crate) workers: usize,
    /// How long a shard takes.
    pub(crate) seconds: u64,
    /// How long a look takes per part, in microseconds.
    pub(crate) look: u64,
}

/// What it costs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// Virtual seconds until the plan is ready.
    pub(crate) seconds: f64,
    pub(crate) looks: usize,
    pub(crate) events: usize,
    /// Real seconds of the driver, without looks and without the simulation.
    pub(crate) driver: f64,
}

/// A runner that leaves out the time of another one.
struct Timed<'r, 'w> {
    runner: Simulated<'r, 'w>,
    events: usize,
    outside: &'r Cell<Duration>,
}

impl Timed<'_, '_> {
    fn timed<T>(&mut self, act: impl FnOnce(&mut Self) -> T) -> T {
        let began = Instant::now();
        let result = act(self);
        self.outside.set(self.outside.get() + began.elapsed());
        result
    }
}

impl Runner for Timed<'_, '_> {
    fn submit(&mut self, shard: usize) -> Result<(), StageError> {
        self.timed(|timed| timed.runner.submit(shard))
    }

    fn wait(&mut self, longest: Duration) -> Result<Vec<RunnerEvent>, StageError> {
        self.timed(|timed| {
            let events = timed.runner.wait(longest)?;
            timed.events += events
                .iter()
                .filter(|event| matches!(event, RunnerEvent::Ended(_)))
                .count();
            Ok(events)
        })
    }
}

/// Drives a stage of that size once.
pub(crate) fn measure(scale: &Scale) -> Cost {
    let folder = tempfile::tempdir().unwrap();
    let schedule = Schedule {
        kind: Kind::Selfplay,
        workers: scale.workers,
        milliseconds: 1000 * scale.seconds,
        unseen: 0,
        fates: Vec::new(),
        second: None,
        raised: None,
        counts_late: false,
        ..Schedule::draw(1, 0, scale.shards)
    };
    let pieces = vec![Piece::default(); scale.shards];
    let shards = (0..scale.shards).map(|shard| shard..shard + 1).collect();
    let machine = Machine::default();
    let world = RefCell::new(World::new(
        &schedule,
        (shards, &pieces, folder.path().to_owned()),
        &machine,
        false,
    ));
    let (looks, outside) = (Cell::new(0), Cell::new(Duration::ZERO));
    let look = |_| {
        let began = Instant::now();
        looks.set(looks.get() + 1);
        let mut world = world.borrow_mut();
        let (done, needed): (Vec<usize>, Vec<usize>) =
            (0..scale.shards).partition(|&shard| world.seen(shard).is_some());
        world.now += scale.parts as u64 * scale.look / 1000;
        outside.set(outside.get() + began.elapsed());
        let complete = needed.is_empty();
        Ok(PlanProgress {
            stage: Stage::Generate,
            shards: scale.shards,
            done,
            needed,
            complete,
        })
    };
    let mut runner = Timed {
        runner: Simulated::new(&world, None),
        events: 0,
        outside: &outside,
    };
    let Machine {
        stop, budget_spent, ..
    } = &machine;
    let context = Context {
        threads: 1,
        stop,
        budget_spent,
        progress: &machine,
        host: &machine,
    };
    let began = Instant::now();
    let report = drive(
        &folder.path().join("plan"),
        &vec![1; scale.shards],
        &mut runner,
        look,
        context,
    )
    .unwrap();
    let driver = (began.elapsed() - outside.get()).as_secs_f64();
    assert_eq!(report.ran, scale.shards);
    let seconds = world.borrow().now as f64 / 1000.0;
    Cost {
        seconds,
        looks: looks.get(),
        events: runner.events,
        driver,
    }
}
