//! Pictures of a fit, as SVG written by hand: plain shapes and a few words, the same bytes for the same figures.

use super::metrics::{DepthFit, FitMpcMetrics};
use super::sample::Sample;
use crate::artifact::error::ArtifactError;
use crate::artifact::output::{FileKind, first_bytes};
use crate::artifact::publish::{create_folder, exists, publish_bytes};
use crate::engine::search::mpc_level::LEVELS;
use std::fmt::Write;
use std::path::Path;

/// The files of the pictures in their folder.
pub const PICTURE_NAMES: [&str; 3] = ["scatter.svg", "residual.svg", "calibration.svg"];

/// A picture as `draw` makes it.
pub const PICTURE_FILE: FileKind = FileKind {
    name: "a picture of a fit",
    matches: |path| Ok(first_bytes(path, HEAD.len() as u64)? == HEAD.as_bytes()),
};

const HEAD: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=";

/// The empty squares of the pictures of one pair of depths.
const EMPTIES: u8 = 33;

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

/// A picture with two axes.
struct Canvas {
    text: String,
    x: [f64; 2],
    y: [f64; 2],
}

/// Size, margins and steps between the lines of the grid.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 480.0;
const MARGIN: f64 = 56.0;
const STEPS: u32 = 8;

impl Canvas {
    fn new(title: &str, [x_name, y_name]: [&str; 2], x: [f64; 2], y: [f64; 2]) -> Self {
        let text = format!(
            "{HEAD}\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n<g stroke=\"none\" text-anchor=\"middle\">\n"
        );
        let mut canvas = Self { text, x, y };
        canvas.words(WIDTH / 2.0, MARGIN / 2.0, title);
        canvas.words(WIDTH / 2.0, HEIGHT - MARGIN / 4.0, x_name);
        canvas.words(MARGIN, MARGIN * 0.8, y_name);
        canvas.text += "</g>\n";
        for step in 0..=STEPS {
            let part = |[from, to]: [f64; 2]| from + (to - from) * f64::from(step) / f64::from(STEPS);
            let (at_x, at_y) = (part(x), part(y));
            canvas.line("stroke=\"#ddd\"", [[at_x, y[0]], [at_x, y[1]]]);
            canvas.line("stroke=\"#ddd\"", [[x[0], at_y], [x[1], at_y]]);
            let (left, bottom) = (canvas.place([at_x, y[0]]), canvas.place([x[0], at_y]));
            canvas.words(left[0] - 8.0, left[1] + 16.0, &format!("{at_x:.0}"));
            canvas.words(bottom[0] - 32.0, bottom[1] + 4.0, &format!("{at_y:.1}"));
        }
        canvas
    }

    /// Where a point lies, in units of the picture.
    fn place(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        let part = |value: f64, [from, to]: [f64; 2]| ((value - from) / (to - from)).clamp(0.0, 1.0);
        [MARGIN + part(x, self.x) * (WIDTH - 2.0 * MARGIN), HEIGHT - MARGIN - part(y, self.y) * (HEIGHT - 2.0 * MARGIN)]
    }

    fn words(&mut self, x: f64, y: f64, words: &str) {
        let words = words.replace('&', "&amp;").replace('<', "&lt;");
        writeln!(self.text, "<text x=\"{x:.1}\" y=\"{y:.1}\">{words}</text>").expect("a text grows");
    }

    fn line(&mut self, style: &str, points: impl IntoIterator<Item = [f64; 2]>) {
        let mut path = String::new();
        for point in points {
            let [x, y] = self.place(point);
            write!(path, "{x:.1},{y:.1} ").expect("a text grows");
        }
        writeln!(self.text, "<polyline fill=\"none\" {style} points=\"{}\"/>", path.trim_end()).expect("a text grows");
    }

    fn dot(&mut self, point: [f64; 2]) {
        let [x, y] = self.place(point);
        writeln!(self.text, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"1.5\" fill=\"#36c\" fill-opacity=\"0.5\"/>")
            .expect("a text grows");
    }

    fn finish(mut self) -> String {
        self.text += "</svg>\n";
        self.text
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
    let ends = [-64.0, 64.0];
    let mut canvas = Canvas::new(&title(fit), ["shallow value, discs", "deep value, discs"], ends, ends);
    points(fit, parts).into_iter().for_each(|point| canvas.dot(point));
    for (margin, style) in [(0.0, "stroke=\"#c33\""), (1.0, "stroke=\"#c93\""), (-1.0, "stroke=\"#c93\"")] {
        let at = |shallow: f64| {
            let deviation = discs(f64::from(fit.sigma)) + fit.growth * shallow.abs();
            fit.slope * shallow + discs(f64::from(fit.offset)) + margin * fit.quantiles[1] * deviation
        };
        canvas.line(style, (-32..=32).map(|step| [2.0 * f64::from(step), at(2.0 * f64::from(step))]));
    }
    canvas.finish()
}

/// What the line leaves over against |shallow|, with the fitted deviation and its margin of 95 %.
fn residual(fit: &DepthFit, parts: &[Vec<Sample>]) -> String {
    let names = ["|shallow value|, discs", "|rest|, discs"];
    let mut canvas = Canvas::new(&title(fit), names, [0.0, 64.0], [0.0, 32.0]);
    for [shallow, deep] in points(fit, parts) {
        canvas.dot([shallow.abs(), (deep - fit.slope * shallow - discs(f64::from(fit.offset))).abs()]);
    }
    for (times, style) in [(1.0, "stroke=\"#c33\""), (fit.quantiles[2], "stroke=\"#c93\"")] {
        let at = |shallow: f64| times * (discs(f64::from(fit.sigma)) + fit.growth * shallow);
        canvas.line(style, [0.0, 64.0].map(|shallow| [shallow, at(shallow)]));
    }
    canvas.finish()
}

/// The miss rate of each group of held-out predictions over the nominal one.
fn calibration(metrics: &FitMpcMetrics) -> String {
    const COLORS: [&str; 8] = ["#000", "#c33", "#3a3", "#36c", "#c93", "#939", "#399", "#999"];
    let names = ["misses expected, %", "misses found, %"];
    let mut canvas = Canvas::new("held-out predictions outside the margin", names, [0.0, 32.0], [0.0, 32.0]);
    canvas.line("stroke=\"#999\" stroke-dasharray=\"4\"", [[0.0, 0.0], [32.0, 32.0]]);
    for (index, group) in metrics.held_out.iter().enumerate() {
        let color = COLORS[index % COLORS.len()];
        let points = LEVELS.iter().zip(group.miss_rates).map(|(&level, rate)| [f64::from(100 - level), 100.0 * rate]);
        canvas.line(&format!("stroke=\"{color}\""), points);
        let row = MARGIN + 20.0 + 16.0 * index as f64;
        let words = format!("{} ({} pairs)", group.group, group.pairs).replace('<', "&lt;");
        writeln!(canvas.text, "<text x=\"{:.1}\" y=\"{row:.1}\" fill=\"{color}\">{words}</text>", MARGIN + 12.0)
            .expect("a text grows");
    }
    canvas.finish()
}
