//! A cluster with a virtual clock: workers, the files that they write, the view that the driver has
//! of them, and what runners report. Nothing here depends on the real time.

use super::schedule::{Fate, Kind, Raised, Schedule};
use renma::cluster::drive::{Runner, RunnerEvent};
use renma::cluster::runs::Ended;
use renma::pipeline::{Host, Progress, StageError};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// The exit code of a driver that the simulation kills.
pub(crate) const DEATH: u8 = 137;

/// The pieces of a round.
pub(crate) const ROUND_PIECES: usize = 20;

/// A simulation that takes longer does not end.
const MILLISECONDS_MAX: u64 = 10 * 24 * 3_600_000;
const CALLS_MAX: usize = 3_000_000;

/// What a part may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Content {
    True,
    Torn,
    False,
    Foreign,
}

/// The files of a piece below the output, in the order in which they are published.
#[derive(Clone, Debug, Default)]
pub(crate) struct Piece {
    pub(crate) names: Vec<String>,
    /// The folder of the true, the false and the foreign ones.
    pub(crate) sources: BTreeMap<Content, PathBuf>,
}

#[derive(Debug)]
enum Act {
    /// A worker publishes a file of a piece, which the driver sees later.
    Publish {
        driver: usize,
        piece: usize,
        file: usize,
        content: Content,
    },
    /// The driver sees it.
    Show { piece: usize, file: usize },
    /// The runner learns something.
    Report { driver: usize, event: RunnerEvent },
    /// A worker is free again.
    Free { driver: usize },
}

/// The machine of the drivers: its clock in milliseconds, and what ends them in order.
#[derive(Debug, Default)]
pub(crate) struct Machine {
    pub(crate) stop: AtomicBool,
    pub(crate) budget_spent: AtomicBool,
    clock: AtomicU64,
}

impl Machine {
    /// Nothing is to end any more.
    pub(crate) fn lower_flags(&self) {
        self.stop.store(false, Ordering::Relaxed);
        self.budget_spent.store(false, Ordering::Relaxed);
    }
}

impl Host for Machine {
    fn seconds(&self) -> f64 {
        self.clock.load(Ordering::Relaxed) as f64 / 1000.0
    }
}

impl Progress for Machine {}

/// A driver as the cluster sees it.
#[derive(Debug, Default)]
pub(crate) struct Driver {
    queue: VecDeque<usize>,
    /// Submitted, and their end not yet told.
    open: BTreeSet<usize>,
    busy: usize,
    events: VecDeque<RunnerEvent>,
    is_dead: bool,
    calls: usize,
    /// The runs that it was told of as failed: shard, code.
    pub(crate) failed: Vec<(usize, Option<i32>)>,
    /// Runs that ended well, each told once.
    pub(crate) ran: usize,
    /// When the last failed run of a shard was told.
    failed_at: BTreeMap<usize, u64>,
}

pub(crate) struct World<'w> {
    pub(crate) schedule: &'w Schedule,
    pub(crate) shards: Vec<Range<usize>>,
    pieces: &'w [Piece],
    folder: PathBuf,
    pub(crate) now: u64,
    due: BTreeMap<(u64, u64), Act>,
    sequence: u64,
    pub(crate) calls: usize,
    /// What workers see, by piece and file.
    made: Vec<Vec<Option<Content>>>,
    /// What drivers see.
    pub(crate) shown: Vec<Vec<Option<Content>>>,
    runs: Vec<usize>,
    pub(crate) drivers: Vec<Driver>,
    /// From now on all runs are done as they should be.
    pub(crate) is_healed: bool,
    machine: &'w Machine,
    /// What happened, if somebody wants to read it.
    pub(crate) story: Option<Vec<String>>,
}

