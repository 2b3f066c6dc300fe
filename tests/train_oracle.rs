//! The delta rule of the source, written a second time and plainly, against `renma train`, byte for byte.
#![allow(clippy::disallowed_methods, reason = "a test looks at files as it likes")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "support/es_cube.rs"]
mod es_cube;
#[path = "support/workspace.rs"]
mod workspace;

use es_cube::{PARITY, PlainInstance, WEIGHT_COUNT, configuration, instances};
use renma::artifact::{Dataset, NEVER, PositionRow, Registry};
use renma::config::load_config;
use renma::engine::{Opponent, Player, Position, Score};
use renma::pipeline::train::rows::{TrainingRow, TrainingSet};
use renma::pipeline::train::run::fit;
use renma::pipeline::train::task::{TrainConfig, TrainTask};
use renma::pipeline::{Context, Host, Progress};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use workspace::Workspace;

/// Where the disc of each place of CORNER8 (a1 b1 c1 a2 b2 c2 a3 b3) goes when the corner is mirrored in its diagonal.
const CORNER_MIRROR: [usize; 8] = [0, 3, 6, 1, 4, 7, 2, 5];

/// A position with the result to learn, from the side to move.
#[derive(Clone, Copy, Debug)]
struct Lesson {
    player: u64,
    opponent: u64,
    target: i32,
}

/// The places that share one weight: a configuration and its mirror, which may be itself.
fn twins(instance: &PlainInstance, lesson: Lesson) -> [usize; 2] {
    let squares = &instance.squares;
    let mirrored: Vec<usize> = match instance.pattern {
        "EDGE8" => squares.clone(),
        "CORNER8" => CORNER_MIRROR.map(|place| squares[place]).into(),
        _ => squares.iter().rev().copied().collect(),
    };
    [squares, &mirrored].map(|squares| instance.offset + configuration(lesson.player, lesson.opponent, squares))
}

/// The weights after every lesson in turn, and how often a weight reached the bound.
fn plain_training(lessons: &[Lesson], ratio: f64, clip: i32) -> (Vec<i32>, u64) {
    let instances = instances();
    let mut weights = vec![0_i32; WEIGHT_COUNT];
    let mut clipped = 0;
    for &lesson in lessons {
        let empties = 64 - (lesson.player | lesson.opponent).count_ones() as usize;
        let parity = PARITY + empties % 2;
        let mut places: Vec<[usize; 2]> = instances.iter().map(|instance| twins(instance, lesson)).collect();
        places.push([parity, parity]);
        let value: i32 = places.iter().map(|[place, _]| weights[*place]).sum();
        let diff = (f64::from(lesson.target - value) * ratio).trunc() as i32;
        for [place, twin] in places {
            let moved = weights[place] + diff;
            clipped += u64::from(moved.abs() > clip);
            weights[place] = moved.min(clip).max(-clip);
            weights[twin] = weights[place];
        }
    }
    (weights, clipped)
}

fn rows(dataset: &Path) -> Vec<PositionRow> {
    let dataset = Dataset::open(dataset).unwrap();
    (0..dataset.part_count()).flat_map(|part| dataset.rows(part, &NEVER).unwrap()).collect()
}

fn lesson(row: &PositionRow) -> Lesson {
    let (player, opponent) = if row.black_to_move { (row.black, row.white) } else { (row.white, row.black) };
    Lesson { player, opponent, target: i32::from(row.result.unwrap()) * 1000 }
}

/// Games enough for 5,000 positions, played as fast as can be.
fn dataset(workspace: &Workspace) -> &'static str {
    let config = workspace.config(
        "quick",
        "smoke",
        &[
            ("generate.games", "90"),
            ("generate.part_games", "25"),
            ("generate.play_depth", "1"),
            ("generate.label_depth", "1"),
            ("generate.exact_empties", "4"),
        ],
    );
    workspace.done(&format!("generate --config {config} --output selfplay"));
    "selfplay"
}

fn check(weights: &[i32], expected: &[i32], what: &str) {
    assert_eq!(weights.len(), WEIGHT_COUNT, "{what}");
    let differing = weights.iter().zip(expected).position(|(weight, expected)| weight != expected);
    assert_eq!(differing, None, "{what}: the first weight that differs");
}

