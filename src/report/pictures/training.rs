//! How trainings went: loss, learning curve, coverage.

use crate::pipeline::train::task::{Error, TrainMetrics};
use crate::report::chart::{Axis, Chart, Mark, NARROW, Tone};
use crate::report::facts::{Facts, Made};
use crate::report::figure::{Figure, absent};
use crate::report::invocation::{Invocation, Print};
use crate::report::markup::Markup;
use crate::report::scale::{around, number};

pub(in crate::report) fn draw(markup: &mut Markup, facts: &Facts, invocation: &Invocation) {
    let Some(training) = facts.training() else {
        return absent(markup, "There are no figures of a training yet.");
    };
    match training.figures.epochs.len() {
        0 => absent(markup, &format!("Loss is left out: {} has no record of its epochs.", training.id)),
        1 => absent(markup, &format!("Loss is left out: {} was trained for a single epoch.", training.id)),
        _ => loss(markup, training, invocation),
    }
    coverage(markup, facts, invocation);
    if training.figures.learning_curve.is_empty() {
        absent(markup, "The learning curve is left out: train.learning_curve is off, since it takes more trainings.");
    } else {
        learning_curve(markup, training, invocation);
    }
}

fn loss(markup: &mut Markup, training: &Made<TrainMetrics>, invocation: &Invocation) {
    let epochs = &training.figures.epochs;
    let points: Vec<[f64; 2]> = (1_u32..).zip(epochs).map(|(epoch, loss)| [f64::from(epoch), loss.mae]).collect();
    let tips = points.iter().map(|&[x, y]| ([x, y], format!("epoch {x}: {} discs", number(y, 3)))).collect();
    let [first, last] = [points[0], points[points.len() - 1]].map(|[_, loss]| number(loss, 2));
    let figure = Figure {
        title: "Training loss",
        sentence: format!("{} learned from {first} to {last} discs in {} epochs.", training.id, epochs.len()),
        source: &invocation.model_file(&format!("{}/model.json", training.id)),
        command: &invocation.model_command(&format!("show {}", training.id), Print::Json),
    };
    let x = Axis::whole("epoch", [1.0, epochs.len() as f64]);
    let y = Axis::real("mean error before each update, discs", around(epochs.iter().map(|loss| loss.mae)));
    let line = Mark::Line { tone: Tone::Accent, points, name: String::new() };
    let marks = vec![line, Mark::Points { tone: Tone::Accent, points: tips }];
    figure.chart(markup, &Chart { summary: figure.sentence.clone(), size: NARROW, x, y, marks });
}

fn coverage(markup: &mut Markup, facts: &Facts, invocation: &Invocation) {
    let known: Vec<_> = facts.trainings.iter().filter_map(|made| Some((made, made.figures.coverage?))).collect();
    let Some((latest, last)) = known.last() else {
        return absent(markup, "Coverage is left out: the trainings of this run did not record it.");
    };
    let points: Vec<[f64; 2]> =
        known.iter().map(|(made, coverage)| [f64::from(made.generation), 100.0 * coverage.seen]).collect();
    let tips = known.iter().zip(&points).map(|((made, coverage), &point)| {
        let (unvisited, weights) = (number(coverage.unvisited as f64, 0), number(coverage.weights as f64, 0));
        (point, format!("{}: {} %; {unvisited} of {weights} weights unvisited", made.id, number(point[1], 2)))
    });
    let (unvisited, weights) = (number(last.unvisited as f64, 0), number(last.weights as f64, 0));
    let seen = number(100.0 * last.seen, 2);
    let figure = Figure {
        title: "Coverage",
        sentence: format!(
            "{} has seen {seen} % of them; {unvisited} of {weights} weights were never visited.",
            latest.id
        ),
        source: &invocation.model_file("*/model.json"),
        command: &invocation.model_command("list", Print::Json),
    };
    let x = Axis::generations(points[0][0] as u32, latest.generation);
    let range = around(points.iter().map(|point| point[1]));
    let y = Axis::real("features seen in training, % of those met", [range[0].max(0.0), range[1].min(100.0)]);
    let tips = Mark::Points { tone: Tone::Accent, points: tips.collect() };
    let marks = vec![Mark::Line { tone: Tone::Accent, points, name: String::new() }, tips];
    figure.chart(markup, &Chart { summary: figure.sentence.clone(), size: NARROW, x, y, marks });
}

fn learning_curve(markup: &mut Markup, training: &Made<TrainMetrics>, invocation: &Invocation) {
    let figures = &training.figures;
    let mut shares: Vec<(f64, [Error; 4])> = figures
        .learning_curve
        .iter()
        .map(|point| (100.0 * point.share, [point.target, point.score, point.result, point.exact]))
        .collect();
    if let Some(labels) = &figures.labels {
        shares.push((100.0, [figures.after.all, labels.score.all, labels.result.all, labels.exact.all]));
    }
    let names = [("target", Tone::Ink), ("score", Tone::Muted), ("result", Tone::Muted), ("exact", Tone::Accent)];
    let lines = names.iter().enumerate().map(|(label, &(name, tone))| {
        let known = shares.iter().filter(|(_, errors)| 0 < errors[label].rows);
        Mark::Line {
            tone,
            points: known.map(|(share, errors)| [*share, errors[label].mae]).collect(),
            name: name.to_owned(),
        }
    });
    let values = shares.iter().flat_map(|(_, errors)| errors).filter(|error| 0 < error.rows).map(|error| error.mae);
    let (first, last) = (&figures.learning_curve[0], figures.after.all.mae);
    let figure = Figure {
        title: "Learning curve",
        sentence: format!(
            "{} % of the games gave {} discs, all of them {}; the more it still falls, the more games would help.",
            number(100.0 * first.share, 0),
            number(first.target.mae, 2),
            number(last, 2)
        ),
        source: &invocation.model_file(&format!("{}/model.json", training.id)),
        command: &invocation.model_command(&format!("show {}", training.id), Print::Text),
    };
    let (x, y) =
        (Axis::real("games learned, %", [0.0, 100.0]), Axis::real("mean absolute error, discs", around(values)));
    figure.chart(markup, &Chart { summary: figure.sentence.clone(), size: NARROW, x, y, marks: lines.collect() });
}
