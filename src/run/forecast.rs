//! What the rest of a run is expected to take: time, disk, memory. An estimate for people; no
//! result depends on it.

use super::folders::{generation_folder, generations};
use super::lineage::Lineage;
use super::log::{CallOutcome, CallRecord, calls_by_generation};
use crate::artifact::publish::{bytes_in, is_folder};
use crate::artifact::{ArtifactError, Builtin, DatasetKind, LoadedModel, Manifest};
use crate::config::{LoadedConfig, RunConfig};
use crate::generation::Generation;
use crate::pipeline::gate::task::GateMode;
use crate::pipeline::generate::run::play_until;
use crate::pipeline::generate::task::GenerateTask;
use crate::pipeline::stage::Stage;
use crate::pipeline::train::shards::visits_of_parts;
use crate::pipeline::train::task::{MEMORY, VISITS_PER_SECOND};
use crate::pipeline::{Context, StageError};
use serde::Serialize;
use std::cell::Cell;
use std::io;
use std::ops::RangeInclusive;
use std::path::Path;

/// A run is refused if it is expected to need this many times the bytes that are free: the
/// expectation is no more exact.
const DISK_SLACK: f64 = 1.2;
/// For how long games are timed.
const TRIAL_SECONDS: f64 = 1.0;
/// At most this share of a generation is played for it.
const TRIAL_SHARE: u64 = 20;
/// The generations whose times say how long the next one takes.
const RECENT: usize = 3;

/// Positions of a game, about: sixty moves, and hardly any passes.
const POSITIONS_PER_GAME: u64 = 60;
/// Bytes of a position and its share of a game on disk (docs/datasets.md: at most 13.5 for the
/// position).
const BYTES_PER_POSITION: u64 = 14;
/// Bytes of a weight in weights.parquet: 1.7 in the model that ships; each generation makes two
/// versions.
const BYTES_PER_WEIGHT: f64 = 1.7;
/// Core seconds of the searches from the positions of a sampled game to depth 12: 18 CPU minutes
/// for 400 games of the model that ships.
const SAMPLE_SECONDS: f64 = 2.6;
/// How much longer a search takes that is a ply deeper, about.
const BRANCHING: f64 = 2.2;
/// A sequential test ends early; this many games are usual.
const GATE_GAMES: u64 = 200;
/// Bytes of a training row in memory, and of a weight while it is learned.
const ROW_BYTES: u64 = 24;
const LEARNED_BYTES: u64 = 16;
/// Bytes of everything else: the default run takes 0.32 GB in all.
const BASE_BYTES: u64 = 280_000_000;

/// What the rest of a run is expected to take.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Forecast {
    /// The generations that are left.
    pub generations: u32,
    /// Seconds for all of them.
    pub seconds: f64,
    /// Whether not even one game ended while games were timed: it may be much more.
    pub is_minimum: bool,
    /// Bytes that they add to the disk, at the most: what gc removes after each of them is taken
    /// off.
    pub bytes: u64,
    /// Bytes that are free on the disk of the datasets.
    pub bytes_free: u64,
    /// Bytes of memory, at most.
    pub memory: u64,
}

impl Forecast {
    /// Of the generations up to the last one. Where no generation has been timed, games are played
    /// for a second; the stop flag of the context ends games that take longer.
    ///
    /// # Errors
    ///
    /// A damaged run, or a system error.
    pub fn new(
        lineage: &Lineage<'_>,
        range: RangeInclusive<Generation>,
        calls: &[CallRecord],
        context: Context<'_>,
    ) -> Result<Self, StageError> {
        let (next, last) = (*range.start(), *range.end());
        let config = &lineage.config;
        let (bytes, memory) = size(config, lineage.datasets, next)?;
        let (seconds, is_minimum) = seconds_left(lineage, range, calls, context)?;
        let all_bytes = bytes.saturating_mul(added(config, next, last).into());
        Ok(Self {
            generations: (last + 1).0.saturating_sub(next.0),
            seconds,
            is_minimum,
            bytes: all_bytes.saturating_sub(bytes_begun(lineage.datasets, next)?),
            bytes_free: bytes_free(lineage.datasets)?,
            memory,
        })
    }

