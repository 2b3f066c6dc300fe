//! Training by the delta rule: weights, visits and errors from the rows of the datasets.

use crate::support::plain::{
    Board, Evaluation, Patterns, PerFeature, Purpose, Stream, per_feature, unit_of, vectors,
};
use crate::support::tables::{Columns, read_json, real, whole};
use crate::support::workspace::{Workspace, check_same};
use renma::pipeline::train::task::{Error, RangeError};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Patterns with and without mirrors and every kind of number, in three phases.
pub(crate) const FEATURES: &str = "name = \"small\"\nphase_empties_max = [60, 44, 19]\n\
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
pub(crate) struct Lesson {
    board: Board,
    target: i32,
    /// In 256ths.
    weight: i32,
}

/// A held-out position with the labels that it has.
#[derive(Clone, Copy)]
pub(crate) struct Judged {
    pub(crate) board: Board,
    pub(crate) target: i32,
    score: Option<i64>,
    result: Option<i64>,
    pub(crate) exact: bool,
}

impl Judged {
    /// A label in discs, if the row has it.
    pub(crate) fn label(&self, name: &str) -> Option<f64> {
        match name {
            "target" => Some(f64::from(self.target) / 1000.0),
            "result" => self.result.map(|result| result as f64),
            "exact" if !self.exact => None,
            _ => self.score.map(|score| score as f64 / 1000.0),
        }
    }
}

/// The rows of some datasets, as a config wants them learned.
#[derive(Default)]
pub(crate) struct Lessons {
    pub(crate) training: Vec<Lesson>,
    pub(crate) judged: Vec<Judged>,
    held_out: bool,
    unlabeled: usize,
}

impl Lessons {
    fn read(folders: &[&Path], seed: u64, config: &Value) -> Self {
        let mut lessons = Self::default();
        let mut training = Vec::new();
        for folder in folders {
            let rows = Columns::read_parts(&folder.join("positions"));
            for row in 0..rows.count {
                let board = board(&rows, row);
                let empties = board.empties() as i64;
                if empties < whole(config, "empties_min") || whole(config, "empties_max") < empties
                {
                    continue;
                }
                let (score, result) = (rows.optional("score", row), rows.optional("result", row));
                let target = match config["target"].as_str().unwrap() {
                    "result" => result.map(|result| 1000 * result as i32),
                    "score" => score.map(|score| score as i32),
                    _ => lambda_return(config, &rows, row)
                        .map(|value| {
                            if rows.optional("exact", row) == Some(1) {
                                value
                            } else {
                                value + tempo(config)
                            }
                        })
                        .map(|value| {
                            (value.abs() + 0.5).floor() as i32 * if value < 0.0 { -1 } else { 1 }
                        }),
                };
                let Some(target) = target else {
                    lessons.unlabeled += 1;
                    continue;
                };
                let game = game_name(&rows, row);
                let exact = rows.optional("exact", row) == Some(1);
                let judged = Judged {
                    board,
                    target,
                    score,
                    result,
                    exact,
                };
                if unit_of(seed, Purpose::Validation, &game) < real(config, "validation") {
                    lessons.judged.push(judged);
                } else {
                    training.push(judged);
                }
            }
        }
        lessons.held_out = !lessons.judged.is_empty();
        if !lessons.held_out {
            let without_labels = |row: &Judged| Judged {
                score: None,
                result: None,
                exact: false,
                ..*row
            };
            lessons.judged = training.iter().map(without_labels).collect();
        }
        let lesson = |&Judged { board, target, .. }: &Judged| Lesson {
            board,
            target,
            weight: weight(config, target),
        };
        lessons.training = training.iter().map(lesson).collect();
        lessons
    }
}

/// The name of the game of a row: its last position, as the least of its images.
fn game_name(rows: &Columns, row: usize) -> Vec<u8> {
    let is_of_game = |other: &usize| rows.bits("game_id", *other) == rows.bits("game_id", row);
    let last = (row..rows.count).take_while(is_of_game).last().unwrap();
    let last = board(rows, last);
    last.images()
        .map(|image| image.bits())
        .min()
        .unwrap()
        .map(u64::to_le_bytes)
        .concat()
}

