//! How wrong static values are: by generation, and by empty squares.

use crate::artifact::model::closed::GenerationLine;
use crate::pipeline::train::task::{Errors, RangeError, TrainMetrics};
use crate::report::chart::{Axis, Chart, Mark, NARROW, Tone};
use crate::report::facts::{Facts, Made};
use crate::report::figure::{Figure, absent};
use crate::report::invocation::{Invocation, Print};
use crate::report::markup::Markup;
use crate::report::scale::{around, from_zero, number};

/// The labels of the rows whose errors are exact.
const SOLVED: &str = "the exact scores of positions that self-play solved";

pub(in crate::report) fn draw(markup: &mut Markup, facts: &Facts, invocation: &Invocation) {
    by_generation(markup, facts, invocation);
    let Some(training) = facts.training() else {
        return absent(
            markup,
            "There are no errors by empty squares yet: no model of the run has figures of a training.",
        );
    };
    let sets = training.figures.labels.as_ref();
    let after = Some(&training.figures.after);
    let held_out = training.figures.held_out;
    let rows = if held_out { "Held-out error by empties" } else { "Error on training rows by empties" };
    for (title, label, errors) in
        [(rows, "what it should predict", after), ("Exact error by empties", SOLVED, sets.map(|sets| &sets.exact))]
    {
        let wide = errors.is_some_and(|errors| errors.by_empties.iter().any(|range| range.min < range.max));
        match errors.filter(|errors| !errors.by_empties.is_empty() && !wide) {
            Some(errors) => by_empties(markup, (title, label), training, errors, invocation),
            None => absent(markup, &format!("{title} is left out: {} has no such figures.", training.id)),
        }
    }
}

fn by_generation(markup: &mut Markup, facts: &Facts, invocation: &Invocation) {
    let line = |tone, name: &str, figure: fn(&GenerationLine) -> Option<f64>| {
        let points: Vec<[f64; 2]> =
            facts.lines().filter_map(|line| Some([f64::from(line.generation), figure(line)?])).collect();
        let tips = points.iter().map(|&[x, y]| ([x, y], format!("generation {x}: {name} {} discs", number(y, 2))));
        [Mark::Points { tone, points: tips.collect() }, Mark::Line { tone, points, name: name.to_owned() }]
    };
    let lines = [
        line(Tone::Muted, "before", |line| line.mae_before),
        line(Tone::Ink, "after", |line| line.mae_after),
        line(Tone::Accent, "exact", |line| line.exact_mae),
    ];
    let values = || facts.lines().flat_map(|line| [line.mae_before, line.mae_after, line.exact_mae]).flatten();
    if values().next().is_none() {
        return absent(markup, "There are no errors yet: no generation has a candidate.");
    }
    let exact: Vec<f64> = facts.lines().filter_map(|line| line.exact_mae).collect();
    let sentence = match exact[..] {
        [first, .., last] => format!(
            "On the yardstick, exact scores that no model is trained on, the error went from {} to {} discs.",
            number(first, 2),
            number(last, 2)
        ),
        [only] => {
            format!(
                "On the yardstick, exact scores that no model is trained on, the error is {} discs.",
                number(only, 2)
            )
        }
        [] => "On held-out games before and after each training.".to_owned(),
    };
    let figure = Figure {
        title: "Error by generation",
        sentence,
        source: &invocation.model_file("*/model.json"),
        command: &invocation.run_command(&facts.run, "status", Print::Text),
    };
    let (x, y) = (Axis::generations(1, facts.last()), Axis::real("mean absolute error, discs", around(values())));
    let marks = lines.into_iter().flatten().collect();
    figure.chart(markup, &Chart { summary: figure.sentence.clone(), size: NARROW, x, y, marks });
}

fn by_empties(
    markup: &mut Markup,
    (title, label): (&'static str, &str),
    training: &Made<TrainMetrics>,
    errors: &Errors,
    invocation: &Invocation,
) {
    let line = |tone, name: &str, parity: u32| {
        let of_parity = || errors.by_empties.iter().filter(move |range| range.min % 2 == parity);
        let point = |range: &RangeError| [f64::from(range.min), range.error.mae];
        let tip = |range: &RangeError| format!("{} empty: {} discs", range.min, number(range.error.mae, 2));
        [
            Mark::Line { tone, points: of_parity().map(point).collect(), name: name.to_owned() },
            Mark::Points { tone, points: of_parity().map(|range| (point(range), tip(range))).collect() },
        ]
    };
    let marks = [line(Tone::Ink, "odd", 1), line(Tone::Accent, "even", 0)].into_iter().flatten().collect();
    let most = errors.by_empties.iter().map(|range| range.min).max().unwrap_or(60);
    let figure = Figure {
        title,
        sentence: format!("{} is {} discs off {label}, on average.", training.id, number(errors.all.mae, 2)),
        source: &invocation.model_file(&format!("{}/model.json", training.id)),
        command: &invocation.model_command(&format!("show {}", training.id), Print::Json),
    };
    let x = Axis::whole("empty squares", [0.0, f64::from(most.max(10))]);
    let y = Axis::real("mean absolute error, discs", from_zero(errors.by_empties.iter().map(|range| range.error.mae)));
    figure.chart(markup, &Chart { summary: figure.sentence.clone(), size: NARROW, x, y, marks });
}
