//! `renma model show`: one model, its lineage both ways, and what changed against another.

use super::kind_word;
use crate::artifact::dataset::manifest::Manifest;
use crate::artifact::hash::ContentHash;
use crate::artifact::model::champion::ChampionFile;
use crate::artifact::model::document::{DatasetEntry, ModelDocument, ModelKind, Origin};
use crate::artifact::model::name::{ModelName, VersionId};
use crate::artifact::model::reference::{LoadedModel, load_model};
use crate::artifact::model::registry::Registry;
use crate::artifact::model::version::pattern_set_hash;
use crate::artifact::publish::exists;
use crate::cli::output::{print, print_json, table, thousands};
use crate::cli::session::Session;
use crate::run::folders::{RunGate, gates, generation_folder, generations};
use crate::run::standings::standings;
use crate::run::summary::train_metrics;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A dataset that a model was trained on, or that it played.
#[derive(Debug, Serialize)]
struct DatasetLink {
    generation: u32,
    content: ContentHash,
    games: u64,
    positions: u64,
    /// Where it lies, if it is still there.
    folder: Option<String>,
}

/// What changed from one model to another.
#[derive(Debug, Serialize)]
struct Changes {
    against: ModelName,
    /// Config keys and figures with both values, the other model's first.
    config: BTreeMap<String, [Value; 2]>,
    metrics: BTreeMap<String, [Value; 2]>,
    /// Weights that differ, of all; none if the patterns are others.
    weights_changed: Option<u64>,
    weights: u64,
    /// The largest change of a weight, in millidiscs.
    weight_change_max: Option<i32>,
}

pub(super) fn show(
    session: &Session,
    name: &str,
    against: Option<&str>,
    models: &Path,
    datasets: &Path,
) -> anyhow::Result<()> {
    let loaded = load_model(name, models)?;
    let documents = Registry::new(models).documents()?;
    let gates = gates(datasets)?;
    let trained_on = trained_on(&loaded, datasets)?;
    let played = played(&loaded, datasets)?;
    let children = documents
        .iter()
        .filter(|document| document.origin.parent.as_ref().is_some_and(|parent| parent.content == loaded.content));
    let children: Vec<VersionId> = children.map(|document| document.id).collect();
    let is_player = |gate: &&RunGate| {
        [&gate.verdict.candidate, &gate.verdict.baseline].iter().any(|player| player.content == loaded.content)
    };
    let met: Vec<&RunGate> = gates.iter().filter(is_player).collect();
    let history = ChampionFile::read(models)?.history;
    let promotion = history.iter().rposition(|promotion| promotion.content == loaded.content);
    let standing = standings(datasets)?.into_iter().find(|standing| standing.content == loaded.content);
    let metrics = loaded.document.as_ref().and_then(|document| train_metrics(&documents, document));
    let changes =
        against.map(|other| load_model(other, models)).transpose()?.map(|other| changes(&loaded, &other, &documents));
    let set = loaded.model.evaluation.set();
    if session.json {
        let met = met
            .iter()
            .map(|gate| json!({"generation": gate.generation, "folder": gate.folder.to_string_lossy(), "verdict": gate.verdict}));
        return print_json(&json!({
            "id": loaded.id,
            "content": loaded.content,
            "features": set.name(),
            "instances": set.instances().len(),
            "phases": set.phase_count(),
            "weights": loaded.model.evaluation.weights().len(),
            "mpc_entries": loaded.model.mpc.entries().len(),
            "mae": metrics.as_ref().map(|metrics| metrics.after.mae),
            "held_out": metrics.as_ref().map(|metrics| metrics.held_out),
            "elo": standing.map(|standing| standing.rating),
            "champion": promotion.is_some_and(|place| place + 1 == history.len()),
            "promoted": promotion.is_some(),
            "trained_on": trained_on,
            "played": played,
            "children": children,
            "gates": met.collect::<Vec<_>>(),
            "changes": changes,
            "document": loaded.document,
        }));
    }
    let mut rows = vec![
        row("model", &format!("{} ({})", loaded.id, loaded.content.short())),
        row("patterns", &format!("{}, {} instances, {} phases", set.name(), set.instances().len(), set.phase_count())),
    ];
    rows.extend(loaded.document.as_ref().map(|document| {
        let origin = &document.origin;
        let kind = format!("{} by {}, step {}", kind_word(origin.kind), origin.stage, origin.step.short());
        row("kind", &kind)
    }));
    rows.extend(metrics.map(|metrics| {
        let judged = if metrics.held_out { "held-out games" } else { "the training rows: no games were held out" };
        row("error", &format!("{:.2} discs on {judged}", metrics.after.mae))
    }));
    rows.extend(standing.map(|standing| row("Elo", &format!("{} on the ladder of all gates", standing.text()))));
    rows.extend(promotion.map(|place| {
        let now = if place + 1 == history.len() { "champion" } else { "champion before" };
        row("champion", &format!("{now}, promotion {} of {}", place + 1, history.len()))
    }));
    rows.extend(
        loaded
            .document
            .as_ref()
            .and_then(|document| document.origin.parent.as_ref())
            .map(|parent| row("parent", &format!("{} ({})", parent.id, parent.content.short()))),
    );
    rows.extend(trained_on.iter().map(|link| row("trained on", &link.text())));
    rows.extend(children.iter().map(|child| row("child", &child.to_string())));
    rows.extend(played.iter().map(|link| row("played", &link.text())));
    rows.extend(met.iter().map(|gate| row("gate", &gate_text(gate))));
    rows.extend(changes.iter().flat_map(Changes::rows));
    Ok(print(&table(&rows))?)
}

