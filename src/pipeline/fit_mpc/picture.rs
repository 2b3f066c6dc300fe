//! Pictures of a fit, as SVG: the same bytes for the same figures.

use super::metrics::{DepthFit, FitMpcMetrics};
use super::sample::Sample;
use crate::artifact::error::ArtifactError;
use crate::artifact::output::{FileKind, OutputFile, first_bytes};
use crate::artifact::publish::{create_folder, exists, publish_bytes};
use crate::engine::search::mpc_level::LEVELS;
use plotters::backend::SVGBackend;
use plotters::chart::{ChartBuilder, SeriesLabelPosition};
use plotters::drawing::IntoDrawingArea;
use plotters::element::{Circle, PathElement};
use plotters::series::LineSeries;
use plotters::style::{Color, Palette, Palette99, RGBColor, WHITE};
use std::error::Error;
use std::path::Path;

/// The files of the pictures in their folder.
const PICTURE_NAMES: [&str; 3] = ["scatter.svg", "residual.svg", "calibration.svg"];

/// A picture as `draw` makes it.
const PICTURE_FILE: FileKind = FileKind {
    name: "a picture of a fit",
    matches: |path| Ok(first_bytes(path, HEAD.len() as u64)? == HEAD.as_bytes()),
};

const HEAD: &str = "<svg width=\"640\" height=\"480\" viewBox=\"0 0 640 480\" xmlns=\"http://www.w3.org/2000/svg\">";

/// The empty squares of the pictures of one pair of depths.
const EMPTIES: u8 = 33;

/// Checks the places of the pictures before any work is done for them: pictures of a fit may be overwritten, and nothing
/// else ever is.
///
/// # Errors
///
/// A file that may not be overwritten.
pub fn check_places(folder: &Path, overwrite: bool) -> Result<(), ArtifactError> {
    for path in PICTURE_NAMES.map(|name| folder.join(name)) {
        OutputFile::check(&path, PICTURE_FILE, overwrite, "--replace")?;
    }
    Ok(())
}

