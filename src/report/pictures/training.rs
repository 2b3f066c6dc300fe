//! How trainings went: loss and coverage.

use crate::generation::Generation;
use crate::pipeline::train::task::{Coverage, TrainMetrics};
use crate::report::chart::{Axis, Mark, Tone};
use crate::report::facts::Made;
use crate::report::figure::{Figure, Sheet};
use crate::report::scale::{around, number};

pub fn draw(sheet: &mut Sheet<'_>) {
    let Some(training) = sheet.facts.training() else {
        return sheet.absent("There are no figures of a training yet.");
    };
    loss(sheet, training);
    coverage(sheet);
}

fn loss(sheet: &mut Sheet<'_>, training: &Made<TrainMetrics>) {
    let epochs = &training.figures.epochs;
    let points: Vec<[f64; 2]> = (1_u32..)
        .zip(epochs)
        .map(|(epoch, loss)| [f64::from(epoch), loss.mae])
        .collect();
    let [[_, first], .., [_, last]] = points[..] else {
        return sheet.absent(&format!(
            "Loss is left out: {} was trained for a single epoch.",
            training.id
        ));
    };
    let [first, last] = [first, last].map(|loss| number(loss, 2));
    let sentence = format!(
        "{} learned from {first} to {last} discs in {} epochs.",
        training.id,
        epochs.len()
    );
    let figure = sheet.of_version("Training loss", sentence, training.id);
    let x = Axis::whole("epoch", [1.0, epochs.len() as f64]);
    let y = Axis::real(
        "mean error before each update, discs",
        around(epochs.iter().map(|loss| loss.mae)),
    );
    let line = Mark::series(Tone::Accent, points, "", |[x, y]| {
        format!("epoch {x}: {} discs", number(y, 3))
    });
    sheet.chart(&figure, [x, y], &[line]);
}

fn coverage(sheet: &mut Sheet<'_>) {
    let trainings = &sheet.facts.trainings;
    let Some(latest) = trainings.last() else {
        return;
    };
    let point = |made: &Made<TrainMetrics>| {
        [
            f64::from(made.generation),
            100.0 * made.figures.coverage.seen,
        ]
    };
    let points: Vec<[f64; 2]> = trainings.iter().map(point).collect();
    let Coverage {
        seen,
        unvisited,
        weights,
    } = latest.figures.coverage;
    let (seen, [unvisited, weights]) = (
        number(100.0 * seen, 2),
        [unvisited, weights].map(|count| number(count as f64, 0)),
    );
    let judged = if latest.figures.held_out {
        "held-out"
    } else {
        "training"
    };
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
    let x = Axis::generations(Generation(points[0][0] as u32), latest.generation);
    let range = around(points.iter().map(|point| point[1]));
    let y = Axis::real(
        "lookups that meet a trained weight, %",
        [range[0].max(0.0), range[1].min(100.0)],
    );
    let line = Mark::series(Tone::Accent, points, "", |[x, y]| {
        format!("generation {x}: {} %", number(y, 2))
    });
    sheet.chart(&figure, [x, y], &[line]);
}
