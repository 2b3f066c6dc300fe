//! How well shallow searches predict deep ones: MPC statistics.

use crate::engine::{LEVELS, Score};
use crate::pipeline::fit_mpc::metrics::{FitMpcMetrics, HeldOut};
use crate::report::chart::{Axis, Mark, Tone};
use crate::report::facts::Made;
use crate::report::figure::{Figure, Sheet};
use crate::report::samples::Scatter;
use crate::report::scale::{from_zero, number};

/// The level whose margin is drawn, by its place in [`LEVELS`].
const LEVEL: usize = 1;

pub fn draw(sheet: &mut Sheet<'_>) {
    let Some(fit) = sheet.facts.fit() else {
        return sheet.absent("There are no MPC statistics yet.");
    };
    match &sheet.facts.scatter {
        Some(scatter) => draw_scatter(sheet, fit, scatter),
        None => sheet
            .absent("The scatter of depths is left out: its samples are gone, or it has no pairs."),
    }
    match &fit.figures.held_out[..] {
        [] => sheet
            .absent("Calibration is left out: the source's form of the fit holds no games out."),
        [all, ..] => calibration(sheet, fit, all),
    }
}

fn draw_scatter(sheet: &mut Sheet<'_>, made: &Made<FitMpcMetrics>, scatter: &Scatter) {
    let fit = &scatter.fit;
    let discs = |millidiscs: i32| Score(millidiscs).discs();
    let most = from_zero(scatter.points.iter().flatten().map(|score| score.abs()))[1].min(64.0);
    let line = |margin: f64| -> Vec<[f64; 2]> {
        let at = |shallow: f64| {
            let deviation = discs(fit.sigma) + fit.growth * shallow.abs();
            fit.slope * shallow + discs(fit.offset) + margin * fit.quantiles[LEVEL] * deviation
        };
        let points = (-32..=32)
            .map(|step| most / 32.0 * f64::from(step))
            .map(|shallow| [shallow, at(shallow)]);
        points.filter(|[_, deep]| deep.abs() <= most).collect()
    };
    let marks = [
        Mark::Cloud {
            points: scatter.points.clone(),
        },
        Mark::line(Tone::Muted, line(1.0), &format!("{} %", LEVELS[LEVEL])),
        Mark::line(Tone::Ink, line(0.0), "fit"),
        Mark::line(Tone::Muted, line(-1.0), ""),
    ];
    let deep = fit.deep.map_or_else(String::new, |deep| deep.to_string());
    let some = if scatter.is_part { "the first " } else { "" };
    let figure = Figure {
        title: "A shallow search predicts a deep one",
        sentence: format!(
            "{}: depth {deep} from depth {}, {} to {} empty squares, {some}{} samples, standard deviation {} discs.",
            made.id,
            fit.shallow,
            fit.empties_min,
            fit.empties_max,
            number(scatter.points.len() as f64, 0),
            number(discs(fit.sigma), 1)
        ),
        source: sheet.invocation.data_file(&format!(
            "mpc/generation={:04}/samples/*.parquet",
            scatter.generation
        )),
        command: sheet
            .invocation
            .model_command(&format!("show {} --json", made.id)),
    };
    let axes =
        ["shallow score, discs", "deep score, discs"].map(|name| Axis::real(name, [-most, most]));
    sheet.chart(&figure, axes, &marks);
}

fn calibration(sheet: &mut Sheet<'_>, made: &Made<FitMpcMetrics>, all: &HeldOut) {
    let groups = &made.figures.held_out;
    let points = |group: &HeldOut| -> Vec<[f64; 2]> {
        let rates = LEVELS.iter().zip(group.miss_rates);
        rates
            .map(|(&level, rate)| [f64::from(100 - level), 100.0 * rate])
            .rev()
            .collect()
    };
    let most = from_zero(
        groups
            .iter()
            .flat_map(points)
            .map(|[_, found]| found)
            .chain([30.0]),
    )[1];
    let mut marks = vec![Mark::line(
        Tone::Muted,
        vec![[0.0, 0.0], [30.0, 30.0]],
        "ideal",
    )];
    for (place, group) in groups.iter().enumerate().rev() {
        let (tone, name) = if place == 0 {
            (Tone::Accent, &group.group[..])
        } else {
            (Tone::Faint, "")
        };
        marks.push(Mark::series(
            tone,
            points(group),
            name,
            |[expected, found]| {
                format!(
                    "{}: {} % missed where {} % were expected",
                    group.group,
                    number(found, 1),
                    number(expected, 0)
                )
            },
        ));
    }
    let sentence = format!(
        "On games held out, {} % of the deep scores of {} lie outside of a margin that {} % should miss.",
        number(100.0 * all.miss_rates[LEVEL], 1),
        made.id,
        100 - LEVELS[LEVEL]
    );
    let figure = sheet.of_version("Calibration", sentence, made.id);
    let axes = [
        Axis::real("misses expected, %", [0.0, 30.0]),
        Axis::real("misses found, %", [0.0, most]),
    ];
    sheet.chart(&figure, axes, &marks);
}
