//! What the run cost: throughput, efficiency, processor time.

use crate::report::chart::{Axis, Mark, Tone};
use crate::report::figure::{Figure, Sheet};
use crate::report::scale::{from_zero, number};
use crate::run::log::{Efficiency, RunEfficiency};

pub fn draw(sheet: &mut Sheet<'_>) {
    throughput(sheet);
    match &sheet.facts.efficiency {
        Some(efficiency) => stages(sheet, efficiency),
        None => sheet.absent(
            "Efficiency is left out: run.log names no call that recorded its processor time.",
        ),
    }
}

fn throughput(sheet: &mut Sheet<'_>) {
    let facts = sheet.facts;
    let [first, ..] = facts.speeds[..] else {
        return sheet
            .absent("Throughput is left out: run.log names no call that finished self-play.");
    };
    let latest = facts.speeds[facts.speeds.len() - 1];
    let speeds = facts.speeds.iter();
    let points: Vec<[f64; 2]> = speeds
        .map(|speed| [f64::from(speed.generation), speed.games_per_second])
        .collect();
    let speed = number(latest.games_per_second, 0);
    let sentence = format!(
        "Generation {} played {speed} games per second.",
        latest.generation
    );
    let figure = of_log(sheet, "Throughput", sentence, "status --json");
    let x = Axis::generations(first.generation, latest.generation);
    let y = Axis::real(
        "self-play, games per second",
        from_zero(points.iter().map(|point| point[1])),
    );
    let tip = |[x, y]: [f64; 2]| format!("generation {x}: {} games per second", number(y, 1));
    sheet.chart(
        &figure,
        [x, y],
        &[Mark::series(Tone::Accent, points, "", tip)],
    );
}

fn stages(sheet: &mut Sheet<'_>, run: &RunEfficiency) {
    let percent = |share: f64| format!("{} %", number(100.0 * share, 0));
    // The moments that promotions take are no share of the whole.
    let stages = run
        .stages
        .iter()
        .filter(|(_, found)| 0.002 * run.all.cpu_seconds < found.cpu_seconds);
    let busy = stages
        .clone()
        .map(|(name, Efficiency { efficiency, .. })| (name, *efficiency, percent(*efficiency)));
    let sentence = format!(
        "All threads together were busy for {} of their time.",
        percent(run.all.efficiency)
    );
    let figure = of_log(sheet, "Efficiency", sentence, "status");
    sheet.bars(&figure, busy);
    let most = run
        .stages
        .values()
        .map(|stage| stage.cpu_seconds)
        .fold(0.0, f64::max);
    let cost = stages.map(|(name, found)| {
        (
            name,
            found.cpu_seconds / most,
            cpu_text(found.cpu_seconds, most),
        )
    });
    let sentence = format!(
        "{} by all stages.",
        cpu_text(run.all.cpu_seconds, run.all.cpu_seconds)
    );
    let figure = of_log(sheet, "Processor time", sentence, "status --json");
    sheet.bars(&figure, cost);
}

/// A figure of what run.log says, which a command prints.
fn of_log(sheet: &Sheet<'_>, title: &'static str, sentence: String, command: &str) -> Figure {
    let source = sheet.invocation.model_file("run.log");
    Figure {
        title,
        sentence,
        source,
        command: sheet.invocation.run_command(&sheet.facts.run, command),
    }
}

/// A processor time in the unit for times up to `most`: hours, unless that is a small part of one.
fn cpu_text(seconds: f64, most: f64) -> String {
    let units = [(3600.0, "CPU-hours"), (60.0, "CPU-minutes")];
    let (unit, name) = units
        .into_iter()
        .find(|(unit, _)| *unit <= most)
        .unwrap_or((1.0, "CPU-seconds"));
    let value = seconds / unit;
    format!(
        "{} {name}",
        number(
            value,
            if value < 10.0 {
                2
            } else {
                usize::from(value < 100.0)
            }
        )
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_time_has_the_unit_of_the_longest() {
        for (seconds, most, expected) in [
            (45.0, 45.0, "45.0 CPU-seconds"),
            (3.0, 59.0, "3.00 CPU-seconds"),
            (90.0, 3599.0, "1.50 CPU-minutes"),
            (1800.0, 36_000.0, "0.50 CPU-hours"),
            (5_400_000.0, 5_400_000.0, "1,500 CPU-hours"),
        ] {
            assert_eq!(cpu_text(seconds, most), expected);
        }
    }
}