    /// Whether it will hardly fit on the disk.
    pub const fn is_tight(&self) -> bool {
        self.bytes_free < self.bytes
    }

    /// Refuses a run that will not fit on the disk, even if it needs a sixth less than expected.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::StorageFull`].
    pub fn check_disk(&self, datasets: &Path) -> Result<(), ArtifactError> {
        if self.bytes as f64 <= DISK_SLACK * self.bytes_free as f64 {
            return Ok(());
        }
        let (needed, free) = (self.bytes.div_ceil(1_000_000), self.bytes_free / 1_000_000);
        let reason = format!(
            "the run needs about {needed} MB, and {free} MB are free\n\
             make room or fewer generations (--generations +N), or let run.keep_generations remove old ones"
        );
        Err(ArtifactError::io(
            "write",
            datasets,
            io::Error::new(io::ErrorKind::StorageFull, reason),
        ))
    }
}

/// Seconds of the generations that are left, and whether that is a minimum.
fn seconds_left(
    lineage: &Lineage<'_>,
    range: RangeInclusive<Generation>,
    calls: &[CallRecord],
    context: Context<'_>,
) -> Result<(f64, bool), StageError> {
    let (next, last) = (*range.start(), *range.end());
    if range.is_empty() {
        return Ok((0.0, false));
    }
    if let Some(seconds) = recent_seconds(calls, next) {
        return Ok((seconds * f64::from(last - next + 1), false));
    }
    let first = lineage.player(next)?.name.load(lineage.registry.folder())?;
    let player = usual_player(first, next, last);
    let (game_seconds, is_minimum) = game_seconds(&lineage.config, &player, context)?;
    let seconds = stage_seconds(&lineage.config, range, game_seconds, context.threads);
    Ok((seconds, is_minimum))
}

/// The bytes of games that are there of the generations from `next` on: a restart removes them, and
/// other runs continue with them.
fn bytes_begun(datasets: &Path, next: Generation) -> Result<u64, ArtifactError> {
    let mut bytes = 0;
    for generation in generations(datasets, Stage::Generate)? {
        if next <= generation {
            bytes += bytes_in(&generation_folder(datasets, Stage::Generate, generation))?;
        }
    }
    Ok(bytes)
}

/// How many generations more than now the disk holds at the most, while the last one is made.
fn added(config: &LoadedConfig, next: Generation, last: Generation) -> u32 {
    let RunConfig {
        keep_generations,
        window,
        ..
    } = *config.config.run;
    let kept = |finished: Generation| {
        if keep_generations == 0 {
            finished
        } else {
            finished.min(Generation(keep_generations + window - 1))
        }
    };
    if last < next {
        0
    } else {
        (kept(last - 1) + 1).0.saturating_sub(kept(next - 1).0)
    }
}

/// The mean seconds of the latest generations before the next one that a gate has judged, if there
/// are any.
pub fn recent_seconds(calls: &[CallRecord], next: Generation) -> Option<f64> {
    let made = calls_by_generation(calls);
    let is_judging =
        |call: &&CallRecord| call.stage == Stage::Gate.name() && call.outcome == CallOutcome::Done;
    let judged = made
        .range(..next)
        .rev()
        .filter(|(_, calls)| calls.iter().any(is_judging));
    let seconds = judged.map(|(_, calls)| calls.iter().map(|call| call.seconds).sum::<f64>());
    let recent: Vec<f64> = seconds.take(RECENT).collect();
    (!recent.is_empty()).then(|| recent.iter().sum::<f64>() / recent.len() as f64)
}

/// The bytes and the memory that a generation takes: the newest finished one tells its bytes, else
/// the numbers of games and weights.
fn size(
    config: &LoadedConfig,
    datasets: &Path,
    next: Generation,
) -> Result<(u64, u64), ArtifactError> {
    let rows = config
        .config
        .generate
        .games
        .saturating_mul(POSITIONS_PER_GAME);
    let weights = config.features.weight_count() as u64;
    let selfplay = generation_folder(datasets, Stage::Generate, next.back(1));
    let played = Manifest::read(&selfplay, DatasetKind::Selfplay)
        .ok()
        .filter(|manifest| 0 < manifest.done);
    let dataset = match played {
        Some(manifest) => bytes_of(
            config.config.generate.games,
            manifest.done,
            bytes_in(&selfplay)?,
        ),
        None => rows.saturating_mul(BYTES_PER_POSITION),
    };
    let window = u64::from(config.config.run.window.min(next.0));
    let learned = rows
        .saturating_mul(window)
        .saturating_mul(ROW_BYTES)
        .min(MEMORY);
    let bytes = dataset.saturating_add((2.0 * BYTES_PER_WEIGHT * weights as f64) as u64);
    Ok((bytes, BASE_BYTES + learned + weights * LEARNED_BYTES))
}

