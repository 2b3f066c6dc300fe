//! One chart as SVG: axes with units, marks with tooltips, and labels beside what they name. Colors
//! are classes, so that the page's style decides them; sizes are those of a phone's screen, so that
//! no text shrinks there.

use super::markup::Markup;
use super::scale::{Scale, ticks};
use crate::generation::Generation;

/// The width and height of a chart that takes one column.
pub const NARROW: [f64; 2] = [340.0, 232.0];
/// Those of one that takes two.
pub const WIDE: [f64; 2] = [720.0, 260.0];

const TOP: f64 = 26.0;
const BOTTOM: f64 = 40.0;
const LEFT: f64 = 44.0;
const RIGHT: f64 = 10.0;
/// The advance of a letter and the height of a line, in the page's font for charts.
const LETTER: f64 = 6.6;
const LINE: f64 = 14.0;
/// With more points than this, their dots would touch.
const DOTS_MAX: usize = 16;

/// A chart.
#[derive(Debug)]
pub struct Chart<'a> {
    /// What it shows, for screen readers.
    pub summary: &'a str,
    pub size: [f64; 2],
    /// The horizontal one and the vertical one.
    pub axes: [Axis; 2],
    pub marks: &'a [Mark],
}

/// An axis.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    /// What its numbers are, with their unit.
    pub name: &'static str,
    pub range: [f64; 2],
    /// Whether only whole numbers have a meaning.
    pub whole: bool,
}

/// How a mark is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// What the chart is about.
    Accent,
    /// The second series.
    Ink,
    /// Comparisons.
    Muted,
    /// What was before.
    Faint,
}

/// What is drawn.
#[derive(Debug)]
pub enum Mark {
    /// A line through points, named at its end. If there are tooltips, each point is a dot with its
    /// own.
    Line {
        tone: Tone,
        points: Vec<[f64; 2]>,
        name: String,
        tips: Vec<String>,
    },
    /// A value with its interval, its tooltip, and perhaps a label above it, or below if it has no
    /// interval.
    Interval {
        tone: Tone,
        at: [f64; 2],
        ends: [f64; 2],
        tip: String,
        label: Option<String>,
    },
    /// Many points without names.
    Cloud { points: Vec<[f64; 2]> },
}

impl Mark {
    /// A line without dots.
    pub fn line(tone: Tone, points: Vec<[f64; 2]>, name: &str) -> Self {
        Self::Line {
            tone,
            points,
            name: name.to_owned(),
            tips: Vec::new(),
        }
    }

    /// A line with a dot at each point.
    pub fn series(
        tone: Tone,
        points: Vec<[f64; 2]>,
        name: &str,
        tip: impl Fn([f64; 2]) -> String,
    ) -> Self {
        let tips = points.iter().map(|&point| tip(point)).collect();
        Self::Line {
            tone,
            points,
            name: name.to_owned(),
            tips,
        }
    }
}

impl Axis {
    pub fn real(name: &'static str, range: [f64; 2]) -> Self {
        Self {
            name,
            range,
            whole: false,
        }
    }

    pub fn whole(name: &'static str, range: [f64; 2]) -> Self {
        Self {
            name,
            range,
            whole: true,
        }
    }

    /// Generations up to the last, with room at both ends.
    pub fn generations(first: Generation, last: Generation) -> Self {
        let [first, last] = [first, last.max(first)].map(f64::from);
        let room = (0.04 * (last - first)).max(0.4);
        Self::whole("generation", [first - room, last + room])
    }
}

impl Tone {
    const fn class(self) -> &'static str {
        match self {
            Self::Accent => "accent",
            Self::Ink => "ink",
            Self::Muted => "muted",
            Self::Faint => "faint",
        }
    }
}

/// A chart's scales, and the labels to be set at the ends of its lines.
struct Frame {
    x: Scale,
    y: Scale,
    ends: Vec<(f64, Tone, String)>,
}

impl Chart<'_> {
    /// Draws it.
    pub fn draw(&self, markup: &mut Markup) {
        let ([width, height], [x, y]) = (self.size, self.axes);
        let letters = |mark: &Mark| {
            if let Mark::Line { name, .. } = mark {
                name.chars().count()
            } else {
                0
            }
        };
        let longest = self.marks.iter().map(letters).max().unwrap_or(0);
        let right = if longest == 0 {
            RIGHT
        } else {
            10.0 + LETTER * longest as f64
        };
        let mut frame = Frame {
            x: Scale {
                range: x.range,
                places: [LEFT, width - right],
            },
            y: Scale {
                range: y.range,
                places: [height - BOTTOM, TOP],
            },
            ends: Vec::new(),
        };
        let view = format!("0 0 {width} {height}");
        markup.element(
            "svg",
            &[
                ("viewBox", &view),
                ("role", "img"),
                ("aria-label", self.summary),
            ],
            |markup| {
                let [left, right] = frame.x.places;
                for (tick, text) in ticks(y.range, 4.0, y.whole) {
                    let place = frame.y.place(tick);
                    line(
                        markup,
                        if tick == 0.0 { "zero" } else { "grid" },
                        [left, place],
                        [right, place],
                    );
                    label(markup, "tick end", [left - 6.0, place + 4.0], &text);
                }
                let count = (right - left) / if x.whole { 36.0 } else { 55.0 };
                for (tick, text) in ticks(x.range, count, x.whole) {
                    label(
                        markup,
                        "tick middle",
                        [frame.x.place(tick), height - BOTTOM + 17.0],
                        &text,
                    );
                }
                label(markup, "axis", [0.0, 12.0], y.name);
                label(
                    markup,
                    "axis end",
                    [width.min(right + RIGHT), height - 5.0],
                    x.name,
                );
                self.marks.iter().for_each(|mark| frame.draw(mark, markup));
                frame.draw_ends(markup);
            },
        );
    }
}