/// Whether a folder holds the pictures already.
pub(super) fn are_there(folder: &Path) -> Result<bool, ArtifactError> {
    for name in PICTURE_NAMES {
        if !exists(&folder.join(name))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Draws the deepest prediction of the table, what it leaves over, and how often it misses.
pub(super) fn draw(folder: &Path, metrics: &FitMpcMetrics, parts: &[Vec<Sample>]) -> Result<(), ArtifactError> {
    create_folder(folder)?;
    let fits = metrics.depths.iter().filter(|fit| (fit.empties_min..=fit.empties_max).contains(&EMPTIES));
    if let Some(fit) = fits.max_by_key(|fit| (fit.deep, fit.shallow)) {
        publish_bytes(&folder.join(PICTURE_NAMES[0]), scatter(fit, parts).svg().as_bytes())?;
        publish_bytes(&folder.join(PICTURE_NAMES[1]), residual(fit, parts).svg().as_bytes())?;
    }
    publish_bytes(&folder.join(PICTURE_NAMES[2]), calibration(metrics).svg().as_bytes())
}

/// A chart of points and lines.
struct Chart {
    title: String,
    /// Name and range of the horizontal axis, then of the vertical one.
    axes: [(&'static str, f64, f64); 2],
    dots: Vec<[f64; 2]>,
    lines: Vec<Line>,
}

struct Line {
    color: RGBColor,
    /// Its name in the legend, if it has one.
    name: Option<String>,
    points: Vec<[f64; 2]>,
}

const SIZE: (u32, u32) = (640, 480);
const BLUE: RGBColor = RGBColor(0x33, 0x66, 0xcc);
const RED: RGBColor = RGBColor(0xcc, 0x33, 0x33);
const ORANGE: RGBColor = RGBColor(0xcc, 0x99, 0x33);

impl Chart {
    fn svg(&self) -> String {
        let mut text = String::new();
        self.draw(&mut text).expect("a text grows");
        text
    }

    fn draw(&self, text: &mut String) -> Result<(), Box<dyn Error + '_>> {
        let area = SVGBackend::with_string(text, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let [(x_name, x_min, x_max), (y_name, y_min, y_max)] = self.axes;
        let mut chart = ChartBuilder::on(&area)
            .caption(&self.title, ("sans-serif", 17))
            .margin(12)
            .x_label_area_size(36)
            .y_label_area_size(48)
            .build_cartesian_2d(x_min..x_max, y_min..y_max)?;
        chart.configure_mesh().x_desc(x_name).y_desc(y_name).draw()?;
        let inside = |&[x, y]: &[f64; 2]| (x.clamp(x_min, x_max), y.clamp(y_min, y_max));
        chart.draw_series(self.dots.iter().map(|dot| Circle::new(inside(dot), 1, BLUE.mix(0.5).filled())))?;
        for line in &self.lines {
            let series = chart.draw_series(LineSeries::new(line.points.iter().map(inside), line.color))?;
            if let Some(name) = &line.name {
                let color = line.color;
                series.label(name).legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], color));
            }
        }
        chart.configure_series_labels().position(SeriesLabelPosition::UpperLeft).draw()?;
        Ok(area.present()?)
    }
}

/// Discs of millidiscs.
fn discs(millidiscs: f64) -> f64 {
    millidiscs / 1000.0
}

/// What a fit predicts from what, and where.
fn title(fit: &DepthFit) -> String {
    let deep = fit.deep.map_or("the end".to_owned(), |deep| format!("depth {deep}"));
    format!("{deep} from depth {}, {} to {} empty squares", fit.shallow, fit.empties_min, fit.empties_max)
}

/// Shallow and deep values of the samples of a fit, in discs.
fn points(fit: &DepthFit, parts: &[Vec<Sample>]) -> Vec<[f64; 2]> {
    let samples = parts.iter().flatten();
    let samples = samples.filter(|sample| (fit.empties_min..=fit.empties_max).contains(&sample.position.empties()));
    let scores = samples.filter_map(|sample| fit.pair().of(sample));
    scores.map(|scores| [discs(f64::from(scores.shallow)), discs(f64::from(scores.deep))]).collect()
}

/// Deep over shallow with the fitted line and the margin of 87 %.
fn scatter(fit: &DepthFit, parts: &[Vec<Sample>]) -> Chart {
    let lines = [(0.0, RED), (1.0, ORANGE), (-1.0, ORANGE)].map(|(margin, color)| {
        let at = |shallow: f64| {
            let deviation = discs(f64::from(fit.sigma)) + fit.growth * shallow.abs();
            fit.slope * shallow + discs(f64::from(fit.offset)) + margin * fit.quantiles[1] * deviation
        };
        let points = (-32..=32).map(|step| [2.0 * f64::from(step), at(2.0 * f64::from(step))]).collect();
        Line { color, name: None, points }
    });
    let axes = [("shallow value, discs", -64.0, 64.0), ("deep value, discs", -64.0, 64.0)];
    Chart { title: title(fit), axes, dots: points(fit, parts), lines: lines.into() }
}

/// The residual against |shallow|, with the fitted deviation and its margin of 95 %.
fn residual(fit: &DepthFit, parts: &[Vec<Sample>]) -> Chart {
    let residual = |[shallow, deep]: [f64; 2]| deep - fit.slope * shallow - discs(f64::from(fit.offset));
    let dots = points(fit, parts).into_iter().map(|point| [point[0].abs(), residual(point).abs()]);
    let lines = [(1.0, RED), (fit.quantiles[2], ORANGE)].map(|(times, color)| {
        let at = |shallow: f64| times * (discs(f64::from(fit.sigma)) + fit.growth * shallow);
        Line { color, name: None, points: [0.0, 64.0].map(|shallow| [shallow, at(shallow)]).into() }
    });
    let axes = [("|shallow value|, discs", 0.0, 64.0), ("|residual|, discs", 0.0, 32.0)];
    Chart { title: title(fit), axes, dots: dots.collect(), lines: lines.into() }
}

/// The miss rate of each group of held-out predictions over the nominal one.
fn calibration(metrics: &FitMpcMetrics) -> Chart {
    let groups = metrics.held_out.iter().enumerate().map(|(index, group)| {
        let points = LEVELS.iter().zip(group.miss_rates).map(|(&level, rate)| [f64::from(100 - level), 100.0 * rate]);
        let (red, green, blue) = Palette99::pick(index).rgb();
        let name = Some(format!("{} ({} pairs)", group.group, group.pairs));
        Line { color: RGBColor(red, green, blue), name, points: points.collect() }
    });
    let nominal = Line { color: RGBColor(0x99, 0x99, 0x99), name: None, points: [[0.0, 0.0], [32.0, 32.0]].into() };
    let axes = [("misses expected, %", 0.0, 32.0), ("misses found, %", 0.0, 32.0)];
    let title = "held-out predictions outside the margin".to_owned();
    Chart { title, axes, dots: Vec::new(), lines: [nominal].into_iter().chain(groups).collect() }
}

#[cfg(test)]
mod tests {
    use super::super::metrics::{HeldOut, NodesSaved};
    use super::super::sample::Searched;
    use super::*;
    use crate::engine::board::position::Position;
    use crate::pipeline::search_settings::LevelSetting;

    fn fit() -> DepthFit {
        DepthFit {
            empties_min: 30,
            empties_max: 60,
            deep: Some(2),
            shallow: 1,
            slope: 0.5,
            offset: 1000,
            sigma: 2000,
            growth: 0.125,
            quantiles: [1.0, 1.5, 2.0, 2.5, 3.0],
            rest: 2000,
            r_squared: 0.9,
            beyond_3: 0.0,
            samples: 1,
        }
    }

    /// One sample: 8 discs at depth 1, −3 at depth 2.
    fn parts() -> Vec<Vec<Sample>> {
        let depths = [7000, 8000, -3000].map(|score| Searched { score, nodes: 1 }).into();
        vec![vec![Sample { id: 0, game: 0, position: Position::START, met: None, depths, end: None }]]
    }

    fn metrics() -> FitMpcMetrics {
        let level = LevelSetting::Sigmas { t: 1.0 };
        let nodes = NodesSaved { depth: 2, positions: 0, full_width: 0, levels: Vec::new(), depth_gained: 0 };
        let miss_rates = [0.25, 0.125, 0.0625, 0.03125, 0.0];
        let held_out = vec![HeldOut { group: "all".into(), pairs: 9, miss_rates, rms: 1.0 }];
        FitMpcMetrics { level, t: 1.0, depths: Vec::new(), held_out, nodes }
    }

    fn check_axes(chart: &Chart, ranges: [[f64; 2]; 2]) {
        assert_eq!(chart.axes.map(|(_, min, max)| [min, max]), ranges);
    }

    #[test]
    fn the_scatter_has_the_line_and_its_margin_of_87_percent() {
        let chart = scatter(&fit(), &parts());
        check_axes(&chart, [[-64.0, 64.0]; 2]);
        assert_eq!(chart.title, "depth 2 from depth 1, 30 to 60 empty squares");
        assert_eq!(chart.dots, [[8.0, -3.0]]);
        assert_eq!(chart.lines.len(), 3);
        for (line, times) in chart.lines.iter().zip([0.0, 1.5, -1.5]) {
            assert_eq!(line.points.len(), 65);
            for (step, &[x, y]) in (-32..).zip(&line.points) {
                assert_eq!(x, f64::from(2 * step));
                assert_eq!(y, 0.5 * x + 1.0 + times * (2.0 + 0.125 * x.abs()));
            }
        }
    }

    #[test]
    fn the_residual_is_compared_with_its_deviation() {
        let chart = residual(&fit(), &parts());
        check_axes(&chart, [[0.0, 64.0], [0.0, 32.0]]);
        // 0.5 · 8 + 1 is 8 above −3.
        assert_eq!(chart.dots, [[8.0, 8.0]]);
        let lines: Vec<_> = chart.lines.iter().map(|line| line.points.clone()).collect();
        assert_eq!(lines, [[[0.0, 2.0], [64.0, 10.0]], [[0.0, 4.0], [64.0, 20.0]]]);
    }

    #[test]
    fn the_calibration_sets_misses_against_the_level() {
        let chart = calibration(&metrics());
        check_axes(&chart, [[0.0, 32.0]; 2]);
        assert_eq!(chart.lines[0].points, [[0.0, 0.0], [32.0, 32.0]]);
        assert_eq!(chart.lines[1].points, [[27.0, 25.0], [13.0, 12.5], [5.0, 6.25], [2.0, 3.125], [1.0, 0.0]]);
        assert_eq!(chart.lines[1].name.as_deref(), Some("all (9 pairs)"));
    }

    #[test]
    fn a_chart_names_its_axes_and_lines() {
        let svg = calibration(&metrics()).svg();
        for word in ["misses expected, %", "misses found, %", "all (9 pairs)", "held-out predictions"] {
            assert!(svg.contains(word), "{word}");
        }
        // The stroke in the legend is the one line that is horizontal and 16 long.
        let strokes = svg.split("points=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
        let numbers =
            |stroke: &str| -> Vec<i32> { stroke.split([',', ' ']).filter_map(|number| number.parse().ok()).collect() };
        assert!(
            strokes.map(numbers).any(|ends| matches!(ends[..], [x, y, right, same] if right == x + 16 && same == y)),
            "{svg}"
        );
    }

    #[test]
    fn pictures_that_are_all_there_need_no_drawing() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!are_there(folder.path()).unwrap());
        let deep = FitMpcMetrics { depths: vec![fit()], ..metrics() };
        draw(folder.path(), &deep, &parts()).unwrap();
        assert!(are_there(folder.path()).unwrap());
    }
}