/// The bytes of games, from those that another number of them took.
fn bytes_of(games: u64, others: u64, bytes: u64) -> u64 {
    (bytes as f64 / others as f64 * games as f64) as u64
}

/// The model that plays most of the generations up to the last one: a trained one, for which the
/// model that ships stands as long as there is none.
fn usual_player(first: LoadedModel, next: Generation, last: Generation) -> LoadedModel {
    if next < last && first.model.mpc.is_empty() {
        LoadedModel::builtin(Builtin::Champion)
    } else {
        first
    }
}

/// Core seconds of a game, and whether that is a minimum.
fn game_seconds(
    loaded: &LoadedConfig,
    model: &LoadedModel,
    context: Context<'_>,
) -> Result<(f64, bool), StageError> {
    let config = &loaded.config;
    let task = GenerateTask {
        config: config.generate.clone(),
        book: loaded.book.clone(),
        seed: config.run.seed,
        generation: Generation::FIRST,
        model: model.clone(),
        output: "".into(),
    };
    let (began, most) = (
        context.host.seconds(),
        config.generate.games.div_ceil(TRIAL_SHARE),
    );
    let games = Cell::new(0_u64);
    let is_enough = || {
        games.set(games.get() + 1);
        most <= games.get() || TRIAL_SECONDS <= context.host.seconds() - began
    };
    let is_minimum = match play_until(&task, is_enough, context) {
        Ok(_) => false,
        Err(StageError::Interrupted) => games.get() == 0,
        Err(error) => return Err(error),
    };
    Ok((
        (context.host.seconds() - began) / games.get().max(1) as f64,
        is_minimum,
    ))
}

/// Seconds of all stages of the generations up to the last one, on this number of threads.
fn stage_seconds(
    loaded: &LoadedConfig,
    generations: RangeInclusive<Generation>,
    game_seconds: f64,
    threads: usize,
) -> f64 {
    let (next, last) = (*generations.start(), *generations.end());
    let config = &loaded.config;
    let (games, window) = (config.generate.games, config.run.window);
    let sample = SAMPLE_SECONDS * libm::pow(BRANCHING, f64::from(config.fit_mpc.depth_max) - 12.0);
    let judged = match config.gate.mode {
        GateMode::Games { .. } => config.gate.games,
        GateMode::Sprt { .. } => config.gate.games.min(GATE_GAMES),
    };
    let of_generation = |generation: Generation| {
        let rows = games
            .saturating_mul(POSITIONS_PER_GAME)
            .saturating_mul(window.min(generation.0).into());
        let visits: u64 = visits_of_parts(&loaded.features, &config.train, rows)
            .iter()
            .sum();
        (games + judged) as f64 * game_seconds
            + visits as f64 / VISITS_PER_SECOND
            + config.fit_mpc.games as f64 * sample
    };
    // Once the window is full, all generations take the same time.
    let full = Generation(window).clamp(next, last);
    let core_seconds = next.to(full.back(1)).map(of_generation).sum::<f64>()
        + f64::from(last - full + 1) * of_generation(full);
    core_seconds / threads as f64
}

