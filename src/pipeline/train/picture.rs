//! A picture of the errors of a model, as SVG: the same bytes for the same figures.

use super::task::{DEPTH_BIAS_MAX, Error, LabelErrors, RangeError, TrainMetrics};
use crate::artifact::output::{FileKind, first_bytes};
use plotters::backend::SVGBackend;
use plotters::chart::ChartBuilder;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::element::{Circle, PathElement, Text};
use plotters::series::LineSeries;
use plotters::style::{BLACK, Color, RGBColor, TextStyle, WHITE};

/// A file that [`draw`] makes.
pub const ERROR_PICTURE: FileKind = FileKind {
    name: "a picture of a model's errors",
    matches: |path| Ok(first_bytes(path, HEAD.len() as u64)? == HEAD.as_bytes()),
};

const HEAD: &str = "<svg width=\"1000\" height=\"";

const WIDTH: u32 = 1000;

const TITLE_HEIGHT: u32 = 36;

const PANEL_HEIGHT: u32 = 280;

const COLUMNS: usize = 2;

/// The width of a panel without its legend.
const CHART_WIDTH: u32 = 400;

const FONT: (&str, u32) = ("sans-serif", 13);
const HEADING: (&str, u32) = ("sans-serif", 15);

const BLUE: RGBColor = RGBColor(0x1f, 0x5f, 0xbf);
const RED: RGBColor = RGBColor(0xc8, 0x2c, 0x2c);
const ORANGE: RGBColor = RGBColor(0xd0, 0x80, 0x10);
const GREEN: RGBColor = RGBColor(0x2a, 0x80, 0x50);
const GRAY: RGBColor = RGBColor(0x88, 0x88, 0x88);

/// The result of drawing on a text.
type Drawn<'t> = Result<(), Box<dyn std::error::Error + 't>>;

type Area<'t> = DrawingArea<SVGBackend<'t>, Shift>;

/// A chart with a legend beside it.
#[derive(Clone, Debug, PartialEq)]
struct Panel {
    title: &'static str,
    x: Axis,
    lines: Vec<Line>,
    /// Values that a horizontal line marks.
    marks: Vec<f64>,
}

/// The horizontal axis.
#[derive(Clone, Debug, PartialEq)]
struct Axis {
    name: &'static str,
    range: [f64; 2],
    /// The names of the numbers from 0 up; none if they stand for themselves.
    names: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
struct Line {
    name: &'static str,
    color: RGBColor,
    points: Vec<[f64; 2]>,
}

/// Draws the errors of a model of this name: against the target by empty squares, against each label by its size, the loss of each
/// epoch, and the learning curve and the consistency if they were measured.
///
/// # Panics
///
/// If a text could not grow, which would be our own mistake.
#[must_use]
pub fn draw(model: &str, metrics: &TrainMetrics) -> String {
    let panels = [
        by_empties("mean absolute error against the target", metrics, |error| Some(error.mae)),
        by_empties("bias against the target (value − target)", metrics, |error| error.bias),
        by_size(metrics),
        loss(metrics),
        learning_curve(metrics),
        consistency(metrics),
    ];
    let mut panels: Vec<Panel> = panels.into();
    for panel in &mut panels {
        panel.lines.retain(|line| !line.points.is_empty());
    }
    panels.retain(|panel| !panel.lines.is_empty());
    let mut text = String::new();
    draw_panels(&mut text, &title(model, metrics), &panels).expect("a text grows");
    text
}

fn title(model: &str, metrics: &TrainMetrics) -> String {
    let judged = if metrics.held_out { "held-out" } else { "training" };
    let near_even = metrics.after.by_score.iter().filter(|range| range.max <= 20);
    let near_even = Error::joined(near_even.map(|range| &range.error));
    let near_even = near_even.map(|error| format!(", {:.2} where |target| ≤ 20", error.mae)).unwrap_or_default();
    let mae = metrics.after.all.mae;
    format!(
        "{model}: errors on {judged} positions, in discs. Mean absolute error against the target {mae:.2}{near_even}"
    )
}

fn draw_panels<'t>(text: &'t mut String, title: &str, panels: &[Panel]) -> Drawn<'t> {
    let rows = panels.len().div_ceil(COLUMNS);
    let size = (WIDTH, TITLE_HEIGHT + PANEL_HEIGHT * rows as u32);
    let area = SVGBackend::with_string(text, size).into_drawing_area();
    area.fill(&WHITE)?;
    let (head, body) = area.split_vertically(TITLE_HEIGHT);
    head.draw(&Text::new(title, (14, 12), TextStyle::from(HEADING).color(&BLACK)))?;
    for (panel, place) in panels.iter().zip(body.split_evenly((rows, COLUMNS))) {
        let (chart, legend) = place.split_horizontally(CHART_WIDTH);
        panel.draw(&chart)?;
        panel.draw_legend(&legend)?;
    }
    Ok(area.present()?)
}

