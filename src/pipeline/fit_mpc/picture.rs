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
        publish_bytes(&folder.join(PICTURE_NAMES[0]), scatter(fit, parts).as_bytes())?;
        publish_bytes(&folder.join(PICTURE_NAMES[1]), residual(fit, parts).as_bytes())?;
    }
    publish_bytes(&folder.join(PICTURE_NAMES[2]), calibration(metrics).as_bytes())
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
fn scatter(fit: &DepthFit, parts: &[Vec<Sample>]) -> String {
    let lines = [(0.0, RED), (1.0, ORANGE), (-1.0, ORANGE)].map(|(margin, color)| {
        let at = |shallow: f64| {
            let deviation = discs(f64::from(fit.sigma)) + fit.growth * shallow.abs();
            fit.slope * shallow + discs(f64::from(fit.offset)) + margin * fit.quantiles[1] * deviation
        };
        let points = (-32..=32).map(|step| [2.0 * f64::from(step), at(2.0 * f64::from(step))]).collect();
        Line { color, name: None, points }
    });
    let axes = [("shallow value, discs", -64.0, 64.0), ("deep value, discs", -64.0, 64.0)];
    Chart { title: title(fit), axes, dots: points(fit, parts), lines: lines.into() }.svg()
}

/// The residual against |shallow|, with the fitted deviation and its margin of 95 %.
fn residual(fit: &DepthFit, parts: &[Vec<Sample>]) -> String {
    let residual = |[shallow, deep]: [f64; 2]| deep - fit.slope * shallow - discs(f64::from(fit.offset));
    let dots = points(fit, parts).into_iter().map(|point| [point[0].abs(), residual(point).abs()]);
    let lines = [(1.0, RED), (fit.quantiles[2], ORANGE)].map(|(times, color)| {
        let at = |shallow: f64| times * (discs(f64::from(fit.sigma)) + fit.growth * shallow);
        Line { color, name: None, points: [0.0, 64.0].map(|shallow| [shallow, at(shallow)]).into() }
    });
    let axes = [("|shallow value|, discs", 0.0, 64.0), ("|residual|, discs", 0.0, 32.0)];
    Chart { title: title(fit), axes, dots: dots.collect(), lines: lines.into() }.svg()
}

/// The miss rate of each group of held-out predictions over the nominal one.
fn calibration(metrics: &FitMpcMetrics) -> String {
    let groups = metrics.held_out.iter().enumerate().map(|(index, group)| {
        let points = LEVELS.iter().zip(group.miss_rates).map(|(&level, rate)| [f64::from(100 - level), 100.0 * rate]);
        let (red, green, blue) = Palette99::pick(index).rgb();
        let name = Some(format!("{} ({} pairs)", group.group, group.pairs));
        Line { color: RGBColor(red, green, blue), name, points: points.collect() }
    });
    let nominal = Line { color: RGBColor(0x99, 0x99, 0x99), name: None, points: [[0.0, 0.0], [32.0, 32.0]].into() };
    let axes = [("misses expected, %", 0.0, 32.0), ("misses found, %", 0.0, 32.0)];
    let title = "held-out predictions outside the margin".to_owned();
    Chart { title, axes, dots: Vec::new(), lines: [nominal].into_iter().chain(groups).collect() }.svg()
}
