//! A picture with its title, what it shows in a sentence, and where its numbers are.

use super::chart::{Axis, Chart, Mark, NARROW, WIDE};
use super::invocation::Invocation;
use super::markup::Markup;
use crate::artifact::VersionId;

/// What surrounds a picture.
#[derive(Debug)]
pub(super) struct Figure {
    pub(super) title: &'static str,
    /// One sentence with its main figures; also the text for screen readers.
    pub(super) sentence: String,
    /// The files of its numbers.
    pub(super) source: String,
    /// The command that prints them.
    pub(super) command: String,
}

impl Figure {
    /// A figure of what a version's document says.
    pub(super) fn of_version(title: &'static str, sentence: String, id: VersionId, invocation: &Invocation) -> Self {
        let source = invocation.model_file(&format!("{id}/model.json"));
        let command = invocation.model_command(&format!("show {id} --json"));
        Self { title, sentence, source, command }
    }

    /// A chart of one column.
    pub(super) fn chart(&self, markup: &mut Markup, axes: [Axis; 2], marks: &[Mark]) {
        let chart = Chart { summary: &self.sentence, size: NARROW, axes, marks };
        self.with(markup, "", |markup| chart.draw(markup));
    }

    /// A chart of two columns, which takes one on a phone.
    pub(super) fn wide_chart(&self, markup: &mut Markup, axes: [Axis; 2], marks: &[Mark]) {
        self.with(markup, "wide", |markup| {
            for (class, size) in [("at-wide", WIDE), ("at-narrow", NARROW)] {
                let chart = Chart { summary: &self.sentence, size, axes, marks };
                markup.element("div", &[("class", class)], |markup| chart.draw(markup));
            }
        });
    }

    /// The figure around a picture.
    pub(super) fn with(&self, markup: &mut Markup, class: &str, draw: impl FnOnce(&mut Markup)) {
        markup.element("figure", &[("class", class)], |markup| {
            markup.leaf("h3", &[], self.title);
            markup.leaf("p", &[], &self.sentence);
            draw(markup);
            markup.element("figcaption", &[], |markup| source(markup, &self.source, &self.command));
        });
    }
}

/// Where numbers are, and what prints them.
pub(super) fn source(markup: &mut Markup, file: &str, command: &str) {
    references(markup, [("from", file), ("print", command)]);
}

/// Files or commands by what they are for.
pub(super) fn references(markup: &mut Markup, references: [(&str, &str); 2]) {
    for (name, text) in references {
        markup.element("span", &[], |markup| {
            markup.leaf("b", &[], name);
            markup.text(" ");
            code(markup, text);
        });
    }
}

/// A command or a path. It may be broken anywhere except in its options.
fn code(markup: &mut Markup, text: &str) {
    markup.element("code", &[], |markup| {
        for (place, word) in text.split(' ').enumerate() {
            markup.text(if place == 0 { "" } else { " " });
            if word.starts_with("--") { markup.leaf("i", &[], word) } else { markup.text(word) }
        }
    });
}

/// Why a picture is left out.
pub(super) fn absent(markup: &mut Markup, why: &str) {
    markup.leaf("p", &[("class", "absent")], why);
}
