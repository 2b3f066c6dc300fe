//! How wrong static values are: by generation, and by empty squares.

use crate::artifact::GenerationLine;
use crate::generation::Generation;
use crate::pipeline::train::task::{Errors, TrainMetrics};
use crate::report::chart::{Axis, Mark, Tone};
use crate::report::facts::Made;
use crate::report::figure::{Figure, Sheet};
use crate::report::scale::{around, from_zero, number};

/// The labels of the rows whose errors are exact.
const SOLVED: &str = "the exact scores of positions that self-play solved";

/// How a sentence about exact errors begins.
const ON_YARDSTICK: &str = "On the yardstick, exact scores that no model is trained on, the error";

pub fn draw(sheet: &mut Sheet<'_>) {
    by_generation(sheet);
    let Some(training) = sheet.facts.training() else {
        return sheet
            .absent("There are no errors by empty squares yet: no model of the run has figures of a training.");
    };
    let TrainMetrics {
        after,
        labels,
        held_out,
        ..
    } = &training.figures;
    let rows = if *held_out {
        "Held-out error by empties"
    } else {
        "Error on training rows by empties"
    };
    by_empties(sheet, rows, "what it should predict", training, after);
    by_empties(
        sheet,
        "Exact error by empties",
        SOLVED,
        training,
        &labels.exact,
    );
}

fn by_generation(sheet: &mut Sheet<'_>) {
    let facts = sheet.facts;
    let line = |tone, name: &str, figure: fn(&GenerationLine) -> Option<f64>| {
        let points = facts
            .lines()
            .filter_map(|line| Some([f64::from(line.generation), figure(line)?]))
            .collect();
        Mark::series(tone, points, name, |[x, y]| {
            format!("generation {x}: {name} {} discs", number(y, 2))
        })
    };
    let marks = [
        line(Tone::Muted, "before", |line| line.mae_before),
        line(Tone::Ink, "after", |line| line.mae_after),
        line(Tone::Accent, "exact", |line| line.exact_mae),
    ];
    let values = || {
        facts
            .lines()
            .flat_map(|line| [line.mae_before, line.mae_after, line.exact_mae])
            .flatten()
    };
    if values().next().is_none() {
        return sheet.absent("There are no errors yet: no generation has a candidate.");
    }
    let exact: Vec<f64> = facts.lines().filter_map(|line| line.exact_mae).collect();
    let sentence = match exact[..] {
        [first, .., last] => format!(
            "{ON_YARDSTICK} went from {} to {} discs.",
            number(first, 2),
            number(last, 2)
        ),
        [only] => format!("{ON_YARDSTICK} is {} discs.", number(only, 2)),
        [] => "On held-out games before and after each training.".to_owned(),
    };
    let figure = Figure {
        title: "Error by generation",
        sentence,
        source: sheet.invocation.model_file("*/model.json"),
        command: sheet.invocation.run_command(&facts.run, "status"),
    };
    let axes = [
        Axis::generations(Generation::FIRST, facts.last()),
        Axis::real("mean absolute error, discs", around(values())),
    ];
    sheet.chart(&figure, axes, &marks);
}

fn by_empties(
    sheet: &mut Sheet<'_>,
    title: &'static str,
    label: &str,
    training: &Made<TrainMetrics>,
    errors: &Errors,
) {
    let Some(most) = errors.by_empties.iter().map(|range| range.min).max() else {
        return sheet.absent(&format!(
            "{title} is left out: {} has no such figures.",
            training.id
        ));
    };
    let line = |tone, name: &str, parity: u32| {
        let of_parity = errors
            .by_empties
            .iter()
            .filter(|range| range.min % 2 == parity);
        let points = of_parity
            .map(|range| [f64::from(range.min), range.error.mae])
            .collect();
        Mark::series(tone, points, name, |[x, y]| {
            format!("{x} empty: {} discs", number(y, 2))
        })
    };
    let marks = [line(Tone::Ink, "odd", 1), line(Tone::Accent, "even", 0)];
    let sentence = format!(
        "{} is {} discs off {label}, on average.",
        training.id,
        number(errors.all.mae, 2)
    );
    let figure = sheet.of_version(title, sentence, training.id);
    let x = Axis::whole("empty squares", [0.0, f64::from(most.max(10))]);
    let y = Axis::real(
        "mean absolute error, discs",
        from_zero(errors.by_empties.iter().map(|range| range.error.mae)),
    );
    sheet.chart(&figure, [x, y], &marks);
}