fn board(rows: &Columns, row: usize) -> Board {
    let [black, white] = ["black", "white"].map(|name| rows.bits(name, row));
    if rows.number("black_to_move", row) == 1 {
        Board::new(black, white)
    } else {
        Board::new(white, black)
    }
}

/// The λ-return of a row, by its definition: recursive, without rounding.
fn lambda_return(config: &Value, rows: &Columns, row: usize) -> Option<f64> {
    let score = rows.optional("score", row)? as f64;
    let is_set = |name: &str| rows.optional(name, row) == Some(1);
    if is_set("exact") || is_set("random_move") {
        return Some(score);
    }
    let steps = config["lambda"].as_array().unwrap();
    let empties = rows.number("empties", row);
    let step = steps
        .iter()
        .rev()
        .find(|step| empties <= step[0].as_i64().unwrap())
        .unwrap()
        .as_array()
        .unwrap();
    let parity = empties as usize % 2;
    let lambda = step[if step.len() == 3 { 1 + parity } else { 1 }]
        .as_f64()
        .unwrap();
    let is_last =
        row + 1 == rows.count || rows.bits("game_id", row + 1) != rows.bits("game_id", row);
    if is_last {
        return Some(rows.optional("result", row).map_or(score, |result| {
            (1.0 - lambda) * score + lambda * 1000.0 * result as f64
        }));
    }
    let after = board(rows, row).play(rows.optional("played_move", row)? as usize);
    let next = board(rows, row + 1);
    let same_side = rows.number("black_to_move", row) == rows.number("black_to_move", row + 1);
    let follows = if same_side {
        after.moves().is_empty() && after.pass() == next
    } else {
        after == next
    };
    let future = if follows {
        lambda_return(config, rows, row + 1)
    } else {
        None
    };
    let sign = if same_side { 1.0 } else { -1.0 };
    Some(future.map_or(score, |future| {
        (1.0 - lambda) * score + lambda * (sign * future)
    }))
}

/// What is added to a return that is not exact.
fn tempo(config: &Value) -> f64 {
    config
        .get("tempo")
        .map_or(0.0, |tempo| 1000.0 * tempo.as_f64().unwrap())
}

/// How much a row counts, in 256ths.
fn weight(config: &Value, target: i32) -> i32 {
    let scale = real(config, "weight_scale");
    if scale == 0.0 {
        return 256;
    }
    let share = f64::from(target) / 1000.0 / scale;
    ((256.0 / (1.0 + share * share)).round() as i32).max(1)
}

/// Weights and visits, and weights in units while they are learned.
pub(crate) struct Learner {
    pub(crate) evaluation: Evaluation,
    visits: PerFeature<i32>,
    /// Updates that the bound cut short.
    clipped: usize,
    /// Rows learned, each as often as it was visited.
    updates: usize,
    /// Of each epoch of the phases, the sum of the errors before each update, in units, and their
    /// number.
    losses: Vec<(i64, usize)>,
}

impl Learner {
    fn zero(patterns: Patterns) -> Self {
        let weights = patterns.zero();
        Self::new(weights.clone(), Evaluation { patterns, weights })
    }

    fn of_version(version: &Path) -> Self {
        let evaluation = Evaluation::read(version);
        Self::new(
            per_feature(&evaluation.patterns, version, "visits"),
            evaluation,
        )
    }

    const fn new(visits: PerFeature<i32>, evaluation: Evaluation) -> Self {
        Self {
            evaluation,
            visits,
            clipped: 0,
            updates: 0,
            losses: Vec::new(),
        }
    }

    /// The phases that a feature file asks for, each with the weights of this model at the middle
    /// of its range.
    fn in_phases_of(self, features: &Path) -> Self {
        let patterns = Patterns::read(features);
        let theirs = |phase: usize| {
            let [fewest, most] = patterns.range(phase);
            self.evaluation.patterns.phase_of((fewest + most) / 2)
        };
        let phases: Vec<usize> = (0..patterns.phase_count()).map(theirs).collect();
        let pick =
            |values: &PerFeature<i32>| phases.iter().map(|&phase| values[phase].clone()).collect();
        let (weights, visits) = (pick(&self.evaluation.weights), pick(&self.visits));
        Self {
            evaluation: Evaluation { patterns, weights },
            visits,
            ..self
        }
    }

