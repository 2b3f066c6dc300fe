//! A picture with its title, what it shows in a sentence, and where its numbers are.

use super::chart::{Axis, Chart, Mark, NARROW, WIDE};
use super::facts::ReportFacts;
use super::markup::Markup;
use crate::artifact::VersionId;
use crate::run::invocation::Invocation;

/// What surrounds a picture.
#[derive(Debug)]
pub struct Figure {
    pub title: &'static str,
    /// One sentence with its main figures; also the text for screen readers.
    pub sentence: String,
    /// The files of its numbers.
    pub source: String,
    /// The command that prints them.
    pub command: String,
}

/// The page under construction, with what it shows and the call that makes it.
#[derive(Debug)]
pub struct Sheet<'a> {
    pub markup: &'a mut Markup,
    pub facts: &'a ReportFacts,
    pub invocation: &'a Invocation,
}

impl Sheet<'_> {
    /// Why a picture is left out.
    pub fn absent(&mut self, why: &str) {
        self.markup.leaf("p", &[("class", "absent")], why);
    }

    /// A figure of what a version's document says.
    pub fn of_version(&self, title: &'static str, sentence: String, id: VersionId) -> Figure {
        let source = self.invocation.model_file(&format!("{id}/model.json"));
        let command = self.invocation.model_command(&format!("show {id} --json"));
        Figure {
            title,
            sentence,
            source,
            command,
        }
    }

    /// A chart of one column.
    pub fn chart(&mut self, figure: &Figure, axes: [Axis; 2], marks: &[Mark]) {
        let chart = Chart {
            summary: &figure.sentence,
            size: NARROW,
            axes,
            marks,
        };
        self.figure(figure, "", |markup| chart.draw(markup));
    }

    /// A chart of two columns, which takes one on a phone.
    pub fn wide_chart(&mut self, figure: &Figure, axes: [Axis; 2], marks: &[Mark]) {
        self.figure(figure, "wide", |markup| {
            for (class, size) in [("at-wide", WIDE), ("at-narrow", NARROW)] {
                let chart = Chart {
                    summary: &figure.sentence,
                    size,
                    axes,
                    marks,
                };
                markup.element("div", &[("class", class)], |markup| chart.draw(markup));
            }
        });
    }

    /// Horizontal bars: the name before each, its share of the longest that a bar can be, and the
    /// label after it.
    pub fn bars<'b>(
        &mut self,
        figure: &Figure,
        bars: impl Iterator<Item = (&'b String, f64, String)>,
    ) {
        self.figure(figure, "", |markup| {
            markup.element("div", &[("class", "bars")], |markup| {
                for (name, share, label) in bars {
                    markup.leaf("b", &[], name);
                    let style = format!("width:{:.1}%", 100.0 * share.clamp(0.0, 1.0));
                    markup.element("span", &[], |markup| {
                        markup.leaf("i", &[("style", &style)], "");
                    });
                    markup.leaf("b", &[], &label);
                }
            });
        });
    }

    /// The figure around a picture.
    fn figure(&mut self, figure: &Figure, class: &str, draw: impl FnOnce(&mut Markup)) {
        self.markup
            .element("figure", &[("class", class)], |markup| {
                markup.leaf("h3", &[], figure.title);
                markup.leaf("p", &[], &figure.sentence);
                draw(markup);
                markup.element("figcaption", &[], |markup| {
                    source(markup, &figure.source, &figure.command);
                });
            });
    }
}

/// Where numbers are, and what prints them.
pub fn source(markup: &mut Markup, file: &str, command: &str) {
    references(markup, [("from", file), ("print", command)]);
}

/// Files or commands by what they are for.
pub fn references(markup: &mut Markup, references: [(&str, &str); 2]) {
    for (name, text) in references {
        markup.element("span", &[], |markup| {
            markup.leaf("b", &[], name);
            markup.text(" ");
            markup.leaf("code", &[], text);
        });
    }
}