impl<'w> World<'w> {
    pub(crate) fn new(
        schedule: &'w Schedule,
        (shards, pieces, folder): (Vec<Range<usize>>, &'w [Piece], PathBuf),
        machine: &'w Machine,
        is_told: bool,
    ) -> Self {
        let none: Vec<Vec<Option<Content>>> = pieces
            .iter()
            .map(|piece| vec![None; piece.names.len().max(1)])
            .collect();
        let runs = vec![0; shards.len()];
        Self {
            schedule,
            shards,
            pieces,
            folder,
            now: 0,
            due: BTreeMap::new(),
            sequence: 0,
            calls: 0,
            made: none.clone(),
            shown: none,
            runs,
            drivers: Vec::new(),
            is_healed: false,
            machine,
            story: is_told.then(Vec::new),
        }
    }

    fn tell(&mut self, text: impl FnOnce() -> String) {
        let now = self.now;
        if let Some(story) = &mut self.story {
            story.push(format!("{:>9.3} s  {}", now as f64 / 1000.0, text()));
        }
    }

    fn at(&mut self, time: u64, act: Act) {
        self.sequence += 1;
        self.due.insert((time, self.sequence), act);
    }

    /// The kind of content that the driver sees of a whole piece.
    pub(crate) fn seen(&self, piece: usize) -> Option<Content> {
        whole(&self.shown[piece])
    }

    fn is_made(&self, piece: usize) -> bool {
        whole(&self.made[piece]).is_some_and(|content| content != Content::Torn)
    }

    fn submit(&mut self, driver: usize, shard: usize) {
        assert!(
            shard < self.shards.len(),
            "shard {shard} of {} is submitted",
            self.shards.len()
        );
        assert!(
            self.drivers[driver].open.insert(shard),
            "shard {shard} is submitted while it is on its way"
        );
        let pause = self.drivers[driver]
            .failed_at
            .get(&shard)
            .map(|&then| self.now - then);
        assert!(
            pause.is_none_or(|pause| 1_000 <= pause),
            "shard {shard} is submitted again after {pause:?} ms"
        );
        self.tell(|| format!("driver {driver} submits shard {shard}"));
        self.drivers[driver].queue.push_back(shard);
    }

    /// Starts what there is room for.
    fn start(&mut self, driver: usize) {
        while self.drivers[driver].busy < self.schedule.workers
            && let Some(shard) = self.drivers[driver].queue.pop_front()
        {
            self.drivers[driver].busy += 1;
            self.run(driver, shard);
        }
    }

    fn run(&mut self, driver: usize, shard: usize) {
        let run = self.runs[shard];
        self.runs[shard] += 1;
        let mut fate = if self.is_healed {
            Fate::Done
        } else {
            self.schedule.fate(shard, run)
        };
        let rng = &mut self.schedule.stream(1, shard << 8 | run.min(255));
        let usual = self.schedule.milliseconds;
        let mut time = self.now + 1 + (usual as f64 * (0.3 + rng.unit())) as u64;
        let pieces = self.shards[shard].clone();
        if self.schedule.kind == Kind::Rounds {
            let before = 0..round_of(pieces.start).start;
            assert!(
                before.into_iter().all(|piece| self.is_made(piece)),
                "shard {shard} runs before its round"
            );
        }
        if pieces
            .clone()
            .any(|piece| self.made[piece].contains(&Some(Content::Foreign)))
        {
            fate = Fate::Fails(Some(2));
        } else if pieces.clone().all(|piece| self.is_made(piece)) && fate != Fate::Elsewhere {
            // Little can happen to a run that finds its parts.
            fate = if matches!(fate, Fate::Fails(_)) {
                fate
            } else {
                Fate::Done
            };
            time = self.now + 1 + usual / 10;
        }
        self.tell(|| format!("run {run} of shard {shard} (parts {pieces:?}) begins: {fate:?}"));
        if fate == Fate::Late {
            time += 60_000 + u64::from(rng.below(600_000));
        }
        let ended = |code| {
            RunnerEvent::Ended(Ended {
                shard,
                code,
                cpu_seconds: Some(1.0),
                ..Ended::default()
            })
        };
        let report_at = time + u64::from(rng.below(300));
        let mut code = Some(0);
        match fate {
            Fate::Done | Fate::Late | Fate::Doubled => {
                self.publish((driver, &pieces), (self.now, time), None);
            }
            Fate::Moved => {
                let worker = format!("worker {}", rng.below(9));
                self.at(
                    time,
                    Act::Report {
                        driver,
                        event: RunnerEvent::Moved { shard, worker },
                    },
                );
                let end = time + usual;
                self.publish((driver, &pieces), (time, end), None);
                self.at(
                    end,
                    Act::Report {
                        driver,
                        event: ended(Some(0)),
                    },
                );
                return self.at(end, Act::Free { driver });
            }
            Fate::Ghost => {
                let end = time + u64::from(rng.below(100_000));
                self.publish((driver, &pieces), (time, end), None);
                code = None;
            }
            Fate::Fails(with) => {
                let made = pieces.start..pieces.start + rng.below(pieces.len() as u32 + 1) as usize;
                if self.made[pieces.start]
                    .iter()
                    .all(|content| *content != Some(Content::Foreign))
                {
                    self.publish((driver, &made), (self.now, time), None);
                }
                code = with;
            }
            Fate::Elsewhere => {}
            Fate::Torn | Fate::Lies | Fate::Foreign => {
                let piece = pieces.start + rng.below(pieces.len() as u32) as usize;
                let content = match fate {
                    Fate::Torn => Content::Torn,
                    Fate::Lies => Content::False,
                    _ => Content::Foreign,
                };
                self.publish((driver, &pieces), (self.now, time), Some((piece, content)));
            }
        }
        self.at(
            report_at,
            Act::Report {
                driver,
                event: ended(code),
            },
        );
        if fate == Fate::Doubled {
            self.at(
                report_at + u64::from(rng.below(900)),
                Act::Report {
                    driver,
                    event: ended(code),
                },
            );
        }
        self.at(report_at, Act::Free { driver });
    }

    /// The files of some pieces appear one after another in a while, some of them not as they
    /// should.
    fn publish(
        &mut self,
        (driver, pieces): (usize, &Range<usize>),
        (begin, end): (u64, u64),
        spoilt: Option<(usize, Content)>,
    ) {
        let count = pieces.len() as u64;
        for (number, piece) in (1..).zip(pieces.clone()) {
            let time = begin + (end - begin) * number / count;
            let content = spoilt
                .filter(|(which, _)| *which == piece)
                .map_or(Content::True, |(_, content)| content);
            let files = self.made[piece].len();
            let torn = self.schedule.stream(2, piece).below(files as u32) as usize;
            for file in 0..files {
                let content = match content {
                    Content::Torn if file != torn => Content::True,
                    // The last file lies (`falsify_part`).
                    Content::False if file + 1 != files => Content::True,
                    content => content,
                };
                self.at(
                    time,
                    Act::Publish {
                        driver,
                        piece,
                        file,
                        content,
                    },
                );
            }
        }
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Publish {
                piece,
                file,
                content,
                ..
            } => {
                // What a worker finds whole it does not write again.
                if matches!(self.made[piece][file], None | Some(Content::Torn)) {
                    self.made[piece][file] = Some(content);
                    let key = piece << 8 | file << 6 | (self.sequence as usize % 64);
                    let unseen = self.schedule.stream(3, key).unit() * self.schedule.unseen as f64;
                    self.tell(|| format!("file {file} of part {piece} is written: {content:?}"));
                    self.at(self.now + unseen as u64, Act::Show { piece, file });
                }
            }
            Act::Show { piece, file } => {
                // By now it may be another one, or removed.
                let Some(content) = self.made[piece][file] else {
                    return;
                };
                self.tell(|| format!("file {file} of part {piece} is seen: {content:?}"));
                self.shown[piece][file] = Some(content);
                show(&self.pieces[piece], file, content, &self.folder);
            }
            Act::Report { driver, event } if !self.drivers[driver].is_dead => {
                self.drivers[driver].events.push_back(event);
            }
            Act::Free { driver } => self.drivers[driver].busy -= 1,
            Act::Report { .. } => {}
        }
    }