impl Panel {
    /// The vertical axis: from 0 up, or if values are below 0, as far down as up.
    fn range(&self) -> [f64; 2] {
        let values = self.lines.iter().flat_map(|line| line.points.iter().map(|point| point[1]));
        let (least, most) = values
            .chain(self.marks.iter().copied())
            .fold((0.0, 0.0), |(least, most): (f64, f64), value| (least.min(value), most.max(value.abs())));
        let most = if most == 0.0 { 1.0 } else { 1.1 * most };
        if least < 0.0 { [-most, most] } else { [0.0, most] }
    }

    fn draw<'t>(&self, area: &Area<'t>) -> Drawn<'t> {
        let ([x_min, x_max], [y_min, y_max]) = (self.x.range, self.range());
        let mut chart = ChartBuilder::on(area)
            .caption(self.title, HEADING)
            .margin(10)
            .x_label_area_size(38)
            .y_label_area_size(48)
            .build_cartesian_2d(x_min..x_max, y_min..y_max)?;
        let mut mesh = chart.configure_mesh();
        if !self.x.names.is_empty() {
            mesh.disable_x_mesh();
        }
        mesh.max_light_lines(0)
            .label_style(FONT)
            .x_desc(self.x.name)
            .y_desc("discs")
            .x_label_formatter(&|x| self.x.label(*x))
            .draw()?;
        for &mark in &self.marks {
            chart.draw_series(LineSeries::new([(x_min, mark), (x_max, mark)], GRAY))?;
        }
        for line in &self.lines {
            let points = line.points.iter().map(|&[x, y]| (x, y));
            chart.draw_series(LineSeries::new(points.clone(), line.color.stroke_width(2)))?;
            chart.draw_series(points.map(|point| Circle::new(point, 2, line.color.filled())))?;
        }
        Ok(())
    }

    fn draw_legend<'t>(&self, area: &Area<'t>) -> Drawn<'t> {
        for (line, y) in self.lines.iter().zip((44..).step_by(20)) {
            area.draw(&PathElement::new([(0, y), (16, y)], line.color.stroke_width(2)))?;
            area.draw(&Text::new(line.name, (22, y - 6), TextStyle::from(FONT).color(&BLACK)))?;
        }
        Ok(())
    }
}

impl Axis {
    fn numbers(name: &'static str, range: [f64; 2]) -> Self {
        Self { name, range, names: Vec::new() }
    }

    fn names(name: &'static str, names: Vec<String>) -> Self {
        Self { name, range: [-0.5, names.len() as f64 - 0.5], names }
    }

    /// Only whole numbers have labels.
    fn label(&self, x: f64) -> String {
        let number = x.round();
        if 1e-6 < (x - number).abs() {
            return String::new();
        }
        if self.names.is_empty() {
            number.to_string()
        } else {
            self.names.get(number as usize).cloned().unwrap_or_default()
        }
    }
}

/// One figure of the error by empty squares, even and odd numbers apart. Older versions have wider ranges.
fn by_empties(title: &'static str, metrics: &TrainMetrics, figure: fn(&Error) -> Option<f64>) -> Panel {
    let ranges = &metrics.after.by_empties;
    let is_wide = ranges.iter().any(|range| range.min < range.max);
    let line = |name, color, parity: Option<u32>| {
        let is_of_line = |range: &&RangeError| parity.map_or(is_wide, |parity| !is_wide && range.min % 2 == parity);
        let point = |range: &RangeError| Some([f64::from(range.min + range.max) / 2.0, figure(&range.error)?]);
        Line { name, color, points: ranges.iter().filter(is_of_line).filter_map(point).collect() }
    };
    let lines = [line("even", BLUE, Some(0)), line("odd", RED, Some(1)), line("all", GRAY, None)];
    Panel { title, x: Axis::numbers("empty squares", [0.0, 60.0]), lines: lines.into(), marks: vec![0.0] }
}