    pub(crate) fn run(&mut self, lessons: &[Lesson], seed: u64, config: &Value) {
        let phase_count = self.evaluation.patterns.phase_count();
        let [overlap, wide_overlap] =
            ["overlap", "wide_overlap"].map(|name| whole(config, name) as usize);
        let unit = 1 << whole(config, "fraction_bits");
        self.evaluation
            .weights
            .iter_mut()
            .flatten()
            .flatten()
            .for_each(|weight| *weight *= unit);
        let mut part = 0;
        if 1 < phase_count && 0 < wide_overlap {
            for begin in (0..phase_count).step_by(5) {
                let end = phase_count.min(begin + 5);
                let middle = begin + (end - begin) / 2;
                let visits = self.visits.clone();
                self.learn_part(lessons, (seed, part), middle, wide_overlap, config);
                self.visits = visits;
                let weights = self.evaluation.weights[middle].clone();
                (begin..end).for_each(|phase| self.evaluation.weights[phase].clone_from(&weights));
                part += 1;
            }
        }
        self.losses.clear();
        for phase in 0..phase_count {
            self.learn_part(lessons, (seed, part), phase, overlap, config);
            part += 1;
        }
        let quantum = config
            .get("quantum")
            .map_or(1, |_| whole(config, "quantum") as i32);
        let round = |weight: &mut i32| {
            *weight = (f64::from(*weight) / f64::from(unit * quantum)).round() as i32 * quantum;
        };
        self.evaluation
            .weights
            .iter_mut()
            .flatten()
            .flatten()
            .for_each(round);
    }

    fn learn_part(
        &mut self,
        lessons: &[Lesson],
        (seed, part): (u64, u64),
        phase: usize,
        widened: usize,
        config: &Value,
    ) {
        let [fewest, most] = self.evaluation.patterns.range(phase);
        let within = |lesson: &&Lesson| {
            (fewest.saturating_sub(widened)..=most + widened)
                .contains(&lesson.board.empties().min(60))
        };
        let rows: Vec<Lesson> = lessons.iter().filter(within).copied().collect();
        assert!(lessons.len() < 1 << 16, "this twin knows one block");
        let mut ratio = real(config, "ratio");
        for epoch in 0..whole(config, "epochs") as u64 {
            let mut order = rows.clone();
            if config["shuffle"] == true {
                order.sort_by_key(|lesson| lesson.board.empties().min(60));
                Stream::new(seed, Purpose::Shuffle, [part << 32 | epoch, 1]).shuffle(&mut order);
            }
            let error: i64 = order
                .iter()
                .map(|lesson| self.learn(lesson, phase, ratio, config))
                .sum();
            self.updates += order.len();
            self.losses
                .resize(self.losses.len().max(epoch as usize + 1), (0, 0));
            let (errors, count) = &mut self.losses[epoch as usize];
            (*errors, *count) = (*errors + error, *count + order.len());
            ratio *= real(config, "ratio_decay");
        }
    }

    /// Learns a row; its error.
    fn learn(&mut self, lesson: &Lesson, phase: usize, ratio: f64, config: &Value) -> i64 {
        let unit = 1 << whole(config, "fraction_bits");
        let clip = whole(config, "clip") * unit;
        let features = self.evaluation.patterns.features(&lesson.board);
        let weights = &mut self.evaluation.weights[phase];
        let value: i64 = features
            .iter()
            .map(|&(pattern, index)| i64::from(weights[pattern][index]))
            .sum();
        let error = i64::from(lesson.target) * unit - value;
        let ratio = ratio * f64::from(lesson.weight) / 256.0;
        let update = (error as f64 * ratio).trunc() as i64;
        for (pattern, index) in features {
            let weight = &mut weights[pattern][index];
            self.clipped += usize::from(clip < (i64::from(*weight) + update).abs());
            *weight = (i64::from(*weight) + update).min(clip).max(-clip) as i32;
            self.visits[phase][pattern][index] += 1;
        }
        error.abs()
    }
}

/// Components of a vector, in its unit or while it is learned in 65,536ths.
type Vector = [i64; 3];

fn rounded(vector: Vector) -> Vector {
    vector.map(|component| (component + 32_768).div_euclid(65_536))
}

/// Whether the products of each component are added or subtracted.
const SIGNS: Vector = [1, 1, -1];

