//! How trainings went: loss, learning curve, coverage.

use crate::pipeline::train::task::{Coverage, Error, TrainMetrics};
use crate::report::chart::{Axis, Mark, Tone};
use crate::report::facts::{Facts, Made};
use crate::report::figure::{Figure, absent};
use crate::report::invocation::Invocation;
use crate::report::markup::Markup;
use crate::report::scale::{around, number};

pub(in crate::report) fn draw(markup: &mut Markup, facts: &Facts, invocation: &Invocation) {
    let Some(training) = facts.training() else {
        return absent(markup, "There are no figures of a training yet.");
    };
    if training.figures.epochs.len() < 2 {
        absent(markup, &format!("Loss is left out: {} was trained for a single epoch.", training.id));
    } else {
        loss(markup, training, invocation);
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
    let [first, last] = [points[0], points[points.len() - 1]].map(|[_, loss]| number(loss, 2));
    let sentence = format!("{} learned from {first} to {last} discs in {} epochs.", training.id, epochs.len());
    let figure = Figure::of_version("Training loss", sentence, training.id, invocation);
    let x = Axis::whole("epoch", [1.0, epochs.len() as f64]);
    let y = Axis::real("mean error before each update, discs", around(epochs.iter().map(|loss| loss.mae)));
    let line = Mark::series(Tone::Accent, points, "", |[x, y]| format!("epoch {x}: {} discs", number(y, 3)));
    figure.chart(markup, [x, y], &[line]);
}

fn coverage(markup: &mut Markup, facts: &Facts, invocation: &Invocation) {
    let Some(latest) = facts.trainings.last() else { return };
    let texts = |made: &Made<TrainMetrics>| {
        let Coverage { seen, unvisited, weights } = made.figures.coverage;
        [number(100.0 * seen, 2), number(unvisited as f64, 0), number(weights as f64, 0)]
    };
    let trainings = facts.trainings.iter();
    let points: Vec<[f64; 2]> =
        trainings.clone().map(|made| [f64::from(made.generation), 100.0 * made.figures.coverage.seen]).collect();
    let tips = trainings.map(|made| {
        let [seen, unvisited, weights] = texts(made);
        format!("{}: {seen} % of the lookups; {unvisited} of {weights} weights never trained", made.id)
    });
    let tips = tips.collect();
    let [seen, unvisited, weights] = texts(latest);
    let judged = if latest.figures.held_out { "held-out" } else { "training" };
    let figure = Figure {
        title: "Coverage",
        sentence: format!(
            "{}: {seen} % of the lookups in {judged} positions meet a trained weight; {unvisited} of all {weights} weights, those of rare \
             patterns, were never trained.",
            latest.id
        ),
        source: invocation.model_file("*/model.json"),
        command: invocation.model_command("list --json"),
    };
    let x = Axis::generations(points[0][0] as u32, latest.generation);
    let range = around(points.iter().map(|point| point[1]));
    let y = Axis::real("lookups that meet a trained weight, %", [range[0].max(0.0), range[1].min(100.0)]);
    figure.chart(markup, [x, y], &[Mark::Line { tone: Tone::Accent, points, name: String::new(), tips }]);
}

fn learning_curve(markup: &mut Markup, training: &Made<TrainMetrics>, invocation: &Invocation) {
    let figures = &training.figures;
    let points = figures.whole_curve().into_iter();
    let shares: Vec<(f64, [Error; 4])> =
        points.map(|point| (100.0 * point.share, [point.target, point.score, point.result, point.exact])).collect();
    let names = [("target", Tone::Ink), ("score", Tone::Muted), ("result", Tone::Muted), ("exact", Tone::Accent)];
    let lines = names.iter().enumerate().map(|(label, &(name, tone))| {
        let known = shares.iter().filter(|(_, errors)| 0 < errors[label].rows);
        Mark::line(tone, known.map(|(share, errors)| [*share, errors[label].mae]).collect(), name)
    });
    let values = shares.iter().flat_map(|(_, errors)| errors).filter(|error| 0 < error.rows).map(|error| error.mae);
    let (first, last) = (&figures.learning_curve[0], figures.after.all.mae);
    let sentence = format!(
        "{} % of the games gave {} discs, all of them {}; the more it still falls, the more games would help.",
        number(100.0 * first.share, 0),
        number(first.target.mae, 2),
        number(last, 2)
    );
    let figure = Figure::of_version("Learning curve", sentence, training.id, invocation);
    let axes = [Axis::real("games learned, %", [0.0, 100.0]), Axis::real("mean absolute error, discs", around(values))];
    figure.chart(markup, axes, &lines.collect::<Vec<_>>());
}
