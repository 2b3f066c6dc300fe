//! What is better read than drawn: the datasets and the lineage.

use super::facts::{DatasetFacts, Descent, Facts, is_accepted};
use super::figure::{absent, source};
use super::invocation::{Invocation, Print};
use super::markup::Markup;
use super::scale::{number, signed};
use crate::pipeline::stage::Stage;

/// So many of the latest generations are in sight; the others can be opened.
const IN_SIGHT: usize = 10;

pub(super) fn datasets(markup: &mut Markup, facts: &Facts, invocation: &Invocation) {
    let sets: Vec<&DatasetFacts> = facts.datasets.iter().rev().collect();
    let Some(latest) = sets.first() else {
        return absent(markup, "No dataset of self-play is finished, or all are gone.");
    };
    let (recent, earlier) = sets.split_at(sets.len().min(IN_SIGHT));
    scrolled(markup, "Datasets", |markup| dataset_table(markup, recent));
    more(markup, earlier.len(), |markup| scrolled(markup, "Earlier datasets", |markup| dataset_table(markup, earlier)));
    let file = invocation.data_file("selfplay/*/manifest.json");
    markup.element("p", &[("class", "caption")], |markup| {
        source(markup, &file, &invocation.inspect_command(Stage::Generate, latest.generation));
    });
}

fn dataset_table(markup: &mut Markup, sets: &[&DatasetFacts]) {
    let head = ["Generation", "Games", "Positions", "Megabytes", "Bytes per position", "Content"];
    markup.element("table", &[], |markup| {
        markup.element("thead", &[], |markup| {
            markup
                .element("tr", &[], |markup| head.iter().for_each(|name| markup.leaf("th", &[("scope", "col")], name)));
        });
        markup.element("tbody", &[], |markup| sets.iter().for_each(|set| dataset_row(markup, set)));
    });
}

fn dataset_row(markup: &mut Markup, set: &DatasetFacts) {
    let count = |count: u64| number(count as f64, 0);
    let each = set.bytes as f64 / set.positions.max(1) as f64;
    let cells = [count(set.games), count(set.positions), number(set.bytes as f64 / 1e6, 2), number(each, 2)];
    markup.element("tr", &[], |markup| {
        markup.leaf("th", &[("scope", "row")], &set.generation.to_string());
        cells.iter().for_each(|cell| markup.leaf("td", &[], cell));
        markup.element("td", &[], |markup| markup.leaf("code", &[], &set.content));
    });
}

pub(super) fn lineage(markup: &mut Markup, facts: &Facts, invocation: &Invocation) {
    let descents: Vec<&Descent> = facts.descents.iter().rev().collect();
    if descents.is_empty() {
        return absent(markup, "No generation has begun.");
    }
    let (recent, earlier) = descents.split_at(descents.len().min(IN_SIGHT));
    let list = |markup: &mut Markup, descents: &[&Descent]| {
        markup
            .element("ol", &[("class", "lineage")], |markup| descents.iter().for_each(|descent| item(markup, descent)));
    };
    list(markup, recent);
    more(markup, earlier.len(), |markup| list(markup, earlier));
    let (files, command) = (invocation.model_file("lineage.json"), invocation.model_command("list", Print::Text));
    markup.element("p", &[("class", "caption")], |markup| source(markup, &files, &command));
}

fn item(markup: &mut Markup, Descent { generation, player, draft, line }: &Descent) {
    let class = if is_accepted(line.verdict) { "accepted" } else { "other" };
    markup.element("li", &[("class", class)], |markup| {
        markup.leaf("span", &[("class", "number")], &generation.to_string());
        markup.leaf("strong", &[], line.candidate.as_deref().unwrap_or("no candidate yet"));
        let mut words = Vec::new();
        words.extend(draft.map(|draft| format!("fitted to {draft}")));
        words.extend(player.as_ref().map(|player| format!("games by {player}")));
        markup.leaf("span", &[("class", "from")], &words.join(", "));
        let verdict = line.verdict.map_or("not gated yet".to_owned(), |verdict| verdict.name().to_owned());
        let elo = line.elo.map_or_else(String::new, elo_text);
        markup.leaf("span", &[("class", "verdict")], &(verdict + &elo));
    });
}

/// The points of a sweep have no Elo: it is clamped to something greater than this.
const ELO_MAX: f64 = 2399.0;

/// An Elo difference with its interval; where one end of that is unknown, the other end alone.
fn elo_text([elo, low, high]: [f64; 3]) -> String {
    let [low_text, high_text] = [low, high].map(|end| signed(end, 0));
    match [low <= -ELO_MAX, ELO_MAX <= high] {
        [false, false] => format!(" {} Elo [{low_text}, {high_text}]", signed(elo, 0)),
        [false, true] => format!(" > {low_text} Elo"),
        [true, false] => format!(" < {high_text} Elo"),
        [true, true] => String::new(),
    }
}

/// What is wider than a phone scrolls by itself.
fn scrolled(markup: &mut Markup, name: &str, body: impl FnOnce(&mut Markup)) {
    markup.element("div", &[("class", "scroll"), ("role", "region"), ("aria-label", name), ("tabindex", "0")], body);
}

fn more(markup: &mut Markup, count: usize, body: impl FnOnce(&mut Markup)) {
    if count == 0 {
        return;
    }
    markup.element("details", &[], |markup| {
        let noun = if count == 1 { "earlier generation" } else { "earlier generations" };
        markup.leaf("summary", &[], &format!("{count} {noun}"));
        body(markup);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_clamped_elo_is_shown() {
        assert_eq!(elo_text([58.4, 12.9, 104.2]), " +58 Elo [+13, +104]");
        assert_eq!(elo_text([374.0, 230.0, 2400.0]), " > +230 Elo");
        assert_eq!(elo_text([-2400.0, -2400.0, -250.0]), " < \u{2212}250 Elo");
        assert_eq!(elo_text([0.0, -2400.0, 2400.0]), "");
    }
}
