//! What is better read than drawn: the datasets and the lineage.

use super::facts::Descent;
use super::figure::{Sheet, source};
use super::markup::Markup;
use super::scale::number;
use crate::artifact::{Manifest, Verdict};
use crate::pipeline::stage::Stage;
use crate::statistics::elo::elo_text;

/// The number of latest generations that are in sight; the others can be opened.
const IN_SIGHT: usize = 10;

pub fn datasets(sheet: &mut Sheet<'_>) {
    let sets: Vec<&Manifest> = sheet.facts.datasets.iter().rev().collect();
    let Some(latest) = sets.first() else {
        return sheet.absent("No dataset of self-play is finished, or all are gone.");
    };
    let Sheet {
        markup, invocation, ..
    } = sheet;
    let (recent, earlier) = sets.split_at(sets.len().min(IN_SIGHT));
    scrolled(markup, "Datasets", |markup| dataset_table(markup, recent));
    more(markup, earlier.len(), |markup| {
        scrolled(markup, "Earlier datasets", |markup| {
            dataset_table(markup, earlier);
        });
    });
    let file = invocation.data_file("selfplay/*/manifest.json");
    markup.element("p", &[("class", "caption")], |markup| {
        source(
            markup,
            &file,
            &invocation.inspect_command(Stage::Generate, latest.generation),
        );
    });
}

fn dataset_table(markup: &mut Markup, sets: &[&Manifest]) {
    let head = [
        "Generation",
        "Games",
        "Positions",
        "Megabytes",
        "Bytes per position",
        "Content",
    ];
    markup.element("table", &[], |markup| {
        markup.element("thead", &[], |markup| {
            markup.element("tr", &[], |markup| {
                head.iter()
                    .for_each(|name| markup.leaf("th", &[("scope", "col")], name));
            });
        });
        markup.element("tbody", &[], |markup| {
            sets.iter().for_each(|set| dataset_row(markup, set));
        });
    });
}

fn dataset_row(markup: &mut Markup, set: &Manifest) {
    let [games, positions, bytes] = [
        set.done,
        set.rows("positions"),
        set.bytes("positions") + set.bytes("games"),
    ]
    .map(|count| count as f64);
    let cells = [
        (games, 0),
        (positions, 0),
        (bytes / 1e6, 2),
        (bytes / positions.max(1.0), 2),
    ];
    markup.element("tr", &[], |markup| {
        markup.leaf("th", &[("scope", "row")], &set.generation.to_string());
        cells
            .iter()
            .for_each(|&(value, decimals)| markup.leaf("td", &[], &number(value, decimals)));
        markup.element("td", &[], |markup| {
            markup.leaf("code", &[], &set.content.short());
        });
    });
}

pub fn lineage(sheet: &mut Sheet<'_>) {
    let descents: Vec<&Descent> = sheet.facts.descents.iter().rev().collect();
    if descents.is_empty() {
        return sheet.absent("No generation has begun.");
    }
    let Sheet {
        markup, invocation, ..
    } = sheet;
    let (recent, earlier) = descents.split_at(descents.len().min(IN_SIGHT));
    let list = |markup: &mut Markup, descents: &[&Descent]| {
        markup.element("ol", &[("class", "lineage")], |markup| {
            descents.iter().for_each(|descent| item(markup, descent));
        });
    };
    list(markup, recent);
    more(markup, earlier.len(), |markup| list(markup, earlier));
    let (files, command) = (
        invocation.model_file("lineage.json"),
        invocation.model_command("list"),
    );
    markup.element("p", &[("class", "caption")], |markup| {
        source(markup, &files, &command);
    });
}

fn item(
    markup: &mut Markup,
    Descent {
        player,
        draft,
        line,
    }: &Descent,
) {
    let class = if line.verdict == Some(Verdict::Accepted) {
        "accepted"
    } else {
        "other"
    };
    markup.element("li", &[("class", class)], |markup| {
        markup.leaf("span", &[("class", "number")], &line.generation.to_string());
        markup.leaf(
            "strong",
            &[],
            line.candidate.as_deref().unwrap_or("no candidate yet"),
        );
        let mut words = Vec::new();
        words.extend(draft.map(|draft| format!("fitted to {draft}")));
        words.extend(player.as_ref().map(|player| format!("games by {player}")));
        markup.leaf("span", &[("class", "from")], &words.join(", "));
        let verdict = line.verdict.map_or("not gated yet".to_owned(), |verdict| {
            verdict.name().to_owned()
        });
        let elo = line
            .elo
            .map(|elo| format!("{verdict}: {} Elo", elo_text(elo).replace('-', "\u{2212}")));
        markup.leaf("span", &[("class", "verdict")], &elo.unwrap_or(verdict));
    });
}

/// What is wider than a phone scrolls by itself.
fn scrolled(markup: &mut Markup, name: &str, body: impl FnOnce(&mut Markup)) {
    markup.element(
        "div",
        &[
            ("class", "scroll"),
            ("role", "region"),
            ("aria-label", name),
            ("tabindex", "0"),
        ],
        body,
    );
}

fn more(markup: &mut Markup, count: usize, body: impl FnOnce(&mut Markup)) {
    if count == 0 {
        return;
    }
    markup.element("details", &[], |markup| {
        let noun = if count == 1 {
            "earlier generation"
        } else {
            "earlier generations"
        };
        markup.leaf("summary", &[], &format!("{count} {noun}"));
        body(markup);
    });
}