/// The sum of the vectors of a position, and the products of their pairs in millidiscs.
fn pairs(vectors: &[Vector]) -> (Vector, i64) {
    let product = |left: &Vector, right: &Vector| {
        left.iter()
            .zip(right)
            .zip(SIGNS)
            .map(|((left, right), sign)| sign * left * right)
            .sum::<i64>()
    };
    let sums = std::array::from_fn(|place| vectors.iter().map(|vector| vector[place]).sum());
    let (mut square, mut quarters) = (0, 0);
    for (number, left) in vectors.iter().enumerate() {
        square += product(left, left)
            + 2 * vectors[..number]
                .iter()
                .map(|right| product(left, right))
                .sum::<i64>();
        quarters += product(left, left).div_euclid(4);
    }
    (sums, square.div_euclid(4) - quarters)
}

/// What a vector begins with: sums of two random numbers.
fn first_vector(seed: u64, pattern: usize, index: usize) -> Vector {
    let mut random = Stream::new(seed, Purpose::Vector, [pattern as u64, index as u64]);
    std::array::from_fn(|_| (random.below(3 << 16) + random.below(3 << 16)) as i64 - (3 << 16))
}

/// 1/√n, from 1,024 on that of n without its last binary digits.
fn inverse_root(mut count: u32) -> f64 {
    let mut scale = 1.0;
    while 1024 <= count {
        (count, scale) = (count / 16, scale / 4.0);
    }
    1.0 / f64::from(count).sqrt() * scale
}

/// The vectors that are learned beside weights which stay, all phases of which share them.
fn learned_vectors(
    lessons: &[Lesson],
    evaluation: &Evaluation,
    seed: u64,
    config: &Value,
) -> BTreeMap<(usize, usize), Vector> {
    let mut learned: BTreeMap<(usize, usize), (Vector, u32)> = BTreeMap::new();
    let mut ratio = real(config, "vector_ratio");
    for _ in 0..whole(config, "vector_epochs") {
        for lesson in lessons {
            let features = evaluation.patterns.features(&lesson.board);
            let now = |&(pattern, index): &(usize, usize)| {
                let (vector, _) = learned
                    .entry((pattern, index))
                    .or_insert_with(|| (first_vector(seed, pattern, index), 0));
                rounded(*vector)
            };
            let (sums, products) = pairs(&features.iter().map(now).collect::<Vec<Vector>>());
            let value = i64::from(evaluation.static_value(&lesson.board)) + products;
            let error = (i64::from(lesson.target) - value) as f64;
            // A component is in 65,536ths and an error in thousandths; six more binary digits are
            // cut off at the end.
            let step =
                error * (ratio * f64::from(lesson.weight) / 256.0 * (65_536.0 * 64.0 / 1000.0));
            // A feature that comes twice moves twice.
            for feature in features {
                let (vector, visits) = learned.get_mut(&feature).unwrap();
                *visits += 1;
                let step = (step * inverse_root(*visits))
                    .clamp(-131_072.0, 131_072.0)
                    .trunc() as i64;
                let now = rounded(*vector);
                *vector = std::array::from_fn(|place| {
                    let pull = SIGNS[place] * (sums[place] - now[place]);
                    let moved = vector[place] + pull * step / 64;
                    moved.clamp(-31 * 65_536, 31 * 65_536)
                });
            }
        }
        ratio *= 0.5;
    }
    learned
        .into_iter()
        .map(|(feature, (vector, _))| (feature, rounded(vector)))
        .collect()
}

/// Compares a reported error, in discs, with that of pairs of value and label, each with its number
/// of empty squares.
pub(crate) fn check_error(found: &Value, rows: &[(usize, f64, f64)]) {
    let count = rows.len() as f64;
    let mean = |of: &dyn Fn(f64, f64) -> f64| {
        rows.iter()
            .map(|&(_, value, label)| of(value, label))
            .sum::<f64>()
            / count
    };
    assert_eq!(whole(found, "rows"), rows.len() as i64, "{found}");
    if rows.is_empty() {
        return;
    }
    let [value_mean, label_mean] = [mean(&|value, _| value), mean(&|_, label| label)];
    let variance = mean(&|value, _| (value - value_mean).powi(2));
    let slope = mean(&|value, label| (value - value_mean) * (label - label_mean)) / variance;
    for (name, expected) in [
        ("mae", mean(&|value, label| (value - label).abs())),
        ("rmse", mean(&|value, label| (value - label).powi(2)).sqrt()),
        ("bias", mean(&|value, label| value - label)),
        ("slope", slope),
    ] {
        if name == "slope" && variance < 1e-9 {
            continue;
        }
        assert!(
            (real(found, name) - expected).abs() < 1e-7 * (1.0 + expected.abs()),
            "{name} {expected}: {found}"
        );
    }
}

