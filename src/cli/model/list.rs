//! `renma model list`: the versions of a registry, a line each.

use super::kind_word;
use crate::artifact::model::champion::ChampionFile;
use crate::artifact::model::document::ModelDocument;
use crate::artifact::model::registry::Registry;
use crate::cli::output::{print, print_json, table, thousands};
use crate::cli::session::Session;
use crate::pipeline::train::task::TrainMetrics;
use crate::run::folders::{RunGate, gates};
use crate::run::log::{CallOutcome, RUN_LOG_NAME, read_calls, utc};
use crate::run::standings::{Standing, standings};
use crate::run::summary::train_metrics;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;

/// Marks an error on the rows that a version was trained on.
const TRAINING_MARK: &str = "*";

pub(super) fn list(session: &Session, models: &Path, datasets: &Path) -> anyhow::Result<()> {
    let documents = Registry::new(models).documents()?;
    let champion = ChampionFile::read(models)?.champion().map(|promotion| promotion.id);
    let gates = gates(datasets)?;
    let ladder = standings(datasets)?;
    let dates = dates(models)?;
    if session.json {
        let verdicts = documents.iter().filter_map(|document| {
            let gate = last_gate(&gates, document)?;
            Some((document.id, json!({"generation": gate.generation, "verdict": gate.verdict.verdict})))
        });
        let verdicts: BTreeMap<_, _> = verdicts.collect();
        let models =
            json!({"champion": champion, "models": documents, "ladder": ladder, "verdicts": verdicts, "dates": dates});
        return print_json(&models);
    }
    let head =
        ["id", "kind", "parent", "datasets", "games", "positions", "MAE", "Elo", "verdict", "date", "content", ""];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let of_registry = |standing: &&Standing| documents.iter().any(|document| document.content == standing.content);
    rows.extend(ladder.iter().filter(|standing| !of_registry(standing)).map(|standing| {
        let dash = || "-".to_owned();
        let kind = if standing.id.version().is_none() { "built-in" } else { "gone" };
        let [parent, datasets, games, positions, error] = std::array::from_fn(|_| dash());
        let id = standing.id.to_string();
        let content = standing.content.short();
        [id, kind.to_owned(), parent, datasets, games, positions, error, standing.text(), dash(), dash(), content]
            .into()
    }));
    let trainings: Vec<Option<TrainMetrics>> =
        documents.iter().map(|document| train_metrics(&documents, document)).collect();
    rows.extend(documents.iter().zip(&trainings).map(|(document, training)| {
        let origin = &document.origin;
        let sum = |count: fn(&ModelDocument) -> u64| thousands(count(document));
        let standing = ladder.iter().find(|standing| standing.content == document.content);
        let verdict = last_gate(&gates, document).map(|gate| gate.verdict.verdict.name());
        vec![
            document.id.to_string(),
            kind_word(origin.kind).to_owned(),
            origin.parent.as_ref().map_or("-".to_owned(), |parent| parent.id.to_string()),
            origin.datasets.len().to_string(),
            sum(|document| document.origin.datasets.iter().map(|dataset| dataset.games).sum()),
            sum(|document| document.origin.datasets.iter().map(|dataset| dataset.positions).sum()),
            training.as_ref().map_or("-".to_owned(), error_text),
            standing.map_or("-".to_owned(), Standing::text),
            verdict.unwrap_or("-").to_owned(),
            dates.get(&document.id.to_string()).cloned().unwrap_or("-".to_owned()),
            document.content.short(),
            if champion == Some(document.id) { "champion".into() } else { String::new() },
        ]
    }));
    let judged = judged_words(trainings.iter().flatten());
    let notes = format!("{judged}; Elo on the ladder of all gates, with its 95 % interval");
    Ok(print(&format!("{}\n{notes}", table(&rows)))?)
}

/// The error of a version, with a mark if it is not one on held-out games.
fn error_text(training: &TrainMetrics) -> String {
    let mark = if training.held_out { "" } else { TRAINING_MARK };
    format!("{:.2}{mark}", training.after.mae)
}

/// What the errors of these versions are errors of.
fn judged_words<'a>(trainings: impl Iterator<Item = &'a TrainMetrics>) -> String {
    let (held_out, others): (Vec<_>, Vec<_>) = trainings.partition(|training| training.held_out);
    let held_out = if held_out.is_empty() { "" } else { " on held-out games" };
    let others = if others.is_empty() { String::new() } else { format!(", {TRAINING_MARK} on the training rows") };
    format!("MAE in discs{held_out}{others}")
}

/// The latest gate that a version was the candidate of.
fn last_gate<'a>(gates: &'a [RunGate], document: &ModelDocument) -> Option<&'a RunGate> {
    gates.iter().rev().find(|gate| gate.verdict.candidate.content == document.content)
}

/// When each version was made, in UTC, as far as the run's log tells.
fn dates(models: &Path) -> anyhow::Result<BTreeMap<String, String>> {
    let calls = read_calls(&models.join(RUN_LOG_NAME))?;
    let making = calls.iter().filter(|call| call.outcome == CallOutcome::Done && call.stage != "promote");
    let dated = making.filter_map(|call| {
        let ended = utc(call.began + call.seconds as u64);
        Some((call.id.clone()?, ended[..16].replace('T', " ")))
    });
    Ok(dated.collect())
}
