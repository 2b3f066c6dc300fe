//! The page around the pictures: its head, the figures that matter most, and the sections.

use super::facts::ReportFacts;
use super::figure::{Sheet, references};
use super::markup::Markup;
use super::pictures::{errors, mpc, strength, training, work};
use super::scale::{number, signed};
use super::tables;
use super::{HEAD, RENEWAL};
use crate::run::invocation::Invocation;

/// A section: its name, its class, and what draws it.
type Section = (&'static str, &'static str, fn(&mut Sheet<'_>));

/// The sections in order.
const SECTIONS: [Section; 7] = [
    ("Strength", "grid", strength::draw),
    ("Error", "grid", errors::draw),
    ("Training", "grid", training::draw),
    ("Selective search", "grid", mpc::draw),
    ("Work", "grid", work::draw),
    ("Data", "", tables::datasets),
    ("Lineage", "", tables::lineage),
];

/// The whole page.
pub fn page(facts: &ReportFacts, invocation: &Invocation) -> String {
    let mut markup = Markup::default();
    markup.constant(HEAD);
    markup.element("html", &[("lang", "en")], |markup| {
        markup.element("head", &[], |markup| head(markup, facts));
        markup.element("body", &[], |markup| {
            markup.element("header", &[], |markup| header(markup, facts));
            markup.element("main", &[], |markup| {
                for (name, class, draw) in SECTIONS {
                    markup.element("section", &[], |markup| {
                        markup.leaf("h2", &[], name);
                        let draw = |markup: &mut Markup| {
                            draw(&mut Sheet {
                                markup,
                                facts,
                                invocation,
                            });
                        };
                        markup.element("div", &[("class", class)], draw);
                    });
                }
            });
            markup.element("footer", &[], |markup| footer(markup, facts, invocation));
        });
    });
    markup.constant("\n");
    markup.finish()
}

fn head(markup: &mut Markup, facts: &ReportFacts) {
    markup.constant("<meta charset=\"utf-8\">");
    markup.constant("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
    markup.constant("<meta name=\"color-scheme\" content=\"light dark\">");
    if facts.is_running() {
        markup.constant(RENEWAL);
    }
    markup.leaf("title", &[], &format!("{} · renma", facts.run));
    markup.constant(concat!("<style>", include_str!("style.css"), "</style>"));
}

fn header(markup: &mut Markup, facts: &ReportFacts) {
    markup.constant(concat!(
        "<p class=\"brand\">",
        include_str!("mark.svg"),
        "renma</p>"
    ));
    markup.leaf("h1", &[], &facts.run);
    markup.element("p", &[("class", "state")], |markup| {
        let state = match facts.last_call.as_ref().map(|call| call.outcome.as_str()) {
            Some("accepted" | "rejected" | "inconclusive") => "finished",
            Some("budget") => "budget spent",
            Some(other) => other,
            None => "no run.json",
        };
        let class = if facts.is_running() {
            "badge live"
        } else {
            "badge"
        };
        markup.leaf("span", &[("class", class)], state);
        markup.text(&format!(
            "generation {} of {}",
            facts.finished,
            facts.asked.max(facts.finished)
        ));
        if let Some(call) = &facts.last_call {
            // To the minute, from times of the form `2026-11-21T17:00:00Z`.
            let minute = |time: &str| time.chars().take(16).collect::<String>().replace('T', " ");
            markup.text(&format!(
                " · {} to {} UTC",
                minute(&call.began),
                minute(&call.ended)
            ));
        }
    });
    markup.element("dl", &[], |markup| {
        for (name, value, note) in tiles(facts) {
            markup.element("div", &[], |markup| {
                markup.leaf("dt", &[], name);
                markup.leaf("dd", &[], &value);
                markup.leaf("dd", &[("class", "note")], &note);
            });
        }
    });
}

/// The figures that matter most: name, value, note.
fn tiles(facts: &ReportFacts) -> Vec<(&'static str, String, String)> {
    let mut tiles = Vec::new();
    let champion = facts
        .champion
        .map_or_else(|| "none yet".to_owned(), |id| id.to_string());
    let made = facts
        .champion_line()
        .map(|line| format!("made by generation {}", line.generation));
    tiles.push(("Champion", champion, made.unwrap_or_default()));
    if let Some(rung) = facts.champion_rung() {
        let rating = rung.standing.rating;
        let ends = format!(
            "{} to {} over the start",
            signed(rating.elo_low, 0),
            signed(rating.elo_high, 0)
        );
        tiles.push(("Elo", signed(rating.elo, 0), ends));
    }
    if let Some(error) = facts.champion_line().and_then(|line| line.exact_mae) {
        tiles.push((
            "Exact error",
            format!("{} discs", number(error, 2)),
            "mean, on the yardstick".to_owned(),
        ));
    }
    let games: u64 = facts.lines().filter_map(|line| line.games).sum();
    let positions: u64 = facts.lines().filter_map(|line| line.positions).sum();
    if 0 < games {
        tiles.push((
            "Self-play",
            format!("{} games", number(games as f64, 0)),
            format!("{} positions", number(positions as f64, 0)),
        ));
    }
    tiles
}

fn footer(markup: &mut Markup, facts: &ReportFacts, invocation: &Invocation) {
    let (made, all) = (
        invocation.run_command(&facts.run, "report"),
        invocation.run_command(&facts.run, "status --json"),
    );
    let note = "Errors are in discs; Elo comes from a joint fit to all gates. Hover over a mark for its numbers.";
    markup.leaf("p", &[("class", "absent")], note);
    markup.element("p", &[("class", "caption")], |markup| {
        references(markup, [("made by", &made), ("all figures", &all)]);
    });
}