/// Compares reported errors as [`check_error`] does, also by empty squares and by the size of the
/// label.
fn check_errors(found: &Value, rows: &[(usize, f64, f64)]) {
    check_error(found, rows);
    let slope = found.get("slope").and_then(Value::as_f64);
    for (name, class_of) in [
        (
            "by_empties",
            &(|row: &(usize, f64, f64)| row.0 as i64) as &dyn Fn(&(usize, f64, f64)) -> i64,
        ),
        ("by_score", &|row| {
            [8.0, 20.0, 40.0, 64.0]
                .iter()
                .position(|&most| row.2.abs() <= most)
                .unwrap() as i64
        }),
    ] {
        let mut classes: BTreeMap<i64, Vec<(usize, f64, f64)>> = BTreeMap::new();
        rows.iter()
            .for_each(|row| classes.entry(class_of(row)).or_default().push(*row));
        let found = found[name].as_array().unwrap();
        assert_eq!(found.len(), classes.len(), "{name}");
        for (found, (class, rows)) in found.iter().zip(&classes) {
            let range = ["min", "max"].map(|name| whole(found, name));
            let expected = if name == "by_empties" {
                [*class; 2]
            } else {
                [[0, 8], [8, 20], [20, 40], [40, 64]][*class as usize]
            };
            assert_eq!(range, expected, "{found}");
            check_error(found, rows);
        }
        let ranges: Vec<RangeError> = serde_json::from_value(Value::Array(found.clone())).unwrap();
        let joined = Error::joined(ranges.iter().map(|range| &range.error));
        assert_eq!(joined.is_none(), rows.is_empty(), "{name}");
        if let Some(joined) = joined {
            // Slopes cannot be joined.
            check_error(
                &serde_json::to_value(Error { slope, ..joined }).unwrap(),
                rows,
            );
        }
    }
}

/// The value of each judged row beside one of its labels, in discs, where it has that label.
pub(crate) fn values(
    rows: &[Judged],
    evaluation: &Evaluation,
    label: &str,
) -> Vec<(usize, f64, f64)> {
    let value = |row: &Judged| f64::from(evaluation.static_value(&row.board)) / 1000.0;
    rows.iter()
        .filter_map(|row| Some((row.board.empties(), value(row), row.label(label)?)))
        .collect()
}

/// Where a training is to begin.
pub(crate) struct Begin<'a> {
    pub(crate) features: &'a Path,
    pub(crate) parent: Option<&'a Path>,
}

impl Begin<'_> {
    /// The weights and visits with which a config's training begins.
    pub(crate) fn learner(&self, config: &Value) -> Learner {
        let inherited = self.parent.filter(|parent| {
            let text = |path: &Path| {
                toml::from_str::<toml::Value>(&std::fs::read_to_string(path).unwrap()).unwrap()
            };
            let [theirs, ours] = [&parent.join("features.toml"), self.features].map(text);
            config["start"] == "parent" && theirs["pattern"] == ours["pattern"]
        });
        match inherited {
            Some(parent) => Learner::of_version(parent).in_phases_of(self.features),
            None => Learner::zero(Patterns::read(self.features)),
        }
    }
}