/// The bytes that are free where a folder is or will be.
///
/// # Errors
///
/// A system error.
pub fn bytes_free(folder: &Path) -> Result<u64, ArtifactError> {
    let absolute =
        std::path::absolute(folder).map_err(|source| ArtifactError::io("find", folder, source))?;
    let mut existing = absolute.as_path();
    while !is_folder(existing)?
        && let Some(parent) = existing.parent()
    {
        existing = parent;
    }
    let found = rustix::fs::statvfs(existing)
        .map_err(|source| ArtifactError::io("inspect", existing, source.into()))?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, default_config};
    use crate::pipeline::fixtures::Clock;
    use serde_json::Value;
    use std::sync::atomic::AtomicBool;

    /// The default config with other values for some keys, and without those that are null.
    fn config(changes: &[(&str, &str, Value)]) -> LoadedConfig {
        let mut config = default_config();
        let mut tables = config.config.tables();
        for (table, key, value) in changes {
            let keys = tables[*table].as_object_mut().unwrap();
            match value {
                Value::Null => drop(keys.remove(*key)),
                value => drop(keys.insert((*key).to_owned(), value.clone())),
            }
        }
        config.config = Config::from_tables(tables).unwrap();
        config
    }

    fn call(stage: &str, generation: Generation, outcome: CallOutcome, seconds: f64) -> CallRecord {
        let (stage, generation) = (stage.to_owned(), Some(generation));
        let (cpu_seconds, threads, shards, id, error) = (0.0, None, false, None, None);
        CallRecord {
            stage,
            generation,
            outcome,
            code: 0,
            began: 0,
            seconds,
            cpu_seconds,
            threads,
            shards,
            id,
            error,
        }
    }

    #[test]
    fn a_run_that_removes_old_generations_needs_room_for_those_it_keeps() {
        // keep_generations, window, next, last, generations more on the disk.
        for (keep, window, next, last, expected) in [
            (0, 3, 1, 100, 100),
            (0, 3, 41, 100, 60),
            (5, 3, 1, 100, 8),
            (5, 3, 41, 100, 1),
            (5, 3, 3, 4, 2),
            (1, 3, 1, 100, 4),
            (5, 3, 8, 7, 0),
            (5, 3, 9, 8, 0),
            (5, 3, 41, 40, 0),
            (0, 3, 1, 0, 0),
        ] {
            let config = config(&[
                ("run", "keep_generations", keep.into()),
                ("run", "window", window.into()),
            ]);
            assert_eq!(
                added(&config, Generation(next), Generation(last)),
                expected,
                "{keep} {window} {next} {last}"
            );
        }
    }

    #[test]
    fn only_what_is_far_too_much_is_refused() {
        let forecast = |bytes| Forecast {
            generations: 1,
            seconds: 1.0,
            is_minimum: false,
            bytes,
            bytes_free: 1_000_000,
            memory: 0,
        };
        for (bytes, is_tight, is_refused) in [
            (1_000_000, false, false),
            (1_000_001, true, false),
            (1_200_000, true, false),
            (1_200_001, true, true),
            (u64::MAX, true, true),
        ] {
            let forecast = forecast(bytes);
            assert_eq!(
                (
                    forecast.is_tight(),
                    forecast.check_disk(Path::new("x")).is_err()
                ),
                (is_tight, is_refused)
            );
        }
    }

    #[test]
    fn the_latest_generations_that_were_judged_say_how_long_the_next_takes() {
        let mut calls = Vec::new();
        for (generation, seconds) in [(1, 100.0), (2, 10.0), (3, 20.0), (4, 30.0)] {
            calls.push(call(
                "generate",
                Generation(generation),
                CallOutcome::Stopped,
                seconds,
            ));
            calls.push(call(
                "generate",
                Generation(generation),
                CallOutcome::Done,
                5.0,
            ));
            calls.push(call(
                "train",
                Generation(generation),
                CallOutcome::Skipped,
                1000.0,
            ));
            calls.push(call("gate", Generation(generation), CallOutcome::Done, 1.0));
        }
        calls.push(call("generate", Generation(5), CallOutcome::Done, 7000.0));
        assert_eq!(recent_seconds(&calls, Generation(5)), Some(26.0));
        assert_eq!(recent_seconds(&calls, Generation(2)), Some(106.0));
        assert_eq!(recent_seconds(&calls, Generation(6)), Some(26.0));
        assert_eq!(recent_seconds(&calls, Generation(1)), None);
        // The fourth is made again.
        calls.push(call("generate", Generation(4), CallOutcome::Done, 5.0));
        assert_eq!(
            recent_seconds(&calls, Generation(5)),
            Some((106.0 + 16.0 + 26.0) / 3.0)
        );
        calls.push(call("gate", Generation(4), CallOutcome::Done, 1.0));
        assert_eq!(
            recent_seconds(&calls, Generation(5)),
            Some((6.0 + 26.0 + 16.0) / 3.0)
        );
    }

    #[test]
    fn a_game_takes_its_share_of_the_time_until_enough_are_played() {
        let weak = LoadedModel::builtin(Builtin::DiscCount);
        // A twentieth of the games is one, after which nobody looks at the clock before the end; or
        // two, but the second that they may take is over after the first. Where the stop flag is
        // raised, no game ends.
        for (games, is_stopped, expected) in [
            (20, false, (1.0, false)),
            (40, false, (2.0, false)),
            (40, true, (1.0, true)),
        ] {
            let config = config(&[
                ("generate", "games", games.into()),
                ("generate", "part_games", games.into()),
            ]);
            let (clock, stop) = (Clock::default(), AtomicBool::new(is_stopped));
            let context = Context {
                threads: 1,
                stop: &stop,
                budget_spent: &stop,
                progress: &(),
                host: &clock,
            };
            assert_eq!(
                game_seconds(&config, &weak, context).unwrap(),
                expected,
                "{games}"
            );
        }
    }

    #[test]
    fn a_model_without_mpc_statistics_stands_for_the_start_alone() {
        let [weak, trained] = [Builtin::DiscCount, Builtin::Champion].map(LoadedModel::builtin);
        for (first, next, last, expected) in [
            (&weak, 1, 2, &trained),
            (&weak, 2, 2, &weak),
            (&weak, 3, 2, &weak),
            (&trained, 1, 2, &trained),
        ] {
            assert_eq!(
                usual_player(first.clone(), Generation(next), Generation(last)).content,
                expected.content,
                "{next} to {last}"
            );
        }
    }

    #[test]
    fn a_generation_takes_its_games_its_visits_and_its_samples() {
        let config = |gate_mode: &str, gate_games: u64| {
            let nelo = |value: f64| {
                if gate_mode == "sprt" {
                    value.into()
                } else {
                    Value::Null
                }
            };
            config(&[
                ("run", "window", 3.into()),
                ("generate", "games", 1000.into()),
                ("fit_mpc", "games", 100.into()),
                ("fit_mpc", "depth_max", 13.into()),
                ("gate", "mode", gate_mode.into()),
                ("gate", "nelo0", nelo(0.0)),
                ("gate", "nelo1", nelo(5.0)),
                ("gate", "games", gate_games.into()),
            ])
        };
        for (mode, games, judged) in [
            ("games", 400, 400.0),
            ("sprt", 400, 200.0),
            ("sprt", 100, 100.0),
        ] {
            let config = config(mode, games);
            for (generation, datasets) in [(1, 1), (2, 2), (9, 3)] {
                let generation = Generation(generation);
                let visits: u64 =
                    visits_of_parts(&config.features, &config.config.train, datasets * 60_000)
                        .iter()
                        .sum();
                let samples = 100.0 * 2.6 * 2.2;
                for game in [0.0, 0.5] {
                    let expected = ((1000.0 + judged) * game + visits as f64 / 2e6 + samples) / 4.0;
                    let found = stage_seconds(&config, generation..=generation, game, 4);
                    assert!(
                        (found - expected).abs() < 1e-9 * expected,
                        "{mode} {generation}: {found}, not {expected}"
                    );
                }
            }
        }
        assert_eq!(bytes_of(1000, 10, 500), 50_000);
    }

    #[test]
    fn generations_take_the_sum_of_their_times() {
        let config = config(&[("run", "window", 3.into())]);
        for (next, last) in [
            (1, 1),
            (1, 2),
            (1, 3),
            (1, 9),
            (2, 9),
            (3, 9),
            (5, 9),
            (9, 9),
        ] {
            let (next, last) = (Generation(next), Generation(last));
            let expected: f64 = next
                .to(last)
                .map(|one| stage_seconds(&config, one..=one, 0.5, 1))
                .sum();
            let found = stage_seconds(&config, next..=last, 0.5, 1);
            assert!(
                (found - expected).abs() < 1e-9 * expected,
                "{next} to {last}: {found}, not {expected}"
            );
        }
    }
}
