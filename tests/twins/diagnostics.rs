//! What a training measures on request: trainings on fewer games, labels of solved positions, and what searches change.

use crate::plain::{Evaluation, Purpose, Stream, negamax, solve};
use crate::tables::{read_json, real, whole};
use crate::train::{Begin, FEATURES, Judged, Lessons, check, check_error, datasets, trained, values};
use serde_json::Value;

/// At most `count` of the rows with fewest empty squares first: each later one takes the place of another at random.
fn sample(
    judged: &[Judged],
    (seed, purpose, count): (u64, Purpose, usize),
    meets: impl Fn(&Judged) -> bool,
) -> Vec<&Judged> {
    let mut rows: Vec<&Judged> = judged.iter().filter(|row| meets(row)).collect();
    rows.sort_by_key(|row| row.board.empties().min(60));
    let mut random = Stream::new(seed, purpose, [0, 0]);
    let mut drawn = rows[..count.min(rows.len())].to_vec();
    for (before, row) in rows.iter().enumerate().skip(count) {
        let place = random.below(before + 1);
        if place < count {
            drawn[place] = row;
        }
    }
    drawn
}

fn check_label_noise(metrics: &Value, judged: &[Judged], seed: u64, count: usize) {
    let solved = sample(judged, (seed, Purpose::LabelNoise, count), |row| !row.exact && row.board.empties() <= 16);
    assert_eq!(solved.len(), count, "the sample is not all rows");
    let exact: Vec<f64> = solved.iter().map(|row| f64::from(solve(&row.board, -64, 64))).collect();
    for name in ["target", "score", "result"] {
        let labels = solved.iter().zip(&exact);
        let rows: Vec<_> =
            labels.filter_map(|(row, &exact)| Some((row.board.empties(), row.label(name)?, exact))).collect();
        check_error(&metrics["label_noise"][name], &rows);
    }
}

fn check_consistency(metrics: &Value, judged: &[Judged], evaluation: &Evaluation, (seed, count): (u64, usize)) {
    let rows = sample(judged, (seed, Purpose::Consistency, count), |_| true);
    assert!(rows.len() == count && count < judged.len(), "the sample is not all rows");
    let found = metrics["consistency"].as_array().unwrap();
    assert_eq!(found.iter().map(|found| whole(found, "depth")).collect::<Vec<_>>(), [1, 2, 4]);
    for found in found {
        for (parity, name) in ["even", "odd"].into_iter().enumerate() {
            let rows = rows.iter().filter(|row| row.board.empties() % 2 == parity);
            let values: Vec<_> = rows
                .map(|row| {
                    let value = |depth| negamax(&|board| evaluation.static_value(board), &row.board, depth);
                    let static_value = evaluation.static_value(&row.board).clamp(-64_000, 64_000);
                    let [searched, static_value] = [value(whole(found, "depth")), static_value].map(f64::from);
                    (row.board.empties(), searched / 1000.0, static_value / 1000.0)
                })
                .collect();
            assert!(!values.is_empty(), "no {name} rows");
            check_error(&found[name], &values);
        }
    }
}

fn check_learning_curve(metrics: &Value, lessons: &Lessons, seed: u64, begin: &Begin<'_>, config: &Value) {
    let points = metrics["learning_curve"].as_array().unwrap();
    assert_eq!(points.iter().map(|point| real(point, "share")).collect::<Vec<_>>(), [0.03, 0.1, 0.3]);
    for point in points {
        let rows: Vec<_> =
            lessons.training.iter().filter(|lesson| lesson.drawn < real(point, "share")).copied().collect();
        assert!(!rows.is_empty() && rows.len() < lessons.training.len() / 2, "{point}");
        assert_eq!(whole(point, "rows"), rows.len() as i64, "{point}");
        let mut learner = begin.learner(config);
        learner.run(&rows, seed, config);
        for name in ["target", "score", "result", "exact"] {
            check_error(&point[name], &values(&lessons.judged, &learner.evaluation, name));
        }
    }
}

#[test]
fn labels_and_values_are_compared_with_solved_and_searched_positions() {
    let workspace = datasets();
    let small = workspace.path("configs/features/small.toml");
    // A plain solver needs long for more empty squares.
    let changes = [
        ("train.target", "\"td\""),
        ("train.lambda", "[[60, 0.7]]"),
        ("train.empties_max", "10"),
        ("train.label_noise", "40"),
        ("train.consistency", "30"),
    ];
    let version = workspace.path(&trained(&workspace, "smoke", &changes, "--dataset g1 --dataset g2"));
    let folders = ["g1", "g2"].map(|name| workspace.path(name));
    let begin = Begin { features: &small, parent: None };
    let (lessons, learner) = check(&version, &[&folders[0], &folders[1]], 5, &begin);
    let metrics = &read_json(&version.join("model.json"))["metrics"];
    check_label_noise(metrics, &lessons.judged, 5, 40);
    check_consistency(metrics, &lessons.judged, &learner.evaluation, (5, 30));
    assert_eq!(metrics.get("learning_curve"), None);
}

#[test]
fn a_learning_curve_has_the_errors_of_trainings_on_fewer_games() {
    let workspace = datasets();
    let many = FEATURES.replace("[60, 44, 19]", "[60, 52, 44, 36, 30, 24, 12]");
    workspace.write("configs/features/many.toml", many);
    let [small, many] = ["small", "many"].map(|name| workspace.path(&format!("configs/features/{name}.toml")));
    let parent = workspace.path(&trained(&workspace, "smoke", &[], "--dataset g1"));
    check(&parent, &[&workspace.path("g1")], 5, &Begin { features: &small, parent: None });
    let changes = [
        ("run.features", "\"features/many.toml\""),
        ("train.overlap", "2"),
        ("train.wide_overlap", "5"),
        ("train.fraction_bits", "8"),
        ("train.learning_curve", "true"),
        ("train.consistency", "12"),
    ];
    let child = trained(&workspace, "smoke", &changes, "--dataset g1 --dataset g2 --parent registry/v0001");
    let child = workspace.path(&child);
    let folders = ["g1", "g2"].map(|name| workspace.path(name));
    let begin = Begin { features: &many, parent: Some(&parent) };
    let (lessons, learner) = check(&child, &[&folders[0], &folders[1]], 5, &begin);
    let document = read_json(&child.join("model.json"));
    check_learning_curve(&document["metrics"], &lessons, 5, &begin, &document["config"]);
    check_consistency(&document["metrics"], &lessons.judged, &learner.evaluation, (5, 12));
    assert_eq!(document["metrics"].get("label_noise"), None);
}