/// Trains again what a version was trained on, and compares all that it says; gives what it saw.
pub(crate) fn check(
    version: &Path,
    folders: &[&Path],
    seed: u64,
    begin: &Begin<'_>,
) -> (Lessons, Learner) {
    let document = read_json(&version.join("model.json"));
    let (config, metrics) = (&document["config"], &document["metrics"]);
    let lessons = Lessons::read(folders, seed, config);
    let mut learner = begin.learner(config);
    let before = begin.parent.map(Evaluation::read);
    let before = values(
        &lessons.judged,
        before.as_ref().unwrap_or(&learner.evaluation),
        "target",
    );
    check_errors(&metrics["before"], &before);
    learner.run(&lessons.training, seed, config);
    check_errors(
        &metrics["after"],
        &values(&lessons.judged, &learner.evaluation, "target"),
    );
    for name in ["score", "result", "exact"] {
        check_errors(
            &metrics["labels"][name],
            &values(&lessons.judged, &learner.evaluation, name),
        );
    }
    check_coverage(&metrics["coverage"], &lessons.judged, &learner);
    assert_eq!(metrics["held_out"], lessons.held_out);
    let rows = lessons.training.len();
    for (name, expected) in [
        ("rows", rows),
        ("updates", learner.updates),
        (
            "validation_rows",
            if lessons.held_out {
                lessons.judged.len()
            } else {
                0
            },
        ),
        ("unlabeled", lessons.unlabeled),
    ] {
        assert_eq!(
            metrics[name].as_u64().unwrap_or(0),
            expected as u64,
            "{name}: {metrics}"
        );
    }
    let epochs = metrics["epochs"].as_array().unwrap();
    assert_eq!(epochs.len(), learner.losses.len());
    for (epoch, &(errors, count)) in epochs.iter().zip(&learner.losses) {
        let unit = f64::from(1000 << whole(config, "fraction_bits"));
        assert!(
            (real(epoch, "mae") - errors as f64 / unit / count as f64).abs() < 1e-9,
            "{epoch}: {errors} {count}"
        );
    }
    let found = Learner::of_version(version);
    assert!(
        found.evaluation.weights == learner.evaluation.weights,
        "the weights of {}",
        version.display()
    );
    assert!(
        found.visits == learner.visits,
        "the visits of {}",
        version.display()
    );
    (lessons, learner)
}

fn check_coverage(found: &Value, judged: &[Judged], learner: &Learner) {
    let (mut seen, mut all) = (0, 0);
    for row in judged {
        let phase = learner.evaluation.patterns.phase(&row.board);
        for (pattern, index) in learner.evaluation.patterns.features(&row.board) {
            seen += u64::from(0 < learner.visits[phase][pattern][index]);
            all += 1;
        }
    }
    assert!(
        (real(found, "seen") - seen as f64 / all as f64).abs() < 1e-12,
        "{found} {seen} {all}"
    );
    let visited = learner
        .visits
        .iter()
        .flatten()
        .flatten()
        .filter(|&&visits| 0 < visits)
        .count() as i64;
    assert_eq!(
        whole(found, "weights") - whole(found, "unvisited"),
        visited,
        "{found}"
    );
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
pub(crate) fn datasets() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("configs/features/small.toml", FEATURES);
    let changes = [
        ("generate.play_depth", "1"),
        ("generate.label_depth", "1"),
        ("generate.exact_empties", "4"),
    ];
    let config = workspace.config("selfplay", "smoke", &changes);
    for generation in [1, 2] {
        workspace.done(&format!(
            "generate --config {config} --generation {generation} --model builtin:square-weights --output g{generation}"
        ));
    }
    workspace
}

pub(crate) fn trained(
    workspace: &Workspace,
    base: &str,
    changes: &[(&str, &str)],
    options: &str,
) -> String {
    let config = workspace.config("train", base, &[&KEYS, changes].concat());
    let id = workspace.done(&format!(
        "train --config {config} --models registry {options}"
    ));
    format!("registry/{id}")
}