fn row(name: &str, text: &str) -> Vec<String> {
    // A leading column of names; the text is one cell, so that it is not aligned to the right.
    vec![format!("{name:<12}{text}")]
}

impl DatasetLink {
    fn text(&self) -> String {
        let place = self.folder.as_ref().map_or("gone", String::as_str);
        let (games, positions) = (thousands(self.games), thousands(self.positions));
        format!(
            "generation {}: {games} games, {positions} positions ({}), {place}",
            self.generation,
            self.content.short()
        )
    }
}

fn gate_text(gate: &RunGate) -> String {
    let verdict = &gate.verdict;
    let score = &verdict.score;
    format!(
        "generation {}: {} over {}: {}, Elo {:+.0} [{:+.0}, {:+.0}], {}",
        gate.generation,
        verdict.candidate.id,
        verdict.baseline.id,
        verdict.verdict.name(),
        score.elo,
        score.elo_low,
        score.elo_high,
        gate.folder.display()
    )
}

/// The datasets behind a model, with their folders as far as they are still there.
fn trained_on(loaded: &LoadedModel, datasets: &Path) -> anyhow::Result<Vec<DatasetLink>> {
    let entries = loaded.document.iter().flat_map(|document| &document.origin.datasets);
    entries
        .map(|entry| {
            let folder = folder_of(entry, datasets)?.map(|folder| folder.to_string_lossy().into_owned());
            let DatasetEntry { generation, content, games, positions, .. } = *entry;
            Ok(DatasetLink { generation, content, games, positions, folder })
        })
        .collect()
}

/// The self-play folder that holds a dataset, if it is there with this content.
pub(super) fn folder_of(entry: &DatasetEntry, datasets: &Path) -> anyhow::Result<Option<PathBuf>> {
    let folder = generation_folder(datasets, "selfplay", entry.generation);
    if !exists(&folder.join("manifest.json"))? {
        return Ok(None);
    }
    Ok((Manifest::read_any(&folder)?.content == entry.content).then_some(folder))
}

/// The self-play that a model played.
fn played(loaded: &LoadedModel, datasets: &Path) -> anyhow::Result<Vec<DatasetLink>> {
    let mut links = Vec::new();
    for generation in generations(datasets, "selfplay")? {
        let folder = generation_folder(datasets, "selfplay", generation);
        if !exists(&folder.join("manifest.json"))? {
            continue;
        }
        let manifest = Manifest::read_any(&folder)?;
        if manifest.models.values().any(|player| *player == loaded.content) {
            let (content, games) = (manifest.content, manifest.done);
            let positions = manifest.rows("positions");
            let folder = Some(folder.to_string_lossy().into_owned());
            links.push(DatasetLink { generation, content, games, positions, folder });
        }
    }
    Ok(links)
}