impl Frame {
    fn at(&self, point: [f64; 2]) -> [f64; 2] {
        [self.x.place(point[0]), self.y.place(point[1])]
    }

    fn draw(&mut self, mark: &Mark, markup: &mut Markup) {
        match mark {
            Mark::Line {
                tone,
                points,
                name,
                tips,
            } => {
                let Some(&last) = points.last() else { return };
                let places = points.iter().map(|&point| self.at(point));
                let path: String = places
                    .enumerate()
                    .map(|(index, [x, y])| {
                        format!(
                            "{}{} {}",
                            if index == 0 { 'M' } else { 'L' },
                            short(x),
                            short(y)
                        )
                    })
                    .collect();
                let class = format!("line {}", tone.class());
                markup.element("path", &[("class", &class), ("d", &path)], |markup| {
                    tooltip(markup, name);
                });
                if !name.is_empty() {
                    self.ends.push((self.at(last)[1], *tone, name.to_owned()));
                }
                // Dots that would touch are drawn only where the pointer is.
                let (class, radius) = if points.len() <= DOTS_MAX {
                    ("", "2.5")
                } else {
                    ("hit ", "5")
                };
                let class = format!("{class}{}", tone.class());
                points
                    .iter()
                    .zip(tips)
                    .for_each(|(point, tip)| dot(markup, &class, self.at(*point), radius, tip));
            }
            Mark::Interval {
                tone,
                at,
                ends,
                tip,
                label: text,
            } => {
                let [x, _] = self.at(*at);
                let [low, high] = ends.map(|end| self.y.place(end));
                markup.element("g", &[("class", tone.class())], |markup| {
                    tooltip(markup, tip);
                    line(markup, "bar", [x, low], [x, high]);
                    dot(markup, "", self.at(*at), "4", "");
                });
                match text {
                    Some(text) if high < low => label(markup, "name middle", [x, high - 7.0], text),
                    Some(text) => label(markup, "name", [x - 4.0, low + 17.0], text),
                    None => {}
                }
            }
            Mark::Cloud { points } => {
                // A stroke of no length has round ends: a dot.
                let dots = points.iter().map(|&point| self.at(point));
                let path: String = dots
                    .map(|[x, y]| format!("M{} {}h0", short(x), short(y)))
                    .collect();
                markup.void("path", &[("class", "cloud"), ("d", &path)]);
            }
        }
    }

    /// The names of lines at their ends, moved apart where they would touch.
    fn draw_ends(mut self, markup: &mut Markup) {
        self.ends.sort_by(|left, right| left.0.total_cmp(&right.0));
        let mut least = f64::NEG_INFINITY;
        for (y, _, _) in &mut self.ends {
            *y = y.max(least);
            least = *y + LINE;
        }
        let mut most = self.y.places[0] - LINE / 2.0;
        for (y, _, _) in self.ends.iter_mut().rev() {
            *y = y.min(most);
            most = *y - LINE;
        }
        for (y, tone, name) in &self.ends {
            label(
                markup,
                &format!("name {}", tone.class()),
                [self.x.places[1] + 6.0, y + 4.0],
                name,
            );
        }
    }
}

/// A tooltip, unless it is empty.
fn tooltip(markup: &mut Markup, text: &str) {
    if !text.is_empty() {
        markup.leaf("title", &[], text);
    }
}

fn label(markup: &mut Markup, class: &str, place: [f64; 2], text: &str) {
    let [x, y] = place;
    markup.leaf(
        "text",
        &[("class", class), ("x", &short(x)), ("y", &short(y))],
        text,
    );
}

fn line(markup: &mut Markup, class: &str, from: [f64; 2], to: [f64; 2]) {
    let [x1, y1, x2, y2] = [from[0], from[1], to[0], to[1]].map(short);
    markup.void(
        "line",
        &[
            ("class", class),
            ("x1", &x1),
            ("y1", &y1),
            ("x2", &x2),
            ("y2", &y2),
        ],
    );
}

fn dot(markup: &mut Markup, class: &str, place: [f64; 2], radius: &str, tip: &str) {
    let [x, y] = place;
    let class = format!("dot {class}");
    let attributes = [
        ("class", class.as_str()),
        ("cx", &short(x)),
        ("cy", &short(y)),
        ("r", radius),
    ];
    markup.element("circle", &attributes, |markup| tooltip(markup, tip));
}