#[test]
fn weights_visits_and_errors_are_those_of_the_rule() {
    let workspace = datasets();
    let [first, second] = ["g1", "g2"].map(|name| workspace.path(name));
    let small = workspace.path("configs/features/small.toml");
    let from_zero = Begin {
        features: &small,
        parent: None,
    };
    let changes = [
        ("train.target", "\"td\""),
        ("train.lambda", "[[60, 0.3], [30, 0.8, 0.4]]"),
        ("train.tempo", "0.75"),
        ("train.ratio", "0.1"),
        ("train.clip", "2500"),
        ("train.weight_scale", "0.0"),
    ];
    let parent = trained(&workspace, "smoke", &changes, "--dataset g1 --dataset g2");
    let parent = workspace.path(&parent);
    let (lessons, learner) = check(&parent, &[&first, &second], 5, &from_zero);
    assert!(
        1000 < learner.clipped && 1000 < lessons.judged.len(),
        "{}",
        learner.clipped
    );
    let parent_option = "--parent registry/v0001";

    let changes = [
        ("train.target", "\"score\""),
        ("train.shuffle", "true"),
        ("train.start", "\"parent\""),
        ("train.empties_min", "8"),
        ("train.empties_max", "57"),
        ("train.validation", "0.0"),
        ("train.fraction_bits", "5"),
        ("train.quantum", "20"),
        ("train.weight_scale", "11.0"),
    ];
    let begin = Begin {
        features: &small,
        parent: Some(&parent),
    };
    let child = trained(
        &workspace,
        "seed",
        &changes,
        &format!("--dataset g2 {parent_option}"),
    );
    check(&workspace.path(&child), &[&second], 5, &begin);

    // To the largest weights that there are.
    let changes = [
        ("train.target", "\"result\""),
        ("train.start", "\"zero\""),
        ("train.shuffle", "false"),
        ("train.ratio", "1.0"),
        ("train.clip", "32767"),
    ];
    let stranger = trained(
        &workspace,
        "seed",
        &changes,
        &format!("--dataset g2 {parent_option}"),
    );
    let (_, learner) = check(&workspace.path(&stranger), &[&second], 5, &begin);
    let weights = || learner.evaluation.weights.iter().flatten().flatten();
    assert!(
        100 < learner.clipped && weights().any(|&weight| weight == 32_767),
        "{}",
        learner.clipped
    );
    assert!(weights().any(|&weight| weight == -32_767));

    let es_cube = workspace.path("configs/features/es-cube.toml");
    let changes = [
        ("run.features", "\"features/es-cube.toml\""),
        ("train.start", "\"parent\""),
    ];
    let wider = trained(
        &workspace,
        "smoke",
        &changes,
        &format!("--dataset g1 {parent_option}"),
    );
    check(
        &workspace.path(&wider),
        &[&first],
        5,
        &Begin {
            features: &es_cube,
            parent: Some(&parent),
        },
    );
}

/// `configs/seed.toml`: each row once and in order, on the patterns of the source.
#[test]
fn the_rule_of_the_source_gives_the_weights_of_the_seed_config() {
    let workspace = datasets();
    let config = workspace.config("source", "seed", &[]);
    let train = format!("--config {config} --dataset g1");
    let id = workspace.done(&format!("train {train} --models registry"));
    let es_cube = workspace.path("configs/features/es-cube.toml");
    let begin = Begin {
        features: &es_cube,
        parent: None,
    };
    let version = workspace.path(&format!("registry/{id}"));
    let (lessons, learner) = check(&version, &[&workspace.path("g1")], 1, &begin);
    assert!(
        3_000 <= lessons.training.len(),
        "{} positions",
        lessons.training.len()
    );
    let moved = learner
        .evaluation
        .weights
        .iter()
        .flatten()
        .flatten()
        .filter(|&&weight| weight != 0)
        .count();
    assert!(2_000 < moved, "only {moved} weights moved");
    let bench: Value =
        serde_json::from_str(&workspace.done(&format!("bench train {train} --json"))).unwrap();
    assert_eq!(
        [&bench["updates"], &bench["stage_rows"]],
        [lessons.training.len(); 2],
        "{bench}"
    );
}

/// The source computes in integers.
#[test]
fn the_product_of_the_rule_is_cut_toward_zero_as_integers_would() {
    for error in -200_000..=200_000 {
        assert_eq!(
            (f64::from(error) * 0.003).trunc() as i32,
            error * 3 / 1000,
            "{error}"
        );
    }
}