#[test]
fn the_trainer_gives_the_weights_of_a_plain_delta_rule_byte_for_byte() {
    let workspace = Workspace::new();
    let dataset = dataset(&workspace);
    let config = workspace.config("seed", "seed", &[]);
    let id = workspace.done(&format!("train --config {config} --dataset {dataset} --models registry"));
    assert_eq!(id, "v0001");
    workspace.done("model export --model registry/v0001 --format es-cube-eval --output eval.dat");
    let lessons: Vec<Lesson> = rows(&workspace.path(dataset)).iter().map(lesson).collect();
    assert!(5_000 <= lessons.len(), "{} positions", lessons.len());
    let (expected, _) = plain_training(&lessons, 0.003, 20_000);
    let bytes = std::fs::read(workspace.path("eval.dat")).unwrap();
    let weights: Vec<i32> =
        bytes.chunks_exact(4).map(|word| i32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect();
    check(&weights, &expected, "configs/seed.toml");
    assert_eq!(bytes, expected.iter().flat_map(|weight| weight.to_le_bytes()).collect::<Vec<u8>>());
    let moved = expected.iter().filter(|&&weight| weight != 0).count();
    assert!(5_000 < moved, "only {moved} weights moved");
}

struct Nobody;

impl Host for Nobody {}

impl Progress for Nobody {
    fn begin(&self, _: &str, _: u64, _: &str) {}
    fn advance(&self, _: u64) {}
    fn end(&self) {}
}

/// Trains in memory on rows in their order, with one epoch and zero weights at the start.
fn library_training(workspace: &Workspace, lessons: &[Lesson], ratio: f64, clip: i32) -> Vec<i32> {
    let mut config = load_config(&workspace.path(&workspace.config("seed", "seed", &[]))).unwrap();
    let changed = |train: &mut TrainConfig| (train.ratio, train.clip) = (ratio, clip);
    config.config.train = config.config.train.with(changed).unwrap();
    let position = |lesson: &Lesson| Position::new(Player(lesson.player), Opponent(lesson.opponent)).unwrap();
    let rows: Vec<TrainingRow> =
        lessons.iter().map(|lesson| TrainingRow::new(position(lesson), Score(lesson.target))).collect();
    let set = TrainingSet::of_rows(&rows);
    let task = TrainTask {
        config: &config.config.train,
        seed: 1,
        features: Arc::clone(&config.features),
        datasets: Vec::new(),
        parent: None,
        registry: &Registry::new(&workspace.path("registry")),
        memory: 0,
    };
    let context = Context {
        threads: 2,
        stop: &AtomicBool::new(false),
        budget_spent: &AtomicBool::new(false),
        progress: &Nobody,
        host: &Nobody,
    };
    let (model, _) = fit(&task, &set, context).unwrap();
    model.evaluation.weights().iter().map(|&weight| i32::from(weight)).collect()
}

#[test]
fn weights_stop_at_the_bound_where_those_of_the_plain_rule_do() {
    let workspace = Workspace::new();
    let lessons: Vec<Lesson> = rows(&workspace.path(dataset(&workspace))).iter().map(lesson).collect();
    for (ratio, clip) in [(0.003, 20_000), (0.05, 20_000), (0.5, 20_000), (0.01, 300), (1.0, 32_767)] {
        let (expected, clipped) = plain_training(&lessons, ratio, clip);
        let weights = library_training(&workspace, &lessons, ratio, clip);
        check(&weights, &expected, &format!("ratio {ratio}, clip {clip}"));
        if ratio != 0.003 && ratio != 0.05 {
            assert!(100 < clipped, "ratio {ratio}, clip {clip}: the bound was reached {clipped} times");
            assert!(expected.contains(&clip) && expected.contains(&-clip), "ratio {ratio}, clip {clip}");
        }
    }
}

#[test]
fn the_product_of_the_rule_is_cut_toward_zero_as_integers_would() {
    for error in -200_000..=200_000 {
        assert_eq!((f64::from(error) * 0.003).trunc() as i32, error * 3 / 1000, "{error}");
    }
}
