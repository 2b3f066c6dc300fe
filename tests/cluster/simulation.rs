//! A simulated cluster: the real driver, the real look at the parts, and workers that are lost,
//! late, killed or lie, by seed.
//!
//! `RENMA_SCHEDULES=1000000 RENMA_SEED=7 cargo test --release --locked --test cluster
//! simulation::many -- --ignored --nocapture` runs a million simulations, and says how far it is;
//! `RENMA_FIRST=250000` resumes there. A failure prints the command that repeats it alone, with
//! what happened in it.
#![allow(clippy::print_stdout, reason = "a long test says how far it is")]

mod lies;
mod scale;
mod schedule;
mod trial;
mod world;

use crate::support::workspace::{Workspace, copy_folder, files};
use lies::{SHARD_PIECES, Scene, falsify_part};
use rayon::prelude::{IntoParallelIterator, ParallelIterator};
use renma::artifact::ModelRef;
use renma::cluster::plan::LoadedPlan;
use scale::{Cost, Scale, measure};
use schedule::Schedule;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use trial::{Cluster, Parts, Tally};
use world::{Content, Piece, ROUND_PIECES};

/// The parts of the stages with files: 16 games, and batches of 16 games, the last of which has 6.
const GAMES: usize = 16;
const BATCHES: usize = 10;

/// Simulations between two lines about the progress.
const BLOCK: u64 = 500;

/// True, false and foreign parts of two stages, and what one machine makes of them.
static STAGES: LazyLock<Workspace> = LazyLock::new(|| {
    let workspace = Workspace::new();
    for (name, seed) in [("true", "1"), ("foreign", "2")] {
        let changes = [
            ("run.seed", seed),
            ("generate.games", "16"),
            ("generate.part_games", "1"),
            ("generate.play_depth", "1"),
            ("generate.label_depth", "1"),
            ("generate.exact_empties", "3"),
            ("gate.mode", "\"sprt\""),
            ("gate.games", "150"),
            ("gate.depth", "1"),
            ("gate.exact_empties", "3"),
        ];
        let config = workspace.config(name, "smoke", &changes);
        let selfplay = format!("--config {config} --model builtin:square-weights");
        let games = format!(
            "--config {config} --candidate builtin:disc-count --baseline builtin:square-weights"
        );
        for (stage, options, pieces) in [("generate", &selfplay, GAMES), ("gate", &games, BATCHES)]
        {
            workspace.run(&format!("{stage} {options} --output whole-{stage}-{name}"));
            let plan = format!("{stage}-{name}.json");
            let options = format!("{options} --output out --shards {}", pieces / SHARD_PIECES);
            workspace.done(&format!("{stage} --plan {plan} {options}"));
            (0..pieces / SHARD_PIECES)
                .for_each(|shard| drop(workspace.done(&format!("shard run {plan} {shard}"))));
            let parts = workspace.path(&format!("{stage}-{name}"));
            std::fs::rename(workspace.path("out"), &parts).unwrap();
            let lies = workspace.path(&format!("{stage}-{name}-lies"));
            copy_folder(&parts, &lies);
            (0..pieces).for_each(|piece| falsify_part(&lies, piece, stage == "gate"));
        }
    }
    workspace
});

fn parts(stage: &str, tables: &[&str], count: usize) -> Parts {
    let sources = [
        (Content::True, "true"),
        (Content::False, "true-lies"),
        (Content::Foreign, "foreign"),
    ];
    let piece = |piece: usize| Piece {
        names: tables
            .iter()
            .map(|table| format!("{table}/part-{piece:05}.parquet"))
            .collect(),
        sources: sources
            .map(|(content, name)| (content, STAGES.path(&format!("{stage}-{name}"))))
            .into(),
    };
    let loaded = LoadedPlan::read(&STAGES.path(&format!("{stage}-true.json"))).unwrap();
    let models = loaded
        .plan
        .request
        .clone()
        .find_models(&ModelRef::Champion)
        .unwrap()
        .load()
        .unwrap();
    Parts {
        loaded,
        models,
        pieces: (0..count).map(piece).collect(),
        whole: STAGES.path(&format!("whole-{stage}-true")),
    }
}