#[test]
fn vectors_are_learned_beside_weights_and_weights_once_more_beside_vectors() {
    let workspace = datasets();
    let features = FEATURES.replace("[60, 44, 19]", "[60]\nvectors = 3\nnegative = 1");
    workspace.write("configs/features/small.toml", &features);
    let changes = [
        ("train.weight_scale", "20.0"),
        ("train.vector_ratio", "0.02"),
        ("train.vector_epochs", "2"),
    ];
    let version = workspace.path(&trained(&workspace, "seed", &changes, "--dataset g1"));
    let config = &read_json(&version.join("model.json"))["config"];
    let lessons = Lessons::read(&[&workspace.path("g1")], 5, config).training;
    let mut learner = Learner::zero(Patterns::read(&version.join("features.toml")));
    learner.run(&lessons, 5, config);
    let expected = learned_vectors(&lessons, &learner.evaluation, 5, config);
    let moved = expected
        .values()
        .flatten()
        .filter(|component| 3 < component.abs())
        .count();
    assert!(300 < moved, "only {moved} components moved");
    let products = |lesson: &Lesson| {
        let features = learner.evaluation.patterns.features(&lesson.board);
        pairs(
            &features
                .iter()
                .map(|feature| expected[feature])
                .collect::<Vec<Vector>>(),
        )
        .1 as i32
    };
    let rest: Vec<Lesson> = lessons
        .iter()
        .map(|lesson| Lesson {
            target: lesson.target - products(lesson),
            ..*lesson
        })
        .collect();
    learner.run(&rest, 5, config);
    let found = Learner::of_version(&version);
    assert!(
        found.evaluation.weights == learner.evaluation.weights,
        "the weights"
    );
    assert!(found.visits == learner.visits, "the visits");
    let is_zero = |vector: &Vector| vector.iter().all(|&component| component == 0);
    let shown = expected
        .into_iter()
        .filter(|(_, vector)| !is_zero(vector))
        .collect();
    assert!(
        vectors(&learner.evaluation.patterns, &version) == shown,
        "the vectors"
    );
}

#[test]
fn overlapping_phases_begin_from_wide_parts_and_from_a_parent_with_other_phases() {
    let workspace = datasets();
    let small = workspace.path("configs/features/small.toml");
    let parent = workspace.path(&trained(
        &workspace,
        "smoke",
        &[("train.overlap", "3")],
        "--dataset g1",
    ));
    check(
        &parent,
        &[&workspace.path("g1")],
        5,
        &Begin {
            features: &small,
            parent: None,
        },
    );
    let many = FEATURES.replace("[60, 44, 19]", "[60, 52, 44, 36, 30, 24, 12]");
    workspace.write("configs/features/many.toml", &many);
    let features = workspace.path("configs/features/many.toml");
    let changes = [
        ("run.features", "\"features/many.toml\""),
        ("train.start", "\"parent\""),
        ("train.overlap", "2"),
        ("train.wide_overlap", "5"),
        ("train.fraction_bits", "8"),
    ];
    let child = trained(
        &workspace,
        "smoke",
        &changes,
        "--dataset g2 --parent registry/v0001",
    );
    check(
        &workspace.path(&child),
        &[&workspace.path("g2")],
        5,
        &Begin {
            features: &features,
            parent: Some(&parent),
        },
    );
}

#[test]
fn rows_without_the_label_are_left_out() {
    let workspace = datasets();
    workspace.write("book.txt", "f5d6c3d3c4f4f6\nf5f6e6f4e3c5\n");
    workspace.done("dataset import book.txt --format transcripts --output imported");
    let (imported, first) = (workspace.path("imported"), workspace.path("g1"));
    let small = workspace.path("configs/features/small.toml");
    let version = trained(
        &workspace,
        "smoke",
        &[("train.target", "\"td\"")],
        "--dataset imported --dataset g1",
    );
    let begin = Begin {
        features: &small,
        parent: None,
    };
    let (lessons, _) = check(&workspace.path(&version), &[&imported, &first], 5, &begin);
    assert!(0 < lessons.unlabeled, "{}", lessons.unlabeled);
}

#[test]
fn memory_and_threads_do_not_affect_a_model() {
    let workspace = datasets();
    let many = FEATURES.replace("[60, 44, 19]", "[60, 52, 44, 36, 30, 24, 12]");
    workspace.write("configs/features/small.toml", many);
    let changes = [
        ("train.overlap", "2"),
        ("train.wide_overlap", "5"),
        ("train.fraction_bits", "8"),
    ];
    let config = workspace.config("train", "smoke", &[&KEYS, changes.as_slice()].concat());
    for (name, options) in [
        ("one", "--threads 1 --memory 1B"),
        ("four", "--threads 4"),
        ("two", "--threads 2 --memory 100KiB"),
    ] {
        workspace.done(&format!(
            "train --config {config} --models {name} --dataset g1 --dataset g2 {options}"
        ));
        check_same(&workspace.path("one"), &workspace.path(name), options);
    }
}
