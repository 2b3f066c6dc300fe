//! How trainings went: loss, learning curve, coverage.

use crate::pipeline::train::task::{Coverage, CurvePoint, Error, TrainMetrics};
use crate::report::chart::{Axis, Mark, Tone};
use crate::report::facts::Made;
use crate::report::figure::{Figure, Sheet};
use crate::report::scale::{around, number};

pub(in crate::report) fn draw(sheet: &mut Sheet<'_>) {
    let Some(training) = sheet.facts.training() else {
        return sheet.absent("There are no figures of a training yet.");
    };
    loss(sheet, training);
    coverage(sheet);
    let Some(first) = training.figures.learning_curve.first() else {
        return sheet
            .absent("The learning curve is left out: train.learning_curve is off, since it takes more trainings.");
    };
    learning_curve(sheet, training, first);
}

fn loss(sheet: &mut Sheet<'_>, training: &Made<TrainMetrics>) {
    let epochs = &training.figures.epochs;
    let points: Vec<[f64; 2]> = (1_u32..).zip(epochs).map(|(epoch, loss)| [f64::from(epoch), loss.mae]).collect();
    let [[_, first], .., [_, last]] = points[..] else {
        return sheet.absent(&format!("Loss is left out: {} was trained for a single epoch.", training.id));
    };
    let [first, last] = [first, last].map(|loss| number(loss, 2));
    let sentence = format!("{} learned from {first} to {last} discs in {} epochs.", training.id, epochs.len());
    let figure = sheet.of_version("Training loss", sentence, training.id);
    let x = Axis::whole("epoch", [1.0, epochs.len() as f64]);
    let y = Axis::real("mean error before each update, discs", around(epochs.iter().map(|loss| loss.mae)));
    let line = Mark::series(Tone::Accent, points, "", |[x, y]| format!("epoch {x}: {} discs", number(y, 3)));
    sheet.chart(&figure, [x, y], &[line]);
}

fn coverage(sheet: &mut Sheet<'_>) {
    let trainings = &sheet.facts.trainings;
    let Some(latest) = trainings.last() else { return };
    let point = |made: &Made<TrainMetrics>| [f64::from(made.generation), 100.0 * made.figures.coverage.seen];
    let points: Vec<[f64; 2]> = trainings.iter().map(point).collect();
    let Coverage { seen, unvisited, weights } = latest.figures.coverage;
    let (seen, [unvisited, weights]) =
        (number(100.0 * seen, 2), [unvisited, weights].map(|count| number(count as f64, 0)));
    let judged = if latest.figures.held_out { "held-out" } else { "training" };
    let figure = Figure {
        title: "Coverage",
        sentence: format!(
            "{}: {seen} % of the lookups in {judged} positions meet a trained weight; {unvisited} of all {weights} weights, those of rare \
             patterns, were never trained.",
            latest.id
        ),
        source: sheet.invocation.model_file("*/model.json"),
        command: sheet.invocation.model_command("list --json"),
    };
    let x = Axis::generations(points[0][0] as u32, latest.generation);
    let range = around(points.iter().map(|point| point[1]));
    let y = Axis::real("lookups that meet a trained weight, %", [range[0].max(0.0), range[1].min(100.0)]);
    let line = Mark::series(Tone::Accent, points, "", |[x, y]| format!("generation {x}: {} %", number(y, 2)));
    sheet.chart(&figure, [x, y], &[line]);
}

fn learning_curve(sheet: &mut Sheet<'_>, training: &Made<TrainMetrics>, first: &CurvePoint) {
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
    let sentence = format!(
        "{} % of the games gave {} discs, all of them {}; the more it still falls, the more games would help.",
        number(100.0 * first.share, 0),
        number(first.target.mae, 2),
        number(figures.after.all.mae, 2)
    );
    let figure = sheet.of_version("Learning curve", sentence, training.id);
    let axes = [Axis::real("games learned, %", [0.0, 100.0]), Axis::real("mean absolute error, discs", around(values))];
    sheet.chart(&figure, axes, &lines.collect::<Vec<_>>());
}
