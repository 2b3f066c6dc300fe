//! Training by the delta rule: weights, visits and errors from the rows of the datasets.

use crate::plain::{Board, Evaluation, Patterns, PerFeature, Purpose, Stream, per_feature, unit_of};
use crate::tables::{Columns, read_json, real, whole};
use crate::workspace::Workspace;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Patterns with and without mirrors and every kind of number, in three phases.
const FEATURES: &str = "name = \"small\"\nphase_empties_max = [60, 44, 19]\n\
    [[pattern]]\nname = \"EDGE\"\nsquares = \"a1 b1 c1 d1 e1 f1 g1 h1\"\n\
    [[pattern]]\nname = \"CORNER\"\nsquares = \"a1 b1 a2 b2 c3\"\n\
    [[pattern]]\nname = \"KNIGHT\"\nsquares = \"a1 b1 c1 d1 b3\"\n\
    [[pattern]]\nname = \"CENTER\"\nsquares = \"d4 e4 d5 e5\"\n\
    [[pattern]]\nname = \"PARITY\"\nkind = \"parity\"\n\
    [[pattern]]\nname = \"MOBILITY_OWN\"\nkind = \"mobility\"\nside = \"own\"\ncap = 8\n\
    [[pattern]]\nname = \"MOBILITY_OPPONENT\"\nkind = \"mobility\"\nside = \"opponent\"\ncap = 31\n\
    [[pattern]]\nname = \"POTENTIAL_OWN\"\nkind = \"potential\"\nside = \"own\"\ncap = 31\n\
    [[pattern]]\nname = \"DISCS_OPPONENT\"\nkind = \"discs\"\nside = \"opponent\"\ncap = 64\n";

#[derive(Clone, Copy)]
struct Lesson {
    board: Board,
    target: i32,
}

/// The rows of some datasets, as a config wants them learnt.
#[derive(Default)]
struct Lessons {
    training: Vec<Lesson>,
    validation: Vec<Lesson>,
    unlabeled: usize,
    duplicates: usize,
}

impl Lessons {
    fn read(folders: &[&Path], seed: u64, config: &Value) -> Self {
        let mut lessons = Self::default();
        for folder in folders {
            let recipe = read_json(&folder.join("manifest.json"))["recipe"].as_str().unwrap().to_owned();
            let rows = Columns::read_parts(&folder.join("positions"));
            for row in 0..rows.count {
                let [black, white] = ["black", "white"].map(|name| rows.bits(name, row));
                let black_to_move = rows.number("black_to_move", row) == 1;
                let board = if black_to_move { Board::new(black, white) } else { Board::new(white, black) };
                let empties = board.empties() as i64;
                if empties < whole(config, "empties_min") || whole(config, "empties_max") < empties {
                    continue;
                }
                let Some(target) = target(config, rows.optional("score", row), rows.optional("result", row)) else {
                    lessons.unlabeled += 1;
                    continue;
                };
                let game = [recipe.as_bytes(), &rows.bits("game_id", row).to_le_bytes()].concat();
                let held_out = unit_of(seed, Purpose::Validation, &game) < real(config, "validation");
                let set = if held_out { &mut lessons.validation } else { &mut lessons.training };
                set.push(Lesson { board, target });
            }
        }
        if 0 < whole(config, "multiplicity_max") {
            let count = lessons.training.len();
            lessons.training = distinct(&lessons.training, whole(config, "multiplicity_max") as usize);
            lessons.duplicates = count - lessons.training.len();
        }
        lessons
    }
}

/// The label in millidiscs; halves go away from zero.
fn target(config: &Value, score: Option<i64>, result: Option<i64>) -> Option<i32> {
    let target = match config["target"].as_str().unwrap() {
        "result" => 1000 * result?,
        "score" => score?,
        _ => {
            let blend = real(config, "blend");
            let exact = blend * (1000 * result?) as f64 + (1.0 - blend) * score? as f64;
            (exact.abs() + 0.5).floor() as i64 * if exact < 0.0 { -1 } else { 1 }
        }
    };
    Some(target as i32)
}

/// A position, up to symmetry, where it first occurs: as often as it occurs, but at most `times_max` times, with the mean
/// of its labels.
fn distinct(lessons: &[Lesson], times_max: usize) -> Vec<Lesson> {
    let mut labels: BTreeMap<Board, Vec<i32>> = BTreeMap::new();
    for lesson in lessons {
        labels.entry(lesson.board.canonical()).or_default().push(lesson.target);
    }
    let mut found = Vec::new();
    for lesson in lessons {
        let Some(labels) = labels.remove(&lesson.board.canonical()) else { continue };
        let mean = labels.iter().map(|&label| f64::from(label)).sum::<f64>() / labels.len() as f64;
        let target = mean.round() as i32;
        found.extend(vec![Lesson { target, ..*lesson }; labels.len().min(times_max)]);
    }
    found
}

