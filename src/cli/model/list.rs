//! `renma model list`.

use super::kind_word;
use crate::artifact::{DatasetEntry, ModelDocument};
use crate::cli::output::{narrow_table, terminal_width, thousands};
use crate::cli::session::Session;
use crate::pipeline::train::task::TrainMetrics;
use crate::run::log::utc;
use crate::run::models::list::{ListedVersion, ModelList};
use crate::run::standings::Standing;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::stdout;
use std::path::Path;

/// Marks an error on the rows that a version was trained on.
const TRAINING_MARK: &str = "*";

const HEAD: [&str; 12] = [
    "id",
    "kind",
    "parent",
    "datasets",
    "games",
    "positions",
    "MAE",
    "Elo",
    "verdict",
    "date",
    "content",
    "",
];

/// The columns that a narrow terminal does without, in the order in which they go.
const DISPENSABLE: [usize; 8] = [9, 10, 3, 4, 1, 5, 2, 8];

pub fn list(session: &Session, models: &Path, datasets: &Path) -> anyhow::Result<()> {
    let list = ModelList::read(models, datasets)?;
    let is_listed = |standing: &&Standing| {
        list.versions
            .iter()
            .any(|version| version.document.content == standing.content)
    };
    let unlisted = list
        .ladder
        .iter()
        .filter(|standing| !is_listed(standing))
        .map(unlisted_row);
    let rows = unlisted.chain(
        list.versions
            .iter()
            .map(|version| version_row(&list, version)),
    );
    let errors = error_words(
        list.versions
            .iter()
            .filter_map(|version| version.training.as_ref()),
    );
    let notes = format!("{errors}; Elo on the ladder of all gates, with its 95 % interval");
    let table = narrow_table(HEAD, rows, terminal_width(stdout()), &DISPENSABLE);
    session.answer(&json_of(&list), &format!("{table}\n{notes}"))
}

fn json_of(list: &ModelList) -> Value {
    let versions = || {
        list.versions
            .iter()
            .map(|version| (version.document.id, version))
    };
    let verdicts: BTreeMap<_, _> = versions()
        .filter_map(|(id, version)| Some((id, version.verdict?)))
        .collect();
    let dates = versions().filter_map(|(id, version)| Some((id, date_text(version.made_at?))));
    let documents: Vec<&ModelDocument> = list
        .versions
        .iter()
        .map(|version| &*version.document)
        .collect();
    json!({
        "champion": list.champion,
        "models": documents,
        "ladder": list.ladder,
        "verdicts": verdicts,
        "dates": dates.collect::<BTreeMap<_, _>>(),
    })
}

fn date_text(seconds: u64) -> String {
    utc(seconds)[..16].replace('T', " ")
}

/// A player of the ladder that is not a version of the registry, or no longer.
fn unlisted_row(standing: &Standing) -> [String; 12] {
    let kind = if standing.id.version().is_none() {
        "built-in"
    } else {
        "gone"
    };
    let (id, elo, content) = (
        standing.id.to_string(),
        standing.text(),
        standing.content.short(),
    );
    [
        &id, kind, "-", "-", "-", "-", "-", &elo, "-", "-", &content, "",
    ]
    .map(str::to_owned)
}

fn version_row(list: &ModelList, version: &ListedVersion) -> [String; 12] {
    let document = &version.document;
    let origin = &document.origin;
    let dash = || "-".to_owned();
    let sum = |count: fn(&DatasetEntry) -> u64| thousands(origin.datasets.iter().map(count).sum());
    let standing = list
        .ladder
        .iter()
        .find(|standing| standing.content == document.content);
    [
        document.id.to_string(),
        kind_word(origin.kind).to_owned(),
        origin
            .parent
            .as_ref()
            .map_or_else(dash, |parent| parent.id.to_string()),
        origin.datasets.len().to_string(),
        sum(|dataset| dataset.games),
        sum(|dataset| dataset.positions),
        version.training.as_ref().map_or_else(dash, error_text),
        standing.map_or_else(dash, Standing::text),
        version
            .verdict
            .map_or("-", |gate| gate.verdict.name())
            .to_owned(),
        version.made_at.map_or_else(dash, date_text),
        document.content.short(),
        if list.champion == Some(document.id) {
            "champion".into()
        } else {
            String::new()
        },
    ]
}

/// The error of a version, marked if it was not measured on held-out games.
fn error_text(training: &TrainMetrics) -> String {
    let mark = if training.held_out { "" } else { TRAINING_MARK };
    format!("{:.2}{mark}", training.after.all.mae)
}

/// What the errors of these versions were measured on.
fn error_words<'a>(trainings: impl Iterator<Item = &'a TrainMetrics>) -> String {
    let (held_out, others): (Vec<_>, Vec<_>) = trainings.partition(|training| training.held_out);
    let held_out = if held_out.is_empty() {
        ""
    } else {
        " on held-out games"
    };
    let others = if others.is_empty() {
        String::new()
    } else {
        format!(", {TRAINING_MARK} on the training rows")
    };
    format!("MAE in discs{held_out}{others}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_fits_80_columns() {
        let row = [
            "builtin:square-weights",
            "model",
            "builtin:square-weights",
            "12",
            "1,200,000",
            "72,000,000",
            "12.34*",
            "+1234 [+1200, +1268]",
            "inconclusive",
            "2026-11-21 17:00",
            "0123456789ab",
            "champion",
        ];
        let text = narrow_table(HEAD, [row.map(str::to_owned)], Some(80), &DISPENSABLE);
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        assert!(
            text.contains("+1234 [+1200, +1268]  inconclusive  champion"),
            "{text}"
        );
    }
}