    /// Lets time pass until something is reported to a driver, for at most `longest` milliseconds.
    fn wait(&mut self, driver: usize, longest: u64) -> Vec<RunnerEvent> {
        self.calls += 1;
        assert!(
            self.calls < CALLS_MAX && self.now < MILLISECONDS_MAX,
            "it does not end"
        );
        self.now += 1;
        let until = self.now + longest;
        self.start(driver);
        loop {
            while let Some(entry) = self
                .due
                .first_entry()
                .filter(|entry| entry.key().0 <= self.now)
            {
                let act = entry.remove();
                self.act(act);
                (0..self.drivers.len()).for_each(|driver| self.start(driver));
            }
            let next = self
                .due
                .first_key_value()
                .map_or(u64::MAX, |((time, _), _)| *time);
            if !self.drivers[driver].events.is_empty() || until < next {
                break;
            }
            self.now = next;
        }
        if self.drivers[driver].events.is_empty() {
            self.now = until;
        }
        if let Some((_, raised)) = self
            .schedule
            .raised
            .filter(|(time, _)| !self.is_healed && *time <= self.now)
        {
            let flag = if raised == Raised::Budget {
                &self.machine.budget_spent
            } else {
                &self.machine.stop
            };
            flag.store(true, Ordering::Relaxed);
        }
        self.machine.clock.store(self.now, Ordering::Relaxed);
        self.deliver(driver)
    }