/// The errors against each label by the size of that label.
fn by_size(metrics: &TrainMetrics) -> Panel {
    let classes = &metrics.after.by_score;
    let place = |range: &RangeError| classes.iter().position(|class| class.max == range.max);
    let line = |(name, color), ranges: &[RangeError]| {
        let point = |range: &RangeError| Some([place(range)? as f64, range.error.mae]);
        Line { name, color, points: ranges.iter().filter_map(point).collect() }
    };
    let [target, others @ ..] = LABELS;
    let labels = metrics.labels.iter().flat_map(|LabelErrors { score, result, exact }| [score, result, exact]);
    let lines = others.into_iter().zip(labels).map(|(label, errors)| line(label, &errors.by_score));
    let names = classes.iter().map(|class| format!("to {}", class.max));
    Panel {
        title: "mean absolute error by the size of the label",
        x: Axis::names("|label|, discs", names.collect()),
        lines: [line(target, classes)].into_iter().chain(lines).collect(),
        marks: Vec::new(),
    }
}

const LABELS: [(&str, RGBColor); 4] = [("target", BLUE), ("score", ORANGE), ("result", GREEN), ("exact score", RED)];

/// The loss of each epoch, counted from 1.
fn loss(metrics: &TrainMetrics) -> Panel {
    let points = (1_u32..).zip(&metrics.epochs).map(|(epoch, loss)| [f64::from(epoch), loss.mae]);
    let line = Line { name: "training", color: BLUE, points: points.collect() };
    let most = metrics.epochs.len().max(2) as f64;
    Panel {
        title: "loss: mean error before each update",
        x: Axis::numbers("epoch", [1.0, most]),
        lines: vec![line],
        marks: Vec::new(),
    }
}

/// The errors of trainings on fewer games and of that on all of them.
fn learning_curve(metrics: &TrainMetrics) -> Panel {
    let mut points: Vec<(f64, [Error; 4])> = metrics
        .learning_curve
        .iter()
        .map(|point| (point.share, [point.target, point.score, point.result, point.exact]))
        .collect();
    if let Some(labels) = metrics.labels.as_ref().filter(|_| !points.is_empty()) {
        points.push((1.0, [metrics.after.all, labels.score.all, labels.result.all, labels.exact.all]));
    }
    let lines = LABELS.iter().enumerate().map(|(label, &(name, color))| {
        let known = points.iter().enumerate().filter(|(_, (_, errors))| 0 < errors[label].rows);
        Line { name, color, points: known.map(|(place, (_, errors))| [place as f64, errors[label].mae]).collect() }
    });
    let names = points.iter().map(|(share, _)| format!("{:.0} %", 100.0 * share));
    Panel {
        title: "learning curve: mean absolute error",
        x: Axis::names("games learned", names.collect()),
        lines: lines.collect(),
        marks: Vec::new(),
    }
}

/// What searches change on average, with the bias beyond which `train` warns.
fn consistency(metrics: &TrainMetrics) -> Panel {
    let depths = &metrics.consistency;
    let line = |name, color, errors: Vec<Error>| {
        let known = errors.iter().enumerate().filter(|(_, error)| 0 < error.rows);
        Line { name, color, points: known.filter_map(|(place, error)| Some([place as f64, error.bias?])).collect() }
    };
    let even = line("even", BLUE, depths.iter().map(|depth| depth.even).collect());
    let odd = line("odd", RED, depths.iter().map(|depth| depth.odd).collect());
    let names = depths.iter().map(|found| found.depth.to_string());
    Panel {
        title: "consistency: mean of searched − static value",
        x: Axis::names("depth of the search", names.collect()),
        lines: vec![even, odd],
        marks: vec![-DEPTH_BIAS_MAX, 0.0, DEPTH_BIAS_MAX],
    }
}

#[cfg(test)]
mod tests {
    use super::super::task::{CurvePoint, DepthError, EpochLoss, Errors};
    use super::*;

    fn error(mae: f64, bias: f64) -> Error {
        Error { rows: 10, mae, rmse: 2.0 * mae, bias: Some(bias), slope: None }
    }