/// Weights and visits.
struct Learner {
    evaluation: Evaluation,
    visits: PerFeature<i32>,
    /// Updates that the bound cut short.
    clipped: usize,
}

impl Learner {
    fn zero(patterns: Patterns) -> Self {
        let weights = patterns.zero();
        Self { visits: weights.clone(), evaluation: Evaluation { patterns, weights }, clipped: 0 }
    }

    fn of_version(version: &Path) -> Self {
        let evaluation = Evaluation::read(version);
        Self { visits: per_feature(&evaluation.patterns, version, "visits"), evaluation, clipped: 0 }
    }

    fn run(&mut self, lessons: &[Lesson], seed: u64, config: &Value) {
        let phase_count = self.evaluation.patterns.phase_count();
        let (mut ratio, clip) = (real(config, "ratio"), whole(config, "clip") as i32);
        let mut orders: Vec<Vec<Lesson>> = vec![Vec::new(); phase_count];
        lessons.iter().for_each(|lesson| orders[self.evaluation.patterns.phase(&lesson.board)].push(*lesson));
        for epoch in 0..whole(config, "epochs") as usize {
            for (phase, order) in orders.iter_mut().enumerate() {
                if config["shuffle"] == true {
                    let number = (epoch * phase_count + phase) as u64;
                    Stream::new(seed, Purpose::Shuffle, [number, 0]).shuffle(order);
                }
                for lesson in order.iter() {
                    self.learn(lesson, phase, ratio, clip);
                }
            }
            ratio *= real(config, "ratio_decay");
        }
    }

    fn learn(&mut self, lesson: &Lesson, phase: usize, ratio: f64, clip: i32) {
        let diff = (f64::from(lesson.target - self.evaluation.static_value(&lesson.board)) * ratio).trunc() as i32;
        for (pattern, index) in self.evaluation.patterns.features(&lesson.board) {
            let weight = &mut self.evaluation.weights[phase][pattern][index];
            self.clipped += usize::from(clip < (*weight + diff).abs());
            *weight = (*weight + diff).min(clip).max(-clip);
            self.visits[phase][pattern][index] += 1;
        }
    }
}

/// Compares the reported errors of an evaluation, in discs, with those of its values.
fn check_errors(found: &Value, lessons: &[Lesson], evaluation: &Evaluation) {
    let error = |lesson: &Lesson| f64::from(evaluation.static_value(&lesson.board) - lesson.target) / 1000.0;
    let check = |found: &Value, lessons: &[Lesson]| {
        let count = lessons.len() as f64;
        let mae = lessons.iter().map(|lesson| error(lesson).abs()).sum::<f64>() / count;
        let rmse = (lessons.iter().map(|lesson| error(lesson).powi(2)).sum::<f64>() / count).sqrt();
        for (name, expected) in [("mae", mae), ("rmse", rmse)] {
            assert!((real(found, name) - expected).abs() < 1e-9 * (1.0 + expected), "{name} {expected}: {found}");
        }
    };
    check(found, lessons);
    let mut ranges = found["by_empties"].as_array().unwrap().iter();
    for min in (0..=60).step_by(5) {
        let max = if min == 60 { 60 } else { min + 4 };
        let within = |lesson: &&Lesson| (min..=max).contains(&(lesson.board.empties() as i64));
        let some: Vec<Lesson> = lessons.iter().filter(within).copied().collect();
        if some.is_empty() {
            continue;
        }
        let found = ranges.next().unwrap();
        let expected = [min, max, some.len() as i64];
        assert_eq!(["empties_min", "empties_max", "rows"].map(|name| whole(found, name)), expected, "{found}");
        check(found, &some);
    }
    assert_eq!(ranges.next(), None);
}

/// Where a training is to begin.
struct Begin<'a> {
    features: &'a Path,
    parent: Option<&'a Path>,
}

/// Trains again what a version was trained on, and compares all that it says; gives what it saw.
fn check(version: &Path, folders: &[&Path], seed: u64, begin: &Begin<'_>) -> (Lessons, Learner) {
    let document = read_json(&version.join("model.json"));
    let (config, metrics) = (&document["config"], &document["metrics"]);
    let lessons = Lessons::read(folders, seed, config);
    let inherited = begin.parent.filter(|parent| {
        let text = |path: &Path| toml::from_str::<toml::Value>(&std::fs::read_to_string(path).unwrap()).unwrap();
        let [theirs, ours] = [&parent.join("features.toml"), begin.features].map(text);
        let same = ["pattern", "phase_empties_max"].into_iter().all(|name| theirs[name] == ours[name]);
        config["start"] == "parent" && same
    });
    let mut learner = inherited.map_or_else(|| Learner::zero(Patterns::read(begin.features)), Learner::of_version);
    let held_out = !lessons.validation.is_empty();
    let judged = if held_out { &lessons.validation } else { &lessons.training };
    let before = begin.parent.map(Evaluation::read);
    check_errors(&metrics["before"], judged, before.as_ref().unwrap_or(&learner.evaluation));
    learner.run(&lessons.training, seed, config);
    check_errors(&metrics["after"], judged, &learner.evaluation);
    assert_eq!(metrics["held_out"], held_out);
    let rows = lessons.training.len();
    for (name, expected) in [
        ("rows", rows),
        ("validation_rows", lessons.validation.len()),
        ("unlabeled", lessons.unlabeled),
        ("duplicates", lessons.duplicates),
        ("updates", rows * whole(config, "epochs") as usize),
    ] {
        assert_eq!(metrics[name].as_u64().unwrap_or(0), expected as u64, "{name}: {metrics}");
    }
    let found = Learner::of_version(version);
    assert!(found.evaluation.weights == learner.evaluation.weights, "the weights of {}", version.display());
    assert!(found.visits == learner.visits, "the visits of {}", version.display());
    (lessons, learner)
}