fn changes(loaded: &LoadedModel, other: &LoadedModel, documents: &[ModelDocument]) -> Changes {
    let [before, after] = [other, loaded].map(|model| stages_behind(model, documents));
    let evaluations = [&other.model.evaluation, &loaded.model.evaluation];
    let same_patterns = pattern_set_hash(evaluations[0].set()) == pattern_set_hash(evaluations[1].set());
    let pairs = evaluations[0].weights().iter().zip(evaluations[1].weights());
    let differences: Vec<i32> = pairs.map(|(before, after)| i32::from(*after) - i32::from(*before)).collect();
    Changes {
        against: other.id,
        config: differing(&before, &after, |origin| &origin.config),
        metrics: differing(&before, &after, |origin| &origin.metrics),
        weights_changed: same_patterns.then(|| differences.iter().filter(|&&change| change != 0).count() as u64),
        weights: loaded.model.evaluation.weights().len() as u64,
        weight_change_max: same_patterns.then(|| differences.into_iter().max_by_key(|change| change.abs())).flatten(),
    }
}

/// How a model was made, by stage: that of its statistics, and that of the draft that they were fitted to.
fn stages_behind<'a>(model: &'a LoadedModel, documents: &'a [ModelDocument]) -> BTreeMap<String, &'a Origin> {
    let own = model.document.as_ref().map(|document| &document.origin);
    let draft = own.filter(|own| own.kind == ModelKind::Model).and_then(|own| {
        let parent = own.parent.as_ref()?;
        Some(&documents.iter().find(|document| document.content == parent.content)?.origin)
    });
    draft.into_iter().chain(own).map(|origin| (origin.stage.replace('-', "_"), origin)).collect()
}

/// Plain values that differ, by stage and path; lists are long and left out, and so is a stage that one of both lacks.
fn differing(
    before: &BTreeMap<String, &Origin>,
    after: &BTreeMap<String, &Origin>,
    values_of: fn(&Origin) -> &Value,
) -> BTreeMap<String, [Value; 2]> {
    let mut differing = BTreeMap::new();
    for (stage, before) in before {
        let Some(after) = after.get(stage) else { continue };
        let leaves = [before, after].map(|origin| {
            let mut leaves = BTreeMap::new();
            collect_leaves(values_of(origin), stage, &mut leaves);
            leaves
        });
        let names: BTreeSet<&String> = leaves.iter().flat_map(BTreeMap::keys).collect();
        for name in names {
            let [before, after] = [0, 1].map(|side| leaves[side].get(name).cloned().unwrap_or(Value::Null));
            if before != after {
                differing.insert(name.clone(), [before, after]);
            }
        }
    }
    differing
}

fn collect_leaves(value: &Value, path: &str, leaves: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                collect_leaves(value, &format!("{path}.{name}"), leaves);
            }
        }
        Value::Array(_) | Value::Null => {}
        value => {
            leaves.insert(path.to_owned(), value.clone());
        }
    }
}

impl Changes {
    fn rows(&self) -> Vec<Vec<String>> {
        let mut rows = vec![row("against", &self.against.to_string())];
        for (name, values) in [("config", &self.config), ("figure", &self.metrics)] {
            let text = |value: &Value| match value.as_f64().filter(|_| value.is_f64()) {
                Some(number) => format!("{number:.4}"),
                None => value.to_string(),
            };
            rows.extend(
                values
                    .iter()
                    .map(|(key, [before, after])| row(name, &format!("{key}: {} -> {}", text(before), text(after)))),
            );
        }
        let weights = match (self.weights_changed, self.weight_change_max) {
            (Some(changed), Some(most)) => {
                let (changed, all) = (thousands(changed), thousands(self.weights));
                format!("{changed} of {all} changed, the most by {most:+} millidiscs")
            }
            _ => "other patterns or phases".to_owned(),
        };
        rows.push(row("weights", &weights));
        rows
    }
}