fn with_cluster<T>(act: impl FnOnce(&Cluster) -> T) -> T {
    let scratch = tempfile::tempdir_in(STAGES.root()).unwrap();
    act(&Cluster {
        selfplay: parts("generate", &["games", "positions"], GAMES),
        games: parts("gate", &["games"], BATCHES),
        rounds: vec![Piece::default(); 3 * ROUND_PIECES],
        scratch: scratch.path().to_owned(),
    })
}

/// Runs simulations; panics after all of them if some failed, with the commands that repeat those.
fn simulate(seed: u64, first: u64, count: u64, is_told: bool) {
    let began = Instant::now();
    let mut sum = Tally::default();
    let mut failures = Vec::new();
    with_cluster(|cluster| {
        for block in (first..first + count).step_by(BLOCK as usize) {
            let ids = block..(block + BLOCK).min(first + count);
            let end = ids.end;
            let run = |id: u64| {
                let schedule = Schedule::draw(seed, id, GAMES);
                (
                    id,
                    catch_unwind(AssertUnwindSafe(|| trial::run(cluster, &schedule, is_told))),
                )
            };
            let done: Vec<_> = ids.into_par_iter().map(run).collect();
            for (id, outcome) in done {
                match outcome {
                    Ok(tally) => sum.add(tally),
                    Err(panic) => failures.push((id, text_of(&*panic))),
                }
            }
            let seconds = began.elapsed().as_secs_f64();
            println!(
                "{} simulations of seed {seed}, to {end}: {seconds:.1} s, {} failed; {sum}",
                end - first,
                failures.len()
            );
            if 20 < failures.len() {
                break;
            }
        }
    });
    let shown = failures.iter().map(|(id, text)| {
        let command = "cargo test --release --locked --test cluster simulation::many -- --ignored --nocapture";
        format!("{text}\n    RENMA_SEED={seed} RENMA_FIRST={id} RENMA_SCHEDULES=1 {command}")
    });
    assert!(
        failures.is_empty(),
        "{} failed:\n{}",
        failures.len(),
        shown.collect::<Vec<_>>().join("\n")
    );
}

fn text_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_default()
}

/// A number that the environment sets.
fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| {
        text.parse().unwrap_or_else(|_| panic!("{name}={text}"))
    })
}

#[test]
fn a_hundred_simulated_clusters_end_well_or_say_why() {
    simulate(1, 0, 100, false);
}

#[test]
#[ignore = "a minute: 2,000 simulations, or as many as RENMA_SCHEDULES says"]
fn many_simulated_clusters_end_well_or_say_why() {
    let count = number("RENMA_SCHEDULES", 2_000);
    simulate(
        number("RENMA_SEED", 2),
        number("RENMA_FIRST", 0),
        count,
        count == 1,
    );
}

/// A schedule whose driver dies at a given call only.
fn dying_at(schedule: &Schedule, call: usize) -> Schedule {
    Schedule {
        deaths: vec![call],
        raised: None,
        ..schedule.clone()
    }
}

/// Lets the driver of some lively schedules die at each call in turn.
fn die_at_every_call(step: usize) {
    with_cluster(|cluster| {
        let lively = |schedule: &Schedule| {
            schedule.milliseconds == 40 && 4 <= schedule.shards && schedule.unseen < 1000
        };
        let schedules = (0..)
            .map(|id| Schedule::draw(3, id, GAMES))
            .filter(lively)
            .take(6);
        for schedule in schedules {
            let calls = trial::run(cluster, &dying_at(&schedule, usize::MAX), false).calls;
            let deaths = (0..calls.min(400)).step_by(step);
            let died = AtomicU64::new(0);
            deaths
                .clone()
                .collect::<Vec<_>>()
                .into_par_iter()
                .for_each(|call| {
                    let tally = trial::run(cluster, &dying_at(&schedule, call), false);
                    died.fetch_add(u64::from(1 < tally.drives), Ordering::Relaxed);
                });
            assert!(
                deaths.len() as u64 <= 2 * died.load(Ordering::Relaxed),
                "{schedule:?}: few drivers died"
            );
        }
    });
}

#[test]
fn a_driver_that_dies_at_some_call_is_followed_by_one_that_ends_well() {
    die_at_every_call(17);
}

