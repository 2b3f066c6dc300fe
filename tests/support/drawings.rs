//! The charts of a report, read as a person reads them: values off the axes.

use roxmltree::{Document, Node};

/// A place in a chart, or the pair of values that is drawn there.
pub(crate) type Point = [f64; 2];

/// A chart.
pub(crate) struct Drawing {
    /// The values of the ticks of each axis, with their places.
    ticks: [Vec<(f64, f64)>; 2],
    /// Dots with their tooltips.
    pub(crate) dots: Vec<(Point, String)>,
    /// The ends of intervals with their tooltips.
    pub(crate) bars: Vec<(Point, Point, String)>,
    /// Lines and clouds: class, name, points.
    pub(crate) paths: Vec<(String, String, Vec<Point>)>,
    /// Labels: class, place, text.
    pub(crate) labels: Vec<(String, Point, String)>,
}

/// The charts of the figure with this title.
pub(crate) fn drawings(page: &str, title: &str) -> Vec<Drawing> {
    let (_, rest) = page
        .split_once(&format!("<h3>{title}</h3>"))
        .unwrap_or_else(|| panic!("{title} is left out"));
    let (figure, _) = rest.split_once("</figure>").unwrap();
    let charts = figure
        .split("<svg ")
        .skip(1)
        .map(|rest| rest.split_once("</svg>").unwrap().0);
    charts
        .map(|chart| Drawing::parse(&format!("<svg {chart}</svg>")))
        .collect()
}

impl Drawing {
    fn parse(text: &str) -> Self {
        let document = Document::parse(text).unwrap();
        let named = |name| {
            document
                .descendants()
                .filter(move |node| node.has_tag_name(name))
        };
        let labels: Vec<(String, Point, String)> = named("text")
            .map(|node| {
                (
                    class(node),
                    point(node, ["x", "y"]),
                    node.text().unwrap_or("").to_owned(),
                )
            })
            .collect();
        // A label's text stands four pixels below the middle of its height.
        let ticks =
            [("tick middle", 0, 0.0), ("tick end", 1, 4.0)].map(|(of_axis, axis, below)| {
                let on_axis = labels.iter().filter(|(class, ..)| class == of_axis);
                on_axis
                    .map(|(_, place, text)| (number(text).unwrap(), place[axis] - below))
                    .collect()
            });
        let of_class = |wanted: &'static str| {
            named("line").filter(move |node| node.attribute("class") == Some(wanted))
        };
        Self {
            ticks,
            dots: named("circle")
                .map(|node| (point(node, ["cx", "cy"]), tip(node)))
                .collect(),
            bars: of_class("bar")
                .map(|node| {
                    (
                        point(node, ["x1", "y1"]),
                        point(node, ["x2", "y2"]),
                        tip(node),
                    )
                })
                .collect(),
            paths: named("path")
                .map(|node| (class(node), tip(node), path(node)))
                .collect(),
            labels,
        }
    }

    /// The places of a value and of the next one by this step on an axis, as its first and last
    /// tick say.
    fn scale(&self, axis: usize) -> (f64, f64, f64) {
        let [(from, from_place), .., (to, to_place)] = self.ticks[axis][..] else {
            panic!("{:?}", self.ticks)
        };
        (from, from_place, (to_place - from_place) / (to - from))
    }

    /// The place of a pair of values.
    pub(crate) fn place(&self, values: Point) -> Point {
        [0, 1].map(|axis| {
            let (from, place, pixels) = self.scale(axis);
            place + (values[axis] - from) * pixels
        })
    }

    /// The values that are drawn at a place.
    pub(crate) fn values(&self, place: Point) -> Point {
        [0, 1].map(|axis| {
            let (from, at, pixels) = self.scale(axis);
            from + (place[axis] - at) / pixels
        })
    }

    /// The pixels of one unit on each axis.
    pub(crate) fn pixels(&self) -> Point {
        [0, 1].map(|axis| self.scale(axis).2.abs())
    }
}

/// A number as people write it: with commas between thousands and a true minus.
pub(crate) fn number(text: &str) -> Option<f64> {
    text.replace(',', "").replace('\u{2212}', "-").parse().ok()
}

fn class(node: Node<'_, '_>) -> String {
    node.attribute("class").unwrap().to_owned()
}

fn point(node: Node<'_, '_>, names: [&str; 2]) -> Point {
    names.map(|name| node.attribute(name).unwrap().parse().unwrap())
}

/// The title of a mark or of the group that it is in.
fn tip(node: Node<'_, '_>) -> String {
    let title = |node: Node<'_, '_>| {
        node.children()
            .find(|child| child.has_tag_name("title"))?
            .text()
            .map(str::to_owned)
    };
    title(node)
        .or_else(|| title(node.parent()?))
        .unwrap_or_default()
}

fn path(node: Node<'_, '_>) -> Vec<Point> {
    let steps = node.attribute("d").unwrap().split(['M', 'L']).skip(1);
    let point = |step: &str| {
        step.trim_end_matches("h0")
            .split_once(' ')
            .map(|(x, y)| [x, y].map(|at| at.parse().unwrap()))
    };
    steps.map(|step| point(step).unwrap()).collect()
}
