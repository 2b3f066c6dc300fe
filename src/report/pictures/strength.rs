//! How strong the models are: the ladder and the gates.

use crate::generation::Generation;
use crate::pipeline::stage::Stage;
use crate::report::chart::{Axis, Mark, Tone};
use crate::report::facts::{GatePath, Rung};
use crate::report::figure::{Figure, Sheet};
use crate::report::scale::{around, signed, with_room};

/// Up to this number of points, each has its label.
const LABELS_MAX: usize = 10;

pub fn draw(sheet: &mut Sheet<'_>) {
    if sheet.facts.ladder.len() < 2 {
        return sheet.absent("There is no ladder yet: it needs a finished gate.");
    }
    ladder(sheet);
    match sheet.facts.gates.last() {
        Some(latest) => gates(sheet, latest),
        None => sheet.absent(
            "There are no paths of gates: their games are gone, or gate.mode is not `sprt`.",
        ),
    }
}

fn ladder(sheet: &mut Sheet<'_>) {
    let facts = sheet.facts;
    let rungs = &facts.ladder;
    let ends = rungs
        .iter()
        .flat_map(|rung| [rung.standing.rating.elo_low, rung.standing.rating.elo_high]);
    let range = with_room(around(ends));
    let steps = rungs
        .iter()
        .filter(|rung| rung.promoted || rung.generation == Generation::NONE)
        .map(place)
        .collect();
    let mut marks = vec![Mark::line(Tone::Accent, steps, "")];
    let champion = facts.champion_rung();
    marks.extend(rungs.iter().map(|rung| {
        let is_champion =
            champion.is_some_and(|champion| champion.standing.content == rung.standing.content);
        Mark::Interval {
            tone: if rung.promoted {
                Tone::Accent
            } else {
                Tone::Muted
            },
            at: place(rung),
            ends: [rung.standing.rating.elo_low, rung.standing.rating.elo_high],
            tip: format!("{}: {} Elo", rung.standing.id, rung.standing.text()),
            label: (rungs.len() <= LABELS_MAX || is_champion)
                .then(|| rung.standing.id.to_string().replace("builtin:", "")),
        }
    }));
    let sentence = match (champion, facts.champion) {
        (Some(rung), _) => format!(
            "The champion {} stands {} Elo [{}, {}] over the start of the ladder",
            rung.standing.id,
            signed(rung.standing.rating.elo, 0),
            signed(rung.standing.rating.elo_low, 0),
            signed(rung.standing.rating.elo_high, 0)
        ),
        (None, Some(champion)) => {
            format!(
                "The champion {champion} was promoted by hand, and no match connects it with this ladder"
            )
        }
        (None, None) => "No candidate has been promoted yet".to_owned(),
    };
    let sentence = format!("{sentence}; bars are 95 % intervals.");
    let figure = Figure {
        title: "Ladder",
        sentence,
        source: sheet.invocation.data_file("gate/*/verdict.json"),
        command: sheet.invocation.model_command("list"),
    };
    let last = rungs
        .last()
        .map_or(Generation::NONE, |rung| rung.generation);
    let axes = [
        Axis::generations(Generation::NONE, last),
        Axis::real("Elo, all gates together", range),
    ];
    sheet.wide_chart(&figure, axes, &marks);
}

fn place(rung: &Rung) -> [f64; 2] {
    [f64::from(rung.generation), rung.standing.rating.elo]
}

fn gates(sheet: &mut Sheet<'_>, latest: &GatePath) {
    // Tests with other risks have other bounds.
    let same = |path: &&GatePath| {
        [path.test.alpha, path.test.beta] == [latest.test.alpha, latest.test.beta]
    };
    let paths: Vec<&GatePath> = sheet.facts.gates.iter().rev().filter(same).collect();
    let [low, high] = [latest.test.llr_low, latest.test.llr_high];
    let points = |path: &GatePath| -> Vec<[f64; 2]> {
        [[0.0, 0.0]]
            .into_iter()
            .chain(path.looks.iter().map(|look| [look.pairs as f64, look.llr]))
            .collect()
    };
    let found = paths.iter().flat_map(|path| &path.looks);
    let most = found
        .clone()
        .map(|look| look.pairs as f64)
        .fold(1.0, f64::max);
    let bound = |at: f64, name| Mark::line(Tone::Muted, vec![[0.0, at], [most, at]], name);
    let mut marks = vec![bound(high, "accept"), bound(low, "reject")];
    marks.extend(
        paths[1..]
            .iter()
            .rev()
            .map(|path| Mark::line(Tone::Faint, points(path), "")),
    );
    marks.push(Mark::line(
        Tone::Accent,
        points(latest),
        &format!("gen {}", latest.generation),
    ));
    let range = around(found.map(|look| look.llr).chain([low, high]));
    let (pairs, word) = (
        latest.looks.last().map_or(0, |look| look.pairs),
        latest.verdict.name(),
    );
    let figure = Figure {
        title: "Gates",
        sentence: match word {
            "inconclusive" => {
                format!("The latest gate was inconclusive after {pairs} pairs of games.")
            }
            word => format!("The latest gate {word} its candidate after {pairs} pairs of games."),
        },
        source: sheet.invocation.data_file("gate/*/games/*.parquet"),
        command: sheet
            .invocation
            .inspect_command(Stage::Gate, latest.generation),
    };
    let x = Axis::whole("pairs of games", [0.0, most]);
    sheet.chart(
        &figure,
        [x, Axis::real("log-likelihood ratio", range)],
        &marks,
    );
}