#[test]
#[ignore = "slow"]
fn a_driver_that_dies_at_any_call_is_followed_by_one_that_ends_well() {
    die_at_every_call(1);
}

fn scene(stage: &str, pieces: usize, done: i32) -> Scene {
    let path = |name: &str| STAGES.path(name);
    Scene {
        plan: path(&format!("{stage}-true.json")),
        parts: path(&format!("{stage}-true")),
        foreign: path(&format!("{stage}-foreign")),
        whole: path(&format!("whole-{stage}-true")),
        pieces,
        is_match: stage == "gate",
        done,
    }
}

/// Puts lies before `renma shard finish`, three of four about self-play.
fn lie(seed: u64, count: u64) {
    let scenes = [scene("generate", GAMES, 0), scene("gate", BATCHES, 10)];
    let scratch = tempfile::tempdir_in(STAGES.root()).unwrap();
    let told = |id: u64| {
        let scene = &scenes[usize::from(id % 4 == 3)];
        let number = if scene.is_match {
            id / 4
        } else {
            id / 4 * 3 + id % 4
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            scene.try_lie(seed, number, scratch.path());
        }));
        outcome
            .err()
            .map(|panic| format!("lie {id} of seed {seed}: {}", text_of(&*panic)))
    };
    let wrong: Vec<String> = (0..count).into_par_iter().filter_map(told).collect();
    assert!(
        wrong.is_empty(),
        "{} of {count} lies:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn some_false_parts_are_named_and_not_published() {
    lie(1, 24);
}

#[test]
#[ignore = "slow"]
fn false_parts_of_each_kind_and_column_are_named_and_not_published() {
    lie(number("RENMA_SEED", 2), 200);
}

/// 10⁹ games in parts of 10,000 and in shards of three minutes, with looks at local files and by
/// NFS. The figures in docs/cluster.md are from here.
#[test]
#[ignore = "slow"]
fn a_thousand_million_games_on_ten_thousand_workers() {
    for (shards, workers) in [(5_500, 1_000), (55_000, 10_000)] {
        for look in [36, 1_800] {
            let scale = Scale {
                parts: 100_000,
                shards,
                workers,
                seconds: 180,
                look,
            };
            let Cost {
                seconds,
                looks,
                events,
                driver,
            } = measure(&scale);
            println!(
                "{shards} shards, {workers} workers, {look} µs to look at a part: {seconds:.0} s, {looks} looks; \
                 {events} reports, {:.0} µs of the driver for each",
                1e6 * driver / events as f64
            );
        }
    }
}

#[test]
fn the_driver_reports_each_of_a_thousand_shards() {
    let cost = measure(&Scale {
        parts: 1_000,
        shards: 1_000,
        workers: 100,
        seconds: 180,
        look: 40,
    });
    assert_eq!(cost.events, 1_000);
    assert!(
        1_000.0 < cost.seconds && cost.seconds < 4_000.0 && cost.looks < 400,
        "{cost:?}"
    );
}

#[test]
fn the_parts_of_the_simulation_are_those_of_one_machine() {
    for (stage, tables) in [("generate", 2), ("gate", 1)] {
        let whole = files(&STAGES.path(&format!("whole-{stage}-true")));
        let parts = files(&STAGES.path(&format!("{stage}-true")));
        let published = |name: &&String| {
            Path::new(name)
                .extension()
                .is_some_and(|end| end == "parquet")
        };
        let names: Vec<&str> = whole
            .keys()
            .filter(|name| published(name))
            .map(String::as_str)
            .collect();
        assert!(
            2 * tables <= names.len() && names.len() <= parts.len(),
            "{names:?}"
        );
        assert!(
            names.iter().all(|name| whole[*name] == parts[*name]),
            "{stage}"
        );
        let [lies, foreign] =
            ["true-lies", "foreign"].map(|name| files(&STAGES.path(&format!("{stage}-{name}"))));
        for name in names
            .iter()
            .filter(|name| stage == "gate" || name.starts_with("positions"))
        {
            assert!(
                whole[*name] != lies[*name] && whole[*name] != foreign[*name],
                "{name}"
            );
        }
    }
}