/// The keys of every training here: few rows, so that steps are large.
const KEYS: [(&str, &str); 5] = [
    ("run.seed", "5"),
    ("run.features", "\"features/small.toml\""),
    ("train.epochs", "3"),
    ("train.ratio_decay", "0.7"),
    ("train.validation", "0.25"),
];

/// Two datasets, a fast player's.
fn datasets() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("configs/features/small.toml", FEATURES);
    let changes = [("generate.play_depth", "1"), ("generate.label_depth", "1"), ("generate.exact_empties", "4")];
    let config = workspace.config("selfplay", "smoke", &changes);
    for generation in [1, 2] {
        workspace.done(&format!(
            "generate --config {config} --generation {generation} --model builtin:square-weights --output g{generation}"
        ));
    }
    workspace
}

fn trained(workspace: &Workspace, base: &str, changes: &[(&str, &str)], options: &str) -> String {
    let config = workspace.config("train", base, &[&KEYS, changes].concat());
    let id = workspace.done(&format!("train --config {config} --models registry {options}"));
    format!("registry/{id}")
}

#[test]
fn weights_visits_and_errors_are_those_of_the_rule() {
    let workspace = datasets();
    let [first, second] = ["g1", "g2"].map(|name| workspace.path(name));
    let small = workspace.path("configs/features/small.toml");
    let from_zero = Begin { features: &small, parent: None };
    let changes =
        [("train.target", "\"blend\""), ("train.blend", "0.3"), ("train.ratio", "0.1"), ("train.clip", "2500")];
    let parent = trained(&workspace, "smoke", &changes, "--dataset g1 --dataset g2");
    let parent = workspace.path(&parent);
    let (lessons, learner) = check(&parent, &[&first, &second], 5, &from_zero);
    assert!(1000 < learner.clipped && 1000 < lessons.validation.len(), "{}", learner.clipped);
    let parent_option = "--parent registry/v0001";

    let changes = [
        ("train.target", "\"score\""),
        ("train.shuffle", "true"),
        ("train.start", "\"parent\""),
        ("train.empties_min", "8"),
        ("train.empties_max", "57"),
        ("train.multiplicity_max", "2"),
        ("train.validation", "0.0"),
    ];
    let begin = Begin { features: &small, parent: Some(&parent) };
    let child = trained(&workspace, "seed", &changes, &format!("--dataset g2 {parent_option}"));
    let (lessons, _) = check(&workspace.path(&child), &[&second], 5, &begin);
    assert!(20 < lessons.duplicates, "{}", lessons.duplicates);

    let changes = [("train.target", "\"result\""), ("train.start", "\"zero\""), ("train.shuffle", "false")];
    let stranger = trained(&workspace, "seed", &changes, &format!("--dataset g2 {parent_option}"));
    check(&workspace.path(&stranger), &[&second], 5, &begin);

    let es_cube = workspace.path("configs/features/es-cube.toml");
    let changes = [("run.features", "\"features/es-cube.toml\""), ("train.start", "\"parent\"")];
    let wider = trained(&workspace, "smoke", &changes, &format!("--dataset g1 {parent_option}"));
    check(&workspace.path(&wider), &[&first], 5, &Begin { features: &es_cube, parent: Some(&parent) });
}

#[test]
fn rows_without_the_label_are_left_out() {
    let workspace = datasets();
    workspace.write("book.txt", "f5d6c3d3c4f4f6\nf5f6e6f4e3c5\n");
    workspace.done("dataset import book.txt --format transcripts --output imported");
    let (imported, first) = (workspace.path("imported"), workspace.path("g1"));
    let small = workspace.path("configs/features/small.toml");
    let version = trained(&workspace, "smoke", &[("train.target", "\"blend\"")], "--dataset imported --dataset g1");
    let begin = Begin { features: &small, parent: None };
    let (lessons, _) = check(&workspace.path(&version), &[&imported, &first], 5, &begin);
    assert!(0 < lessons.unlabeled, "{}", lessons.unlabeled);
}