    fn errors(mae: f64) -> Errors {
        let range = |min, max, error| RangeError { min, max, error };
        Errors {
            all: error(mae, 0.0),
            by_empties: vec![range(7, 7, error(mae, -1.5)), range(8, 8, error(2.0 * mae, 0.5))],
            by_score: vec![range(0, 8, error(mae, 0.0)), range(20, 40, error(3.0 * mae, 0.0))],
        }
    }

    fn metrics() -> TrainMetrics {
        let exact = Errors { by_score: errors(9.0).by_score[1..].to_vec(), ..errors(9.0) };
        let none = Error::default();
        let point =
            CurvePoint { share: 0.03, rows: 5, target: error(6.0, 0.0), score: none, result: none, exact: none };
        TrainMetrics {
            rows: 100,
            validation_rows: 20,
            held_out: true,
            unlabeled: 0,
            updates: 200,
            epochs: vec![EpochLoss { mae: 5.0 }, EpochLoss { mae: 4.0 }],
            before: errors(8.0),
            after: errors(3.0),
            labels: Some(LabelErrors { score: errors(5.0), result: errors(7.0), exact }),
            coverage: None,
            learning_curve: vec![point],
            label_noise: None,
            consistency: vec![DepthError { depth: 4, even: error(1.0, -0.75), odd: Error::default() }],
        }
    }

    fn check(panel: &Panel, lines: &[(&str, &[[f64; 2]])]) {
        let found: Vec<_> = panel.lines.iter().map(|line| (line.name, line.points.as_slice())).collect();
        assert_eq!(found, lines, "{}", panel.title);
    }

    #[test]
    fn each_line_has_its_figures() {
        let metrics = metrics();
        let none: &[[f64; 2]] = &[];
        let mae = by_empties("", &metrics, |error| Some(error.mae));
        check(&mae, &[("even", &[[8.0, 6.0]]), ("odd", &[[7.0, 3.0]]), ("all", none)]);
        let bias = by_empties("", &metrics, |error| error.bias);
        check(&bias, &[("even", &[[8.0, 0.5]]), ("odd", &[[7.0, -1.5]]), ("all", none)]);
        let [target, score, result] = [3.0, 5.0, 7.0].map(|mae| [[0.0, mae], [1.0, 3.0 * mae]]);
        let sizes = by_size(&metrics);
        let exact = [[1.0, 27.0]];
        check(&sizes, &[("target", &target), ("score", &score), ("result", &result), ("exact score", &exact)]);
        assert_eq!(sizes.x.names, ["to 8", "to 40"]);
        check(&loss(&metrics), &[("training", &[[1.0, 5.0], [2.0, 4.0]])]);
        let curve = learning_curve(&metrics);
        let [target, score, result] = [vec![[0.0, 6.0], [1.0, 3.0]], vec![[1.0, 5.0]], vec![[1.0, 7.0]]];
        let exact = [[1.0, 9.0]];
        check(&curve, &[("target", &target), ("score", &score), ("result", &result), ("exact score", &exact)]);
        assert_eq!(curve.x.names, ["3 %", "100 %"]);
        let depths = consistency(&metrics);
        check(&depths, &[("even", &[[0.0, -0.75]]), ("odd", none)]);
        assert_eq!((depths.x.names.as_slice(), depths.range()), (&["4".to_owned()][..], [-0.75 * 1.1, 0.75 * 1.1]));
    }

    #[test]
    fn older_figures_by_wide_ranges_are_one_line() {
        let mut metrics = metrics();
        metrics.after.by_empties[0].min = 3;
        let panel = by_empties("", &metrics, |error| Some(error.mae));
        check(&panel, &[("even", &[]), ("odd", &[]), ("all", &[[5.0, 3.0], [8.0, 6.0]])]);
    }

    #[test]
    fn a_picture_has_the_panels_that_there_are_figures_for() {
        let full = draw("v0007", &metrics());
        let bare = draw(
            "v0007",
            &TrainMetrics { epochs: Vec::new(), learning_curve: Vec::new(), consistency: Vec::new(), ..metrics() },
        );
        for (word, only_full) in [
            ("v0007: errors on held-out positions, in discs", false),
            ("against the target 3.00, 3.00 where |target| ≤ 20", false),
            ("exact score", false),
            ("epoch", true),
            ("games learned", true),
            ("depth of the search", true),
        ] {
            assert!(full.contains(word) && bare.contains(word) != only_full, "{word}");
        }
        assert!(full.starts_with(HEAD) && bare.starts_with(HEAD));
    }
}
