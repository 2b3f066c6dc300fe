//! The delta rule of the source, written a second time and plainly, against `renma train`, byte for byte.

use crate::support::es_cube::{PARITY, PATTERNS, PlainInstance, WEIGHT_COUNT, configuration, instances};
use crate::support::workspace::Workspace;
use renma::artifact::{Dataset, NEVER, PositionRow, Registry};
use renma::config::load_config;
use renma::engine::{Evaluation, Opponent, Player, Position, Score, VectorShape};
use renma::pipeline::Context;
use renma::pipeline::train::rows::{TrainingRow, TrainingSet};
use renma::pipeline::train::run::fit;
use renma::pipeline::train::task::{TrainConfig, TrainTask, VECTOR_DECAY, VectorSchedule};
use renma::random::{Stream, stream};
use std::path::Path;
use std::sync::Arc;

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

/// The places of every feature of a lesson, each with its mirror.
fn places(instances: &[PlainInstance], lesson: Lesson) -> Vec<[usize; 2]> {
    let empties = 64 - (lesson.player | lesson.opponent).count_ones() as usize;
    let parity = PARITY + empties % 2;
    instances.iter().map(|instance| twins(instance, lesson)).chain([[parity, parity]]).collect()
}

/// Teaches weights every lesson in turn; how often a weight reached the bound.
fn plain_training(lessons: &[Lesson], ratio: f64, clip: i32, weights: &mut [i32]) -> u64 {
    let instances = instances();
    let mut clipped = 0;
    for &lesson in lessons {
        let places = places(&instances, lesson);
        let value: i32 = places.iter().map(|[place, _]| weights[*place]).sum();
        let diff = (f64::from(lesson.target - value) * ratio).trunc() as i32;
        for [place, twin] in places {
            let moved = weights[place] + diff;
            clipped += u64::from(moved.abs() > clip);
            weights[place] = moved.min(clip).max(-clip);
            weights[twin] = weights[place];
        }
    }
    clipped
}

/// Components of every vector, each in 65,536ths of its unit.
type Vectors = Vec<[i64; COMPONENTS]>;

const COMPONENTS: usize = 3;

fn rounded(component: i64) -> i64 {
    (component + 32_768).div_euclid(65_536)
}

/// The sum of the vectors of places, and the products of their pairs in millidiscs.
fn plain_pairs(vectors: &Vectors, places: &[[usize; 2]]) -> ([i64; COMPONENTS], i64) {
    let component = |[place, _]: &[usize; 2], k: usize| rounded(vectors[*place][k]);
    let sums = std::array::from_fn(|k| places.iter().map(|place| component(place, k)).sum());
    let product = |left, right| (0..COMPONENTS).map(|k| component(left, k) * component(right, k)).sum::<i64>();
    let (mut square, mut half_squares) = (0, 0);
    for (number, left) in places.iter().enumerate() {
        square += product(left, left);
        half_squares += product(left, left).div_euclid(4);
        square += 2 * places[..number].iter().map(|right| product(left, right)).sum::<i64>();
    }
    (sums, square.div_euclid(4) - half_squares)
}

/// Teaches vectors every lesson in turn, some times over, beside weights that stay; how often each was visited.
fn plain_vectors(lessons: &[Lesson], weights: &[i32], train: &TrainConfig, vectors: &mut Vectors) -> Vec<u32> {
    let instances = instances();
    let mut visits = vec![0_u32; WEIGHT_COUNT];
    let mut ratio = train.vectors.ratio;
    for _ in 0..train.vectors.epochs {
        for &lesson in lessons {
            let places = places(&instances, lesson);
            let (sums, pairs) = plain_pairs(vectors, &places);
            let value = places.iter().map(|[place, _]| i64::from(weights[*place])).sum::<i64>() + pairs;
            let error = f64::from(lesson.target) - value as f64;
            for [place, twin] in places {
                let visit = visits[place] + 1;
                let (mut count, mut scale) = (visit, 1.0);
                while 1024 <= count {
                    (count, scale) = (count / 16, scale / 4.0);
                }
                // A component is in 65,536ths and an error in thousandths; six more binary digits are cut off at the end.
                let step = error * (ratio * (65_536.0 * 64.0 / 1000.0)) * (1.0 / f64::from(count).sqrt() * scale);
                let step = step.clamp(-131_072.0, 131_072.0).trunc() as i64;
                let mut vector = vectors[place];
                for (component, sum) in vector.iter_mut().zip(sums) {
                    let moved = *component + (sum - rounded(*component)) * step / 64;
                    *component = moved.clamp(-31 * 65_536, 31 * 65_536);
                }
                (vectors[place], vectors[twin]) = (vector, vector);
                (visits[place], visits[twin]) = (visit, visit);
            }
        }
        ratio *= VECTOR_DECAY;
    }
    visits
}

