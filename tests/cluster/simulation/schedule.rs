//! What happens in one simulation, drawn from a seed. Each fate depends on the shard and the number
//! of its run only, so that a changed driver meets the same cluster.

use renma::random::{RandomStream, Stream, stream};

/// What becomes of a run of a shard.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fate {
    Done,
    /// It takes minutes longer than the others.
    Late,
    /// Its end is reported twice.
    Doubled,
    /// Its worker is lost, and it runs again elsewhere.
    Moved,
    /// Its worker is lost for the driver, yet works on and writes its parts later.
    Ghost,
    /// It ends with this code, or by a signal, with some of its parts made.
    Fails(Option<i32>),
    /// It ends with 0 and wrote to another folder.
    Elsewhere,
    /// It ends with 0, and one of its files is cut short.
    Torn,
    /// It ends with 0, and the rows of one of its parts are false.
    Lies,
    /// It ends with 0, and one of its parts is that of another seed.
    Foreign,
}

/// Whose parts are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Self-play: two files per part in folders of their own.
    Selfplay,
    /// A sequential match: few batches beyond the last look are wanted.
    Match,
    /// A stage of three rounds, without files.
    Rounds,
}

/// What ends a driver in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Raised {
    Interruption,
    Budget,
}

/// A simulation.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    pub(crate) seed: u64,
    pub(crate) id: u64,
    pub(crate) kind: Kind,
    /// About how many shards the plan has.
    pub(crate) shards: usize,
    pub(crate) workers: usize,
    /// How long a shard takes, about.
    pub(crate) milliseconds: u64,
    /// For how long a file may be there before the driver sees it.
    pub(crate) unseen: u64,
    /// The fates that befall runs, each with its share of them.
    pub(crate) fates: Vec<(Fate, f64)>,
    /// From this run on a shard is well.
    pub(crate) unwell_runs: usize,
    /// The calls at which drivers die, one after another.
    pub(crate) deaths: Vec<usize>,
    /// Whether the shards of a dead driver run on.
    pub(crate) orphans: bool,
    /// The call at which another driver drives the same plan, as if the lock did not reach its
    /// machine.
    pub(crate) second: Option<usize>,
    /// When the driver is ended in order.
    pub(crate) raised: Option<(u64, Raised)>,
    /// How many workers the runner says that it has, at first; it says how many it really has when
    /// it first waits in vain.
    pub(crate) counts_late: bool,
}

const FATES: [Fate; 15] = [
    Fate::Late,
    Fate::Doubled,
    Fate::Moved,
    Fate::Ghost,
    Fate::Fails(None),
    Fate::Fails(Some(75)),
    Fate::Fails(Some(137)),
    Fate::Fails(Some(65)),
    Fate::Fails(Some(2)),
    Fate::Fails(Some(12)),
    Fate::Fails(Some(1)),
    Fate::Elsewhere,
    Fate::Torn,
    Fate::Lies,
    Fate::Foreign,
];

impl Fate {
    /// Ends a drive at once.
    const fn is_grave(self) -> bool {
        matches!(self, Self::Fails(Some(65 | 2 | 12 | 1)) | Self::Foreign)
    }
}

impl Schedule {
    /// The simulation with this number.
    pub(crate) fn draw(seed: u64, id: u64, pieces: usize) -> Self {
        let rng = &mut stream(seed, Stream::Game(0, id));
        let kind = match rng.below(10) {
            0..=3 => Kind::Selfplay,
            4..=5 => Kind::Match,
            _ => Kind::Rounds,
        };
        let shards_max = if kind == Kind::Rounds {
            60
        } else {
            pieces as u32
        };
        let fates = if rng.chance(0.1) {
            Vec::new()
        } else {
            weather(rng)
        };
        let workers_max = *rng.pick([2, 8, 40].iter()).unwrap();
        let deaths = if rng.chance(0.4) { 1 + rng.below(4) } else { 0 };
        Self {
            seed,
            id,
            kind,
            shards: 1 + rng.below(shards_max) as usize,
            workers: 1 + rng.below(workers_max) as usize,
            milliseconds: *rng.pick([40, 2_000, 60_000].iter()).unwrap(),
            unseen: *rng.pick([0, 0, 300, 5_000, 60_000].iter()).unwrap(),
            fates,
            unwell_runs: 1 + rng.below(6) as usize,
            deaths: (0..deaths).map(|_| below_log(rng, 1_000)).collect(),
            orphans: rng.chance(0.5),
            second: rng.chance(0.2).then(|| below_log(rng, 500)),
            raised: rng.chance(0.15).then(|| {
                let raised = if rng.chance(0.5) {
                    Raised::Interruption
                } else {
                    Raised::Budget
                };
                (below_log(rng, 200_000) as u64, raised)
            }),
            counts_late: rng.chance(0.3),
        }
    }

    /// A stream of one event in it.
    pub(crate) fn stream(&self, what: u32, which: usize) -> RandomStream {
        stream(
            self.seed,
            Stream::Game(1 + what, self.id << 24 | which as u64),
        )
    }

    /// What becomes of a run of a shard, counted from 0.
    pub(crate) fn fate(&self, shard: usize, run: usize) -> Fate {
        let mut drawn = self.stream(0, shard << 8 | run.min(255)).unit();
        if self.unwell_runs <= run {
            return Fate::Done;
        }
        let found = self.fates.iter().find(|(_, share)| {
            drawn -= share;
            drawn < 0.0
        });
        match found {
            // A round has no files that could be false.
            Some((Fate::Lies | Fate::Foreign, _)) if self.kind == Kind::Rounds => Fate::Done,
            found => found.map_or(Fate::Done, |(fate, _)| *fate),
        }
    }
}

/// A few fates; the grave ones are rare, since little happens after them.
fn weather(rng: &mut RandomStream) -> Vec<(Fate, f64)> {
    let share = *rng.pick([0.03, 0.15, 0.5].iter()).unwrap();
    let count = 1 + rng.below(4);
    let fates: Vec<Fate> = (0..count)
        .filter_map(|_| rng.pick(FATES.iter().copied()))
        .collect();
    fates
        .into_iter()
        .map(|fate| {
            (
                fate,
                if fate.is_grave() {
                    share / 5.0
                } else {
                    share / f64::from(count)
                },
            )
        })
        .collect()
}

/// A number below a bound, small ones more often.
fn below_log(rng: &mut RandomStream, bound: u32) -> usize {
    f64::from(bound).powf(rng.unit()) as usize
}
