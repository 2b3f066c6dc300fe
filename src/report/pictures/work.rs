//! What the run cost: throughput, efficiency, processor time.

use crate::report::chart::{Axis, Bar, Mark, Tone, bars};
use crate::report::facts::Facts;
use crate::report::figure::{Figure, absent};
use crate::report::invocation::Invocation;
use crate::report::markup::Markup;
use crate::report::scale::{from_zero, number};
use crate::run::log::{Efficiency, RunEfficiency};

pub(in crate::report) fn draw(markup: &mut Markup, facts: &Facts, invocation: &Invocation) {
    if facts.speeds.is_empty() {
        absent(markup, "Throughput is left out: run.log names no call that finished self-play.");
    } else {
        throughput(markup, facts, invocation);
    }
    match &facts.efficiency {
        Some(efficiency) => stages(markup, facts, efficiency, invocation),
        None => absent(markup, "Efficiency is left out: run.log names no call that recorded its processor time."),
    }
}

fn throughput(markup: &mut Markup, facts: &Facts, invocation: &Invocation) {
    let speeds = &facts.speeds;
    let points: Vec<[f64; 2]> =
        speeds.iter().map(|speed| [f64::from(speed.generation), speed.games_per_second]).collect();
    let latest = speeds[speeds.len() - 1];
    let figure = Figure {
        title: "Throughput",
        sentence: format!(
            "Generation {} played {} games per second.",
            latest.generation,
            number(latest.games_per_second, 0)
        ),
        source: invocation.model_file("run.log"),
        command: invocation.run_command(&facts.run, "status --json"),
    };
    let x = Axis::generations(speeds[0].generation, latest.generation);
    let y = Axis::real("self-play, games per second", from_zero(points.iter().map(|point| point[1])));
    let tip = |[x, y]: [f64; 2]| format!("generation {x}: {} games per second", number(y, 1));
    figure.chart(markup, [x, y], &[Mark::series(Tone::Accent, points, "", tip)]);
}

fn stages(markup: &mut Markup, facts: &Facts, run: &RunEfficiency, invocation: &Invocation) {
    let rows = |value: fn(&Efficiency) -> f64, label: &dyn Fn(f64) -> String| -> Vec<Bar> {
        // The moments that promotions take are no share of the whole.
        let stages = run.stages.iter().filter(|(_, found)| 0.002 * run.all.cpu_seconds < found.cpu_seconds);
        let bar = |(stage, found): (&String, &Efficiency)| {
            let value = value(found);
            Bar { name: stage.clone(), value, label: label(value) }
        };
        stages.map(bar).collect()
    };
    let percent = |share: f64| format!("{} %", number(100.0 * share, 0));
    let figure = Figure {
        title: "Efficiency",
        sentence: format!("All threads together were busy for {} of their time.", percent(run.all.efficiency)),
        source: invocation.model_file("run.log"),
        command: invocation.run_command(&facts.run, "status"),
    };
    let found = rows(|stage| stage.efficiency, &percent);
    figure.with(markup, "", |markup| bars(markup, &figure.sentence, &found, 1.0));
    let most = run.stages.values().map(|stage| stage.cpu_seconds).fold(0.0, f64::max);
    let unit = Unit::of(most);
    let figure = Figure {
        title: "Processor time",
        sentence: format!("{} by all stages.", Unit::of(run.all.cpu_seconds).text(run.all.cpu_seconds)),
        source: invocation.model_file("run.log"),
        command: invocation.run_command(&facts.run, "status --json"),
    };
    let found = rows(|stage| stage.cpu_seconds, &|seconds| unit.short_text(seconds));
    figure.with(markup, "", |markup| bars(markup, &figure.sentence, &found, most));
}

/// A unit of processor time.
#[derive(Clone, Copy)]
struct Unit(f64, &'static str, &'static str);

impl Unit {
    /// The one for times up to this number of seconds: hours, unless that is a small part of one.
    fn of(most: f64) -> Self {
        let units = [Self(3600.0, "CPU-hours", "h"), Self(60.0, "CPU-minutes", "min")];
        units.into_iter().find(|Self(seconds, ..)| *seconds <= most).unwrap_or(Self(1.0, "CPU-seconds", "s"))
    }

    fn text(self, seconds: f64) -> String {
        format!("{} {}", self.count(seconds), self.1)
    }

    /// For the narrow place behind a bar.
    fn short_text(self, seconds: f64) -> String {
        format!("{} {}", self.count(seconds), self.2)
    }

    fn count(self, seconds: f64) -> String {
        let value = seconds / self.0;
        number(value, if value < 10.0 { 2 } else { usize::from(value < 100.0) })
    }
}