    fn deliver(&mut self, driver: usize) -> Vec<RunnerEvent> {
        let mut events = Vec::from(std::mem::take(&mut self.drivers[driver].events));
        for event in &events {
            let RunnerEvent::Ended(ended) = event else {
                continue;
            };
            let (shard, code) = (ended.shard, ended.code);
            self.tell(|| format!("driver {driver} is told that shard {shard} ended with {code:?}"));
            let is_whole = self.shards[shard].clone().all(|piece| self.is_made(piece));
            let (now, told) = (self.now, &mut self.drivers[driver]);
            if !told.open.remove(&shard) {
                continue;
            }
            told.ran += usize::from(code == Some(0));
            if code != Some(0) || !is_whole {
                told.failed.push((shard, code));
                told.failed_at.insert(shard, now);
            }
        }
        let driver = &self.drivers[driver];
        if events.is_empty() || !self.schedule.counts_late {
            events.push(RunnerEvent::Workers {
                count: self.schedule.workers,
                running: driver.busy,
            });
        }
        events
    }

    /// A driver is gone; what it started may run on.
    pub(crate) fn bury(&mut self, driver: usize) {
        self.tell(|| format!("driver {driver} is gone"));
        let dead = &mut self.drivers[driver];
        (dead.is_dead, dead.queue) = (true, VecDeque::new());
        dead.events.clear();
        if !self.schedule.orphans {
            // Nothing is published any more; what was published is seen some day.
            self.due
                .retain(|_, act| !matches!(act, Act::Publish { driver: of, .. } if *of == driver));
        }
    }

    /// A person removes what cannot stay, and all machines are well from now on.
    pub(crate) fn heal(&mut self) {
        self.tell(|| "a person mends the cluster".to_owned());
        self.is_healed = true;
        self.machine.lower_flags();
        let is_foul = |content: &Content| matches!(content, Content::False | Content::Foreign);
        self.due
            .retain(|_, act| !matches!(act, Act::Publish { content, .. } if is_foul(content)));
        for (piece, files) in self.made.iter_mut().enumerate() {
            for (file, content) in files.iter_mut().enumerate() {
                if !content.as_ref().is_some_and(is_foul) {
                    continue;
                }
                *content = None;
                self.shown[piece][file] = None;
                if let Some(name) = self.pieces[piece].names.get(file) {
                    std::fs::remove_file(self.folder.join(name)).unwrap_or_default();
                }
            }
        }
    }
}

/// The round of a piece of a stage of rounds: a third of its pieces.
pub(crate) fn round_of(piece: usize) -> Range<usize> {
    let begin = piece / ROUND_PIECES * ROUND_PIECES;
    begin..begin + ROUND_PIECES
}

/// The worst content of the files of a piece, if all of them are there.
fn whole(files: &[Option<Content>]) -> Option<Content> {
    files
        .iter()
        .copied()
        .collect::<Option<Vec<Content>>>()?
        .into_iter()
        .max()
}

/// Puts a file where the driver looks.
fn show(piece: &Piece, file: usize, content: Content, folder: &Path) {
    let Some(name) = piece.names.get(file) else {
        return;
    };
    let path = folder.join(name);
    std::fs::remove_file(&path).unwrap_or_default();
    if content == Content::Torn {
        let bytes = std::fs::read(piece.sources[&Content::True].join(name)).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() * 2 / 3]).unwrap();
    } else {
        std::fs::hard_link(piece.sources[&content].join(name), &path).unwrap();
    }
}

/// A driver's runner in a world.
pub(crate) struct Simulated<'r, 'w> {
    pub(crate) world: &'r RefCell<World<'w>>,
    pub(crate) driver: usize,
    pub(crate) dies_at: Option<usize>,
    /// What another driver does meanwhile, and at which call.
    pub(crate) meanwhile: Option<(usize, &'r dyn Fn())>,
}

impl<'r, 'w> Simulated<'r, 'w> {
    pub(crate) fn new(world: &'r RefCell<World<'w>>, dies_at: Option<usize>) -> Self {
        let mut drivers = world.borrow_mut();
        drivers.drivers.push(Driver::default());
        Self {
            world,
            driver: drivers.drivers.len() - 1,
            dies_at,
            meanwhile: None,
        }
    }
}

impl Runner for Simulated<'_, '_> {
    fn submit(&mut self, shard: usize) -> Result<(), StageError> {
        self.world.borrow_mut().submit(self.driver, shard);
        Ok(())
    }

    fn wait(&mut self, longest: Duration) -> Result<Vec<RunnerEvent>, StageError> {
        let call = {
            let driver = &mut self.world.borrow_mut().drivers[self.driver];
            driver.calls += 1;
            driver.calls
        };
        if self.dies_at.is_some_and(|at| at < call) {
            return Err(StageError::Elsewhere {
                text: "killed".to_owned(),
                code: DEATH,
            });
        }
        if let Some((_, other)) = self.meanwhile.take_if(|(at, _)| *at < call) {
            other();
        }
        Ok(self
            .world
            .borrow_mut()
            .wait(self.driver, longest.as_millis() as u64))
    }
}