/// A place to a tenth of a pixel.
fn short(place: f64) -> String {
    let text = format!("{place:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chart of 10 by 10 units, each ten pixels, between 44 and 144 and between 126 and 26.
    fn drawn(marks: &[Mark]) -> String {
        let axes = [
            Axis::whole("turn", [0.0, 10.0]),
            Axis::real("discs", [0.0, 10.0]),
        ];
        let mut markup = Markup::default();
        Chart {
            summary: "all",
            size: [220.0, 166.0],
            axes,
            marks,
        }
        .draw(&mut markup);
        markup.finish()
    }

    #[test]
    fn every_mark_has_its_place_and_its_class() {
        let tips = ["a", "b"].map(str::to_owned).to_vec();
        let interval = |tone, at, ends, tip: &str, label: &str| Mark::Interval {
            tone,
            at,
            ends,
            tip: tip.to_owned(),
            label: Some(label.to_owned()),
        };
        let found = drawn(&[
            Mark::Line {
                tone: Tone::Accent,
                points: vec![[0.0, 0.0], [10.0, 10.0]],
                name: "ten letter".into(),
                tips,
            },
            Mark::line(Tone::Muted, vec![[0.0, 10.0], [10.0, 10.0]], "up"),
            Mark::line(Tone::Ink, vec![[5.0, 5.0]], ""),
            interval(Tone::Faint, [2.0, 5.0], [4.0, 7.0], "between", "above"),
            interval(Tone::Muted, [4.0, 0.0], [0.0, 0.0], "", "below"),
            Mark::Cloud {
                points: vec![[1.0, 1.0], [2.0, 2.25]],
            },
        ]);
        let expected = [
            r#"<svg viewBox="0 0 220 166" role="img" aria-label="all">"#,
            r#"<line class="zero" x1="44" y1="126" x2="144" y2="126"/><text class="tick end" x="38" y="130">0</text>"#,
            r#"<line class="grid" x1="44" y1="76" x2="144" y2="76"/><text class="tick end" x="38" y="80">5</text>"#,
            r#"<line class="grid" x1="44" y1="26" x2="144" y2="26"/><text class="tick end" x="38" y="30">10</text>"#,
            r#"<text class="tick middle" x="44" y="143">0</text>"#,
            r#"<text class="tick middle" x="94" y="143">5</text>"#,
            r#"<text class="tick middle" x="144" y="143">10</text>"#,
            r#"<text class="axis" x="0" y="12">discs</text><text class="axis end" x="154" y="161">turn</text>"#,
            r#"<path class="line accent" d="M44 126L144 26"><title>ten letter</title></path>"#,
            r#"<circle class="dot accent" cx="44" cy="126" r="2.5"><title>a</title></circle>"#,
            r#"<circle class="dot accent" cx="144" cy="26" r="2.5"><title>b</title></circle>"#,
            r#"<path class="line muted" d="M44 26L144 26"><title>up</title></path>"#,
            r#"<path class="line ink" d="M94 76"></path>"#,
            r#"<g class="faint"><title>between</title><line class="bar" x1="64" y1="86" x2="64" y2="56"/>"#,
            r#"<circle class="dot " cx="64" cy="76" r="4"></circle></g>"#,
            r#"<text class="name middle" x="64" y="49">above</text>"#,
            r#"<g class="muted"><line class="bar" x1="84" y1="126" x2="84" y2="126"/>"#,
            r#"<circle class="dot " cx="84" cy="126" r="4"></circle></g><text class="name" x="80" y="143">below</text>"#,
            r#"<path class="cloud" d="M54 116h0M64 103.5h0"/>"#,
            r#"<text class="name accent" x="150" y="30">ten letter</text>"#,
            r#"<text class="name muted" x="150" y="44">up</text></svg>"#,
        ];
        assert_eq!(found, expected.concat());
    }

    #[test]
    fn names_at_the_bottom_stand_above_each_other() {
        let line = |name| Mark::line(Tone::Ink, vec![[0.0, 5.0], [10.0, 0.0]], name);
        let found = drawn(&[line("first"), line("second"), line("third")]);
        for (name, y) in [("first", 95), ("second", 109), ("third", 123)] {
            assert!(
                found.contains(&format!("y=\"{y}\">{name}</text>")),
                "{found}"
            );
        }
    }

    #[test]
    fn dots_that_would_touch_are_seen_under_the_pointer() {
        let points = |count: u32| (0..count).map(|x| [f64::from(x) / 2.0, 1.0]).collect();
        let dots = |count| {
            drawn(&[Mark::series(Tone::Ink, points(count), "", |[x, _]| {
                x.to_string()
            })])
        };
        assert_eq!(dots(16).matches("class=\"dot ink\"").count(), 16);
        assert_eq!(dots(17).matches("class=\"dot hit ink\"").count(), 17);
    }
}
