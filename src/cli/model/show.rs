//! `renma model show`.

use super::kind_word;
use crate::artifact::{LoadedModel, ModelRef, Registry, VerdictFile, Versions};
use crate::cli::model_errors::{error_table, training_lines};
use crate::cli::output::counted;
use crate::cli::session::Session;
use crate::run::folders::RunGate;
use crate::run::models::show::{DatasetLink, ModelHistory};
use crate::run::standings::Standing;
use crate::statistics::elo::elo_text;
use serde_json::{Value, json};
use std::path::Path;

pub fn show(
    session: &Session,
    name: &ModelRef,
    models: &Path,
    datasets: &Path,
) -> anyhow::Result<()> {
    let model = name.load(models)?;
    let versions = Versions::read(&Registry::new(models))?;
    let history = ModelHistory::read(&model, &versions, models, datasets)?;
    let mut rows = rows_of(&model, &history);
    if let Some(training) = &history.training {
        rows.push(error_table(training));
        rows.extend(training_lines(training));
    }
    session.answer(&json_of(&model, &history), &rows.join("\n"))
}

fn json_of(model: &LoadedModel, history: &ModelHistory) -> Value {
    let set = model.model.evaluation.set();
    let gate = |gate: &RunGate| json!({"generation": gate.generation, "folder": gate.folder.to_string_lossy(), "verdict": gate.verdict});
    json!({
        "id": model.id,
        "content": model.content,
        "features": set.name(),
        "instances": set.instances().len(),
        "phases": set.phase_count(),
        "weights": model.model.evaluation.set().weight_count(),
        "vectors": (0 < set.vector_size()).then(|| json!({"components": set.vector_size(), "negative": set.vectors().negative, "groups": set.group_count()})),
        "mpc_entries": model.model.mpc.entries().len(),
        "mae": history.training.as_ref().map(|training| training.after.all.mae),
        "exact_mae": history.exact_mae,
        "held_out": history.training.as_ref().map(|training| training.held_out),
        "elo": history.standing.as_ref().map(|standing| standing.rating),
        "champion": history.is_champion(),
        "promoted": history.promotion.is_some(),
        "trained_on": history.trained_on,
        "played": history.played,
        "children": history.children,
        "gates": history.gates.iter().map(gate).collect::<Vec<_>>(),
        "document": model.document.as_deref(),
    })
}

fn rows_of(model: &LoadedModel, history: &ModelHistory) -> Vec<String> {
    let set = model.model.evaluation.set();
    let numbers = [
        (set.instances().len(), "instance"),
        (set.numbers().len(), "number"),
        (set.phase_count(), "phase"),
    ];
    let numbers = numbers
        .map(|(count, noun)| counted(count as u64, noun))
        .join(", ");
    let patterns = format!("{}, {numbers}", set.name());
    let origin = model.document.as_ref().map(|document| &document.origin);
    let mut rows = vec![
        row(
            "model",
            &format!("{} ({})", model.id, model.content.short()),
        ),
        row("patterns", &patterns),
    ];
    if 0 < set.vector_size() {
        let [components, groups] = [
            (set.vector_size(), "component"),
            (set.group_count(), "group"),
        ]
        .map(|(count, noun)| counted(count as u64, noun));
        let negative = match set.vectors().negative {
            0 => String::new(),
            negative => format!(", {negative} of them negative"),
        };
        rows.push(row(
            "vectors",
            &format!("{components}{negative}, {groups} of phases"),
        ));
    }
    rows.extend(origin.map(|origin| {
        row(
            "kind",
            &format!(
                "{} by {}, step {}",
                kind_word(origin.kind),
                origin.stage,
                origin.step.short()
            ),
        )
    }));
    rows.extend(history.training.as_ref().map(|training| {
        let games = if training.held_out {
            "held-out games"
        } else {
            "the training rows: no games were held out"
        };
        row(
            "error",
            &format!("{:.2} discs on {games}", training.after.all.mae),
        )
    }));
    rows.push(row(
        "exact MAE",
        &format!(
            "{:.2} discs on the near-even positions of the yardstick",
            history.exact_mae
        ),
    ));
    let standing = history.standing.as_ref().map(Standing::text);
    rows.extend(standing.map(|elo| row("Elo", &format!("{elo} on the ladder of all gates"))));
    rows.extend(history.promotion.map(|number| {
        let now = if history.is_champion() {
            "champion"
        } else {
            "former champion"
        };
        row(
            "champion",
            &format!("{now}, promotion {number} of {}", history.promotion_count),
        )
    }));
    let parent = origin.and_then(|origin| origin.parent.as_ref());
    rows.extend(parent.map(|parent| {
        row(
            "parent",
            &format!("{} ({})", parent.id, parent.content.short()),
        )
    }));
    rows.extend(
        history
            .trained_on
            .iter()
            .map(|link| row("trained on", &dataset_text(link))),
    );
    rows.extend(
        history
            .children
            .iter()
            .map(|child| row("child", &child.to_string())),
    );
    rows.extend(
        history
            .played
            .iter()
            .map(|link| row("played", &dataset_text(link))),
    );
    rows.extend(
        history
            .gates
            .iter()
            .map(|gate| row("gate", &gate_text(gate))),
    );
    rows
}

fn row(name: &str, text: &str) -> String {
    format!("{name:<12}{text}")
}

fn dataset_text(link: &DatasetLink) -> String {
    let place = link.folder.as_ref().map_or("gone", String::as_str);
    let (games, positions) = (
        counted(link.games, "game"),
        counted(link.positions, "position"),
    );
    format!(
        "generation {}: {games}, {positions} ({}), {place}",
        link.generation,
        link.content.short()
    )
}

fn gate_text(gate: &RunGate) -> String {
    let VerdictFile {
        verdict,
        candidate,
        baseline,
        score,
        ..
    } = &gate.verdict;
    let players = format!("{} over {}: {}", candidate.id, baseline.id, verdict.name());
    let elo = elo_text([score.elo, score.elo_low, score.elo_high]);
    format!(
        "generation {}: {players}, Elo {elo}, {}",
        gate.generation,
        gate.folder.display()
    )
}