/// What vectors begin with: the sum of two random numbers, drawn for the smaller of two mirrors.
fn first_vectors(seed: u64) -> Vectors {
    let mut vectors = vec![[0; COMPONENTS]; WEIGHT_COUNT];
    let ends = PATTERNS.iter().skip(1).map(|(_, begin, _)| *begin).chain([PARITY, WEIGHT_COUNT]);
    let begins = PATTERNS.iter().map(|(_, begin, _)| *begin).chain([PARITY]);
    for (pattern, (begin, end)) in (0..).zip(begins.zip(ends)) {
        for index in 0..end - begin {
            let mut random = stream(seed, Stream::Vector(0, pattern, index as u32));
            let mut draw = || i64::from(random.below(3 << 16)) + i64::from(random.below(3 << 16)) - (3 << 16);
            vectors[begin + index] = std::array::from_fn(|_| draw());
        }
    }
    vectors
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
    let mut expected = vec![0; WEIGHT_COUNT];
    plain_training(&lessons, 0.003, 20_000, &mut expected);
    let bytes = std::fs::read(workspace.path("eval.dat")).unwrap();
    let weights: Vec<i32> =
        bytes.chunks_exact(4).map(|word| i32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect();
    check(&weights, &expected, "configs/seed.toml");
    assert_eq!(bytes, expected.iter().flat_map(|weight| weight.to_le_bytes()).collect::<Vec<u8>>());
    let moved = expected.iter().filter(|&&weight| weight != 0).count();
    assert!(5_000 < moved, "only {moved} weights moved");
    let bench = workspace.done(&format!("bench train --config {config} --dataset {dataset} --json"));
    let bench: serde_json::Value = serde_json::from_str(&bench).unwrap();
    assert_eq!([&bench["updates"], &bench["stage_rows"]], [lessons.len(); 2], "{bench}");
}

/// Trains in memory on rows in their order, with one epoch of weights and zero weights at the start.
fn library_training(
    workspace: &Workspace,
    lessons: &[Lesson],
    vector_size: u8,
    change: impl Fn(&mut TrainConfig),
) -> Evaluation {
    let mut config = load_config(&workspace.path(&workspace.config("seed", "seed", &[]))).unwrap();
    config.config.train = config.config.train.with(change).unwrap();
    let shape = VectorShape { size: vector_size, ..VectorShape::none() };
    let position = |lesson: &Lesson| Position::new(Player(lesson.player), Opponent(lesson.opponent)).unwrap();
    let rows: Vec<TrainingRow> =
        lessons.iter().map(|lesson| TrainingRow::new(position(lesson), Score(lesson.target))).collect();
    let set = TrainingSet::of_rows(&rows);
    let task = TrainTask {
        config: config.config.train,
        seed: 1,
        generation: 1,
        features: Arc::new((*config.features).clone().with_vectors(shape).unwrap()),
        datasets: Vec::new(),
        parent: None,
        registry: Registry::new(&workspace.path("registry")),
        memory: 0,
    };
    let context = Context { threads: 2, stop: &NEVER, budget_spent: &NEVER, progress: &(), host: &() };
    fit(&task, &set, context).unwrap().0.evaluation
}

fn weights_of(evaluation: &Evaluation) -> Vec<i32> {
    evaluation.weights().iter().map(|&weight| i32::from(weight)).collect()
}

#[test]
fn weights_stop_at_the_bound_where_those_of_the_plain_rule_do() {
    let workspace = Workspace::new();
    let lessons: Vec<Lesson> = rows(&workspace.path(dataset(&workspace))).iter().map(lesson).collect();
    for (ratio, clip) in [(0.003, 20_000), (0.05, 20_000), (0.5, 20_000), (0.01, 300), (1.0, 32_767)] {
        let mut expected = vec![0; WEIGHT_COUNT];
        let clipped = plain_training(&lessons, ratio, clip, &mut expected);
        let trained = library_training(&workspace, &lessons, 0, |train| (train.ratio, train.clip) = (ratio, clip));
        check(&weights_of(&trained), &expected, &format!("ratio {ratio}, clip {clip}"));
        if ratio != 0.003 && ratio != 0.05 {
            assert!(100 < clipped, "ratio {ratio}, clip {clip}: the bound was reached {clipped} times");
            assert!(expected.contains(&clip) && expected.contains(&-clip), "ratio {ratio}, clip {clip}");
        }
    }
}

#[test]
fn weights_and_vectors_are_those_of_the_plain_rules_round_after_round() {
    let workspace = Workspace::new();
    let lessons: Vec<Lesson> = rows(&workspace.path(dataset(&workspace))).iter().map(lesson).collect();
    let change = |train: &mut TrainConfig| train.vectors = VectorSchedule { ratio: 0.02, epochs: 2 };
    let config = load_config(&workspace.path(&workspace.config("plain", "seed", &[]))).unwrap().config.train;
    let train = config.with(change).unwrap();
    let trained = library_training(&workspace, &lessons, COMPONENTS as u8, change);
    let mut weights = vec![0; WEIGHT_COUNT];
    plain_training(&lessons, train.ratio, train.clip, &mut weights);
    let mut vectors = first_vectors(1);
    // A configuration and its mirror share what is drawn for the smaller one.
    let instances = instances();
    for &lesson in &lessons {
        for [place, twin] in places(&instances, lesson) {
            let shared = vectors[place.min(twin)];
            (vectors[place], vectors[twin]) = (shared, shared);
        }
    }
    let visits = plain_vectors(&lessons, &weights, &train, &mut vectors);
    let shipped: Vec<[i64; COMPONENTS]> = vectors
        .iter()
        .zip(&visits)
        .map(|(vector, &visits)| vector.map(|component| if visits == 0 { 0 } else { rounded(component) }))
        .collect();
    let found: Vec<[i64; COMPONENTS]> =
        trained.vectors().as_chunks::<COMPONENTS>().0.iter().map(|vector| vector.map(i64::from)).collect();
    assert_eq!(found.len(), WEIGHT_COUNT);
    assert_eq!(
        found.iter().zip(&shipped).position(|(found, expected)| found != expected),
        None,
        "the first other vector"
    );
    assert!(1_000 < shipped.iter().flatten().filter(|component| 3 < component.abs()).count(), "few moved");
    let fixed: Vectors = shipped.iter().map(|vector| vector.map(|component| component * 65_536)).collect();
    let rest: Vec<Lesson> = lessons
        .iter()
        .map(|&lesson| {
            let pairs = plain_pairs(&fixed, &places(&instances, lesson)).1;
            Lesson { target: lesson.target - pairs as i32, ..lesson }
        })
        .collect();
    plain_training(&rest, train.ratio, train.clip, &mut weights);
    check(&weights_of(&trained), &weights, "weights beside vectors");
}

#[test]
fn the_product_of_the_rule_is_cut_toward_zero_as_integers_would() {
    for error in -200_000..=200_000 {
        assert_eq!((f64::from(error) * 0.003).trunc() as i32, error * 3 / 1000, "{error}");
    }
}
